/* SPDX-License-Identifier: MIT */
#include "report/text/pstats_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* --- Width, in characters as Python counts them */

static size_t count_characters(const struct sd_intern_string *s)
{
    size_t n = 0;

    for (uint32_t i = 0; i < s->n; i++)
        n += (s->p[i] & 0xC0) != 0x80;
    return n;
}

static size_t count_digits(int64_t v)
{
    size_t n = v < 0 ? 2 : 1;

    while (v /= 10)
        n++;
    return n;
}

static size_t label_width(const struct sd_call_function *f)
{
    size_t name = count_characters(&f->name);

    if (sd_call_function_is_builtin(f)) /* <...> becomes {...}; "<>", too, stays two */
        return name;
    return count_characters(&f->file) + count_digits(f->line) + name + strlen(":()");
}

static size_t widest(const struct sd_call_stats *s, const sd_function_id *ids, size_t n)
{
    size_t most = 0;

    for (size_t i = 0; i < n; i++) {
        size_t width = label_width(sd_call_stats_at(s, ids[i]));

        most = width > most ? width : most;
    }
    return most;
}

size_t sd_pstats_widest(const struct sd_call_stats *s)
{
    return widest(s, s->listed, s->n_listed);
}

/* --- The choice */

static int keep_matching(const struct sd_call_stats *s,
                         const struct sd_pstats_limit *limit,
                         struct sd_pstats_choice *c)
{
    struct sd_buf label = { 0 };
    size_t kept = 0;
    int rc = 0;

    for (size_t i = 0; i < c->n && rc >= 0; i++) {
        sd_buf_clear(&label);
        sd_call_function_label(&label, sd_call_stats_at(s, c->ids[i]));
        rc = label.bad ? sd_no_memory()
                       : limit->matches(limit->context, (char *)label.p, label.n);
        if (rc > 0)
            c->ids[kept++] = c->ids[i];
    }
    c->n = kept;
    sd_buf_release(&label);
    return rc < 0 ? rc : 0;
}

/* What stays, stays in order. */
static void keep_own(const struct sd_call_stats *s, size_t n,
                     struct sd_pstats_choice *c)
{
    size_t n_own = 0, kept = 0, room;

    for (size_t i = 0; i < c->n; i++)
        n_own += sd_call_stats_at(s, c->ids[i])->is_own;
    n_own = n_own < n ? n_own : n;
    room = n - n_own; /* for others */
    for (size_t i = 0; i < c->n; i++) {
        size_t *left = sd_call_stats_at(s, c->ids[i])->is_own ? &n_own : &room;

        if (*left == 0)
            continue;
        (*left)--;
        c->ids[kept++] = c->ids[i];
    }
    c->n = kept;
}

static int restrict_to(const struct sd_call_stats *s,
                       const struct sd_pstats_limit *limit, struct sd_pstats_choice *c)
{
    size_t before = c->n;
    int rc = 0;

    switch (limit->kind) {
    case SD_LIMIT_COUNT:
        if (limit->count >= 0 && (uint64_t)limit->count < c->n)
            c->n = (size_t)limit->count;
        break;
    case SD_LIMIT_OWN:
        if (limit->count >= 0 && (uint64_t)limit->count < c->n)
            keep_own(s, (size_t)limit->count, c);
        break;
    case SD_LIMIT_FRACTION:
        if (limit->fraction >= 0 && limit->fraction < 1)
            c->n = (size_t)((double)c->n * limit->fraction + .5);
        break;
    case SD_LIMIT_MATCH:
        rc = keep_matching(s, limit, c);
        break;
    case SD_LIMIT_INVALID:
        sd_buf_text(&c->about, "   <Invalid regular expression ");
        sd_buf_add(&c->about, limit->shown, limit->n_shown);
        sd_buf_text(&c->about, ">\n");
        return 0;
    }
    if (rc == 0 && c->n != before) {
        sd_buf_printf(&c->about, "   List reduced from %zu to %zu due to restriction <",
                      before, c->n);
        sd_buf_add(&c->about, limit->shown, limit->n_shown);
        sd_buf_text(&c->about, ">\n");
    }
    return rc;
}

/* All functions, in the order asked for.  An order of nothing counts as none. */
static int begin_choice(const struct sd_call_stats *s,
                        const struct sd_pstats_view *view, struct sd_pstats_choice *c)
{
    bool is_ordered = view->order && view->order->n > 0;

    *c = (struct sd_pstats_choice){ .n = is_ordered ? view->order->n : s->n_listed };
    c->ids = sd_alloc((c->n + 1) * sizeof *c->ids);
    if (!c->ids)
        return sd_no_memory();
    if (c->n > 0)
        memcpy(c->ids, is_ordered ? view->order->ids : s->listed,
               c->n * sizeof *c->ids);
    if (is_ordered) {
        sd_buf_text(&c->about, "   Ordered by: ");
        sd_buf_add(&c->about, view->order->by.p, view->order->by.n);
        sd_buf_text(&c->about, "\n");
    } else {
        sd_buf_text(&c->about, "   Random listing order was used\n");
    }
    return 0;
}

