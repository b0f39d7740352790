/* SPDX-License-Identifier: MIT */
/* alloc_rules: what stands out in allocations: the line that holds most at the peak,
 * lines whose memory only grows, leaks, and memory that nobody allocated. */
#include <string.h>

#include "analyse/alloc/alloc_rows.h"
#include "analyse/alloc/alloc_words.h"
#include "analyse/findings/findings.h"
#include "base/mem.h"
#include "base/text.h"

enum { NONE = UINT32_MAX };

/* What is below is not worth a sentence. */
enum {
    LEAST_BYTES = 1 << 20,
    LEAST_UNTRACKED_BYTES = 64 << 20,
    GROWTH_NS = 1000000000,
};
#define PEAK_SHARE 0.05
#define LEAKS_SHARE 0.1
#define UNTRACKED_SHARE 0.5

/* --- Rows */

static int make_rows(struct sd_finding_case *c, enum sd_alloc_which which,
                     struct sd_alloc_rows *rows)
{
    const struct sd_alloc_request request = { .which = which };

    return sd_alloc_rows_make(rows, c->p, &request, SD_ROWS_IMPORTS);
}

/* The row that has most; NULL: none has anything. */
static const struct sd_alloc_row *largest(const struct sd_alloc_rows *rows,
                                          bool is_by_growth)
{
    const struct sd_alloc_row *best = NULL;
    int64_t most = 0;

    for (size_t i = 0; i < rows->n; i++) {
        int64_t n = is_by_growth ? rows->items[i].growth : rows->items[i].bytes;

        if (n > most) {
            most = n;
            best = &rows->items[i];
        }
    }
    return best;
}

/* "work (cache.py:4)", or "import numpy"; NULL: no function of Python, or no memory. */
static const char *name_of(struct sd_finding_case *c, const struct sd_alloc_rows *rows,
                           const struct sd_alloc_row *row)
{
    struct sd_site site;

    if (row->import != NONE) {
        const char *name = rows->imports.rows[row->import].name;

        return sd_arena_string(c->arena, name, strlen(name));
    }
    if (row->stack == NONE)
        return NULL;
    site = c->p->sites[c->p->stacks[row->stack].site.at];
    site.line = c->p->stacks[row->stack].line;
    return sd_finding_function(c, &site);
}

static int link_row(struct sd_finding_case *c, const struct sd_alloc_row *row,
                    const char *view, struct sd_profile_finding *out)
{
    out->view = view;
    if (row->import == NONE && row->stack != NONE) {
        const struct sd_site *s = &c->p->sites[c->p->stacks[row->stack].site.at];

        out->selection.search = sd_finding_search_name(c, s->name);
        if (!out->selection.search)
            return sd_no_memory();
    }
    return 0;
}

/* --- Rules */

static int say_peak(struct sd_finding_case *c, const struct sd_alloc_rows *rows,
                    const struct sd_alloc_row *row, struct sd_profile_finding *out)
{
    const char *name = name_of(c, rows, row);
    char held[SD_TEXT_MAX], of[SD_TEXT_MAX];
    struct sd_alloc_summary s;
    int rc = name ? link_row(c, row, "allocations", out) : 0;

    if (rc < 0 || !name)
        return rc;
    out->value = sd_cell_number(SD_CELL_BYTES, row->bytes);
    sd_alloc_summarize(c->p, &s);
    return sd_finding_say(c, out, "%s holds %s of the %s that are live at the peak",
                          name, sd_text_bytes(held, row->bytes),
                          sd_text_bytes(of, s.peak_bytes));
}

int sd_finding_of_peak_line(struct sd_finding_case *c, struct sd_profile_finding *out)
{
    struct sd_alloc_rows rows = { 0 };
    const struct sd_alloc_row *row;
    int rc = c->p->allocs.is_recorded ? make_rows(c, SD_WHICH_PEAK, &rows) : 0;

    row = rc == 0 ? largest(&rows, false) : NULL;
    if (row && row->bytes >= LEAST_BYTES &&
        (double)row->bytes >= PEAK_SHARE * (double)rows.bytes)
        rc = say_peak(c, &rows, row, out);
    sd_alloc_rows_release(&rows);
    return rc;
}

