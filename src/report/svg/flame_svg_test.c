/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "report/report.h"
#include "report/svg/page_files.h"
#include "report/svg/xml.h"

static const char *escaped(struct sd_out *out, const char *s)
{
    sd_out_to_memory(out);
    sd_xml_text(out, s, strlen(s));
    return sd_buf_string(&out->pending);
}

static void check_escaped(const char *s, const char *wanted)
{
    struct sd_out out;

    CHECK(strcmp(escaped(&out, s), wanted) == 0);
    sd_out_release(&out);
}

TEST(xml_text_can_end_nothing)
{
    check_escaped("plain 日本", "plain 日本");
    check_escaped("</script>", "&lt;/script&gt;");
    check_escaped("a\"b'c&d]]>", "a&quot;b&#39;c&amp;d]]&gt;");
    check_escaped("\033[2J\n", "\\x1b[2J\\n");
    check_escaped("\xff\xe2\x80\xae", "\\xff\\u202e");
    check_escaped("x\xef\xbf\xbfy\xef\xbf\xbe", "x\xef\xbf\xbdy\xef\xbf\xbd");
    check_escaped("", "");
}

#define HOSTILE "]]></script><script>x('\"&\033\xff\xe2\x80\xae"

/* The whole of 100: a of 60 with a hostile child of 40, b of 0.5, idle. */
static struct sd_flame_box boxes[] = {
    { "all", NULL, SD_FLAME_ALL, UINT32_MAX, 0, 0, 1000, 395, 5, 0 },
    { "a", "app.py:12", SD_FLAME_OWN, 0, 1, 0, 600, 150, 50, 50 },
    { HOSTILE, HOSTILE, SD_FLAME_NATIVE, 1, 2, 0, 400, 400, 0, 0 },
    { "日本語の関数", "b.py:1", SD_FLAME_LIBRARY, 0, 1, 600, 5, 5, 5, 0 },
};
static const struct sd_view_flame view = { .title = HOSTILE,
                                           .subtitle = HOSTILE,
                                           .note = HOSTILE,
                                           .unit = "samples",
                                           .kind = SD_CELL_COUNT,
                                           .boxes = boxes,
                                           .n_boxes = 4,
                                           .n_levels = 3 };

static const char *drawn(struct sd_out *out, unsigned width)
{
    sd_out_to_memory(out);
    sd_report_flame(out, &view, width);
    CHECK(!out->pending.bad);
    return sd_buf_string(&out->pending);
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;

    while ((text = strstr(text, part))) {
        n++;
        text += strlen(part);
    }
    return n;
}

TEST(flame_svg_is_one_script_whatever_names_say)
{
    struct sd_out out;
    const char *svg = drawn(&out, 1200);

    CHECK(count(svg, "<script") == 1 && count(svg, "</script>") == 1);
    CHECK(count(svg, "]]>") == 1 && count(svg, "<![CDATA[") == 1);
    CHECK(strstr(svg, "]]&gt;&lt;/script&gt;&lt;script&gt;x(&#39;&quot;&amp;\\x1b"));
    CHECK(!strchr(svg, '\033') && !strchr(svg, '\xff'));
    CHECK(!strstr(svg, "\xe2\x80\xae"));
    sd_out_release(&out);
}

TEST(flame_svg_says_name_place_amount_and_share)
{
    struct sd_out out;
    const char *svg = drawn(&out, 1024);

    CHECK(strstr(svg, "<title>a (app.py:12) (600 samples, 60.00%)\n"
                      "self: 200 samples, 20.00%\nidle: 50 samples, 5.00%</title>"));
    CHECK(strstr(svg, "<title>日本語の関数 (b.py:1) (5 samples, 0.50%)"));
    CHECK(strstr(svg, "data-v=\"600 5 5 5 1 6\"")); /* six letters of UTF-16 */
    /* 1000 pixels inside the margins are 1000 samples. */
    CHECK(strstr(svg, "translate(12,70)"));
    CHECK(strstr(svg, "<rect width=\"599.40\" height=\"19\"/>"));
    CHECK(strstr(svg, "translate(612,90)"));
    CHECK(
        strstr(svg, "<rect width=\"4.40\" height=\"19\"/></g>")); /* no room for text */
    CHECK(strstr(svg, "\nidle: 5 samples, 0.50%</title>"));
    sd_out_release(&out);
}

/* The class of the first box of this name. */
static void class_of(const char *svg, const char *name, char class[8])
{
    const char *at = strstr(svg, name);

    CHECK(at);
    while (at > svg && strncmp(at, "class=\"", 7) != 0)
        at--;
    snprintf(class, 8, "%.*s", (int)strcspn(at + 7, "\""), at + 7);
}

TEST(flame_svg_has_one_colour_for_a_function_whatever_the_line)
{
    char one[8], other[8];
    struct sd_out out;

    class_of(drawn(&out, 1200), "<title>a (app.py:12)", one);
    sd_out_release(&out);
    boxes[1].where = "app.py:99";
    class_of(drawn(&out, 1200), "<title>a (app.py:99)", other);
    sd_out_release(&out);
    boxes[1].where = "app.py:12";
    CHECK(one[0] == 'p' && strcmp(one, other) == 0);
}

TEST(flame_svg_asks_the_network_for_nothing_and_its_script_is_small)
{
    struct sd_out out;
    const char *svg = drawn(&out, 1200);

    CHECK(count(svg, "http") == count(svg, "http://www.w3.org/"));
    CHECK(!strstr(svg, "url(") && !strstr(svg, "@import") && !strstr(svg, "href"));
    CHECK(strlen(sd_flame_js) < 20000 && strlen(sd_flame_js) > 1000);
    CHECK(!strstr(sd_flame_js, "]]>") && !strstr(sd_flame_css, "<"));
    sd_out_release(&out);
}

TEST(flame_svg_survives_every_allocation_that_fails)
{
    EACH_FAILURE(nth)
    {
        struct sd_out out;

        sd_out_to_memory(&out);
        sd_report_flame(&out, &view, 800);
        sd_out_release(&out);
    }
}
