/* SPDX-License-Identifier: MIT */
#ifndef SD_CALLS_PAIRS_H
#define SD_CALLS_PAIRS_H
/* pairs: counts calls beyond a full tree by caller and callee.
 *
 * A tree (call_tree.h) has room for so many paths.  A call along another path is
 * counted here instead, in a cell for its caller and its function
 * (capture/pair_cell.h), and so is all that it calls: whoever called beyond the tree
 * stays there until it returns.
 *
 * The usual call, in the tree, says nothing of this.  A call that leaves the tree makes
 * up for it: `levels` are the entries of the tree as they were seen last, and those
 * that differ now are told.  A cell of the tree fixes its whole path, so the first
 * entry from the top whose cell is the same ends the search; every entry above it was
 * pushed since, and the work is paid for by those calls.
 *
 * A call that is open has a cell (capture/open_cell.h) beside those of the pairs, and
 * leaves it to the next one in its place when it ends, so that a thread may be killed
 * at any moment: a reader finds there how far the open calls were.  These cells are
 * what a call needs anyway to know its own time when it ends; they lie where the table
 * does, not on the heap. */
#include "capture/open_cell.h"
#include "capture/pair_cell.h"
#include "collect/calls/call_tree.h"

struct sd_open_calls;

/* Is this entry of the stack beyond the tree? */
static inline bool sd_call_entry_is_beyond(const struct sd_call_entry *e)
{
    return (e->frame & SD_FRAME_TAGS) == SD_FRAME_BEYOND;
}

/* The frame of an entry with its own tags, beyond the tree or in it. */
static inline uintptr_t sd_call_entry_frame(const struct sd_call_entry *e)
{
    if (!sd_call_entry_is_beyond(e))
        return e->frame;
    return (e->frame & ~(uintptr_t)SD_FRAME_TAGS) |
           (e->cell->key & 1 ? (uintptr_t)SD_FRAME_C : 0);
}

/* A call from the entry on top, for which the tree has no cell, is put on the stack;
 * there is room for it.  NULL: no memory, and it is not followed. */
struct sd_call_entry *sd_call_pairs_enter(struct sd_call_tree *t, uint64_t key,
                                          const void *what, uintptr_t frame);
/* The entry on top, which is beyond the tree, ends; or it never was. */
void sd_call_pairs_leave(struct sd_call_tree *t, uint64_t ticks, uint64_t cpu);
void sd_call_pairs_undo(struct sd_call_tree *t);

/* The entry, of a coroutine, was suspended so long. */
void sd_call_pairs_awaited(struct sd_call_tree *t, struct sd_call_entry *e,
                           uint64_t ticks);

/* For entries that wait (pair_waits.h).  Books one that ends, after these ticks; which
 * exit is theirs; the entries above `keep`, which is in the tree, left it by `exit` and
 * are open again (false: no memory); the cells of open calls. */
void sd_call_pairs_book(const struct sd_call_tree *t, struct sd_call_entry *e,
                        struct sd_beyond_cell *exit, uint64_t ticks, uint64_t cpu);
bool sd_call_pairs_reopen(struct sd_call_tree *t, const struct sd_call_entry *keep,
                          struct sd_beyond_cell *exit);
struct sd_open_calls *sd_call_pairs_open_calls(const struct sd_call_tree *t);

/* The exit of the entries that are on the stack and beyond the tree. */
struct sd_beyond_cell *sd_call_pairs_exit(const struct sd_call_tree *t);

/* All pairs of the tree: how many, each of them, which one a cell is, and the keys of
 * its functions (0: there is no caller). */
uint32_t sd_call_pairs_n(const struct sd_call_tree *t);
const struct sd_pair_cell *sd_call_pairs_at(const struct sd_call_tree *t, uint32_t i);
uint32_t sd_call_pairs_index(const struct sd_call_tree *t,
                             const struct sd_call_cell *c);
void sd_call_pairs_keys(const struct sd_call_tree *t, uint32_t i, uint64_t *caller,
                        uint64_t *callee);
/* Is this a pair of functions whatever their signatures are, whose calls are counted in
 * the pairs of these? */
static inline bool sd_pair_cell_is_of_wholes(const struct sd_pair_cell *cell)
{
    return cell->callee.next == SD_PAIR_OF_WHOLES;
}
/* Calls that are known by their pair alone. */
uint64_t sd_call_pairs_calls(const struct sd_call_tree *t);
/* Calls for whose pair there was no room: they are part of their callers. */
uint64_t sd_call_pairs_lost(const struct sd_call_tree *t);

void sd_call_pairs_free(struct sd_call_pairs *p);
#endif
