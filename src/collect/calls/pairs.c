/* SPDX-License-Identifier: MIT */
#include "collect/calls/pairs.h"

#include <stdatomic.h>

#include "base/assert.h"
#include "base/mem.h"
#include "collect/calls/open_calls.h"
#include "collect/calls/pair_links.h"

/* A program can make functions without end (exec), so there is a limit; real ones have
 * some ten thousand pairs. */
#if SD_TINY
enum { MOST_PAIRS = 64 };
#else
enum { MOST_PAIRS = 4000000 };
#endif

struct level { /* an entry of the tree, as it was seen last */
    const struct sd_call_cell *cell;
    size_t place; /* in the stack, as a function's (pair_links.h) */
    struct sd_pair_function *function;
    struct sd_beyond_cell *exits[2]; /* where calls leave the tree from it, with a
                                        Python or a C function; NULL: not yet */
    uint32_t exit_numbers[2];        /* their indices in the tree */
    uint64_t absent_keys[2]; /* keys that have no cell below this one, in a full tree:
                                those that were looked for last; or 0 */
};

struct sd_call_pairs {
    struct sd_beyond_cell *exit;   /* where the entries beyond the tree left it */
    struct sd_cells *cells;        /* the tree's second kind; borrowed */
    struct sd_pair_cell *lost;     /* the first: calls that found no room; NULL: not
                                      even that found any */
    struct sd_beyond_cell no_exit; /* in the place of an exit, on a full disk */
    struct sd_open_cell below;     /* of the entry that the first of those beyond the
                                      tree stands on: `number` is that of the exit */
    struct sd_open_calls open_calls;
    struct sd_pair_links links;
    struct level *levels; /* by place in the stack; owned */
    size_t n_levels, cap_levels;
    struct sd_pair_function root, whole_root; /* whoever called the outermost function
                                               */
    struct sd_call_cell nowhere[2];           /* of calls that found no room */
};

static struct sd_pair_cell *pair_of(const struct sd_call_entry *e)
{
    return (struct sd_pair_cell *)(void *)e->cell; /* which it begins with */
}

/* --- Pairs ------------------------------------------------------------------------ */

/* There is no room for another pair's cell. */
static bool is_full(const struct sd_call_pairs *p)
{
    return sd_cells_n(p->cells) >= MOST_PAIRS;
}

/* hot: of each call beyond the tree.  There (`site` is 0) no link is made that could
 * have no cell: what a program makes without end takes no memory. */
static inline struct sd_pair_link *find(struct sd_call_tree *t,
                                        struct sd_pair_function *caller,
                                        struct sd_pair_callee callee)
{
    struct sd_pair_link *l = sd_pair_links_likely(caller, callee.key);

    return l ? l
             : sd_pair_links_find_slowly(&t->pairs->links, t, caller, callee,
                                         callee.site || !is_full(t->pairs));
}

/* The pair's cell in the capture.  Below it nothing is found: its children are those of
 * a function, whoever called that. */
static struct sd_pair_cell *add_cell(struct sd_call_tree *t, struct sd_pair_link *l,
                                     int32_t what)
{
    const struct sd_pair_cell fresh = { .callee = { .parent = l->caller->site,
                                                    .site = l->callee->site,
                                                    .key = l->key,
                                                    .next = what },
                                        .whole = l->whole ? l->whole->pair : 0 };
    const struct sd_call_cell *root = sd_cells_at(t->table, 0);
    struct sd_cells *cells = t->pairs->cells;
    struct sd_pair_cell *cell;
    ptrdiff_t to_root;

    if (!sd_pair_links_number(&t->pairs->links, l, sd_cells_n(cells)) ||
        sd_cells_add(cells, &fresh) == SD_NO_CELL)
        return NULL;
    cell = sd_cells_at(cells, l->pair);
    to_root = root - &cell->callee;
    cell->callee.last_child = (int32_t)to_root;
    /* One that is too far away stays unused. */
    return to_root == cell->callee.last_child ? cell : NULL;
}

