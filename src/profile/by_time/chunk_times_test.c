/* SPDX-License-Identifier: MIT */
#include "profile/by_time/chunk_times.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "capture/reader.h"
#include "profile/profile_define.h"
#include "profile/profile_testing.h"

enum { N_CHUNKS = 20, N_A_CHUNK = 10, CHUNK_MS = 100 };
#define MS ((uint64_t)1000000)

/* Deterministic, and the same everywhere. */
static uint64_t draw(uint64_t *seed, uint64_t below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (*seed >> 33) % below;
}

static uint64_t time_in(uint64_t *seed, uint32_t chunk)
{
    return (chunk * CHUNK_MS + draw(seed, CHUNK_MS)) * MS;
}

static uint32_t thread_of(struct sd_maker *m, uint64_t number, const char *name)
{
    uint32_t process = sd_maker_track(m, SD_TRACK_PROCESS, 0, 7, "python");

    return sd_maker_track(m, SD_TRACK_THREAD, process, number, name);
}

/* Functions that turn up later, too. */
static void put_samples(struct sd_maker *m, uint64_t *seed)
{
    for (uint32_t c = 0; c < N_CHUNKS; c++) {
        uint32_t thread, shape;

        sd_maker_chunk(m, 1, c + 1);
        thread = thread_of(m, 7 + c % 2, "main");
        shape = sd_maker_sample_shape(m);
        for (uint32_t i = 0; i < N_A_CHUNK; i++) {
            uint32_t line = (uint32_t)draw(seed, c + 2) + 1;
            uint32_t site = sd_maker_function(m, "f", "/x/app.py", 10 * line);

            sd_maker_sample(m, thread, sd_maker_stack(m, 0, site, line), 0,
                            time_in(seed, c), shape, 1 + (int64_t)draw(seed, 3));
        }
    }
}

/* Sections, of which each third ends chunks after it began, and one at the very end. */
static void put_spans(struct sd_maker *m, uint64_t *seed, bool is_unfinished)
{
    for (uint32_t c = 0; c < N_CHUNKS; c++) {
        uint32_t thread, site;

        sd_maker_chunk(m, 2, c + 1);
        thread = thread_of(m, 8, NULL);
        site = sd_maker_site(m, 0, c % 2 ? "load" : "train");
        for (uint32_t i = 0; i < N_A_CHUNK; i++) {
            uint64_t to = time_in(seed, c), span = c * N_A_CHUNK + i + 1;
            uint64_t from = i % 3 ? to - draw(seed, to / 40 + 1) : to / 2;

            if (c == N_CHUNKS - 1 && i == 0)
                from = 1;
            sd_maker_open(m, site, thread, span, from);
            sd_maker_span(m, site, thread, span, from, to);
        }
        if (is_unfinished && c == 3)
            sd_maker_open(m, site, thread, 99999, time_in(seed, c));
    }
}

/* A counter of a thread that gets another name, a note and facts. */
static void put_points(struct sd_maker *m)
{
    for (uint32_t c = 0; c < N_CHUNKS; c++) {
        uint32_t thread, metric, shape;

        sd_maker_chunk(m, 3, c + 1);
        thread = thread_of(m, 9, c < 5 ? "young" : "old");
        metric =
            sd_maker_metric(m, c < 15 ? "cpu" : "rss", SD_UNIT_BYTES, SD_ADDS_COUNTER);
        shape = sd_maker_shape(m, &metric, 1);
        for (uint32_t i = 0; i < N_A_CHUNK; i++)
            sd_maker_point(m, thread, shape,
                           (c * CHUNK_MS + i * (CHUNK_MS / N_A_CHUNK)) * MS,
                           &(int64_t){ 1000 * c + i }, 1);
        if (c == 12)
            sd_maker_note(m, SD_NOTE_INFO, "something was seen");
    }
    sd_maker_meta(m, "command", "python app.py");
    sd_maker_exit(m, thread_of(m, 9, "old"), 5000 * MS, 3);
}

static void make(struct sd_maker *m, uint64_t seed, bool is_unfinished)
{
    sd_maker_begin(m);
    put_samples(m, &seed);
    put_spans(m, &seed, is_unfinished);
    put_points(m);
    sd_maker_end(m, 0);
}

/* --- What two profiles have in common */

