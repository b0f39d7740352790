/* SPDX-License-Identifier: MIT */
#include "collect/calls/pairs.h"

#include <stdatomic.h>

#include "base/assert.h"
#include "base/mem.h"
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
    struct sd_pair_function *function;
    struct sd_beyond_cell *exits[2]; /* where calls leave the tree from it, with a
                                        Python or a C function; NULL: not yet */
    uint32_t exit_numbers[2];        /* their indices in the tree */
    uint64_t absent_keys[2]; /* keys that have no cell below this one, in a full tree:
                                those that were looked for last; or 0 */
};

struct sd_call_pairs {
    struct sd_calls_inside n;      /* calls beyond the tree, ever */
    struct sd_beyond_cell *exit;   /* where the entries beyond the tree left it */
    struct sd_cells *cells;        /* the tree's second kind; borrowed */
    struct sd_pair_cell *lost;     /* the first: calls that found no room; NULL: not
                                      even that found any */
    struct sd_beyond_cell no_exit; /* in the place of an exit, on a full disk */
    struct sd_open_cell below;     /* of the entry that the first of those beyond the
                                      tree stands on: `number` is that of the exit */
    struct sd_cells *open_cells;   /* the tree's third kind; borrowed */
    struct sd_open_cell **free;    /* those that no call has; owned */
    size_t n_free, cap_free;       /* with room for all of them */
    size_t n_open_cells;
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

static void count_inside(struct sd_calls_inside *to, uint64_t key, int64_t n)
{
    if (key & 1)
        to->c += (uint64_t)n;
    else
        to->python += (uint64_t)n;
}

static void add_inside(struct sd_calls_inside *to, struct sd_calls_inside n)
{
    to->python += n.python;
    to->c += n.c;
}

static struct sd_calls_inside calls_inside(const struct sd_open_cell *open)
{
    return (struct sd_calls_inside){ open->direct.python + open->deeper.python,
                                     open->direct.c + open->deeper.c };
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

/* The function that runs at this place of the stack; NULL: not known. */
static struct sd_pair_function *whole_at(const struct sd_call_tree *t, size_t at)
{
    const struct sd_call_entry *e = &t->stack[at];

    if (sd_call_entry_is_beyond(e))
        return e->open->flags & SD_BEYOND_LOST ? NULL : e->function->whole;
    return t->pairs->levels[at].function->whole;
}

static bool opens_whole(const struct sd_call_tree *t, struct sd_pair_function *f,
                        size_t at)
{
    if (f->place < at && whole_at(t, f->place) == f)
        return false;
    f->place = (uint32_t)at;
    return true;
}

static bool opens_whole_pair(const struct sd_call_tree *t, struct sd_pair_link *l,
                             size_t at)
{
    if (l->place < at && l->place > 0 && whole_at(t, l->place) == l->callee &&
        whole_at(t, l->place - 1) == l->caller)
        return false;
    l->place = (uint32_t)at;
    return true;
}

/* Of a call at this place of the stack; gives its flags. */
static unsigned count_whole(const struct sd_call_tree *t, size_t at,
                            struct sd_pair_link *whole)
{
    if (opens_whole(t, whole->callee, at)) {
        whole->place = (uint32_t)at;
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
    return t->pairs->links.by_pair[e->open->pair]->whole->cell;
}

static void book_whole(struct sd_pair_cell *cell, unsigned flags,
                       struct sd_calls_inside inside, uint64_t ticks, uint64_t cpu)
{
    if (flags & SD_BEYOND_WHOLE_OUTERMOST) {
        cell->callee.ticks += ticks;
        cell->callee.cpu_ns += cpu;
        add_inside(&cell->inside_calls, inside);
    } else {
        cell->inner_ticks += ticks;
        cell->inner_cpu_ns += cpu;
        add_inside(&cell->inner_calls, inside);
    }
}

static void undo_whole(struct sd_pair_cell *cell, unsigned flags)
{
    cell->primitive -= (flags & SD_BEYOND_WHOLE_OUTERMOST) != 0;
    cell->inner_primitive -= (flags & SD_BEYOND_WHOLE_INNER) != 0;
}

/* --- What is open ---------------------------------------------------------------- */

/* On a full disk it is not in the capture, and all else is as it should be. */
static struct sd_open_cell *add_open_cell(struct sd_call_pairs *p)
{
    struct sd_open_cell fresh = { .number = sd_cells_n(p->open_cells) };
    struct sd_open_cell **grown =
        sd_grow_array(p->free, &p->cap_free, p->n_open_cells + 1, sizeof *grown);
    struct sd_open_cell *open;