static bool put_cell(struct sd_call_tree *t, struct sd_pair_link *l, int32_t what)
{
    struct sd_call_pause pause;

    if (is_full(t->pairs) || !t->pairs->lost)
        return false;
    pause = sd_call_tree_pause(t);
    l->cell = add_cell(t, l, what);
    sd_call_tree_go_on(t, pause);
    return l->cell != NULL;
}

static bool has_wholes(const struct sd_call_tree *t)
{
    return t->names.sign && t->names.function_key;
}

__attribute__((noinline)) static bool give_cell(struct sd_call_tree *t,
                                                struct sd_pair_link *l)
{
    struct sd_pair_link *whole = NULL;

    if (has_wholes(t)) {
        whole = sd_pair_links_whole(&t->pairs->links, t, l);
        if (!whole || (!whole->cell && !put_cell(t, whole, SD_PAIR_OF_WHOLES)))
            return false;
    }
    return put_cell(t, l, 0);
}

/* --- Functions as wholes --------------------------------------------------------- */

/* The function that this entry runs; NULL: not known. */
static struct sd_pair_function *whole_of(const struct sd_call_tree *t,
                                         const struct sd_call_entry *e)
{
    if (sd_call_entry_is_beyond(e))
        return e->open->flags & SD_BEYOND_LOST ? NULL : e->function->whole;
    return t->pairs->levels[e - t->stack].function->whole;
}

static bool opens_whole(const struct sd_call_tree *t, struct sd_pair_function *f,
                        size_t at)
{
    if (f->place < at && whole_of(t, sd_pair_links_entry_at(t, f->place)) == f)
        return false;
    f->place = at;
    return true;
}

static bool opens_whole_pair(const struct sd_call_tree *t, struct sd_pair_link *l,
                             size_t at)
{
    const struct sd_call_entry *e = sd_pair_links_entry_at(t, l->place);

    if (l->place < at && l->place > 0 && whole_of(t, e) == l->callee &&
        whole_of(t, e - 1) == l->caller)
        return false;
    l->place = at;
    return true;
}

/* Of a call at this place of the stack; gives its flags. */
static unsigned count_whole(const struct sd_call_tree *t, size_t at,
                            struct sd_pair_link *whole)
{
    if (opens_whole(t, whole->callee, at)) {
        whole->place = at;
        whole->cell->primitive++;
        return SD_BEYOND_WHOLE_OUTERMOST;
    }
    if (!opens_whole_pair(t, whole, at))
        return 0;
    whole->cell->inner_primitive++;
    return SD_BEYOND_WHOLE_INNER;
}

static struct sd_pair_cell *whole_cell(const struct sd_call_tree *t,
                                       const struct sd_call_entry *e)
{
    sd_assert_slow(t->pairs->links.by_pair[e->open->pair]->whole);
    return t->pairs->links.by_pair[e->open->pair]->whole->cell;
}

static void book_whole(struct sd_pair_cell *cell, unsigned flags, sd_both_calls inside,
                       uint64_t ticks, uint64_t cpu)
{
    if (flags & SD_BEYOND_WHOLE_OUTERMOST) {
        cell->callee.ticks += ticks;
        cell->callee.cpu_ns += cpu;
        sd_calls_inside_add(&cell->inside_calls, inside);
    } else {
        cell->inner_ticks += ticks;
        cell->inner_cpu_ns += cpu;
        sd_calls_inside_add(&cell->inner_calls, inside);
    }
}

static void undo_whole(struct sd_pair_cell *cell, unsigned flags)
{
    cell->primitive -= (flags & SD_BEYOND_WHOLE_OUTERMOST) != 0;
    cell->inner_primitive -= (flags & SD_BEYOND_WHOLE_INNER) != 0;
}

/* --- What is open ---------------------------------------------------------------- */

/* A place of the stack keeps its cell for the calls that come to stand there.  False:
 * no memory. */
