/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SAMPLE_TARGET_H
#define SD_COLLECT_SAMPLE_TARGET_H
/* target: one process that is sampled, from before its Python begins to its end.
 *
 * It may have no Python yet (just forked or exec'ed) or none at all, and an exec can
 * give it another one; so it is looked at again, less and less often, until one is
 * there.  From then on a round looks at each of its threads: those that have not run
 * keep their stack, those that have are read, as many as possible by one system call.
 * A list of threads is read anew when a thread ends, when CPython puts a new one at its
 * head or a new interpreter at the head of theirs, when a GIL is held by a thread that
 * is not in it, and once a second. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/sample/counts.h"
#include "collect/sample/follow.h"
#include "collect/sample/native.h"
#include "collect/sample/pause.h"
#include "collect/sample/pulse.h"
#include "collect/sample/sample.h"
#include "collect/sample/shot.h"
#include "process/python/python_threads.h"

struct sd_target_thread {
    struct sd_python_thread who;
    uint64_t start_ticks;
    char name[SD_THREAD_NAME];
    bool has_python_name;
    bool is_listed;    /* seen in the list just read */
    bool shares_tid;   /* with another thread state, of another interpreter */
    bool is_scattered; /* each frame of it is an object of its own */
    struct sd_shot shot;
    struct sd_pulse pulse;
    struct sd_thread_place followed;
    struct sd_pause pause;
    struct sd_native_stack native; /* options.native: what is told, of the last read */
    bool is_followed;
    bool is_barred; /* is_scattered, at high rates: we may not run where it does */
    uint64_t follow_until_ns;
    uint64_t follow_ns; /* for so long it was followed the last time; 0: it was calm */
    /* Reading a deep stack takes long; then it is read less often: */
    uint64_t cost_ns, last_cost_ns; /* of reading it, in this round and the last time */
    uint64_t next_read_ns;
    bool is_deep;       /* it has many frames, as far as is known */
    bool is_spared;     /* in this round, for that reason */
    uint64_t torn[2];   /* bits: which of the last 100 reads from outside were torn */
    unsigned n_outside; /* reads from outside since it was followed */
    /* Of this round: */
    enum sd_pulse_state state;
    enum sd_shot_result result;
    bool is_read; /* in this round; else the stack is that of an earlier one */
    bool is_batched, was_torn;       /* read with others; and torn so */
    bool is_along;                   /* batched, alone, on its own CPU */
    bool is_visited;                 /* read with others on its CPU; not settled yet */
    struct sd_pulse_counters before; /* is_scattered: when it was about to be read */
    bool is_known, is_whole; /* the shot holds a stack; and nothing of it is missing */
    bool was_told;           /* and it was told */
    /* Since it was last told: */
    uint64_t told_ns, cpu_ns;
    void *of_listener;
};

struct sd_target_interpreter {
    uint64_t address;
    struct sd_gil gil;
    uint64_t gil_from, gil_to; /* addresses between which all futexes of it lie */
    uint64_t first_thread;     /* as the interpreter's list began */
    uint64_t words[8];         /* the GIL as it was read */
    uint64_t holder;           /* thread state that holds it, or 0 */
};

enum sd_target_state {
    SD_TARGET_WAITS, /* no Python in it (yet) */
    SD_TARGET_RUNS,
    SD_TARGET_GONE,
};

