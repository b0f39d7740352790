/* SPDX-License-Identifier: MIT */
/* flame_svg: writes a flame graph as an SVG file of its own.
 *
 * Every box is a group: a title (what a pointer resting on it shows, and all that the
 * script knows of its name), a rectangle, and as much of the name as fits.  Everything
 * stands where it belongs for one width, so the file is a picture already; the script
 * (flame.js) only moves what is there.  Colours are classes, so that flame.css can have
 * one set for bright and one for dark. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "report/report.h"
#include "report/svg/page_files.h"
#include "report/svg/xml.h"

/* Pixels; flame.js reads them from the attributes of the root. */
enum { PAD = 12, HEAD = 70, FOOT = 40, ROW = 20, BOX = 19, TEXT_X = 4, TEXT_Y = 14 };
enum { SHADES = 8 }; /* of each kind, in flame.css */
#define COLUMN 6.7   /* width of a column of text, in pixels */
/* What is left free at the end of a box, unless so little is left of it that the gaps
 * would be all one sees. */
#define GAP 0.6
#define GAP_FROM 3

/* What a kind's classes begin with in flame.css, and what the legend calls it. */
static const struct {
    const char *letter, *words;
    bool has_shades;
} kinds[SD_FLAME_KINDS] = {
    [SD_FLAME_ALL] = { "a", NULL, false },
    [SD_FLAME_PROCESS] = { "t", "process or thread", false },
    [SD_FLAME_THREAD] = { "t", NULL, false },
    [SD_FLAME_OWN] = { "p", "the program's own Python", true },
    [SD_FLAME_LIBRARY] = { "l", "Python of libraries", true },
    [SD_FLAME_NATIVE] = { "n", "native", true },
    [SD_FLAME_MARK] = { "k", "not readable", false },
    [SD_FLAME_IDLE] = { "i", "idle", false },
    [SD_FLAME_FOLDED] = { "o", "folded", false },
};

struct drawing {
    struct sd_out *out;
    const struct sd_view_flame *f;
    unsigned width, height;
    struct sd_buf label; /* of the box at hand, with nothing unprintable */
    size_t name_n;       /* how much of it is the name */
};

/* Without the locale's comma. */
static void put_pixels(struct sd_out *out, double v)
{
    long hundredths = lround(v * 100);

    sd_out_printf(out, "%ld", hundredths / 100);
    if (hundredths % 100)
        sd_out_printf(out, ".%02ld", hundredths % 100);
}

static void put_share(struct sd_out *out, int64_t part, int64_t whole)
{
    double share = whole > 0 ? (double)part / (double)whole : 0;
    long hundredths = lround(share * 10000);

    sd_out_printf(out, "%ld.%02ld%%", hundredths / 100, hundredths % 100);
}

static void put_amount(const struct drawing *d, int64_t amount)
{
    char text[SD_TEXT_MAX];

    switch (d->f->kind) {
    case SD_CELL_NS:
        sd_out_text(d->out, sd_text_duration(text, amount));
        return;
    case SD_CELL_BYTES:
        sd_out_text(d->out, sd_text_bytes(text, amount));
        return;
    case SD_CELL_NONE:
    case SD_CELL_TEXT:
    case SD_CELL_COUNT:
    case SD_CELL_PERCENT:
    case SD_CELL_REAL:
        break;
    }
    sd_out_text(d->out, sd_text_count(text, amount));
    if (d->f->unit)
        sd_out_printf(d->out, " %s", d->f->unit);
}

static void put_text(struct sd_out *out, const char *s)
{
    sd_xml_text(out, s, strlen(s));
}

/* --- Labels */

static void make_label(struct drawing *d, const struct sd_flame_box *box)
{
    sd_buf_clear(&d->label);
    sd_text_escape(&d->label, box->name, strlen(box->name));
    d->name_n = d->label.n;
    if (box->where) {
        sd_buf_text(&d->label, " (");
        sd_text_escape(&d->label, box->where, strlen(box->where));
        sd_buf_text(&d->label, ")");
    }
    if (d->label.bad) { /* said by the flush */
        d->out->pending.bad = true;
        d->name_n = 0;
    }
}

