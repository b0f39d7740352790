/* SPDX-License-Identifier: MIT */
#include "collect/lines/line_stack.h"

#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "collect/lines/line_memory.h"
#include "collect/shared/thread_cpu.h"

enum { FIRST_DEPTH = 16, PARKED_MOST = 4096 };

/* --- The stack itself ------------------------------------------------------------- */

int sd_line_stack_init(struct sd_line_stack *s, enum sd_clock_kind clock)
{
    _Static_assert(FIRST_DEPTH > 1, "one entry is of no frame");
    memset(s, 0, sizeof *s);
    s->entries = sd_zalloc(FIRST_DEPTH * sizeof *s->entries);
    if (!s->entries)
        return sd_no_memory();
    s->top = s->entries; /* of no frame */
    s->last = s->entries + FIRST_DEPTH - 1;
    s->clock = clock;
    return 0;
}

void sd_line_stack_release(struct sd_line_stack *s)
{
    for (struct sd_line_open *e = s->entries; e && e <= s->last; e++)
        sd_line_peak_free(e->peak);
    sd_free(s->entries);
    sd_free(s->parked);
    sd_thread_cpu_free(s->cpu);
    memset(s, 0, sizeof *s);
}

static bool grow(struct sd_line_stack *s)
{
    size_t depth = (size_t)(s->top - s->entries),
           n = (size_t)(s->last - s->entries) + 1;
    struct sd_line_open *grown = sd_regrow(s->entries, 2 * n * sizeof *grown);

    sd_assert(s->top <= s->last);
    if (!grown)
        return false;
    memset(grown + n, 0, n * sizeof *grown);
    s->entries = grown;
    s->top = grown + depth;
    s->last = grown + 2 * n - 1;
    return true;
}

/* The entry of a frame, or NULL. */
static struct sd_line_open *find(const struct sd_line_stack *s, uintptr_t frame)
{
    for (struct sd_line_open *e = s->top; e > s->entries; e--)
        if (e->frame == frame)
            return e;
    return NULL;
}

bool sd_line_stack_follows(const struct sd_line_stack *s, uintptr_t frame)
{
    const struct sd_line_open *e = find(s, frame);

    return e && !e->is_adopted;
}

/* --- Cells ------------------------------------------------------------------------ */

/* The cell of a line that has one. */
static struct sd_line_cell *known_cell(const struct sd_line_book *b, uint32_t line)
{
    uint32_t at = line - b->first;

    return at < b->n ? b->cells[at] : NULL;
}

static struct sd_line_cell *cell_of(struct sd_line_stack *s, struct sd_line_book *b,
                                    uint32_t line)
{
    struct sd_line_cell *cell = known_cell(b, line);

    if (!cell)
        cell = b->make(b, line);
    return cell ? cell : &s->nowhere;
}

static unsigned wants_of(const struct sd_line_code *code)
{
    unsigned wants = 0;

    for (const struct sd_line_book *b = sd_line_book_on(code->books); b;
         b = sd_line_book_on(b->next))
        wants |= b->wants;
    return wants;
}

/* Of a line that began while nobody wanted its CPU time: no end is behind it. */
#define CPU_UNKNOWN UINT64_MAX

/* `unknown` where it is not wanted, or cannot be. */
static uint64_t cpu_now(struct sd_line_stack *s, unsigned wants, uint64_t ticks,
                        uint64_t unknown)
{
    if (!(wants & SD_LINES_HAVE_CPU))
        return unknown;
    if (!s->cpu)
        s->cpu = sd_thread_cpu_new();
    if (!s->cpu)
        return unknown;
    return s->clock == SD_CLOCK_TSC ? sd_thread_cpu_at(s->cpu, ticks)
                                    : sd_thread_cpu_ns(s->cpu);
}

/* --- Beginnings and ends --------------------------------------------------------- */

struct line_end { /* what was read when a line ended */
    uint64_t now, cpu;
    struct sd_line_reading memory;
    const struct sd_line_children *child;
    bool is_suspended;
};

