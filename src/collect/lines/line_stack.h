/* SPDX-License-Identifier: MIT */
#ifndef SD_LINES_LINE_STACK_H
#define SD_LINES_LINE_STACK_H
/* line_stack: the chosen functions that are open in one thread, and the line each is
 * at.
 *
 * Time is kept for each frame, so recursion, generators and threads need nothing
 * special: a line that calls its own function goes on while the inner one's lines
 * begin and end.  What is told are three things:
 *
 *     sd_line_stack_enter(frame, code)  a chosen function starts, or goes on
 *     sd_line_stack_line(n)             the one on top comes to line n
 *     sd_line_stack_leave(frame)        it returned, raised or was suspended
 *
 * An end may go unheard (greenlets switch, another tool takes events away): a line that
 * comes from another frame than the one on top brings the two together again.  What
 * stood above it has its time until then, and waits, as a generator does, in case that
 * it goes on: no more than PARKED_MOST do.
 *
 * A hit is counted when its line begins and its time when it ends.  Lines of one number
 * that follow each other in a frame are one hit: whether an interpreter tells of a jump
 * back to the line that it is on differs by version.  How often it did is counted apart
 * (stays), since that took time.
 *
 * One thread writes a stack, with the interpreter's lock held, under which others may
 * look at it.  No Python here. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/line_cell.h"
#include "collect/shared/ticks.h"

struct sd_line_book;
struct sd_line_peak;
struct sd_line_growth;
struct sd_line_reading;
struct sd_thread_cpu;

/* When a session counts.  Its books share one, so that it begins and rests at once,
 * however many functions it has. */
struct sd_line_turn {
    bool is_on;
    uint64_t since;     /* ticks: what was before is not the session's */
    int64_t last_bytes; /* resident at its last reading of any thread; 0: none yet */
};

struct sd_line_code {           /* a code object that some session has chosen */
    struct sd_line_book *books; /* of the sessions that count or rest; borrowed */
    bool is_plain;              /* one book, which wants ticks alone */
};

/* Where one session counts the lines of one code object. */
struct sd_line_book {
    uint32_t first, n;           /* lines that there is room for */
    struct sd_line_cell **cells; /* by line - first; NULL: it has not run; owned */
    struct sd_line_book *next;   /* another session's, of the same code object */
    unsigned wants;              /* enum sd_line_root_flags */
    uint32_t entry_line;         /* of the def: has the memory that a start found */
    struct sd_line_turn *turn;   /* its session's */
    uint64_t n_lost;             /* hits of lines that could not get a cell */
    /* The cell of a line that has none yet; NULL: it cannot be. */
    struct sd_line_cell *(*make)(struct sd_line_book *b, uint32_t line);
};

/* hot: the first of these whose session counts now; NULL: none.  Loops over books begin
 * and go on with it. */
static inline struct sd_line_book *sd_line_book_on(struct sd_line_book *b)
{
    while (b && !b->turn->is_on)
        b = b->next;
    return b;
}

struct sd_line_children { /* what chosen functions did while a line waited for them */
    uint64_t ticks, hits, stays;
    uint64_t calls; /* 0: there were none */
};

struct sd_line_open { /* some book of its code object is on */
    uintptr_t frame;
    struct sd_line_code *code;
    struct sd_line_cell *cell;     /* of `line`, in the first book that is on */
    uint32_t line;                 /* 0: before the first */
    bool goes_on;                  /* the hit began before a suspension */
    bool is_adopted;               /* it began unheard, and its front sees to its end */
    uint64_t start;                /* ticks: of this line, or of its resume */
    uint64_t began;                /* ticks: of the frame, or of its resume */
    struct sd_line_children child; /* since `start` */
    uint64_t hits_before, stays_before,
        calls_before;          /* the stack's, when the frame was entered */
    uint64_t cpu_start;        /* ns; UINT64_MAX: nobody wanted it then */
    struct sd_line_peak *peak; /* the region of its line; owned, kept for the next */
};

struct sd_line_parking { /* a frame that waits, as a greenlet's */
    uintptr_t frame;
    struct sd_line_code *code;
    uint32_t line;
    bool is_adopted;
};

struct sd_line_stack {        /* see sd_line_stack_init */
    struct sd_line_open *top; /* an entry of no frame at the bottom */
    struct sd_line_open *last;
    struct sd_line_open *entries;   /* owned */
    struct sd_line_parking *parked; /* owned; the last is the newest */
    size_t n_parked, cap_parked;
    enum sd_clock_kind clock;
    uint64_t n_hits, n_stays, n_calls; /* that this thread had */
    struct sd_thread_cpu *cpu;         /* owned; made when it is first wanted */
    struct sd_line_cell nowhere;       /* for what finds no room */
    /* What memory grew while no line of the session was open in this stack, as its
     * first function starts: a line that is open in another thread has it.  NULL: there
     * are none. */
    void (*grew_elsewhere)(const struct sd_line_stack *s,
                           const struct sd_line_growth *g);
};

