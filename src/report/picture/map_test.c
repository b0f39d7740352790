/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/error.h"
#include "base/test.h"
#include "report/report.h"

/* A residual block: conv1, relu, add; what comes in goes round. */
static struct sd_view_map make_view(void)
{
    static struct sd_map_box boxes[] = {
        { "conv1<b>", "Conv2d", "118.01M MACs, 90.0 %", 0.9 },
        { "relu", "ReLU", NULL, 0 },
        { "fc", "Linear", "0.5M MACs, 10.0 %", 0.1 },
    };
    static struct sd_map_link links[] = {
        { 0, 1, "1×64×56×56" }, { 1, 2, NULL }, { 0, 2, NULL },
        { 2, 2, NULL },         { 9, 0, NULL }, { 2, 0, NULL },
    };

    return (struct sd_view_map){ .title = "Layers",
                                 .subtitle = "a block",
                                 .quantity = "coloured by MACs",
                                 .boxes = boxes,
                                 .n_boxes = 3,
                                 .links = links,
                                 .n_links = 6 };
}

static bool draws(struct sd_out *out, enum sd_picture kind, const struct sd_view_map *m)
{
    int rc;

    sd_out_to_memory(out);
    rc = sd_report_map(out, kind, m);
    CHECK(rc == 0 || rc == SD_ELACKS);
    return rc == 0;
}

TEST(map_has_boxes_with_words_that_are_only_text)
{
    struct sd_view_map m = make_view();
    struct sd_out out;

    if (draws(&out, SD_PICTURE_SVG, &m)) {
        const char *text = sd_buf_string(&out.pending);

        CHECK(strstr(text, "conv1&lt;b&gt;") && !strstr(text, "<b>"));
        CHECK(strstr(text, "Conv2d") && strstr(text, "118.01M MACs, 90.0 %"));
        CHECK(strstr(text, "1×64×56×56") && strstr(text, ">relu<"));
        CHECK(!strstr(text, "nan") && !strstr(text, "inf"));
    }
    sd_out_release(&out);
}

TEST(map_is_drawn_in_every_kind_and_of_nothing)
{
    struct sd_view_map m = make_view(), none = { .title = "nothing" };
    struct sd_out out;

    for (int kind = SD_PICTURE_SVG; kind <= SD_PICTURE_PDF; kind++) {
        draws(&out, (enum sd_picture)kind, &m);
        sd_out_release(&out);
        draws(&out, (enum sd_picture)kind, &none);
        sd_out_release(&out);
    }
}

TEST(map_that_nobody_could_look_at_is_refused_with_a_way_out)
{
    static struct sd_map_box boxes[2000];
    static struct sd_map_link links[2000];
    struct sd_view_map m = { .title = "much", .boxes = boxes, .n_boxes = 2000 };
    struct sd_out out;
    int rc;

    for (uint32_t i = 0; i < 2000; i++) {
        boxes[i].name = "layer";
        links[i] = (struct sd_map_link){ i ? i - 1 : 0, i, NULL };
    }
    m.links = links;
    m.n_links = 2000;
    sd_out_to_memory(&out);
    rc = sd_report_map(&out, SD_PICTURE_SVG, &m);
    CHECK(rc == SD_EUSAGE || rc == SD_ELACKS);
    CHECK(rc != SD_EUSAGE || strstr(sd_fail_text(), "--depth"));
    sd_out_release(&out);
}