static void end_in_book(struct sd_line_cell *cell, const struct sd_line_book *b,
                        const struct sd_line_open *e, const struct line_end *end)
{
    uint64_t start = e->start > b->turn->since ? e->start : b->turn->since;
    uint64_t ticks = sd_line_ticks(start, end->now);

    sd_assert_slow(b->turn->is_on || end->is_suspended);
    if (e->goes_on || end->is_suspended) { /* a part of a hit is no shortest one */
        cell->ticks += ticks;
        sd_line_stack_cell_children(cell, end->child);
        cell->max_ticks = ticks > cell->max_ticks ? ticks : cell->max_ticks;
    } else {
        sd_line_stack_cell_end(cell, ticks, end->child);
    }
    if (b->wants & SD_LINES_HAVE_CPU && end->cpu > e->cpu_start)
        cell->cpu_ns += end->cpu - e->cpu_start;
    if (b->wants & SD_LINES_HAVE_MEMORY) {
        struct sd_line_growth grew = sd_line_memory_grew(b->turn, &end->memory);

        sd_line_memory_book(cell, &end->memory, grew.bytes);
    }
}

enum line_ending { ENDS, IS_SUSPENDED, GOES_ON }; /* the last: with another line */

/* The line that the entry is at ends, or is interrupted.  Gives what was read of
 * memory, if that is wanted. */
static struct sd_line_reading end_line(struct sd_line_stack *s, struct sd_line_open *e,
                                       uint64_t now, enum line_ending how)
{
    unsigned wants = wants_of(e->code);
    struct line_end end = { .now = now,
                            .memory.rss_bytes = -1,
                            .child = &e->child,
                            .is_suspended = how == IS_SUSPENDED };

    sd_assert_slow(e > s->entries && e <= s->last);
    end.cpu = cpu_now(s, wants, now, 0);
    if (wants & SD_LINES_HAVE_MEMORY && e->line) {
        end.memory = sd_line_memory_at_end(e->peak, how == GOES_ON);
        sd_line_memory_blame(&end.memory,
                             &(struct sd_line_culprit){ e->code, e->line, s });
    } else if (wants & SD_LINES_HAVE_MEMORY) {
        end.memory = sd_line_memory_look(); /* what grew is the first line's */
    }
    for (struct sd_line_book *b = sd_line_book_on(e->code->books); e->line && b;
         b = sd_line_book_on(b->next)) {
        struct sd_line_cell *cell = known_cell(b, e->line);

        if (b == e->code->books && !b->next)
            cell = e->cell;
        if (cell)
            end_in_book(cell, b, e, &end);
    }
    return end.memory;
}

/* The entry comes to this line.  The clock is read last. */
static void begin_line(struct sd_line_stack *s, struct sd_line_open *e, uint32_t line,
                       bool is_hit)
{
    unsigned wants = wants_of(e->code);
    struct sd_line_book *first = sd_line_book_on(e->code->books);

    sd_assert_slow(first != NULL);
    for (struct sd_line_book *b = first; b; b = sd_line_book_on(b->next)) {
        struct sd_line_cell *cell = cell_of(s, b, line);

        cell->hits += is_hit;
        b->n_lost += is_hit && cell == &s->nowhere;
        if (b == first)
            e->cell = cell;
    }
    if (wants & SD_LINES_HAVE_PEAK)
        sd_line_peak_begin(&e->peak);
    s->n_hits += is_hit;
    e->line = line;
    e->goes_on = !is_hit;
    e->child.calls = 0;
    e->start = sd_line_now(s);
    e->cpu_start = cpu_now(s, wants, e->start, CPU_UNKNOWN);
}

/* The book in which a session counts the entry's lines; NULL: it does not. */
static const struct sd_line_book *book_in(const struct sd_line_open *e,
                                          const struct sd_line_turn *turn)
{
    const struct sd_line_book *b = e->code->books;

    while (b && b->turn != turn)
        b = b->next;
    return b;
}

/* Its cell of the line that the entry is at; NULL: there is none. */
static struct sd_line_cell *cell_in(const struct sd_line_open *e,
                                    const struct sd_line_turn *turn)
{
    const struct sd_line_book *b = e->line ? book_in(e, turn) : NULL;

    return b ? known_cell(b, e->line) : NULL;
}

