/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"
#include "report/page/page_shapes.h"

enum { N_SMALL = 3000, N_MANY = 100000 };

/* One function in very many sections, each open once and inside "all"; "large" has half
 * of everything, and a seventh of the time nothing is open. */
struct some {
    struct sd_arena arena;
    struct sd_view_stacks stacks;
    uint32_t n_small;
};

static const char *name_of(struct sd_arena *a, uint64_t i)
{
    uint64_t seed = i;
    char text[160];

    for (size_t k = 0; k + 1 < sizeof text; k++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        text[k] = (char)('a' + (seed >> 40) % 26);
    }
    return sd_arena_string(a, text, sizeof text - 1);
}

/* Set 0 is empty, set 1 is "large", the others are "all" and a small one. */
static void fill_sets(struct some *s)
{
    struct sd_view_stacks *v = &s->stacks;
    uint32_t n = 0;

    v->n_sections = s->n_small + 2;
    v->n_sets = s->n_small + 2;
    v->sections = sd_arena_alloc(&s->arena, v->n_sections * sizeof *v->sections);
    v->set_starts = sd_arena_alloc(&s->arena, (v->n_sets + 1) * sizeof *v->set_starts);
    v->set_members = sd_arena_alloc(&s->arena, 2 * v->n_sets * sizeof *v->set_members);
    for (uint32_t i = 0; i < v->n_sections; i++)
        v->sections[i] = i == 0 ? "all" : i == 1 ? "large" : name_of(&s->arena, i);
    for (uint32_t i = 0; i < v->n_sets; i++) {
        v->set_starts[i] = n;
        if (i == 1)
            v->set_members[n++] = 1;
        for (uint32_t k = 0; i > 1 && k < 2; k++)
            v->set_members[n++] = k * i;
    }
    v->set_starts[v->n_sets] = n;
}

/* Each small section has 1, "large" as much as all of them, and nothing 1,000. */
static void fill_entries(struct some *s)
{
    struct sd_view_stacks *v = &s->stacks;
    size_t n = 2 * s->n_small + 1;
    int64_t *values = sd_arena_alloc(&s->arena, n * sizeof *values);

    v->n_entries = n;
    v->entries = sd_arena_alloc(&s->arena, n * sizeof *v->entries);
    v->metrics = sd_arena_alloc(&s->arena, sizeof *v->metrics);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t set = i % 2 ? i / 2 + 2 : i == 0 ? 0 : 1;

        v->entries[i] = (struct sd_stacks_entry){ i / 2, 0, set };
        values[i] = i == 0 ? 1000 : 1;
    }
    v->n_metrics = 1;
    v->metrics[0] =
        (struct sd_stacks_metric){ "samples", "how many", SD_CELL_COUNT, values };
}

static void fill(struct some *s, uint32_t n_small)
{
    static const char *modules[] = { "b" };
    static struct sd_stacks_thread thread = {
        .name = "main", .process_label = "1 python", .process = 1, .number = 1
    };
    static struct sd_stacks_function function = { .name = "f", .kind = SD_FLAME_OWN };
    static struct sd_stacks_frame frame = { .parent = UINT32_MAX,
                                            .import = UINT32_MAX,
                                            .importer = UINT32_MAX };
    static struct sd_stacks_place place;

    memset(s, 0, sizeof *s);
    s->n_small = n_small;
    s->stacks = (struct sd_view_stacks){ .evidence = "samples",
                                         .verb = "sampled",
                                         .metric = "samples",
                                         .has_time = true,
                                         .slice_ns = 1000000,
                                         .functions = &function,
                                         .n_functions = 1,
                                         .modules = modules,
                                         .n_modules = 1,
                                         .threads = &thread,
                                         .n_threads = 1,
                                         .frames = &frame,
                                         .n_frames = 1,
                                         .places = &place,
                                         .n_places = 1 };
    fill_sets(s);
    fill_entries(s);
}

