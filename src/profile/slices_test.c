/* SPDX-License-Identifier: MIT */
#include "profile/slices.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "profile/profile_define.h"
#include "profile/profile_testing.h"
#include "profile/slice_sums.h"

enum { N_THREADS = 3, N_STACKS = 12, N_SAMPLES = 1500, N_A_CHUNK = 100 };
#define MS ((uint64_t)1000000)

/* Deterministic, and the same everywhere. */
static uint64_t draw(uint64_t *seed, uint64_t below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (*seed >> 33) % below;
}

struct ids {
    uint32_t threads[N_THREADS], stacks[N_STACKS], sections[3], shape;
};

static struct ids define(struct sd_maker *m)
{
    uint32_t process = sd_maker_track(m, SD_TRACK_PROCESS, 0, 7, "python");
    uint32_t below = 0;
    struct ids i;

    for (uint32_t k = 0; k < N_THREADS; k++)
        i.threads[k] = sd_maker_track(m, SD_TRACK_THREAD, process, 7 + k, "worker");
    for (uint32_t k = 0; k < N_STACKS; k++) {
        uint32_t site = sd_maker_function(m, "f", "/x/app.py", 10 * k + 1);

        i.stacks[k] = sd_maker_stack(m, below, site, 10 * k + 2);
        below = k % 4 == 3 ? 0 : i.stacks[k];
    }
    i.sections[0] = sd_maker_site(m, 0, "load");
    i.sections[1] = sd_maker_site(m, 0, "train");
    i.sections[2] = sd_maker_site(m, i.sections[1], "step");
    i.shape = sd_maker_sample_shape(m);
    return i;
}

/* Samples of five seconds, in which sections are open here and there: "train:step" very
 * often, and for a few microseconds. */
static void make_later(struct sd_maker *m, uint64_t later_ns, uint64_t seed,
                       uint64_t lasts_ns)
{
    static const uint16_t flags[] = { 0, SD_SAMPLE_GIL, SD_SAMPLE_IDLE };
    struct ids i = { 0 };

    sd_maker_begin_at(m, SD_MAKER_REAL + later_ns);
    for (uint32_t k = 0; k < N_SAMPLES; k++) {
        uint64_t at = lasts_ns / N_SAMPLES * k + draw(&seed, lasts_ns / N_SAMPLES);
        uint32_t section = (uint32_t)draw(&seed, 8);

        if (k % N_A_CHUNK == 0) {
            sd_maker_chunk(m, 1, k / N_A_CHUNK + 1);
            i = define(m);
        }
        sd_maker_sample(m, i.threads[draw(&seed, N_THREADS)],
                        i.stacks[draw(&seed, N_STACKS)], flags[draw(&seed, 3)], at,
                        i.shape, 1 + (int64_t)draw(&seed, 3));
        if (section < 3)
            sd_maker_span(m, i.sections[section], i.threads[draw(&seed, N_THREADS)],
                          k + 1, at - draw(&seed, at / 8 + 1),
                          at + draw(&seed, section == 2 ? 5000 : lasts_ns / 20));
    }
    sd_maker_end(m, 0);
}

static void make(struct sd_maker *m, uint64_t seed, uint64_t lasts_ns)
{
    make_later(m, 0, seed, lasts_ns);
}

static int load_slices(struct sd_slices *s, const struct sd_profile *p,
                       const struct sd_maker *m)
{
    const char *path = m->path;

    return sd_slices_load(s, p, &path, 1, NULL);
}

static uint32_t number_of_section(const struct sd_slices *s, const char *path)
{
    return sd_intern_find(&s->sets.paths, path, strlen(path));
}

/* Does a part in the place of the whole equal a profile that is loaded with the filter,
 * and is the whole there again afterwards? */
static void check_part(struct sd_profile *all, const struct sd_slices *s,
                       const struct sd_filter *f, const struct sd_profile *part)
{
    struct sd_stack_totals *t = &all->evidence[SD_SAMPLES].stacks;
    const struct sd_stack_totals *wanted = &part->evidence[SD_SAMPLES].stacks;
    const int64_t *whole = t->values[0];
    struct sd_slice_sums sums;
    int64_t a = 0, b = 0;

    CHECK(sd_slices_tell(s, f));
    CHECK(sd_slice_sums_init(&sums, all, s, f) == 0);
    for (size_t i = 0; i < t->n; i++)
        a += t->values[0][i];
    for (size_t i = 0; i < wanted->n; i++)
        b += wanted->values[0][i];
    CHECK(a == b && t->n == wanted->n && t->values[0] != whole);
    sd_slice_sums_release(&sums);
    CHECK(t->values[0] == whole);
}

