/* SPDX-License-Identifier: MIT */
#include <math.h>
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
    static const unsigned widths[] = { 200, 1000, 3000 };
    static const size_t numbers[] = { 0, 1, 3, 60 };
    struct sd_out out;

    for (int kind = SD_PICTURE_SVG; kind <= SD_PICTURE_PDF; kind++)
        for (size_t i = 0; i < 12; i++) {
            draws(&out, (enum sd_picture)kind, widths[i / 4], numbers[i % 4],
                  1 + i % 2);
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
    rc = sd_report_bars(&out, SD_PICTURE_SVG, &b, 10);
    CHECK(rc == SD_EUSAGE || rc == SD_ELACKS);
    sd_out_release(&out);
}
