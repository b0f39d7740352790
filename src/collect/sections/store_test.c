/* SPDX-License-Identifier: MIT */
#include "collect/sections/store.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"

static const struct sd_path_step *
step(struct sd_store *s, const struct sd_path_step *parent, const char *name)
{
    return sd_store_step(s, parent, name, (uint32_t)strlen(name));
}

static bool has_path(const struct sd_store *s, uint32_t entry, const char *path)
{
    return s->entries[entry].n == strlen(path) && !strcmp(s->entries[entry].path, path);
}

TEST(store_joins_names_and_gives_the_same_step_again)
{
    struct sd_store s;
    const struct sd_path_step *outer, *inner;

    sd_store_init(&s, SD_MEASURE_ALL);
    outer = step(&s, NULL, "outer");
    inner = step(&s, outer, "inner");
    CHECK(outer && inner && inner->parent == outer);
    CHECK(has_path(&s, inner->entry, "outer:inner"));
    CHECK(step(&s, outer, "inner") == inner);
    CHECK(step(&s, NULL, "inner") != inner);
    CHECK(s.n_steps == 3 && s.n_entries == 3);
    sd_store_release(&s);
}

TEST(store_knows_a_path_however_it_was_opened)
{
    struct sd_store s;
    const struct sd_path_step *two, *one;

    sd_store_init(&s, SD_MEASURE_TIME);
    two = step(&s, step(&s, NULL, "a"), "b");
    one = step(&s, NULL, "a:b");
    CHECK(two != one && two->entry == one->entry);
    CHECK(sd_store_find(&s, "a:b", 3) == one->entry);
    CHECK(sd_store_find(&s, "a:", 2) == SD_STORE_NONE);
    sd_store_release(&s);
}

TEST(store_keeps_names_with_any_bytes)
{
    struct sd_store s;
    const struct sd_path_step *nothing, *zeros;

    sd_store_init(&s, SD_MEASURE_TIME);
    nothing = sd_store_step(&s, NULL, "", 0);
    zeros = sd_store_step(&s, nothing, "\0\xff\0", 3);
    CHECK(nothing && zeros);
    CHECK(s.entries[zeros->entry].n == 4);
    CHECK(!memcmp(s.entries[zeros->entry].path, ":\0\xff\0", 4));
    sd_store_release(&s);
}

TEST(store_names_what_is_too_deep_at_its_limit)
{
    struct sd_store s;
    const struct sd_path_step *at = NULL;

    sd_store_init(&s, SD_MEASURE_TIME);
    for (int i = 0; i < SD_STORE_DEPTH + 50; i++) {
        at = step(&s, at, "f");
        CHECK(at && at->name.depth <= SD_STORE_DEPTH);
    }
    CHECK(s.n_steps == SD_STORE_DEPTH);
    sd_store_release(&s);
}

TEST(store_links_the_rows_of_one_name_and_never_moves_them)
{
    enum { N = 5000 };
    struct sd_store s;
    uint32_t entry[2], at;
    const struct sd_row *first;

    sd_store_init(&s, SD_MEASURE_TIME);
    entry[0] = step(&s, NULL, "even")->entry;
    entry[1] = step(&s, NULL, "odd")->entry;
    for (uint32_t i = 0; i < N; i++) {
        CHECK(sd_store_open(&s, entry[i % 2], SD_KIND_CPU, SD_SIZE_MB, &at) == 0);
        CHECK(at == i);
        sd_store_set(&s, sd_store_row(&s, at), SD_FIELD_START, (int64_t)i);
    }
    first = sd_store_row(&s, 0);
    CHECK(first->kind == SD_KIND_CPU && first->unit == SD_SIZE_MB);
    CHECK(first->flags == SD_ROW_OPEN && first->prev == SD_STORE_NONE);
    CHECK(s.n_named == 2 && s.entries[entry[1]].count == N / 2);
    at = s.entries[entry[1]].last;
    for (int64_t i = N - 1; i > 0; i -= 2, at = sd_store_row(&s, at)->prev)
        CHECK(sd_store_get(&s, sd_store_row(&s, at), SD_FIELD_START) == i);
    CHECK(at == SD_STORE_NONE);
    sd_store_release(&s);
}

