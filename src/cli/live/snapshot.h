/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_LIVE_SNAPSHOT_H
#define SD_CLI_LIVE_SNAPSHOT_H
/* snapshot: takes what every thread of a program was doing at one moment.
 *
 * All of it is of one round of the sampler.  A round in which a stack was torn is taken
 * again, from then on from the CPU of each running thread (follow.h), and the best of a
 * few rounds is kept: what is still missing is marked, never guessed.  Nothing is
 * stopped for it unless that was asked for.
 *
 * Local variables are read after the stack.  Where the frame has moved on meanwhile
 * they may be of different moments; such frames say so, and count as torn. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "collect/sample/sampler.h"

struct sd_snapshot_local {
    const char *name, *text; /* text: as repr() would write it, cut */
    uint64_t address;
    bool is_argument;
};

struct sd_snapshot_frame {
    const char *name, *qualname, *file;
    const char *module; /* of a native function: its library, else NULL */
    int32_t line;       /* 0: none */
    bool is_entry;      /* C has called it */
    struct sd_snapshot_local *locals;
    size_t n_locals;
    bool has_moved; /* its variables were read while it ran on */
};

struct sd_snapshot_thread {
    size_t member; /* its process in the sampler's tree */
    pid_t pid, tid;
    uint64_t ident;
    const char *name;                 /* "" when it has none */
    unsigned flags;                   /* enum sd_sample_flags */
    bool is_cut;                      /* the outer end is missing */
    struct sd_snapshot_frame *frames; /* innermost first */
    size_t n_frames;
};

struct sd_snapshot { /* all zero is a fresh one; everything in the arena */
    struct sd_arena arena;
    struct sd_snapshot_thread *threads; /* owned; in CPython's order, newest first */
    size_t n_threads, cap_threads;
    uint64_t n_lost;  /* threads that could not be read at all */
    uint64_t n_torn;  /* of those read, how many are not whole */
    bool has_no_room; /* something is missing for want of memory */
};

struct sd_snapshot_request {
    enum sd_consistency consistency;
    bool has_locals;
    size_t local_bytes; /* of a variable's text; 0: value.h's own limit */
};

/* Takes it.  SD_EGONE with a sentence when the process ended meanwhile, SD_ENOMEM. */
int sd_snapshot_take(struct sd_snapshot *p, struct sd_sampler *s,
                     const struct sd_snapshot_request *request);
void sd_snapshot_release(struct sd_snapshot *p);
#endif
