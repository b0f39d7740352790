/* SPDX-License-Identifier: MIT */
#include "collect/calls/call_tree.h"

#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "collect/calls/pair_waits.h"
#include "collect/calls/pairs.h"
#include "collect/shared/thread_cpu.h"

/* A slot of the table from (caller, function) to the cell.  For one key the hash is a
 * bijection of the caller, so that hash and key together are exact. */
struct sd_call_slot {
    uint64_t hash;
    struct sd_call_cell *cell; /* NULL: free */
};

struct sd_call_parking {           /* the entries above the base, in their order */
    struct sd_call_entry *entries; /* owned */
    size_t n;
    struct sd_beyond_cell *exit; /* where those beyond the tree left it, or NULL */
};

#if SD_TINY
enum { FIRST_SLOTS = 4, FIRST_ENTRIES = 4, MOST_PARKED = 4 };
#else
enum { FIRST_SLOTS = 256, FIRST_ENTRIES = 256, MOST_PARKED = 65536 };
#endif
enum {
    DEFAULT_NODES = 1000000,
    BEYOND_KEY = 3, /* no function's */
    BEYOND_C_KEY = 5,
    PAUSES = 16, /* of which one is measured, ... */
    PAUSE_ROUNDS = 8,
    PAUSE_MOST = 4096, /* ticks, or ns, of one */
};

/* Ticks between two CLOCK records of a growing table: an eighth of a second.  The last
 * one says how long a process ran that ended without a word. */
#define PAIR_EVERY (UINT64_C(1) << 28)

_Static_assert((FIRST_SLOTS & (FIRST_SLOTS - 1)) == 0, "slots are found by a mask");

static inline uintptr_t untagged(uintptr_t frame)
{
    return frame & ~(uintptr_t)SD_FRAME_TAGS;
}

uint64_t sd_call_tree_now(const struct sd_call_tree *t)
{
    return t->timer ? t->timer(t->timer_of) : sd_ticks_now(t->clock);
}

uint64_t sd_call_tree_cpu(const struct sd_call_tree *t)
{
    return t->cpu ? sd_thread_cpu_ns(t->cpu) - t->skipped_cpu : 0;
}

/* The same, when the tree's clock was at `now`: one reading serves both, if it can. */
static uint64_t cpu_at(const struct sd_call_tree *t, uint64_t now)
{
    if (!t->cpu || t->clock != SD_CLOCK_TSC)
        return sd_call_tree_cpu(t);
    return sd_thread_cpu_at(t->cpu, now) - t->skipped_cpu;
}

struct sd_call_pause sd_call_tree_pause(const struct sd_call_tree *t)
{
    struct sd_call_pause since = { 0 };

    if (t->timer)
        return since;
    since.ticks = sd_ticks_now(t->clock);
    since.cpu = cpu_at(t, since.ticks);
    return since;
}

static uint64_t at_most(uint64_t n, uint64_t most) { return n < most ? n : most; }

/* No more than the call that is open has had: what a pause takes itself is known from
 * another moment, which may have been a slower one.  Whatever is open below that call
 * has had as much, and so no call ever has less than nothing. */
void sd_call_tree_go_on(struct sd_call_tree *t, struct sd_call_pause since)
{
    uint64_t now, cpu;

    if (t->timer)
        return;
    _mm_lfence(); /* the counter waits for nothing: what was begun here is to end here
                   */
    now = sd_ticks_now(t->clock);
    cpu = cpu_at(t, now);
    sd_call_tree_skip(
        t, at_most(now - since.ticks + t->pause_ticks, sd_call_ticks(t, t->top, now)),
        at_most(cpu - since.cpu + t->pause_cpu, cpu - t->top->cpu_start));
}

/* Of so many; where others had the core all along nothing is known. */
static uint32_t one_pause(uint64_t all)
{
    return all < PAUSES * PAUSE_MOST ? (uint32_t)(all / PAUSES) : 0;
}

/* A pause takes time before its first reading and behind its last; in a recursion that
 * makes a cell with every call that was a quarter of all.  It is measured while no call
 * is open, so that what is skipped here is nobody's; the shortest counts, since too
 * much must not be skipped. */
