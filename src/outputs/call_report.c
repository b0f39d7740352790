/* SPDX-License-Identifier: MIT */
#include "outputs/call_report.h"

#include <stdlib.h>
#include <string.h>

#include "base/encoding/csv.h"
#include "base/encoding/json.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "report/text/pstats_text.h"

/* --- What was typed */

struct typed {
    struct sd_arena arena;
    const char **words; /* in the arena */
    size_t n_words;
    struct sd_pstats_limit limits[SD_CALL_LIMITS_MAX];
    const struct sd_matcher_maker *maker;           /* of the matchers, or NULL */
    struct sd_matcher matchers[SD_CALL_LIMITS_MAX]; /* owned; of those that match */
    struct sd_pstats_order order;
};

static size_t count_words(const char *const *typed)
{
    size_t n = 0;

    for (; typed && *typed; typed++)
        for (const char *c = *typed; c; c = strchr(c + 1, ','))
            n++;
    return n;
}

/* A number of old profilers, or a word. */
static const char *understand(const char *word)
{
    char *end;
    long number = strtol(word, &end, 10);
    const char *meant = end != word && *end == 0 ? sd_pstats_word_of(number) : NULL;

    if (!meant)
        meant = sd_pstats_word_like(word);
    return meant ? meant : word; /* which the sort then names */
}

static int add_word(struct typed *t, const char *p, size_t n)
{
    const char *word = sd_arena_string(&t->arena, p, n);

    if (!word)
        return sd_no_memory();
    t->words[t->n_words++] = understand(word);
    return 0;
}

static int read_words(struct typed *t, const char *const *typed)
{
    int rc = 0;

    t->words = sd_arena_alloc(&t->arena, (count_words(typed) + 1) * sizeof *t->words);
    if (!t->words)
        return sd_no_memory();
    for (; typed && *typed && rc == 0; typed++) {
        const char *c = *typed;

        do {
            size_t n = strcspn(c, ",");

            rc = add_word(t, c, n);
            c += n;
        } while (rc == 0 && *c++ == ',');
    }
    return rc;
}

/* As Python shows a string in a program. */
static void add_literal(struct sd_buf *to, const char *s)
{
    char quote = strchr(s, '\'') && !strchr(s, '"') ? '"' : '\'';
    size_t left = strlen(s), n;

    sd_buf_u8(to, (uint8_t)quote);
    for (; left > 0; s += n, left -= n) {
        uint32_t code = (unsigned char)*s;

        n = sd_text_decode(s, left, &code);
        n = n ? n : 1;
        if (*s == quote || *s == '\\')
            sd_buf_printf(to, "\\%c", *s);
        else if (*s == '\n' || *s == '\r' || *s == '\t')
            sd_buf_printf(to, "\\%c", *s == '\n' ? 'n' : *s == '\r' ? 'r' : 't');
        else if (code < ' ' || (code >= 0x7F && code <= 0xA0) || code == 0xAD)
            sd_buf_printf(to, "\\x%02x", (unsigned)code);
        else
            sd_buf_add(to, s, n);
    }
    sd_buf_u8(to, (uint8_t)quote);
}

static int show(struct typed *t, struct sd_pstats_limit *limit, struct sd_buf *text)
{
    if (text->bad)
        return sd_no_memory();
    limit->n_shown = text->n;
    limit->shown = sd_arena_string(&t->arena, (const char *)text->p, text->n);
    return limit->shown ? 0 : sd_no_memory();
}

static int read_rows(const char *typed, struct sd_pstats_limit *limit,
                     struct sd_buf *text)
{
    char number[SD_TEXT_MAX], *end;
    uint64_t rows;

    if (sd_text_parse_number(typed, &rows)) {
        limit->kind = SD_LIMIT_COUNT;
        limit->count = rows == 0 || rows > INT64_MAX ? INT64_MAX : (int64_t)rows;
        sd_buf_printf(text, "%lld", (long long)limit->count);
        return 0;
    }
    limit->kind = SD_LIMIT_FRACTION;
    limit->fraction = strtod(typed, &end);
    if (end == typed || *end || !(limit->fraction >= 0 && limit->fraction <= 1))
        return sd_fail(SD_EUSAGE,
                       "-n takes a number of rows, or a fraction of the rows such as "
                       "0.1, not \"%s\"",
                       typed);
    sd_buf_text(text, sd_text_real(number, limit->fraction));
    return 0;
}

