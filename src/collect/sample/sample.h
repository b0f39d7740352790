/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SAMPLE_SAMPLE_H
#define SD_COLLECT_SAMPLE_SAMPLE_H
/* sample: one look at one thread, as listeners get it. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/record.h"
#include "collect/sample/shot.h"
#include "process/python/python_threads.h"

enum sd_consistency {
    SD_CONSISTENCY_AUTO,   /* from outside; followed when that is torn too often */
    SD_CONSISTENCY_FOLLOW, /* from the CPU of the thread */
    SD_CONSISTENCY_PAUSE,  /* the thread is stopped for it */
    SD_CONSISTENCY_NONE,   /* one look, believed as it is */
};

enum sd_sample_mode {
    SD_MODE_WALL, /* every thread */
    SD_MODE_CPU,  /* threads that run */
    SD_MODE_GIL,  /* the thread that holds the GIL */
};

struct sd_sampler_options { /* all zero: a good start */
    uint64_t period_ns;     /* between rounds; what 0 means is the caller's */
    enum sd_sample_mode mode;
    enum sd_consistency consistency;
    bool skips_idle;     /* threads that wait are not told */
    bool skips_children; /* the root process alone */
    bool native;         /* native functions, too: native.h */
    uint32_t n_looks; /* by one system call, where a round is of one thread; 0 is 1 */
    const struct sd_runtime_hints *hints; /* for the root; may be NULL */
};

struct sd_thread_sample { /* all borrowed for the call */
    uint64_t time_ns;
    pid_t pid;
    size_t member; /* of the process, in the sampler's tree */
    pid_t tid;
    uint64_t thread_start_ticks;
    int64_t interpreter;
    const char *name; /* the thread's, from threading, else the kernel's; may be "" */
    unsigned flags;   /* enum sd_sample_flags */
    bool is_same;     /* this thread's stack is the one told before, frame by frame */
    size_t n_same;    /* else so many outer frames, or more, are those told before */
    bool is_cut;      /* deeper than SD_STACK_MAX: the outer end is missing */
    uint64_t wall_ns, cpu_ns;           /* since this thread's last sample */
    const struct sd_shot_frame *frames; /* innermost first; code NULL: native */
    size_t n_frames;
    struct sd_codes *codes;
    uint32_t
        serial; /* of these codes: (serial, code->id) is always the same function */
    const struct sd_runtime *rt;
    const struct sd_remote *remote; /* the process's memory, for who wants more of it */
    uint64_t ident, state; /* threading.get_ident(); address of the thread state */
    void *
        *of_thread; /* a word that the listener may keep something in, NULL at first */
};

/* A frame for people, Python or native. */
struct sd_sample_frame {
    const char *name, *qualname, *file; /* qualname: name where there is none */
    const char *module;       /* of a native function: its library, else NULL */
    int32_t line, first_line; /* line: 0 where the instruction has none */
};
void sd_sample_frame(const struct sd_thread_sample *t, size_t i,
                     struct sd_sample_frame *out);

struct sd_listener {
    void (*sample)(void *of, const struct sd_thread_sample *t);
    /* A thread will not be told again: the word is the listener's to free.  May be
     * NULL. */
    void (*thread_ends)(void *of, void *of_thread);
    void *of;
};
#endif
