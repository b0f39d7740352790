/* SPDX-License-Identifier: MIT */
#include "analyse/source_rows.h"

#include <string.h>

#include "analyse/views.h"
#include "base/error.h"
#include "profile/profile_testing.h"

/* f calls itself in line 6 (40 samples in line 7), a lambda stands beside that call (10
 * samples in line 6 below line 6), and 50 samples are in another file. */
static struct sd_profile *load(struct sd_maker *m)
{
    uint32_t process, main, shape, f, lambda, other, at;

    sd_maker_begin(m);
    sd_maker_chunk(m, 1, 1);
    process = sd_maker_track(m, SD_TRACK_PROCESS, 0, 7, "python");
    main = sd_maker_track(m, SD_TRACK_THREAD, process, 7, "MainThread");
    shape = sd_maker_sample_shape(m);
    f = sd_maker_function(m, "f", "/x/app.py", 5);
    lambda = sd_maker_function(m, "<lambda>", "/x/app.py", 6);
    other = sd_maker_function(m, "g", "/x/other.py", 1);
    at = sd_maker_stack(m, 0, f, 6);
    sd_maker_sample(m, main, sd_maker_stack(m, at, lambda, 6), 0, 10, shape, 10);
    at = sd_maker_stack(m, at, f, 6);
    sd_maker_sample(m, main, sd_maker_stack(m, at, f, 7), 0, 20, shape, 40);
    sd_maker_sample(m, main, sd_maker_stack(m, at, other, 2), 0, 30, shape, 50);
    sd_maker_sample(m, main, at, SD_SAMPLE_IDLE, 40, shape, 7);
    sd_maker_end(m, 0);
    return sd_maker_load(m, NULL);
}

static const struct sd_cell *cell(const struct sd_view_source *s, size_t file,
                                  size_t line, const char *column)
{
    for (size_t k = 0; k < s->n_columns; k++)
        if (strcmp(s->columns[k].name, column) == 0)
            return &s->files[file].cells[line * s->n_columns + k];
    CHECK(false); /* there is such a column */
    return NULL;
}

static struct sd_view_request usual(void)
{
    return (struct sd_view_request){ .views = "source", .has_drawings = true };
}

TEST(source_counts_a_stack_once_for_a_line_however_often_it_is_on_it)
{
    struct sd_view_request r = usual();
    struct sd_view v = { 0 };
    struct sd_maker m;
    struct sd_profile *p = load(&m);
    const struct sd_view_source *s;

    CHECK(sd_views_make(p, &r, &v) == 0 && v.n_drawings == 1);
    s = &v.drawings[0].source;
    CHECK(strcmp(v.drawings[0].name, "source") == 0 &&
          strcmp(s->evidence, "samples") == 0);
    CHECK(s->n_files == 2 && strcmp(s->files[0].file, "/x/app.py") == 0 &&
          strcmp(s->files[0].short_file, "app.py") == 0 && !s->files[0].text);
    CHECK(s->files[0].n_lines == 2 && s->files[0].lines[0] == 6 &&
          s->files[0].lines[1] == 7);
    CHECK(cell(s, 0, 0, "self_samples")->number == 10 &&
          cell(s, 0, 0, "cum_samples")->number == 100);
    CHECK(cell(s, 0, 0, "cum%")->real == 100 && cell(s, 0, 1, "self%")->real == 40);
    CHECK(s->files[1].n_lines == 1 && s->files[1].lines[0] == 2 &&
          cell(s, 1, 0, "self_samples")->number == 50);
    sd_view_release(&v);
    r.stacks.choice.has_idle = true;
    CHECK(sd_views_make(p, &r, &v) == 0);
    CHECK(cell(&v.drawings[0].source, 0, 0, "self_samples")->number == 17);
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&m);
}

/* Ten hits of a line of one function and five of a twin's, with memory. */
static void count(struct sd_profile *p, struct sd_site sites[2])
{
    struct sd_line_total one = { .line = 6 };

    sites[0] = (struct sd_site){ .name = "f", .file = "/x/app.py", .line = 5 };
    sites[1] = sites[0];
    sites[1].twin = 1;
    *p = (struct sd_profile){ .sites = sites, .n_sites = 2 };
    for (int i = 0; i < SD_LINE_VALUES; i++)
        one.values[i] = SD_LINE_NONE;
    one.values[SD_LINE_HITS] = 10;
    one.values[SD_LINE_TIME] = 1000;
    one.values[SD_LINE_CHILD_TIME] = 400;
    one.values[SD_LINE_TRACING] = one.values[SD_LINE_TOLD_CHILD_TIME] = 0;
    one.values[SD_LINE_MEMORY] = 7 << 20;
    one.values[SD_LINE_INCREMENT] = -5;
    CHECK(sd_line_totals_add(&p->evidence[SD_LINES].lines, &one) == 0);
    one.site = 1;
    one.values[SD_LINE_HITS] = 5;
    one.values[SD_LINE_MEMORY] = 9 << 20;
    CHECK(sd_line_totals_add(&p->evidence[SD_LINES].lines, &one) == 0);
}

TEST(source_of_counted_lines_has_each_line_once_and_columns_that_were_measured)
{
    const struct sd_view_request r = usual();
    struct sd_view v = { 0 };
    struct sd_site sites[2];
    struct sd_profile p;
    const struct sd_view_source *s;

    count(&p, sites);
    CHECK(sd_views_make(&p, &r, &v) == 0 && v.n_drawings == 1);
    s = &v.drawings[0].source;
    CHECK(strcmp(v.drawings[0].name, "source") == 0 &&
          strcmp(s->evidence, "lines") == 0);
    CHECK(s->n_files == 1 && s->files[0].n_lines == 1 && s->files[0].lines[0] == 6);
    CHECK(cell(s, 0, 0, "hits")->number == 15 && cell(s, 0, 0, "time")->number == 2000);
    CHECK(cell(s, 0, 0, "self")->number == 1200 && cell(s, 0, 0, "self%")->real == 100);
    CHECK(cell(s, 0, 0, "memory")->number == 9 << 20 &&
          cell(s, 0, 0, "increment")->number == -10 &&
          cell(s, 0, 0, "peak")->kind == SD_CELL_NONE);
    for (size_t k = 0; k < s->n_columns; k++)
        CHECK(strcmp(s->columns[k].name, "cpu") != 0);
    sd_view_release(&v);
    sd_line_totals_release(&p.evidence[SD_LINES].lines);
}

TEST(source_survives_every_failed_allocation)
{
    const struct sd_view_request r = usual();
    struct sd_maker m;
    struct sd_profile *p = load(&m);
    struct sd_site sites[2];
    struct sd_profile counted;

    count(&counted, sites);
    p->evidence[SD_LINES] = counted.evidence[SD_LINES];
    p->evidence[SD_LINES].lines.items[0].site = 0;
    EACH_FAILURE(nth)
    {
        struct sd_view v = { 0 };
        int rc = sd_views_make(p, &r, &v);

        CHECK(rc == SD_ENOMEM || (rc == 0 && v.n_drawings == 2 &&
                                  strcmp(v.drawings[1].name, "counted_source") == 0));
        sd_view_release(&v);
    }
    sd_profile_free(p);
    sd_maker_release(&m);
}
