/* SPDX-License-Identifier: MIT */
#include "collect/calls/pairs.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/mem.h"

/* A program can make functions without end (exec), so there is a limit; real ones have
 * some ten thousand pairs. */
#if SD_TINY
enum { FIRST_SLOTS = 4, MOST_PAIRS = 64 };
#else
enum { FIRST_SLOTS = 256, MOST_PAIRS = 4000000 };
#endif

struct link;

struct function {
    uint64_t key;
    struct link *last; /* the pair that was called last from here; NULL: none */
    uint32_t opened;   /* place in the stack where it was opened first, if it is open */
    uint32_t site;
};

struct link {          /* a caller and what it calls */
    uint64_t key;      /* the callee's */
    struct link *next; /* the pair that its caller called after this one, last time */
    struct sd_pair_cell *cell; /* NULL: not called beyond the tree yet */
    struct function *callee, *caller;
    uint32_t opened; /* as a function's */
};

/* The writer's part of a pair's cell. */
static inline struct link *link_of(const struct sd_pair_cell *cell)
{
    return (struct link *)(uintptr_t)cell->writers[0];
}

static inline struct function *callee_of(const struct sd_pair_cell *cell)
{
    return (struct function *)(uintptr_t)cell->writers[1];
}

struct level { /* an entry of the tree, as it was seen last */
    const struct sd_call_cell *cell;
    struct function *function;
    struct sd_beyond_cell *left[2]; /* where calls leave the tree from it, with a Python
                                       or a C function; NULL: not yet */
    uint64_t missing[2];            /* keys that have no cell below this one, in a full
                                       tree: those that were looked for last; or 0 */
};

