/* SPDX-License-Identifier: MIT */
#include "outputs/alloc_listing.h"

#include <string.h>

#include "base/error.h"
#include "profile/profile_testing.h"

enum { MIB = 1 << 20, BY_OBJECT = 3, NONE = UINT32_MAX };

static const char source[] = "def work(n):\n    return bytes(n)\n\nwork(1)\nwork(2)\n";

/* A file with its source, and a capture whose stacks are in it, in a library, and
 * nowhere. */
struct made {
    struct sd_maker m;
    struct sd_profile *p;
    char file[64];
    uint32_t n_remarks;
};

static void write_source(struct made *x)
{
    FILE *f;

    snprintf(x->file, sizeof x->file, "/tmp/sonde-listing-%d.py", (int)getpid());
    f = fopen(x->file, "w");
    CHECK(f && fwrite(source, 1, sizeof source - 1, f) == sizeof source - 1);
    CHECK(fclose(f) == 0);
}

static void add(struct made *x, uint32_t stack, int64_t bytes)
{
    struct sd_alloc_total one = { .stack = stack, .flags = BY_OBJECT };
    const int64_t none[SD_ALLOC_MOMENTS] = { 0 };

    one.values[SD_ALLOCS_PEAK_BYTES] = bytes;
    one.values[SD_ALLOCS_PEAK_BLOCKS] = 1;
    CHECK(sd_alloc_totals_add(&x->p->allocs, &one, none) == 0);
}

/* Stacks of the profile are numbered as they came: module at line 5, work below it,
 * module at line 4, work below it, scan of a library. */
static void make(struct made *x, uint64_t real_ns)
{
    const struct sd_alloc_process process = { .peak_bytes = 10 * MIB };
    uint32_t track, shape, module, work, scan, at;

    memset(x, 0, sizeof *x);
    write_source(x);
    sd_maker_begin_at(&x->m, real_ns);
    sd_maker_chunk(&x->m, 1, 1);
    track = sd_maker_track(&x->m, SD_TRACK_PROCESS, 0, 7, "python");
    shape = sd_maker_sample_shape(&x->m);
    module = sd_maker_function(&x->m, "<module>", x->file, 1);
    work = sd_maker_function(&x->m, "work", x->file, 1);
    scan = sd_maker_function(&x->m, "scan", "/usr/lib/python3.11/nowhere.py", 3);
    at = sd_maker_stack(&x->m, 0, module, 5);
    sd_maker_sample(&x->m, track, sd_maker_stack(&x->m, at, work, 2), 0, 1, shape, 1);
    sd_maker_sample(&x->m, track, sd_maker_stack(&x->m, 0, scan, 9), 0, 2, shape, 1);
    sd_maker_end(&x->m, 0);
    x->p = sd_maker_load(&x->m, NULL);
    CHECK(x->p->n_stacks == 3);
    x->p->allocs.is_recorded = true;
    CHECK(sd_alloc_totals_add_process(&x->p->allocs, &process) == 0);
    add(x, 0, MIB);     /* <module>, line 5 */
    add(x, 1, 6 * MIB); /* work, line 2 */
    add(x, 2, 2 * MIB); /* scan, line 9 */
    add(x, NONE, MIB);
}

static void end(struct made *x)
{
    remove(x->file);
    sd_profile_free(x->p);
    sd_maker_release(&x->m);
}

static void count(void *of, const char *text)
{
    CHECK(strstr(text, "has changed since it was run"));
    ++*(uint32_t *)of;
}

static const char *text(const struct sd_view_table *t, size_t row)
{
    const struct sd_cell *c = sd_view_cell(t, row, t->n_columns - 1);

    return c->kind == SD_CELL_TEXT && c->text ? c->text : "(none)";
}

static void list(struct made *x, bool is_for_eyes, struct sd_view *v)
{
    const struct sd_view_request r = { .is_for_eyes = is_for_eyes };
    const struct sd_remarks remarks = { count, &x->n_remarks };

    *v = (struct sd_view){ 0 };
    CHECK(sd_alloc_listing_of(x->p, &r, &remarks, v) == 0);
}

TEST(alloc_listing_has_the_lines_of_each_file_in_order_with_their_source)
{
    struct sd_view v;
    struct made x;

    make(&x, UINT64_MAX / 4);
    list(&x, true, &v);
    CHECK(v.n_tables == 3 && x.n_remarks == 0);
    CHECK(strstr(x.file, v.tables[0].title) && v.tables[0].n_rows == 2);
    CHECK(sd_view_cell(&v.tables[0], 0, 0)->number == 2);
    CHECK(sd_view_cell(&v.tables[0], 0, 1)->number == 6 * MIB);
    CHECK(sd_view_cell(&v.tables[0], 0, 2)->real > 59.9);
    CHECK(sd_view_cell(&v.tables[0], 0, 2)->real < 60.1);
    CHECK(strcmp(text(&v.tables[0], 0), "    return bytes(n)") == 0);
    CHECK(strcmp(text(&v.tables[0], 1), "work(2)") == 0);
    CHECK(strcmp(v.tables[1].title, "nowhere.py") == 0);
    CHECK(strcmp(text(&v.tables[1], 0), "(none)") == 0);
    CHECK(strcmp(v.tables[2].title, "[no Python frame]") == 0);
    sd_view_release(&v);
    end(&x);
}

TEST(alloc_listing_is_for_programs_the_table_with_a_column_more)
{
    const struct sd_view_table *t;
    struct sd_view v;
    struct made x;

    make(&x, UINT64_MAX / 4);
    list(&x, false, &v);
    t = &v.tables[0];
    CHECK(v.n_tables == 1 && strcmp(t->name, "allocations") == 0 && t->n_rows == 4);
    CHECK(strcmp(t->columns[t->n_columns - 1].name, "source") == 0);
    CHECK(strcmp(sd_view_cell(t, 0, 0)->text, "work") == 0);
    CHECK(strcmp(text(t, 0), "    return bytes(n)") == 0);
    sd_view_release(&v);
    end(&x);
}

TEST(alloc_listing_leaves_out_source_that_has_changed_and_says_so_once)
{
    struct sd_view v;
    struct made x;

    make(&x, SD_MAKER_REAL); /* long before the file was written */
    list(&x, true, &v);
    CHECK(x.n_remarks == 1 && strcmp(text(&v.tables[0], 0), "(none)") == 0);
    CHECK(sd_view_cell(&v.tables[0], 0, 1)->number == 6 * MIB);
    sd_view_release(&v);
    end(&x);
}