static uint64_t hash_text(uint64_t h, const char *text)
{
    while (text && *text)
        h = (h ^ (uint8_t)*text++) * 1099511628211u;
    return h * 31 + 7;
}

static uint64_t hash_stack(const struct sd_profile *p, sd_stack_id id)
{
    uint64_t h = 1;

    for (; id.at != UINT32_MAX; id = p->stacks[id.at].parent) {
        const struct sd_site *site = &p->sites[p->stacks[id.at].site.at];

        h = hash_text(h, site->name) + site->line * 7919u + p->stacks[id.at].line;
    }
    return h;
}

/* The same whatever the order. */
static uint64_t digest_samples(const struct sd_profile *p)
{
    const struct sd_stack_totals *t = &p->evidence[SD_SAMPLES].stacks;
    uint64_t sum = t->n + 1000 * t->n_metrics;

    for (uint32_t k = 0; k < t->n_metrics; k++)
        for (size_t i = 0; i < t->n; i++)
            sum += (hash_stack(p, t->items[i].stack) + t->items[i].track.at * 31 +
                    t->items[i].flags + k * 1000003u) *
                   (uint64_t)t->values[k][i];
    return sum;
}

static uint64_t digest_spans(const struct sd_profile *p)
{
    uint64_t sum = p->n_span_events;

    for (size_t i = 0; i < p->n_spans; i++) {
        const struct sd_span_total *t = &p->spans[i];

        sum += hash_text(t->track.at, p->sites[t->site.at].path) *
               (t->count + t->first_ns * 3 + t->last_ns * 5 +
                (uint64_t)t->wall.total * 7 + t->n_unfinished * 11);
    }
    return sum;
}

static uint64_t digest_series(const struct sd_profile *p)
{
    uint64_t sum = p->n_point_events;

    for (size_t i = 0; i < p->n_series; i++) {
        const struct sd_series *s = &p->series[i];

        for (uint32_t k = 0; k < s->n_buckets; k++)
            sum += (hash_text(s->track.at, p->metrics[s->metric.at].name) + 1) *
                   ((uint64_t)s->buckets[k].last + s->buckets[k].to_ns * 17 +
                    s->buckets[k].from_ns);
    }
    return sum;
}

static void check_tracks(const struct sd_profile *a, const struct sd_profile *b)
{
    CHECK(a->n_tracks == b->n_tracks && a->n_metrics == b->n_metrics);
    for (size_t i = 0; i < a->n_tracks; i++) {
        const struct sd_track *x = &a->tracks[i], *y = &b->tracks[i];

        CHECK(x->number == y->number && x->parent.at == y->parent.at &&
              x->status == y->status && x->first_ns == y->first_ns &&
              x->last_ns == y->last_ns);
        CHECK(!x->name == !y->name && (!x->name || strcmp(x->name, y->name) == 0));
    }
    for (size_t i = 0; i < a->n_metrics; i++)
        CHECK(strcmp(a->metrics[i].name, b->metrics[i].name) == 0);
}

static void check_same(const struct sd_profile *a, const struct sd_profile *b)
{
    check_tracks(a, b);
    CHECK(a->n_sample_events == b->n_sample_events &&
          digest_samples(a) == digest_samples(b));
    CHECK(digest_spans(a) == digest_spans(b));
    CHECK(digest_series(a) == digest_series(b));
    CHECK(a->end_ns == b->end_ns && a->run_end_ns == b->run_end_ns &&
          a->ran_ns == b->ran_ns);
    CHECK(a->window.from_ns == b->window.from_ns && a->window.to_ns == b->window.to_ns);
    CHECK(a->n_notes == b->n_notes && a->n_metas == b->n_metas);
    CHECK(!a->complaint && !b->complaint);
}

/* --- Windows */

static struct sd_profile *load_whole(struct sd_reader *r)
{
    struct sd_profile *p;
    bool is_unmatched;

    CHECK(sd_profile_load_one_of(r, NULL, SD_LOAD_CHUNKS, &p, &is_unmatched) == 0);
    return p;
}

static size_t count_chosen(const struct sd_profile *whole, const struct sd_filter *f)
{
    size_t n = whole->health.chunks;
    uint8_t *chosen = sd_alloc(n);
    size_t n_chosen;

    CHECK(chosen);
    n_chosen = sd_chunk_times_choose(whole->index->times, f->from_ns,
                                     f->to_ns ? f->to_ns : UINT64_MAX, chosen, n);
    sd_free(chosen);
    return n_chosen;
}