static bool has_open_cell(struct sd_call_tree *t, struct sd_call_entry *place)
{
    struct sd_open_calls *o = &t->pairs->open_calls;
    struct sd_call_pause pause;

    if (place->open)
        return true;
    if (o->n_spare > 0) {
        place->open = o->spare[--o->n_spare];
        return true;
    }
    pause = sd_call_tree_pause(t);
    place->open = sd_open_calls_make(o, &t->pairs->links.arena);
    sd_call_tree_go_on(t, pause);
    return place->open != NULL;
}

static bool has_level(struct sd_call_pairs *p, size_t at)
{
    struct level *grown =
        sd_grow_array(p->levels, &p->cap_levels, at + 1, sizeof *grown);

    if (grown)
        p->levels = grown;
    return grown != NULL;
}

/* Levels for all entries up to `top`, which is in the tree.  The base is always the
 * same. False: no memory. */
static bool bring_up(struct sd_call_tree *t, const struct sd_call_entry *top)
{
    struct sd_call_pairs *p = t->pairs;
    size_t n = (size_t)(top - t->stack) + 1;

    if (p->n_levels > n)
        p->n_levels = n;
    while (p->n_levels > 1 &&
           p->levels[p->n_levels - 1].cell != t->stack[p->n_levels - 1].cell)
        p->n_levels--;
    if (p->n_levels < n && !has_level(p, n - 1))
        return false;
    for (size_t i = p->n_levels; i < n; i++) {
        const struct sd_call_cell *cell = t->stack[i].cell;
        size_t at = sd_pair_links_place(t, &t->stack[i]);
        struct sd_pair_function *caller = p->levels[i - 1].function;
        struct sd_pair_link *l =
            find(t, caller, (struct sd_pair_callee){ cell->key, cell->site, NULL });

        p->levels[i] = (struct level){ .cell = cell,
                                       .place = at,
                                       .function = l ? l->callee : caller };
        p->n_levels = i + 1;
        if (!l)
            continue;
        sd_pair_function_opens(t, l->callee, at);
        sd_pair_link_opens(t, l, at);
        if (has_wholes(t) && sd_pair_links_whole(&p->links, t, l)) {
            opens_whole(t, l->whole->callee, at);
            opens_whole_pair(t, l->whole, at);
        }
    }
    sd_assert_slow(p->levels[n - 1].cell == top->cell);
    return true;
}

/* --- A call ---------------------------------------------------------------------- */

static bool has_cells(struct sd_call_tree *t, struct sd_call_pairs *p,
                      const struct sd_pair_cell *first)
{
    if (sd_cells_beside(t->table, SD_CELLS_PAIRS, sizeof *first, &p->cells) < 0 ||
        sd_cells_beside(t->table, SD_CELLS_OPEN, sizeof(struct sd_open_cell),
                        &p->open_calls.cells) < 0)
        return false;
    if (sd_cells_n(p->cells) == 0)
        sd_cells_add(p->cells, first);
    p->lost = sd_cells_n(p->cells) ? sd_cells_at(p->cells, 0) : NULL;
    return true;
}

/* A call that is in no pair.  Without a cell for these it is the root that counts. */
static void lose_call(struct sd_call_tree *t)
{
    struct sd_call_root *root = sd_call_tree_root(t);

    if (t->pairs && t->pairs->lost)
        t->pairs->lost->callee.calls++;
    else if (root->lost < UINT32_MAX)
        root->lost++;
}

static void take_lost_back(struct sd_call_tree *t)
{
    struct sd_call_root *root = sd_call_tree_root(t);

    if (t->pairs->lost)
        t->pairs->lost->callee.calls--;
    else if (root->lost < UINT32_MAX)
        root->lost--;
}

static struct sd_call_pairs *make(struct sd_call_tree *t)
{
    const struct sd_pair_cell lost = { .callee = { .site = 0 } };
    struct sd_call_pairs *p = sd_zalloc(sizeof *p);

