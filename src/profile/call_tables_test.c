/* SPDX-License-Identifier: MIT */
#include "profile/call_tables.h"

#include <string.h>

#include "base/error.h"
#include "base/matcher_testing.h"
#include "base/mem.h"
#include "base/memory_left.h"
#include "base/test.h"
#include "profile/calls_testing.h"
#include "profile/profile_define.h"

struct table { /* ids of its definitions */
    uint32_t track, main, work, late;
};

/* main calls work 10 times, and once `late`, which is defined behind the cells. */
static void put_table(struct sd_maker *m, uint64_t stream, uint64_t tid,
                      uint32_t inside)
{
    struct table t;
    uint32_t process;
    struct sd_call_cell cells[4];

    sd_maker_defs(m, stream, 1);
    process = sd_maker_track(m, SD_TRACK_PROCESS, 0, 7, NULL);
    t.track = sd_maker_track(m, SD_TRACK_THREAD, process, tid, "MainThread");
    t.main = sd_maker_function(m, "main", "/app/a.py", 1);
    t.work = sd_maker_function(m, "work", "/app/a.py", 5);
    t.late = m->next_id + 2; /* behind its name and file */
    cells[0] = sd_maker_root(t.track, inside, 1);
    cells[1] = (struct sd_call_cell){ .site = t.main, .calls = 1, .ticks = 1000 };
    cells[2] = (struct sd_call_cell){
        .parent = 1, .site = t.work, .calls = 10, .resumes = 4, .ticks = 600
    };
    cells[3] = (struct sd_call_cell){
        .parent = 1, .site = t.late, .calls = 1, .ticks = 50, .awaited = 400
    };
    sd_maker_cells(m, stream, 2, 0, cells, 4);
    sd_maker_defs(m, stream, 3);
    m->next_id = t.late - 2;
    CHECK(sd_maker_function(m, "late", "/app/a.py", 9) == t.late);
    sd_maker_end_chunk(m);
}

static int64_t value_of(const struct sd_profile *p, const char *function,
                        const char *metric)
{
    const struct sd_stack_totals *calls = &p->evidence[SD_CALLS].stacks;
    uint32_t column = sd_totals_metric(p, calls, metric);
    int64_t sum = 0;

    CHECK(column != UINT32_MAX);
    for (size_t i = 0; i < calls->n; i++) {
        uint32_t stack = calls->items[i].stack.at;

        if (strcmp(p->sites[p->stacks[stack].site.at].name, function) == 0)
            sum += calls->values[column][i];
    }
    return sum;
}

/* --- Tests */

TEST(calls_are_loaded_with_their_stacks_and_own_times)
{
    struct sd_maker m;
    struct sd_profile *p;
    uint32_t work;

    sd_maker_begin(&m);
    put_table(&m, 11, 8, 0);
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(p->evidence[SD_CALLS].stacks.n == 3 && !sd_profile_has(p, SD_SAMPLES) &&
          !p->complaint);
    CHECK(value_of(p, "main", "time") == 350 - 11); /* 11 calls cost it 1 each */
    CHECK(value_of(p, "main", "tracing") == 11);
    CHECK(value_of(p, "work", "time") == 600);
    CHECK(value_of(p, "work", "calls") == 10 && value_of(p, "work", "starts") == 6);
    CHECK(value_of(p, "late", "awaited") == 400);
    CHECK(sd_totals_metric(p, &p->evidence[SD_CALLS].stacks, "cpu_time") == UINT32_MAX);
    work = p->evidence[SD_CALLS].stacks.items[1].stack.at;
    CHECK(p->stacks[work].parent.at == p->evidence[SD_CALLS].stacks.items[0].stack.at);
    CHECK(p->tracks[p->evidence[SD_CALLS].stacks.items[1].track.at].number == 8);
    CHECK(strcmp(sd_profile_meta(p, "calls.folded"), "3") == 0);
    sd_profile_free(p);
    sd_maker_release(&m);
}

/* As tables stand in a capture: the first cells come before the first definition. */
TEST(calls_are_loaded_from_tables_whose_cells_come_first)
{
    struct sd_maker m;
    struct sd_profile *p;

    sd_maker_begin(&m);
    for (uint64_t stream = 11; stream < 14; stream++) {
        const struct sd_call_cell cells[] = {
            sd_maker_root(1, 0, 0), { .site = 4, .calls = stream, .ticks = 10 }
        };

        sd_maker_cells(&m, stream, 1, 0, cells, 2);
        sd_maker_chunk(&m, stream, 2);
        m.head.type = SD_CHUNK_DEFS;
        CHECK(sd_maker_track(&m, SD_TRACK_THREAD, 0, stream, NULL) == 1);
        CHECK(sd_maker_function(&m, "f", "a.py", 1) == 4);
        sd_maker_end_chunk(&m);
    }
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(p->evidence[SD_CALLS].stacks.n == 3 && !sd_profile_meta(p, "calls.damaged"));
    CHECK(value_of(p, "f", "calls") == 11 + 12 + 13);
    sd_profile_free(p);
    sd_maker_release(&m);
}

