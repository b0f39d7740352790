/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_TIME_TIME_RUN_H
#define SD_COLLECT_TIME_TIME_RUN_H
/* time_run: times statements in this interpreter, in batches, all of them in turn.
 *
 * A statement and its set-up are compiled into one function, as timeit does it; it is a
 * generator here (python/sonde/_statement.py).  Set-up runs, and then the generator
 * waits to be sent an iterator of N turns; it calls begin(), goes through Python's own
 * loop, calls end() and waits again.  So set-up runs once for many short batches, what
 * it named is in fast local variables as with timeit, and several statements can take
 * turns.  The loop itself, with `pass`, is such a function, too: its time is taken
 * beside theirs, and subtracted by whoever reads.
 *
 * A plan says which batches come next, and is followed step by step.  Statements with
 * `await` are asynchronous generators: a step then gives an awaitable, and goes on when
 * that is done.
 *
 * Needs the interpreter's lock; one thread uses a run. */
#include "collect/time/stopwatch.h"
#include "collect/time/time_turns.h"
#include "cpython/compat.h"

enum {
    SD_TIME_BATCH_NS = 150 * 1000, /* how long a batch is to be */
    SD_TIME_LONG_NS = 1000 * 1000, /* from here on a time slice may be shorter */
    SD_TIME_AUTORANGE_NS = 200 * 1000 * 1000, /* timeit's */
    SD_TIME_REPEAT = 5,                       /* timeit's */
};

struct sd_time_side { /* a statement with its set-up */
    PyObject *make;   /* owned: begin, end -> generator */
    PyObject *body;   /* owned: the generator, before its loop; NULL: before set-up */
    bool is_async;
    uint64_t loops;  /* in a batch; 0: to be found */
    uint32_t n_kept; /* batches that count */
};

enum sd_time_plan_kind {
    SD_TIME_IDLE,
    SD_TIME_BUDGET,  /* batches of some length until the time is up */
    SD_TIME_REPEATS, /* as timeit: so many batches of so many turns, set-up in each */
};

enum sd_time_phase { SD_TIME_PREPARING, SD_TIME_ROUNDS, SD_TIME_ENDED };

struct sd_time_plan {
    enum sd_time_plan_kind kind;
    enum sd_time_phase phase;
    uint64_t budget_ns, until_ns; /* of rounds */
    uint64_t repeat;
    uint32_t at, round;        /* which place in the order, in which round */
    uint64_t trial;            /* turns that are tried */
    uint32_t n_trials, n_same; /* of this side; of these turns */
    int64_t least_ns;          /* of them */
    bool has_empty;            /* the empty loop has had its batch beside this one */
    bool has_turn;
    bool has_told;      /* the others that it has a batch of every statement */
    uint32_t n_in_turn; /* rounds since the turn began */
};

struct sd_time_run {
    struct sd_time_side *sides; /* owned */
    uint32_t n_sides;
    struct sd_time_side empty;
    uint32_t *order; /* owned; of the sides, in this round */
    uint64_t random;
    bool collects_garbage; /* the collector stays on */
    bool stopped_collector;
    PyObject *marks;             /* owned: a capsule with what begin() and end() read */
    PyObject *begin, *end;       /* owned: the two, as Python calls them */
    PyObject *repeat;            /* owned: itertools.repeat */
    struct sd_time_turns *turns; /* borrowed; or NULL */
    uint32_t me;                 /* in turns */
    struct sd_time_plan plan;
    /* What is under way: set-up (0 turns) or a batch. */
    struct sd_time_side *doing;
    uint64_t doing_loops;
    struct sd_time_batch *batches; /* owned; all of them, in their order */
    size_t n_batches, cap_batches;
};

/* `makers`: a sequence of (function, is_async); the first of them is the loop alone.
 * -1 with an exception. */
int sd_time_run_init(struct sd_time_run *r, PyObject *makers, enum sd_time_clock clock,
                     uint64_t seed);
void sd_time_run_clear(struct sd_time_run *r); /* of its Python objects */
void sd_time_run_release(struct sd_time_run *r);
int sd_time_run_traverse(const struct sd_time_run *r, visitproc visit, void *arg);

/* What is to be done next; -1 with an exception: there is something already. */
int sd_time_run_plan_budget(struct sd_time_run *r, uint64_t budget_ns);
/* loops 0: those that timeit would take, for each side. */
int sd_time_run_plan_repeats(struct sd_time_run *r, uint64_t loops, uint64_t repeat);

/* Goes on with the plan.  A new reference: None when all is done, else what is to be
 * awaited before the next step.  NULL with an exception, the statement's or our own;
 * then the plan is over. */
PyObject *sd_time_run_step(struct sd_time_run *r);
/* The plan is over, done or not: the collector of garbage is as it was.  Whatever is
 * raised stays raised. */
void sd_time_run_stop(struct sd_time_run *r);
#endif