    if (!grown)
        return NULL;
    p->free = grown;
    if (sd_cells_add(p->open_cells, &fresh) != SD_NO_CELL)
        open = sd_cells_at(p->open_cells, fresh.number);
    else
        open = sd_arena_alloc(&p->links.arena, sizeof *open);
    p->n_open_cells += open != NULL;
    return open;
}

__attribute__((noinline)) static struct sd_open_cell *
new_open_cell(struct sd_call_tree *t)
{
    struct sd_call_pause pause = sd_call_tree_pause(t);
    struct sd_open_cell *open = add_open_cell(t->pairs);

    sd_call_tree_go_on(t, pause);
    return open;
}

/* hot: the cell of a call that is about to begin.  NULL: no memory. */
static inline struct sd_open_cell *take_open_cell(struct sd_call_tree *t)
{
    struct sd_call_pairs *p = t->pairs;

    if (__builtin_expect(p->n_free > 0, 1))
        return p->free[--p->n_free];
    return new_open_cell(t);
}

/* hot: whoever reads it from now on finds no call there. */
static inline void close_cell(struct sd_open_cell *open)
{
    open->flags = 0;
    atomic_signal_fence(memory_order_seq_cst);
}

static inline void give_back(struct sd_call_pairs *p, struct sd_open_cell *open)
{
    sd_assert_slow(p->n_free < p->n_open_cells);
    p->free[p->n_free++] = open;
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
        struct sd_pair_function *caller = p->levels[i - 1].function;
        struct sd_pair_link *l =
            find(t, caller, (struct sd_pair_callee){ cell->key, cell->site, NULL });

        p->levels[i] =
            (struct level){ .cell = cell, .function = l ? l->callee : caller };
        p->n_levels = i + 1;
        if (!l)
            continue;
        sd_pair_function_opens(t, l->callee, i);
        sd_pair_link_opens(t, l, i);
        if (has_wholes(t) && sd_pair_links_whole(&p->links, t, l)) {
            opens_whole(t, l->whole->callee, i);
            opens_whole_pair(t, l->whole, i);
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
        sd_cells_beside(t->table, SD_CELLS_OPEN, sizeof **p->free, &p->open_cells) < 0)
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
    if (!l->exits[key & 1])
        find_exit(t, l, key & 1);
    if (sd_cells_n(t->table) >= t->n_max) /* else there may be room later */
        l->absent_keys[key >> 4 & 1] = key;
    leave_by(p, l->exits[key & 1] ? l->exits[key & 1] : &p->no_exit,
             l->exit_numbers[key & 1]);
    return true;
}

/* hot: has the entry on top, which is in a full tree, left it with this function
 * before? Then the tree has no cell for it. */
bool sd_call_pairs_leaves_again(struct sd_call_tree *t, uint64_t key)
{
    struct sd_call_pairs *p = t->pairs;
    struct level *l;

    if (p->n_levels != (size_t)(t->top - t->stack) + 1)
        return false;
    l = &p->levels[p->n_levels - 1];
    if (l->cell != t->top->cell || l->absent_keys[key >> 4 & 1] != key ||
        !l->exits[key & 1])
        return false;
    leave_by(p, l->exits[key & 1], l->exit_numbers[key & 1]);
    return true;
}

/* hot: the open cell of the entry below one that is beyond the tree. */
static inline struct sd_open_cell *open_below(struct sd_call_pairs *p,
                                              const struct sd_call_entry *e)
{
    return sd_call_entry_is_beyond(e - 1) ? e[-1].open : &p->below;
}

/* No room: it is a part of its caller, and what it calls is called by that one. */
__attribute__((noinline)) static unsigned lose(struct sd_call_tree *t,
                                               struct sd_call_entry *e, uint64_t key,
                                               struct sd_pair_function *caller)
{
    struct sd_call_cell *nowhere = &t->pairs->nowhere[key & 1];

