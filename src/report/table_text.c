/* SPDX-License-Identifier: MIT */
/* table_text: writes a table for a terminal.  Numbers to the right, names to the left;
 * what does not fit loses its least important columns first, then the middle of its
 * names. */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "report/report.h"

enum { GAP = 2, NAME_MIN = 16, NAME_MAX = 100, MAX_INDENT = 32 };

#define BOLD "\033[1m"
#define DIM "\033[2m"
#define RED "\033[31m"
#define YELLOW "\033[33m"
#define PLAIN "\033[0m"

struct shown { /* a cell as it will be printed; in the arena */
    const char *text;
    size_t n, width;
    enum sd_heat heat;
};

struct layout {
    const struct sd_view_table *table;
    const struct sd_text_style *style;
    struct sd_arena arena;
    struct shown *cells; /* heading first, then row after row */
    size_t *widths;
    bool *is_dropped;
    bool is_bad; /* out of memory */
};

static struct shown *cell(const struct layout *l, size_t row, size_t column)
{
    return &l->cells[row * l->table->n_columns + column];
}

static void set(struct layout *l, struct shown *to, const char *text, size_t n)
{
    to->text = sd_arena_string(&l->arena, text, n);
    to->n = to->text ? n : 0;
    to->width = sd_text_width(to->text ? to->text : "", to->n);
    l->is_bad |= !to->text;
}

/* A heading that says % says it for all below it. */
static bool says_percent(const struct sd_column *column)
{
    size_t n = strlen(column->name);

    return n > 0 && column->name[n - 1] == '%';
}

static const char *number_text(char out[SD_TEXT_MAX], const struct sd_cell *c,
                               const struct sd_column *column)
{
    switch (c->kind) {
    case SD_CELL_COUNT:
        return sd_text_count(out, c->number);
    case SD_CELL_NS:
        return sd_text_duration(out, c->number);
    case SD_CELL_BYTES:
        return sd_text_bytes(out, c->number);
    case SD_CELL_PERCENT:
        snprintf(out, SD_TEXT_MAX, "%.1f%s", c->real, says_percent(column) ? "" : "%");
        return out;
    case SD_CELL_REAL:
        snprintf(out, SD_TEXT_MAX, "%.4g", c->real);
        return out;
    case SD_CELL_TEXT:
    case SD_CELL_NONE:
        break;
    }
    return "";
}

/* The number of a process or thread is a name made of digits: it gets no commas. */
static bool is_plain_number(const struct sd_column *c)
{
    return strcmp(c->name, "pid") == 0 || strcmp(c->name, "thread") == 0 ||
           strcmp(c->name, "status") == 0 || strcmp(c->name, "line") == 0;
}

static size_t indent_of(const struct sd_view_table *t, size_t row)
{
    size_t depth = 0;

    for (int32_t at = t->parents ? t->parents[row] : -1; at >= 0 && depth < MAX_INDENT;
         at = t->parents[at])
        depth++;
    return 2 * depth;
}

static void fill_cell(struct layout *l, size_t row, size_t column, bool is_indented)
{
    const struct sd_cell *c = sd_view_cell(l->table, row, column);
    struct shown *to = cell(l, row + 1, column);
    char number[SD_TEXT_MAX];
    struct sd_buf text = { 0 };

    if (c->kind == SD_CELL_TEXT) {
        if (is_indented)
            sd_buf_printf(&text, "%*s", (int)indent_of(l->table, row), "");
        sd_text_escape(&text, c->text, strlen(c->text));
    } else if (c->kind == SD_CELL_COUNT &&
               is_plain_number(&l->table->columns[column])) {
        sd_buf_printf(&text, "%lld", (long long)c->number);
    } else {
        sd_buf_text(&text, number_text(number, c, &l->table->columns[column]));
    }
    set(l, to, sd_buf_string(&text), strlen(sd_buf_string(&text)));
    to->heat = l->style->colour ? c->heat : SD_HEAT_NONE;
    l->is_bad |= text.bad;
    sd_buf_release(&text);
}

