/* SPDX-License-Identifier: MIT */
#ifndef SD_LINES_LINES_H
#define SD_LINES_LINES_H
/* lines: who counts lines now, of which code objects.
 *
 * A session is one LineProfiler, or the one that fills a capture.  It has chosen code
 * objects, and while it is on their lines are counted in all threads.  A code
 * object finds what was chosen of it through its co_extra, so one that nobody chose
 * costs a look at most; any number of sessions may have chosen it.
 *
 * Asking an interpreter to tell of lines takes long beside a call.  Who begins and ends
 * with each call of a function, as decorators do, rests in between: nothing is counted
 * and nothing is taken back, until the interpreter has told of much for nobody.
 *
 * A code object is held for as long as some session has chosen it.  Everything here
 * wants the interpreter's lock.
 *
 * Fork: the table of a capture is the parent's, and the child makes its own when its
 * first line is counted; those in memory are a copy, in which the child goes on. */
#include "cpython/compat.h"

#include "base/table.h"
#include "collect/calls/bouts.h"
#include "collect/lines/stack.h"

struct sd_cells;
struct sd_line_session;

struct sd_line_wish {
    bool has_cpu;    /* CPU time, too */
    bool has_memory; /* and what lines do to resident memory ... */
    bool has_peak;   /* ... with the peak inside of them */
    bool in_capture; /* counters go to the capture that the process has joined */
};

struct sd_line_chosen {       /* a code object, and the sessions that chose it */
    struct sd_line_code core; /* the first: stacks know no more */
    PyCodeObject *code;       /* owned */
    uint32_t n_sessions;
    struct sd_line_chosen *owner; /* of a comprehension: the function it stands in, with
                                     which it lives; NULL: it stands for itself */
    struct sd_line_chosen *inner; /* comprehensions that stand in it; owned */
    struct sd_line_chosen *next;  /* among these */
    uint32_t start_line; /* of functions that begin on the line of their def, of which
                            no event tells; 0: another, or not known yet */
    bool is_start_known;
    bool is_seen;            /* by who seeks; another may have chosen it before */
    bool is_armed;           /* the interpreter tells of its lines */
    bool was_unwanted;       /* it may have been told that nobody wants its start */
    struct sd_table line_at; /* instruction to line, of suspensions */
};

struct sd_line_page { /* a code object in a session */
    struct sd_line_book book;
    struct sd_line_session *session;
    struct sd_line_chosen *chosen;
    uint32_t site; /* in the session's table; 0: not defined yet */
};

struct sd_line_costs { /* as in the root of a table */
    uint64_t hit, line, call, stay;
};

struct sd_line_session {
    struct sd_line_wish wish;
    struct sd_line_costs costs; /* 0: unknown */
    struct sd_pace pace;        /* of who calibrates ... */
    bool is_pace_due;           /* ... to be asked again: it counted since */
    struct sd_line_turn turn;
    uint32_t n_for_nobody;  /* events of its code while it rests */
    bool is_linked;         /* its books hang on the code objects: it is on, or rests */
    struct sd_cells *table; /* owned; NULL: not made yet */
    uint32_t track;         /* of the table's root; 0: not defined yet */
    struct sd_line_page **pages; /* owned; in the order of choosing */
    size_t n_pages, cap_pages;
    struct sd_line_session *next; /* among the linked ones */
};

int sd_line_session_new(const struct sd_line_wish *wish, struct sd_line_session **out);
/* Chooses a code object.  1: it is new, 0: it was chosen already. */
int sd_line_session_add(struct sd_line_session *s, PyCodeObject *code);
/* Tables show it, whether it ever runs or not: its first line stands there without a
 * hit. */
void sd_line_session_mention(struct sd_line_session *s, PyCodeObject *code);
/* Counts from now on, or no more.  Again is nothing. */
int sd_line_session_start(struct sd_line_session *s);
void sd_line_session_stop(struct sd_line_session *s);
/* Counts no more, but will soon: to start again costs little. */
void sd_line_session_rest(struct sd_line_session *s);
/* The interpreter is gone, or nearly so: what is open ends, and no Python is asked. */
void sd_line_session_end(struct sd_line_session *s);
/* Forgets what was counted, not what was chosen. */
int sd_line_session_clear(struct sd_line_session *s);
void sd_line_session_free(struct sd_line_session *s);
/* What it costs to tell of lines, for its table, too. */
void sd_line_session_set_costs(struct sd_line_session *s,
                               const struct sd_line_costs *costs);