int sd_pstats_choose(const struct sd_call_stats *s, const struct sd_pstats_view *view,
                     struct sd_pstats_choice *out)
{
    int rc = begin_choice(s, view, out);

    for (size_t i = 0; i < view->n_limits && rc == 0; i++)
        rc = restrict_to(s, &view->limits[i], out);
    if (rc == 0 && out->about.bad)
        rc = sd_no_memory();
    if (rc == 0 && out->n > 0 && view->table != SD_PSTATS_STATS)
        out->width =
            (view->widest && out->n >= s->n_listed ? view->widest
                                                   : widest(s, out->ids, out->n)) +
            2;
    if (rc < 0)
        sd_pstats_choice_release(out);
    return rc;
}

void sd_pstats_choice_release(struct sd_pstats_choice *choice)
{
    sd_free(choice->ids);
    sd_buf_release(&choice->about);
    *choice = (struct sd_pstats_choice){ 0 };
}

/* --- Numbers */

struct printing {
    const struct sd_call_stats *s;
    const struct sd_pstats_choice *c;
    struct sd_out *out;
    unsigned digits;
    bool is_cpu;
    struct sd_buf label; /* room to make one in */
    bool lacks_memory;   /* one could not be made */
};

enum { REAL_MAX = 400 }; /* the largest double has 309 digits before the point */

static void put_blanks(struct sd_out *out, size_t n)
{
    static const char blanks[] = "                                ";

    for (size_t step; n > 0; n -= step) {
        step = n < sizeof blanks - 1 ? n : sizeof blanks - 1;
        sd_out_write(out, blanks, step);
    }
}

static void put_right(struct sd_out *out, size_t width, const char *text, size_t n)
{
    put_blanks(out, n < width ? width - n : 0);
    sd_out_write(out, text, n);
}

/* printf takes the decimal point from the locale, which may be the program's we are a
 * guest of; what stands before and after it is the same everywhere. */
static size_t print_exactly(char text[REAL_MAX], double v, unsigned digits)
{
    char raw[REAL_MAX];
    size_t n, whole;

    if (isnan(v))
        return (size_t)snprintf(text, REAL_MAX, "nan");
    if (isinf(v))
        return (size_t)snprintf(text, REAL_MAX, v < 0 ? "-inf" : "inf");
    n = (size_t)snprintf(raw, REAL_MAX, "%.*f", (int)digits, v);
    whole = strspn(raw, "-0123456789");
    return (size_t)snprintf(text, REAL_MAX, "%.*s.%s", (int)whole, raw,
                            raw + n - digits);
}

/* The same for the numbers that tables are full of.  A number times 1000 is rounded
 * twice, which is wrong only where it comes close to a half; those go the slow way. */
static size_t print_quickly(char text[REAL_MAX], double v, unsigned digits)
{
    static const double least = 1e-5; /* the error of v * 1000 is far below */
    double scaled = v * 1000, fraction = scaled - floor(scaled);
    uint64_t n;
    size_t at = 31;

    if (digits != 3 || !(v >= 0 && v < 1e9) || signbit(v) ||
        fabs(fraction - 0.5) < least)
        return print_exactly(text, v, digits);
    n = (uint64_t)(scaled + 0.5);
    for (unsigned i = 0; i < 5 || n > 0; i++) {
        if (i == 3) {
            text[at--] = '.';
            continue;
        }
        text[at--] = (char)('0' + n % 10);
        n /= 10;
    }
    memmove(text, text + at + 1, 31 - at);
    return 31 - at;
}

static void put_seconds(const struct printing *p, double v)
{
    char text[REAL_MAX];
    size_t n = print_quickly(text, v, p->digits);

    put_right(p->out, p->digits + 5, text, n);
}

/* "12", or "12/3" when some were recursive; `width` is that of the column. */
static void put_counts(const struct printing *p, const struct sd_call_numbers *n,
                       size_t width)
{
    char text[64];
    int length = n->calls != n->primitive
                     ? snprintf(text, sizeof text, "%lld/%lld", (long long)n->calls,
                                (long long)n->primitive)
                     : snprintf(text, sizeof text, "%lld", (long long)n->calls);

    put_right(p->out, width, text, (size_t)length);
}

static void put_label(struct printing *p, const struct sd_call_function *f)
{
    sd_buf_clear(&p->label);
    sd_call_function_label(&p->label, f);
    if (p->label.bad)
        p->lacks_memory = true;
    else
        sd_out_write(p->out, p->label.p, p->label.n);
}