struct sd_call_pairs {
    struct sd_calls_inside n;      /* calls beyond the tree, ever */
    struct sd_beyond_cell *left;   /* where the entries beyond the tree left it */
    struct sd_cells *cells;        /* the tree's second kind; borrowed */
    struct sd_pair_cell *lost;     /* the first: calls that found no room */
    struct sd_pair_cell no_lost;   /* in its place, and ... */
    struct sd_beyond_cell no_left; /* ... in that of where they left, on a full disk */
    struct sd_arena arena;         /* functions and links */
    struct sd_table functions;     /* key to address */
    struct link **slots;           /* by caller and key; owned */
    size_t n_slots, n_links;       /* a power of two, more than half of it free */
    struct level *levels;          /* by place in the stack; owned */
    size_t n_levels, cap_levels;
    struct function root;           /* whoever called the outermost function */
    struct sd_call_cell nowhere[2]; /* of calls that found no room */
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

static struct sd_calls_inside since(struct sd_calls_inside now,
                                    struct sd_calls_inside before)
{
    return (struct sd_calls_inside){ now.python - before.python, now.c - before.c };
}

/* --- Functions and pairs --------------------------------------------------------- */

static struct link **slot_of(struct link **slots, size_t n,
                             const struct function *caller, uint64_t key)
{
    uint64_t hash =
        (uint64_t)(uintptr_t)caller * 0x9E3779B97F4A7C15u ^ key * 0xC2B2AE3D27D4EB4Fu;
    size_t at = (hash ^ hash >> 29) & (n - 1);

    while (slots[at] && (slots[at]->key != key || slots[at]->caller != caller))
        at = (at + 1) & (n - 1);
    return &slots[at];
}

static bool make_room(struct sd_call_pairs *p)
{
    size_t n = p->n_slots * 2;
    struct link **grown;

    if (p->n_links < p->n_slots / 2)
        return true;
    grown = sd_zalloc(n * sizeof *grown);
    if (!grown)
        return false;
    for (size_t i = 0; i < p->n_slots; i++)
        if (p->slots[i])
            *slot_of(grown, n, p->slots[i]->caller, p->slots[i]->key) = p->slots[i];
    sd_free(p->slots);
    p->slots = grown;
    p->n_slots = n;
    return true;
}

/* `site` is 0 when the function is not in the tree, and `what` is the function then. */
static struct function *function_of(struct sd_call_tree *t, uint64_t key, uint32_t site,
                                    const void *what)
{
    struct sd_call_pairs *p = t->pairs;
    struct function *f;
    uint64_t known;

    if (sd_table_get(&p->functions, key, &known))
        return (struct function *)(uintptr_t)known;
    if (!site)
        site = sd_call_tree_site(t, key, what);
    f = site ? sd_arena_alloc(&p->arena, sizeof *f) : NULL;
    if (!f || sd_table_put(&p->functions, key, (uintptr_t)f) < 0)
        return NULL;
    *f = (struct function){ .key = key, .site = site };
    return f;
}

static struct link *new_link(struct sd_call_tree *t, struct function *caller,
                             uint64_t key, uint32_t site, const void *what)
{
    struct sd_call_pairs *p = t->pairs;
    struct function *callee = make_room(p) ? function_of(t, key, site, what) : NULL;
    struct link *l = callee ? sd_arena_alloc(&p->arena, sizeof *l) : NULL;

    if (!l)
        return NULL;
    *l = (struct link){ .key = key, .callee = callee, .caller = caller };
    *slot_of(p->slots, p->n_slots, caller, key) = l;
    p->n_links++;
    return l;
}

/* hot: of each call beyond the tree.  NULL: none of the two that are likely. */
static inline struct link *likely(struct function *caller, uint64_t key)
{
    struct link *l = caller->last;

    if (__builtin_expect(!l || l->key == key, 1))
        return l;
    l = l->next;
    if (!l || l->key != key)
        return NULL;
    return caller->last = l;
}

/* There is no room for another pair's cell. */
static bool is_full(const struct sd_call_pairs *p)
{
    return sd_cells_n(p->cells) >= MOST_PAIRS;
}

/* Making a pair is slow, so the clock is paused.  Beyond the tree (`site` is 0) none is
 * made that could have no cell: what a program makes without end takes no memory. */
__attribute__((noinline)) static struct link *find_slowly(struct sd_call_tree *t,
                                                          struct function *caller,
                                                          uint64_t key, uint32_t site,
                                                          const void *what)
{
    struct link *l = *slot_of(t->pairs->slots, t->pairs->n_slots, caller, key);

    if (!l && !site && is_full(t->pairs))
        return NULL;
    if (!l) {
        struct sd_call_pause pause = sd_call_tree_pause(t);

        l = new_link(t, caller, key, site, what);
        sd_call_tree_go_on(t, pause);
    }
    if (l && caller->last)
        caller->last->next = l;
    if (l)
        caller->last = l;
    return l;
}

static inline struct link *find(struct sd_call_tree *t, struct function *caller,
                                uint64_t key, uint32_t site, const void *what)
{
    struct link *l = likely(caller, key);

    return l ? l : find_slowly(t, caller, key, site, what);
}

/* The pair's cell in the capture.  Below it nothing is found: its children are those of
 * a function, whoever called that. */
__attribute__((noinline)) static bool give_cell(struct sd_call_tree *t, struct link *l)
{
    struct sd_pair_cell made = {
        .callee = { .parent = l->caller->site, .site = l->callee->site, .key = l->key }
    };
    const struct sd_call_cell *root = sd_cells_at(t->table, 0);
    struct sd_pair_cell *cell = NULL;
    struct sd_call_pause pause;
    ptrdiff_t to_root;
    uint32_t at;

    if (is_full(t->pairs) || t->pairs->lost == &t->pairs->no_lost)
        return false;
    pause = sd_call_tree_pause(t);
    at = sd_cells_add(t->pairs->cells, &made);
    if (at != SD_NO_CELL) {
        cell = sd_cells_at(t->pairs->cells, at);
        cell->writers[0] = (uintptr_t)l;
        cell->writers[1] = (uintptr_t)l->callee;
        to_root = root - &cell->callee;
        cell->callee.last_child = (int32_t)to_root;
        if (to_root == cell->callee.last_child)
            l->cell = cell; /* else too far away, and it stays unused */
    }
    sd_call_tree_go_on(t, pause);
    return l->cell != NULL;
}

/* --- What is open ---------------------------------------------------------------- */

/* hot: is the function open below the place `at`?  From now on it is. */
static inline bool opens(const struct sd_call_tree *t, struct function *f, size_t at)
{
    if (f->opened < at && t->stack[f->opened].cell->key == f->key)
        return false;
    f->opened = (uint32_t)at;
    return true;
}

static inline bool opens_pair(const struct sd_call_tree *t, struct link *l, size_t at)
{
    if (l->opened < at && l->opened > 0 && t->stack[l->opened].cell->key == l->key &&
        t->stack[l->opened - 1].cell->key == l->caller->key)
        return false;
    l->opened = (uint32_t)at;
    return true;
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
        struct function *caller = p->levels[i - 1].function;
        struct link *l = find(t, caller, cell->key, cell->site, NULL);

        p->levels[i] =
            (struct level){ .cell = cell, .function = l ? l->callee : caller };
        p->n_levels = i + 1;
        if (!l)
            continue;
        opens(t, l->callee, i);
        opens_pair(t, l, i);
    }
    sd_assert_slow(p->levels[n - 1].cell == top->cell);
    return true;
}