static void measure_pause(struct sd_call_tree *t)
{
    uint64_t ticks = UINT64_MAX, cpu = UINT64_MAX;

    if (t->timer)
        return;
    for (int round = 0; round < PAUSE_ROUNDS; round++) {
        uint64_t from = sd_ticks_now(t->clock) - t->skipped;
        uint64_t cpu_from = sd_call_tree_cpu(t), took, cpu_took;

        for (int i = 0; i < PAUSES; i++)
            sd_call_tree_go_on(t, sd_call_tree_pause(t));
        took = sd_ticks_now(t->clock) - t->skipped - from;
        cpu_took = sd_call_tree_cpu(t) - cpu_from;
        ticks = took < ticks ? took : ticks;
        cpu = cpu_took < cpu ? cpu_took : cpu;
    }
    t->pause_ticks = one_pause(ticks);
    t->pause_cpu = one_pause(cpu);
}

/* --- The timeline ----------------------------------------------------------------- */

/* An event of the entry `e`, in the rare cases; the usual ones are in call_tree.h. */
static inline void log_event(struct sd_call_tree *t, enum sd_call_event event,
                             const struct sd_call_entry *e, uint64_t now)
{
    if (t->extra & SD_EXTRA_TIMELINE)
        sd_timeline_put(t, event, e, now);
}

/* --- Finding a cell -------------------------------------------------------------- */

static inline uint64_t hash_of(const struct sd_call_cell *parent, uint64_t key)
{
    return (uint64_t)(uintptr_t)parent * 0x9E3779B97F4A7C15u ^
           key * 0xC2B2AE3D27D4EB4Fu;
}

static struct sd_call_slot *slot_of(struct sd_call_slot *slots, size_t n, uint64_t hash,
                                    uint64_t key)
{
    size_t at = (hash ^ hash >> 29) & (n - 1);

    sd_assert_slow((n & (n - 1)) == 0);
    while (slots[at].cell && (slots[at].hash != hash || slots[at].cell->key != key))
        at = (at + 1) & (n - 1);
    return &slots[at];
}

/* Keeps a free slot at least, so that every search ends. */
static bool make_room(struct sd_call_tree *t)
{
    uint32_t used = sd_cells_n(t->table);
    struct sd_call_slot *grown;
    size_t n = t->n_slots * 2;

    sd_assert(used < t->n_slots);
    if (used < t->n_slots / 2)
        return true;
    grown = sd_zalloc(n * sizeof *grown);
    if (!grown)
        return used < t->n_slots - 1;
    for (size_t i = 0; i < t->n_slots; i++)
        if (t->slots[i].cell)
            *slot_of(grown, n, t->slots[i].hash, t->slots[i].cell->key) = t->slots[i];
    sd_free(t->slots);
    t->slots = grown;
    t->n_slots = n;
    return true;
}

uint32_t sd_call_tree_site(struct sd_call_tree *t, uint64_t key, const void *what)
{
    uint64_t site;

    if (sd_table_get(&t->sites, key, &site))
        return (uint32_t)site;
    /* The place is taken first: what is defined must be found again, because the
     * definition keeps the function alive. */
    if (sd_table_put(&t->sites, key, 0) < 0)
        return 0;
    if (sd_call_key_is_beyond(key))
        site = sd_cells_define_function(
            t->table, SD_SITE_BEYOND | (key == BEYOND_C_KEY ? SD_SITE_NATIVE : 0),
            sd_cells_define_string(t->table, SD_CALLS_BEYOND, strlen(SD_CALLS_BEYOND)),
            0, 0, 0);
    else
        site = t->names.define(t->names.of, t, key, what);
    if (site)
        sd_table_put(&t->sites, key, site); /* its place is there: cannot fail */
    else
        sd_table_remove(&t->sites, key);
    sd_timeline_renames(&t->timeline);
    return (uint32_t)site;
}

static void put_pair(struct sd_call_tree *t)
{
    struct sd_ticks_pair p;

    if (t->timer)
        return;
    p = sd_ticks_pair(t->clock);
    t->paired = p.ticks;
    sd_cells_put_clock(t->table, t->clock, p.ticks, p.mono_ns);
}