/* --- print_stats */

static void put_heading(const struct printing *p)
{
    const struct sd_call_stats *s = p->s;
    char text[REAL_MAX];
    size_t n;

    for (size_t i = 0; i < s->n_origins; i++) {
        sd_out_write(p->out, s->origins[i].p, s->origins[i].n);
        sd_out_text(p->out, "\n");
    }
    if (s->n_origins > 0)
        sd_out_text(p->out, "\n");
    for (size_t i = 0; i < s->n_listed; i++) {
        const struct sd_call_function *f = sd_call_stats_at(s, s->listed[i]);

        if (!f->is_top)
            continue;
        put_blanks(p->out, 9);
        sd_out_write(p->out, f->name.p, f->name.n);
        sd_out_text(p->out, "\n");
    }
    sd_out_printf(p->out, "         %lld function calls ", (long long)s->sum.calls);
    if (s->sum.calls != s->sum.primitive)
        sd_out_printf(p->out, "(%lld primitive calls) ", (long long)s->sum.primitive);
    n = print_exactly(text, s->sum.own, p->digits);
    sd_out_printf(p->out, "in %.*s %sseconds\n\n", (int)n, text,
                  p->is_cpu ? "CPU " : "");
}

static void put_column(const struct printing *p, const char *name)
{
    sd_out_text(p->out, " ");
    put_right(p->out, p->digits + 5, name, strlen(name));
}

/* Nothing stands where there was no call to share the time. */
static void put_per_call(const struct printing *p, double seconds, int64_t calls)
{
    sd_out_text(p->out, " ");
    if (calls == 0)
        put_blanks(p->out, p->digits + 5);
    else
        put_seconds(p, seconds / (double)calls);
}

static void put_row(struct printing *p, const struct sd_call_function *f)
{
    put_counts(p, &f->n, 9);
    sd_out_text(p->out, " ");
    put_seconds(p, f->n.own);
    put_per_call(p, f->n.own, f->n.calls);
    sd_out_text(p->out, " ");
    put_seconds(p, f->n.total);
    put_per_call(p, f->n.total, f->n.primitive);
    sd_out_text(p->out, " ");
    put_label(p, f);
    sd_out_text(p->out, "\n");
}

static void put_rows(struct printing *p)
{
    const char *per = p->s->is_sampled ? "persample" : "percall";

    sd_out_text(p->out, p->s->is_sampled ? " nsamples" : "   ncalls");
    put_column(p, "tottime");
    put_column(p, per);
    if (p->s->is_sampled) { /* the column before was a letter too wide */
        sd_out_text(p->out, " ");
        put_right(p->out, p->digits + 4, "cumtime", strlen("cumtime"));
    } else {
        put_column(p, "cumtime");
    }
    put_column(p, per);
    sd_out_text(p->out, " filename:lineno(function)\n");
    for (size_t i = 0; i < p->c->n; i++)
        put_row(p, sd_call_stats_at(p->s, p->c->ids[i]));
}

/* --- print_callers, print_callees */

/* One line beside a function: who it is about, and their calls. */
struct side {
    const struct sd_call_function *f;
    const struct sd_call_edge *edge;
};

static int compare_sides(const void *a, const void *b)
{
    return sd_call_function_compare(((const struct side *)a)->f,
                                    ((const struct side *)b)->f);
}

/* What pstats looks at: the first caller of the first function that has any. */
static bool has_numbers(const struct sd_call_stats *s)
{
    for (size_t i = 0; i < s->n_listed; i++) {
        const struct sd_call_function *f = sd_call_stats_at(s, s->listed[i]);

        if (f->first_caller != SD_NO_EDGE)
            return !s->edges[f->first_caller].is_plain;
    }
    return false;
}

static void put_call_heading(const struct printing *p, const char *title)
{
    static const char function[] = "Function ";

    sd_out_text(p->out, function);
    put_blanks(p->out,
               p->c->width > strlen(function) ? p->c->width - strlen(function) : 0);
    sd_out_printf(p->out, "%s\n", title);
    if (!has_numbers(p->s))
        return;
    put_blanks(p->out, p->c->width);
    sd_out_text(p->out, p->s->is_sampled ? "    nsamples" : "    ncalls");
    put_column(p, "tottime");
    put_column(p, "cumtime");
    sd_out_text(p->out, "\n");
}