/* --- A call ---------------------------------------------------------------------- */

/* A table has one second kind, so it stays when nothing else can be had. */
static bool has_cells(struct sd_call_tree *t, struct sd_call_pairs *p,
                      const struct sd_pair_cell *first)
{
    if (!t->pair_cells &&
        sd_cells_beside(t->table, SD_CELLS_PAIRS, sizeof *first, &t->pair_cells) < 0)
        return false;
    p->cells = t->pair_cells;
    if (sd_cells_n(p->cells) == 0)
        sd_cells_add(p->cells, first);
    p->lost = sd_cells_n(p->cells) ? sd_cells_at(p->cells, 0) : &p->no_lost;
    return true;
}

/* Calls that are in no pair.  Without a cell for them they are events that were lost.
 */
static void lose_calls(struct sd_call_tree *t, uint64_t n)
{
    struct sd_call_pairs *p = t->pairs;

    p->lost->callee.calls += n;
    if (p->lost == &p->no_lost)
        sd_cells_lose(t->table, n);
}

static struct sd_call_pairs *make(struct sd_call_tree *t)
{
    const struct sd_pair_cell lost = { .callee = { .site = 0 } };
    struct sd_call_pairs *p = sd_zalloc(sizeof *p);

    if (!p)
        return NULL;
    p->n_slots = FIRST_SLOTS;
    p->slots = sd_zalloc(FIRST_SLOTS * sizeof *p->slots);
    if (!p->slots || !has_level(p, 0) || !has_cells(t, p, &lost)) {
        sd_call_pairs_free(p);
        return NULL;
    }
    p->levels[0] = (struct level){ .cell = t->stack->cell, .function = &p->root };
    p->n_levels = 1;
    p->nowhere[1].key = 1;
    return p;
}

/* The function that an entry runs, for what it calls; of a call that found no room, its
 * caller's. */
static struct function *function_at(const struct sd_call_tree *t,
                                    const struct sd_call_entry *e)
{
    while (__builtin_expect(sd_call_entry_is_beyond(e) && e->flags & SD_BEYOND_LOST, 0))
        e--;
    return sd_call_entry_is_beyond(e) ? callee_of(pair_of(e))
                                      : t->pairs->levels[e - t->stack].function;
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
    if (!l->left[key & 1])
        l->left[key & 1] = sd_call_tree_beyond(t, t->top->cell, key & 1);
    if (sd_cells_n(t->table) >= t->n_max) /* else there may be room later */
        l->missing[key >> 4 & 1] = key;
    p->left = l->left[key & 1] ? l->left[key & 1] : &p->no_left;
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
    if (l->cell != t->top->cell || l->missing[key >> 4 & 1] != key)
        return false;
    p->left = l->left[key & 1];
    return p->left != NULL;
}

/* No room: it is a part of its caller, and what it calls is called by that one. */
__attribute__((noinline)) static void lose(struct sd_call_tree *t,
                                           struct sd_call_entry *e, uint64_t key,
                                           const struct function *caller)
{
    struct sd_call_cell *nowhere = &t->pairs->nowhere[key & 1];

    nowhere->site = caller->site;
    e->cell = nowhere;
    e->flags |= SD_BEYOND_LOST;
    e->before = t->pairs->n;
    lose_calls(t, 1);
}

/* hot: every call beyond the tree.  What is open as the callee of a pair is open, so
 * that mostly the first look is all. */
static inline void count(struct sd_call_tree *t, struct sd_call_entry *e,
                         struct link *l)
{
    struct sd_call_pairs *p = t->pairs;
    size_t at = (size_t)(e - t->stack);

    e->cell = &l->cell->callee;
    e->cell->calls++;
    if (__builtin_expect(opens(t, l->callee, at), 1)) {
        l->opened = (uint32_t)at;
        l->cell->primitive++;
        e->flags |= SD_BEYOND_OUTERMOST;
    } else if (opens_pair(t, l, at)) {
        l->cell->inner_primitive++;
        e->flags |= SD_BEYOND_INNER;
    }
    if (__builtin_expect(l->key & 1, 0)) {
        e[-1].made.c++;
        p->n.c++;
    } else {
        e[-1].made.python++; /* of no use where the caller is in the tree */
        p->n.python++;
    }
    e->before = p->n;
}