static bool is_visible(const struct layout *l, size_t column)
{
    return !l->table->columns[column].is_hidden_in_text && !l->is_dropped[column];
}

static bool is_text(const struct layout *l, size_t column)
{
    return l->table->columns[column].kind == SD_CELL_TEXT;
}

static void fill(struct layout *l)
{
    const struct sd_view_table *t = l->table;
    bool had_text = false;

    for (size_t k = 0; k < t->n_columns; k++) {
        bool is_tree = t->parents && is_text(l, k) && !had_text;

        if (t->columns[k].is_hidden_in_text)
            continue;
        had_text |= is_text(l, k);
        set(l, cell(l, 0, k), t->columns[k].name, strlen(t->columns[k].name));
        for (size_t i = 0; i < t->n_rows; i++)
            fill_cell(l, i, k, is_tree);
        for (size_t i = 0; i <= t->n_rows; i++)
            if (cell(l, i, k)->width > l->widths[k])
                l->widths[k] = cell(l, i, k)->width;
    }
}

/* --- Fitting */

/* The text column that can best give way: the widest. */
static size_t widest_name(const struct layout *l)
{
    size_t widest = SIZE_MAX;

    for (size_t k = 0; k < l->table->n_columns; k++)
        if (is_visible(l, k) && is_text(l, k) &&
            (widest == SIZE_MAX || l->widths[k] > l->widths[widest]))
            widest = k;
    return widest;
}

static size_t total_width(const struct layout *l)
{
    size_t sum = 0;

    for (size_t k = 0; k < l->table->n_columns; k++)
        if (is_visible(l, k))
            sum += l->widths[k] + (sum ? GAP : 0);
    return sum + l->style->indent;
}

/* How far the table could shrink by shortening names. */
static size_t slack(const struct layout *l)
{
    size_t name = widest_name(l);

    return name == SIZE_MAX || l->widths[name] <= NAME_MIN ? 0
                                                           : l->widths[name] - NAME_MIN;
}

static bool drop_column(struct layout *l)
{
    size_t found = SIZE_MAX;

    for (size_t k = 0; k < l->table->n_columns; k++)
        if (is_visible(l, k) && l->table->columns[k].rank > 0 &&
            (found == SIZE_MAX ||
             l->table->columns[k].rank >= l->table->columns[found].rank))
            found = k;
    if (found != SIZE_MAX)
        l->is_dropped[found] = true;
    return found != SIZE_MAX;
}

static void fit(struct layout *l)
{
    size_t width = l->style->width, name, over;

    for (size_t k = 0; k < l->table->n_columns; k++)
        if (is_text(l, k) && l->widths[k] > NAME_MAX)
            l->widths[k] = NAME_MAX; /* one monstrous name does not widen all rows */
    if (width == 0)
        return;
    while (total_width(l) > width + slack(l))
        if (!drop_column(l))
            break;
    while (total_width(l) > width && slack(l) > 0) {
        name = widest_name(l);
        over = total_width(l) - width;
        l->widths[name] -= over < slack(l) ? over : slack(l);
    }
}

/* --- Printing */

static void spaces(struct sd_out *out, size_t n)
{
    sd_out_printf(out, "%*s", (int)n, "");
}

/* The middle of a long name says least: the head is where it belongs, the end what it
 * is. */
static void put_shortened(struct sd_out *out, const struct shown *s, size_t width)
{
    size_t head = sd_text_fit(s->text, s->n, (width - 1) / 2);
    size_t left = width - 1 - sd_text_width(s->text, head);
    size_t tail = sd_text_fit_end(s->text + head, s->n - head, left);
    size_t used =
        sd_text_width(s->text, head) + 1 + sd_text_width(s->text + s->n - tail, tail);

    sd_out_write(out, s->text, head);
    sd_out_text(out, "…");
    sd_out_write(out, s->text + s->n - tail, tail);
    spaces(out, used < width ? width - used : 0);
}

