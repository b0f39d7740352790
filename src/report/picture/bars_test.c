/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/test.h"
#include "report/report.h"

static struct sd_bar bars[500] = {
    { "conv1<script>", "Conv2d", { 118013952, 802816 } },
    { "fc", "Linear", { 512000, 0 } },
    { "a.name.that.goes.on.and.on.for.longer.than.any.picture.is.wide.and.then.some",
      NULL,
      { 0, 1 } },
};

static struct sd_view_bars make_view(size_t n_bars, size_t n_series)
{
    for (size_t i = 3; i < 500; i++)
        bars[i] = (struct sd_bar){ "layer", "ReLU", { (double)i, NAN } };
    return (struct sd_view_bars){ .title = "Memory",
                                  .subtitle = "ResNet",
                                  .series = { "read", "written" },
                                  .n_series = n_series,
                                  .kind = SD_CELL_COUNT,
                                  .bars = bars,
                                  .n_bars = n_bars };
}

/* False where cairo is not installed, which is then said. */
static bool draws(struct sd_out *out, enum sd_picture kind, unsigned width, size_t n,
                  size_t n_series)
{
    struct sd_view_bars b = make_view(n, n_series);
    int rc;

    sd_out_to_memory(out);
    rc = sd_report_bars(out, kind, &b, width);
    CHECK(rc == 0 || rc == SD_ELACKS);
    return rc == 0;
}

TEST(bars_have_their_names_and_numbers_as_text)
{
    struct sd_out out;

    if (draws(&out, SD_PICTURE_SVG, 900, 2, 2)) {
        const char *text = sd_buf_string(&out.pending);

        CHECK(strstr(text, "conv1&lt;script&gt;") && !strstr(text, "<script"));
        CHECK(strstr(text, ">fc<") && strstr(text, "118.01M") &&
              strstr(text, "802.82K"));
        CHECK(strstr(text, "read") && strstr(text, "written"));
        CHECK(!strstr(text, "nan") && !strstr(text, "inf"));
    }
    sd_out_release(&out);
}

TEST(bars_are_drawn_in_every_kind_width_and_number)
{
    static const unsigned widths[] = { 300, 1000, 3000 };
    static const size_t numbers[] = { 0, 1, 3, 60 };
    struct sd_out out;

    for (int kind = SD_PICTURE_SVG; kind <= SD_PICTURE_PDF; kind++)
        for (size_t i = 0; i < 12; i++) {
            draws(&out, (enum sd_picture)kind, widths[i / 4], numbers[i % 4],
                  1 + i % 2);
            sd_out_release(&out);
        }
}

/* Ticks are words of one size in the middle of their place; *nearest is the least way
 * from one to the next. */
static size_t count_ticks(const char *svg, double *nearest)
{
    static const char tick[] = "font-size=\"11.0\" text-anchor=\"middle\"";
    double before = -INFINITY;
    size_t n = 0;

    *nearest = INFINITY;
    for (const char *at = svg; (at = strstr(at, "<text x=\"")); at++) {
        const char *found = strstr(at, tick);
        double x;

        if (!found || found > strchr(at, '>') || sscanf(at, "<text x=\"%lf", &x) != 1)
            continue;
        *nearest = fmin(*nearest, x - before);
        before = x;
        n++;
    }
    return n;
}

TEST(bars_have_as_many_ticks_as_there_is_room_for)
{
    struct sd_out out;
    double nearest;
    size_t n;

    for (unsigned width = 300; width <= 1000; width += 50) {
        if (draws(&out, SD_PICTURE_SVG, width, 60, 1)) {
            n = count_ticks(sd_buf_string(&out.pending), &nearest);
            CHECK(n >= 2 && n <= 6);
            CHECK(nearest > 30); /* "100M" is 29 wide */
        }
        sd_out_release(&out);
    }
}

TEST(bars_have_their_legend_in_several_lines_where_it_does_not_fit)
{
    struct sd_out out;

    for (unsigned width = 300; width <= 1000; width += 700) {
        struct sd_view_bars b = make_view(3, 2);
        int rc;

        b.series[0] = "read: inputs and parameters";
        b.series[1] = "written: outputs";
        sd_out_to_memory(&out);
        rc = sd_report_bars(&out, SD_PICTURE_SVG, &b, width);
        CHECK(rc == 0 || rc == SD_ELACKS);
        if (rc == 0) {
            const char *text = sd_buf_string(&out.pending);

            CHECK(strstr(text, ">written: outputs<"));
            CHECK(!strstr(text, "x=\"33.0\" y=\"96.0\"") == (width == 1000));
        }
        sd_out_release(&out);
    }
}

TEST(bars_that_are_too_many_are_counted)
{
    struct sd_out out;

    if (draws(&out, SD_PICTURE_SVG, 900, 500, 1))
        CHECK(strstr(sd_buf_string(&out.pending), "100 more are not drawn"));
    sd_out_release(&out);
}

TEST(bars_refuse_widths_nobody_can_look_at)
{
    struct sd_view_bars b = make_view(3, 1);
    struct sd_out out;
    int rc;

    sd_out_to_memory(&out);
    rc = sd_report_bars(&out, SD_PICTURE_SVG, &b, 299);
    CHECK(rc == SD_EUSAGE || rc == SD_ELACKS);
    sd_out_release(&out);
}