struct sd_call_entry *sd_call_pairs_enter_first(struct sd_call_tree *t, uint64_t key,
                                                const void *what, uintptr_t frame)
{
    if (leave_tree(t, key))
        return sd_call_pairs_enter(t, key, what, frame);
    sd_cells_lose(t->table, 1);
    return NULL;
}

struct sd_call_entry *sd_call_pairs_enter(struct sd_call_tree *t, uint64_t key,
                                          const void *what, uintptr_t frame)
{
    struct sd_call_entry *e = t->top + 1;
    struct function *caller = function_at(t, t->top);
    struct link *l = find(t, caller, key, 0, what);

    e->frame = (frame & ~(uintptr_t)SD_FRAME_TAGS) | SD_FRAME_BEYOND;
    e->ended = e->ended_cpu = 0;
    e->made = (struct sd_calls_inside){ 0, 0 };
    e->flags = sd_call_entry_is_beyond(t->top) ? 0 : SD_BEYOND_FIRST;
    if (__builtin_expect(l && (l->cell || give_cell(t, l)), 1))
        count(t, e, l);
    else
        lose(t, e, key, caller);
    e->skipped = t->skipped; /* behind the pauses of what was made */
    t->top = e;
    return e;
}

/* Where the tree begins: all that lay beyond it from there. */
static void book_left(struct sd_beyond_cell *left, const struct sd_call_entry *e,
                      struct sd_calls_inside inside, uint64_t ticks, uint64_t cpu)
{
    bool is_lost = e->flags & SD_BEYOND_LOST;
    bool is_c = e->cell->key & 1;

    left->left += is_lost ? e->made.python + e->made.c : 1;
    left->calls += inside.python + inside.c + !is_lost;
    left->c_calls += inside.c + (is_c && !is_lost);
    left->ticks += ticks;
    left->cpu_ns += cpu;
}

/* What only some trees have: CPU time, and C functions. */
static void book_more(struct sd_call_entry *e, struct sd_calls_inside inside,
                      uint64_t cpu)
{
    struct sd_pair_cell *cell = pair_of(e);

    if (cpu > e->ended_cpu) /* a child of fork has no such clock any more */
        cell->own_cpu_ns += cpu - e->ended_cpu;
    cell->own_calls.c += e->made.c;
    if (e->flags & SD_BEYOND_OUTERMOST) {
        cell->callee.cpu_ns += cpu;
        cell->inside_calls.c += inside.c;
    } else if (e->flags & SD_BEYOND_INNER) {
        cell->inner_cpu_ns += cpu;
        cell->inner_calls.c += inside.c;
    }
    if (!(e->flags & (SD_BEYOND_FIRST | SD_BEYOND_CUT)))
        e[-1].ended_cpu += cpu;
}

/* It was its caller's all along, but for what it called. */
static void book_lost(struct sd_call_entry *e, struct sd_beyond_cell *left,
                      struct sd_calls_inside inside)
{
    if (e->flags & SD_BEYOND_FIRST) {
        book_left(left, e, inside, e->ended, e->ended_cpu);
        return;
    }
    if (e->flags & SD_BEYOND_CUT)
        return;
    add_inside(&e[-1].made, e->made);
    e[-1].ended += e->ended;
    e[-1].ended_cpu += e->ended_cpu;
}

/* hot: a call ended that had so many calls inside.  What it took is no more its
 * caller's own. */
static inline void book(const struct sd_call_tree *t, struct sd_call_entry *e,
                        struct sd_beyond_cell *left, struct sd_calls_inside inside,
                        uint64_t ticks, uint64_t cpu)
{
    struct sd_pair_cell *cell = pair_of(e);

    if (__builtin_expect(e->flags & SD_BEYOND_LOST, 0)) {
        book_lost(e, left, inside);
        return;
    }
    cell->own_ticks += ticks - e->ended;
    cell->own_calls.python += e->made.python;
    if (__builtin_expect(e->flags & SD_BEYOND_OUTERMOST, 1)) {
        cell->callee.ticks += ticks;
        cell->inside_calls.python += inside.python;
    } else if (e->flags & SD_BEYOND_INNER) {
        cell->inner_ticks += ticks;
        cell->inner_calls.python += inside.python;
    }
    if (__builtin_expect(t->cpu != NULL || t->sees_c, 0))
        book_more(e, inside, cpu);
    if (e->flags & SD_BEYOND_FIRST)
        book_left(left, e, inside, ticks, cpu);
    else if (!(e->flags & SD_BEYOND_CUT))
        e[-1].ended += ticks;
}