static struct sd_call_cell *add(struct sd_call_tree *t, struct sd_call_cell *parent,
                                uint64_t key, const void *what)
{
    struct sd_call_cell *root = sd_cells_at(t->table, 0), *cell;
    struct sd_call_cell made = { .key = key };
    uint64_t hash = hash_of(parent, key);
    ptrdiff_t to_root;
    uint32_t at;

    made.site = sd_call_tree_site(t, key, what);
    if (!made.site || !make_room(t))
        return NULL;
    made.parent = sd_cells_index(t->table, parent);
    at = sd_cells_add(t->table, &made);
    if (at == SD_NO_CELL)
        return NULL;
    cell = sd_cells_at(t->table, at);
    sd_assert(made.parent < at); /* parents stand before their children */
    to_root = root - cell;
    /* Segments that lie too far apart for a distance: the cell stays, and unused. */
    if (to_root != (int32_t)to_root || parent - cell != (int32_t)(parent - cell))
        return NULL;
    cell->last_child = cell->next = (int32_t)to_root;
    *slot_of(t->slots, t->n_slots, hash, key) = (struct sd_call_slot){ hash, cell };
    if (!t->timer && sd_ticks_now(t->clock) - t->paired > PAIR_EVERY)
        put_pair(t);
    return cell;
}

/* The child is now the one called last, and what follows the one before it. */
static void remember(struct sd_call_cell *parent, struct sd_call_cell *child)
{
    struct sd_call_cell *before = sd_call_tree_cell_at(parent, parent->last_child);

    if (before->key && child - before == (int32_t)(child - before))
        before->next = (int32_t)(child - before);
    parent->last_child = (int32_t)(child - parent);
}

static struct sd_call_cell *known(const struct sd_call_tree *t,
                                  const struct sd_call_cell *parent, uint64_t key)
{
    return slot_of(t->slots, t->n_slots, hash_of(parent, key), key)->cell;
}

/* Nothing was ever called from here, or nothing after what was called last.  That is so
 * once for each cell, and mostly means that there is none yet for what comes. */
static bool is_new_ground(struct sd_call_cell *parent)
{
    struct sd_call_cell *last = sd_call_tree_cell_at(parent, parent->last_child);

    return sd_call_tree_cell_at(last, last->next)->key == 0;
}

bool sd_call_key_is_beyond(uint64_t key)
{
    return key == BEYOND_KEY || key == BEYOND_C_KEY;
}

/* Has a cell room for a second one, when every other may still need its first? */
static bool has_room_for_two(const struct sd_call_tree *t)
{
    uint64_t n = sd_cells_n(t->table), without = n - t->n_beyond - t->n_leaving;

    return n + without < UINT64_C(2) * t->n_max;
}

/* Nobody remembers it as a child: the last bytes of the cell are a count. */
struct sd_beyond_cell *sd_call_tree_beyond(struct sd_call_tree *t,
                                           struct sd_call_cell *parent, bool is_c)
{
    uint64_t key = is_c ? BEYOND_C_KEY : BEYOND_KEY;
    struct sd_beyond_cell *cell = (void *)known(t, parent, key), *other;
    struct sd_call_pause since;

    if (cell)
        return cell;
    other = (void *)known(t, parent, is_c ? BEYOND_KEY : BEYOND_C_KEY);
    if (other && !has_room_for_two(t))
        return other;
    since = sd_call_tree_pause(t);
    cell = (void *)add(t, parent, key, NULL);
    if (cell) {
        cell->c_calls = 0;
        t->n_beyond++;
        t->n_leaving += !other;
    }
    sd_call_tree_go_on(t, since);
    return cell;
}

static bool is_full(const struct sd_call_tree *t)
{
    return sd_cells_n(t->table) >= t->n_max;
}

/* The child of `parent` for this function; NULL: there is no cell for it. */
static struct sd_call_cell *find(struct sd_call_tree *t, struct sd_call_cell *parent,
                                 uint64_t key, const void *what)
{
    struct sd_call_cell *cell = known(t, parent, key);

    if (!cell && !is_full(t))
        cell = add(t, parent, key, what);
    if (cell)
        remember(parent, cell);
    return cell;
}