int sd_line_stack_init(struct sd_line_stack *s, enum sd_clock_kind clock);
void sd_line_stack_release(struct sd_line_stack *s);

/* hot: the clock. */
static inline uint64_t sd_line_now(const struct sd_line_stack *s)
{
    return __builtin_expect(s->clock == SD_CLOCK_TSC, 1) ? sd_tsc()
                                                         : sd_ticks_now(s->clock);
}

/* `line`: that it goes on with, which is not a hit; 0: it starts.  Reads the clock
 * last. */
void sd_line_stack_enter(struct sd_line_stack *s, uintptr_t frame,
                         struct sd_line_code *code, uint32_t line);
void sd_line_stack_leave(struct sd_line_stack *s, uintptr_t frame, bool is_suspended,
                         uint64_t now);
/* The function of this frame is about to end or to be suspended, and there is a limit
 * of memory (line_memory.h): if its line has passed it, that is told of here. */
void sd_line_stack_ends(struct sd_line_stack *s, uintptr_t frame, uint64_t now);
/* The function on top goes on in another frame, which is a part of it, until this is
 * said again. */
static inline void sd_line_stack_move(struct sd_line_stack *s, uintptr_t frame)
{
    s->top->frame = frame;
}
/* Is this frame here, other than by adoption? */
bool sd_line_stack_follows(const struct sd_line_stack *s, uintptr_t frame);
/* What is not the usual case. */
void sd_line_stack_stay_slowly(struct sd_line_stack *s);
void sd_line_stack_line_slowly(struct sd_line_stack *s, uintptr_t frame,
                               struct sd_line_code *code, uint32_t line, uint64_t now);

/* hot: how long.  The counter of another CPU may be a little behind. */
static inline uint64_t sd_line_ticks(uint64_t from, uint64_t to)
{
    return to > from ? to - from : 0;
}

static inline void sd_line_stack_cell_children(struct sd_line_cell *cell,
                                               const struct sd_line_children *child)
{
    if (__builtin_expect(child->calls == 0, 1))
        return;
    cell->child_ticks += child->ticks;
    cell->child_hits += child->hits;
    cell->child_stays += child->stays;
    cell->child_calls += child->calls;
}

static inline void sd_line_stack_cell_end(struct sd_line_cell *cell, uint64_t ticks,
                                          const struct sd_line_children *child)
{
    cell->ticks += ticks;
    sd_line_stack_cell_children(cell, child);
    if (ticks < cell->min_ticks || cell->min_ticks == 0)
        cell->min_ticks = ticks + (ticks == 0);
    if (ticks > cell->max_ticks)
        cell->max_ticks = ticks;
}

/* hot: the function on top comes to the line that it is at. */
static inline void sd_line_stack_stay(struct sd_line_stack *s)
{
    struct sd_line_open *e = s->top;

    s->n_stays++;
    if (__builtin_expect(e->code->is_plain && e->line, 1))
        e->cell->stays++;
    else
        sd_line_stack_stay_slowly(s);
}

/* hot: every line of the chosen function on top.  `now` was read before anything else,
 * and the clock is read again at the end: what is done between belongs to no line. */
static inline void sd_line_stack_line(struct sd_line_stack *s, uint32_t line,
                                      uint64_t now)
{
    struct sd_line_open *e = s->top;
    struct sd_line_book *b;
    struct sd_line_cell *next;
    uint32_t at;

    if (__builtin_expect(line == e->line, 0)) {
        sd_line_stack_stay(s);
        return;
    }
    b = e->code->books;
    at = line - b->first;
    next = at < b->n ? b->cells[at] : NULL;
    if (__builtin_expect(!e->code->is_plain || !next || e->goes_on || !e->line, 0)) {
        sd_line_stack_line_slowly(s, e->frame, e->code, line, now);
        return;
    }
    sd_line_stack_cell_end(e->cell, sd_line_ticks(e->start, now), &e->child);
    next->hits++;
    s->n_hits++;
    e->cell = next;
    e->line = line;
    e->child.calls = 0;
    e->start = sd_line_now(s);
}

/* A session ends or rests: what is open in this stack and counted in its books ends
 * here.  Then, once its turn is off, entries of code objects that nobody counts are
 * dropped. */
void sd_line_stack_close(struct sd_line_stack *s, const struct sd_line_turn *turn,
                         uint64_t now);
void sd_line_stack_drop(struct sd_line_stack *s);
/* Memory grew by this while a line of the session was open here, which has it.  False:
 * none is. */
bool sd_line_stack_grew(struct sd_line_stack *s, const struct sd_line_growth *g);
/* Somebody reads while it goes on, or begins to count: what is open has its time until
 * now, and goes on as if it had begun now. */
void sd_line_stack_settle(struct sd_line_stack *s, uint64_t now);
/* After fork: cells of the session of a capture are the parent's, and what is open
 * there counts nowhere. */
void sd_line_stack_abandon(struct sd_line_stack *s, const struct sd_line_turn *turn);
#endif
