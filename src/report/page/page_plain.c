/* SPDX-License-Identifier: MIT */
/* page_plain: writes the head and the hottest functions as plain HTML, which is all
 * that a reader without script has.  Text of strangers is escaped. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "report/page/page_shapes.h"
#include "report/svg/xml.h"

static void put_text(struct sd_out *out, const char *s)
{
    sd_xml_text(out, s, sd_text_whole(s, strnlen(s, SD_PAYLOAD_NAME)));
    if (strnlen(s, SD_PAYLOAD_NAME + 1) > SD_PAYLOAD_NAME)
        sd_out_text(out, "…");
}

static void put_paragraph(struct sd_out *out, const char *s)
{
    if (!s)
        return;
    sd_out_text(out, "<p>");
    put_text(out, s);
    sd_out_text(out, "</p>\n");
}

static void put_items(struct sd_out *out, const struct sd_page *page)
{
    sd_out_text(out, "<dl>\n");
    for (size_t i = 0; i < page->n_items; i++) {
        sd_out_text(out, "<dt>");
        put_text(out, page->items[i].label);
        sd_out_text(out, "</dt><dd>");
        put_text(out, page->items[i].value);
        sd_out_text(out, "</dd>\n");
    }
    sd_out_text(out, "</dl>\n");
}

static void put_cell(struct sd_out *out, const struct sd_cell *c,
                     const struct sd_column *column)
{
    char text[SD_TEXT_MAX];

    switch (c->kind) {
    case SD_CELL_TEXT:
        put_text(out, c->text);
        return;
    case SD_CELL_COUNT:
        sd_out_text(
            out, strcmp(column->name, "line") == 0
                     ? (snprintf(text, sizeof text, "%lld", (long long)c->number), text)
                     : sd_text_count(text, c->number));
        return;
    case SD_CELL_NS:
        sd_out_text(out, sd_text_duration(text, c->number));
        return;
    case SD_CELL_BYTES:
        sd_out_text(out, sd_text_bytes(text, c->number));
        return;
    case SD_CELL_PERCENT:
        sd_out_printf(out, "%.1f", c->real);
        return;
    case SD_CELL_REAL:
        sd_out_printf(out, "%.4g", c->real);
        return;
    case SD_CELL_NONE:
        return;
    }
}

static void put_row(struct sd_out *out, const struct sd_view_table *t, size_t row)
{
    sd_out_text(out, "<tr>");
    for (size_t k = 0; k < t->n_columns; k++) {
        if (t->columns[k].is_hidden_in_text)
            continue;
        sd_out_text(out, "<td>");
        put_cell(out, sd_view_cell(t, row, k), &t->columns[k]);
        sd_out_text(out, "</td>");
    }
    sd_out_text(out, "</tr>\n");
}

static void put_table(struct sd_out *out, const struct sd_view_table *t)
{
    sd_out_text(out, "<table>\n<caption>");
    put_text(out, t->title ? t->title : t->name);
    sd_out_text(out, "</caption>\n<tr>");
    for (size_t k = 0; k < t->n_columns; k++) {
        if (t->columns[k].is_hidden_in_text)
            continue;
        sd_out_text(out, "<th>");
        put_text(out, t->columns[k].name);
        sd_out_text(out, "</th>");
    }
    sd_out_text(out, "</tr>\n");
    for (size_t i = 0; i < t->n_rows; i++)
        put_row(out, t, i);
    sd_out_text(out, "</table>\n");
}

void sd_page_put_plain(struct sd_out *out, const struct sd_page *page)
{
    sd_out_text(out, "<h1>");
    put_text(out, page->title);
    sd_out_text(out, "</h1>\n");
    put_paragraph(out, page->command);
    put_paragraph(out, page->complaint);
    put_items(out, page);
    for (size_t i = 0; i < page->n_notes; i++)
        put_paragraph(out, page->notes[i]);
    for (size_t i = 0; page->findings && i < page->findings->n; i++)
        put_paragraph(out, page->findings->items[i].text);
    if (page->hottest)
        put_table(out, page->hottest);
}
