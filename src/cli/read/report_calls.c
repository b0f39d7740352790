/* SPDX-License-Identifier: MIT */
/* report_calls: prints traced calls in the tables of pstats. */
#include "base/error.h"
#include "cli/read/verb_report.h"
#include "cli/say.h"
#include "report/report.h"

enum { DIGITS_MAX = 12 };

/* --- What was typed, in the words of pstats */

/* Restrictions work one after the other, so they stand as they were typed. */
static void add_limit(struct sd_call_request *w, int places[SD_CALL_LIMITS_MAX],
                      int place, struct sd_call_limit limit)
{
    size_t at = w->n_limits++;

    for (; at > 0 && places[at - 1] > place; at--) {
        w->limits[at] = w->limits[at - 1];
        places[at] = places[at - 1];
    }
    w->limits[at] = limit;
    places[at] = place;
}

int sd_report_calls_request(const struct sd_report_request *a,
                            struct sd_call_request *w)
{
    const struct sd_option_value *v = a->v;
    int places[SD_CALL_LIMITS_MAX];

    *w = (struct sd_call_request){
        .form = sd_report_request_table_form(a),
        .maker = &sd_pattern_maker,
        .sort = v[SD_REPORT_SORT].words,
        .is_reversed = v[SD_REPORT_REVERSE].number != 0,
        .strips_dirs = v[SD_REPORT_STRIP_DIRS].number != 0,
        .has_callers = v[SD_REPORT_CALLERS].is_given,
        .has_callees = v[SD_REPORT_CALLEES].is_given,
        .digits = (unsigned)v[SD_REPORT_DIGITS].number,
    };
    if (v[SD_REPORT_DIGITS].number < 1 || v[SD_REPORT_DIGITS].number > DIGITS_MAX)
        return sd_fail(SD_EUSAGE, "--digits must be from 1 to %d", DIGITS_MAX);
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
static int read_traced(const struct sd_report_request *a, const struct sd_profile *p,
                       struct sd_call_request *w)
{
    int rc = sd_report_calls_request(a, w);

    w->has_callers = sd_views_have(p, &a->views, "callers");
    w->has_callees = sd_views_have(p, &a->views, "callees");
    if (!a->v[SD_REPORT_SORT].is_given)
        w->sort = by_itself;
    if (!a->v[SD_REPORT_ROWS].text && !a->v[SD_REPORT_ALL].number &&
        w->n_limits < SD_CALL_LIMITS_MAX)
        w->limits[w->n_limits++] =
            (struct sd_call_limit){ .rows = "20", .prefers_own = true };
    return rc;
}

/* --- The tables */

/* Functions, callers and callees as pstats prints them. */
static int put_pstats(const struct sd_report_request *a, const struct sd_profile *p,
                      const struct sd_call_request *request, struct sd_out *out)
{
    int rc = sd_pstats_tables_put(p, &a->views, request, out);

    if (rc == 0 && sd_loudness_of(a->command) != SD_QUIET)
        sd_pstats_tables_remark(p, &a->views.stacks, &sd_said_remarks);
    return rc;
}

static bool has_pstats(const struct sd_report_request *a, const struct sd_profile *p,
                       const struct sd_call_request *request)
{
    return sd_views_have(p, &a->views, "functions") || request->has_callers ||
           request->has_callees;
}

/* They, then what else there is. */
int sd_report_calls_put(const struct sd_report_request *a, const struct sd_profile *p,
                        struct sd_out *out, int fd)
{
    struct sd_text_style style = sd_style_for(a->command, fd);
    struct sd_view_request others = a->views;
    struct sd_call_request request;
    struct sd_view view = { 0 };
    int rc = read_traced(a, p, &request);

    if (!a->v[SD_REPORT_SCALING].number)
        others.sort = NULL; /* a word of pstats */
    if (rc == 0)
        rc = sd_tables_of(p, &others, &view);
    if (rc == 0)
        sd_report_put_heading(out, p, a);
    if (rc == 0 && has_pstats(a, p, &request))
        rc = put_pstats(a, p, &request, out);
    if (rc == 0)
        sd_tables_put_text(out, &view, &style);
    sd_view_release(&view);
    return rc;
}

/* What is said of the order may be meant for either: a word that one of them does not
 * know leaves it in the order it has by itself. */
static int read_both(const struct sd_report_request *a, const struct sd_profile *p,
                     struct sd_view_request *others, struct sd_call_request *w)
{
    int rc = read_traced(a, p, w);

    *others = a->views;
    if (!a->v[SD_REPORT_SORT].is_given)
        return rc;
    others->is_sort_known = has_pstats(a, p, w) && sd_call_report_sort_is(w->sort);
    if (!others->is_sort_known)
        w->sort = by_itself;
    return rc;
}

/* The tables of samples, then those of traced calls: they stand apart, since what is
 * traced runs slower than what is sampled. */
int sd_report_calls_put_both(const struct sd_report_request *a,
                             const struct sd_profile *p, struct sd_out *out, int fd)
{
    struct sd_text_style style = sd_style_for(a->command, fd);
    struct sd_view_request others;
    struct sd_call_request request;
    struct sd_view view = { 0 };
    int rc = read_both(a, p, &others, &request);

    if (rc == 0)
        rc = sd_tables_of(p, &others, &view);
    if (rc == 0) {
        sd_report_put_heading(out, p, a);
        sd_tables_put_text(out, &view, &style);
    }
    if (rc == 0 && has_pstats(a, p, &request)) {
        sd_out_text(out, view.n_tables ? "\n" : "");
        sd_report_heading(out, &style, "Traced calls");
        sd_out_text(out, "\n");
        rc = put_pstats(a, p, &request, out);
    }
    sd_view_release(&view);
    return rc;
}