    if (!p)
        return NULL;
    if (!sd_pair_links_init(&p->links) || !has_level(p, 0) || !has_cells(t, p, &lost)) {
        sd_call_pairs_free(p);
        return NULL;
    }
    p->root.whole = &p->whole_root;
    p->levels[0] = (struct level){ .cell = t->stack->cell, .function = &p->root };
    p->n_levels = 1;
    p->nowhere[1].key = 1;
    return p;
}

/* The function that an entry runs, for what it calls; of a call that found no room, its
 * caller's. */
static struct sd_pair_function *function_at(const struct sd_call_tree *t,
                                            const struct sd_call_entry *e)
{
    return sd_call_entry_is_beyond(e) ? e->function
                                      : t->pairs->levels[e - t->stack].function;
}

static void leave_by(struct sd_call_pairs *p, struct sd_beyond_cell *exit,
                     uint32_t number)
{
    p->exit = exit;
    p->below.number = number;
}

static void find_exit(struct sd_call_tree *t, struct level *l, bool is_c)
{
    l->exits[is_c] = sd_call_tree_beyond(t, t->top->cell, is_c);
    if (l->exits[is_c])
        l->exit_numbers[is_c] = sd_cells_index(t->table, l->exits[is_c]);
}

/* The stack leaves the tree with the call of a function of this key. */
static bool leave_tree(struct sd_call_tree *t, uint64_t key)
{
    struct sd_call_pairs *p = t->pairs;
    struct level *l;

    if (!p) {
        struct sd_call_pause pause = sd_call_tree_pause(t);

        p = t->pairs = make(t);
        sd_call_tree_go_on(t, pause);
    }
    if (!p)
        return false;
    if (!bring_up(t, t->top))
        return false;
    l = &p->levels[p->n_levels - 1];
    sd_assert_slow(p->n_levels == (size_t)(t->top - t->stack) + 1);
    if (!l->exits[key & 1])
        find_exit(t, l, key & 1);
    if (sd_cells_n(t->table) >= t->n_max) /* else there may be room later */
        l->absent_keys[key >> 4 & 1] = key;
    leave_by(p, l->exits[key & 1] ? l->exits[key & 1] : &p->no_exit,
             l->exit_numbers[key & 1]);
    return true;
}

/* hot: the open cell of the entry below one that is beyond the tree. */
static inline struct sd_open_cell *open_below(struct sd_call_pairs *p,
                                              const struct sd_call_entry *e)
{
    return sd_call_entry_is_beyond(e - 1) ? e[-1].open : &p->below;
}

/* hot: every call beyond the tree, whose pair has a cell and whose place has one.
 * What is open as the callee of a pair is open, so that mostly the first look is all.
 */
static inline __attribute__((always_inline)) struct sd_call_entry *
count(struct sd_call_tree *t, struct sd_pair_link *l, uintptr_t frame,
      struct sd_open_cell *below, unsigned flags)
{
    struct sd_call_entry *e = t->top + 1;
    struct sd_open_cell *open = e->open;
    struct sd_pair_cell *cell = l->cell;
    struct sd_pair_function *callee = l->callee;
    uint64_t key = l->key;
    size_t at = sd_pair_links_place(t, e);

    sd_assert_slow(t->top < t->last && sd_open_calls_cell_is_empty(open));
    e->cell = &cell->callee;
    e->frame = (frame & ~(uintptr_t)SD_FRAME_TAGS) | SD_FRAME_BEYOND;
    e->function = callee;
    open->pair = l->pair;
    open->below = below->number;
    cell->callee.calls++;
    ++*sd_calls_inside_of_kind(&below->direct, key);
    if (__builtin_expect(sd_pair_function_opens(t, callee, at), 1)) {
        l->place = at;
        cell->primitive++;
        flags |= SD_BEYOND_OUTERMOST;
    } else if (sd_pair_link_opens(t, l, at)) {
        cell->inner_primitive++;
        flags |= SD_BEYOND_INNER;
    }
    e->skipped = t->skipped; /* behind the pauses of what was made */
    atomic_signal_fence(memory_order_release);
    open->flags = flags | SD_BEYOND_OPEN | (key & 1 ? SD_BEYOND_C : 0);
    t->top = e;
    return e;
}