/* The same without taking anybody's time.  To make a cell takes longer than many a call
 * does, and to look into memory that nobody has touched yet, too; to look for one that
 * is there takes less than a pause, which reads the clock twice. */
static struct sd_call_cell *find_for_call(struct sd_call_tree *t,
                                          struct sd_call_cell *parent, uint64_t key,
                                          const void *what)
{
    bool may_be_known = is_full(t) || !is_new_ground(parent);
    struct sd_call_cell *cell = may_be_known ? known(t, parent, key) : NULL;
    struct sd_call_pause since;

    if (cell)
        remember(parent, cell);
    if (cell || is_full(t))
        return cell;
    since = sd_call_tree_pause(t);
    cell = find(t, parent, key, what);
    sd_call_tree_go_on(t, since);
    return cell;
}

static void close_top(struct sd_call_tree *t, uint64_t now, uint64_t cpu)
{
    struct sd_call_entry *e = t->top;

    sd_assert_slow(e > t->stack);
    log_event(t, SD_CALL_ENDS, e, now);
    if (sd_call_entry_is_beyond(e)) {
        sd_call_pairs_leave(t, sd_call_ticks(t, e, now),
                            t->cpu ? cpu - e->cpu_start : 0);
        return;
    }
    e->cell->ticks += sd_call_ticks(t, e, now);
    if (t->cpu)
        e->cell->cpu_ns += cpu - e->cpu_start;
    t->top = e - 1;
}

/* --- Frames and entries brought together ----------------------------------------- */

/* A stack put aside counts what it ran and is found by its last frame. */
static void stop_clock(const struct sd_call_tree *t, struct sd_call_entry *e, size_t n,
                       uint64_t now, uint64_t cpu)
{
    for (size_t i = 0; i < n; i++) {
        e[i].start = sd_call_ticks(t, &e[i], now);
        e[i].cpu_start = cpu - e[i].cpu_start;
    }
}

static void start_clock(const struct sd_call_tree *t, struct sd_call_entry *e, size_t n,
                        uint64_t now, uint64_t cpu)
{
    for (size_t i = 0; i < n; i++) {
        e[i].start = now - e[i].start;
        e[i].skipped = t->skipped;
        e[i].cpu_start = cpu - e[i].cpu_start;
    }
}

static void book_parked(struct sd_call_tree *t, const struct sd_call_parking *p)
{
    sd_pair_waits_bury(t, p->entries, p->n, p->exit);
    for (size_t i = 0; i < p->n; i++)
        if (!sd_call_entry_is_beyond(&p->entries[i])) {
            p->entries[i].cell->ticks += p->entries[i].start;
            p->entries[i].cell->cpu_ns += t->cpu ? p->entries[i].cpu_start : 0;
        }
}

static void forget_parked(struct sd_call_tree *t, size_t at)
{
    struct sd_call_parking *p = &t->parked[at];

    sd_assert(at < t->n_parked && p->n > 0);
    sd_table_remove(&t->parked_by_frame, untagged(p->entries[p->n - 1].frame));
    sd_free(p->entries);
    *p = t->parked[--t->n_parked];
    if (at < t->n_parked)
        sd_table_put(&t->parked_by_frame, untagged(p->entries[p->n - 1].frame), at);
}

/* A frame that has come back under a new stack: what waited for it is dead. */
static void bury(struct sd_call_tree *t, uintptr_t frame)
{
    uint64_t at;

    if (!sd_table_get(&t->parked_by_frame, frame, &at))
        return;
    book_parked(t, &t->parked[at]);
    forget_parked(t, at);
}

