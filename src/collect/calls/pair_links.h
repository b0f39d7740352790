/* SPDX-License-Identifier: MIT */
#ifndef SD_CALLS_PAIR_LINKS_H
#define SD_CALLS_PAIR_LINKS_H
/* pair_links: knows the functions of a thread that called beyond its full tree, and
 * which of them called which.
 *
 * They are found as cells of a tree are: a function knows the callee that it called
 * last, a link the one that was called after it.
 *
 * cProfile counts a call as primitive, and its time in the total, when its function (or
 * its pair) is not open already.  So every function and every link knows the place in
 * the stack of its outermost call; that it is open still is seen by looking there.
 * Nothing is to be done when it ends.  Places are bytes from the start of the stack,
 * which spares each call some multiplications. */
#include "base/arena.h"
#include "capture/pair_cell.h"
#include "collect/calls/call_tree.h"

struct sd_pair_link;

struct sd_pair_function {
    uint64_t key;
    struct sd_pair_link *last;      /* what it called last; NULL: nothing */
    struct sd_pair_function *whole; /* with signatures: the function, whatever they are
                                     */
    size_t place; /* in the stack, of its outermost call, if it is open */
    uint32_t site;
};

struct sd_pair_link {          /* a caller and what it calls */
    uint64_t key;              /* the callee's */
    struct sd_pair_link *next; /* what its caller called after this one, last time */
    struct sd_pair_cell *cell; /* NULL: not called beyond the tree yet */
    struct sd_pair_function *callee, *caller;
    struct sd_pair_link *whole; /* with signatures: of the functions, whatever they are
                                 */
    size_t place;               /* as a function's */
    uint32_t pair;              /* index of the cell */
};

struct sd_pair_links {             /* all zero is a released one */
    struct sd_arena arena;         /* functions and links */
    struct sd_table by_key;        /* key to function */
    struct sd_table wholes;        /* the same of functions as wholes */
    struct sd_pair_link **slots;   /* by caller and key; owned */
    size_t n_slots, n;             /* a power of two, more than half of it free */
    struct sd_pair_link **by_pair; /* by index of the cell, or NULL; owned */
    size_t n_pairs, cap_pairs;
};

/* False: no memory. */
bool sd_pair_links_init(struct sd_pair_links *s);
void sd_pair_links_release(struct sd_pair_links *s);

/* What a call was of: `site` is 0 when it is not in the tree, `what` (call_tree.h) is
 * needed then. */
struct sd_pair_callee {
    uint64_t key;
    uint32_t site;
    const void *what;
};
/* Not inlined, and rarer.  NULL: no memory, or there is none and none may be made. */
struct sd_pair_link *sd_pair_links_find_slowly(struct sd_pair_links *s,
                                               struct sd_call_tree *t,
                                               struct sd_pair_function *caller,
                                               struct sd_pair_callee callee,
                                               bool may_be_new);
/* The link of the functions of this one, whatever their signatures are, and the
 * function as a whole: new or known.  NULL: no memory. */
struct sd_pair_link *sd_pair_links_whole(struct sd_pair_links *s,
                                         struct sd_call_tree *t,
                                         struct sd_pair_link *l);
/* The link whose cell has this index is known from now on.  False: no memory. */
bool sd_pair_links_number(struct sd_pair_links *s, struct sd_pair_link *l,
                          uint32_t pair);

/* hot: of each call beyond the tree.  NULL: it is none of the two that are likely. */
static inline struct sd_pair_link *sd_pair_links_likely(struct sd_pair_function *caller,
                                                        uint64_t key)
{
    struct sd_pair_link *l = caller->last;

    if (__builtin_expect(!l || l->key == key, 1))
        return l;
    l = l->next;
    if (!l || l->key != key)
        return NULL;
    return caller->last = l;
}

static inline size_t sd_pair_links_place(const struct sd_call_tree *t,
                                         const struct sd_call_entry *e)
{
    return (size_t)((const char *)e - (const char *)t->stack);
}

static inline const struct sd_call_entry *
sd_pair_links_entry_at(const struct sd_call_tree *t, size_t place)
{
    return (const void *)((const char *)t->stack + place);
}

/* hot: is the function not open below the place `at`?  From now on it is. */
static inline bool sd_pair_function_opens(const struct sd_call_tree *t,
                                          struct sd_pair_function *f, size_t at)
{
    if (f->place < at && sd_pair_links_entry_at(t, f->place)->cell->key == f->key)
        return false;
    f->place = at;
    return true;
}

/* The same of the callee as called by this caller. */
static inline bool sd_pair_link_opens(const struct sd_call_tree *t,
                                      struct sd_pair_link *l, size_t at)
{
    const struct sd_call_entry *e = sd_pair_links_entry_at(t, l->place);

    if (l->place < at && l->place > 0 && e->cell->key == l->key &&
        e[-1].cell->key == l->caller->key)
        return false;
    l->place = at;
    return true;
}
#endif