/* What memory grew until here is the line's that is open, if one is, from this entry
 * down. */
static bool add_growth(const struct sd_line_stack *s, const struct sd_line_open *from,
                       const struct sd_line_growth *g)
{
    for (const struct sd_line_open *e = from; e > s->entries; e--) {
        struct sd_line_cell *cell = cell_in(e, g->turn);

        if (!cell)
            continue;
        sd_line_memory_blame(g->read, &(struct sd_line_culprit){ e->code, e->line, s });
        cell->grew_bytes += g->bytes;
        return true;
    }
    return false;
}

bool sd_line_stack_grew(struct sd_line_stack *s, const struct sd_line_growth *g)
{
    return add_growth(s, s->top, g);
}

static bool has_entry(const struct sd_line_book *b)
{
    return b->wants & SD_LINES_HAVE_MEMORY && b->entry_line;
}

/* Of the function that is on top now, before it began. */
static void book_growth(struct sd_line_stack *s, struct sd_line_growth g)
{
    if (!add_growth(s, s->top - 1, &g) && s->grew_elsewhere && g.bytes != 0)
        s->grew_elsewhere(s, &g);
}

/* A function is called, maybe while the line of another one is open.  Its first cell is
 * there before memory is read: to make a table takes some, which no line took. */
static void read_memory_before(struct sd_line_stack *s, struct sd_line_code *code,
                               bool is_start)
{
    struct sd_line_book *first = sd_line_book_on(code->books);
    struct sd_line_reading r;

    if (!(wants_of(code) & SD_LINES_HAVE_MEMORY))
        return;
    for (struct sd_line_book *b = is_start ? first : NULL; b;
         b = sd_line_book_on(b->next))
        if (has_entry(b))
            cell_of(s, b, b->entry_line);
    r = sd_line_memory_look();
    for (struct sd_line_book *b = first; b; b = sd_line_book_on(b->next)) {
        if (!(b->wants & SD_LINES_HAVE_MEMORY))
            continue;
        book_growth(s, sd_line_memory_grew(b->turn, &r));
        if (is_start && has_entry(b))
            sd_line_memory_book_entry(cell_of(s, b, b->entry_line), &r);
    }
}

/* What telling of the function of `e` cost, the line that waits for it has. */
static void add_told(const struct sd_line_stack *s, const struct sd_line_open *e,
                     struct sd_line_children *to)
{
    if (to->calls == 0)
        *to = (struct sd_line_children){ 0 };
    to->hits += s->n_hits - e->hits_before;
    to->stays += s->n_stays - e->stays_before;
    to->calls += s->n_calls - e->calls_before;
}

/* Does one session count both, and nobody else either? */
static bool is_one_session(const struct sd_line_open *e, const struct sd_line_open *f)
{
    return e->code->is_plain && f->code->is_plain &&
           e->code->books->turn == f->code->books->turn;
}

/* The time of `e` is that of callees to the session's line that waits for it, which may
 * lie below those of others. */
static void add_child_ticks(const struct sd_line_stack *s, const struct sd_line_open *e,
                            uint64_t ticks)
{
    for (const struct sd_line_book *b = sd_line_book_on(e->code->books); b;
         b = sd_line_book_on(b->next)) {
        struct sd_line_cell *cell = NULL;

        for (const struct sd_line_open *f = e - 1; f > s->entries && !cell; f--)
            cell = cell_in(f, b->turn);
        if (cell)
            cell->child_ticks += ticks;
    }
}

/* The function of `e` is done, and the line that called it knows what it did. */
static void add_child(struct sd_line_stack *s, const struct sd_line_open *e,
                      uint64_t now)
{
    struct sd_line_open *below = &s->entries[e - s->entries - 1];
    uint64_t ticks = sd_line_ticks(e->began, now);

    sd_assert_slow(e > s->entries);
    if (below == s->entries)
        return;
    add_told(s, e, &below->child);
    if (is_one_session(e, below))
        below->child.ticks += ticks;
    else
        add_child_ticks(s, e, ticks);
}

/* A frame begins, or a generator's goes on: whoever had this place before has ended,
 * and when is not known. */
