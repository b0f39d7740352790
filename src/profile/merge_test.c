/* SPDX-License-Identifier: MIT */
#include "profile/profile.h"

#include "base/error.h"
#include "base/mem.h"
#include "capture/capture_merge.h"
#include "profile/events.h"
#include "profile/profile_testing.h"

enum { MS = 1000000 };

static void make_rank(struct sd_maker *m, uint64_t real_ns, const char *host, int rank)
{
    uint32_t process, site, cpu, rss, of_span, of_point;

    sd_maker_begin_at(m, real_ns);
    sd_maker_chunk(m, 1, 1);
    sd_maker_meta(m, "host", host);
    process = sd_maker_track(m, SD_TRACK_PROCESS, 0, 50, "python");
    site = sd_maker_site(m, 0, rank % 2 ? "odd" : "even");
    cpu = sd_maker_metric(m, "cpu", SD_UNIT_NANOSECONDS, SD_ADDS_SUM);
    of_span = sd_maker_shape(m, &cpu, 1);
    if (rank == 2)
        sd_maker_metric(m, "extra", SD_UNIT_COUNT, SD_ADDS_SUM);
    rss = sd_maker_metric(m, "rss", SD_UNIT_BYTES, SD_ADDS_LEVEL);
    of_point = sd_maker_shape(m, &rss, 1);
    for (int i = 0; i < 20; i++) {
        sd_maker_span_with(m, site, process, (uint64_t)i * MS, (uint64_t)i * MS + 100,
                           of_span, (int64_t[]){ i + rank }, 1, 0);
        sd_maker_point(m, process, of_point, (uint64_t)i * 3 * MS,
                       (int64_t[]){ 100 * rank + i }, 1);
    }
    sd_maker_note(m, SD_NOTE_WARNING, "a note");
    sd_maker_end(m, 0);
}

static bool same_sum(const struct sd_sum *a, const struct sd_sum *b)
{
    return a->n == b->n && a->total == b->total && a->min == b->min &&
           a->max == b->max && a->first == b->first && a->last == b->last;
}

static void check_same(const struct sd_profile *a, const struct sd_profile *b)
{
    CHECK(a->n_sites == b->n_sites && a->n_tracks == b->n_tracks);
    CHECK(a->n_metrics == b->n_metrics && a->n_spans == b->n_spans);
    CHECK(a->n_series == b->n_series && a->n_notes == b->n_notes);
    CHECK(a->end_ns == b->end_ns && a->real_zero_ns == b->real_zero_ns);
    CHECK(a->run_end_ns == b->run_end_ns && a->window.is_set == b->window.is_set);
    CHECK(a->window.from_ns == b->window.from_ns && a->window.to_ns == b->window.to_ns);
    CHECK(a->zero_ns == b->zero_ns && a->n_span_events == b->n_span_events);
    for (size_t i = 0; i < a->n_sites; i++)
        CHECK(strcmp(a->sites[i].path, b->sites[i].path) == 0);
    for (size_t i = 0; i < a->n_tracks; i++)
        CHECK(a->tracks[i].number == b->tracks[i].number &&
              a->tracks[i].first_ns == b->tracks[i].first_ns &&
              a->tracks[i].last_ns == b->tracks[i].last_ns);
    for (size_t i = 0; i < a->n_spans; i++) {
        const struct sd_span_total *x = &a->spans[i], *y = &b->spans[i];

        CHECK(x->site.at == y->site.at && x->track.at == y->track.at);
        CHECK(x->count == y->count && same_sum(&x->wall, &y->wall));
        CHECK(x->first_ns == y->first_ns && x->last_ns == y->last_ns);
        for (size_t k = 0; k < a->n_metrics; k++)
            CHECK(same_sum(&x->values[k], &y->values[k]));
        CHECK(x->when.n == y->when.n);
        CHECK(memcmp(x->when.items, y->when.items, x->when.n * sizeof *x->when.items) ==
              0);
    }
    for (size_t i = 0; i < a->n_series; i++) {
        const struct sd_series *x = &a->series[i], *y = &b->series[i];

        CHECK(x->track.at == y->track.at && x->metric.at == y->metric.at);
        CHECK(same_sum(&x->sum, &y->sum) && x->bucket_ns == y->bucket_ns);
        CHECK(x->n_buckets == y->n_buckets);
        CHECK(memcmp(x->buckets, y->buckets, x->n_buckets * sizeof *x->buckets) == 0);
    }
}

