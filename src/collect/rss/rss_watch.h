/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_RSS_RSS_WATCH_H
#define SD_COLLECT_RSS_RSS_WATCH_H
/* rss_watch: the processes that rss reads, and one reading of all of them.
 *
 * Each process has its kept-open descriptors, up to KEPT_MAX processes; more are opened
 * for each reading, so that a program with thousands of children does not use up our
 * descriptors.  A process that ended keeps its last reading in the capture: what it
 * used stays used. */
#include <stdbool.h>
#include <stdint.h>

#include "collect/collector.h"
#include "collect/rss/connections.h"
#include "process/tree.h"
#include "process/usage.h"

enum { SD_WATCH_KEPT_MAX = 64 };

struct sd_rss_process; /* one process: rss_watch.c's own */

struct sd_rss_watch {
    const struct sd_collect *how; /* borrowed */
    struct sd_tree tree;          /* each member's of_user is a struct sd_rss_process */
    bool follows_children, reads_pss, reads_tcp;
    size_t n_kept;              /* processes with kept-open descriptors */
    bool has_changed;           /* somebody came or went: who reads the network? */
    uint64_t next_pss_ns;       /* CLOCK_MONOTONIC */
    uint64_t next_network_ns;   /* the same */
    uint64_t started_ns;        /* the same, of the first reading */
    uint64_t own_network;       /* inode of our own network namespace */
    struct sd_usage_reader own; /* its counters, for processes that share it */
    struct sd_connections connections;
    int64_t own_floor_bytes; /* our own largest memory when the program was started */
};

int sd_rss_watch_init(struct sd_rss_watch *w, const struct sd_collect *how);
enum sd_watch_what {
    SD_WATCH_DUE, /* the network ten times a second, which is enough for a counter */
    SD_WATCH_ALL, /* the network, too: at the beginning and at the end */
};

/* Reads every process once into this thread's log; false when none is left. */
bool sd_rss_watch_read(struct sd_rss_watch *w, struct sd_log *l,
                       enum sd_watch_what what);
/* After a reading: once the root has ended and is not waited for yet, its peak, as the
 * kernel keeps it for the parent; before that nothing. */
void sd_rss_watch_read_end(struct sd_rss_watch *w, struct sd_log *l);
void sd_rss_watch_release(struct sd_rss_watch *w);
#endif
