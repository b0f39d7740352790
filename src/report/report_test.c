/* SPDX-License-Identifier: MIT */
#include "report/report.h"

#include <string.h>

#include "base/error.h"
#include "base/test.h"
#include "base/text.h"
#include "report/picture/axis.h"

/* A terminal would clear itself, a spreadsheet calculate, a browser run this, an
 * editor show the rest the other way round. */
#define HOSTILE "=1\033[2J,\"<script>\xe2\x80\xae\xff\n"

static const struct sd_column columns[] = {
    { "section", "a name", SD_CELL_TEXT, false, 0 },
    { "count", "how often", SD_CELL_COUNT, false, 1 },
    { "wall", "how long", SD_CELL_NS, false, 0 },
    { "share", "of all", SD_CELL_PERCENT, false, 2 },
    { "peak_rss", "memory", SD_CELL_BYTES, false, 3 },
    { "secret", "only for machines", SD_CELL_COUNT, true, 0 },
};
enum { N_COLUMNS = sizeof columns / sizeof columns[0] };

static struct sd_view_table *make_table(struct sd_view *v, const char *name)
{
    struct sd_view_table *t =
        sd_view_add(v, "sections", "Sections", columns, N_COLUMNS, 2);

    CHECK(t);
    *sd_view_cell(t, 0, 0) = sd_cell_text(name);
    *sd_view_cell(t, 0, 1) = sd_cell_number(SD_CELL_COUNT, 1234567);
    *sd_view_cell(t, 0, 2) = sd_cell_number(SD_CELL_NS, 1500000000);
    *sd_view_cell(t, 0, 3) = sd_cell_real(SD_CELL_PERCENT, 41.25);
    *sd_view_cell(t, 0, 4) = sd_cell_number(SD_CELL_BYTES, 3 << 20);
    *sd_view_cell(t, 0, 5) = sd_cell_number(SD_CELL_COUNT, 99);
    *sd_view_cell(t, 1, 0) = sd_cell_text("b");
    return t;
}

static const char *text_of(struct sd_out *out, const struct sd_view_table *t,
                           size_t width)
{
    struct sd_text_style style = { .width = width };

    sd_out_to_memory(out);
    sd_report_table_text(out, t, &style);
    return sd_buf_string(&out->pending);
}

TEST(table_text_aligns_numbers_right_and_names_left)
{
    struct sd_view v = { 0 };
    struct sd_out out;

    CHECK(strcmp(text_of(&out, make_table(&v, "a"), 0),
                 "Sections\n"
                 "section      count   wall  share  peak_rss\n"
                 "a        1,234,567  1.5 s  41.2%   3.0 MiB\n"
                 "b\n") == 0);
    sd_out_release(&out);
    sd_view_release(&v);
}

static size_t widest_line(const char *text)
{
    size_t widest = 0;

    while (*text) {
        size_t n = strcspn(text, "\n"), width = sd_text_width(text, n);

        widest = width > widest ? width : widest;
        text += n + (text[n] != 0);
    }
    return widest;
}

TEST(table_text_fits_the_terminal)
{
    struct sd_view v = { 0 };
    struct sd_out out;
    const char *text;

    text = text_of(
        &out, make_table(&v, "outer:a rather long name of a section:日本語:inner"), 60);
    CHECK(widest_line(text) == 60 && strstr(text, "…") && strstr(text, ":inner "));
    sd_out_release(&out);
    text = text_of(&out, &v.tables[0], 40);
    CHECK(widest_line(text) <= 40);
    CHECK(!strstr(text, "3.0 MiB") && strstr(text, "no room for: share, peak_rss"));
    CHECK(strstr(text, "1.5 s"));
    sd_out_release(&out);
    sd_view_release(&v);
}

TEST(table_text_aligns_what_stands_behind_wide_names)
{
    struct sd_view v = { 0 };
    struct sd_out out;
    const char *text = text_of(&out, make_table(&v, "日本語の関数"), 0);
    const char *head = strstr(text, "count"), *row = strstr(text, "1,234,567");
    const char *line = strstr(text, "日");

    /* Both end in the same column of the terminal, whatever their bytes. */
    CHECK(sd_text_width(strchr(text, '\n') + 1,
                        (size_t)(head + 5 - (strchr(text, '\n') + 1))) ==
          sd_text_width(line, (size_t)(row + 9 - line)));
    sd_out_release(&out);
    sd_view_release(&v);
}