static const struct sd_site *site_named(const struct sd_profile *p, const char *name)
{
    for (size_t i = 0; i < p->n_sites; i++)
        if (strcmp(p->sites[i].name, name) == 0)
            return &p->sites[i];
    return NULL;
}

static void put_signatures(struct sd_maker *m)
{
    struct sd_call_cell cells[3];
    uint32_t track, f, small, large;

    sd_maker_defs(m, 11, 1);
    track = sd_maker_track(m, SD_TRACK_THREAD, 0, 8, NULL);
    f = sd_maker_function(m, "f", "/app/a.py", 1);
    small = sd_maker_signature(m, f, "f", "/app/a.py", 1, "f(x:small)", "x", 10);
    large = sd_maker_signature(m, f, "f", "/app/a.py", 1, "f(x:large)", "x", 1000);
    cells[0] = sd_maker_root(track, 0, 0);
    cells[1] = (struct sd_call_cell){ .site = small, .calls = 3, .ticks = 30 };
    cells[2] = (struct sd_call_cell){ .site = large, .calls = 1, .ticks = 900 };
    sd_maker_cells(m, 11, 2, 0, cells, 3);
}

TEST(calls_of_signatures_are_known_by_their_text_function_and_sizes)
{
    struct sd_maker m;
    struct sd_profile *p, *other;
    const struct sd_site *s;

    sd_maker_begin(&m);
    put_signatures(&m);
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    other = sd_maker_load(&m, NULL);
    CHECK(value_of(p, "f(x:small)", "calls") == 3 && value_of(p, "f", "calls") == 0);
    CHECK(sd_profile_merge(p, other) == 0);
    CHECK(value_of(p, "f(x:large)", "calls") == 2 && p->n_sites == 3);
    sd_profile_free(other);
    s = site_named(p, "f(x:large)");
    CHECK(s && sd_site_is_signature(s) && strcmp(s->path, s->name) == 0);
    CHECK(s->n_sizes == 1 && s->sizes[0].argument == 0 && *s->sizes[0].dims == 1000);
    CHECK(strcmp(s->sizes[0].name, "x") == 0);
    CHECK(strcmp(p->sites[s->parent.at].name, "f") == 0);
    CHECK(!sd_site_is_signature(site_named(p, "f")));
    CHECK(sd_profile_drop_signatures(p) == 0);
    CHECK(value_of(p, "f", "calls") == 8);
    sd_profile_free(p);
    sd_maker_release(&m);
}

/* f(x:small) calls itself as f(x:large), which calls f(x:small) again. */
static void put_pairs_of_signatures(struct sd_maker *m)
{
    struct sd_call_cell root;
    struct sd_pair_cell pairs[5] = { { .callee = { .site = 0 } } };
    uint32_t track, f, small, large;

    sd_maker_defs(m, 11, 1);
    track = sd_maker_track(m, SD_TRACK_THREAD, 0, 8, NULL);
    f = sd_maker_function(m, "f", "/app/a.py", 1);
    small = sd_maker_signature(m, f, "f", "/app/a.py", 1, "f(x:small)", "x", 10);
    large = sd_maker_signature(m, f, "f", "/app/a.py", 1, "f(x:large)", "x", 1000);
    pairs[1] = (struct sd_pair_cell){
        .callee = { .site = small, .calls = 1, .ticks = 100 },
        .primitive = 1,
        .own_ticks = 60,
    };
    pairs[2] = (struct sd_pair_cell){
        .callee = { .site = large, .parent = small, .calls = 1, .ticks = 40 },
        .primitive = 1,
        .own_ticks = 30,
    };
    pairs[3] = (struct sd_pair_cell){
        .callee = { .site = small, .parent = large, .calls = 1 },
        .own_ticks = 10,
        .inner_primitive = 1,
        .inner_ticks = 10,
    };
    root = sd_maker_root(track, 0, 0);
    sd_maker_cells(m, 11, 2, 0, &root, 1);
    sd_maker_pairs(m, 11, 3, 0, pairs, 4);
    pairs[0] = (struct sd_pair_cell){ .callee = { .site = f,
                                                  .calls = 7, /* which cannot be */
                                                  .ticks = 100,
                                                  .next = SD_PAIR_OF_WHOLES },
                                      .own_ticks = 7,
                                      .primitive = 1 };
    pairs[1] = (struct sd_pair_cell){
        .callee = { .site = f, .parent = f, .next = SD_PAIR_OF_WHOLES },
        .inner_primitive = 1,
        .inner_ticks = 40,
    };
    sd_maker_pairs(m, 11, 4, 4, pairs, 2);
}