/* No room: it is a part of its caller, and what it calls is called by that one. */
static struct sd_call_entry *lose(struct sd_call_tree *t, uint64_t key, uintptr_t frame,
                                  struct sd_pair_function *caller,
                                  struct sd_open_cell *below, unsigned flags)
{
    struct sd_call_cell *nowhere = &t->pairs->nowhere[key & 1];
    struct sd_call_entry *e = t->top + 1;

    sd_assert_slow(t->top < t->last && sd_open_calls_cell_is_empty(e->open));
    nowhere->site = caller->site;
    e->cell = nowhere;
    e->frame = (frame & ~(uintptr_t)SD_FRAME_TAGS) | SD_FRAME_BEYOND;
    e->function = caller;
    e->open->pair = 0;
    e->open->below = below->number;
    lose_call(t);
    e->skipped = t->skipped;
    atomic_signal_fence(memory_order_release);
    e->open->flags =
        flags | SD_BEYOND_OPEN | SD_BEYOND_LOST | (key & 1 ? SD_BEYOND_C : 0);
    t->top = e;
    return e;
}

/* Any call, from an entry that has left the tree or leaves it now. */
__attribute__((noinline)) static struct sd_call_entry *
enter(struct sd_call_tree *t, uint64_t key, const void *what, uintptr_t frame)
{
    struct sd_pair_function *caller = function_at(t, t->top);
    struct sd_pair_link *l = find(t, caller, (struct sd_pair_callee){ key, 0, what });
    struct sd_open_cell *below = open_below(t->pairs, t->top + 1);
    unsigned flags = below == &t->pairs->below ? SD_BEYOND_FIRST : 0;

    if (!has_open_cell(t, t->top + 1)) {
        lose_call(t);
        return NULL;
    }
    if (!l || (!l->cell && !give_cell(t, l)))
        return lose(t, key, frame, caller, below, flags);
    if (l->whole)
        flags |= count_whole(t, sd_pair_links_place(t, t->top + 1), l->whole);
    return count(t, l, frame, below, flags);
}

struct sd_call_entry *sd_call_pairs_enter(struct sd_call_tree *t, uint64_t key,
                                          const void *what, uintptr_t frame)
{
    if (sd_call_entry_is_beyond(t->top) || leave_tree(t, key))
        return enter(t, key, what, frame);
    lose_call(t);
    return NULL;
}

/* hot: has the entry on top, which is in a full tree, left it with this function
 * before?  Then the tree has no cell for it. */
static inline struct level *leaves_again(const struct sd_call_tree *t, uint64_t key)
{
    const struct sd_call_pairs *p = t->pairs;
    struct level *l = &p->levels[p->n_levels - 1];

    return l->place == sd_pair_links_place(t, t->top) && l->cell == t->top->cell &&
                   l->absent_keys[key >> 4 & 1] == key && l->exits[key & 1]
               ? l
               : NULL;
}

/* hot: is this a call, of this caller, for which all is there?  There is room for it.
 */
static inline bool is_known(const struct sd_call_tree *t, const struct sd_pair_link *l)
{
    return l && l->cell && !l->whole && t->top[1].open;
}

/* The entry on top is in the tree. */
__attribute__((noinline)) static struct sd_call_entry *
try_to_leave(struct sd_call_tree *t, uint64_t key, const void *what, uintptr_t frame,
             uintptr_t below)
{
    struct level *level = NULL;
    struct sd_pair_link *link;

    if (t->pairs && t->until_look && sd_call_tree_is_on_top(t, below) &&
        t->top != t->last)
        level = leaves_again(t, key);
    if (!level)
        return sd_call_tree_enter_any(t, key, what, frame, below);
    leave_by(t->pairs, level->exits[key & 1], level->exit_numbers[key & 1]);
    link = sd_pair_links_likely(level->function, key);
    if (__builtin_expect(is_known(t, link), 1))
        return count(t, link, frame, &t->pairs->below, SD_BEYOND_FIRST);
    return enter(t, key, what, frame);
}