TEST(table_text_shows_hostile_names_and_sends_nothing_to_the_terminal)
{
    struct sd_view v = { 0 };
    struct sd_out out;
    const char *text = text_of(&out, make_table(&v, HOSTILE), 0);

    CHECK(strstr(text, "\\x1b[2J") && !strchr(text, '\033'));
    CHECK(strstr(text, "\\u202e") && !strstr(text, "\xe2\x80\xae"));
    sd_out_release(&out);
    sd_view_release(&v);
}

TEST(table_text_indents_trees)
{
    struct sd_view v = { 0 };
    struct sd_view_table *t = make_table(&v, "outer");
    int32_t parents[] = { -1, 0 };
    struct sd_out out;

    t->parents = parents;
    CHECK(strstr(text_of(&out, t, 0), "\n  b\n"));
    sd_out_release(&out);
    sd_view_release(&v);
}

TEST(table_text_is_coloured_only_when_asked)
{
    struct sd_text_style style = { .colour = true };
    struct sd_view v = { 0 };
    struct sd_out out;

    sd_out_to_memory(&out);
    sd_report_table_text(&out, make_table(&v, "a"), &style);
    CHECK(strstr(sd_buf_string(&out.pending), "\033[1mSections\033[0m"));
    sd_out_release(&out);
    sd_view_release(&v);
}

TEST(table_csv_has_raw_numbers_and_every_column)
{
    struct sd_view v = { 0 };
    struct sd_out out;

    sd_out_to_memory(&out);
    sd_report_table_csv(&out, make_table(&v, "a,b"));
    CHECK(strcmp(sd_buf_string(&out.pending),
                 "section,count,wall,share,peak_rss,secret\r\n"
                 "\"a,b\",1234567,1500000000,41.25,3145728,99\r\n"
                 "b,,,,,\r\n") == 0);
    sd_out_release(&out);
    sd_view_release(&v);
}

TEST(table_json_has_raw_numbers_and_nulls)
{
    struct sd_view v = { 0 };
    struct sd_out out;
    struct sd_json j;

    sd_out_to_memory(&out);
    sd_json_init(&j, &out, false);
    sd_json_object(&j);
    sd_report_table_json(&j, make_table(&v, "</script>"));
    sd_json_end(&j);
    CHECK(strcmp(sd_buf_string(&out.pending),
                 "{\"sections\":[{\"section\":\"\\u003c/script>\",\"count\":1234567,"
                 "\"wall\":1500000000,\"share\":41.25,\"peak_rss\":3145728,"
                 "\"secret\":99},{\"section\":\"b\",\"count\":null,\"wall\":null,"
                 "\"share\":null,\"peak_rss\":null,\"secret\":null}]}") == 0);
    sd_out_release(&out);
    sd_view_release(&v);
}

TEST(table_text_says_when_memory_is_short)
{
    struct sd_view v = { 0 };
    struct sd_view_table *t = make_table(&v, "a");

    EACH_FAILURE(nth)
    {
        struct sd_out out;
        const char *text = text_of(&out, t, 30);

        CHECK(out.pending.bad || strstr(text, "out of memory") ||
              strstr(text, "1.5 s"));
        sd_out_release(&out);
    }
    sd_view_release(&v);
}

/* --- Axes */

static bool ticks_are(const struct sd_axis *a, const char *wanted)
{
    char all[256] = "", text[32];
    double at;

    for (int i = 0; sd_axis_tick(a, i, &at) && i < 20; i++) {
        sd_axis_text(a, at, text, sizeof text);
        strcat(strcat(all, text), " ");
    }
    return strcmp(all, wanted) == 0;
}