void sd_call_pairs_leave(struct sd_call_tree *t, uint64_t ticks, uint64_t cpu)
{
    struct sd_call_pairs *p = t->pairs;
    struct sd_call_entry *e = t->top;

    sd_assert_slow(sd_call_entry_is_beyond(e));
    book(t, e, p->left, since(p->n, e->before), ticks, cpu);
    t->top = e - 1;
}

void sd_call_pairs_undo(struct sd_call_tree *t)
{
    struct sd_call_entry *e = t->top;
    struct sd_pair_cell *cell = pair_of(e);

    if (!(e->flags & SD_BEYOND_LOST)) {
        cell->callee.calls--;
        cell->primitive -= (e->flags & SD_BEYOND_OUTERMOST) != 0;
        cell->inner_primitive -= (e->flags & SD_BEYOND_INNER) != 0;
        count_inside(&e[-1].made, e->cell->key, -1);
        count_inside(&t->pairs->n, e->cell->key, -1);
    } else {
        t->pairs->lost->callee.calls--;
    }
    t->top = e - 1;
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
struct sd_beyond_cell *sd_call_pairs_park(struct sd_call_tree *t,
                                          struct sd_call_entry *entries, size_t n)
{
    size_t first = first_beyond(entries, n);

    if (first == n)
        return NULL;
    for (size_t i = first; i < n; i++)
        entries[i].before = since(t->pairs->n, entries[i].before);
    if (!(entries[first].flags & SD_BEYOND_FIRST)) {
        entries[first].flags |= SD_BEYOND_CUT;
        t->top[-(ptrdiff_t)n].ended += entries[first].start;
        t->top[-(ptrdiff_t)n].ended_cpu += entries[first].cpu_start;
    }
    return t->pairs->left;
}

void sd_call_pairs_unpark(struct sd_call_tree *t, size_t n, struct sd_beyond_cell *left)
{
    size_t first = first_beyond(t->top - n + 1, n);

    if (!left)
        return;
    if (!bring_up(t, t->top - (n - first))) { /* they end here, without a time */
        t->top -= n - first;
        return;
    }
    t->pairs->left = left;
    for (struct sd_call_entry *e = t->top - (n - first) + 1; e <= t->top; e++) {
        e->before = since(t->pairs->n, e->before);
        if (e->flags & SD_BEYOND_LOST)
            continue;
        opens(t, callee_of(pair_of(e)), (size_t)(e - t->stack));
        opens_pair(t, link_of(pair_of(e)), (size_t)(e - t->stack));
    }
}

void sd_call_pairs_bury(struct sd_call_tree *t, struct sd_call_entry *entries, size_t n,
                        struct sd_beyond_cell *left)
{
    size_t first = first_beyond(entries, n);

    for (size_t i = n; i-- > first;)
        book(t, &entries[i], left, entries[i].before, entries[i].start,
             t->cpu ? entries[i].cpu_start : 0);
}

/* --- Looks ----------------------------------------------------------------------- */

struct sd_calls_inside sd_call_pairs_inside(const struct sd_call_tree *t,
                                            const struct sd_call_entry *e)
{
    return since(t->pairs->n, e->before);
}

const struct sd_beyond_cell *sd_call_pairs_left(const struct sd_call_tree *t)
{
    return t->pairs->left;
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
    const struct link *l = link_of(sd_call_pairs_at(t, i));

    *caller = l->caller->key;
    *callee = l->key;
}

uint64_t sd_call_pairs_calls(const struct sd_call_tree *t)
{
    return t->pairs ? t->pairs->n.python + t->pairs->n.c : 0;
}

uint64_t sd_call_pairs_lost(const struct sd_call_tree *t)
{
    return t->pairs ? t->pairs->lost->callee.calls : 0;
}

void sd_call_pairs_free(struct sd_call_pairs *p)
{
    if (!p)
        return;
    sd_table_release(&p->functions);
    sd_arena_release(&p->arena);
    sd_free(p->slots);
    sd_free(p->levels);
    sd_free(p);
}