/* hot: every call beyond the tree.  A C function that calls another from the same frame
 * is not usual. */
struct sd_call_entry *sd_call_tree_enter_slowly(struct sd_call_tree *t, uint64_t key,
                                                const void *what, uintptr_t frame,
                                                uintptr_t below)
{
    struct sd_call_entry *top = t->top;
    struct sd_pair_link *link;

    t->until_look--;
    if (top->frame != (below | SD_FRAME_BEYOND))
        return try_to_leave(t, key, what, frame, below);
    if (__builtin_expect(!t->until_look || top == t->last ||
                             (frame & SD_FRAME_C && top->cell->key & SD_FRAME_C),
                         0))
        return sd_call_tree_enter_any(t, key, what, frame, below);
    link = sd_pair_links_likely(top->function, key);
    if (__builtin_expect(is_known(t, link), 1))
        return count(t, link, frame, top->open, 0);
    return enter(t, key, what, frame);
}

/* Where the tree ends: all that lay beyond it from there. */
static inline void book_exit(struct sd_beyond_cell *exit, const struct sd_call_entry *e,
                             sd_both_calls inside, uint64_t ticks)
{
    uint64_t is_c = e->cell->key & 1;

    exit->first_calls++;
    exit->calls += inside[0] + inside[1] + 1;
    exit->c_calls += inside[1] + is_c;
    exit->ticks += ticks;
}

static void book_cpu(const struct sd_call_entry *e, unsigned flags,
                     struct sd_beyond_cell *exit, uint64_t cpu)
{
    struct sd_pair_cell *cell = pair_of(e);

    if (cpu > e->open->callee_cpu_ns) /* a child of fork has no such clock any more */
        cell->own_cpu_ns += cpu - e->open->callee_cpu_ns;
    if (flags & SD_BEYOND_OUTERMOST)
        cell->callee.cpu_ns += cpu;
    else if (flags & SD_BEYOND_INNER)
        cell->inner_cpu_ns += cpu;
    if (flags & SD_BEYOND_FIRST)
        exit->cpu_ns += cpu;
    else if (!(flags & SD_BEYOND_CUT))
        e[-1].open->callee_cpu_ns += cpu;
}

/* It was its caller's all along, but for what it called. */
static void book_lost(const struct sd_call_entry *e, unsigned flags,
                      struct sd_beyond_cell *exit)
{
    const struct sd_open_cell *open = e->open;
    sd_both_calls inside = sd_open_calls_cell_inside(open);

    if (flags & SD_BEYOND_FIRST) {
        exit->first_calls += open->direct.python + open->direct.c;
        exit->calls += inside[0] + inside[1];
        exit->c_calls += inside[1];
        exit->ticks += open->callee_ticks;
        exit->cpu_ns += open->callee_cpu_ns;
        return;
    }
    if (flags & SD_BEYOND_CUT)
        return;
    sd_calls_inside_add(&e[-1].open->direct, sd_calls_inside_load(&open->direct));
    sd_calls_inside_add(&e[-1].open->deeper, sd_calls_inside_load(&open->deeper));
    e[-1].open->callee_ticks += open->callee_ticks;
    e[-1].open->callee_cpu_ns += open->callee_cpu_ns;
}

/* hot: a call ended, which found its room.  What it took is no more its caller's own.
 * Of one that made no calls, `open` is a constant that is all zero. */