/* Puts all entries above `keep` aside.  Without memory they end here. */
static void park_above(struct sd_call_tree *t, struct sd_call_entry *keep)
{
    size_t n = (size_t)(t->top - keep);
    uintptr_t frame = untagged(t->top->frame);
    struct sd_call_parking *grown;
    struct sd_call_entry *copy;
    uint64_t now, cpu;

    sd_assert(keep >= t->stack && keep <= t->top);
    if (n == 0)
        return;
    now = sd_call_tree_now(t);
    cpu = sd_call_tree_cpu(t);
    bury(t, frame);
    if (t->n_parked >= MOST_PARKED)
        bury(t, untagged(t->parked[0].entries[t->parked[0].n - 1].frame));
    copy = sd_alloc(n * sizeof *copy);
    grown =
        sd_grow_array(t->parked, &t->cap_parked, t->n_parked + 1, sizeof *t->parked);
    if (grown)
        t->parked = grown;
    if (!copy || !grown || sd_table_put(&t->parked_by_frame, frame, t->n_parked) < 0) {
        sd_free(copy);
        while (t->top > keep)
            close_top(t, now, cpu);
        return;
    }
    for (struct sd_call_entry *e = t->top; e > keep; e--)
        log_event(t, SD_CALL_PAUSES, e, now);
    memcpy(copy, keep + 1, n * sizeof *copy);
    stop_clock(t, copy, n, now, cpu);
    t->parked[t->n_parked++] =
        (struct sd_call_parking){ copy, n, sd_pair_waits_park(t, copy, n) };
    t->top = keep;
}

static bool has_room(struct sd_call_tree *t, size_t n)
{
    size_t used = (size_t)(t->top - t->stack) + 1,
           cap = (size_t)(t->last - t->stack) + 1, old_cap = cap;
    struct sd_call_entry *grown;

    sd_assert(used <= cap);
    if (used + n <= cap)
        return true;
    grown = sd_grow_array(t->stack, &cap, used + n, sizeof *grown);
    if (!grown)
        return false;
    memset(grown + old_cap, 0, (cap - old_cap) * sizeof *grown); /* no open cells */
    t->stack = grown;
    t->top = grown + used - 1;
    t->last = grown + cap - 1;
    sd_assert((size_t)(t->last - t->top) >= n);
    return true;
}

/* The stack that waits for this frame takes the place of the one that is here. */
static bool unpark(struct sd_call_tree *t, uintptr_t frame)
{
    struct sd_call_parking p;
    uint64_t at;

    if (!sd_table_get(&t->parked_by_frame, frame, &at))
        return false;
    park_above(t, t->stack);
    /* Parking may have buried it, when it was the oldest, or moved it. */
    if (!sd_table_get(&t->parked_by_frame, frame, &at))
        return false;
    p = t->parked[at];
    if (!has_room(t, p.n + 1))
        return false;
    start_clock(t, p.entries, p.n, sd_call_tree_now(t), sd_call_tree_cpu(t));
    sd_pair_waits_make_place(t, p.entries, p.n);
    memcpy(t->stack + 1, p.entries, p.n * sizeof *p.entries);
    t->top = t->stack + p.n;
    sd_assert(t->top < t->last);
    t->stack->frame = SD_FRAME_BASE;
    forget_parked(t, at);
    sd_pair_waits_unpark(t, p.n, p.exit);
    if (t->extra & SD_EXTRA_TIMELINE)
        for (struct sd_call_entry *e = t->stack + 1; e <= t->top; e++)
            log_event(t, SD_CALL_GOES_ON, e, sd_call_tree_now(t));
    return true;
}

static struct sd_call_entry *entry_with(struct sd_call_tree *t, uintptr_t frame)
{
    for (struct sd_call_entry *e = t->top; e > t->stack; e--)
        if (untagged(e->frame) == frame)
            return e;
    return NULL;
}

bool sd_call_tree_stands_on(const struct sd_call_tree *t, uintptr_t frame)
{
    const struct sd_call_entry *e = t->top;

    while (e > t->stack && untagged(e->frame) != frame)
        e--;
    return untagged(e->frame) == frame;
}

bool sd_call_tree_is_unheard(const struct sd_call_tree *t, uintptr_t frame,
                             uintptr_t caller)
{
    uint64_t at;

    return t->top > t->stack && untagged(t->top->frame) == caller && frame != caller &&
           !sd_table_get(&t->parked_by_frame, frame, &at);
}

/* Brings the stack to where `below` is on top and there is room for one more; NULL when
 * there is none. */