    nowhere->site = caller->site;
    e->cell = nowhere;
    e->function = caller;
    lose_call(t);
    return SD_BEYOND_LOST;
}

/* hot: every call beyond the tree.  What is open as the callee of a pair is open, so
 * that mostly the first look is all. */
static inline unsigned count(struct sd_call_tree *t, struct sd_call_entry *e,
                             struct sd_pair_link *l, struct sd_open_cell *below)
{
    struct sd_call_pairs *p = t->pairs;
    size_t at = (size_t)(e - t->stack);
    unsigned flags = 0;

    e->cell = &l->cell->callee;
    e->cell->calls++;
    e->function = l->callee;
    e->open->pair = l->pair;
    if (__builtin_expect(l->key & 1, 0)) {
        below->direct.c++;
        p->n.c++;
    } else {
        below->direct.python++;
        p->n.python++;
    }
    if (__builtin_expect(l->whole != NULL, 0))
        flags = count_whole(t, at, l->whole);
    if (__builtin_expect(sd_pair_function_opens(t, l->callee, at), 1)) {
        l->place = (uint32_t)at;
        l->cell->primitive++;
        return flags | SD_BEYOND_OUTERMOST;
    }
    if (!sd_pair_link_opens(t, l, at))
        return flags;
    l->cell->inner_primitive++;
    return flags | SD_BEYOND_INNER;
}

struct sd_call_entry *sd_call_pairs_enter_first(struct sd_call_tree *t, uint64_t key,
                                                const void *what, uintptr_t frame)
{
    if (leave_tree(t, key))
        return sd_call_pairs_enter(t, key, what, frame);
    lose_call(t);
    return NULL;
}

struct sd_call_entry *sd_call_pairs_enter(struct sd_call_tree *t, uint64_t key,
                                          const void *what, uintptr_t frame)
{
    struct sd_call_entry *e = t->top + 1;
    struct sd_pair_function *caller = function_at(t, t->top);
    struct sd_pair_link *l = find(t, caller, (struct sd_pair_callee){ key, 0, what });
    struct sd_open_cell *open = take_open_cell(t), *below = open_below(t->pairs, e);
    unsigned flags = SD_BEYOND_OPEN |
                     (below == &t->pairs->below ? SD_BEYOND_FIRST : 0) |
                     (key & 1 ? SD_BEYOND_C : 0);

    if (__builtin_expect(!open, 0)) {
        lose_call(t);
        return NULL;
    }
    e->frame = (frame & ~(uintptr_t)SD_FRAME_TAGS) | SD_FRAME_BEYOND;
    e->open = open;
    *open = (struct sd_open_cell){ .number = open->number, .below = below->number };
    if (__builtin_expect(l && (l->cell || give_cell(t, l)), 1))
        flags |= count(t, e, l, below);
    else
        flags |= lose(t, e, key, caller);
    e->skipped = t->skipped; /* behind the pauses of what was made */
    atomic_signal_fence(memory_order_release);
    open->flags = flags;
    t->top = e;
    return e;
}

/* Where the tree ends: all that lay beyond it from there. */
static void book_exit(struct sd_beyond_cell *exit, const struct sd_call_entry *e,
                      struct sd_calls_inside inside, uint64_t ticks, uint64_t cpu)
{
    bool is_c = e->cell->key & 1;

    exit->first_calls++;
    exit->calls += inside.python + inside.c + 1;
    exit->c_calls += inside.c + is_c;
    exit->ticks += ticks;
    exit->cpu_ns += cpu;
}

/* What only some trees have: CPU time, and C functions. */
static void book_more(const struct sd_call_entry *e, unsigned flags,
                      struct sd_calls_inside inside, uint64_t cpu)
{
    struct sd_pair_cell *cell = pair_of(e);