TEST(axes_have_round_ticks_in_units_people_use)
{
    struct sd_axis a = sd_axis_of_values(SD_CELL_BYTES, 163.4 * 1048576, 6);

    CHECK(strcmp(a.unit, "MiB") == 0 && ticks_are(&a, "0 50 100 150 200 "));
    a = sd_axis_of_values(SD_CELL_BYTES, 1.4 * 1073741824, 6);
    CHECK(strcmp(a.unit, "GiB") == 0 && ticks_are(&a, "0.0 0.5 1.0 1.5 2.0 "));
    a = sd_axis_of_values(SD_CELL_PERCENT, 99, 6);
    CHECK(strcmp(a.unit, "%") == 0 && ticks_are(&a, "0 20 40 60 80 100 120 "));
    a = sd_axis_of_values(SD_CELL_COUNT, 2, 6);
    CHECK(ticks_are(&a, "0 1 2 3 "));
    a = sd_axis_of_time(0, 1.2, 6);
    CHECK(strcmp(a.unit, "s") == 0 && ticks_are(&a, "0.0 0.2 0.4 0.6 0.8 1.0 1.2 "));
    a = sd_axis_of_time(0.3, 1.25, 6);
    CHECK(ticks_are(&a, "0.4 0.6 0.8 1.0 1.2 "));
    a = sd_axis_of_time(0, 0.05, 6);
    CHECK(strcmp(a.unit, "ms") == 0 && ticks_are(&a, "0 10 20 30 40 50 "));
    a = sd_axis_of_time(0, 36000, 6);
    CHECK(strcmp(a.unit, "h") == 0 && ticks_are(&a, "0 2 4 6 8 10 "));
}

TEST(axes_stand_whatever_they_are_given)
{
    static const double odd[] = { 0, -1, 1e-300, 1e300, 1.0 / 0.0, 0.0 / 0.0 };
    double at;

    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        struct sd_axis y = sd_axis_of_values(SD_CELL_BYTES, odd[i], 5);
        struct sd_axis x = sd_axis_of_time(0, odd[i], 5);

        CHECK(y.step > 0 && y.to > 0 && sd_axis_tick(&y, 0, &at));
        CHECK(x.step > 0 && x.to > x.from && sd_axis_tick(&x, 0, &at));
    }
}

/* --- Pictures */

/* Under AddressSanitizer: what fontconfig has read it keeps for the life of the
 * process, and that is no leak of ours. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libfontconfig"; }

static struct sd_curve_point points[] = { { 0, 5, 5, 5 },
                                          { 0.5, 90 << 20, 99 << 20, 95 << 20 },
                                          { 1, 1, 1, 1 } };
static struct sd_curve curves[] = {
    { .name = HOSTILE, .kind = SD_CELL_BYTES, .points = points, .n_points = 3 },
    { .name = "all processes",
      .kind = SD_CELL_BYTES,
      .is_total = true,
      .points = points,
      .n_points = 3 },
};
static struct sd_band bands[] = { { HOSTILE, 0.1, 0.9, 0, 1 },
                                  { "x", 0.2, 0.3, 1, 12 } };

static struct sd_view_series make_series(void)
{
    return (struct sd_view_series){
        .title = "Memory <over> \"time\" & more",
        .subtitle = HOSTILE,
        .quantity = "resident memory",
        .curves = curves,
        .n_curves = 2,
        .bands = bands,
        .n_bands = 2,
        .to = 1,
        .peak = 99 << 20,
        .peak_t = 0.5,
        .peak_label = "peak 99.0 MiB at 500 ms",
        .mark = -1,
    };
}

/* False when cairo is not installed here, which is then said. */
static bool draws(enum sd_picture kind, const struct sd_view_series *s,
                  struct sd_out *out)
{
    int rc;

    sd_out_to_memory(out);
    rc = sd_report_plot(out, kind, s, 1000, 600);
    CHECK(rc == 0 || rc == SD_ELACKS);
    if (rc == SD_ELACKS)
        CHECK(strstr(sd_fail_text(), "cairo") || strstr(sd_fail_text(), "peg"));
    return rc == 0;
}

TEST(plots_are_files_of_their_kind)
{
    static const struct {
        enum sd_picture kind;
        const char *magic;
    } kinds[] = {
        { SD_PICTURE_SVG, "<?xml" },
        { SD_PICTURE_PNG, "\x89PNG" },
        { SD_PICTURE_JPEG, "\xff\xd8\xff" },
        { SD_PICTURE_PDF, "%PDF-" },
    };
    struct sd_view_series s = make_series();

    for (size_t i = 0; i < 4; i++) {
        struct sd_out out;

        if (draws(kinds[i].kind, &s, &out))
            CHECK(out.pending.n > 1000 &&
                  memcmp(out.pending.p, kinds[i].magic, strlen(kinds[i].magic)) == 0);
        sd_out_release(&out);
    }
}