static struct sd_call_entry *bring_together(struct sd_call_tree *t, uintptr_t below)
{
    struct sd_call_entry *e;

    if (!has_room(t, 1))
        return NULL;
    if (untagged(t->top->frame) == below)
        return t->top;
    e = below ? entry_with(t, below) : NULL;
    if (t->top > t->stack)
        sd_call_tree_root(t)->resyncs++;
    if (e) {
        park_above(t, e);
    } else if (!below || !unpark(t, below)) {
        park_above(t, t->stack);
        t->stack->frame = below | SD_FRAME_BASE;
    }
    return has_room(t, 1) ? t->top : NULL;
}

/* A C function cannot call another from `frame`, which is both their callers': the end
 * of the last went unheard.  (In the tree that is seen before, by its frame.) */
static void end_c_function(struct sd_call_tree *t, uintptr_t frame)
{
    uint64_t now, cpu;

    if (__builtin_expect(!(frame & SD_FRAME_C) || sd_call_entry_frame(t->top) != frame,
                         1))
        return;
    now = sd_call_tree_now(t); /* a user's clock, which may end the session */
    cpu = sd_call_tree_cpu(t);
    if (t->is_followed && sd_call_entry_frame(t->top) == frame)
        close_top(t, now, cpu);
}

/* How fast the machine is just now, which costs no call anything. */
static void look_at_speed(struct sd_call_tree *t)
{
    struct sd_call_pause since = sd_call_tree_pause(t);

    t->until_look = SD_CALLS_TO_LOOK;
    if (t->clock == SD_CLOCK_TSC && !t->timer)
        sd_bouts_looks_take(&t->looks);
    sd_call_tree_go_on(t, since);
}

__attribute__((noinline)) struct sd_call_entry *
sd_call_tree_enter_any(struct sd_call_tree *t, uint64_t key, const void *what,
                       uintptr_t frame, uintptr_t below)
{
    struct sd_call_entry *top = t->top;
    struct sd_call_cell *cell;

    if (__builtin_expect(untagged(top->frame) != below || top == t->last, 0))
        top = bring_together(t, below);
    if (!top)
        return NULL;
    if (__builtin_expect(t->until_look == 0, 0))
        look_at_speed(t);
    if (sd_call_entry_is_beyond(top)) {
        end_c_function(t, frame);
        if (!t->is_followed)
            return NULL;
        if (sd_call_entry_is_beyond(t->top))
            return sd_call_pairs_enter(t, key, what, frame);
        top = t->top; /* what ended was the first of them */
    }
    sd_assert_slow(top == t->top && top < t->last);
    cell = find_for_call(t, top->cell, key, what);
    if (!cell)
        return sd_call_pairs_enter(t, key, what, frame);
    top++;
    top->cell = cell;
    top->frame = frame;
    top->skipped = t->skipped;
    cell->calls++;
    t->top = top;
    return top;
}

/* The entry that this end belongs to, on top; NULL: it began before we followed. */
static bool bring_to_top(struct sd_call_tree *t, uintptr_t frame)
{
    struct sd_call_entry *e = t->top;

    while (e > t->stack && sd_call_entry_frame(e) != frame)
        e--;
    if (e > t->stack) {
        if (e < t->top)
            sd_call_tree_root(t)->resyncs++;
        park_above(t, e);
        return true;
    }
    if (!unpark(t, untagged(frame)))
        return false;
    sd_call_tree_root(t)->resyncs++;
    return sd_call_entry_frame(t->top) == frame;
}

void sd_call_tree_leave_slowly(struct sd_call_tree *t, uintptr_t frame, uint64_t now,
                               uint64_t cpu)
{
    if (!bring_to_top(t, frame))
        return;
    /* A stack that waited has its clock set to now, which is past the `now` that was
     * read before. */
    if (now < t->top->start)
        now = t->top->start;
    if ((int64_t)(cpu - t->top->cpu_start) < 0)
        cpu = t->top->cpu_start;
    close_top(t, now, cpu);
}

void sd_call_tree_started(struct sd_call_tree *t, struct sd_call_entry *e)
{
    log_event(t, SD_CALL_BEGINS, e, e->start);
    if (t->cpu)
        e->cpu_start = sd_thread_cpu_at(t->cpu, e->start) - t->skipped_cpu;
}