static int64_t pairs_of(const struct sd_profile *p, const char *callee,
                        enum sd_pair_value value)
{
    int64_t sum = 0;

    for (size_t i = 0; i < p->pairs.n; i++)
        if (strcmp(p->sites[p->pairs.items[i].callee].name, callee) == 0)
            sum += p->pairs.items[i].values[value];
    return sum;
}

TEST(calls_beyond_a_tree_are_those_of_functions_when_signatures_are_dropped)
{
    struct sd_maker m;
    struct sd_profile *p, *other;

    sd_maker_begin(&m);
    put_pairs_of_signatures(&m);
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    other = sd_maker_load(&m, NULL);
    CHECK(p->pairs.n == 3 && p->whole_pairs.n == 2);
    CHECK(pairs_of(p, "f(x:small)", SD_PAIR_CALLS) == 2);
    CHECK(pairs_of(p, "f(x:small)", SD_PAIR_PRIMITIVE) == 1);
    CHECK(pairs_of(p, "f(x:large)", SD_PAIR_PRIMITIVE) == 1);
    CHECK(pairs_of(p, "f", SD_PAIR_PRIMITIVE) == 0);
    CHECK(sd_profile_merge(p, other) == 0);
    CHECK(sd_profile_drop_signatures(p) == 0);
    CHECK(p->pairs.n == 2 && p->whole_pairs.n == 0);
    CHECK(pairs_of(p, "f", SD_PAIR_CALLS) == 2 * 3);
    CHECK(pairs_of(p, "f", SD_PAIR_PRIMITIVE) == 2);
    CHECK(pairs_of(p, "f", SD_PAIR_PRIMITIVE_OF_PAIR) == 2 * 2);
    CHECK(pairs_of(p, "f", SD_PAIR_TIME) == 2 * 100);
    CHECK(pairs_of(p, "f", SD_PAIR_TOTAL) == 2 * 100);
    CHECK(pairs_of(p, "f", SD_PAIR_PAIR_TOTAL) == 2 * 140);
    sd_profile_free(other);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(calls_of_two_threads_share_their_functions)
{
    const struct sd_filter one = { .track = "7/9" };
    struct sd_maker m;
    struct sd_profile *p;

    sd_maker_begin(&m);
    put_table(&m, 11, 8, 0);
    put_table(&m, 12, 9, 0);
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(p->evidence[SD_CALLS].stacks.n == 6 && p->n_stacks == 3 && p->n_sites == 3);
    CHECK(value_of(p, "work", "calls") == 20);
    CHECK(strcmp(sd_profile_meta(p, "calls.folded"), "6") == 0);
    sd_profile_free(p);
    p = sd_maker_load(&m, &one);
    CHECK(p->evidence[SD_CALLS].stacks.n == 3 && value_of(p, "work", "calls") == 10);
    sd_profile_free(p);
    sd_maker_release(&m);
}

/* A window of time says nothing about calls, a function does. */
TEST(calls_pass_a_window_of_time_and_a_function_that_matches)
{
    const struct sd_filter late = { .from_ns = 1000000, .match = SD_MATCHER("work") };
    struct sd_maker m;
    struct sd_profile *p;

    sd_maker_begin(&m);
    put_table(&m, 11, 8, 0);
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, &late);
    CHECK(p->evidence[SD_CALLS].stacks.n == 1 && value_of(p, "work", "calls") == 10);
    sd_profile_free(p);
    sd_maker_release(&m);
}

/* 2.5 ticks to the nanosecond; the second pair stands in another thread's table. */
TEST(calls_in_ticks_are_told_in_nanoseconds)
{
    struct sd_maker m;
    struct sd_profile *p;

    sd_maker_begin(&m);
    sd_maker_defs(&m, 11, 1);
    sd_maker_clock(&m, 1000, SD_MAKER_MONO);
    {
        uint32_t track = sd_maker_track(&m, SD_TRACK_THREAD, 0, 8, NULL);
        uint32_t f = sd_maker_function(&m, "f", "a.py", 1);
        struct sd_call_cell cells[] = {
            sd_maker_root(track, 0, 0),
            { .site = f, .calls = 1, .ticks = 5000, .cpu_ns = 70 }
        };

        sd_maker_cells(&m, 11, 2, 0, cells, 2);
    }
    sd_maker_defs(&m, 12, 1);
    sd_maker_clock(&m, 1000 + 2500, SD_MAKER_MONO + 1000);
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(value_of(p, "f", "time") == 2000);
    CHECK(value_of(p, "f", "cpu_time") == 70);
    sd_profile_free(p);
    sd_maker_release(&m);
}

