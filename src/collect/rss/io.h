/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_RSS_IO_H
#define SD_COLLECT_RSS_IO_H
/* io: counts bytes read and written, each for the process that did it.
 *
 * What the kernel says of a process holds, besides its own, all bytes of the children
 * it has waited for.  Summed over a tree these would count twice, and again for every
 * generation.  So when a child ends, its last count is taken off its parent's, provided
 * that the parent's has risen by as much: a parent that ignores SIGCHLD, or one that is
 * no longer the parent, gets nothing.  What a child did after its last reading stays
 * with the parent, and the sum over the tree is right. */
#include <stdint.h>

struct sd_io {
    int64_t read, written; /* bytes; -1: could not be read */
};

struct sd_io_account { /* all zero is a fresh one */
    int n_readings;
    struct sd_io last, before_last; /* as the kernel says */
    struct sd_io ended;             /* of children that ended since the last reading */
    struct sd_io taken_off; /* of children, in what the kernel says from now on */
};

/* Children are read before their parents, so that an end is known when the parent's
 * count holds it. */
void sd_io_child_ended(struct sd_io_account *parent, const struct sd_io_account *child);
/* The process's own bytes, from what the kernel says now, less what Sonde itself did in
 * it. */
struct sd_io sd_io_own(struct sd_io_account *a, struct sd_io now, struct sd_io sondes);
#endif