void sd_call_tree_leave_any(struct sd_call_tree *t, uintptr_t frame, uint64_t now)
{
    struct sd_call_entry *top = t->top;
    uint64_t cpu = t->cpu ? sd_thread_cpu_at(t->cpu, now) - t->skipped_cpu : 0;

    if (sd_call_entry_is_beyond(top) && sd_call_entry_frame(top) == frame) {
        close_top(t, now, cpu);
        return;
    }
    if (top->frame != frame) {
        sd_call_tree_leave_slowly(t, frame, now, cpu);
        return;
    }
    log_event(t, SD_CALL_ENDS, top, now);
    top->cell->ticks += sd_call_ticks(t, top, now);
    top->cell->cpu_ns += cpu - top->cpu_start;
    t->top = top - 1;
}

void sd_call_tree_undo(struct sd_call_tree *t, uintptr_t frame)
{
    if (t->top == t->stack || sd_call_entry_frame(t->top) != frame)
        return;
    if (t->extra & SD_EXTRA_TIMELINE) /* a user's clock is not asked for nothing */
        log_event(t, SD_CALL_NEVER_WAS, t->top, sd_call_tree_now(t));
    if (sd_call_entry_is_beyond(t->top)) {
        sd_call_pairs_undo(t);
        return;
    }
    sd_assert_slow(t->top->cell->calls > 0);
    t->top->cell->calls--;
    t->top--;
}

/* --- Generators and coroutines --------------------------------------------------- */

void sd_call_tree_suspended(struct sd_call_tree *t, uintptr_t frame, uint64_t now)
{
    sd_table_put(&t->waiting, frame, now); /* without memory that wait is not counted */
}

void sd_call_tree_resumed(struct sd_call_tree *t, struct sd_call_entry *e, uint64_t now)
{
    uintptr_t frame = sd_call_entry_frame(e);
    uint64_t since;

    if (!sd_table_get(&t->waiting, frame, &since))
        return;
    sd_table_remove(&t->waiting, frame);
    if (sd_call_entry_is_beyond(e))
        sd_call_pairs_awaited(t, e, now - since);
    else
        e->cell->awaited += now - since;
}

/* --- A tree's life --------------------------------------------------------------- */

static int add_root(struct sd_call_tree *t, const struct sd_ticks_pair *first)
{
    struct sd_call_root root = { .error = 0 };

    if (sd_cells_add(t->table, &root) != 0)
        return sd_cells_refused(t->table);
    if (first->ticks)
        sd_cells_put_clock(t->table, t->clock, first->ticks, first->mono_ns);
    put_pair(t);
    return 0;
}

int sd_call_tree_new(const struct sd_call_tree_how *how, struct sd_call_tree **out)
{
    struct sd_call_tree *t = sd_zalloc(sizeof *t);
    int rc = 0;

    *out = NULL;
    if (!t)
        return sd_no_memory();
    t->names = how->names;
    t->timer = how->timer;
    t->timer_of = how->timer_of;
    t->n_max = how->n_max ? how->n_max : DEFAULT_NODES;
    t->sees_c = how->sees_c;
    t->cpu = how->cpu;
    t->extra = (uint8_t)((how->cpu ? SD_EXTRA_CPU : 0) |
                         (how->has_timeline ? SD_EXTRA_TIMELINE : 0));
    t->clock = how->clock;
    t->until_look = SD_CALLS_TO_LOOK;
    t->n_slots = FIRST_SLOTS;
    t->slots = sd_zalloc(FIRST_SLOTS * sizeof *t->slots);
    t->stack = sd_zalloc(FIRST_ENTRIES * sizeof *t->stack);
    if (!t->slots || !t->stack)
        rc = sd_no_memory();
    if (rc == 0)
        rc = sd_cells_new(how->writer, SD_CELLS_CALLS, sizeof(struct sd_call_cell),
                          &t->table);
    if (rc == 0) {
        sd_cells_counts_itself(t->table);
        rc = add_root(t, &how->first);
    }
    if (rc == 0 && how->has_timeline)
        rc = sd_timeline_init(&t->timeline, how->is_trial);
    if (rc < 0) {
        sd_call_tree_free(t);
        return rc;
    }
    t->top = t->stack;
    t->last = t->stack + FIRST_ENTRIES - 1;
    t->stack->frame = SD_FRAME_BASE;
    t->stack->cell = sd_cells_at(t->table, 0);
    measure_pause(t);
    *out = t;
    return 0;
}

