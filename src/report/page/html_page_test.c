/* SPDX-License-Identifier: MIT */
#include "report/page/html_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/encoding/inflate.h"
#include "base/encoding/json_in.h"
#include "base/error.h"
#include "base/test.h"
#include "report/page/page_shapes.h"

enum { N_LEAVES = 2000, N_SLICES = 20 };

/* Stacks of one root that calls so many functions; the first of them takes half. */
struct some {
    struct sd_arena arena;
    struct sd_view_stacks stacks;
    int64_t *values;
    int64_t all;
};

static char *name_of(struct sd_arena *a, size_t i)
{
    return sd_arena_printf(a, "function_%zu</script>", i);
}

static void fill_functions(struct some *s)
{
    struct sd_view_stacks *v = &s->stacks;

    v->functions = sd_arena_alloc(&s->arena, (N_LEAVES + 1) * sizeof *v->functions);
    v->frames = sd_arena_alloc(&s->arena, (N_LEAVES + 1) * sizeof *v->frames);
    v->places = sd_arena_alloc(&s->arena, (N_LEAVES + 1) * sizeof *v->places);
    v->n_functions = v->n_frames = v->n_places = N_LEAVES + 1;
    for (uint32_t i = 0; i <= N_LEAVES; i++) {
        v->functions[i] = (struct sd_stacks_function){ .name = name_of(&s->arena, i),
                                                       .file = "/a/b.py",
                                                       .short_file = "b.py",
                                                       .line = i,
                                                       .kind = SD_FLAME_OWN };
        v->frames[i] = (struct sd_stacks_frame){ .parent = i ? 0 : UINT32_MAX,
                                                 .function = i,
                                                 .import = UINT32_MAX,
                                                 .importer = UINT32_MAX };
        v->places[i] = (struct sd_stacks_place){ .frame = i };
    }
}

static void fill_entries(struct some *s)
{
    struct sd_view_stacks *v = &s->stacks;
    size_t n = 0;

    v->n_entries = N_LEAVES * N_SLICES;
    v->entries = sd_arena_alloc(&s->arena, v->n_entries * sizeof *v->entries);
    s->values = sd_arena_alloc(&s->arena, v->n_entries * sizeof *s->values);
    for (uint32_t slice = 0; slice < N_SLICES; slice++)
        for (uint32_t i = 1; i <= N_LEAVES; i++, n++) {
            v->entries[n] = (struct sd_stacks_entry){ slice, i, 0 };
            s->values[n] = i == 1 ? N_LEAVES : 1;
            s->all += s->values[n];
        }
    v->metrics = sd_arena_alloc(&s->arena, sizeof *v->metrics);
    v->metrics[0] =
        (struct sd_stacks_metric){ "samples", "how many", SD_CELL_COUNT, s->values };
    v->n_metrics = 1;
}

static void fill(struct some *s)
{
    static const char *modules[] = { "b" };
    static struct sd_stacks_thread thread = {
        .name = "main", .process_label = "1 python", .process = 1, .number = 1
    };
    static uint32_t starts[2], members[1];

    memset(s, 0, sizeof *s);
    s->stacks = (struct sd_view_stacks){ .evidence = "samples",
                                         .verb = "sampled",
                                         .metric = "samples",
                                         .has_time = true,
                                         .slice_ns = 1000000,
                                         .modules = modules,
                                         .n_modules = 1,
                                         .threads = &thread,
                                         .n_threads = 1,
                                         .set_starts = starts,
                                         .set_members = members,
                                         .n_sets = 1 };
    fill_functions(s);
    fill_entries(s);
}

static int64_t sum_of(const struct sd_view_stacks *v)
{
    int64_t sum = 0;

    for (size_t i = 0; i < v->n_entries; i++)
        sum += v->metrics[0].values[i];
    return sum;
}

