/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/error.h"
#include "base/test.h"
#include "report/report.h"

/* Two functions: one with points over three decades, one with a single point, as a
 * capture that lies might have it. */
static struct sd_view_growth make_view(struct sd_growth_mark marks[16])
{
    static struct sd_growth_panel panels[2];

    for (int i = 0; i < 16; i++)
        marks[i] = (struct sd_growth_mark){ 10.0 * (1 << i), 100.0 * (1 << i) };
    panels[0] = (struct sd_growth_panel){ .title = "pairs<script>  a.py:5",
                                          .subtitle = "n²; exponent 2.00",
                                          .argument = "len(rows)",
                                          .is_flagged = true,
                                          .points = marks,
                                          .n_points = 10,
                                          .curve = marks,
                                          .n_curve = 16,
                                          .measured_to = marks[9].n,
                                          .linear_slope = 1 };
    panels[1] = panels[0];
    panels[1].n_points = panels[1].n_curve = 1;
    return (struct sd_view_growth){
        .title = "Growth", .quantity = "time of a call", .panels = panels, .n_panels = 2
    };
}

/* False where cairo is not installed, which is then said. */
static bool draws(struct sd_out *out, enum sd_picture kind, unsigned width)
{
    struct sd_growth_mark marks[16];
    struct sd_view_growth g = make_view(marks);
    int rc;

    sd_out_to_memory(out);
    rc = sd_report_growth(out, kind, &g, width);
    CHECK(rc == 0 || rc == SD_ELACKS);
    return rc == 0;
}

TEST(growth_is_drawn_with_names_that_are_only_text)
{
    struct sd_out out;

    if (draws(&out, SD_PICTURE_SVG, 1000)) {
        const char *text = sd_buf_string(&out.pending);

        CHECK(strstr(text, "<svg") && strstr(text, "</svg>"));
        CHECK(strstr(text, "len(rows)") && strstr(text, "exponent 2.00"));
        CHECK(strstr(text, "100 µs") && strstr(text, "1,000"));
        CHECK(!strstr(text, "<script") && !strstr(text, "nan") && !strstr(text, "inf"));
    }
    sd_out_release(&out);
}

TEST(growth_is_drawn_in_every_kind_and_width)
{
    static const unsigned widths[] = { 200, 699, 3000 };
    struct sd_out out;

    for (int kind = SD_PICTURE_SVG; kind <= SD_PICTURE_PDF; kind++)
        for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
            draws(&out, (enum sd_picture)kind, widths[i]);
            sd_out_release(&out);
        }
}

TEST(growth_refuses_widths_nobody_can_look_at)
{
    struct sd_growth_mark marks[16];
    struct sd_view_growth g = make_view(marks);
    struct sd_out out;
    int rc;

    sd_out_to_memory(&out);
    rc = sd_report_growth(&out, SD_PICTURE_SVG, &g, 10);
    CHECK(rc == SD_EUSAGE || rc == SD_ELACKS);
    sd_out_release(&out);
}
