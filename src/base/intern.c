/* SPDX-License-Identifier: MIT */
#include "base/intern.h"

#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"

/* Two different runs of bytes may have one hash; then the second stands under the
 * next free number.  Nothing is ever removed, so a search that counts up until a
 * number is free has seen every candidate.  TINY makes collisions common. */
static uint64_t first_key(const void *p, size_t n)
{
#ifdef SD_TINY
    return (sd_hash(p, n, 0) & 255) << 32;
#else
    return sd_hash(p, n, 0);
#endif
}

static bool is_same(const struct sd_intern_string *item, const void *p, size_t n)
{
    return item->n == n && (n == 0 || memcmp(item->p, p, n) == 0);
}

/* The id, or UINT32_MAX and in *key the number a new one goes under. */
static uint32_t search(const struct sd_intern *t, const void *p, size_t n,
                       uint64_t *key)
{
    uint64_t at;

    for (*key = first_key(p, n); sd_table_get(&t->by_hash, *key, &at); (*key)++) {
        sd_assert(at < t->n);
        if (is_same(&t->items[at], p, n))
            return (uint32_t)at;
    }
    return UINT32_MAX;
}

/* The table is told last, so that a failure half-way leaves nothing known by halves
 * (the bytes already copied stay in the arena, unused). */
static int add(struct sd_intern *t, uint64_t key, const void *p, size_t n)
{
    struct sd_intern_string *items =
        sd_grow_array(t->items, &t->cap, t->n + 1, sizeof *items);
    int rc;

    sd_assert(t->arena);
    if (!items)
        return sd_no_memory();
    t->items = items;
    items[t->n].p = sd_arena_string(t->arena, p, n);
    items[t->n].n = (uint32_t)n;
    if (!items[t->n].p)
        return sd_no_memory();
    rc = sd_table_put(&t->by_hash, key, t->n);
    if (rc < 0)
        return rc;
    t->n++;
    return 0;
}

int sd_intern(struct sd_intern *t, const void *p, size_t n, uint32_t *id)
{
    uint64_t key;
    uint32_t known;
    int rc;

    if (n > UINT32_MAX || t->n >= UINT32_MAX)
        return sd_fail(
            SD_EFULL,
            "the names of functions, files and sections take more than 4 GiB, which is "
            "the most that Sonde can hold; load fewer captures at once");
    known = search(t, p, n, &key);
    if (known == UINT32_MAX) {
        rc = add(t, key, p, n);
        if (rc < 0)
            return rc;
        known = (uint32_t)(t->n - 1);
    }
    sd_assert(known < t->n);
    *id = known;
    return 0;
}

uint32_t sd_intern_find(const struct sd_intern *t, const void *p, size_t n)
{
    uint64_t key;

    return search(t, p, n, &key);
}

void sd_intern_release(struct sd_intern *t)
{
    sd_free(t->items);
    sd_table_release(&t->by_hash);
    *t = (struct sd_intern){ .arena = t->arena };
}