static int64_t sum_of_function(const struct sd_view_stacks *v, const char *name)
{
    int64_t sum = 0;

    for (size_t i = 0; i < v->n_entries; i++) {
        uint32_t frame = v->places[v->entries[i].place].frame;

        if (strcmp(v->functions[v->frames[frame].function].name, name) == 0)
            sum += v->metrics[0].values[i];
    }
    return sum;
}

TEST(pruned_stacks_keep_every_sum)
{
    struct sd_arena arena = { 0 };
    struct sd_view_stacks pruned;
    struct some s;

    fill(&s);
    CHECK(sd_page_prune(&s.stacks, 0.01, &arena, &pruned) == 0);
    CHECK(sum_of(&pruned) == s.all);
    CHECK(sum_of_function(&pruned, s.stacks.functions[1].name) ==
          sum_of_function(&s.stacks, s.stacks.functions[1].name));
    CHECK(sum_of_function(&pruned, SD_PAGE_PRUNED) == N_SLICES * (N_LEAVES - 1));
    CHECK(pruned.n_frames == 3 && pruned.n_functions == 3);
    CHECK(pruned.frames[2].parent == 0);
    CHECK(pruned.n_entries == 2 * N_SLICES);
    for (size_t i = 1; i < pruned.n_entries; i++)
        CHECK(pruned.entries[i].slice >= pruned.entries[i - 1].slice);
    sd_arena_release(&arena);
    sd_arena_release(&s.arena);
}

TEST(nothing_is_pruned_below_no_threshold)
{
    struct sd_arena arena = { 0 };
    struct sd_view_stacks pruned;
    struct some s;

    fill(&s);
    CHECK(sd_page_prune(&s.stacks, 0, &arena, &pruned) == 0);
    CHECK(pruned.n_frames == s.stacks.n_frames);
    CHECK(sum_of_function(&pruned, SD_PAGE_PRUNED) == 0);
    CHECK(pruned.n_entries == s.stacks.n_entries && sum_of(&pruned) == s.all);
    sd_arena_release(&arena);
    sd_arena_release(&s.arena);
}

/* What is Sonde's own is in no view, and must not come into one. */
TEST(pruning_keeps_the_start_of_sonde_apart)
{
    struct sd_arena arena = { 0 };
    struct sd_view_stacks pruned;
    struct some s;
    size_t n_startup = 0;

    fill(&s);
    for (uint32_t i = 2; i < 100; i++)
        s.stacks.frames[i].is_startup = true;
    CHECK(sd_page_prune(&s.stacks, 0.01, &arena, &pruned) == 0);
    for (size_t i = 0; i < pruned.n_frames; i++)
        n_startup += pruned.frames[i].is_startup;
    CHECK(n_startup == 1 && pruned.n_frames == 4);
    CHECK(sum_of(&pruned) == s.all);
    sd_arena_release(&arena);
    sd_arena_release(&s.arena);
}

/* --- The file */

static int letter(char c)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    return (int)(strchr(letters, c) - letters);
}

/* Gzip of what stands in the page. */
static void take_data(const char *html, struct sd_buf *to)
{
    const char *at = strstr(html, "id=\"data\">"), *end;
    uint32_t bits = 0;

    CHECK(at);
    at += strlen("id=\"data\">");
    end = strchr(at, '<');
    CHECK(end && strncmp(end, "</script>", 9) == 0 && (end - at) % 4 == 0);
    for (int n = 1; at < end && *at != '='; at++, n++) {
        bits = bits << 6 | (uint32_t)letter(*at);
        if (n % 4 == 0)
            for (int k = 16; k >= 0; k -= 8)
                sd_buf_u8(to, (uint8_t)(bits >> k));
        else if (at[1] == '=')
            for (int k = n % 4 * 6 - 8; k >= 0; k -= 8)
                sd_buf_u8(to, (uint8_t)(bits >> k));
    }
}

