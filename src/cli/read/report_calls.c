/* SPDX-License-Identifier: MIT */
/* report_calls: traced calls in the tables of pstats. */
#include "base/error.h"
#include "cli/read/verb_report.h"
#include "cli/say.h"
#include "report/report.h"

enum { DIGITS_MAX = 12 };

/* --- What was typed, in the words of pstats */

/* Restrictions work one after the other, so they stand as they were typed. */
static void add_limit(struct sd_call_wish *w, int places[SD_CALL_LIMITS_MAX], int place,
                      struct sd_call_limit limit)
{
    size_t at = w->n_limits++;

    for (; at > 0 && places[at - 1] > place; at--) {
        w->limits[at] = w->limits[at - 1];
        places[at] = places[at - 1];
    }
    w->limits[at] = limit;
    places[at] = place;
}

int sd_asked_calls(const struct sd_asked *a, struct sd_call_wish *w)
{
    const struct sd_option_value *v = a->v;
    int places[SD_CALL_LIMITS_MAX];

    *w = (struct sd_call_wish){
        .form = a->form == SD_FORM_CSV    ? SD_CALL_CSV
                : a->form == SD_FORM_JSON ? SD_CALL_JSON
                                          : SD_CALL_TEXT,
        .sort = v[SD_REPORT_SORT].words,
        .is_reversed = v[SD_REPORT_REVERSE].number != 0,
        .strips_dirs = v[SD_REPORT_STRIP_DIRS].number != 0,
        .has_callers = v[SD_REPORT_CALLERS].is_given,
        .has_callees = v[SD_REPORT_CALLEES].is_given,
        .digits = (unsigned)v[SD_REPORT_DIGITS].number,
    };
    if (v[SD_REPORT_DIGITS].number < 1 || v[SD_REPORT_DIGITS].number > DIGITS_MAX)
        return sd_fail(SD_EUSAGE, "--digits goes from 1 to %d", DIGITS_MAX);
    if (v[SD_REPORT_ROWS].text)
        add_limit(w, places, v[SD_REPORT_ROWS].place,
                  (struct sd_call_limit){ .rows = v[SD_REPORT_ROWS].text });
    if (v[SD_REPORT_MATCH].text)
        add_limit(w, places, v[SD_REPORT_MATCH].place,
                  (struct sd_call_limit){ .match = v[SD_REPORT_MATCH].text });
    if (a->calls_of)
        add_limit(w, places,
                  v[SD_REPORT_CALLERS].is_given ? v[SD_REPORT_CALLERS].place
                                                : v[SD_REPORT_CALLEES].place,
                  (struct sd_call_limit){ .match = a->calls_of });
    return 0;
}

static const char *const by_itself[] = { "cumulative", NULL };

/* What is printed of calls when nothing else is said: most time first, as many rows as
 * of other tables. */
static int read_traced(const struct sd_asked *a, const struct sd_profile *p,
                       struct sd_traced_tables *w)
{
    int rc = sd_asked_calls(a, &w->calls);

    w->traced = sd_tables_traced_wish(&a->tables);
    w->has_threads = a->v[SD_REPORT_PER_THREAD].number != 0;
    w->calls.has_callers = sd_tables_has(p, &a->tables, "callers");
    w->calls.has_callees = sd_tables_has(p, &a->tables, "callees");
    if (!a->v[SD_REPORT_SORT].is_given)
        w->calls.sort = by_itself;
    if (!a->v[SD_REPORT_ROWS].text && !a->v[SD_REPORT_ALL].number &&
        w->calls.n_limits < SD_CALL_LIMITS_MAX)
        w->calls.limits[w->calls.n_limits++] =
            (struct sd_call_limit){ .rows = "20", .prefers_own = true };
    return rc;
}

/* --- The tables */

/* Functions, callers and callees as pstats prints them. */
static int put_pstats(const struct sd_command *c, const struct sd_profile *p,
                      const struct sd_traced_tables *wish, struct sd_out *out)
{
    int rc = sd_traced_put(p, wish, out);

    if (rc == 0 && sd_loudness_of(c) != SD_QUIET)
        sd_traced_say(p, &wish->traced);
    return rc;
}

static bool has_pstats(const struct sd_asked *a, const struct sd_profile *p,
                       const struct sd_traced_tables *wish)
{
    return sd_tables_has(p, &a->tables, "functions") || wish->calls.has_callers ||
           wish->calls.has_callees;
}

/* They, then what else there is. */
int sd_report_put_traced(const struct sd_asked *a, const struct sd_profile *p,
                         struct sd_out *out, int fd)
{
    struct sd_text_style style = sd_style_for(a->command, fd);
    struct sd_tables_wish others = a->tables;
    struct sd_traced_tables wish;
    struct sd_view view = { 0 };
    int rc = read_traced(a, p, &wish);

    if (!a->v[SD_REPORT_SCALING].number)
        others.sort = NULL; /* a word of pstats */
    if (rc == 0)
        rc = sd_tables_of(p, &others, &view);
    if (rc == 0)
        sd_report_put_heading(out, p, a);
    if (rc == 0 && has_pstats(a, p, &wish))
        rc = put_pstats(a->command, p, &wish, out);
    if (rc == 0)
        sd_tables_text(out, &view, &style);
    sd_view_release(&view);
    return rc;
}

/* What is said of the order may be meant for either: a word that one of them does not
 * know leaves it in the order it has by itself. */
static int read_both(const struct sd_asked *a, const struct sd_profile *p,
                     struct sd_tables_wish *others, struct sd_traced_tables *w)
{
    int rc = read_traced(a, p, w);

    *others = a->tables;
    if (!a->v[SD_REPORT_SORT].is_given)
        return rc;
    others->is_sort_known = has_pstats(a, p, w) && sd_call_sort_is(w->calls.sort);
    if (!others->is_sort_known)
        w->calls.sort = by_itself;
    return rc;
}

/* The tables of samples, then those of traced calls: they stand apart, since what is
 * traced runs slower than what is sampled. */
int sd_report_put_both(const struct sd_asked *a, const struct sd_profile *p,
                       struct sd_out *out, int fd)
{
    struct sd_text_style style = sd_style_for(a->command, fd);
    struct sd_tables_wish others;
    struct sd_traced_tables wish;
    struct sd_view view = { 0 };
    int rc = read_both(a, p, &others, &wish);

    if (rc == 0)
        rc = sd_tables_of(p, &others, &view);
    if (rc == 0) {
        sd_report_put_heading(out, p, a);
        sd_tables_text(out, &view, &style);
    }
    if (rc == 0 && has_pstats(a, p, &wish)) {
        sd_out_text(out, view.n_tables ? "\n" : "");
        sd_report_heading(out, &style, "Traced calls");
        sd_out_text(out, "\n");
        rc = put_pstats(a->command, p, &wish, out);
    }
    sd_view_release(&view);
    return rc;
}
