/* SPDX-License-Identifier: MIT */
#include "profile/series.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

enum { FIRST_SHIFT = 20 }; /* about a millisecond */

static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;

    if (!__builtin_add_overflow(a, b, &sum))
        return sum;
    return b < 0 ? INT64_MIN + 1 : INT64_MAX;
}

static int64_t minus(int64_t a, int64_t b)
{
    int64_t difference;

    if (!__builtin_sub_overflow(a, b, &difference))
        return difference;
    return b < 0 ? INT64_MAX : INT64_MIN + 1;
}

static void set_total(struct sd_sum *s, enum sd_adds adds, int64_t added)
{
    switch (adds) {
    case SD_ADDS_SUM:
    case SD_ADDS_LEVEL:
        s->total = plus(s->total, added);
        return;
    case SD_ADDS_COUNTER:
        s->total = minus(s->last, s->first);
        return;
    case SD_ADDS_PEAK:
        s->total = s->max;
        return;
    }
}

void sd_sum_add(struct sd_sum *s, enum sd_adds adds, int64_t v)
{
    if (s->n++ == 0) {
        s->min = s->max = s->first = v;
    } else {
        s->min = v < s->min ? v : s->min;
        s->max = v > s->max ? v : s->max;
    }
    s->last = v;
    sd_assert_slow(s->min <= v && v <= s->max);
    set_total(s, adds, v);
}

void sd_sum_merge(struct sd_sum *into, const struct sd_sum *from, enum sd_adds adds)
{
    if (from->n == 0)
        return;
    if (into->n == 0) {
        *into = *from;
        return;
    }
    into->n += from->n;
    into->min = from->min < into->min ? from->min : into->min;
    into->max = from->max > into->max ? from->max : into->max;
    into->last = from->last;
    set_total(into, adds, from->total);
}

static unsigned shift_of(const struct sd_series *s)
{
    sd_assert_slow(s->bucket_ns && (s->bucket_ns & (s->bucket_ns - 1)) == 0);
    return (unsigned)__builtin_ctzll(s->bucket_ns);
}

static uint64_t cell(uint64_t origin_ns, uint64_t time_ns, unsigned shift)
{
    return (origin_ns + time_ns) >> shift;
}

/* The later reading's value; of two at one moment the larger, so that the order in
 * which they arrive does not matter. */
static int64_t later_value(const struct sd_series_bucket *a,
                           const struct sd_series_bucket *b)
{
    if (a->to_ns != b->to_ns)
        return a->to_ns > b->to_ns ? a->last : b->last;
    return a->last > b->last ? a->last : b->last;
}

static void fold(struct sd_series_bucket *into, const struct sd_series_bucket *from)
{
    into->last = later_value(into, from);
    into->from_ns = from->from_ns < into->from_ns ? from->from_ns : into->from_ns;
    into->to_ns = from->to_ns > into->to_ns ? from->to_ns : into->to_ns;
    into->min = from->min < into->min ? from->min : into->min;
    into->max = from->max > into->max ? from->max : into->max;
}

static void fold_to(struct sd_series *s, uint64_t origin_ns, unsigned shift)
{
    uint32_t kept = 0;

    sd_assert(shift < 64);
    s->bucket_ns = (uint64_t)1 << shift;
    for (uint32_t i = 1; i < s->n_buckets; i++) {
        struct sd_series_bucket *last = &s->buckets[kept];

        if (cell(origin_ns, last->from_ns, shift) ==
            cell(origin_ns, s->buckets[i].from_ns, shift))
            fold(last, &s->buckets[i]);
        else
            s->buckets[++kept] = s->buckets[i];
    }
    sd_assert(s->n_buckets == 0 || kept < s->n_buckets);
    s->n_buckets = s->n_buckets ? kept + 1 : 0;
}