/* Are the sums of a choice those of a profile that is loaded with it? */
static void check_choice(const struct sd_maker *m, struct sd_profile *all,
                         const struct sd_slices *s, struct sd_slice_choice choice,
                         const char *section)
{
    const struct sd_filter filter = { .from_ns = choice.from * s->slice_ns,
                                      .to_ns =
                                          (choice.to + (uint64_t)1) * s->slice_ns - 1,
                                      .section = section };
    struct sd_profile *part = sd_maker_load(m, &filter);
    const struct sd_stack_totals *t = &part->evidence[SD_SAMPLES].stacks;
    size_t n = all->evidence[SD_SAMPLES].stacks.n;
    int64_t *sums = sd_zalloc((n + 1) * sizeof *sums);

    CHECK(part->n_stacks == all->n_stacks && sums);
    choice.section = section ? number_of_section(s, section) : UINT32_MAX;
    for (uint32_t k = 0; k < s->n_metrics; k++) {
        memset(sums, 0, n * sizeof *sums);
        sd_slices_sum(s, &choice, k, sums);
        for (size_t i = 0; i < t->n; i++) {
            const struct sd_triple which = { t->items[i].stack.at, t->items[i].track.at,
                                             t->items[i].flags };
            uint32_t at = sd_triples_find(&all->index->places[SD_SAMPLES], which);

            CHECK(at < n && sums[at] == t->values[k][i]);
            sums[at] = 0;
        }
        for (size_t i = 0; i < n; i++) /* and nothing else */
            CHECK(sums[i] == 0);
    }
    sd_free(sums);
    check_part(all, s, &filter, part);
    sd_profile_free(part);
}

static void check_random_choices(uint64_t seed, uint64_t lasts_ns)
{
    static const char *const sections[] = { NULL, "load", "train", "train:step" };
    struct sd_maker m;
    struct sd_profile *all;
    struct sd_slices s;

    make(&m, seed, lasts_ns);
    CHECK(sd_profile_load(sd_maker_save(&m), NULL, &all) == 0);
    CHECK(load_slices(&s, all, &m) == 0);
    CHECK(s.n > 0 && !s.sets.is_cut);
    for (uint32_t k = 0; k < 24; k++) {
        uint32_t n_slices = (uint32_t)(lasts_ns / s.slice_ns) + 1;
        uint32_t from = (uint32_t)draw(&seed, n_slices);
        uint32_t to = from + (uint32_t)draw(&seed, n_slices - from);

        check_choice(&m, all, &s, (struct sd_slice_choice){ from, to, 0 },
                     sections[k % 4]);
    }
    sd_slices_release(&s);
    sd_profile_free(all);
    sd_maker_release(&m);
}

TEST(slices_add_up_to_what_a_filter_of_time_and_section_leaves)
{
    for (uint64_t seed = 1; seed <= 4; seed++)
        check_random_choices(seed, 5000 * MS);
}

static int64_t total(const struct sd_profile *p)
{
    const struct sd_stack_totals *t = &p->evidence[SD_SAMPLES].stacks;
    int64_t sum = 0;

    for (size_t i = 0; i < t->n; i++)
        sum += t->values[0][i];
    return sum;
}

/* Two captures in two files, the second of which is later and has other stacks, too. */
TEST(slices_of_several_captures_have_the_time_of_each)
{
    struct sd_maker m[2];
    struct sd_profile *all = NULL, *part = NULL, *more;
    const char *paths[3];
    struct sd_slice_choice choice;
    struct sd_slices s;
    int64_t sums[256] = { 0 };

    for (int i = 0; i < 2; i++) {
        make_later(&m[i], (uint64_t)i * 250 * MS, 5 + (uint64_t)i,
                   (i ? 300 : 250) * MS);
        paths[i] = sd_maker_save(&m[i]);
    }
    CHECK(sd_profile_load(paths[0], NULL, &all) == 0);
    CHECK(sd_profile_load(paths[1], NULL, &more) == 0);
    CHECK(sd_profile_merge(all, more) == 0);
    sd_profile_free(more);
    paths[2] = paths[0];
    CHECK(sd_slices_load(&s, all, paths, 3, NULL) == 0); /* one of them twice */
    CHECK(all->evidence[SD_SAMPLES].stacks.n < 256);
    choice = (struct sd_slice_choice){ (uint32_t)(100 * MS / s.slice_ns),
                                       (uint32_t)(199 * MS / s.slice_ns),
                                       number_of_section(&s, "train") };
    for (int i = 0; i < 2; i++) {
        const struct sd_filter filter = {
            .from_ns = choice.from * s.slice_ns,
            .to_ns = (choice.to + (uint64_t)1) * s.slice_ns - 1,
            .section = "train"
        };

        CHECK(sd_profile_load(paths[i], &filter, &more) == 0);
        CHECK(!part || sd_profile_merge(part, more) == 0);
        if (part)
            sd_profile_free(more);
        else
            part = more;
    }
    sd_slices_sum(&s, &choice, 0, sums);
    CHECK(total(part) > 0);
    for (size_t i = 1; i < 256; i++)
        sums[0] += sums[i];
    CHECK(sums[0] == total(part));
    sd_slices_release(&s);
    sd_profile_free(part);
    sd_profile_free(all);
    for (int i = 0; i < 2; i++)
        sd_maker_release(&m[i]);
}

