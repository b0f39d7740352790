/* SPDX-License-Identifier: MIT */
#include "cpython/compat_walk.h"

#include "collect/alloc/walk.h"

#include <sys/mman.h>

#include "base/assert.h"
#include "collect/alloc/alloc_link.h"

enum {
    MOST_STEPS = 65535,
    FIRST_STEPS = 170, /* a page of them */
    NEAR = 8,          /* frames up and down among which the newest is looked for */
};

/* --- Nodes ----------------------------------------------------------------------- */

static uint32_t node_of(uint32_t parent, const sd_walked *f, uint64_t place,
                        enum sd_allocator by)
{
    const struct sd_alloc_key key = { place, parent, by };
    uint32_t node = sd_alloc_find(sd_alloc_link.stacks, &key);

    if (__builtin_expect(node != 0, 1))
        return node;
    return sd_alloc_link.add(
        &key, &(struct sd_alloc_frame){ sd_walk_code(f), sd_walk_line(f), 0, 0 });
}

/* --- Steps ----------------------------------------------------------------------- */

static bool has_room(struct sd_alloc_thread *t, uint32_t depth)
{
    uint32_t cap = t->cap ? t->cap : FIRST_STEPS;
    void *p;

    if (depth <= t->cap)
        return true;
    while (cap < depth)
        cap *= 2;
    p = t->steps ? mremap(t->steps, t->cap * sizeof *t->steps, cap * sizeof *t->steps,
                          MREMAP_MAYMOVE)
                 : mmap(NULL, cap * sizeof *t->steps, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return false;
    t->steps = p;
    t->cap = cap;
    return true;
}

static uint32_t depth_of(const sd_walked *f)
{
    uint32_t depth = 0;

    for (; f; f = sd_walk_visible(sd_walk_next(f)))
        depth++;
    return depth;
}

/* All steps anew, up to the newest; of a stack that is too deep the outermost frames
 * are left out. */
static bool step_anew(struct sd_alloc_thread *t, sd_walked *top)
{
    uint32_t depth = depth_of(top), at;

    depth = depth < MOST_STEPS ? depth : MOST_STEPS;
    t->depth = 0;
    if (!has_room(t, depth))
        return false;
    at = depth;
    for (sd_walked *f = top; f && at > 0; f = sd_walk_visible(sd_walk_next(f)))
        t->steps[--at] = (struct sd_alloc_step){ f, sd_walk_place(f), 0 };
    sd_assert(at == 0);
    t->depth = depth;
    return true;
}

/* Finds the newest frame, or one just below it, among the newest steps.  *n_new frames
 * are above it, the newest first.  UINT32_MAX: it is not there. */
static uint32_t meet(const struct sd_alloc_thread *t, sd_walked *f, sd_walked **fresh,
                     uint32_t *n_new)
{
    uint32_t top = t->depth - 1, low = top > NEAR ? top - NEAR : 0;

    for (*n_new = 0; *n_new < NEAR && f; (*n_new)++) {
        for (uint32_t i = top + 1; i-- > low;)
            if (t->steps[i].frame == f)
                return i;
        fresh[*n_new] = f;
        f = sd_walk_visible(sd_walk_next(f));
    }
    return UINT32_MAX;
}

/* Compares the chain from this step down to the bottom; *changed becomes the lowest
 * step that stands at another place.  False: it is another chain.
 *
 * The next frame is taken from the steps, not from the frame: so the loads of one frame
 * need not wait for those of the frame above (a third of the time at a depth of 100).
 */
static bool is_same_below(const struct sd_alloc_thread *t, uint32_t at,
                          uint32_t *changed)
{
    const struct sd_alloc_step *s = &t->steps[at];
    const sd_walked *f = s->frame;

    *changed = at + 1;
    for (;; at--, s--) {
        const sd_walked *below;

        if (__builtin_expect(sd_walk_place(f) != s->place, 0))
            *changed = at;
        if (at == 0)
            return sd_walk_visible(sd_walk_next(f)) == NULL;
        below = s[-1].frame;
        __asm__("" : "+r"(below));
        if (__builtin_expect(sd_walk_next(f) != below, 0) &&
            sd_walk_visible(sd_walk_next(f)) != below)
            return false;
        f = below;
    }
}

/* Makes the steps those of the frames that are on the stack now; returns the lowest
 * whose node is not known.  UINT32_MAX: there is no memory for them. */
static uint32_t take_steps(struct sd_alloc_thread *t, sd_walked *top)
{
    sd_walked *fresh[NEAR];
    uint32_t n_new, at = UINT32_MAX, changed;

    if (t->depth > 0 && t->depth < MOST_STEPS)
        at = meet(t, top, fresh, &n_new);
    if (at == UINT32_MAX || !is_same_below(t, at, &changed) ||
        !has_room(t, at + 1 + n_new))
        return step_anew(t, top) ? 0 : UINT32_MAX;
    for (uint32_t i = changed; i <= at; i++)
        t->steps[i].place = sd_walk_place(t->steps[i].frame);
    t->depth = at + 1;
    while (n_new-- > 0)
        t->steps[t->depth++] =
            (struct sd_alloc_step){ fresh[n_new], sd_walk_place(fresh[n_new]), 0 };
    return changed;
}

/* Looks up the nodes of the steps from `from` on, the newest left out: it is a node for
 * each allocator.  False: there is no room for one. */
static bool name_steps(struct sd_alloc_thread *t, uint32_t from)
{
    for (uint32_t i = from; i + 1 < t->depth; i++) {
        uint32_t parent = i ? t->steps[i - 1].node : 0;

        t->steps[i].node =
            node_of(parent, t->steps[i].frame, t->steps[i].place, SD_BY_NONE);
        if (!t->steps[i].node) {
            t->depth = 0;
            return false;
        }
    }
    return true;
}

/* The steps of the stack that runs now, all but the newest with their nodes. */
static bool walk(struct sd_alloc_thread *t, sd_walked *top)
{
    uint32_t n_deaths = atomic_load_explicit(&sd_alloc_link.stacks->n_deaths,
                                             memory_order_relaxed),
             was = t->depth, from;

    if (__builtin_expect(n_deaths != t->n_deaths, 0)) {
        t->depth = was = 0;
        t->n_deaths = n_deaths;
    }
    from = take_steps(t, top);
    if (from == UINT32_MAX)
        return false;
    /* What was the newest before has no node as one that others stand on. */
    if (was > 0 && from >= was)
        from = was - 1;
    return name_steps(t, from);
}

/* What the interpreter makes for itself where a function begins is not the function's;
 * such a node is always new. */
static uint32_t newest_node(const struct sd_alloc_step *s, uint32_t parent,
                            enum sd_allocator by)
{
    const struct sd_alloc_key key = { s->place, parent, by };
    uint32_t node = sd_alloc_find(sd_alloc_link.stacks, &key);

    if (__builtin_expect(node != 0, 1))
        return node;
    if (sd_allocator_domain(by) == SD_BY_MEM && sd_walk_begins(s->frame))
        return sd_alloc_link.no_frame(0, by);
    return node_of(parent, s->frame, s->place, by);
}

uint32_t sd_alloc_walk(struct sd_alloc_thread *t, enum sd_allocator by)
{
    sd_walked *top = sd_walk_top();
    const struct sd_alloc_step *s;

    if (__builtin_expect(!top, 0)) {
        t->depth = 0;
        return sd_alloc_link.no_frame(t->creator, by);
    }
    if (__builtin_expect(!walk(t, top), 0))
        return 0;
    s = &t->steps[t->depth - 1];
    return newest_node(s, t->depth > 1 ? s[-1].node : 0, by);
}

uint32_t sd_alloc_walk_inner(struct sd_alloc_thread *t)
{
    sd_walked *top = sd_walk_top();
    const struct sd_alloc_step *s;

    if (!top)
        return t->creator;
    if (!walk(t, top))
        return 0;
    s = &t->steps[t->depth - 1];
    return node_of(t->depth > 1 ? s[-1].node : 0, s->frame, s->place, SD_BY_NONE);
}