    if (cpu > e->open->callee_cpu_ns) /* a child of fork has no such clock any more */
        cell->own_cpu_ns += cpu - e->open->callee_cpu_ns;
    cell->own_calls.c += e->open->direct.c;
    if (flags & SD_BEYOND_OUTERMOST) {
        cell->callee.cpu_ns += cpu;
        cell->inside_calls.c += inside.c;
    } else if (flags & SD_BEYOND_INNER) {
        cell->inner_cpu_ns += cpu;
        cell->inner_calls.c += inside.c;
    }
    if (flags & (SD_BEYOND_FIRST | SD_BEYOND_CUT))
        return;
    e[-1].open->callee_cpu_ns += cpu;
    e[-1].open->deeper.c += inside.c;
}

/* It was its caller's all along, but for what it called. */
static void book_lost(const struct sd_call_entry *e, unsigned flags,
                      struct sd_beyond_cell *exit)
{
    const struct sd_open_cell *open = e->open;
    struct sd_calls_inside inside = calls_inside(open);

    if (flags & SD_BEYOND_FIRST) {
        exit->first_calls += open->direct.python + open->direct.c;
        exit->calls += inside.python + inside.c;
        exit->c_calls += inside.c;
        exit->ticks += open->callee_ticks;
        exit->cpu_ns += open->callee_cpu_ns;
        return;
    }
    if (flags & SD_BEYOND_CUT)
        return;
    add_inside(&e[-1].open->direct, open->direct);
    add_inside(&e[-1].open->deeper, open->deeper);
    e[-1].open->callee_ticks += open->callee_ticks;
    e[-1].open->callee_cpu_ns += open->callee_cpu_ns;
}

/* hot: a call ended.  What it took is no more its caller's own. */
static inline void book(const struct sd_call_tree *t, struct sd_call_entry *e,
                        struct sd_beyond_cell *exit, uint64_t ticks, uint64_t cpu)
{
    struct sd_pair_cell *cell = pair_of(e);
    struct sd_open_cell *open = e->open;
    struct sd_calls_inside inside = calls_inside(open);
    unsigned flags = open->flags;