/* Does any session count now? */
bool sd_line_is_any_active(void);
/* Who reads now finds the time of what is open until now. */
void sd_line_session_settle(struct sd_line_session *s);
/* The page of a code object; NULL: it was not chosen. */
const struct sd_line_page *sd_line_session_page(const struct sd_line_session *s,
                                                PyCodeObject *code);
/* How many there were before this process: threads that others knew are not here. */
unsigned sd_line_forks(void);
/* By what time is told in this process, once there is a session. */
enum sd_clock_kind sd_line_clock(void);
/* How long a tick is, by what has passed since the process knows the time. */
double sd_line_ns_per_tick(void);

/* --- For the fronts ----------------------------------------------------------------
 */

/* This thread's stack, made at its first use; NULL: no memory. */
struct sd_line_stack *sd_line_stack_make(void);
extern _Thread_local
    __attribute__((tls_model("initial-exec"))) struct sd_line_stack *sd_line_stack_here;

/* hot: this thread's stack; NULL: there is no memory for one. */
static inline struct sd_line_stack *sd_line_stack(void)
{
    struct sd_line_stack *s = sd_line_stack_here;

    return __builtin_expect(s != NULL, 1) ? s : sd_line_stack_make();
}

/* Where co_extra has what was chosen; -1: nothing was, ever. */
extern Py_ssize_t sd_line_extra;

/* There instead, when somebody who seeks (below) has looked at it and did not want it:
 * no address. */
enum { SD_LINE_UNWANTED = 1 };

/* hot: what was chosen of this code object and is counted now, or NULL. */
static inline struct sd_line_chosen *sd_line_chosen_of(const PyCodeObject *code)
{
    struct sd_line_chosen *c = sd_code_extra(code, sd_line_extra);

    return (uintptr_t)c > SD_LINE_UNWANTED && sd_line_book_on(c->core.books) ? c : NULL;
}

/* The interpreter told of this code object, which nobody counts now.  Is it because who
 * chose it rests?  After many of these it rests no longer, but is stopped. */
bool sd_line_told_for_nobody(const PyCodeObject *code);

/* Who chooses by names is shown each code object that runs, once, with the variables of
 * its module, before it does.  NULL: nobody seeks. */
typedef void sd_line_seeker(PyCodeObject *code, PyObject *globals);
extern sd_line_seeker *sd_line_seeks;
void sd_line_seek(sd_line_seeker *seeker);
/* It was looked at; unless it was chosen it is not shown again. */
void sd_line_seen(PyCodeObject *code);

/* hot: is it to be shown to the one who seeks? */
static inline bool sd_line_is_unseen(const PyCodeObject *code)
{
    const struct sd_line_chosen *c;

    if (__builtin_expect(sd_line_seeks == NULL, 1))
        return false;
    c = sd_code_extra(code, sd_line_extra);
    return !c || ((uintptr_t)c > SD_LINE_UNWANTED && !c->is_seen);
}
/* Shows it; gives what was chosen of it then, or NULL. */
struct sd_line_chosen *sd_line_show(PyCodeObject *code, PyObject *globals);

/* hot: what was chosen of the function in which this comprehension stands, or NULL:
 * it is none, or is not counted now. */
static inline struct sd_line_chosen *sd_line_owner_of(const PyCodeObject *code)
{
    struct sd_line_chosen *c = sd_code_extra(code, sd_line_extra);

    c = (uintptr_t)c > SD_LINE_UNWANTED ? c->owner : NULL;
    return c && sd_line_book_on(c->core.books) ? c : NULL;
}
/* Is it a comprehension whose lines are those of the function in which it stands?  An
 * interpreter that makes no code of its own of them has none. */
bool sd_line_is_part(const PyCodeObject *code);

/* The line that the instruction at this offset (bytes) belongs to. */
uint32_t sd_line_at(struct sd_line_chosen *c, int offset);

/* --- Of the front, one file per way of hearing (front_monitoring.c, front_trace.c) -
 */

/* Tells of the lines of this code object, or no more.  Fails with a sentence. */
int sd_lines_arm(struct sd_line_chosen *c);
void sd_lines_disarm(struct sd_line_chosen *c);
/* Something was chosen, or is counted again: frames of it that run already in this
 * thread are told of from now on. */
void sd_lines_adopt(void);
/* Some session is linked, or none any more. */
int sd_lines_listen(bool is_on);
/* All that are linked rest, or one counts again: what is cheap to take back is. */
void sd_lines_pause(bool is_on);
#endif