static void forget(struct sd_line_stack *s, uintptr_t frame)
{
    size_t to = 0;

    if (s->top->frame == frame && s->top > s->entries) {
        sd_line_peak_leave(s->top->peak);
        s->top--;
    }
    for (size_t i = 0; i < s->n_parked; i++)
        if (s->parked[i].frame != frame)
            s->parked[to++] = s->parked[i];
    sd_assert_slow(to <= s->n_parked);
    s->n_parked = to;
}

void sd_line_stack_enter(struct sd_line_stack *s, uintptr_t frame,
                         struct sd_line_code *code, uint32_t line)
{
    struct sd_line_open *e;

    sd_assert(sd_line_book_on(code->books) != NULL);
    forget(s, frame);
    if (s->top == s->last && !grow(s))
        return;
    e = ++s->top;
    e->frame = frame;
    e->code = code;
    e->cell = NULL;
    e->line = 0;
    e->goes_on = false;
    e->is_adopted = false;
    e->child.calls = 0;
    e->hits_before = s->n_hits;
    e->stays_before = s->n_stays;
    e->calls_before = s->n_calls++;
    if (!code->is_plain)
        read_memory_before(s, code, line == 0);
    if (line)
        begin_line(s, e, line, false);
    else
        e->start = sd_line_now(s);
    e->began = e->start;
}

/* --- Frames that wait ------------------------------------------------------------ */

static void park(struct sd_line_stack *s, const struct sd_line_open *e)
{
    struct sd_line_parking *grown =
        s->n_parked < PARKED_MOST
            ? sd_grow_array(s->parked, &s->cap_parked, s->n_parked + 1, sizeof *grown)
            : NULL;

    sd_assert(s->n_parked <= PARKED_MOST);
    if (!grown)
        return; /* it will be as if it had not been followed */
    s->parked = grown;
    s->parked[s->n_parked++] = (struct sd_line_parking){
        .frame = e->frame, .code = e->code, .line = e->line, .is_adopted = e->is_adopted
    };
}

/* It waits no longer.  False: it did not. */
static bool unpark(struct sd_line_stack *s, uintptr_t frame,
                   struct sd_line_parking *out)
{
    for (size_t i = s->n_parked; i-- > 0;) {
        if (s->parked[i].frame != frame)
            continue;
        *out = s->parked[i];
        s->n_parked--;
        memmove(s->parked + i, s->parked + i + 1,
                (s->n_parked - i) * sizeof *s->parked);
        return true;
    }
    return false;
}

/* Another frame of this thread runs: they have ended, or wait. */
static void leave_above(struct sd_line_stack *s, const struct sd_line_open *e,
                        uint64_t now)
{
    sd_assert_slow(e >= s->entries && e <= s->top);
    for (; s->top > e; s->top--) {
        if (s->top->line) {
            end_line(s, s->top, now, IS_SUSPENDED);
            park(s, s->top);
        }
        sd_line_peak_leave(s->top->peak);
        add_child(s, s->top, now);
    }
}

/* A frame that waited goes on, since the line on top has begun, which made it. */
static bool go_on(struct sd_line_stack *s, uintptr_t frame)
{
    uint64_t since = s->top->start;
    bool is_below = s->top > s->entries;
    struct sd_line_parking p;

    if (!unpark(s, frame, &p) || !sd_line_book_on(p.code->books))
        return false;
    sd_line_stack_enter(s, frame, p.code, p.line);
    if (s->top->frame != frame)
        return false; /* no memory */
    s->top->is_adopted = p.is_adopted;
    if (is_below)
        s->top->start = s->top->began = since;
    return true;
}

void sd_line_stack_leave(struct sd_line_stack *s, uintptr_t frame, bool is_suspended,
                         uint64_t now)
{
    struct sd_line_open *e = s->top;

    if (e->frame != frame || e == s->entries) {
        e = find(s, frame);
        if (e)
            leave_above(s, e, now);
        else if (!go_on(s, frame))
            return;
        e = s->top;
    }
    if (e->code->is_plain && e->line && !e->goes_on && !is_suspended)
        sd_line_stack_cell_end(e->cell, sd_line_ticks(e->start, now), &e->child);
    else
        end_line(s, e, now, is_suspended ? IS_SUSPENDED : ENDS);
    sd_assert_slow(e == s->top && e > s->entries);
    s->top = e - 1;
    add_child(s, e, now);
}

