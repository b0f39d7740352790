/* SPDX-License-Identifier: MIT */
#ifndef SD_LINES_CODE_SELECTION_H
#define SD_LINES_CODE_SELECTION_H
/* code_selection: finds and holds the code objects whose lines some session has chosen.
 *
 * A code object has what was chosen of it in its co_extra, so one that nobody chose
 * costs a look at most.  It is held for as long as some session has chosen it.
 *
 * Who chooses by names cannot name code objects: each is shown to them before it runs
 * for the first time.
 *
 * Comprehensions are functions of their own to interpreters before 3.12.  Their lines
 * are those of the function in which they stand, and they are chosen with it.
 *
 * Everything here wants the interpreter's lock. */
#include "cpython/compat.h"

#include "base/table.h"
#include "collect/lines/line_stack.h"

struct sd_line_target {       /* a code object, and the sessions that chose it */
    struct sd_line_code core; /* the first: stacks know no more */
    PyCodeObject *code;       /* owned */
    uint32_t n_sessions;
    struct sd_line_target *owner; /* of a comprehension: the function it stands in, with
                                     which it lives; NULL: it stands for itself */
    struct sd_line_target *inner; /* comprehensions that stand in it; owned */
    struct sd_line_target *next;  /* among these */
    uint32_t start_line; /* of functions that begin on the line of their def, of which
                            no event tells; 0: another, or not known yet */
    bool is_start_known;
    unsigned seen; /* the number of those who seek that were shown it; others may have
                      chosen it before */
    bool is_armed; /* the interpreter tells of its lines */
    bool was_unwanted;       /* it may have been told that nobody wants its start */
    struct sd_table line_at; /* instruction to line, of suspensions */
};

/* What was chosen of this code object by any session, active or not; NULL: nothing. */
struct sd_line_target *sd_line_known(const PyCodeObject *code);
/* Chooses it for one session more; NULL: no memory.  And for one less. */
struct sd_line_target *sd_line_choose(PyCodeObject *code);
void sd_line_unchoose(struct sd_line_target *c);
/* This book counts its lines from now on, or no more. */
int sd_line_chosen_open(struct sd_line_target *c, struct sd_line_book *b);
void sd_line_chosen_close(struct sd_line_target *c, struct sd_line_book *b);
/* The line that the instruction at this offset (bytes) belongs to. */
uint32_t sd_line_at(struct sd_line_target *c, int offset);

/* --- Looks ----------------------------------------------------------------------- */

/* Where co_extra has what was chosen; -1: nothing was, ever. */
extern Py_ssize_t sd_line_extra;

/* There instead, when somebody who seeks (below) has looked at it and did not want it:
 * their number, from 1 on, which is no address.  (After so many of them numbers come
 * again, and code that was last shown to the first is not shown to the second.) */
enum { SD_LINE_UNWANTED = 0xffff };

/* hot: what was chosen of this code object and is counted now, or NULL. */
static inline struct sd_line_target *sd_line_chosen_of(const PyCodeObject *code)
{
    struct sd_line_target *c = sd_compat_code_extra(code, sd_line_extra);

    return (uintptr_t)c > SD_LINE_UNWANTED && sd_line_book_on(c->core.books) ? c : NULL;
}

/* Who chooses by names is shown each code object that runs, once, with the variables of
 * its module, before it does.  NULL: nobody seeks. */
typedef void sd_line_seeker(PyCodeObject *code, PyObject *globals);
extern sd_line_seeker *sd_line_seeks;
extern unsigned sd_line_seekers; /* the number of those who seek now */
/* From now on; who was there before is shown all again. */
void sd_line_seek(sd_line_seeker *seeker);
/* It was looked at; unless it was chosen it is not shown again. */
void sd_line_seen(PyCodeObject *code);
/* The same, and the interpreter was told that nobody wants its start: who wants it
 * later has to ask for it again. */
void sd_line_left_out(PyCodeObject *code);

/* hot: is it to be shown to the one who seeks? */
static inline bool sd_line_is_unseen(const PyCodeObject *code)
{
    const struct sd_line_target *c;

    if (__builtin_expect(sd_line_seeks == NULL, 1))
        return false;
    c = sd_compat_code_extra(code, sd_line_extra);
    return !c || ((uintptr_t)c > SD_LINE_UNWANTED ? c->seen : (uintptr_t)c) !=
                     sd_line_seekers;
}
/* Shows it; gives what was chosen of it then, or NULL. */
struct sd_line_target *sd_line_show(PyCodeObject *code, PyObject *globals);

/* hot: what was chosen of the function in which this comprehension stands, or NULL:
 * it is none, or is not counted now. */
static inline struct sd_line_target *sd_line_owner_of(const PyCodeObject *code)
{
    struct sd_line_target *c = sd_compat_code_extra(code, sd_line_extra);

    c = (uintptr_t)c > SD_LINE_UNWANTED ? c->owner : NULL;
    return c && sd_line_book_on(c->core.books) ? c : NULL;
}
/* Is it a comprehension whose lines are those of the function in which it stands?  An
 * interpreter that makes no code of its own of them has none. */
bool sd_line_is_part(const PyCodeObject *code);

/* --- Of the front, one file per way of hearing (line_monitoring.c, front_trace.c) -
 */

/* Tells of the lines of this code object, or no more.  Fails with a sentence. */
int sd_lines_arm(struct sd_line_target *c);
void sd_lines_disarm(struct sd_line_target *c);
/* Tells again of the start of all code, also where nobody wanted it. */
void sd_lines_hear_again(void);
#endif