static int say_growing(struct sd_finding_case *c, const struct sd_alloc_rows *rows,
                       const struct sd_alloc_row *row, struct sd_profile_finding *out)
{
    const char *name = name_of(c, rows, row);
    char grown[SD_TEXT_MAX], now[SD_TEXT_MAX];
    int rc = name ? link_row(c, row, "growing", out) : 0;

    if (rc < 0 || !name)
        return rc;
    out->value = sd_cell_number(SD_CELL_BYTES, row->growth);
    return sd_finding_say(c, out, "Memory that %s allocates only grows: by %s, to %s",
                          name, sd_text_bytes(grown, row->growth),
                          sd_text_bytes(now, row->bytes));
}

int sd_finding_of_growing_line(struct sd_finding_case *c,
                               struct sd_profile_finding *out)
{
    struct sd_alloc_rows rows = { 0 };
    const struct sd_alloc_row *row;
    int rc = c->p->allocs.moments ? make_rows(c, SD_WHICH_GROWING, &rows) : 0;

    row = rc == 0 ? largest(&rows, true) : NULL;
    if (row && row->growth >= LEAST_BYTES && row->import == NONE &&
        c->p->run_end_ns >= GROWTH_NS) /* a shorter run says nothing of the next hour */
        rc = say_growing(c, &rows, row, out);
    sd_alloc_rows_release(&rows);
    return rc;
}

static int say_leaks(struct sd_finding_case *c, const struct sd_alloc_rows *rows,
                     const struct sd_alloc_row *row, struct sd_profile_finding *out)
{
    const char *name = name_of(c, rows, row);
    char all[SD_TEXT_MAX], most[SD_TEXT_MAX];
    int rc = name ? link_row(c, row, "leaks", out) : 0;

    if (rc < 0 || !name)
        return rc;
    out->value = sd_cell_number(SD_CELL_BYTES, rows->bytes);
    return sd_finding_say(c, out, "%s is never freed; %s of it is from %s",
                          sd_text_bytes(all, rows->bytes),
                          sd_text_bytes(most, row->bytes), name);
}

/* While a program runs, what is live is no leak. */
int sd_finding_of_leaks(struct sd_finding_case *c, struct sd_profile_finding *out)
{
    struct sd_alloc_rows rows = { 0 };
    struct sd_alloc_summary s = { 0 };
    const struct sd_alloc_row *row;
    bool has_ended = c->p->allocs.is_recorded && !c->p->health.is_running;
    int rc = has_ended ? make_rows(c, SD_WHICH_LEAKS, &rows) : 0;

    if (rc == 0 && has_ended)
        sd_alloc_summarize(c->p, &s);
    row = rc == 0 ? largest(&rows, false) : NULL;
    if (row && rows.bytes >= LEAST_BYTES &&
        (double)rows.bytes >= LEAKS_SHARE * (double)s.peak_bytes)
        rc = say_leaks(c, &rows, row, out);
    sd_alloc_rows_release(&rows);
    return rc;
}

int sd_finding_of_untracked(struct sd_finding_case *c, struct sd_profile_finding *out)
{
    char untracked[SD_TEXT_MAX], rss[SD_TEXT_MAX];
    struct sd_alloc_summary s = { 0 };

    if (c->p->allocs.is_recorded)
        sd_alloc_summarize(c->p, &s);
    if (!s.has_untracked || s.untracked_bytes < LEAST_UNTRACKED_BYTES ||
        (double)s.untracked_bytes < UNTRACKED_SHARE * (double)s.peak_rss_bytes)
        return 0;
    out->value = sd_cell_number(SD_CELL_BYTES, s.untracked_bytes);
    out->view = "plot";
    return sd_finding_say(c, out,
                          "%s of %s resident memory is untracked: no recorded "
                          "allocation holds it",
                          sd_text_bytes(untracked, s.untracked_bytes),
                          sd_text_bytes(rss, s.peak_rss_bytes));
}