/* A ring of parents, a parent behind its child, one that is not there. */
TEST(calls_that_cannot_be_are_kept_apart_and_counted)
{
    struct sd_maker m;
    struct sd_profile *p;
    uint32_t f, track;

    sd_maker_begin(&m);
    sd_maker_defs(&m, 11, 1);
    track = sd_maker_track(&m, SD_TRACK_THREAD, 0, 8, NULL);
    f = sd_maker_function(&m, "f", "a.py", 1);
    {
        struct sd_call_cell cells[] = { sd_maker_root(track, 0, 0),
                                        { .site = f, .calls = 1, .ticks = 10 },
                                        { .parent = 2, .site = f, .calls = 1 },
                                        { .parent = 4, .site = f, .calls = 1 },
                                        { .parent = 9999, .site = 777, .calls = 1 } };

        sd_maker_cells(&m, 11, 2, 0, cells, 5);
        sd_maker_cells(&m, 11, 3, 2, cells, 5); /* again, and in the way of the first */
    }
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(strcmp(sd_profile_meta(p, "calls.damaged"), "4") == 0);
    CHECK(value_of(p, "f", "calls") == 3 && value_of(p, "[lost name]", "calls") == 1);
    sd_profile_free(p);
    sd_maker_release(&m);
}

/* The root's chunk is lost: what it called is there all the same. */
TEST(calls_without_their_root_are_on_a_lost_track)
{
    struct sd_maker m;
    struct sd_profile *p;
    uint32_t f;

    sd_maker_begin(&m);
    sd_maker_defs(&m, 11, 1);
    f = sd_maker_function(&m, "f", "a.py", 1);
    {
        struct sd_call_cell cells[] = { { .parent = 0, .site = f, .calls = 2 },
                                        { .parent = 40, .site = f, .calls = 5 } };

        sd_maker_cells(&m, 11, 2, 40, cells, 2);
    }
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(p->evidence[SD_CALLS].stacks.n == 2 && value_of(p, "f", "calls") == 7);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(calls_of_several_captures_add_up)
{
    struct sd_maker m;
    struct sd_profile *p, *more;

    sd_maker_begin(&m);
    put_table(&m, 11, 8, 0);
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    more = sd_maker_load(&m, NULL);
    CHECK(sd_profile_merge(p, more) == 0);
    CHECK(p->evidence[SD_CALLS].stacks.n == 3 && value_of(p, "work", "calls") == 20);
    CHECK(strcmp(sd_profile_meta(p, "calls.folded"), "6") == 0);
    sd_profile_free(more);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(calls_that_find_no_memory_are_not_loaded)
{
    struct sd_maker m;
    struct sd_profile *p;
    int rc;

    sd_maker_begin(&m);
    put_table(&m, 11, 8, 0);
    sd_maker_end(&m, 0);
    EACH_FAILURE(nth)
    {
        rc = sd_maker_try(&m, NULL, &p);
        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_profile_free(p);
    }
    sd_maker_release(&m);
}

/* --- More than fits */

enum { BOMB_CHUNKS = 100 };
enum { CELLS_MAX = (SD_CHUNK_RAW_MAX - SD_SEGMENT_HEAD) / sizeof(struct sd_call_cell) };

/* A chunk full of cells that are all alike, which take next to nothing on disk. */
static void put_alike(struct sd_maker *m, struct sd_squeezer *s, uint32_t seq)
{
    uint32_t n = CELLS_MAX * (uint32_t)sizeof(struct sd_call_cell);
    struct sd_segment *segment = sd_zalloc(sizeof *segment + n);
    struct sd_call_cell *cells = (void *)(segment + 1);
    const void *payload;

    *segment = (struct sd_segment){ .magic = SD_SEGMENT_MAGIC,
                                    .type = SD_CHUNK_CELLS,
                                    .kind = SD_CELLS_CALLS,
                                    .cell_bytes = sizeof *cells,
                                    .used = n,
                                    .first = (uint64_t)(seq - 2) * CELLS_MAX };
    for (uint32_t i = seq == 2; i < CELLS_MAX; i++)
        cells[i] = (struct sd_call_cell){ .site = 2, .calls = 1 };
    sd_maker_end_chunk(m);
    m->head = (struct sd_chunk_head){ .magic = SD_CHUNK_MAGIC,
                                      .salt = SD_MAKER_SALT,
                                      .type = SD_CHUNK_CELLS,
                                      .stream = 9,
                                      .seq = seq };
    payload = sd_squeeze(s, 3, segment, (uint32_t)sizeof *segment + n, &m->head);
    m->head.crc = sd_chunk_sum(&m->head, payload);
    sd_buf_add(&m->file, &m->head, sizeof m->head);
    sd_buf_add(&m->file, payload, m->head.stored_len);
    m->head = (struct sd_chunk_head){ 0 };
    m->n_chunks++;
    sd_free(segment);
}

/* Of a small file only so many cells are read as its size allows; the calls that the
 * others count are counted. */
TEST(call_tables_of_a_small_file_with_very_many_cells_take_little)
{
    struct sd_squeezer squeezer = { 0 };
    struct sd_profile *p;
    struct sd_maker m;
    uint64_t counted = 0;

    sd_maker_begin(&m);
    sd_maker_defs(&m, 9, 1);
    CHECK(sd_maker_function(&m, "f", NULL, 1) == 2);
    for (uint32_t i = 0; i < BOMB_CHUNKS; i++)
        put_alike(&m, &squeezer, i + 2);
    sd_maker_end(&m, 0);
    CHECK(m.file.n < 100000);
    p = sd_maker_load(&m, NULL);
    CHECK(p->index->limit_bytes ==
          SD_PROFILE_LEAST_BYTES + SD_PROFILE_TIMES * p->health.stored_bytes);
    for (size_t i = 0; i < p->evidence[SD_CALLS].stacks.n; i++)
        counted += (uint64_t)p->evidence[SD_CALLS].stacks.values[sd_totals_metric(
            p, &p->evidence[SD_CALLS].stacks, "calls")][i];
    CHECK(counted > 0 && p->index->n_calls_refused > counted);
    CHECK(counted + p->index->n_calls_refused == BOMB_CHUNKS * CELLS_MAX - 1);
    CHECK(p->complaint && strstr(p->complaint, "did not fit into memory"));
    CHECK(strstr(p->complaint, " traced calls"));
    sd_profile_free(p);
    sd_maker_release(&m);
    sd_squeezer_release(&squeezer);
}

enum { SIDE = 40, MANY_PAIRS = SIDE * SIDE }; /* functions, each of which calls each */

static void put_many_pairs(struct sd_maker *m)
{
    struct sd_call_cell root = sd_maker_root(0, 0, 0);
    struct sd_pair_cell pairs[16] = { { .callee = { .site = 0 } } };
    uint32_t first = 0, seq = 3, n = 1, number = 0;

    sd_maker_defs(m, 9, 1);
    for (uint32_t i = 0; i < SIDE; i++) {
        uint32_t site = sd_maker_function(m, "f", NULL, i + 1);

        first = first ? first : site;
    }
    sd_maker_cells(m, 9, 2, 0, &root, 1);
    for (uint32_t i = 0; i < MANY_PAIRS; i++) {
        pairs[n++] =
            (struct sd_pair_cell){ .callee = { .parent = first + 2 * (i % SIDE),
                                               .site = first + 2 * (i / SIDE),
                                               .calls = 3 },
                                   .primitive = 3 };
        if (n < 16 && i + 1 < MANY_PAIRS)
            continue;
        sd_maker_pairs(m, 9, seq++, number, pairs, n);
        number += n;
        n = 0;
    }
}

/* Whatever little memory there is: calls are in the profile or told as left out. */
TEST(pairs_that_do_not_fit_into_memory_are_counted_with_their_calls)
{
    bool has_some = false;
    struct sd_maker m;

    sd_maker_begin(&m);
    put_many_pairs(&m);
    sd_maker_end(&m, 0);
    for (uint64_t left = 1 << 18; left < 8 << 20; left += left / 8) {
        struct sd_profile *p;
        uint64_t counted, refused;

        sd_memory_left_pretend(left);
        p = sd_maker_load(&m, NULL);
        counted = (uint64_t)sd_pair_totals_sum(&p->pairs, SD_PAIR_CALLS);
        refused = p->index->n_calls_refused;
        CHECK(counted + refused == 3 * MANY_PAIRS);
        CHECK(!refused || strstr(p->complaint, " traced calls"));
        has_some |= refused && p->index->n_cells_refused == 0;
        sd_profile_free(p);
    }
    sd_memory_left_pretend(0);
    CHECK(has_some); /* gathered, and no room for what was made of them */
    sd_maker_release(&m);
}