static void put_text(struct sd_out *out, const struct shown *s, size_t width,
                     bool is_left, bool is_last)
{
    if (s->width > width) {
        put_shortened(out, s, width);
        return;
    }
    if (!is_left)
        spaces(out, width - s->width);
    sd_out_write(out, s->text, s->n);
    if (is_left && !is_last)
        spaces(out, width - s->width);
}

static void put_cell(struct sd_out *out, const struct shown *s, size_t width,
                     bool is_left, bool is_last)
{
    static const char *const colours[] = {
        [SD_HEAT_NONE] = "",  [SD_HEAT_COLD] = DIM,     [SD_HEAT_MILD] = YELLOW,
        [SD_HEAT_WARM] = RED, [SD_HEAT_HOT] = BOLD RED,
    };

    sd_out_text(out, colours[s->heat]);
    put_text(out, s, width, is_left, is_last);
    sd_out_text(out, s->heat != SD_HEAT_NONE ? PLAIN : "");
}

/* Nothing is printed behind the last cell that says something. */
static void put_row(struct sd_out *out, const struct layout *l, size_t row)
{
    size_t end = 0;
    bool is_first = true;

    for (size_t k = 0; k < l->table->n_columns; k++)
        if (is_visible(l, k) && cell(l, row, k)->n > 0)
            end = k + 1;
    for (size_t k = 0; k < end; k++) {
        if (!is_visible(l, k))
            continue;
        spaces(out, is_first ? l->style->indent : GAP);
        put_cell(out, cell(l, row, k), l->widths[k], is_text(l, k), k + 1 == end);
        is_first = false;
    }
    sd_out_text(out, "\n");
}

static void put_line(struct sd_out *out, const struct sd_text_style *style,
                     const char *how, const char *text)
{
    spaces(out, style->indent);
    sd_out_printf(out, "%s%s%s\n", style->colour ? how : "", text,
                  style->colour ? PLAIN : "");
}

static void put_notes(struct sd_out *out, const struct layout *l)
{
    struct sd_buf left_out = { 0 };

    for (size_t k = 0; k < l->table->n_columns; k++)
        if (l->is_dropped[k])
            sd_buf_printf(&left_out, "%s%s", left_out.n ? ", " : "no room for: ",
                          l->table->columns[k].name);
    if (l->table->note)
        put_line(out, l->style, DIM, l->table->note);
    if (left_out.n)
        put_line(out, l->style, DIM, sd_buf_string(&left_out));
    sd_buf_release(&left_out);
}

static bool init(struct layout *l)
{
    size_t n = l->table->n_columns;

    l->cells = sd_arena_alloc(&l->arena, (l->table->n_rows + 1) * n * sizeof *l->cells);
    l->widths = sd_arena_alloc(&l->arena, n * sizeof *l->widths);
    l->is_dropped = sd_arena_alloc(&l->arena, n);
    return l->cells && l->widths && l->is_dropped;
}

void sd_report_heading(struct sd_out *out, const struct sd_text_style *style,
                       const char *text)
{
    put_line(out, style, BOLD, text);
}

void sd_report_table_text(struct sd_out *out, const struct sd_view_table *t,
                          const struct sd_text_style *style)
{
    struct layout l = { .table = t, .style = style };

    l.is_bad = !init(&l);
    if (!l.is_bad)
        fill(&l);
    if (l.is_bad) {
        out->pending.bad = true; /* the caller hears of it when it flushes */
    } else {
        fit(&l);
        if (t->title)
            sd_report_heading(out, style, t->title);
        sd_out_text(out, style->colour ? DIM : "");
        put_row(out, &l, 0);
        sd_out_text(out, style->colour ? PLAIN : "");
        for (size_t i = 1; i <= t->n_rows; i++)
            put_row(out, &l, i);
        put_notes(out, &l);
    }
    sd_arena_release(&l.arena);
}