/* The first stands behind the arrow, the others below it. */
static void put_side(struct printing *p, const struct side *side, bool is_first)
{
    const struct sd_call_numbers *n = &side->edge->n;

    if (side->edge->is_plain) {
        put_blanks(p->out, is_first ? 0 : p->c->width + 3);
        put_label(p, side->f);
        sd_out_printf(p->out, "(%lld) ", (long long)n->calls);
        if (side->f->is_listed)
            put_seconds(p, side->f->n.total);
    } else {
        put_blanks(p->out, is_first ? 0 : p->c->width + 1);
        put_counts(p, n, is_first ? 7 : 9);
        sd_out_text(p->out, " ");
        put_seconds(p, n->own);
        sd_out_text(p->out, " ");
        put_seconds(p, n->total);
        sd_out_text(p->out, "  ");
        put_label(p, side->f);
    }
    sd_out_text(p->out, "\n");
}

static void put_sides(struct printing *p, const struct sd_call_function *f,
                      const char *arrow, struct side *sides, size_t n)
{
    size_t width = label_width(f);

    put_label(p, f);
    put_blanks(p->out, p->c->width > width ? p->c->width - width : 0);
    sd_out_printf(p->out, "%s ", arrow);
    if (n == 0)
        sd_out_text(p->out, "\n");
    qsort(sides, n, sizeof *sides, compare_sides);
    for (size_t i = 0; i < n; i++)
        put_side(p, &sides[i], i == 0);
}

static int put_callers(struct printing *p)
{
    const struct sd_call_stats *s = p->s;
    struct side *sides = sd_alloc((s->n_edges + 1) * sizeof *sides);

    if (!sides)
        return sd_no_memory();
    put_call_heading(p, "was called by...");
    for (size_t i = 0; i < p->c->n; i++) {
        const struct sd_call_function *f = sd_call_stats_at(s, p->c->ids[i]);
        size_t n = 0;

        for (uint32_t e = f->first_caller; e != SD_NO_EDGE; e = s->edges[e].next)
            sides[n++] =
                (struct side){ sd_call_stats_at(s, s->edges[e].caller), &s->edges[e] };
        put_sides(p, f, "<-", sides, n);
    }
    sd_free(sides);
    return 0;
}

/* Every edge beside its caller: those of function i are from ends[i - 1] to ends[i]. */
static void gather_callees(const struct sd_call_stats *s, size_t *ends,
                           struct side *sides)
{
    size_t *at = ends + 1; /* at[i] runs from the first of i up to its end */

    for (size_t i = 0; i < s->n_edges; i++)
        ends[s->edges[i].caller.at + 2]++;
    for (size_t i = 2; i < s->n_functions + 2; i++)
        ends[i] += ends[i - 1];
    for (size_t i = 0; i < s->n_functions; i++) {
        const struct sd_call_function *f = &s->functions[i];

        for (uint32_t e = f->first_caller; e != SD_NO_EDGE; e = s->edges[e].next)
            sides[at[s->edges[e].caller.at]++] = (struct side){ f, &s->edges[e] };
    }
}

static int put_callees(struct printing *p)
{
    const struct sd_call_stats *s = p->s;
    struct side *sides = sd_alloc((s->n_edges + 1) * sizeof *sides);
    size_t *ends = sd_zalloc((s->n_functions + 2) * sizeof *ends);
    int rc = sides && ends ? 0 : sd_no_memory();

    if (rc == 0) {
        gather_callees(s, ends, sides);
        put_call_heading(p, "called...");
        for (size_t i = 0; i < p->c->n; i++) {
            size_t f = p->c->ids[i].at;

            put_sides(p, &s->functions[f], "->", sides + ends[f],
                      ends[f + 1] - ends[f]);
        }
    }
    sd_free(sides);
    sd_free(ends);
    return rc;
}

/* --- The whole */

static int put_table(struct printing *p, enum sd_pstats_table table)
{
    int rc = 0;

    switch (table) {
    case SD_PSTATS_STATS:
        put_rows(p);
        break;
    case SD_PSTATS_CALLERS:
        rc = put_callers(p);
        break;
    case SD_PSTATS_CALLEES:
        rc = put_callees(p);
        break;
    }
    if (rc == 0)
        sd_out_text(p->out, "\n\n");
    return rc;
}

int sd_report_pstats(const struct sd_call_stats *s, const struct sd_pstats_view *view,
                     struct sd_out *out)
{
    struct sd_pstats_choice choice;
    struct printing p = { .s = s,
                          .c = &choice,
                          .out = out,
                          .digits = view->digits ? view->digits : SD_PSTATS_DIGITS,
                          .is_cpu = view->is_cpu };
    int rc = sd_pstats_choose(s, view, &choice);

    if (rc < 0)
        return rc;
    if (view->table == SD_PSTATS_STATS)
        put_heading(&p);
    if (choice.n > 0) {
        sd_out_write(out, choice.about.p, choice.about.n);
        sd_out_text(out, "\n");
        rc = put_table(&p, view->table);
    }
    if (rc == 0 && p.lacks_memory)
        rc = sd_no_memory();
    sd_buf_release(&p.label);
    sd_pstats_choice_release(&choice);
    return rc;
}