static int find(void *matcher, const char *label, size_t n)
{
    const struct sd_matcher *m = matcher;

    return m->find(m->of, label, n);
}

static int read_match(struct typed *t, size_t i, const char *typed, struct sd_buf *text)
{
    int rc = t->maker->make(typed, &t->matchers[i]);

    if (rc < 0)
        return rc;
    t->limits[i].kind = SD_LIMIT_MATCH;
    t->limits[i].matches = find;
    t->limits[i].context = &t->matchers[i];
    add_literal(text, typed);
    return 0;
}

static int read_limits(struct typed *t, const struct sd_call_request *request)
{
    struct sd_buf text = { 0 };
    int rc = 0;

    for (size_t i = 0; i < request->n_limits && rc == 0; i++) {
        const struct sd_call_limit *limit = &request->limits[i];

        sd_buf_clear(&text);
        rc = limit->rows ? read_rows(limit->rows, &t->limits[i], &text)
                         : read_match(t, i, limit->match, &text);
        if (limit->prefers_own)
            t->limits[i].kind = SD_LIMIT_OWN;
        if (rc == 0)
            rc = show(t, &t->limits[i], &text);
    }
    sd_buf_release(&text);
    return rc;
}

static void release(struct typed *t)
{
    for (size_t i = 0; i < SD_CALL_LIMITS_MAX && t->maker; i++)
        t->maker->release(&t->matchers[i]);
    sd_pstats_order_release(&t->order);
    sd_arena_release(&t->arena);
}

/* --- CSV and JSON */

static void put_real(struct sd_out *out, double v)
{
    char text[SD_TEXT_MAX];

    sd_out_printf(out, ",%s", sd_text_real(text, v));
}

static void put_function_csv(struct sd_out *out, const struct sd_call_function *f)
{
    sd_csv_text(out, f->file.p, f->file.n);
    sd_out_printf(out, ",%lld,", (long long)f->line);
    sd_csv_text(out, f->name.p, f->name.n);
}

static void put_numbers_csv(struct sd_out *out, const struct sd_call_numbers *n)
{
    sd_out_printf(out, ",%lld,%lld", (long long)n->calls, (long long)n->primitive);
    put_real(out, n->own);
    put_real(out, n->total);
    sd_out_text(out, "\r\n");
}

/* profile.py's callers have no times, and leave those cells empty. */
static void put_edge_csv(struct sd_out *out, const struct sd_call_stats *s,
                         const struct sd_call_function *f, const struct sd_call_edge *e)
{
    put_function_csv(out, sd_call_stats_at(s, e->caller));
    sd_out_text(out, ",");
    put_function_csv(out, f);
    if (e->is_plain)
        sd_out_printf(out, ",%lld,,,\r\n", (long long)e->n.calls);
    else
        put_numbers_csv(out, &e->n);
}

static void put_csv(struct sd_out *out, const struct sd_call_stats *s,
                    const struct sd_pstats_choice *c, bool has_edges)
{
    if (has_edges)
        sd_out_text(out, "caller_file,caller_line,caller,");
    sd_out_text(out, "file,line,function,ncalls,pcalls,tottime,cumtime\r\n");
    for (size_t i = 0; i < c->n; i++) {
        const struct sd_call_function *f = sd_call_stats_at(s, c->ids[i]);

        if (!has_edges) {
            put_function_csv(out, f);
            put_numbers_csv(out, &f->n);
            continue;
        }
        for (uint32_t e = f->first_caller; e != SD_NO_EDGE; e = s->edges[e].next)
            put_edge_csv(out, s, f, &s->edges[e]);
    }
}

static void put_numbers_json(struct sd_json *j, const struct sd_call_numbers *n)
{
    sd_json_key_int(j, "ncalls", n->calls);
    sd_json_key_int(j, "pcalls", n->primitive);
    sd_json_key_real(j, "tottime", n->own);
    sd_json_key_real(j, "cumtime", n->total);
}

static void put_names_json(struct sd_json *j, const struct sd_call_function *f)
{
    sd_json_key(j, "file");
    sd_json_text(j, f->file.p, f->file.n);
    sd_json_key_int(j, "line", f->line);
    sd_json_key(j, "function");
    sd_json_text(j, f->name.p, f->name.n);
}

