/* SPDX-License-Identifier: MIT */
#ifndef SD_PROCESS_PYTHON_FRAMES_H
#define SD_PROCESS_PYTHON_FRAMES_H
/* frames: walks the Python frames of one thread, link by link.
 *
 * One read per frame: simple and slow, and right only while the thread stands still (it
 * is stopped, or waits).  The self-check at attach and single looks use it; the sampler
 * has a reader of its own that takes whole stacks at once and verifies them. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpython/layout.h"
#include "process/remote.h"

enum {
    SD_FRAMES_MAX = 65536
}; /* of one thread; deeper stacks are cut at the outer end */

struct sd_frame {
    uint64_t address;
    uint64_t code;  /* address of its code object */
    uint64_t instr; /* raw: see sd_layout_instr */
    bool is_entry;  /* C called this frame: what called it is not the frame before */
};

/* The frame that a thread state begins with, or 0: it runs no Python now. */
int sd_frames_top(const struct sd_remote *r, const struct sd_layout *l, uint64_t thread,
                  uint64_t *top);
/* Innermost first, at most `cap`, Python functions alone.  SD_ETORN, without a
 * sentence, when the chain cannot be right. */
int sd_frames_walk(const struct sd_remote *r, const struct sd_layout *l,
                   uint64_t thread, struct sd_frame *out, size_t cap, size_t *n);
#endif