static inline __attribute__((always_inline)) void
book_found(const struct sd_call_entry *e, const struct sd_open_cell *open,
           unsigned flags, struct sd_beyond_cell *exit, uint64_t ticks)
{
    struct sd_pair_cell *cell = pair_of(e);
    sd_both_calls inside = sd_open_calls_cell_inside(open);

    sd_assert_slow(flags & SD_BEYOND_OPEN && !(flags & SD_BEYOND_LOST));
    cell->own_ticks += ticks - open->callee_ticks;
    sd_calls_inside_add(&cell->own_calls, sd_calls_inside_load(&open->direct));
    if (__builtin_expect(flags & SD_BEYOND_OUTERMOST, 1)) {
        cell->callee.ticks += ticks;
        sd_calls_inside_add(&cell->inside_calls, inside);
    } else if (flags & SD_BEYOND_INNER) {
        cell->inner_ticks += ticks;
        sd_calls_inside_add(&cell->inner_calls, inside);
    }
    if (flags & SD_BEYOND_FIRST) {
        book_exit(exit, e, inside, ticks);
    } else if (!(flags & SD_BEYOND_CUT)) {
        e[-1].open->callee_ticks += ticks;
        sd_calls_inside_add(&e[-1].open->deeper, inside);
    }
}

/* Any call. */
void sd_call_pairs_book(const struct sd_call_tree *t, struct sd_call_entry *e,
                        struct sd_beyond_cell *exit, uint64_t ticks, uint64_t cpu)
{
    unsigned flags = e->open->flags;

    sd_open_calls_cell_close(e->open);
    if (flags & SD_BEYOND_LOST) {
        book_lost(e, flags, exit);
    } else {
        book_found(e, e->open, flags, exit, ticks);
        if (t->cpu)
            book_cpu(e, flags, exit, cpu);
        if (flags & SD_BEYOND_WHOLE)
            book_whole(whole_cell(t, e), flags, sd_open_calls_cell_inside(e->open),
                       ticks, cpu);
    }
    sd_open_calls_cell_empty(e->open);
}

void sd_call_pairs_leave(struct sd_call_tree *t, uint64_t ticks, uint64_t cpu)
{
    struct sd_call_entry *e = t->top;

    sd_assert_slow(sd_call_entry_is_beyond(e));
    sd_call_pairs_book(t, e, t->pairs->exit, ticks, cpu);
    t->top = e - 1;
}

/* hot: the end of every call beyond the tree. */
void sd_call_tree_leave_more(struct sd_call_tree *t, uintptr_t frame, uint64_t now)
{
    struct sd_call_entry *e = t->top;
    struct sd_open_cell *open = e->open;
    unsigned flags;

    if (__builtin_expect(e->frame != (frame | SD_FRAME_BEYOND) ||
                             (frame ^ e->cell->key) & SD_FRAME_C || t->extra,
                         0)) {
        sd_call_tree_leave_any(t, frame, now);
        return;
    }
    flags = open->flags;
    if (__builtin_expect(flags & (SD_BEYOND_LOST | SD_BEYOND_WHOLE), 0)) {
        sd_call_pairs_leave(t, sd_call_ticks(t, e, now), 0);
        return;
    }
    sd_open_calls_cell_close(open);
    if (sd_open_calls_cell_made_no_calls(open)) {
        book_found(e, &(struct sd_open_cell){ 0 }, flags, t->pairs->exit,
                   sd_call_ticks(t, e, now));
    } else {
        book_found(e, open, flags, t->pairs->exit, sd_call_ticks(t, e, now));
        sd_open_calls_cell_empty(open);
    }
    sd_assert_slow(sd_open_calls_cell_is_empty(open));
    t->top = e - 1;
}