/* Each of 10 ms, the second begun 100 ms after the first. */
TEST(merge_joins_windows_whichever_comes_first)
{
    const struct sd_filter filter = { .from_ns = 2 * MS, .to_ns = 5 * MS };

    for (unsigned first = 0; first < 2; first++) {
        struct sd_maker m[2];
        struct sd_profile *p[2];

        for (unsigned i = 0; i < 2; i++) {
            uint32_t track;

            sd_maker_begin_at(&m[i], SD_MAKER_REAL + i * 100 * (uint64_t)MS);
            sd_maker_chunk(&m[i], 1 + i, 1);
            track = sd_maker_track(&m[i], SD_TRACK_PROCESS, 0, 7 + i, NULL);
            sd_maker_span(&m[i], sd_maker_site(&m[i], 0, "a"), track, 0, 0, 10 * MS);
            sd_maker_end(&m[i], 0);
            p[i] = sd_maker_load(&m[i], &filter);
            CHECK(p[i]->window.is_set && p[i]->end_ns == 5 * MS);
        }
        CHECK(sd_profile_merge(p[first], p[!first]) == 0);
        CHECK(p[first]->window.from_ns == 2 * MS);
        CHECK(p[first]->window.to_ns == 105 * MS && p[first]->end_ns == 105 * MS);
        CHECK(p[first]->run_end_ns == 110 * MS);
        for (unsigned i = 0; i < 2; i++) {
            sd_profile_free(p[i]);
            sd_maker_release(&m[i]);
        }
    }
}

TEST(merge_is_associative_and_keeps_hosts_apart)
{
    struct sd_maker m[3];
    struct sd_profile *left[3], *right[3];

    make_rank(&m[0], SD_MAKER_REAL, "one", 0);
    make_rank(&m[1], SD_MAKER_REAL + 7 * MS, "two", 1);
    make_rank(&m[2], SD_MAKER_REAL - 5 * MS, "one", 2); /* the process of the first */
    for (int i = 0; i < 3; i++) {
        left[i] = sd_maker_load(&m[i], NULL);
        right[i] = sd_maker_load(&m[i], NULL);
    }
    CHECK(sd_profile_merge(left[0], left[1]) == 0);
    CHECK(sd_profile_merge(left[0], left[2]) == 0);
    CHECK(sd_profile_merge(right[1], right[2]) == 0);
    CHECK(sd_profile_merge(right[0], right[1]) == 0);
    check_same(left[0], right[0]);
    CHECK(left[0]->n_tracks == 2 && left[0]->n_span_events == 60);
    CHECK(left[0]->real_zero_ns == SD_MAKER_REAL - 5 * MS);
    CHECK(sd_maker_total(left[0], "even")->count == 40);
    CHECK(sd_maker_total(left[0], "odd")->first_ns == 12 * MS);
    CHECK(left[0]->n_notes == 3);
    for (int i = 0; i < 3; i++) {
        sd_profile_free(left[i]);
        sd_profile_free(right[i]);
        sd_maker_release(&m[i]);
    }
}

/* --- Merged files */

static void add_to(struct sd_capture_merge *to, const struct sd_maker *m, bool is_new)
{
    struct sd_reader *r;
    bool was_new;

    CHECK(sd_reader_open_bytes(m->file.p, m->file.n, &r) == 0);
    CHECK(sd_capture_merge_add(to, r, &was_new) == 0 && was_new == is_new);
    sd_reader_free(r);
}

/* Every capture of a file, added to another. */
static void add_all(struct sd_capture_merge *to, const char *path)
{
    uint64_t at = 0;

    do {
        struct sd_reader *r;
        bool is_new;

        CHECK(sd_reader_open_at(path, at, &r) == 0);
        CHECK(!sd_reader_complaint(r));
        CHECK(sd_capture_merge_add(to, r, &is_new) == 0 && is_new);
        at = sd_reader_next_at(r);
        sd_reader_free(r);
    } while (at);
}

static void make_ranks(struct sd_maker m[3])
{
    make_rank(&m[0], SD_MAKER_REAL, "one", 0);
    make_rank(&m[1], SD_MAKER_REAL + 7 * MS, "two", 1);
    make_rank(&m[2], SD_MAKER_REAL - 5 * MS, "one", 2); /* the process of the first */
}

static void save_merged(const struct sd_maker *m, size_t n, const char *path)
{
    struct sd_capture_merge *merged;

    CHECK(sd_capture_merge_create(path, SD_CREATE_NEW, &merged) == 0);
    for (size_t i = 0; i < n; i++)
        add_to(merged, &m[i], true);
    add_to(merged, &m[0], false);
    CHECK(sd_capture_merge_finish(merged) == 0);
}

static struct sd_profile *merge_made(const struct sd_maker m[3])
{
    struct sd_profile *all = sd_maker_load(&m[0], NULL);

    for (int i = 1; i < 3; i++) {
        struct sd_profile *more = sd_maker_load(&m[i], NULL);

        CHECK(sd_profile_merge(all, more) == 0);
        sd_profile_free(more);
    }
    return all;
}

