/* SPDX-License-Identifier: MIT */
#ifndef SD_LINES_LINES_H
#define SD_LINES_LINES_H
/* lines: the sessions that count lines, and the code objects that each has chosen.
 *
 * A session is one LineProfiler, or the one that fills a capture.  It has chosen code
 * objects, and while it is on their lines are counted in all threads.  A code
 * object may be chosen by any number of them (code_selection.h), and each has a page of
 * its own for it, with the counters (line_page.h).
 *
 * Asking an interpreter to tell of lines takes long beside a call.  Who begins and ends
 * with each call of a function, as decorators do, rests in between: nothing is counted
 * and nothing is taken back, until the interpreter has told of much for nobody.
 *
 * Everything here wants the interpreter's lock.  Starting, stopping, clearing and
 * freeing a session may run audit hooks of the program.  These, and other threads
 * meanwhile, may do the same to any session, this one too unless it is being freed.  A
 * session that starts is on when the call returns, whatever they did to it.
 *
 * Fork: the table of a capture is the parent's, and the child makes its own when its
 * first line is counted; those in memory are a copy, in which the child goes on. */
#include "cpython/compat.h"

#include "collect/lines/code_selection.h"
#include "collect/lines/line_page.h"
#include "collect/lines/line_stack.h"
#include "collect/shared/bouts.h"

struct sd_cells;

struct sd_line_request {
    bool has_cpu;    /* CPU time, too */
    bool has_memory; /* and what lines do to resident memory ... */
    bool has_peak;   /* ... with the peak inside of them */
    bool in_capture; /* counters go to the capture that the process has joined */
};

struct sd_line_costs { /* as in the root of a table */
    uint64_t hit, line, call, stay;
};

struct sd_line_session {
    struct sd_line_request request;
    struct sd_line_costs costs; /* 0: unknown */
    struct sd_bouts_pace pace;  /* of who calibrates ... */
    bool is_pace_due;           /* ... to be asked again: it counted since */
    struct sd_line_turn turn;
    uint32_t n_for_nobody;  /* events of its code while it rests */
    bool is_linked;         /* its books hang on the code objects: it is on, or rests */
    struct sd_cells *table; /* owned; NULL: not made yet */
    uint32_t track;         /* of the table's root; 0: not defined yet */
    struct sd_line_page **pages; /* owned; in the order of choosing */
    size_t n_pages, cap_pages;
    struct sd_table n_alike;      /* sd_code_place: how many of it were chosen */
    struct sd_line_session *next; /* among the linked ones */
};

int sd_line_session_new(const struct sd_line_request *request,
                        struct sd_line_session **out);
/* Chooses a code object.  1: it is new, 0: it was chosen already. */
int sd_line_session_add(struct sd_line_session *s, PyCodeObject *code);
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
struct sd_line_page *sd_line_session_page(const struct sd_line_session *s,
                                          PyCodeObject *code);
/* How many there were before this process: threads that others knew are not here. */
unsigned sd_line_forks(void);
/* By what time is told in this process, once there is a session, and since when. */
enum sd_clock_kind sd_line_clock(void);
struct sd_ticks_pair sd_line_first_ticks(void);
/* How long a tick is, by what has passed since the process knows the time. */
double sd_line_ns_per_tick(void);

/* --- For the fronts -------------------------------------------------------------- */

/* This thread's stack, made at its first use; NULL: no memory. */
struct sd_line_stack *sd_lines_make_stack(void);
extern _Thread_local
    __attribute__((tls_model("initial-exec"))) struct sd_line_stack *sd_line_stack_here;

/* hot: this thread's stack; NULL: there is no memory for one. */
static inline struct sd_line_stack *sd_line_stack(void)
{
    struct sd_line_stack *s = sd_line_stack_here;

    return __builtin_expect(s != NULL, 1) ? s : sd_lines_make_stack();
}

/* The interpreter told of this code object, which nobody counts now.  Is it because who
 * chose it rests?  After many of these it rests no longer, but is stopped. */
bool sd_line_told_for_nobody(const PyCodeObject *code);

/* --- Of the front (as in code_selection.h) --------------------------------------- */

/* Something was chosen, or is counted again: frames of it that run already in this
 * thread are told of from now on. */
void sd_lines_adopt(void);
/* Some session is about to be linked, or none is any more.  Audit hooks may run and
 * call this again; after 0 everything is in place.  After a failure, call it with false
 * unless others listen. */
int sd_lines_listen(bool is_on);
/* All that are linked rest, or one counts again: what is cheap to take back is. */
void sd_lines_pause(bool is_on);
#endif
