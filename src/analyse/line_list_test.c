/* SPDX-License-Identifier: MIT */
#include "analyse/line_list.h"

#include <string.h>

#include "base/test.h"
#include "profile/lines/line_stats.h"
#include "profile/profile.h"

enum { OUTER, INNER, TWIN, N_SITES };

struct some {
    struct sd_site sites[N_SITES];
    struct sd_profile p;
};

static void add(struct some *s, uint32_t site, uint32_t line, const int64_t *values)
{
    struct sd_line_total one = { .site = site, .line = line };

    memcpy(one.values, values, sizeof one.values);
    CHECK(sd_line_totals_add(&s->p.evidence[SD_LINES].lines, &one) == 0);
}

/* Ten hits of a line that waits for ten of another: 100 ns each are its own, 300 the
 * other's, and 10 the telling of a hit; a twin of the other has five hits. */
static void fill(struct some *s)
{
    int64_t v[SD_LINE_VALUES] = { 0 };

    memset(s, 0, sizeof *s);
    s->sites[OUTER] = (struct sd_site){ .name = "outer", .file = "x.py", .line = 1 };
    s->sites[INNER] = (struct sd_site){ .name = "inner", .file = "x.py", .line = 5 };
    s->sites[TWIN] =
        (struct sd_site){ .name = "inner", .file = "x.py", .line = 5, .twin = 1 };
    s->p.sites = s->sites;
    s->p.n_sites = N_SITES;
    v[SD_LINE_HITS] = 10;
    v[SD_LINE_TIME] = 4000;
    v[SD_LINE_CHILD_TIME] = 3000;
    v[SD_LINE_TRACING] = 250;
    v[SD_LINE_TOLD_TIME] = 4250;
    v[SD_LINE_TOLD_CHILD_TIME] = 3150;
    v[SD_LINE_MIN] = 400;
    v[SD_LINE_TOLD_MIN] = 425;
    add(s, OUTER, 2, v);
    memset(v, 0, sizeof v);
    v[SD_LINE_HITS] = 10;
    v[SD_LINE_TIME] = 3000;
    v[SD_LINE_TRACING] = 100;
    v[SD_LINE_TOLD_TIME] = 3100;
    add(s, INNER, 6, v);
    v[SD_LINE_HITS] = 5;
    add(s, TWIN, 6, v);
}

static void release(struct some *s)
{
    sd_line_totals_release(&s->p.evidence[SD_LINES].lines);
}

TEST(lined_tells_the_cost_of_a_line_once_and_not_with_whoever_waits_for_it)
{
    struct some s;
    struct sd_line_list l;

    fill(&s);
    CHECK(sd_line_list_of(&s.p, &l) == 0 && l.n == N_SITES);
    CHECK(l.functions[0].tracing_ns == 100); /* of 250, 150 are its callee's */
    CHECK(l.functions[1].tracing_ns == 100);
    sd_line_list_release(&l);
    release(&s);
}

TEST(lined_gives_back_what_was_taken_off_of_callees_too)
{
    struct some s;
    struct sd_line_list l;
    const int64_t *v;

    fill(&s);
    CHECK(sd_line_list_of(&s.p, &l) == 0);
    sd_line_list_make_raw(&l);
    v = l.functions[0].rows[0].values;
    CHECK(v[SD_LINE_TIME] == 4250 && v[SD_LINE_CHILD_TIME] == 3150);
    CHECK(v[SD_LINE_MIN] == 425 && v[SD_LINE_TRACING] == 0);
    CHECK(l.functions[0].time_ns == 4250 && l.functions[0].tracing_ns == 0);
    sd_line_list_release(&l);
    release(&s);
}

TEST(lined_shows_twins_apart_and_files_have_them_added_up)
{
    struct some s;
    struct sd_line_list l;
    struct sd_line_stats apart, together;

    fill(&s);
    CHECK(sd_line_list_of(&s.p, &l) == 0);
    sd_line_stats_init(&apart);
    sd_line_stats_init(&together);
    CHECK(sd_line_list_stats(&l, SD_TWINS_APART, &apart) == 0 && apart.n == N_SITES);
    CHECK(sd_line_function_hits(&apart.functions[1]) == 10);
    CHECK(sd_line_function_hits(&apart.functions[2]) == 5);
    CHECK(sd_line_list_stats(&l, SD_TWINS_TOGETHER, &together) == 0 && together.n == 2);
    CHECK(together.functions[1].n == 1 && together.functions[1].entries[0].hits == 15);
    CHECK(together.functions[1].entries[0].time == 6000);
    sd_line_stats_release(&apart);
    sd_line_stats_release(&together);
    sd_line_list_release(&l);
    release(&s);
}