TEST(store_holds_only_what_is_measured)
{
    struct sd_store s;
    uint32_t at;

    sd_store_init(&s, SD_MEASURE_IO);
    CHECK(s.row_bytes == sizeof(struct sd_row) + 2 * sizeof(int64_t));
    CHECK(sd_store_open(&s, step(&s, NULL, "x")->entry, 0, 0, &at) == 0);
    sd_store_set(&s, sd_store_row(&s, at), SD_FIELD_PEAK, 7);
    sd_store_set(&s, sd_store_row(&s, at), SD_FIELD_WRITTEN, 8);
    CHECK(sd_store_get(&s, sd_store_row(&s, at), SD_FIELD_PEAK) == SD_VALUE_NONE);
    CHECK(sd_store_get(&s, sd_store_row(&s, at), SD_FIELD_READ) == SD_VALUE_NONE);
    CHECK(sd_store_get(&s, sd_store_row(&s, at), SD_FIELD_WRITTEN) == 8);
    sd_store_release(&s);
}

/* A section as it comes from measuring, all figures known. */
static struct sd_section measured(void)
{
    struct sd_section m = { .peak_bytes = 900, .forks = sd_session_forks() };

    m.start = (struct sd_reading){ 1000, 10, 20, 100, 200, 1, 2, 3, 4, -1 };
    m.end = (struct sd_reading){ 5000, 15, 27, 150, 260, 11, 22, 33, 44, 77 };
    return m;
}

TEST(store_takes_over_a_section)
{
    static const int64_t wanted[SD_N_FIELDS] = { 1700, 5700, 200, 260, 100, 150,
                                                 900,  77,   10,  20,  30,  40 };
    struct sd_section m = measured();
    struct sd_store s;
    uint32_t at;

    sd_store_init(&s, SD_MEASURE_ALL | SD_MEASURE_PSS);
    CHECK(sd_store_open(&s, step(&s, NULL, "x")->entry, SD_KIND_WALL, 0, &at) == 0);
    sd_store_begun(&s, at, &m, 700);
    CHECK(sd_store_get(&s, sd_store_row(&s, at), SD_FIELD_END) == SD_VALUE_NONE);
    sd_store_ended(&s, at, &m, 700, SD_ROW_RAISED);
    CHECK(sd_store_row(&s, at)->flags == SD_ROW_RAISED);
    for (int f = 0; f < SD_N_FIELDS; f++)
        CHECK(sd_store_get(&s, sd_store_row(&s, at), (enum sd_field)f) == wanted[f]);
    sd_store_release(&s);
}

TEST(store_does_not_believe_the_clock_of_another_thread)
{
    struct sd_section m = measured();
    struct sd_store s;
    uint32_t cpu, process;

    m.is_moved = true;
    sd_store_init(&s, SD_MEASURE_TIME);
    CHECK(sd_store_open(&s, step(&s, NULL, "x")->entry, SD_KIND_CPU, 0, &cpu) == 0);
    CHECK(sd_store_open(&s, 0, SD_KIND_PROCESS, 0, &process) == 0);
    sd_store_begun(&s, cpu, &m, 0);
    sd_store_ended(&s, cpu, &m, 0, 0);
    sd_store_begun(&s, process, &m, 0);
    sd_store_ended(&s, process, &m, 0, 0);
    CHECK(sd_store_get(&s, sd_store_row(&s, cpu), SD_FIELD_START) == 10);
    CHECK(sd_store_get(&s, sd_store_row(&s, cpu), SD_FIELD_END) == SD_VALUE_NONE);
    CHECK(sd_store_get(&s, sd_store_row(&s, process), SD_FIELD_END) == 27);
    sd_store_release(&s);
}

/* Whatever fails, what was there before is there still, and a second try succeeds. */
TEST(store_stays_whole_when_memory_ends)
{
    EACH_FAILURE(nth)
    {
        struct sd_store s;
        const struct sd_path_step *at = NULL;
        uint32_t row;
        char name[8];

        sd_store_init(&s, SD_MEASURE_ALL);
        for (int i = 0; i < 60; i++) {
            snprintf(name, sizeof name, "%d", i % 40);
            at = step(&s, i % 10 ? at : NULL, name);
            if (!at)
                at = step(&s, NULL, name);
            CHECK(at);
            if (sd_store_open(&s, at->entry, 0, 0, &row) < 0)
                CHECK(sd_store_open(&s, at->entry, 0, 0, &row) == 0);
            CHECK(row == (uint32_t)i);
            CHECK(sd_store_find(&s, s.entries[at->entry].path,
                                s.entries[at->entry].n) == at->entry);
        }
        sd_store_release(&s);
    }
}
