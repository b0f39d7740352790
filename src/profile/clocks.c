/* SPDX-License-Identifier: MIT */
#include "profile/clocks.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

static int line_for(struct sd_clocks *c, uint64_t stream, struct sd_clock_line **line)
{
    struct sd_clock_line *lines;
    uint64_t at;
    int rc;

    *line = NULL;
    if (!sd_table_get(&c->by_stream, stream, &at)) {
        lines = sd_grow_array(c->lines, &c->cap, c->n + 1, sizeof *lines);
        if (!lines)
            return sd_no_memory();
        c->lines = lines;
        rc = sd_table_put(&c->by_stream, stream, c->n);
        if (rc < 0)
            return rc;
        at = c->n++;
        c->lines[at] = (struct sd_clock_line){ 0 };
    }
    *line = &c->lines[at];
    return 0;
}

/* The first and the last stay: they say most about the whole. */
static void thin(struct sd_clock_line *line)
{
    size_t kept = 1;

    sd_assert(line->n > 2); /* the first and the last are not all */
    for (size_t i = 2; i + 1 < line->n; i += 2)
        line->pairs[kept++] = line->pairs[i];
    line->pairs[kept++] = line->pairs[line->n - 1];
    line->n = kept;
}

int sd_clocks_add(struct sd_clocks *c, uint64_t stream, uint64_t ticks,
                  uint64_t mono_ns)
{
    struct sd_clock_pair *pairs;
    struct sd_clock_line *line;
    int rc = line_for(c, stream, &line);
    size_t at;

    if (rc < 0)
        return rc;
    for (at = line->n; at > 0 && line->pairs[at - 1].ticks > ticks;)
        at--;
    if (at > 0 &&
        (line->pairs[at - 1].ticks == ticks || line->pairs[at - 1].mono_ns >= mono_ns))
        return 0;
    if (at < line->n && line->pairs[at].mono_ns <= mono_ns)
        return 0;
    if (line->n == SD_CLOCK_PAIRS) {
        thin(line);
        sd_assert(line->n < SD_CLOCK_PAIRS); /* or this would not end */
        return sd_clocks_add(c, stream, ticks, mono_ns);
    }
    pairs = sd_grow_array(line->pairs, &line->cap, line->n + 1, sizeof *pairs);
    if (!pairs)
        return sd_no_memory();
    line->pairs = pairs;
    memmove(pairs + at + 1, pairs + at, (line->n - at) * sizeof *pairs);
    pairs[at] = (struct sd_clock_pair){ ticks, mono_ns };
    line->n++;
    sd_assert(at == 0 || pairs[at - 1].ticks < ticks);
    sd_assert(at + 1 == line->n || pairs[at + 1].ticks > ticks);
    return 0;
}

const struct sd_clock_line *sd_clocks_line(const struct sd_clocks *c, uint64_t stream)
{
    uint64_t at;

    return sd_table_get(&c->by_stream, stream, &at) ? &c->lines[at] : NULL;
}

/* The last pair not after `ticks`, but never the very last: a line needs two. */
static size_t segment(const struct sd_clock_line *line, uint64_t ticks)
{
    size_t low = 0, high = line->n - 1;

    sd_assert_slow(line->n >= 2);
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;

        if (line->pairs[mid].ticks <= ticks)
            low = mid;
        else
            high = mid;
    }
    return low;
}

void sd_clock_line_around(const struct sd_clock_line *line, uint64_t ticks,
                          const struct sd_clock_pair **before,
                          const struct sd_clock_pair **behind)
{
    size_t low = 0, high = line->n; /* the first that lies behind */

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (line->pairs[mid].ticks <= ticks)
            low = mid + 1;
        else
            high = mid;
    }
    *before = low > 0 ? &line->pairs[low - 1] : NULL;
    *behind = low < line->n ? &line->pairs[low] : NULL;
}

uint64_t sd_clock_line_ns(const struct sd_clock_line *line, uint64_t ticks)
{
    const struct sd_clock_pair *a, *b;
    double slope, ns;

    if (line->n < 2) /* one pair: the ticks are taken for nanoseconds */
        return line->n ? line->pairs[0].mono_ns + (ticks - line->pairs[0].ticks)
                       : ticks;
    a = &line->pairs[segment(line, ticks)];
    b = a + 1;
    sd_assert_slow(b->ticks > a->ticks && b->mono_ns > a->mono_ns);
    slope = (double)(b->mono_ns - a->mono_ns) / (double)(b->ticks - a->ticks);
    /* From the near end, so that the distance multiplied stays small. */
    ns = ticks >= a->ticks ? (double)(ticks - a->ticks) * slope
                           : -(double)(a->ticks - ticks) * slope;
    if (ns < 0)
        return -ns >= (double)a->mono_ns ? 0 : a->mono_ns - (uint64_t)-ns;
    if (ns >= 0x1p62)
        return (uint64_t)1 << 62;
    return a->mono_ns + (uint64_t)ns;
}

double sd_clocks_ns_per_tick(const struct sd_clocks *c)
{
    const struct sd_clock_pair *first = NULL, *last = NULL;

    for (size_t i = 0; i < c->n; i++) {
        const struct sd_clock_line *line = &c->lines[i];

        if (line->n == 0)
            continue;
        if (!first || line->pairs[0].ticks < first->ticks)
            first = &line->pairs[0];
        if (!last || line->pairs[line->n - 1].ticks > last->ticks)
            last = &line->pairs[line->n - 1];
    }
    if (!first || last->ticks <= first->ticks || last->mono_ns <= first->mono_ns)
        return 0;
    return (double)(last->mono_ns - first->mono_ns) /
           (double)(last->ticks - first->ticks);
}

void sd_clocks_release(struct sd_clocks *c)
{
    for (size_t i = 0; i < c->n; i++)
        sd_free(c->lines[i].pairs);
    sd_free(c->lines);
    sd_table_release(&c->by_stream);
    *c = (struct sd_clocks){ 0 };
}