/* Where the cell of `time` is, or should stand. */
static uint32_t find(const struct sd_series *s, uint64_t origin_ns, uint64_t time_ns)
{
    unsigned shift = shift_of(s);
    uint64_t wanted = cell(origin_ns, time_ns, shift);
    uint32_t low = 0, high = s->n_buckets;

    if (high == 0 || cell(origin_ns, s->buckets[high - 1].from_ns, shift) < wanted)
        return high; /* the next in order: nearly always */
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;

        if (cell(origin_ns, s->buckets[mid].from_ns, shift) < wanted)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static int insert(struct sd_series *s, uint32_t at, const struct sd_series_bucket *b)
{
    sd_assert(at <= s->n_buckets);
    if (s->n_buckets >= s->cap_buckets) {
        size_t cap = s->cap_buckets;
        struct sd_series_bucket *grown =
            sd_grow_array(s->buckets, &cap, (size_t)s->n_buckets + 1, sizeof *grown);

        if (!grown)
            return sd_no_memory();
        s->buckets = grown;
        s->cap_buckets = (uint32_t)cap;
    }
    memmove(s->buckets + at + 1, s->buckets + at,
            (s->n_buckets - at) * sizeof *s->buckets);
    s->buckets[at] = *b;
    s->n_buckets++;
    sd_assert_slow(at == 0 || s->buckets[at - 1].from_ns < b->from_ns);
    return 0;
}

static int put(struct sd_series *s, uint64_t origin_ns, uint32_t limit,
               const struct sd_series_bucket *b)
{
    uint32_t at;
    int rc;

    sd_assert(limit >= 2 && b->from_ns <= b->to_ns);
    if (s->bucket_ns == 0)
        s->bucket_ns = (uint64_t)1 << FIRST_SHIFT;
    at = find(s, origin_ns, b->from_ns);
    if (at < s->n_buckets && cell(origin_ns, s->buckets[at].from_ns, shift_of(s)) ==
                                 cell(origin_ns, b->from_ns, shift_of(s))) {
        fold(&s->buckets[at], b);
        return 0;
    }
    rc = insert(s, at, b);
    if (rc < 0)
        return rc;
    while (s->n_buckets > limit && shift_of(s) < 62)
        fold_to(s, origin_ns, shift_of(s) + 1);
    return 0;
}

static uint64_t first_time(const struct sd_series *s)
{
    sd_assert_slow(s->n_buckets > 0);
    return s->buckets[0].from_ns;
}
static uint64_t last_time(const struct sd_series *s)
{
    return s->buckets[s->n_buckets - 1].to_ns;
}

int sd_series_add(struct sd_series *s, enum sd_adds adds, uint64_t origin_ns,
                  uint32_t limit, uint64_t time_ns, int64_t v)
{
    struct sd_series_bucket b = { time_ns, time_ns, v, v, v };
    bool is_first = s->n_buckets == 0 || time_ns < first_time(s);
    bool is_last = s->n_buckets == 0 || time_ns >= last_time(s);
    struct sd_sum before = s->sum;
    int rc = put(s, origin_ns, limit, &b);

    if (rc < 0)
        return rc;
    sd_sum_add(&s->sum, adds, v);
    /* Readings of one track may come through several streams, out of order. */
    s->sum.first = is_first ? v : before.first;
    s->sum.last = is_last ? v : before.last;
    if (adds == SD_ADDS_COUNTER)
        s->sum.total = minus(s->sum.last, s->sum.first);
    return 0;
}

int sd_series_merge(struct sd_series *into, const struct sd_series *from,
                    enum sd_adds adds, uint64_t origin_ns, uint64_t later_ns)
{
    bool is_first, is_last;
    struct sd_sum sum = into->sum;
    int rc;

    if (from->n_buckets == 0)
        return 0;
    is_first = into->n_buckets == 0 || first_time(from) + later_ns < first_time(into);
    is_last = into->n_buckets == 0 || last_time(from) + later_ns >= last_time(into);
    if (into->bucket_ns < from->bucket_ns)
        fold_to(into, origin_ns, shift_of(from));
    for (uint32_t i = 0; i < from->n_buckets; i++) {
        struct sd_series_bucket b = from->buckets[i];

        b.from_ns += later_ns;
        b.to_ns += later_ns;
        rc = put(into, origin_ns, SD_SERIES_BUCKETS, &b);
        if (rc < 0)
            return rc;
    }
    sd_sum_merge(&sum, &from->sum, adds);
    sum.first = is_first ? from->sum.first : into->sum.first;
    sum.last = is_last ? from->sum.last : into->sum.last;
    if (adds == SD_ADDS_COUNTER)
        sum.total = minus(sum.last, sum.first);
    into->sum = sum;
    return 0;
}

void sd_series_settle(struct sd_series *s)
{
    struct sd_series_bucket *less;

    sd_assert(s->n_buckets <= s->cap_buckets);
    if (s->n_buckets == 0 || s->n_buckets == s->cap_buckets)
        return;
    less = sd_regrow(s->buckets, s->n_buckets * sizeof *less);
    if (less) {
        s->buckets = less;
        s->cap_buckets = s->n_buckets;
    }
}

void sd_series_release(struct sd_series *s)
{
    sd_free(s->buckets);
    s->buckets = NULL;
    s->n_buckets = s->cap_buckets = 0;
}
