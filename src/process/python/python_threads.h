/* SPDX-License-Identifier: MIT */
#ifndef SD_PROCESS_PYTHON_PYTHON_THREADS_H
#define SD_PROCESS_PYTHON_PYTHON_THREADS_H
/* python_threads: lists the threads of all interpreters of a process, as CPython knows
 * them.
 *
 * A thread is a thread state (an address) and a tid as the system counts it.  3.11 and
 * later keep the tid; before, it is read out of glibc's struct pthread, to which the
 * thread's ident points, at an offset that sd_runtime_find has found by looking for
 * tids we know.  In a container CPython counts tids in its own pid namespace; they are
 * translated.
 *
 * A thread state is made by the thread that starts another.  Until the new one runs, it
 * carries its maker's ident and tid (to 3.11) or none.  So one that has no frames and
 * claims the tid of an older one of its interpreter has not begun.  Who keeps an entry
 * compares its ident, native and serial again when he reads the thread's stack.
 *
 * The list is linked and changes while it is read: each walk is bounded, and a torn one
 * is tried again a few times.  Native threads without a thread state are not in it. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/table.h"
#include "process/python/runtime.h"
#include "process/remote.h"

enum {
    SD_INTERPRETERS_MAX = 1024,
    SD_PYTHON_THREADS_MAX = 65536, /* of all interpreters; more are not seen */
    SD_THREAD_NAME = 64,           /* bytes with the 0; longer names are cut */
};

struct sd_python_thread {
    uint64_t state;       /* address of the thread state */
    uint64_t interpreter; /* address of its interpreter */
    int64_t interpreter_id;
    uint64_t ident; /* threading.get_ident() */
    pid_t tid;      /* outside; 0 when it could not be told */
    bool has_begun; /* else `ident` and `tid` are not its own yet: see below */
    /* Words of the thread state that change when another thread has it: */
    uint64_t native; /* the tid as the process counts it; 0 before 3.11 */
    uint64_t serial; /* of the thread state, before 3.11; else 0 */
};

struct sd_python_threads {          /* all zero is a fresh one */
    struct sd_python_thread *items; /* owned; in CPython's order, newest first */
    size_t n, cap;
    uint64_t *interpreters; /* owned; their addresses, also of those without threads */
    size_t n_interpreters, cap_interpreters;
    uint64_t main_interpreter; /* address of interpreter 0 */
    struct sd_table outer;     /* inner tid -> outer tid; empty outside containers */
    pid_t inner_pid;           /* the process as it counts itself */
};

/* Reads the list anew.  SD_ETORN, without a sentence, when it kept changing; the old
 * list is gone then. */
int sd_python_threads_read(struct sd_python_threads *t, const struct sd_remote *r,
                           const struct sd_runtime *rt);
void sd_python_threads_release(struct sd_python_threads *t);

/* The names that the program gave its threads, from threading._active of an
 * interpreter, read without running anything in it.  Best effort: an empty list when
 * threading was never imported or its dicts are being changed. */
struct sd_thread_name {
    uint64_t ident;
    char name[SD_THREAD_NAME]; /* UTF-8 */
};
struct sd_thread_names {          /* all zero is a fresh one */
    struct sd_thread_name *items; /* owned */
    size_t n, cap;
};
int sd_thread_names_read(struct sd_thread_names *names, const struct sd_remote *r,
                         const struct sd_runtime *rt, uint64_t interpreter);
/* Borrowed; NULL when it has none. */
const char *sd_thread_names_find(const struct sd_thread_names *names, uint64_t ident);
void sd_thread_names_release(struct sd_thread_names *names);

/* Where an interpreter's GIL can be read, so that a sampler adds two small ranges to a
 * read it makes anyway. */
struct sd_gil {
    uint64_t
        holder_at; /* 8 bytes: thread state of the holder, or 0.  0: there is no GIL */
    uint64_t
        locked_at; /* i32: the holder counts only while this is 1.  0: always counts */
};
int sd_gil_find(struct sd_gil *gil, const struct sd_remote *r,
                const struct sd_runtime *rt, uint64_t interpreter);
/* The thread state that holds it now, or 0. */
uint64_t sd_gil_holder(const struct sd_gil *gil, const struct sd_remote *r);
#endif