/* The payload, which is the caller's to free. */
static uint8_t *unpacked(const struct sd_buf *gzip, size_t *n)
{
    const uint8_t *end = gzip->p + gzip->n;
    uint8_t *raw;

    CHECK(gzip->n > 18 && gzip->p[0] == 0x1f && gzip->p[1] == 0x8b);
    *n = (size_t)end[-4] | (size_t)end[-3] << 8 | (size_t)end[-2] << 16 |
         (size_t)end[-1] << 24;
    raw = malloc(*n);
    CHECK(sd_inflate(gzip->p + 10, gzip->n - 18, raw, *n));
    return raw;
}

static const char hostile[] = "<img src=x onerror=alert(1)>\x1b]0;\"'&\xff";

static struct sd_page page_of(struct some *s, const struct sd_page_view *views)
{
    static const struct sd_page_item item = { hostile, hostile };

    return (struct sd_page){ .title = hostile,
                             .program = "sonde",
                             .duration_ns = N_SLICES * 1000000,
                             .command = hostile,
                             .items = &item,
                             .n_items = 1,
                             .stacks = &s->stacks,
                             .n_stacks = 1,
                             .views = views,
                             .n_views = 1 };
}

static const struct sd_page_view functions = { .name = "functions",
                                               .title = "Functions",
                                               .shape = SD_SHAPE_TABLE,
                                               .follows = SD_PART_TIME,
                                               .make = "functions",
                                               .has_stacks = true };

TEST(data_of_a_page_decodes_to_what_was_given)
{
    struct sd_buf gzip = { 0 };
    struct sd_page page;
    struct sd_out out;
    struct sd_json_in j;
    struct some s;
    uint8_t *raw;
    uint32_t n_json;
    size_t n;
    bool has_entries = false;

    fill(&s);
    page = page_of(&s, &functions);
    sd_out_to_memory(&out);
    CHECK(sd_page_write(&page, &out) == 0);
    take_data(sd_buf_string(&out.pending), &gzip);
    raw = unpacked(&gzip, &n);
    memcpy(&n_json, raw, sizeof n_json);
    CHECK(n_json + 4 <= n);
    sd_json_in_init(&j, raw + 4, n_json);
    CHECK(sd_json_in_next(&j) == SD_JSON_OBJECT);
    while (sd_json_in_next(&j) != SD_JSON_STOP) {
        CHECK(j.kind != SD_JSON_BAD);
        if (j.kind == SD_JSON_KEY && sd_json_in_is(&j, "entries"))
            has_entries = true;
    }
    CHECK(has_entries);
    sd_json_in_release(&j);
    free(raw);
    sd_buf_release(&gzip);
    sd_out_release(&out);
    sd_arena_release(&s.arena);
}

TEST(title_and_plain_part_of_a_page_are_escaped)
{
    struct sd_page page;
    struct sd_out out;
    struct some s;
    const char *html;

    fill(&s);
    page = page_of(&s, &functions);
    sd_out_to_memory(&out);
    CHECK(sd_page_write(&page, &out) == 0);
    html = sd_buf_string(&out.pending);
    CHECK(!strstr(html, "<img") && !strchr(html, 0x1b) && !strchr(html, (char)0xff));
    CHECK(strstr(html, "<title>&lt;img src=x"));
    CHECK(strstr(html, "<h1>&lt;img src=x"));
    sd_out_release(&out);
    sd_arena_release(&s.arena);
}

TEST(same_page_is_the_same_bytes)
{
    struct sd_out a, b;
    struct sd_page page;
    struct some s;

    fill(&s);
    page = page_of(&s, &functions);
    sd_out_to_memory(&a);
    sd_out_to_memory(&b);
    CHECK(sd_page_write(&page, &a) == 0 && sd_page_write(&page, &b) == 0);
    CHECK(a.pending.n == b.pending.n &&
          memcmp(a.pending.p, b.pending.p, a.pending.n) == 0);
    sd_out_release(&a);
    sd_out_release(&b);
    sd_arena_release(&s.arena);
}

TEST(page_survives_every_failed_allocation)
{
    struct sd_page page;
    struct some s;

    fill(&s);
    page = page_of(&s, &functions);
    EACH_FAILURE(nth)
    {
        struct sd_buf data = { 0 };
        int rc = sd_page_data(&page, 0.01, &data);

        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_buf_release(&data);
    }
    sd_arena_release(&s.arena);
}

