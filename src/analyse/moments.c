/* SPDX-License-Identifier: MIT */
#include "analyse/moments.h"

#include <string.h>

#include "base/mem.h"
#include "profile/series.h"

/* One process on its way through its readings. */
struct walker {
    const struct sd_series *series;
    uint32_t at;      /* bucket */
    bool is_inside;   /* between the first and the last reading of that bucket */
    uint64_t next_ns; /* when its value changes */
    int64_t value;    /* until then */
};

/* About one interval after the last reading: until then the process was probably
 * there, and a last round of readings is complete before any of it goes. */
static uint64_t end_of(const struct sd_series *s)
{
    uint64_t first = s->buckets[0].from_ns, last = s->buckets[s->n_buckets - 1].to_ns;

    return last + (s->sum.n > 1 ? (last - first) / (s->sum.n - 1) : 1);
}

/* Takes the step that is due at next_ns, and finds the next one. */
static void step(struct walker *w)
{
    const struct sd_series *s = w->series;
    const struct sd_series_bucket *b = &s->buckets[w->at];

    if (w->at == s->n_buckets) {
        w->value = 0;
        w->next_ns = UINT64_MAX;
    } else if (!w->is_inside && b->from_ns < b->to_ns) {
        w->value = b->max;
        w->is_inside = true;
        w->next_ns = b->to_ns;
    } else {
        w->value = b->last;
        w->is_inside = false;
        w->at++;
        w->next_ns = w->at < s->n_buckets ? s->buckets[w->at].from_ns : end_of(s);
    }
}

/* --- A heap: the walker whose change is next stands first. */

static void sink(struct walker *heap, size_t n, size_t at)
{
    for (;;) {
        size_t least = 2 * at + 1;
        struct walker kept;

        if (least >= n)
            return;
        if (least + 1 < n && heap[least + 1].next_ns < heap[least].next_ns)
            least++;
        if (heap[at].next_ns <= heap[least].next_ns)
            return;
        kept = heap[at];
        heap[at] = heap[least];
        heap[least] = kept;
        at = least;
    }
}

static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Walks until all are gone.  `total` is what all values sum up to; what changes at one
 * moment counts at once, or a process that takes another's place would add to it. */
static int walk(const struct sd_profile *p, struct walker *heap, size_t n,
                struct sd_series *out)
{
    int64_t total = 0;
    int rc = 0;

    while (rc == 0 && heap[0].next_ns != UINT64_MAX) {
        uint64_t now = heap[0].next_ns;

        while (heap[0].next_ns == now) {
            int64_t before = heap[0].value;

            step(&heap[0]);
            total = plus(total, heap[0].value) - before;
            sink(heap, n, 0);
        }
        if (now <= p->end_ns)
            rc = sd_series_add(out, SD_ADDS_LEVEL, p->real_zero_ns, SD_SERIES_BUCKETS,
                               now, total);
    }
    return rc;
}

static bool is_wanted(const struct sd_profile *p, const struct sd_series *s,
                      const char *metric)
{
    const struct sd_metric *m = &p->metrics[s->metric.at];

    return s->n_buckets > 0 && m->adds == SD_ADDS_LEVEL && s->sum.min >= 0 &&
           strcmp(m->name, metric) == 0 &&
           p->tracks[s->track.at].kind == SD_TRACK_PROCESS;
}

int sd_moments_sum_processes(const struct sd_profile *p, const char *metric,
                             struct sd_series *out)
{
    struct walker *heap = sd_zalloc((p->n_series + 1) * sizeof *heap);
    size_t n = 0;
    int rc = 0;

    *out = (struct sd_series){ 0 };
    if (!heap)
        return sd_no_memory();
    for (size_t i = 0; i < p->n_series; i++)
        if (is_wanted(p, &p->series[i], metric))
            heap[n++] = (struct walker){ .series = &p->series[i],
                                         .next_ns = p->series[i].buckets[0].from_ns };
    for (size_t i = n / 2; i-- > 0;)
        sink(heap, n, i);
    if (n > 0)
        rc = walk(p, heap, n, out);
    if (rc < 0)
        sd_series_release(out);
    sd_free(heap);
    return rc;
}