/* Each event on the track of its own host, at its time on the clock of all. */
static void check_events_of_ranks(const struct sd_profile *p, const char *path)
{
    uint64_t n_spans = 0, n_two = 0, last_ns = 0;
    struct sd_events *walk;
    struct sd_event e;

    CHECK(sd_events_open(p, path, NULL, &walk) == 0);
    while (sd_events_next(walk, &e) == 1) {
        CHECK(e.track.at < p->n_tracks && p->tracks[e.track.at].number == 50);
        n_spans += e.kind == SD_EVENT_SPAN;
        n_two += strcmp(p->tracks[e.track.at].host, "two") == 0;
        last_ns = e.to_ns > last_ns ? e.to_ns : last_ns;
    }
    CHECK(n_spans == 60 && n_two == 40 && last_ns == p->run_end_ns);
    sd_events_free(walk);
}

TEST(merged_file_is_what_its_captures_are)
{
    char two[32], three[32];
    struct sd_maker m[3];
    struct sd_profile *one_by_one, *all;
    struct sd_capture_merge *merged;

    make_ranks(m);
    one_by_one = merge_made(m);
    sd_maker_name(two);
    sd_maker_name(three);
    save_merged(m, 2, two);
    CHECK(sd_capture_merge_create(three, SD_CREATE_NEW, &merged) == 0);
    add_all(merged, two);
    add_to(merged, &m[2], true);
    CHECK(sd_capture_merge_finish(merged) == 0);
    CHECK(sd_profile_load(three, NULL, &all) == 0);
    check_same(one_by_one, all);
    CHECK(!all->complaint && all->n_captures == 3);
    check_events_of_ranks(all, three);
    sd_profile_free(all);
    sd_profile_free(one_by_one);
    for (int i = 0; i < 3; i++)
        sd_maker_release(&m[i]);
    unlink(two);
    unlink(three);
}

/* A flipped byte hurts no other capture of the file; a cut end is always said. */
TEST(merged_file_is_refused_a_section_only_if_no_capture_has_it)
{
    static const struct {
        const char *section;
        uint64_t n_spans;
    } cases[] = { { "odd", 20 }, { "even", 40 }, { "nothing", 0 } };
    struct sd_maker m[3];
    char path[32];

    make_ranks(m);
    sd_maker_name(path);
    save_merged(m, 3, path);
    for (size_t i = 0; i < 3; i++) {
        struct sd_profile *p;
        int rc = sd_profile_load(
            path, &(struct sd_filter){ .section = cases[i].section }, &p);

        CHECK(rc == (cases[i].n_spans ? 0 : SD_EUSAGE) && (rc == 0) == (p != NULL));
        CHECK(!p || p->n_span_events == cases[i].n_spans);
        sd_profile_free(p);
    }
    for (int i = 0; i < 3; i++)
        sd_maker_release(&m[i]);
    unlink(path);
}

TEST(merged_file_with_damage_says_so)
{
    char path[32];
    struct sd_maker m[3];
    struct sd_profile *p;
    struct sd_map whole;
    uint8_t *bytes;

    make_ranks(m);
    sd_maker_name(path);
    save_merged(m, 3, path);
    CHECK(sd_map_file(&whole, path) == 0);
    bytes = sd_alloc(whole.n);
    for (size_t at = 0; at < whole.n; at += 7) {
        memcpy(bytes, whole.p, whole.n);
        bytes[at] ^= 0x10;
        CHECK(sd_maker_load_bytes(path, bytes, whole.n, &p) == 0);
        CHECK(p->complaint && p->n_captures == 3 && p->n_span_events >= 40);
        sd_profile_free(p);
    }
    for (size_t n = 64; n < whole.n; n++) {
        if (sd_maker_load_bytes(path, whole.p, n, &p) < 0)
            continue; /* not even a chunk: no capture, which is said too */
        CHECK(p->complaint);
        sd_profile_free(p);
    }
    sd_free(bytes);
    sd_map_release(&whole);
    for (int i = 0; i < 3; i++)
        sd_maker_release(&m[i]);
    unlink(path);
}

/* --- Out of memory */

TEST(merge_survives_every_allocation_that_fails)
{
    struct sd_maker a, b;

    make_rank(&a, SD_MAKER_REAL, "one", 1);
    make_rank(&b, SD_MAKER_REAL + MS, "two", 2);
    EACH_FAILURE(nth)
    {
        struct sd_profile *into = NULL, *from = NULL;
        int rc = sd_maker_try(&a, NULL, &into);

        if (rc == 0)
            rc = sd_maker_try(&b, NULL, &from);
        if (rc == 0)
            rc = sd_profile_merge(into, from);
        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_profile_free(into);
        sd_profile_free(from);
    }
    sd_maker_release(&a);
    sd_maker_release(&b);
}