static void put_function_json(struct sd_json *j, const struct sd_call_stats *s,
                              const struct sd_call_function *f)
{
    sd_json_object(j);
    put_names_json(j, f);
    put_numbers_json(j, &f->n);
    sd_json_key_array(j, "callers");
    for (uint32_t e = f->first_caller; e != SD_NO_EDGE; e = s->edges[e].next) {
        sd_json_object(j);
        put_names_json(j, sd_call_stats_at(s, s->edges[e].caller));
        if (s->edges[e].is_plain) {
            sd_json_key_int(j, "ncalls", s->edges[e].n.calls);
        } else {
            put_numbers_json(j, &s->edges[e].n);
        }
        sd_json_end(j);
    }
    sd_json_end(j);
    sd_json_end(j);
}

static void put_json(struct sd_out *out, const struct sd_call_stats *s,
                     const struct sd_pstats_choice *c)
{
    struct sd_json j;

    sd_json_init(&j, out, true);
    sd_json_object(&j);
    sd_json_key_array(&j, "files");
    for (size_t i = 0; i < s->n_origins; i++)
        sd_json_text(&j, s->origins[i].p, s->origins[i].n);
    sd_json_end(&j);
    sd_json_key_int(&j, "calls", s->sum.calls);
    sd_json_key_int(&j, "primitive_calls", s->sum.primitive);
    sd_json_key_real(&j, "seconds", s->sum.own);
    sd_json_key_array(&j, "functions");
    for (size_t i = 0; i < c->n; i++)
        put_function_json(&j, s, sd_call_stats_at(s, c->ids[i]));
    sd_json_end(&j);
    sd_json_end(&j);
    sd_out_text(out, "\n");
}

static int put_data(struct sd_out *out, const struct sd_call_stats *s,
                    const struct sd_pstats_view *view,
                    const struct sd_call_request *request)
{
    struct sd_pstats_choice choice;
    int rc = sd_pstats_choose(s, view, &choice);

    if (rc < 0)
        return rc;
    if (request->form == SD_TABLE_JSON)
        put_json(out, s, &choice);
    else
        put_csv(out, s, &choice, request->has_callers || request->has_callees);
    sd_pstats_choice_release(&choice);
    return 0;
}

/* --- The whole */

static int put_text(struct sd_out *out, const struct sd_call_stats *s,
                    struct sd_pstats_view *view, const struct sd_call_request *request)
{
    int rc = 0;

    view->table = SD_PSTATS_STATS;
    if (!request->has_callers && !request->has_callees)
        return sd_report_pstats(s, view, out);
    view->table = SD_PSTATS_CALLERS;
    if (request->has_callers)
        rc = sd_report_pstats(s, view, out);
    view->table = SD_PSTATS_CALLEES;
    if (rc == 0 && request->has_callees)
        rc = sd_report_pstats(s, view, out);
    return rc;
}

static int sort(const struct sd_call_stats *s, const struct sd_call_request *request,
                struct typed *t)
{
    int rc = sd_pstats_sort(s, t->words, t->n_words, &t->order, NULL);

    if (rc == 0 && request->is_reversed)
        sd_pstats_order_reverse(&t->order);
    return rc;
}

int sd_call_report_write(struct sd_call_stats *s, const struct sd_call_request *request,
                         struct sd_out *out)
{
    struct typed t = { .maker = request->maker };
    struct sd_pstats_view view = { .limits = t.limits,
                                   .n_limits = request->n_limits,
                                   .digits = request->digits,
                                   .is_cpu = request->is_cpu };
    int rc = read_words(&t, request->sort);

    if (rc == 0)
        rc = read_limits(&t, request);
    if (rc == 0 && request->strips_dirs)
        rc = sd_call_stats_strip_dirs(s);
    if (rc == 0 && t.n_words > 0) {
        rc = sort(s, request, &t);
        view.order = &t.order;
    }
    if (rc == 0)
        rc = request->form == SD_TABLE_TEXT ? put_text(out, s, &view, request)
                                            : put_data(out, s, &view, request);
    release(&t);
    return rc;
}

bool sd_call_report_sort_is(const char *const *sort)
{
    struct typed t = { 0 };
    struct sd_call_stats none;
    int rc = read_words(&t, sort);

    sd_call_stats_init(&none);
    if (rc == 0)
        rc = sd_pstats_sort(&none, t.words, t.n_words, &t.order, NULL);
    sd_call_stats_release(&none);
    release(&t);
    return rc == 0;
}