#ifdef SD_TINY
TEST(sets_of_sections_beyond_the_bound_are_told_as_the_empty_one)
{
    struct sd_maker m;
    struct sd_profile *p;
    struct sd_slices s;
    struct ids i;
    int64_t sums[1] = { 0 };

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    i = define(&m);
    for (uint32_t k = 0; k < 40; k++) { /* each is open until all end */
        char name[8];

        snprintf(name, sizeof name, "s%u", k);
        sd_maker_span(&m, sd_maker_site(&m, 0, name), i.threads[0], k + 1, k * MS,
                      100 * MS);
        sd_maker_sample(&m, i.threads[0], i.stacks[0], 0, k * MS, i.shape, 1);
    }
    sd_maker_end(&m, 0);
    CHECK(sd_profile_load(sd_maker_save(&m), NULL, &p) == 0);
    CHECK(load_slices(&s, p, &m) == 0);
    CHECK(s.sets.is_cut && s.sets.sets.n > 2 && s.sets.sets.n < 40);
    sd_slices_sum(&s, &(struct sd_slice_choice){ 0, UINT32_MAX, UINT32_MAX }, 0, sums);
    CHECK(sums[0] == 40);
    sd_slices_release(&s);
    sd_profile_free(p);
    sd_maker_release(&m);
}
#endif