TEST(plots_as_svg_have_real_and_harmless_text)
{
    struct sd_view_series s = make_series();
    struct sd_out out;
    const char *text;

    if (draws(SD_PICTURE_SVG, &s, &out)) {
        text = sd_buf_string(&out.pending);
        CHECK(strstr(text, ">resident memory (MiB)</text>"));
        CHECK(strstr(text, ">time (s)</text>"));
        CHECK(strstr(text, "<title>Memory &lt;over&gt; &quot;time&quot; &amp; more<"));
        CHECK(strstr(text, "peak 99.0 MiB at 500 ms"));
        CHECK(strstr(text, "&lt;script&gt;") && !strstr(text, "<script"));
        CHECK(!strchr(text, '\033') && !strstr(text, "\xe2\x80\xae"));
    }
    sd_out_release(&out);
}

TEST(plots_of_nothing_and_of_anything_are_drawn)
{
    struct sd_view_series s = { .peak = -1, .mark = -1 };
    struct sd_out out;

    draws(SD_PICTURE_PNG, &s, &out);
    sd_out_release(&out);
    s = make_series();
    s.from = s.to = 5; /* a run without a length */
    s.peak = s.mark = 1e300;
    s.mark_label = HOSTILE;
    draws(SD_PICTURE_PNG, &s, &out);
    sd_out_release(&out);
}

TEST(plots_say_the_slope_of_each_curve)
{
    struct sd_curve with_trend = curves[0];
    struct sd_view_series s = make_series();
    struct sd_out out;

    with_trend.name = "work";
    with_trend.has_trend = true;
    with_trend.slope = 1.25 * (1 << 20);
    s.curves = &with_trend;
    s.n_curves = 1;
    if (draws(SD_PICTURE_PDF, &s, &out))
        CHECK(out.pending.n > 1000);
    sd_out_release(&out);
}

TEST(plots_draw_sections_as_boxes)
{
    struct sd_view_series s = make_series();
    struct sd_out strip, boxes;

    if (draws(SD_PICTURE_SVG, &s, &strip)) {
        s.has_boxes = true;
        draws(SD_PICTURE_SVG, &s, &boxes);
        CHECK(boxes.pending.n > 1000 &&
              (boxes.pending.n != strip.pending.n ||
               memcmp(boxes.pending.p, strip.pending.p, boxes.pending.n) != 0));
        s.n_bands = 0;
        sd_out_release(&boxes);
        draws(SD_PICTURE_SVG, &s, &boxes);
        sd_out_release(&boxes);
    }
    sd_out_release(&strip);
}

/* Each is cut somewhere to fit its band, and never inside a character. */
TEST(plots_shorten_names_of_any_script)
{
    static char longest[400] = "a";
    struct sd_band many[] = {
        { "セクションの名前はとても長いので入りません", 0.0, 0.12, 0, 1 },
        { "a\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9", 0.2, 0.26, 0, 2 },
        { longest, 0.3, 0.9, 0, 3 }
    };
    struct sd_view_series s = make_series();
    struct sd_out out;

    for (size_t i = 1; i + 2 < sizeof longest; i += 2)
        memcpy(longest + i, "\xC3\xA9", 2);
    s.bands = many;
    s.n_bands = 3;
    for (double to = 1; to < 8; to += 0.5) { /* bands grow narrow */
        s.to = to;
        draws(SD_PICTURE_SVG, &s, &out);
        sd_out_release(&out);
    }
}

TEST(plots_refuse_sizes_nobody_can_look_at)
{
    struct sd_view_series s = make_series();
    struct sd_out out;

    sd_out_to_memory(&out);
    CHECK(sd_report_plot(&out, SD_PICTURE_PNG, &s, 10, 600) == SD_EUSAGE ||
          strstr(sd_fail_text(), "without cairo"));
    sd_out_release(&out);
}
