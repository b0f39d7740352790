/* SPDX-License-Identifier: MIT */
#include "formats/callgrind.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/groups.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/text.h"

struct writer {
    const struct sd_call_stats *s;
    const struct sd_callgrind_head *head;
    struct sd_out *out;
    bool *is_file_known, *is_name_known; /* by string, by function: was it written */
    struct sd_table n_alike;             /* functions of one name in one file */
    uint32_t *first, *by_caller;         /* edges of each caller */
    uint32_t *callee;                    /* of each edge */
};

static long long cost(const struct writer *w, double amount)
{
    double whole = amount * w->head->per_unit;

    return whole > 0 ? llround(fmin(whole, 9e18)) : 0;
}

/* --- Names */

static uint64_t alike_key(const struct sd_call_function *f)
{
    return (uint64_t)f->file_id << 32 | f->name_id;
}

static int count_alike(struct writer *w)
{
    int rc = 0;

    for (size_t i = 0; i < w->s->n_functions && rc == 0; i++) {
        uint64_t key = alike_key(&w->s->functions[i]), n = 0;

        sd_table_get(&w->n_alike, key, &n);
        rc = sd_table_put(&w->n_alike, key, n + 1);
    }
    return rc;
}

static void put_escaped(struct writer *w, const struct sd_intern_string *text)
{
    struct sd_buf shown = { 0 };

    sd_text_escape(&shown, text->p, text->n);
    sd_out_text(w->out, sd_buf_string(&shown));
    w->out->pending.bad |= shown.bad;
    sd_buf_release(&shown);
}

/* What has no name is "???", as callgrind writes it: its readers take a line without
 * one for a mistake. */
static void put_known(struct writer *w, const struct sd_intern_string *name)
{
    sd_out_text(w->out, name->n ? " " : " ???");
    put_escaped(w, name);
}

static void put_file(struct writer *w, const char *word,
                     const struct sd_call_function *f)
{
    sd_out_printf(w->out, "%s=(%u)", word, f->file_id + 1);
    if (!w->is_file_known[f->file_id]) {
        w->is_file_known[f->file_id] = true;
        put_known(w, &f->file);
    }
    sd_out_text(w->out, "\n");
}

/* Its readers know a function by file and name: two of one name get their lines. */
static void put_name(struct writer *w, const char *word, uint32_t function)
{
    const struct sd_call_function *f = &w->s->functions[function];
    uint64_t n = 0;

    sd_out_printf(w->out, "%s=(%u)", word, function + 1);
    if (!w->is_name_known[function]) {
        w->is_name_known[function] = true;
        put_known(w, &f->name);
        sd_table_get(&w->n_alike, alike_key(f), &n);
        if (n > 1)
            sd_out_printf(w->out, ":%lld", (long long)f->line);
    }
    sd_out_text(w->out, "\n");
}

/* --- Functions */

static long long line_of(const struct sd_call_function *f)
{
    return f->line > 0 ? (long long)f->line : 0;
}

/* Samples do not tell how often a function was called.  callgrind_annotate takes the
 * cost below a "calls=0" for the caller's own, so one that is not known is written 1.
 */
static long long calls_of(const struct sd_call_edge *e)
{
    return e->n.calls > 0 ? (long long)e->n.calls : 1;
}

static void put_call(struct writer *w, const struct sd_call_function *caller,
                     uint32_t edge)
{
    const struct sd_call_edge *e = &w->s->edges[edge];
    const struct sd_call_function *f = &w->s->functions[w->callee[edge]];

    put_file(w, "cfi", f);
    put_name(w, "cfn", w->callee[edge]);
    sd_out_printf(w->out, "calls=%lld %lld\n%lld %lld\n", calls_of(e), line_of(f),
                  line_of(caller), cost(w, sd_call_edge_total(e, f)));
}

static bool is_shown(const struct writer *w, uint32_t function)
{
    return w->s->functions[function].is_listed ||
           w->first[function] != w->first[function + 1];
}

static void put_names(struct writer *w)
{
    for (uint32_t i = 0; i < w->s->n_functions; i++)
        if (is_shown(w, i)) {
            put_file(w, "fl", &w->s->functions[i]);
            put_name(w, "fn", i);
        }
}

static void put_function(struct writer *w, uint32_t function)
{
    const struct sd_call_function *f = &w->s->functions[function];

    if (!is_shown(w, function))
        return;
    sd_out_text(w->out, "\n");
    put_file(w, "fl", f);
    put_name(w, "fn", function);
    sd_out_printf(w->out, "%lld %lld\n", line_of(f), cost(w, f->n.own));
    for (uint32_t i = w->first[function]; i < w->first[function + 1]; i++)
        put_call(w, f, w->by_caller[i]);
}

/* Edges stand with what is called; here they go to who calls. */
static void group_edges(struct writer *w)
{
    const struct sd_call_stats *s = w->s;

    for (uint32_t i = 0; i < s->n_functions; i++)
        for (uint32_t e = s->functions[i].first_caller; e != SD_NO_EDGE;
             e = s->edges[e].next) {
            w->callee[e] = i;
            sd_groups_count(w->first, s->edges[e].caller.at);
        }
    sd_groups_sum(w->first, s->n_functions);
    for (uint32_t e = 0; e < s->n_edges; e++)
        w->by_caller[sd_groups_place(w->first, s->edges[e].caller.at)] = e;
}

static int take_memory(struct writer *w)
{
    const struct sd_call_stats *s = w->s;

    w->is_file_known = sd_zalloc(s->strings.n + 1);
    w->is_name_known = sd_zalloc(s->n_functions + 1);
    w->first = sd_zalloc((s->n_functions + 2) * sizeof *w->first);
    w->by_caller = sd_alloc((s->n_edges + 1) * sizeof *w->by_caller);
    w->callee = sd_alloc((s->n_edges + 1) * sizeof *w->callee);
    return w->is_file_known && w->is_name_known && w->first && w->by_caller && w->callee
               ? 0
               : sd_no_memory();
}

static void put_head(struct writer *w)
{
    const char *command = w->head->command;
    double own = 0;

    sd_out_text(w->out, "# callgrind format\nversion: 1\ncreator: sonde\n");
    if (command) {
        sd_out_text(w->out, "cmd: ");
        put_escaped(w,
                    &(struct sd_intern_string){ command, (uint32_t)strlen(command) });
        sd_out_text(w->out, "\n");
    }
    for (size_t i = 0; i < w->s->n_functions; i++)
        own += (double)cost(w, w->s->functions[i].n.own);
    sd_out_text(w->out, "positions: line\nevents: ");
    put_escaped(w, &(struct sd_intern_string){ w->head->event,
                                               (uint32_t)strlen(w->head->event) });
    sd_out_printf(w->out, "\nsummary: %lld\n", (long long)fmin(own, 9e18));
}

int sd_call_stats_write_callgrind(const struct sd_call_stats *s,
                                  const struct sd_callgrind_head *head,
                                  struct sd_out *out)
{
    struct writer w = { .s = s, .head = head, .out = out };
    int rc = take_memory(&w);

    if (rc == 0)
        rc = count_alike(&w);
    if (rc == 0) {
        group_edges(&w);
        put_head(&w);
        if (head->has_names_first)
            put_names(&w);
        for (uint32_t i = 0; i < s->n_functions; i++)
            put_function(&w, i);
    }
    sd_free(w.is_file_known);
    sd_free(w.is_name_known);
    sd_free(w.first);
    sd_free(w.by_caller);
    sd_free(w.callee);
    sd_table_release(&w.n_alike);
    return rc;
}
