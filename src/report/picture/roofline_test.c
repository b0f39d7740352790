/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/error.h"
#include "base/test.h"
#include "report/report.h"

static struct sd_roofline_point points[] = {
    { "conv1<b>", 40, 1e11, 0.7 },
    { "fc", 0.5, 5e9, 0.2 },
    { "untimed", 3, 0, 0.1 },
};

/* False where cairo is not installed, which is then said. */
static bool draws(struct sd_out *out, enum sd_picture kind, unsigned width, size_t n)
{
    struct sd_view_roofline r = { .title = "Net",
                                  .subtitle = "peak 300G",
                                  .peak = 3e11,
                                  .bandwidth = 2e10,
                                  .points = points,
                                  .n_points = n };
    int rc;

    sd_out_to_memory(out);
    rc = sd_report_roofline(out, kind, &r, width);
    CHECK(rc == 0 || rc == SD_ELACKS);
    return rc == 0;
}

TEST(roofline_names_its_layers_and_axes)
{
    struct sd_out out;

    if (draws(&out, SD_PICTURE_SVG, 900, 3)) {
        const char *text = sd_buf_string(&out.pending);

        CHECK(strstr(text, "conv1&lt;b&gt;") && strstr(text, ">fc<") &&
              strstr(text, "untimed"));
        CHECK(strstr(text, "FLOPs a second") && strstr(text, "for each byte"));
        CHECK(!strstr(text, "nan") && !strstr(text, "inf"));
    }
    sd_out_release(&out);
}

TEST(roofline_is_drawn_in_every_kind_and_number)
{
    for (int kind = SD_PICTURE_SVG; kind <= SD_PICTURE_PDF; kind++)
        for (size_t n = 0; n <= 3; n++) {
            struct sd_out out;

            if (draws(&out, (enum sd_picture)kind, 400, n))
                CHECK(out.pending.n > 100);
            sd_out_release(&out);
        }
}

TEST(roofline_of_no_width_is_refused)
{
    struct sd_view_roofline r = { .title = "", .peak = 1, .bandwidth = 1 };
    struct sd_out out;
    int rc;

    sd_out_to_memory(&out);
    rc = sd_report_roofline(&out, SD_PICTURE_SVG, &r, 10);
    CHECK(rc == SD_EUSAGE || rc == SD_ELACKS);
    sd_out_release(&out);
}
