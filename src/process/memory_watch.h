/* SPDX-License-Identifier: MIT */
#ifndef SD_PROCESS_MEMORY_WATCH_H
#define SD_PROCESS_MEMORY_WATCH_H
/* memory_watch: reads the memory of a process again and again, in a thread of its own,
 * while something runs.
 *
 * The thread takes no signals and no lock of an interpreter, so that what it watches
 * goes on as without it.  The child of a fork has no such thread; there the watch has
 * the readings up to then. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum sd_memory_kind { SD_MEMORY_RSS, SD_MEMORY_PSS, SD_MEMORY_USS };

struct sd_memory_reading {
    int64_t bytes; /* -1: could not be read */
    uint64_t real_ns;
};

/* Now, of one process; -1 when it cannot be read.  pid 0 is our own. */
int64_t sd_memory_of(pid_t pid, enum sd_memory_kind kind);
/* The same of it and all its descendants, added up. */
int64_t sd_memory_of_tree(pid_t pid, enum sd_memory_kind kind);

struct sd_memory_request {
    pid_t pid; /* 0: our own */
    enum sd_memory_kind kind;
    bool has_children; /* descendants count, too */
    bool has_most;     /* only the largest reading is kept */
    uint64_t every_ns;
};

struct sd_memory_watch;
/* Reads once before it returns, and then from the thread. */
int sd_memory_watch_start(const struct sd_memory_request *request,
                          struct sd_memory_watch **out);
/* One more reading, and no more after that.  Again is nothing. */
void sd_memory_watch_stop(struct sd_memory_watch *w);
/* What was read, once it is stopped; of `has_most` the one.  *n_read counts all. */
const struct sd_memory_reading *
sd_memory_watch_readings(const struct sd_memory_watch *w, size_t *n, size_t *n_read);
void sd_memory_watch_free(struct sd_memory_watch *w); /* stops */
#endif