TEST(slices_are_exact_of_a_section_that_is_opened_100000_times)
{
    enum { N = 100000, N_OF_CHUNK = 500 };
    struct sd_maker m;
    struct sd_profile *p, *part;
    struct sd_slices s;
    struct ids i = { 0 };
    int64_t sums[1] = { 0 };

    sd_maker_begin(&m);
    for (uint32_t k = 0; k < N; k++) { /* a sample inside, and one behind */
        uint64_t at = k * 2 * MS;

        if (k % N_OF_CHUNK == 0) {
            sd_maker_chunk(&m, 1, k / N_OF_CHUNK + 1);
            i = define(&m);
        }
        sd_maker_span(&m, i.sections[0], i.threads[0], k + 1, at, at + MS);
        if (k % 50 == 0) {
            sd_maker_sample(&m, i.threads[0], i.stacks[0], 0, at + MS, i.shape, 1);
            sd_maker_sample(&m, i.threads[0], i.stacks[0], 0, at + MS + 1, i.shape, 1);
        }
    }
    sd_maker_end(&m, 0);
    CHECK(sd_profile_load(sd_maker_save(&m), NULL, &p) == 0);
    part = sd_maker_load(&m, &(struct sd_filter){ .section = "load" });
    CHECK(part->evidence[SD_SAMPLES].stacks.values[0][0] == N / 50);
    CHECK(load_slices(&s, p, &m) == 0);
    sd_slices_sum(&s, &(struct sd_slice_choice){ 0, UINT32_MAX, 0 }, 0, sums);
    CHECK(sums[0] == N / 50);
    sd_slices_release(&s);
    sd_profile_free(part);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(slices_become_longer_when_there_are_too_many)
{
    struct sd_maker m;
    struct sd_profile *p;
    struct sd_slices s;
    struct ids i;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    i = define(&m);
    for (uint32_t k = 0; k < 300; k++)
        sd_maker_sample(&m, i.threads[0], i.stacks[k % 2], 0, k * 10 * MS, i.shape, 1);
    sd_maker_sample(&m, i.threads[0], i.stacks[0], 0, (uint64_t)1 << 60, i.shape, 1);
    sd_maker_end(&m, 0);
    CHECK(sd_profile_load(sd_maker_save(&m), NULL, &p) == 0);
    CHECK(load_slices(&s, p, &m) == 0);
    CHECK(s.slice_ns >= SD_SLICE_NS && s.slice_ns % SD_SLICE_NS == 0);
    CHECK(s.n <= SD_SLICES_MAX && s.n_metrics == 3);
    for (uint32_t k = 0; k < s.n_metrics; k++) {
        int64_t sums[2] = { 0 }, more = 0;

        sd_slices_sum(&s, &(struct sd_slice_choice){ 0, UINT32_MAX, UINT32_MAX }, k,
                      sums);
        for (size_t t = 0; t < 2; t++)
            more += sums[t] - p->evidence[SD_SAMPLES].stacks.values[k][t];
        CHECK(more == 0 && sums[0] > 0 && sums[1] > 0);
    }
    sd_slices_release(&s);
    sd_profile_free(p);
    sd_maker_release(&m);
}

/* Loads it with slices, which take the file's place; NULL: a failed allocation. */
static struct sd_profile *load_gathering(const struct sd_maker *m)
{
    struct sd_reader *r = NULL;
    struct sd_profile *p = NULL;
    bool is_unmatched;
    int rc = sd_reader_open(m->path, &r);

    if (rc == 0)
        rc = sd_profile_load_one_of(r, NULL, SD_LOAD_SLICES, &p, &is_unmatched);
    CHECK(rc == 0 || rc == SD_ENOMEM);
    sd_reader_free(r);
    return p;
}

/* Samples of two threads and many stacks, in chunks, without any section. */
static void make_plain(struct sd_maker *m, uint32_t n, uint64_t every_ns)
{
    uint64_t seed = 3;
    struct ids i = { 0 };

    sd_maker_begin(m);
    for (uint32_t k = 0; k < n; k++) {
        if (k % N_A_CHUNK == 0) {
            sd_maker_chunk(m, 1, k / N_A_CHUNK + 1);
            i = define(m);
        }
        sd_maker_sample(m, i.threads[draw(&seed, 2)], i.stacks[draw(&seed, N_STACKS)],
                        0, k * every_ns, i.shape, 1 + (int64_t)draw(&seed, 3));
    }
    sd_maker_end(m, 0);
    CHECK(sd_maker_save(m));
}

TEST(slices_gathered_while_loading_equal_those_of_a_second_reading)
{
    for (uint32_t k = 0; k < 2; k++) {
        struct sd_maker m;
        struct sd_slices a, b;
        struct sd_profile *p;

        make_plain(&m, 2000, k ? 30 * MS : MS / 8);
        p = load_gathering(&m);
        CHECK(p->index->slices && load_slices(&a, p, &m) == 0);
        CHECK(!p->index->slices && load_slices(&b, p, &m) == 0);
        CHECK(a.n == b.n && a.n > 0 && a.slice_ns == b.slice_ns &&
              a.n_metrics == b.n_metrics && a.n_metrics == 3);
        CHECK(memcmp(a.entries, b.entries, a.n * sizeof *a.entries) == 0);
        for (uint32_t c = 0; c < a.n_metrics; c++)
            CHECK(memcmp(a.values[c], b.values[c], a.n * sizeof *a.values[c]) == 0);
        CHECK(a.sets.sets.n == b.sets.sets.n);
        sd_slices_release(&a);
        sd_slices_release(&b);
        sd_profile_free(p);
        sd_maker_release(&m);
    }
}

TEST(slices_are_not_gathered_where_there_are_sections_or_several_captures)
{
    struct sd_maker m;
    struct sd_profile *p, *more;

    make(&m, 7, 50 * MS);
    CHECK(sd_maker_save(&m));
    p = load_gathering(&m);
    CHECK(!p->index->slices);
    sd_profile_free(p);
    sd_maker_release(&m);
    make_plain(&m, 50, MS);
    p = load_gathering(&m);
    more = load_gathering(&m);
    CHECK(p->index->slices && sd_profile_merge(p, more) == 0 && !p->index->slices);
    sd_profile_free(more);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(slices_gathered_while_loading_survive_every_failed_allocation)
{
    struct sd_maker m;
    struct sd_profile *p = NULL;

    make_plain(&m, 300, MS);
    for (size_t nth = 1; !p && nth < 5000; nth++) {
        sd_mem_fail_at(nth, false);
        p = load_gathering(&m);
        sd_mem_fail_at(0, false);
    }
    CHECK(p && p->index->slices);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(slices_of_a_capture_without_samples_are_none)
{
    struct sd_maker m;
    struct sd_profile *p;
    struct sd_slices s;

    sd_maker_begin(&m);
    sd_maker_end(&m, 0);
    CHECK(sd_profile_load(sd_maker_save(&m), NULL, &p) == 0);
    CHECK(load_slices(&s, p, &m) == 0);
    CHECK(s.n == 0 && s.sets.sets.n == 1 && s.sets.paths.n == 0);
    sd_slices_release(&s);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(slices_survive_every_failed_allocation)
{
    struct sd_maker m;
    struct sd_profile *p;
    struct sd_slices s;
    int rc = SD_ENOMEM;

    make(&m, 7, 50 * MS);
    CHECK(sd_profile_load(sd_maker_save(&m), NULL, &p) == 0);
    for (size_t nth = 1; rc == SD_ENOMEM && nth < 5000; nth++) {
        sd_mem_fail_at(nth, false);
        rc = load_slices(&s, p, &m);
        sd_mem_fail_at(0, false);
        CHECK(rc == 0 || rc == SD_ENOMEM);
    }
    CHECK(rc == 0);
    sd_slices_release(&s);
    sd_profile_free(p);
    sd_maker_release(&m);
}
