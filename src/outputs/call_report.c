/* SPDX-License-Identifier: MIT */
#include "outputs/call_report.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/encoding/csv.h"
#include "base/error.h"
#include "base/encoding/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/export.h"
#include "cli/graph.h"
#include "cli/path.h"
#include "cli/pattern.h"
#include "formats/pstats.h"
#include "report/text/pstats_text.h"
#include "report/report.h"

/* --- Files */

static const char *path_of(const char *file)
{
    return strcmp(file, "-") == 0 ? "/dev/stdin" : file;
}

bool sd_call_file_is(const char *path)
{
    uint8_t head[16];
    int fd = open(path_of(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? 0 : pread(fd, head, sizeof head, 0); /* no pipe, no folder */

    if (fd >= 0)
        close(fd);
    return n > 0 && sd_pstats_is(head, (size_t)n);
}

/* An empty file says nothing of who ran, so it is a mistake. */
static int load_file(const char *file, struct sd_call_stats *into)
{
    int rc = sd_pstats_load(path_of(file), into);

    if (rc == 0 && into->n_listed == 0)
        rc = sd_fail(SD_EFORMAT, "%s is a pstats file without any call in it", file);
    return rc;
}

static int add_file(const char *file, struct sd_call_stats *into)
{
    struct sd_call_stats one;
    int rc;

    sd_call_stats_init(&one);
    rc = load_file(file, &one);
    if (rc == 0)
        rc = sd_call_stats_add(into, &one);
    sd_call_stats_release(&one);
    return rc;
}

/* pstats takes the first and then the others from the last on; sums and the order of
 * functions depend on it. */
int sd_call_files_load(char *const *files, size_t n, struct sd_call_stats *into)
{
    int rc = n > 0 ? load_file(files[0], into) : 0;

    for (size_t i = n; i > 1 && rc == 0; i--)
        rc = add_file(files[i - 1], into);
    return rc;
}

/* --- What was typed */

struct typed {
    struct sd_arena arena;
    const char **words; /* in the arena */
    size_t n_words;
    struct sd_pstats_limit limits[SD_CALL_LIMITS_MAX];
    struct sd_pattern *patterns[SD_CALL_LIMITS_MAX]; /* owned; of those that match */
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
                       "-n takes a number of rows or a fraction of them such as 0.1, "
                       "not \"%s\"",
                       typed);
    sd_buf_text(text, sd_text_real(number, limit->fraction));
    return 0;
}

static int find(void *pattern, const char *label, size_t n)
{
    return sd_pattern_find(pattern, label, n);
}

static int read_match(struct typed *t, size_t i, const char *typed, struct sd_buf *text)
{
    int rc = sd_pattern_new(typed, &t->patterns[i]);

    if (rc < 0)
        return rc;
    t->limits[i].kind = SD_LIMIT_MATCH;
    t->limits[i].matches = find;
    t->limits[i].context = t->patterns[i];
    add_literal(text, typed);
    return 0;
}

static int read_limits(struct typed *t, const struct sd_call_wish *wish)
{
    struct sd_buf text = { 0 };
    int rc = 0;

    for (size_t i = 0; i < wish->n_limits && rc == 0; i++) {
        const struct sd_call_limit *limit = &wish->limits[i];

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
    for (size_t i = 0; i < SD_CALL_LIMITS_MAX; i++)
        sd_pattern_free(t->patterns[i]);
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
    sd_json_key(j, "ncalls");
    sd_json_int(j, n->calls);
    sd_json_key(j, "pcalls");
    sd_json_int(j, n->primitive);
    sd_json_key_real(j, "tottime", n->own);
    sd_json_key_real(j, "cumtime", n->total);
}

static void put_names_json(struct sd_json *j, const struct sd_call_function *f)
{
    sd_json_key(j, "file");
    sd_json_text(j, f->file.p, f->file.n);
    sd_json_key(j, "line");
    sd_json_int(j, f->line);
    sd_json_key(j, "function");
    sd_json_text(j, f->name.p, f->name.n);
}

static void put_function_json(struct sd_json *j, const struct sd_call_stats *s,
                              const struct sd_call_function *f)
{
    sd_json_object(j);
    put_names_json(j, f);
    put_numbers_json(j, &f->n);
    sd_json_key(j, "callers");
    sd_json_array(j);
    for (uint32_t e = f->first_caller; e != SD_NO_EDGE; e = s->edges[e].next) {
        sd_json_object(j);
        put_names_json(j, sd_call_stats_at(s, s->edges[e].caller));
        if (s->edges[e].is_plain) {
            sd_json_key(j, "ncalls");
            sd_json_int(j, s->edges[e].n.calls);
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
    sd_json_key(&j, "files");
    sd_json_array(&j);
    for (size_t i = 0; i < s->n_origins; i++)
        sd_json_text(&j, s->origins[i].p, s->origins[i].n);
    sd_json_end(&j);
    sd_json_key(&j, "calls");
    sd_json_int(&j, s->sum.calls);
    sd_json_key(&j, "primitive_calls");
    sd_json_int(&j, s->sum.primitive);
    sd_json_key_real(&j, "seconds", s->sum.own);
    sd_json_key(&j, "functions");
    sd_json_array(&j);
    for (size_t i = 0; i < c->n; i++)
        put_function_json(&j, s, sd_call_stats_at(s, c->ids[i]));
    sd_json_end(&j);
    sd_json_end(&j);
    sd_out_text(out, "\n");
}

static int put_data(struct sd_out *out, const struct sd_call_stats *s,
                    const struct sd_pstats_view *view, const struct sd_call_wish *wish)
{
    struct sd_pstats_choice choice;
    int rc = sd_pstats_choose(s, view, &choice);

    if (rc < 0)
        return rc;
    if (wish->form == SD_CALL_JSON)
        put_json(out, s, &choice);
    else
        put_csv(out, s, &choice, wish->has_callers || wish->has_callees);
    sd_pstats_choice_release(&choice);
    return 0;
}

/* --- The whole */

static int put_text(struct sd_out *out, const struct sd_call_stats *s,
                    struct sd_pstats_view *view, const struct sd_call_wish *wish)
{
    int rc = 0;

    view->table = SD_PSTATS_STATS;
    if (!wish->has_callers && !wish->has_callees)
        return sd_report_pstats(s, view, out);
    view->table = SD_PSTATS_CALLERS;
    if (wish->has_callers)
        rc = sd_report_pstats(s, view, out);
    view->table = SD_PSTATS_CALLEES;
    if (rc == 0 && wish->has_callees)
        rc = sd_report_pstats(s, view, out);
    return rc;
}

static int sort(const struct sd_call_stats *s, const struct sd_call_wish *wish,
                struct typed *t)
{
    int rc = sd_pstats_sort(s, t->words, t->n_words, &t->order, NULL);

    if (rc == 0 && wish->is_reversed)
        sd_pstats_order_reverse(&t->order);
    return rc;
}

int sd_call_tables(struct sd_call_stats *s, const struct sd_call_wish *wish,
                   struct sd_out *out)
{
    struct typed t = { 0 };
    struct sd_pstats_view view = { .limits = t.limits,
                                   .n_limits = wish->n_limits,
                                   .digits = wish->digits,
                                   .is_cpu = wish->is_cpu };
    int rc = read_words(&t, wish->sort);

    if (rc == 0)
        rc = read_limits(&t, wish);
    if (rc == 0 && wish->strips_dirs)
        rc = sd_call_stats_strip_dirs(s);
    if (rc == 0 && t.n_words > 0) {
        rc = sort(s, wish, &t);
        view.order = &t.order;
    }
    if (rc == 0)
        rc = wish->form == SD_CALL_TEXT ? put_text(out, s, &view, wish)
                                        : put_data(out, s, &view, wish);
    release(&t);
    return rc;
}

bool sd_call_sort_is(const char *const *sort)
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

/* --- From file to file */

enum kind {
    KIND_PSTATS,
    KIND_CSV,
    KIND_JSON,
    KIND_TEXT,
    KIND_SVG,
    KIND_DOT,
    KIND_CALLGRIND,
    KIND_NONE
};

static enum kind kind_of(const char *to, const char *format)
{
    static const struct {
        const char *suffix, *word;
        enum kind kind;
    } kinds[] = { { ".pstats", "pstats", KIND_PSTATS },
                  { ".prof", "pstats", KIND_PSTATS },
                  { ".csv", "csv", KIND_CSV },
                  { ".json", "json", KIND_JSON },
                  { ".txt", "txt", KIND_TEXT },
                  { ".svg", "graph", KIND_SVG },
                  { ".dot", "dot", KIND_DOT },
                  { ".callgrind", "callgrind", KIND_CALLGRIND } };
    const struct sd_output *other = format ? NULL : sd_output_for(to);

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (format ? strcmp(format, kinds[i].word) == 0
                   : sd_path_has_suffix(to, kinds[i].suffix) &&
                         (!other || strlen(other->suffix) <= strlen(kinds[i].suffix)))
            return kinds[i].kind;
    return KIND_NONE;
}

/* It has no stacks, but who calls whom. */
static int convert_graph(char *file, enum kind kind, const char *to,
                         enum sd_create_flags create)
{
    struct sd_graph_order order = sd_graph_order_default();
    struct sd_graph_source source;
    struct sd_export_file out;
    int rc;

    sd_graph_source_init(&source);
    rc = sd_graph_source_of_files(&source, &file, 1);
    if (rc == 0)
        rc = sd_export_open(&out, to, create);
    if (rc == 0)
        rc = sd_export_close(&out, sd_graph_put(&source, NULL, &order,
                                                kind == KIND_SVG   ? SD_GRAPH_SVG
                                                : kind == KIND_DOT ? SD_GRAPH_DOT
                                                                   : SD_GRAPH_CALLGRIND,
                                                &out.out));
    sd_graph_source_release(&source);
    return rc;
}

static bool is_graph(enum kind kind)
{
    return kind == KIND_SVG || kind == KIND_DOT || kind == KIND_CALLGRIND;
}

static int put_kind(struct sd_call_stats *s, enum kind kind, struct sd_out *out)
{
    struct sd_call_wish wish = { .form = kind == KIND_CSV    ? SD_CALL_CSV
                                         : kind == KIND_JSON ? SD_CALL_JSON
                                                             : SD_CALL_TEXT };

    if (kind == KIND_PSTATS)
        return sd_call_stats_write_pstats(s, out);
    return sd_call_tables(s, &wish, out);
}

int sd_call_file_convert(char *file, const char *to, const char *format,
                         enum sd_create_flags create)
{
    enum kind kind = kind_of(to, format);
    struct sd_export_file out;
    struct sd_call_stats s;
    int rc;

    if (kind == KIND_NONE)
        return sd_fail(SD_EUSAGE,
                       "%s is a pstats file and has no stacks, which %s needs; it can "
                       "become .pstats, .prof, .csv, .json, .txt, .svg, .dot or "
                       ".callgrind",
                       file, format ? format : to);
    if (is_graph(kind))
        return convert_graph(file, kind, to, create);
    sd_call_stats_init(&s);
    rc = load_file(file, &s);
    if (rc == 0)
        rc = sd_export_open(&out, to, create);
    if (rc == 0)
        rc = sd_export_close(&out, put_kind(&s, kind, &out.out));
    sd_call_stats_release(&s);
    return rc;
}