/* How long JavaScript says it is. */
static size_t utf16_length(const char *s, size_t n)
{
    size_t units = 0;

    for (size_t i = 0; i < n; i++) {
        uint8_t byte = (uint8_t)s[i];

        units += (byte & 0xC0) != 0x80;
        units += byte >= 0xF0;
    }
    return units;
}

/* The whole label, or the name, or as much of it as there is room for.  flame.js does
 * the same for other widths. */
static void put_fitted(struct drawing *d, double pixels)
{
    const char *label = sd_buf_string(&d->label);
    size_t n = strlen(label), name_n = d->name_n, fits;
    size_t columns = pixels > 2 * TEXT_X ? (size_t)((pixels - 2 * TEXT_X) / COLUMN) : 0;

    if (columns < 2)
        return;
    sd_out_printf(d->out, "<text x=\"%d\" y=\"%d\">", TEXT_X, TEXT_Y);
    if (sd_text_width(label, n) <= columns) {
        sd_xml_text(d->out, label, n);
    } else if (sd_text_width(label, name_n) <= columns) {
        sd_xml_text(d->out, label, name_n);
    } else {
        fits = sd_text_fit(label, name_n, columns - 1);
        sd_xml_text(d->out, label, fits);
        sd_out_text(d->out, "…");
    }
    sd_out_text(d->out, "</text>");
}

/* --- Boxes */

/* The same function has the same colour in every file, whatever its line. */
static unsigned shade_of(const struct sd_flame_box *box)
{
    const char *colon = box->where ? strrchr(box->where, ':') : NULL;
    const char *texts[] = { box->name, box->where ? box->where : "" };
    uint32_t hash = 2166136261u;

    for (size_t k = 0; k < 2; k++)
        for (const char *c = texts[k]; *c && c != colon; c++)
            hash = (hash ^ (uint8_t)*c) * 16777619u;
    return (hash >> 16) % SHADES;
}

static void put_class(const struct drawing *d, const struct sd_flame_box *box)
{
    sd_out_printf(d->out, " class=\"%s", kinds[box->kind].letter);
    if (kinds[box->kind].has_shades)
        sd_out_printf(d->out, "%u", shade_of(box));
    sd_out_text(d->out, "\"");
}

/* Its first line ends in the share: that is what reads it most often. */
static void put_title(struct drawing *d, const struct sd_flame_box *box)
{
    int64_t self = box->self + box->waited;
    int64_t all = d->f->boxes[0].total;

    sd_out_text(d->out, "<title>");
    put_text(d->out, sd_buf_string(&d->label));
    sd_out_text(d->out, " (");
    put_amount(d, box->total);
    sd_out_text(d->out, ", ");
    put_share(d->out, box->total, all);
    sd_out_text(d->out, ")");
    if (self > 0) {
        sd_out_text(d->out, "\nself: ");
        put_amount(d, self);
        sd_out_text(d->out, ", ");
        put_share(d->out, self, all);
    }
    if (box->idle > 0) {
        sd_out_text(d->out, "\nidle: ");
        put_amount(d, box->idle);
        sd_out_text(d->out, ", ");
        put_share(d->out, box->idle, all);
    }
    sd_out_text(d->out, "</title>");
}

static void put_box(struct drawing *d, const struct sd_flame_box *box)
{
    double all = (double)d->f->boxes[0].total, inner = d->width - 2 * PAD;
    double x = all > 0 ? (double)box->from / all * inner : 0;
    double pixels = all > 0 ? (double)box->total / all * inner : inner;

    make_label(d, box);
    sd_out_text(d->out, "<g transform=\"translate(");
    put_pixels(d->out, PAD + x);
    sd_out_printf(d->out, ",%u)\"", HEAD + box->depth * ROW);
    put_class(d, box);
    sd_out_printf(d->out,
                  " data-v=\"%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %u %zu\">",
                  box->from, box->total, box->self + box->waited, box->idle, box->depth,
                  utf16_length(sd_buf_string(&d->label), d->name_n));
    put_title(d, box);
    sd_out_text(d->out, "<rect width=\"");
    put_pixels(d->out, pixels > GAP_FROM ? pixels - GAP : pixels);
    sd_out_printf(d->out, "\" height=\"%d\"/>", BOX);
    put_fitted(d, pixels);
    sd_out_text(d->out, "</g>\n");
}

/* --- What stands around them */

