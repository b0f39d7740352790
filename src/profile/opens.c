/* SPDX-License-Identifier: MIT */
#include "profile/opens.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

static size_t home(const struct sd_opens *o, uint32_t process, uint64_t span)
{
    uint64_t h = (span ^ (uint64_t)process << 24) * 0x9e3779b97f4a7c15u;

    return (size_t)(h >> 20) & (o->n_slots - 1);
}

/* The slot that holds it, or the free one where it would go. */
static size_t find(const struct sd_opens *o, uint32_t process, uint64_t span)
{
    size_t i = home(o, process, span);

    sd_assert_slow(o->n < o->n_slots); /* or the search would not end */
    while (o->slots[i].is_used &&
           (o->slots[i].span != span || o->slots[i].process != process))
        i = (i + 1) & (o->n_slots - 1);
    return i;
}

static int grow(struct sd_opens *o)
{
    struct sd_opens wider = { .n_slots = o->n_slots ? o->n_slots * 2 : 64 };

    if ((o->n + 1) * 4 <= o->n_slots * 3)
        return 0;
    wider.slots = sd_zalloc(wider.n_slots * sizeof *wider.slots);
    if (!wider.slots)
        return sd_no_memory();
    for (size_t i = 0; i < o->n_slots; i++)
        if (o->slots[i].is_used)
            wider.slots[find(&wider, o->slots[i].process, o->slots[i].span)] =
                o->slots[i];
    sd_assert((wider.n_slots & (wider.n_slots - 1)) == 0);
    sd_free(o->slots);
    o->slots = wider.slots;
    o->n_slots = wider.n_slots;
    return 0;
}

/* Linear probing without tombstones: those behind move up into the hole. */
static void remove_slot(struct sd_opens *o, size_t hole)
{
    size_t mask = o->n_slots - 1;

    sd_assert(o->n > 0 && o->slots[hole].is_used);
    for (size_t i = (hole + 1) & mask; o->slots[i].is_used; i = (i + 1) & mask) {
        size_t at = home(o, o->slots[i].process, o->slots[i].span);

        if (((i - at) & mask) >= ((i - hole) & mask)) {
            o->slots[hole] = o->slots[i];
            hole = i;
        }
    }
    o->slots[hole].is_used = false;
    o->n--;
}

/* Puts one in; a begin that meets its early end takes both away. */
static int put(struct sd_opens *o, const struct sd_open_span *one)
{
    size_t i;
    int rc;

    if (o->n >= SD_OPENS_MAX) {
        o->n_refused++;
        return 0;
    }
    rc = grow(o);
    if (rc < 0)
        return rc;
    i = find(o, one->process, one->span);
    if (o->slots[i].is_used) {
        if (o->slots[i].is_early != one->is_early)
            remove_slot(o, i);
        return 0; /* the same number twice: the first one stays */
    }
    sd_assert(o->n < o->n_slots - 1);
    o->slots[i] = *one;
    o->slots[i].is_used = true;
    o->n++;
    return 0;
}

int sd_opens_begin(struct sd_opens *o, const struct sd_open_span *begun)
{
    int rc;

    o->own_slot = (begun->span >> 40) + 1;
    if (o->n_recent == SD_OPENS_RECENT) {
        rc = put(o, &o->recent[0]);
        if (rc < 0)
            return rc;
        o->n_recent--;
        memmove(o->recent, o->recent + 1, o->n_recent * sizeof *o->recent);
    }
    sd_assert(o->n_recent < SD_OPENS_RECENT);
    o->recent[o->n_recent++] = *begun;
    return 0;
}

static bool end_recent(struct sd_opens *o, uint32_t process, uint64_t span)
{
    for (uint32_t i = o->n_recent; i-- > 0;) {
        if (o->recent[i].span != span || o->recent[i].process != process)
            continue;
        o->n_recent--;
        memmove(o->recent + i, o->recent + i + 1,
                (o->n_recent - i) * sizeof *o->recent);
        return true;
    }
    return false;
}

int sd_opens_end(struct sd_opens *o, uint32_t process, uint64_t span)
{
    if (span == 0 || end_recent(o, process, span))
        return 0;
    if (o->n_slots > 0) {
        size_t i = find(o, process, span);

        if (o->slots[i].is_used) {
            if (!o->slots[i].is_early)
                remove_slot(o, i);
            return 0;
        }
    }
    if (o->own_slot == (span >> 40) + 1)
        return 0; /* its OPEN was lost */
    return put(o, &(struct sd_open_span){
                      .span = span, .process = process, .is_early = true });
}

int sd_opens_next_stream(struct sd_opens *o)
{
    int rc = 0;

    for (uint32_t i = 0; i < o->n_recent && rc == 0; i++)
        rc = put(o, &o->recent[i]);
    o->n_recent = 0;
    o->own_slot = 0;
    return rc;
}

bool sd_opens_left(const struct sd_opens *o, size_t *at, struct sd_open_span *left)
{
    while (*at < o->n_slots) {
        const struct sd_open_span *slot = &o->slots[(*at)++];

        if (slot->is_used && !slot->is_early) {
            *left = *slot;
            return true;
        }
    }
    return false;
}

void sd_opens_release(struct sd_opens *o)
{
    sd_free(o->slots);
    *o = (struct sd_opens){ 0 };
}