/* What there is of a section; NULL: of everything. */
static int64_t sum_in(const struct sd_view_stacks *v, const char *section)
{
    int64_t sum = 0;

    for (size_t i = 0; i < v->n_entries; i++) {
        uint32_t set = v->entries[i].set;
        bool is_in = !section;

        CHECK(set < v->n_sets);
        for (uint32_t k = v->set_starts[set]; k < v->set_starts[set + 1]; k++)
            is_in |= section && strcmp(v->sections[v->set_members[k]], section) == 0;
        sum += is_in ? v->metrics[0].values[i] : 0;
    }
    return sum;
}

static int fold(const struct sd_view_stacks *from, double least, struct sd_arena *a,
                struct sd_view_stacks *to)
{
    struct sd_arena keys = { 0 };
    struct sd_intern kept = { .arena = &keys };
    int rc = sd_page_keep_sections(from, least, &kept);

    if (rc == 0)
        rc = sd_page_fold_sections(from, &kept, a, to);
    sd_intern_release(&kept);
    sd_arena_release(&keys);
    return rc;
}

TEST(folded_sections_keep_every_sum)
{
    struct sd_arena arena = { 0 };
    struct sd_view_stacks folded;
    struct some s;

    fill(&s, N_SMALL);
    CHECK(fold(&s.stacks, 0.001, &arena, &folded) == 0);
    CHECK(folded.n_sections == 3 && folded.n_sets == 3);
    CHECK(sum_in(&folded, NULL) == sum_in(&s.stacks, NULL));
    CHECK(sum_in(&folded, "large") == N_SMALL && sum_in(&folded, "all") == N_SMALL);
    CHECK(sum_in(&folded, SD_PAGE_PRUNED) == N_SMALL);
    CHECK(folded.set_starts[0] == 0 && folded.set_starts[1] == 0);
    sd_arena_release(&arena);
    sd_arena_release(&s.arena);
}

TEST(sections_that_are_large_enough_all_stay)
{
    struct sd_arena arena = { 0 };
    struct sd_view_stacks folded;
    struct some s;

    fill(&s, N_SMALL);
    CHECK(fold(&s.stacks, 1e-9, &arena, &folded) == 0);
    CHECK(folded.n_sections == s.stacks.n_sections);
    CHECK(folded.sections == s.stacks.sections && folded.entries == s.stacks.entries);
    sd_arena_release(&arena);
    sd_arena_release(&s.arena);
}

TEST(folding_sections_survives_every_failed_allocation)
{
    struct some s;

    fill(&s, N_SMALL);
    EACH_FAILURE(nth)
    {
        struct sd_arena arena = { 0 };
        struct sd_view_stacks folded;
        int rc = fold(&s.stacks, 0.001, &arena, &folded);

        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_arena_release(&arena);
    }
    sd_arena_release(&s.arena);
}

TEST(long_names_of_sections_stay_apart)
{
    struct sd_arena arena = { 0 };
    struct sd_intern names = { .arena = &arena };
    char path[SD_PAYLOAD_NAME + 100];

    memset(path, 'x', sizeof path);
    path[sizeof path - 1] = '\0';
    for (char last = 'a'; last < 'd'; last++) {
        path[sizeof path - 2] = last;
        CHECK(sd_page_name_section(&names, path) == 0);
    }
    CHECK(sd_page_name_section(&names, "short") == 0);
    CHECK(names.n == 4 && strcmp(names.items[3].p, "short") == 0);
    CHECK(names.items[0].n == SD_PAYLOAD_NAME + strlen("…"));
    CHECK(strcmp(names.items[2].p + names.items[0].n, " (3)") == 0);
    sd_intern_release(&names);
    sd_arena_release(&arena);
}

/* 16 MB of names, of which a compressor makes ten. */
TEST(page_of_100000_sections_is_no_larger_than_it_may_be)
{
    struct sd_page page = { .title = "many", .program = "sonde", .n_stacks = 1 };
    struct sd_out out;
    struct some s;

    fill(&s, N_MANY);
    page.stacks = &s.stacks;
    sd_out_to_memory(&out);
    CHECK(sd_page_write(&page, &out) == 0);
    CHECK(out.pending.n > 0 && out.pending.n <= SD_PAGE_BYTES);
    sd_out_release(&out);
    sd_arena_release(&s.arena);
}