void sd_call_tree_free(struct sd_call_tree *t)
{
    if (!t)
        return;
    sd_timeline_release(&t->timeline);
    while (t->n_parked)
        forget_parked(t, t->n_parked - 1);
    sd_free(t->parked);
    sd_table_release(&t->parked_by_frame);
    sd_table_release(&t->sites);
    sd_table_release(&t->strings);
    sd_table_release(&t->waiting);
    sd_call_pairs_free(t->pairs);
    sd_cells_free(t->table);
    sd_free(t->slots);
    sd_free(t->stack);
    sd_free(t);
}

void sd_call_tree_begin(struct sd_call_tree *t)
{
    t->stack->frame = SD_FRAME_BASE;
    t->top = t->stack;
    t->began = sd_call_tree_now(t);
    t->is_followed = true;
}

void sd_call_tree_end(struct sd_call_tree *t)
{
    uint64_t now, cpu;

    if (!t->is_followed)
        return;
    now = sd_call_tree_now(t);
    cpu = t->cpu ? sd_thread_cpu_from_outside(t->cpu) - t->skipped_cpu : 0;
    while (t->top > t->stack)
        close_top(t, now, cpu);
    while (t->n_parked) {
        book_parked(t, &t->parked[t->n_parked - 1]);
        forget_parked(t, t->n_parked - 1);
    }
    sd_table_clear(&t->waiting);
    sd_assert(t->top == t->stack && t->n_parked == 0 && t->parked_by_frame.n == 0);
    sd_call_tree_root(t)->traced += now - t->began;
    t->is_followed = false;
    put_pair(t);
    if (t->extra & SD_EXTRA_TIMELINE)
        sd_timeline_rest(t);
}

void sd_call_tree_cpu_begins_anew(struct sd_call_tree *t, uint64_t cpu)
{
    for (struct sd_call_entry *e = t->top; e > t->stack; e--)
        e->cpu_start -= cpu; /* below 0 for most: only differences count */
}

typedef void tell_open(void *of, const struct sd_open_entry *open);

/* Of one stack, from its newest entry down. */
struct tell_stack {
    tell_open *tell;
    void *of;
    const struct sd_beyond_cell *exit;
    struct sd_calls_inside inside; /* calls beyond the tree in the entry before */
};

static void tell_entry(struct tell_stack *s, const struct sd_call_entry *e,
                       uint64_t ticks)
{
    struct sd_open_entry open = { .entry = e, .ticks = ticks };

    if (sd_call_entry_is_beyond(e)) {
        s->inside.python += e->open->direct.python + e->open->deeper.python;
        s->inside.c += e->open->direct.c + e->open->deeper.c;
        open.inside = s->inside;
        open.exit = s->exit;
    }
    s->tell(s->of, &open);
}

void sd_call_tree_each_open(const struct sd_call_tree *t, tell_open *tell, void *of)
{
    /* A user's clock is not asked by who only looks. */
    uint64_t now = t->timer ? 0 : sd_ticks_now(t->clock);
    struct tell_stack here = {
        tell, of, t->pairs ? sd_call_pairs_exit(t) : NULL, { 0, 0 }
    };

    for (const struct sd_call_entry *e = t->top; e > t->stack; e--)
        tell_entry(&here, e, t->timer ? 0 : sd_call_ticks(t, e, now));
    for (size_t i = 0; i < t->n_parked; i++) {
        const struct sd_call_parking *p = &t->parked[i];
        struct tell_stack stack = { tell, of, p->exit, { 0, 0 } };

        for (size_t k = p->n; k-- > 0;)
            tell_entry(&stack, &p->entries[k], p->entries[k].start);
    }
}
