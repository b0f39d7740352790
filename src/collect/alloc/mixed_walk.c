/* SPDX-License-Identifier: MIT */
#include "cpython/compat_walk.h"

#include "collect/alloc/mixed_walk.h"

#include "collect/alloc/alloc_link.h"
#include "collect/alloc/native/code_places.h"
#include "collect/alloc/native/native_walk.h"
#include "collect/shared/native_roles.h"

bool sd_mixed_walk_describe(const void *frame, enum sd_allocator by,
                            struct sd_alloc_frame *to)
{
    const sd_walked *f = frame;

    if (by == SD_BY_MEM && sd_walk_begins(f))
        return false;
    to->code = sd_walk_code(f);
    to->line = sd_walk_line(f);
    return true;
}

static void put_python(struct sd_mixed_stack *s, sd_walked *f)
{
    sd_mixed_put(s, sd_walk_place(f), f);
}

/* What one call of the evaluator runs. */
static void put_group(struct sd_mixed_stack *s, struct sd_walk_groups *g)
{
    sd_walked *f;

    while ((f = sd_walk_group_next(g)))
        put_python(s, f);
    sd_walk_group_end(g);
}

static bool is_shown(const struct sd_native_frame *f)
{
    return f->role == SD_NATIVE_PLAIN || f->role == SD_ROLE_NAMELESS;
}

/* Is all that is left how the interpreter was started, or nothing that would tell
 * anybody anything? */
static bool is_at_start(const struct sd_mixed_stack *s, uint32_t at)
{
    bool has_names = false;

    for (; at < s->n; at++) {
        if (s->natives[at].role == SD_NATIVE_START)
            return true;
        has_names |= s->natives[at].role == SD_NATIVE_PLAIN;
    }
    return !has_names;
}

/* Is the mark of the group at hand in the part of the C stack that is this call's? */
static bool owns(const struct sd_mixed_stack *s, uint32_t at,
                 const struct sd_walk_groups *g)
{
    if (!g->mark)
        return s->natives[at].role == SD_NATIVE_EVALUATOR;
    return g->mark >= s->natives[at].sp &&
           (at + 1 < s->n ? g->mark < s->natives[at + 1].sp : s->is_whole);
}

/* Each evaluator is replaced by what it runs.  What is outside of all Python functions
 * started the interpreter, where that is a program of its own: it is left out.  False:
 * something is missing. */
static bool interleave(struct sd_mixed_stack *s, struct sd_walk_groups *g)
{
    for (uint32_t i = 0; i < s->n; i++) {
        if (!g->is_there && is_at_start(s, i))
            return true;
        if (g->is_there && owns(s, i, g))
            put_group(s, g);
        else if (is_shown(&s->natives[i]))
            sd_mixed_put_native(s, s->natives[i].function);
    }
    return s->is_whole && !g->is_there;
}

static void put_rest(struct sd_mixed_stack *s, struct sd_walk_groups *g)
{
    while (g->is_there)
        put_group(s, g);
}

/* Only what the innermost Python function has called is certain. */
static void put_innermost(struct sd_mixed_stack *s)
{
    uint32_t n = 0;

    while (n < s->n && is_shown(&s->natives[n]))
        n++;
    for (uint32_t i = 0; i < n && n < s->n; i++)
        sd_mixed_put_native(s, s->natives[i].function);
}

bool sd_mixed_walk_merge(struct sd_mixed_stack *s)
{
    struct sd_walk_groups g;

    if (!sd_walk_groups_begin(&g))
        return false;
    if (interleave(s, &g))
        return true;
    if (s->is_whole) {
        s->now.n = 0;
        sd_walk_groups_begin(&g);
        put_innermost(s);
        sd_mixed_put_native(s, SD_FUNCTION_UNPLACED);
    } else {
        sd_mixed_put_native(s, SD_FUNCTION_STOPPED);
    }
    put_rest(s, &g);
    return true;
}