void sd_call_pairs_undo(struct sd_call_tree *t)
{
    struct sd_call_entry *e = t->top;
    struct sd_pair_cell *cell = pair_of(e);
    unsigned flags = e->open->flags;

    sd_assert_slow(sd_call_entry_is_beyond(e));
    sd_open_calls_cell_close(e->open);
    if (!(flags & SD_BEYOND_LOST)) {
        cell->callee.calls--;
        cell->primitive -= (flags & SD_BEYOND_OUTERMOST) != 0;
        cell->inner_primitive -= (flags & SD_BEYOND_INNER) != 0;
        if (flags & SD_BEYOND_WHOLE)
            undo_whole(whole_cell(t, e), flags);
        --*sd_calls_inside_of_kind(&open_below(t->pairs, e)->direct, e->cell->key);
    } else {
        take_lost_back(t);
    }
    sd_open_calls_cell_empty(e->open);
    t->top = e - 1;
}

/* Nothing tells later which of several calls was the outermost. */
void sd_call_pairs_awaited(struct sd_call_tree *t, struct sd_call_entry *e,
                           uint64_t ticks)
{
    if (e->open->flags & SD_BEYOND_OUTERMOST)
        e->cell->awaited += ticks;
    if (e->open->flags & SD_BEYOND_WHOLE_OUTERMOST)
        whole_cell(t, e)->callee.awaited += ticks;
}

bool sd_call_pairs_reopen(struct sd_call_tree *t, const struct sd_call_entry *keep,
                          struct sd_beyond_cell *exit)
{
    struct sd_call_pairs *p = t->pairs;

    if (!bring_up(t, keep))
        return false;
    leave_by(p, exit, exit == &p->no_exit ? 0 : sd_cells_index(t->table, exit));
    for (const struct sd_call_entry *e = keep + 1; e <= t->top; e++) {
        size_t at = sd_pair_links_place(t, e);
        struct sd_pair_link *l = NULL;

        if (e->open->flags & SD_BEYOND_LOST)
            continue;
        l = p->links.by_pair[e->open->pair];
        sd_pair_function_opens(t, e->function, at);
        sd_pair_link_opens(t, l, at);
        if (l->whole) {
            opens_whole(t, l->whole->callee, at);
            opens_whole_pair(t, l->whole, at);
        }
    }
    return true;
}

struct sd_open_calls *sd_call_pairs_open_calls(const struct sd_call_tree *t)
{
    return &t->pairs->open_calls;
}

/* --- Looks ----------------------------------------------------------------------- */

struct sd_beyond_cell *sd_call_pairs_exit(const struct sd_call_tree *t)
{
    return t->pairs->exit;
}

uint32_t sd_call_pairs_n(const struct sd_call_tree *t)
{
    return t->pairs && sd_cells_n(t->pairs->cells) ? sd_cells_n(t->pairs->cells) - 1
                                                   : 0;
}

const struct sd_pair_cell *sd_call_pairs_at(const struct sd_call_tree *t, uint32_t i)
{
    sd_assert(i < sd_call_pairs_n(t));
    return sd_cells_at(t->pairs->cells, i + 1);
}

uint32_t sd_call_pairs_index(const struct sd_call_tree *t, const struct sd_call_cell *c)
{
    sd_assert(t->pairs);
    return sd_cells_index(t->pairs->cells, c) - 1;
}

void sd_call_pairs_keys(const struct sd_call_tree *t, uint32_t i, uint64_t *caller,
                        uint64_t *callee)
{
    const struct sd_pair_link *l = t->pairs->links.by_pair[i + 1];

    *caller = l->caller->key;
    *callee = l->key;
}

uint64_t sd_call_pairs_calls(const struct sd_call_tree *t)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < sd_call_pairs_n(t); i++)
        n += sd_call_pairs_at(t, i)->callee.calls;
    return n;
}

uint64_t sd_call_pairs_lost(const struct sd_call_tree *t)
{
    const struct sd_call_root *root = sd_cells_at(t->table, 0);

    return root->lost + (t->pairs && t->pairs->lost ? t->pairs->lost->callee.calls : 0);
}

void sd_call_pairs_free(struct sd_call_pairs *p)
{
    if (!p)
        return;
    sd_pair_links_release(&p->links);
    sd_free(p->open_calls.spare);
    sd_free(p->levels);
    sd_free(p);
}
