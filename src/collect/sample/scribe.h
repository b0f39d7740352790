/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SAMPLE_SCRIBE_H
#define SD_COLLECT_SAMPLE_SCRIBE_H
/* scribe: writes samples into the capture.
 *
 * Stacks are a tree: each different (caller, function, line) is a node, known to the
 * capture by an id that is good for one chunk.  A sample is then a few numbers.  Most
 * stacks share their outer frames with the one before of the same thread, so each
 * thread remembers its last path and only what differs is looked up.
 *
 * A thread that waits tells the same stack again and again: such samples are added up
 * and written at most every 100 ms.  At rates above 10 kHz one that runs does so, too:
 * then equal stacks in a row are added up over 0.1 ms. */
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "capture/log.h"
#include "capture/writer.h"
#include "collect/sample/sample.h"
#include "process/tree.h"

struct sd_scribe_node {
    uint32_t parent; /* node, or 0 */
    int32_t line;    /* 0: none */
    uint64_t who;    /* its code: addresses come again, this number does not */
    const struct sd_code *code;     /* NULL: native */
    const struct sd_symbol *native; /* NULL too: the root of what was cut off */
    uint32_t chunk, id;             /* id is good while this is the log's chunk */
};

struct sd_scribe {
    struct sd_writer *writer;     /* borrowed */
    const struct sd_tree *tree;   /* borrowed; the sampler's */
    struct sd_scribe_node *nodes; /* owned; the first is nobody */
    size_t n_nodes, cap_nodes;
    struct sd_table by_key;       /* hash of (parent, code, line) -> node */
    struct sd_scribe_memo *memos; /* of all threads, a ring; or NULL */
    uint32_t *path;               /* owned; nodes on their way into the log */
    size_t cap_path;
    uint64_t n_unwritten; /* samples that found no room */
};

int sd_scribe_init(struct sd_scribe *s, struct sd_writer *w,
                   const struct sd_tree *tree);
void sd_scribe_release(struct sd_scribe *s);
/* As a listener: `of` is the scribe. */
struct sd_listener sd_scribe_listener(struct sd_scribe *s);
#endif