static void check_window(const struct sd_maker *m, struct sd_reader *r,
                         const struct sd_profile *whole, const struct sd_filter *f)
{
    struct sd_profile *window, *wanted = sd_maker_load(m, f);

    CHECK(sd_profile_has_window(whole, f));
    CHECK(sd_profile_load_window(r, whole, f, &window) == 0);
    check_same(window, wanted);
    sd_profile_free(window);
    sd_profile_free(wanted);
}

TEST(a_window_has_the_figures_of_a_full_reading_from_its_own_chunks)
{
    static const char *const tracks[] = { NULL, "7/8", "old", "main" };
    uint64_t seed = 11;
    struct sd_maker m;
    struct sd_reader *r;
    struct sd_profile *whole;
    size_t n_read = 0;

    make(&m, 5, false);
    CHECK(sd_reader_open_bytes(m.file.p, m.file.n, &r) == 0);
    whole = load_whole(r);
    for (uint32_t k = 0; k < 40; k++) {
        uint64_t from = draw(&seed, N_CHUNKS * CHUNK_MS) * MS;
        const struct sd_filter f = { .from_ns = from,
                                     .to_ns = from + 1 + draw(&seed, 150 * MS),
                                     .track = tracks[k % 4] };

        check_window(&m, r, whole, &f);
        n_read += count_chosen(whole, &f);
    }
    check_window(&m, r, whole, &(struct sd_filter){ .from_ns = 1700 * MS });
    check_window(&m, r, whole, &(struct sd_filter){ .to_ns = 30 * MS });
    CHECK(n_read < 40 * whole->health.chunks / 2); /* long sections reach into many */
    sd_profile_free(whole);
    sd_reader_free(r);
    sd_maker_release(&m);
}

TEST(a_window_is_refused_where_its_chunks_cannot_tell_it)
{
    const struct sd_filter narrow = { .from_ns = MS, .to_ns = 2 * MS };
    struct sd_maker m;
    struct sd_reader *r;
    struct sd_profile *whole;

    make(&m, 5, true);
    CHECK(sd_reader_open_bytes(m.file.p, m.file.n, &r) == 0);
    whole = load_whole(r);
    CHECK(!sd_profile_has_window(whole, &narrow)); /* a section never ended */
    sd_profile_free(whole);
    sd_reader_free(r);
    sd_maker_release(&m);
    make(&m, 5, false);
    CHECK(sd_reader_open_bytes(m.file.p, m.file.n, &r) == 0);
    whole = load_whole(r);
    CHECK(sd_profile_has_window(whole, &narrow));
    CHECK(!sd_profile_has_window(whole, &(struct sd_filter){ .track = "old" }));
    CHECK(!sd_profile_has_window(
        whole, &(struct sd_filter){ .from_ns = 1, .section = "load" }));
    whole->allocs.is_recorded = true;
    CHECK(!sd_profile_has_window(whole, &narrow)); /* what is live began before it */
    sd_profile_free(whole);
    sd_reader_free(r);
    whole = sd_maker_load(&m, NULL);
    CHECK(!sd_profile_has_window(whole, &narrow)); /* nobody wanted to know */
    sd_profile_free(whole);
    sd_maker_release(&m);
}

TEST(a_window_survives_every_failed_allocation)
{
    const struct sd_filter narrow = { .from_ns = 300 * MS, .to_ns = 400 * MS };
    struct sd_maker m;
    struct sd_reader *r;
    struct sd_profile *whole, *window = NULL;
    int rc = SD_ENOMEM;

    make(&m, 5, false);
    CHECK(sd_reader_open_bytes(m.file.p, m.file.n, &r) == 0);
    whole = load_whole(r);
    for (size_t nth = 1; rc == SD_ENOMEM && nth < 5000; nth++) {
        sd_mem_fail_at(nth, false);
        rc = sd_profile_load_window(r, whole, &narrow, &window);
        sd_mem_fail_at(0, false);
        CHECK(rc == 0 || (rc == SD_ENOMEM && !window));
    }
    CHECK(rc == 0);
    sd_profile_free(window);
    sd_profile_free(whole);
    sd_reader_free(r);
    sd_maker_release(&m);
}