static uint64_t cpu_so_far(struct sd_line_stack *s)
{
    return s->cpu ? sd_thread_cpu_ns(s->cpu) : 0;
}

/* The entry, and the line that it is at, begin later by what was no time of theirs. */
static void put_off(struct sd_line_open *e, uint64_t ticks, uint64_t cpu_ns)
{
    e->began += ticks;
    e->start += ticks;
    if (e->cpu_start != CPU_UNKNOWN)
        e->cpu_start += cpu_ns;
}

/* Somebody looks at the program, for whatever long.  It is no line's time, nor is the
 * memory that it takes. */
static void ring(struct sd_line_stack *s, const struct sd_line_reading *read)
{
    uint64_t from = sd_line_now(s), cpu = cpu_so_far(s), away;
    struct sd_line_reading now;

    sd_line_memory_ring(read, s);
    away = sd_line_ticks(from, sd_line_now(s));
    cpu = cpu_so_far(s) - cpu;
    now = sd_line_memory_look();
    for (struct sd_line_open *e = s->top; e > s->entries; e--) {
        if (e->began <= from)
            put_off(e, away, cpu);
        for (struct sd_line_book *b = e->code->books; b; b = b->next)
            sd_line_memory_grew(b->turn, &now);
    }
}

/* The line that ends with the function has taken it there: who looks finds the function
 * still, and its line goes on behind that.  The look itself is no time of the line. */
void sd_line_stack_ends(struct sd_line_stack *s, uintptr_t frame, uint64_t now)
{
    struct sd_line_open *e = s->top;
    uint64_t cpu = cpu_so_far(s);
    struct sd_line_reading read;
    uint32_t line = e->line;

    if (e->frame != frame || e == s->entries || !line ||
        !(wants_of(e->code) & SD_LINES_HAVE_MEMORY))
        return;
    read = sd_line_memory_look();
    if (!sd_line_memory_is_above(&read)) {
        cpu = cpu_so_far(s) - cpu;
        put_off(e, sd_line_ticks(now, sd_line_now(s)), cpu);
        return;
    }
    read = end_line(s, e, now, IS_SUSPENDED);
    begin_line(s, e, line, false);
    if (sd_line_memory_is_above(&read))
        ring(s, &read); /* last: it may end all of this */
}

void sd_line_stack_stay_slowly(struct sd_line_stack *s)
{
    const struct sd_line_open *e = s->top;

    for (struct sd_line_book *b = e->line ? sd_line_book_on(e->code->books) : NULL; b;
         b = sd_line_book_on(b->next)) {
        struct sd_line_cell *cell = known_cell(b, e->line);

        if (cell)
            cell->stays++;
    }
}

/* A frame that began unheard. */
static void adopt(struct sd_line_stack *s, uintptr_t frame, struct sd_line_code *code)
{
    sd_line_stack_enter(s, frame, code, 0);
    if (s->top->frame == frame)
        s->top->is_adopted = true;
}

void sd_line_stack_line_slowly(struct sd_line_stack *s, uintptr_t frame,
                               struct sd_line_code *code, uint32_t line, uint64_t now)
{
    struct sd_line_open *e = s->top;
    struct sd_line_reading read;

    if (e->frame != frame || e == s->entries) {
        e = find(s, frame);
        if (e)
            leave_above(s, e, now);
        else if (!go_on(s, frame))
            adopt(s, frame, code);
        e = s->top;
        if (e->frame != frame)
            return; /* no memory */
    }
    if (e->line == line)
        return;
    read = end_line(s, e, now, GOES_ON);
    begin_line(s, e, line, true);
    if (sd_line_memory_is_above(&read))
        ring(s, &read); /* last: it may end all of this */
}

/* --- Sessions that end or rest --------------------------------------------------- */

/* Somebody else, maybe in another thread, ends what is open here for now.  It counts as
 * the part of a hit before a suspension does. */