    close_cell(open);
    if (__builtin_expect(flags & SD_BEYOND_LOST, 0)) {
        book_lost(e, flags, exit);
        give_back(t->pairs, open);
        return;
    }
    cell->own_ticks += ticks - open->callee_ticks;
    cell->own_calls.python += open->direct.python;
    if (__builtin_expect(flags & SD_BEYOND_OUTERMOST, 1)) {
        cell->callee.ticks += ticks;
        cell->inside_calls.python += inside.python;
    } else if (flags & SD_BEYOND_INNER) {
        cell->inner_ticks += ticks;
        cell->inner_calls.python += inside.python;
    }
    if (__builtin_expect(t->cpu != NULL || t->sees_c, 0))
        book_more(e, flags, inside, cpu);
    if (__builtin_expect(flags & SD_BEYOND_WHOLE, 0))
        book_whole(whole_cell(t, e), flags, inside, ticks, cpu);
    if (flags & SD_BEYOND_FIRST) {
        book_exit(exit, e, inside, ticks, cpu);
    } else if (!(flags & SD_BEYOND_CUT)) {
        e[-1].open->callee_ticks += ticks;
        e[-1].open->deeper.python += inside.python;
    }
    give_back(t->pairs, open);
}

void sd_call_pairs_leave(struct sd_call_tree *t, uint64_t ticks, uint64_t cpu)
{
    struct sd_call_entry *e = t->top;

    sd_assert_slow(sd_call_entry_is_beyond(e));
    book(t, e, t->pairs->exit, ticks, cpu);
    t->top = e - 1;
}

void sd_call_pairs_undo(struct sd_call_tree *t)
{
    struct sd_call_entry *e = t->top;
    struct sd_pair_cell *cell = pair_of(e);
    unsigned flags = e->open->flags;

    close_cell(e->open);
    if (!(flags & SD_BEYOND_LOST)) {
        cell->callee.calls--;
        cell->primitive -= (flags & SD_BEYOND_OUTERMOST) != 0;
        cell->inner_primitive -= (flags & SD_BEYOND_INNER) != 0;
        if (flags & SD_BEYOND_WHOLE)
            undo_whole(whole_cell(t, e), flags);
        count_inside(&open_below(t->pairs, e)->direct, e->cell->key, -1);
        count_inside(&t->pairs->n, e->cell->key, -1);
    } else {
        take_lost_back(t);
    }
    give_back(t->pairs, e->open);
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

/* --- Entries that wait ----------------------------------------------------------- */

/* The first of them that is beyond the tree; n: none is. */
static size_t first_beyond(const struct sd_call_entry *entries, size_t n)
{
    size_t first = n;

    while (first > 0 && sd_call_entry_is_beyond(&entries[first - 1]))
        first--;
    return first;
}

/* A stack may be cut in the midst of what is beyond the tree: what its upper part ran
 * so far is no more the lower part's own, and what it will run is nobody's but its own.
 */
static void cut(const struct sd_call_entry *entries, size_t n,
                struct sd_open_cell *below)
{
    entries->open->flags |= SD_BEYOND_CUT;
    below->callee_ticks += entries->start;
    below->callee_cpu_ns += entries->cpu_start;
    for (size_t i = 0; i < n; i++)
        add_inside(&below->deeper, calls_inside(entries[i].open));
}

struct sd_beyond_cell *sd_call_pairs_park(struct sd_call_tree *t,
                                          struct sd_call_entry *entries, size_t n)
{
    size_t first = first_beyond(entries, n);

    if (first == n)
        return NULL;
    if (!(entries[first].open->flags & (SD_BEYOND_FIRST | SD_BEYOND_CUT)))
        cut(entries + first, n - first, t->top[-(ptrdiff_t)n].open);
    return t->pairs->exit;
}

/* They end here, without a time. */
static void drop_above(struct sd_call_tree *t, const struct sd_call_entry *keep)
{
    for (; t->top > keep; t->top--) {
        close_cell(t->top->open);
        give_back(t->pairs, t->top->open);
    }
}

void sd_call_pairs_unpark(struct sd_call_tree *t, size_t n, struct sd_beyond_cell *exit)
{
    size_t n_beyond = n - first_beyond(t->top - n + 1, n);
    const struct sd_call_entry *keep = t->top - n_beyond;

    if (!exit)
        return;
    if (!bring_up(t, keep)) {
        drop_above(t, keep);
        return;
    }
    leave_by(t->pairs, exit,
             exit == &t->pairs->no_exit ? 0 : sd_cells_index(t->table, exit));
    for (const struct sd_call_entry *e = keep + 1; e <= t->top; e++) {
        size_t at = (size_t)(e - t->stack);
        struct sd_pair_link *l = NULL;

        if (e->open->flags & SD_BEYOND_LOST)
            continue;
        l = t->pairs->links.by_pair[e->open->pair];
        sd_pair_function_opens(t, e->function, at);
        sd_pair_link_opens(t, l, at);
        if (l->whole) {
            opens_whole(t, l->whole->callee, at);
            opens_whole_pair(t, l->whole, at);
        }
    }
}

void sd_call_pairs_bury(struct sd_call_tree *t, struct sd_call_entry *entries, size_t n,
                        struct sd_beyond_cell *exit)
{
    size_t first = first_beyond(entries, n);

    for (size_t i = n; i-- > first;)
        book(t, &entries[i], exit, entries[i].start, t->cpu ? entries[i].cpu_start : 0);
}

/* --- Looks ----------------------------------------------------------------------- */

const struct sd_beyond_cell *sd_call_pairs_exit(const struct sd_call_tree *t)
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
    return sd_cells_at(t->pairs->cells, i + 1);
}

uint32_t sd_call_pairs_index(const struct sd_call_tree *t, const struct sd_call_cell *c)
{
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
    return t->pairs ? t->pairs->n.python + t->pairs->n.c : 0;
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
    sd_free(p->free);
    sd_free(p->levels);
    sd_free(p);
}
