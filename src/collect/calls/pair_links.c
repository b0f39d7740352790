/* SPDX-License-Identifier: MIT */
#include "collect/calls/pair_links.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

#if SD_TINY
enum { FIRST_SLOTS = 4 };
#else
enum { FIRST_SLOTS = 256 };
#endif

static struct sd_pair_link **slot_of(struct sd_pair_link **slots, size_t n,
                                     const struct sd_pair_function *caller,
                                     uint64_t key)
{
    uint64_t hash =
        (uint64_t)(uintptr_t)caller * 0x9E3779B97F4A7C15u ^ key * 0xC2B2AE3D27D4EB4Fu;
    size_t at = (hash ^ hash >> 29) & (n - 1);

    sd_assert_slow(n > 0 && (n & (n - 1)) == 0);
    while (slots[at] && (slots[at]->key != key || slots[at]->caller != caller))
        at = (at + 1) & (n - 1);
    return &slots[at];
}

static bool make_room(struct sd_pair_links *s)
{
    size_t n = s->n_slots * 2;
    struct sd_pair_link **grown;

    sd_assert(s->n < s->n_slots); /* or a search would not end */
    if (s->n < s->n_slots / 2)
        return true;
    grown = sd_zalloc(n * sizeof *grown);
    if (!grown)
        return false;
    for (size_t i = 0; i < s->n_slots; i++)
        if (s->slots[i])
            *slot_of(grown, n, s->slots[i]->caller, s->slots[i]->key) = s->slots[i];
    sd_free(s->slots);
    s->slots = grown;
    s->n_slots = n;
    return true;
}

static struct sd_pair_function *function_of(struct sd_pair_links *s,
                                            struct sd_call_tree *t,
                                            struct sd_pair_callee callee)
{
    struct sd_pair_function *f;
    uint64_t known;

    if (sd_table_get(&s->by_key, callee.key, &known))
        return (struct sd_pair_function *)(uintptr_t)known;
    if (!callee.site)
        callee.site = sd_call_tree_site(t, callee.key, callee.what);
    f = callee.site ? sd_arena_alloc(&s->arena, sizeof *f) : NULL;
    if (!f || sd_table_put(&s->by_key, callee.key, (uintptr_t)f) < 0)
        return NULL;
    *f = (struct sd_pair_function){ .key = callee.key, .site = callee.site };
    return f;
}

static struct sd_pair_link *new_link(struct sd_pair_links *s, struct sd_call_tree *t,
                                     struct sd_pair_function *caller,
                                     struct sd_pair_callee callee)
{
    struct sd_pair_function *f = make_room(s) ? function_of(s, t, callee) : NULL;
    struct sd_pair_link *l = f ? sd_arena_alloc(&s->arena, sizeof *l) : NULL;

    if (!l)
        return NULL;
    *l = (struct sd_pair_link){ .key = callee.key, .callee = f, .caller = caller };
    *slot_of(s->slots, s->n_slots, caller, callee.key) = l;
    sd_assert_slow(f->key == callee.key);
    s->n++;
    return l;
}

bool sd_pair_links_init(struct sd_pair_links *s)
{
    s->n_slots = FIRST_SLOTS;
    s->slots = sd_zalloc(FIRST_SLOTS * sizeof *s->slots);
    return s->slots != NULL;
}

void sd_pair_links_release(struct sd_pair_links *s)
{
    sd_table_release(&s->by_key);
    sd_table_release(&s->wholes);
    sd_arena_release(&s->arena);
    sd_free(s->slots);
    sd_free(s->by_pair);
    memset(s, 0, sizeof *s);
}

/* Making a link is slow, so the clock is paused. */
__attribute__((noinline)) struct sd_pair_link *
sd_pair_links_find_slowly(struct sd_pair_links *s, struct sd_call_tree *t,
                          struct sd_pair_function *caller, struct sd_pair_callee callee,
                          bool may_be_new)
{
    struct sd_pair_link *l = *slot_of(s->slots, s->n_slots, caller, callee.key);

    if (!l && !may_be_new)
        return NULL;
    if (!l) {
        struct sd_call_pause pause = sd_call_tree_pause(t);

        l = new_link(s, t, caller, callee);
        sd_call_tree_go_on(t, pause);
    }
    if (l && caller->last)
        caller->last->next = l;
    if (l)
        caller->last = l;
    return l;
}

/* Its site is defined, since that of the signature is. */
static struct sd_pair_function *
whole_of(struct sd_pair_links *s, struct sd_call_tree *t, struct sd_pair_function *f)
{
    uint64_t key = t->names.function_key(f->key), known;
    struct sd_pair_function *whole;

    if (f->whole)
        return f->whole;
    if (sd_table_get(&s->wholes, key, &known))
        return f->whole = (struct sd_pair_function *)(uintptr_t)known;
    whole = sd_arena_alloc(&s->arena, sizeof *whole);
    if (!whole)
        return NULL;
    *whole = (struct sd_pair_function){ .key = key, .site = f->site };
    if (key != f->key)
        whole->site = sd_call_tree_site(t, key, NULL);
    if (!whole->site || sd_table_put(&s->wholes, key, (uintptr_t)whole) < 0)
        return NULL;
    return f->whole = whole;
}

static struct sd_pair_link *make_whole(struct sd_pair_links *s, struct sd_call_tree *t,
                                       const struct sd_pair_link *l)
{
    struct sd_pair_function *caller = whole_of(s, t, l->caller);
    struct sd_pair_function *callee = whole_of(s, t, l->callee);
    struct sd_pair_link **at, *whole;

    if (!caller || !callee || !make_room(s))
        return NULL;
    at = slot_of(s->slots, s->n_slots, caller, callee->key);
    if (*at)
        return *at;
    whole = sd_arena_alloc(&s->arena, sizeof *whole);
    if (!whole)
        return NULL;
    *whole =
        (struct sd_pair_link){ .key = callee->key, .callee = callee, .caller = caller };
    *at = whole;
    s->n++;
    return whole;
}

struct sd_pair_link *sd_pair_links_whole(struct sd_pair_links *s,
                                         struct sd_call_tree *t, struct sd_pair_link *l)
{
    struct sd_call_pause pause;

    if (l->whole)
        return l->whole;
    pause = sd_call_tree_pause(t);
    l->whole = make_whole(s, t, l);
    sd_call_tree_go_on(t, pause);
    return l->whole;
}

bool sd_pair_links_number(struct sd_pair_links *s, struct sd_pair_link *l,
                          uint32_t pair)
{
    struct sd_pair_link **grown =
        sd_grow_array(s->by_pair, &s->cap_pairs, (size_t)pair + 1, sizeof *grown);

    if (!grown)
        return false;
    s->by_pair = grown;
    while (s->n_pairs <= pair)
        s->by_pair[s->n_pairs++] = NULL;
    s->by_pair[pair] = l;
    sd_assert(pair < s->n_pairs && s->n_pairs <= s->cap_pairs);
    l->pair = pair;
    return true;
}