static struct line_end end_from_outside(const struct sd_line_children *child,
                                        uint64_t now, uint64_t cpu)
{
    return (struct line_end){ .now = now,
                              .cpu = cpu,
                              .memory.rss_bytes = -1,
                              .memory.peak_bytes = -1,
                              .child = child,
                              .is_suspended = true };
}

static uint64_t cpu_from_outside(const struct sd_line_stack *s)
{
    return s->cpu ? sd_thread_cpu_from_outside(s->cpu) : 0;
}

/* The entries go on, with what other sessions count in them; so what a function that is
 * open did so far is added to a copy. */
void sd_line_stack_close(struct sd_line_stack *s, const struct sd_line_turn *turn,
                         uint64_t now)
{
    const struct sd_line_open *above = NULL; /* the session's, that is open above */
    uint64_t cpu = 0; /* read when somebody wants it: it takes long */

    for (struct sd_line_open *e = s->top; e > s->entries; e--) {
        const struct sd_line_book *b = book_in(e, turn);
        struct sd_line_cell *cell = cell_in(e, turn);
        struct sd_line_children child = e->child;
        struct line_end end;

        if (e < s->top)
            add_told(s, e + 1, &child);
        if (above)
            child.ticks += sd_line_ticks(above->began, now);
        if (b)
            above = e;
        if (!cell)
            continue;
        if (b->wants & SD_LINES_HAVE_CPU && !cpu)
            cpu = cpu_from_outside(s);
        end = end_from_outside(&child, now, cpu);
        end_in_book(cell, b, e, &end);
    }
}

/* The entry begins anew where the one before it has ended.  The call is counted again
 * with the rest: without one there would be none that the time is of. */
static void begin_anew(const struct sd_line_stack *s, struct sd_line_open *e,
                       uint64_t now, uint64_t cpu)
{
    e->goes_on = e->goes_on || e->line != 0;
    e->start = e->began = now;
    e->cpu_start = s->cpu ? cpu : CPU_UNKNOWN;
    e->child.calls = 0;
    e->hits_before = s->n_hits;
    e->stays_before = s->n_stays;
    e->calls_before = s->n_calls - 1;
}

void sd_line_stack_settle(struct sd_line_stack *s, uint64_t now)
{
    uint64_t cpu = cpu_from_outside(s);

    for (struct sd_line_open *e = s->top; e > s->entries; e--) {
        struct line_end end = end_from_outside(&e->child, now, cpu);

        for (struct sd_line_book *b = sd_line_book_on(e->code->books); e->line && b;
             b = sd_line_book_on(b->next)) {
            struct sd_line_cell *cell = known_cell(b, e->line);

            if (cell)
                end_in_book(cell, b, e, &end);
        }
        add_child(s, e, now);
        begin_anew(s, e, now, cpu);
    }
}

static void drop_parked(struct sd_line_stack *s)
{
    size_t to = 0;

    for (size_t i = 0; i < s->n_parked; i++)
        if (sd_line_book_on(s->parked[i].code->books))
            s->parked[to++] = s->parked[i];
    s->n_parked = to;
}

void sd_line_stack_drop(struct sd_line_stack *s)
{
    struct sd_line_open *to = s->entries;

    drop_parked(s);
    for (struct sd_line_open *e = s->entries + 1; e <= s->top; e++) {
        struct sd_line_book *first = sd_line_book_on(e->code->books);

        if (!first) {
            sd_line_peak_leave(e->peak);
            continue;
        }
        if (++to != e) { /* regions go with the place, not with the entry */
            struct sd_line_peak *peak = to->peak;

            *to = *e;
            e->peak = peak;
        }
        to->cell = to->line ? cell_of(s, first, to->line) : NULL;
    }
    sd_assert(to <= s->top);
    s->top = to;
}

void sd_line_stack_abandon(struct sd_line_stack *s, const struct sd_line_turn *turn)
{
    for (struct sd_line_open *e = s->top; e > s->entries; e--) {
        const struct sd_line_book *first = sd_line_book_on(e->code->books);

        if (first && first->turn == turn)
            e->cell = &s->nowhere;
    }
}
