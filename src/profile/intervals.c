/* SPDX-License-Identifier: MIT */
#include "profile/intervals.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

/* Merges each interval into the one before it when the gap allows. */
static void close_gaps(struct sd_intervals *s)
{
    uint32_t kept = 0;

    for (uint32_t i = 1; i < s->n; i++) {
        struct sd_interval *last = &s->items[kept];
        const struct sd_interval *next = &s->items[i];

        if (next->from_ns <= last->to_ns || next->from_ns - last->to_ns <= s->gap_ns) {
            last->to_ns = last->to_ns > next->to_ns ? last->to_ns : next->to_ns;
            last->n += next->n;
        } else {
            s->items[++kept] = *next;
        }
    }
    sd_assert(s->n == 0 || kept < s->n);
    s->n = s->n ? kept + 1 : 0;
}

/* The gap doubles, so this happens at most 64 times in the life of a set. */
static void make_room(struct sd_intervals *s, uint32_t limit)
{
    uint32_t want = limit - limit / 4;

    while (s->n > want && s->gap_ns < UINT64_MAX / 2) {
        s->gap_ns = s->gap_ns ? s->gap_ns * 2 : 1024;
        close_gaps(s);
    }
}

static int grow(struct sd_intervals *s)
{
    size_t cap = s->cap;
    struct sd_interval *items;

    if (s->n < s->cap)
        return 0;
    items = sd_grow_array(s->items, &cap, (size_t)s->n + 1, sizeof *items);
    if (!items)
        return sd_no_memory();
    s->items = items;
    s->cap = (uint32_t)cap;
    return 0;
}

/* The first interval that does not end before `from`, gap included. */
static uint32_t first_near(const struct sd_intervals *s, uint64_t from)
{
    uint32_t low = 0, high = s->n;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        uint64_t end = s->items[mid].to_ns;

        if (end < from && from - end > s->gap_ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static int insert(struct sd_intervals *s, uint32_t at, struct sd_interval i)
{
    int rc = grow(s);

    sd_assert(at <= s->n);
    if (rc < 0)
        return rc;
    memmove(s->items + at + 1, s->items + at, (s->n - at) * sizeof *s->items);
    s->items[at] = i;
    s->n++;
    return 0;
}

/* Nearly always the new one follows the last, or is one with it. */
static bool extend_last(struct sd_intervals *s, const struct sd_interval *i)
{
    struct sd_interval *last;

    if (s->n == 0)
        return false;
    last = &s->items[s->n - 1];
    if (i->from_ns < last->from_ns ||
        (i->from_ns > last->to_ns && i->from_ns - last->to_ns > s->gap_ns))
        return false;
    last->to_ns = i->to_ns > last->to_ns ? i->to_ns : last->to_ns;
    last->n += i->n;
    return true;
}

int sd_intervals_add(struct sd_intervals *s, uint32_t limit, struct sd_interval i)
{
    uint32_t at, end;

    sd_assert(limit >= 2);
    if (i.to_ns < i.from_ns)
        i.to_ns = i.from_ns;
    if (extend_last(s, &i))
        return 0;
    if (s->n >= limit)
        make_room(s, limit);
    at = first_near(s, i.from_ns);
    for (end = at; end < s->n; end++) {
        const struct sd_interval *next = &s->items[end];

        if (next->from_ns > i.to_ns && next->from_ns - i.to_ns > s->gap_ns)
            break;
        i.from_ns = i.from_ns < next->from_ns ? i.from_ns : next->from_ns;
        i.to_ns = i.to_ns > next->to_ns ? i.to_ns : next->to_ns;
        i.n += next->n;
    }
    sd_assert_slow(at == 0 || s->items[at - 1].to_ns < i.from_ns);
    sd_assert_slow(end == s->n || s->items[end].from_ns > i.to_ns);
    if (end == at)
        return insert(s, at, i);
    s->items[at] = i;
    memmove(s->items + at + 1, s->items + end, (s->n - end) * sizeof *s->items);
    s->n -= end - at - 1;
    return 0;
}

bool sd_intervals_touch(const struct sd_intervals *s, uint64_t from_ns, uint64_t to_ns)
{
    uint32_t low = 0, high = s->n;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;

        if (s->items[mid].to_ns < from_ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low < s->n && s->items[low].from_ns <= to_ns;
}

void sd_intervals_release(struct sd_intervals *s)
{
    sd_free(s->items);
    *s = (struct sd_intervals){ 0 };
}