/* Values that no compressor makes small. */
TEST(page_is_never_larger_than_it_may_be)
{
    enum { ROWS = 200000, COLUMNS = 10 };
    static const struct sd_column column = { "n", "any number", SD_CELL_COUNT, false,
                                             0 };
    struct sd_column columns[COLUMNS];
    struct sd_view v = { 0 };
    struct sd_view_table *t;
    struct sd_page_view view = { .name = "many", .title = "Many" };
    struct sd_page page;
    struct sd_out out;
    struct some s;
    uint64_t seed = 1;

    fill(&s);
    for (int i = 0; i < COLUMNS; i++)
        columns[i] = column;
    t = sd_view_add(&v, "many", "Many", columns, COLUMNS, ROWS);
    CHECK(t);
    for (size_t i = 0; i < ROWS * COLUMNS; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        t->cells[i] = sd_cell_number(SD_CELL_COUNT, (int64_t)(seed >> 12));
    }
    view.table = t;
    page = page_of(&s, &view);
    sd_out_to_memory(&out);
    CHECK(sd_page_write(&page, &out) == 0);
    CHECK(out.pending.n <= SD_PAGE_BYTES);
    sd_out_release(&out);
    sd_view_release(&v);
    sd_arena_release(&s.arena);
}

/* Each function in a file of its own, and each file a module. */
static void spread(struct some *s)
{
    struct sd_view_stacks *v = &s->stacks;

    v->modules = sd_arena_alloc(&s->arena, v->n_functions * sizeof *v->modules);
    v->n_modules = v->n_functions;
    for (uint32_t i = 0; i < v->n_functions; i++) {
        v->functions[i].file = v->functions[i].short_file =
            sd_arena_printf(&s->arena, "/a/%u.py", i);
        v->functions[i].module = i;
        v->modules[i] = v->functions[i].file;
    }
}

/* Files of all functions, the last one with its text. */
static struct sd_drawing sources_of(struct some *s)
{
    static uint32_t line = 1;
    size_t n = s->stacks.n_functions;
    struct sd_source_file *files = sd_arena_alloc(&s->arena, n * sizeof *files);

    for (size_t i = 0; i < n; i++)
        files[i] = (struct sd_source_file){ .file = s->stacks.functions[i].file,
                                            .short_file = s->stacks.functions[i].file,
                                            .text = i + 1 < n ? NULL : "a\n",
                                            .n_text = i + 1 < n ? 0 : 2,
                                            .lines = &line,
                                            .n_lines = 1 };
    return (struct sd_drawing){ .name = "source",
                                .shape = SD_SHAPE_SOURCE,
                                .source = { .files = files, .n_files = n } };
}

static bool data_has(const struct sd_page *page, double least, const char *text)
{
    struct sd_buf raw = { 0 };
    bool has;

    CHECK(sd_page_data(page, least, &raw) == 0);
    has = memmem(raw.p, raw.n, text, strlen(text)) != NULL;
    sd_buf_release(&raw);
    return has;
}

TEST(pruned_page_has_no_file_or_module_of_what_went)
{
    struct sd_page_view view = functions;
    struct sd_drawing drawing;
    struct sd_page page;
    struct some s;
    char last[32];

    fill(&s);
    spread(&s);
    drawing = sources_of(&s);
    view.drawing = &drawing;
    view.shape = SD_SHAPE_SOURCE;
    page = page_of(&s, &view);
    snprintf(last, sizeof last, "\"/a/%d.py\"", N_LEAVES);
    CHECK(data_has(&page, 0, "\"/a/1.py\"") && data_has(&page, 0, "\"/a/2.py\""));
    CHECK(data_has(&page, 0.01, "\"/a/1.py\"") &&
          !data_has(&page, 0.01, "\"/a/2.py\""));
    CHECK(data_has(&page, 0.01, last)); /* it has its text */
    sd_arena_release(&s.arena);
}