struct sd_target {
    pid_t pid;
    size_t member; /* in the sampler's tree */
    enum sd_target_state state;
    struct sd_remote remote;
    struct sd_runtime rt;
    struct sd_codes codes;
    struct sd_native native;
    uint32_t serial; /* of the codes, among all of this sampler */
    struct sd_python_threads list;
    struct sd_thread_names names;
    struct sd_target_thread **threads; /* owned, and what they point to */
    size_t n_threads, cap_threads;
    size_t n_unbegun; /* thread states that no thread has yet */
    uint64_t unbegun_wait_ns;
    struct sd_target_interpreter *interpreters; /* owned */
    size_t n_interpreters, cap_interpreters;
    uint64_t next_try_ns; /* WAITS: when to look for a Python again */
    uint64_t wait_ns;     /* and how long to wait after that */
    uint64_t next_list_ns, next_head_ns, next_names_ns;
    uint64_t stranger; /* holder of a GIL for which the list was read anew; or 0 */
    uint64_t names_wait_ns;
    uint64_t next_stop_ns; /* when to ask again whether it is stopped */
    bool is_stopped;       /* by job control or a debugger, as a whole */
    uint64_t looked_ns;    /* the time of this round */
    bool is_looked_at;     /* in this round */
    uint64_t last_round_ns;
    uint64_t alive_ns; /* when it was last seen to be the same process */
    char *refusal;     /* owned; why it cannot be sampled, once that is known */
    bool has_new_refusal;
    bool is_refused_once; /* it was found a single time, and is not said yet */
};

/* What a round needs of the sampler. */
struct sd_round {
    const struct sd_sampler_options *options;
    struct sd_follow *follow;
    struct sd_sample_counts *counts;
    const struct sd_listener *listener;
    uint64_t now_ns;
    uint32_t n_looks;              /* that may be taken where there is one thread */
    struct iovec *to, *from;       /* SD_REMOTE_RANGES each */
    struct sd_unwind_files *files; /* options.native */
};

/* A thread to be read from its own CPU. */
struct sd_target_visit {
    struct sd_target *t;
    struct sd_target_thread *x;
    struct sd_round *round;
    struct sd_shot_of of;
    enum sd_shot_result result;
    int cpu; /* -1: it was visited */
};

struct sd_target_visits {
    struct sd_target_visit *items; /* owned */
    size_t n, cap;
};

struct sd_target *sd_target_new(pid_t pid, size_t member); /* NULL: no memory */
void sd_target_free(struct sd_target *t, const struct sd_listener *listener);

/* Looks for its Python once, and says with a sentence why there is none. */
int sd_target_attach(struct sd_target *t, const struct sd_runtime_hints *hints,
                     struct sd_round *round);
/* Looks for a Python when that is due; `serial` is another when there is a new one. */
void sd_target_try(struct sd_target *t, struct sd_round *round);
/* One round of one target, in steps, so that visits can be made for many at once: which
 * of its threads have run; the stacks of those that are followed; those that can be
 * read from outside; of these, the torn ones by another visit; what is left, and all of
 * them are told to the listener.  The state says when it has ended. */
void sd_target_look(struct sd_target *t, struct sd_round *round);
void sd_target_gather(struct sd_target *t, struct sd_round *round,
                      struct sd_target_visits *to);
void sd_target_visit_all(struct sd_target_visits *all, struct sd_round *round);
void sd_target_read_outside(struct sd_target *t, struct sd_round *round);
void sd_target_gather_torn(struct sd_target *t, struct sd_round *round,
                           struct sd_target_visits *to);
void sd_target_tell(struct sd_target *t, struct sd_round *round);
/* The time until now is not a sample's. */
void sd_target_skip_time(struct sd_target *t, uint64_t now_ns);

/* The rest is for target_round.c.  Forgets what was known of a Python; or that the
 * process has ended. */
void sd_target_forget(struct sd_target *t, const struct sd_listener *listener);
void sd_target_end(struct sd_target *t, const struct sd_listener *listener);
/* What is due now and then: the list of threads, their names. */
int sd_target_keep_up(struct sd_target *t, struct sd_round *round);
/* Asks whether the process is stopped, where none of its threads can run. */
void sd_target_note_stop(struct sd_target *t, uint64_t now_ns);
struct sd_target_interpreter *sd_target_interpreter(struct sd_target *t,
                                                    uint64_t address);
/* Reads the thread with its native functions: its shot, and x->native made of that.
 * TORN when it could be neither stopped nor read as it waits. */
enum sd_shot_result sd_target_take_native(struct sd_target *t,
                                          struct sd_target_thread *x,
                                          const struct sd_shot_of *of,
                                          struct sd_round *round);
#endif