static void put_line(struct drawing *d, const char *class, unsigned y, const char *text)
{
    struct sd_buf shown = { 0 };
    size_t columns = (size_t)((d->width - 2 * PAD) / COLUMN), fits, n;

    sd_text_escape(&shown, text, strlen(text));
    n = strlen(sd_buf_string(&shown));
    fits = sd_text_fit(sd_buf_string(&shown), n, columns);
    sd_out_printf(d->out, "<text class=\"%s\" x=\"%d\" y=\"%u\">", class, PAD, y);
    sd_xml_text(d->out, sd_buf_string(&shown), fits);
    sd_out_text(d->out, fits < n ? "…</text>\n" : "</text>\n");
    d->out->pending.bad |= shown.bad;
    sd_buf_release(&shown);
}

static bool has_kind(const struct sd_view_flame *f, enum sd_flame_kind kind)
{
    for (size_t i = 0; i < f->n_boxes; i++)
        if (f->boxes[i].kind == kind)
            return true;
    return kind == SD_FLAME_PROCESS && has_kind(f, SD_FLAME_THREAD);
}

static double put_key(struct drawing *d, double x, const char *class, const char *words)
{
    sd_out_text(d->out, "<g transform=\"translate(");
    put_pixels(d->out, x);
    sd_out_printf(d->out,
                  ",0)\" class=\"%s\"><rect width=\"12\" height=\"12\"/>"
                  "<text class=\"key\" x=\"18\" y=\"10\">%s</text></g>\n",
                  class, words);
    return x + 18 + (double)strlen(words) * COLUMN + 18;
}

static void put_legend(struct drawing *d)
{
    double x = 0;
    char class[4];

    sd_out_printf(d->out, "<g class=\"legend\" transform=\"translate(%d,%u)\">\n", PAD,
                  d->height - FOOT + 16);
    for (unsigned k = 0; k < SD_FLAME_KINDS; k++) {
        if (!kinds[k].words || !has_kind(d->f, k))
            continue;
        snprintf(class, sizeof class, "%s%s", kinds[k].letter,
                 kinds[k].has_shades ? "3" : "");
        x = put_key(d, x, class, kinds[k].words);
    }
    sd_out_text(d->out, "</g>\n");
}

static void put_head(struct drawing *d)
{
    const struct sd_view_flame *f = d->f;

    sd_out_printf(d->out,
                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" "
                  "height=\"%u\" viewBox=\"0 0 %u %u\" class=\"sonde-flame\" "
                  "data-pad=\"%d\" data-head=\"%d\" data-foot=\"%d\" data-row=\"%d\" "
                  "data-unit=\"%s\"",
                  d->width, d->height, d->width, d->height, PAD, HEAD, FOOT, ROW,
                  f->kind == SD_CELL_NS      ? "ns"
                  : f->kind == SD_CELL_BYTES ? "bytes"
                  : f->unit                  ? f->unit
                                             : "");
    if (f->search) {
        sd_out_text(d->out, " data-search=\"");
        put_text(d->out, f->search);
        sd_out_text(d->out, "\"");
    }
    sd_out_text(d->out, ">\n<title>");
    put_text(d->out, f->title);
    sd_out_text(d->out, "</title>\n<style>\n");
    sd_out_text(d->out, sd_flame_css);
    sd_out_text(d->out, "</style>\n<rect class=\"ground\" width=\"100%\" "
                        "height=\"100%\"/>\n");
    put_line(d, "title", 26, f->title);
    put_line(d, "subtitle", 46, f->subtitle);
    if (f->note)
        put_line(d, "subtitle", 62, f->note);
}

void sd_report_flame(struct sd_out *out, const struct sd_view_flame *f, unsigned width)
{
    struct drawing d = { .out = out, .f = f, .width = width };

    d.height = HEAD + f->n_levels * ROW + FOOT;
    put_head(&d);
    sd_out_text(out, "<g class=\"boxes\">\n");
    for (size_t i = 0; i < f->n_boxes; i++)
        put_box(&d, &f->boxes[i]);
    sd_out_text(out, "</g>\n");
    put_legend(&d);
    sd_out_text(out, "<script><![CDATA[\n");
    sd_out_text(out, sd_picture_js);
    sd_out_text(out, sd_flame_js);
    sd_out_text(out, "]]></script>\n</svg>\n");
    sd_buf_release(&d.label);
}
