/* SPDX-License-Identifier: MIT */
#include "cli/time/time_put.h"

#include <math.h>
#include <string.h>

#include "analyse/growth/growth.h"
#include "analyse/time/time_comparison.h"
#include "analyse/time/time_growth.h"
#include "base/encoding/json.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/say.h"

enum { BAR = 40, STATEMENT_MAX = 72, PROCESSES_MOST = 1000 };

struct unit {
    const char *word, *shown;
    double ns;
};
static const struct unit units[] = { { "nsec", "ns", 1 },
                                     { "usec", "µs", 1e3 },
                                     { "msec", "ms", 1e6 },
                                     { "sec", "s", 1e9 } };
enum { N_UNITS = sizeof units / sizeof *units };

/* --- Words */

/* "7.31 µs", or as timeit writes units, where one was asked for: "7.31 usec". */
static void put_time(struct sd_out *out, double ns, const struct sd_time_style *style)
{
    const struct unit *u = &units[0];
    double v;

    for (int i = 1; i < N_UNITS; i++)
        if (style->unit ? strcmp(units[i].word, style->unit) == 0
                        : fabs(ns) >= units[i].ns * 0.99995)
            u = &units[i];
    v = ns / u->ns;
    if (fabs(v) < 0.005 && v < 0)
        v = 0; /* no -0.00 */
    sd_out_printf(out, "%.*f %s",
                  style->unit && fabs(v) < 0.1 ? 6
                  : fabs(v) < 9.995            ? 2
                  : fabs(v) < 99.95            ? 1
                                               : 0,
                  v, style->unit ? style->unit : u->shown);
}

/* On one line, without what a terminal would obey. */
static void put_statement(struct sd_out *out, const char *statement)
{
    struct sd_buf flat = { 0 }, shown = { 0 };
    size_t n;

    for (const char *at = statement; *at; at++)
        if (*at == '\n')
            sd_buf_text(&flat, "; ");
        else
            sd_buf_u8(&flat, (uint8_t)*at);
    n = sd_text_fit(sd_buf_string(&flat), flat.n, STATEMENT_MAX);
    sd_text_escape(&shown, sd_buf_string(&flat), n);
    if (n < flat.n)
        sd_buf_text(&shown, "...");
    sd_out_text(out, sd_made(out, &shown));
    sd_buf_release(&flat);
    sd_buf_release(&shown);
}

/* By what a result differs from the others. */
static void put_side(struct sd_out *out, const struct sd_timings *t, size_t side)
{
    if (t->is_of_pythons)
        sd_out_text(out, t->sides[side].python);
    else
        put_statement(out, t->sides[side].statement);
}

/* --- One result as text */

static void put_best(struct sd_out *out, const struct sd_timings *t, size_t side,
                     const struct sd_time_figures *f, const struct sd_time_style *style)
{
    double half = (f->high_ns - f->low_ns) / 2;
    char n[SD_TEXT_MAX];

    put_time(out, f->best_ns, style);
    if (!isfinite(half)) {
        sd_out_text(out, " ± ?");
    } else if (fabs(f->best_ns) >= 1) {
        sd_out_printf(out, " ± %.1f %%", 100 * half / fabs(f->best_ns));
    } else {
        sd_out_text(out, " ± ");
        put_time(out, half, style);
    }
    sd_out_text(out, "  ");
    put_side(out, t, side);
    if (t->size_name)
        sd_out_printf(out, "   %s = %s", t->size_name,
                      sd_text_scaled(n, t->sides[side].n));
    sd_out_text(out, "\n");
}

static void put_middle(struct sd_out *out, const struct sd_time_figures *f,
                       const struct sd_time_style *style)
{
    sd_out_text(out, "  median ");
    put_time(out, f->median_ns, style);
    sd_out_text(out, ", MAD ");
    put_time(out, f->mad_ns, style);
    sd_out_text(out, "; loop overhead ");
    put_time(out, f->loop_ns, style);
    sd_out_text(out, " (subtracted)\n");
}

static void put_counts(struct sd_out *out, const struct sd_time_figures *f)
{
    char batches[SD_TEXT_MAX], loops[SD_TEXT_MAX], dropped[SD_TEXT_MAX];

    sd_out_printf(
        out, "  %s batch%s of %s in %llu process%s; %s dropped (preempted)\n",
        sd_text_count(batches, (int64_t)f->n_batches), f->n_batches == 1 ? "" : "es",
        sd_text_count(loops, (int64_t)f->loops), (unsigned long long)f->n_processes,
        f->n_processes == 1 ? "" : "es", sd_text_count(dropped, (int64_t)f->n_dropped));
}

static void put_modes(struct sd_out *out, const struct sd_time_figures *f,
                      const struct sd_time_style *style)
{
    if (f->n_modes < 2)
        return;
    sd_out_text(out, "  modes: ");
    for (uint32_t i = 0; i < f->n_modes; i++) {
        sd_out_printf(out, "%s%.0f %% at ", i ? ", " : "", 100 * f->modes[i].share);
        put_time(out, f->modes[i].ns, style);
    }
    sd_out_text(out, "\n");
}

static void put_outliers(struct sd_out *out, const struct sd_time_figures *f)
{
    bool is_any = false;

    for (int i = SD_TIME_BY_PREEMPTION + 1; i < SD_TIME_CAUSES; i++) {
        if (f->outliers[i] == 0)
            continue;
        sd_out_printf(out, "%s%llu %s", is_any ? ", " : "  outliers: ",
                      (unsigned long long)f->outliers[i],
                      sd_time_cause_name((enum sd_time_cause)i));
        is_any = true;
    }
    sd_out_text(out, is_any ? "\n" : "");
}

static void put_histogram(struct sd_out *out, const struct sd_time_figures *f,
                          const struct sd_time_style *style)
{
    double width = (f->bins_to - f->bins_from) / (SD_TIME_BINS - 1);
    uint64_t most = 1;

    for (int i = 0; i < SD_TIME_BINS; i++)
        most = f->bins[i] > most ? f->bins[i] : most;
    for (int i = 0; i < SD_TIME_BINS; i++) {
        int n = (int)((double)f->bins[i] * BAR / (double)most + 0.5);

        if (width <= 0 && i > 0 && f->bins[i] == 0)
            continue;
        sd_out_text(out, i == SD_TIME_BINS - 1 && width > 0 ? "  and more " : "  ");
        put_time(out, f->bins_from + width * i, style);
        sd_out_printf(out, "  %llu ", (unsigned long long)f->bins[i]);
        for (int k = 0; k < n; k++)
            sd_out_text(out, "#");
        sd_out_text(out, "\n");
    }
}

static void put_more(struct sd_out *out, const struct sd_timings *t, size_t side,
                     const struct sd_time_figures *f)
{
    const struct sd_timing_side *s = &t->sides[side];
    char n[SD_TEXT_MAX], peak[SD_TEXT_MAX];

    if (isfinite(f->instructions))
        sd_out_printf(out, "  %s instructions\n",
                      sd_text_count(n, (int64_t)(f->instructions + 0.5)));
    if (s->allocated_bytes != SD_TIME_UNKNOWN)
        sd_out_printf(out, "  allocates %s, %s at its peak\n",
                      sd_text_bytes(n, s->allocated_bytes),
                      sd_text_bytes(peak, s->peak_bytes));
}

static void put_doubts(struct sd_out *out, const struct sd_timings *t,
                       const struct sd_time_figures *f)
{
    const char *what = f->n_processes > 1 ? "processes" : "batches";

    if (f->is_long)
        sd_out_text(out,
                    "  a batch is longer than a time slice: the time that it waited "
                    "for a CPU is not counted (CPU time and time asleep are)\n");
    if (f->is_estimate)
        sd_out_text(out, "  not settled: every batch was interrupted, and the kernel "
                         "does not tell for how long\n");
    else if (!f->has_agreed && f->spread <= 0.02)
        sd_out_printf(out, "  not settled: fewer than three %s tell nothing\n", what);
    else if (!f->has_agreed)
        sd_out_printf(out,
                      "  not settled: the three fastest %s differ by %.1f %%; other "
                      "programs may be running%s\n",
                      what, 100 * f->spread,
                      t->is_as_timeit ? "" : ", and a larger --budget helps");
    if (!f->had_speed)
        sd_out_text(out, "  not settled: the machine did not reach the speed that it "
                         "has shown before; other programs may be running\n");
}

static int put_result(struct sd_out *out, const struct sd_timings *t, size_t side,
                      const struct sd_time_style *style)
{
    struct sd_time_figures f;
    int rc = sd_time_figures(t, side, &f);

    if (rc < 0)
        return rc;
    put_best(out, t, side, &f, style);
    put_middle(out, &f, style);
    put_counts(out, &f);
    put_modes(out, &f, style);
    put_more(out, t, side, &f);
    if (style->has_histogram) {
        put_outliers(out, &f);
        put_histogram(out, &f, style);
        if (!isfinite(f.instructions))
            sd_out_text(out,
                        "  instructions: this machine has no counter for programs\n");
    }
    put_doubts(out, t, &f);
    return 0;
}

/* --- Comparisons and growth */

static void put_verdict(struct sd_out *out, const struct sd_timings *t,
                        const struct sd_time_comparison *c)
{
    size_t n_sets = 0; /* of processes that measured in turn */

    for (size_t i = 0; i < t->n_processes; i++)
        n_sets += i == 0 || t->processes[i].set != t->processes[i - 1].set;
    sd_out_text(out, sd_time_verdict_name(c->verdict));
    if (c->verdict == SD_TIME_CANNOT_TELL && t->budget_ns && isfinite(c->ratio))
        sd_out_printf(out, "; --budget %.0fs --processes %.0f may be enough",
                      ceil((double)t->budget_ns * c->more / 1e9),
                      fmin(ceil((double)n_sets * c->more), PROCESSES_MOST));
    sd_out_text(out, "\n");
}

static int put_comparison(struct sd_out *out, const struct sd_timings *t,
                          size_t against)
{
    struct sd_time_comparison c;
    int rc = sd_time_comparison(t, 0, against, &c);

    if (rc < 0)
        return rc;
    put_side(out, t, 0);
    if (isfinite(c.ratio))
        sd_out_printf(out, ": %.*f × ", c.ratio < 10 ? 3 : 1, c.ratio);
    else
        sd_out_text(out, ": ? × ");
    put_side(out, t, against);
    if (isfinite(c.low))
        sd_out_printf(out, " (95 %% confidence: %.*f to %.*f)", c.ratio < 10 ? 3 : 1,
                      c.low, c.ratio < 10 ? 3 : 1, c.high);
    sd_out_text(out, ", ");
    put_verdict(out, t, &c);
    return 0;
}

static int put_growth(struct sd_out *out, const struct sd_timings *t)
{
    struct sd_growth g;
    struct sd_buf words = { 0 };
    int rc = sd_time_growth_fit(t, &g);

    if (rc < 0)
        return rc;
    sd_growth_words(&words, &g);
    sd_out_printf(out, "growth: %s", sd_made(out, &words));
    if (g.answer == SD_GROWTH_FITTED)
        sd_out_printf(out, " (exponent %.2f, 95 %% confidence: %.2f to %.2f)",
                      g.exponent, g.low, g.high);
    sd_out_text(out, "\n");
    sd_buf_release(&words);
    return 0;
}

int sd_time_put_text(struct sd_out *out, const struct sd_timings *t,
                     const struct sd_time_style *style)
{
    int rc = 0;

    for (size_t i = 0; i < t->n_sides && rc == 0; i++)
        rc = put_result(out, t, i, style);
    for (size_t i = 1; i < t->n_sides && rc == 0 && !t->size_name; i++)
        rc = put_comparison(out, t, i);
    return rc == 0 && t->size_name ? put_growth(out, t) : rc;
}

/* --- As JSON */

static void put_modes_json(struct sd_json *j, const struct sd_time_figures *f)
{
    sd_json_key_array(j, "modes");
    for (uint32_t i = 0; i < f->n_modes; i++) {
        sd_json_object(j);
        sd_json_key_real(j, "ns", f->modes[i].ns);
        sd_json_key_real(j, "share", f->modes[i].share);
        sd_json_end(j);
    }
    sd_json_end(j);
}

static void put_outliers_json(struct sd_json *j, const struct sd_time_figures *f)
{
    sd_json_key_array(j, "outliers");
    for (int i = 0; i < SD_TIME_CAUSES; i++) {
        if (f->outliers[i] == 0)
            continue;
        sd_json_object(j);
        sd_json_key_string(j, "cause", sd_time_cause_name((enum sd_time_cause)i));
        sd_json_key_uint(j, "count", f->outliers[i]);
        sd_json_end(j);
    }
    sd_json_end(j);
}

static int put_result_json(struct sd_json *j, const struct sd_timings *t, size_t side)
{
    const struct sd_timing_side *s = &t->sides[side];
    struct sd_time_figures f;
    int rc = sd_time_figures(t, side, &f);

    if (rc < 0)
        return rc;
    sd_json_object(j);
    sd_json_key_string(j, "statement", s->statement);
    sd_json_key_string(j, "setup", s->setup);
    sd_json_key_string(j, "python", s->python);
    if (t->size_name)
        sd_json_key_real(j, "n", s->n);
    sd_json_key_uint(j, "loops", f.loops);
    sd_json_key_uint(j, "batches", f.n_batches);
    sd_json_key_uint(j, "dropped", f.n_dropped);
    sd_json_key_bool(j, "settled", sd_time_figures_are_settled(&f));
    sd_json_key_real(j, "best_ns", f.best_ns);
    sd_json_key_real(j, "low_ns", f.low_ns);
    sd_json_key_real(j, "high_ns", f.high_ns);
    sd_json_key_real(j, "median_ns", f.median_ns);
    sd_json_key_real(j, "mad_ns", f.mad_ns);
    sd_json_key_real(j, "loop_ns", f.loop_ns);
    put_modes_json(j, &f);
    put_outliers_json(j, &f);
    sd_json_key_real(j, "instructions", f.instructions);
    if (s->allocated_bytes != SD_TIME_UNKNOWN) {
        sd_json_key_int(j, "allocated_bytes", s->allocated_bytes);
        sd_json_key_int(j, "peak_bytes", s->peak_bytes);
    }
    sd_json_end(j);
    return 0;
}

static int put_comparison_json(struct sd_json *j, const struct sd_timings *t,
                               size_t against)
{
    const struct sd_timing_side *a = &t->sides[0], *b = &t->sides[against];
    struct sd_time_comparison c;
    int rc = sd_time_comparison(t, 0, against, &c);

    if (rc < 0)
        return rc;
    sd_json_object(j);
    sd_json_key_string(j, "statement", t->is_of_pythons ? a->python : a->statement);
    sd_json_key_string(j, "against", t->is_of_pythons ? b->python : b->statement);
    sd_json_key_real(j, "ratio", c.ratio);
    sd_json_key_real(j, "low", c.low);
    sd_json_key_real(j, "high", c.high);
    sd_json_key_string(j, "verdict", sd_time_verdict_name(c.verdict));
    sd_json_end(j);
    return 0;
}

static int put_growth_json(struct sd_json *j, const struct sd_timings *t)
{
    struct sd_growth g;
    struct sd_buf words = { 0 };
    bool is_fitted;
    int rc = sd_time_growth_fit(t, &g);

    if (rc < 0)
        return rc;
    is_fitted = g.answer == SD_GROWTH_FITTED;
    sd_growth_words(&words, &g);
    sd_json_object(j);
    sd_json_key_real(j, "exponent", is_fitted ? g.exponent : NAN);
    sd_json_key_real(j, "exponent_low", is_fitted ? g.low : NAN);
    sd_json_key_real(j, "exponent_high", is_fitted ? g.high : NAN);
    sd_json_key_string(j, "growth", sd_buf_string(&words));
    sd_json_end(j);
    sd_buf_release(&words);
    return 0;
}

int sd_time_put_json(struct sd_out *out, const struct sd_timings *t)
{
    struct sd_json j;
    int rc = 0;

    sd_json_init(&j, out, true);
    sd_json_object(&j);
    sd_json_key_array(&j, "results");
    for (size_t i = 0; i < t->n_sides && rc == 0; i++)
        rc = put_result_json(&j, t, i);
    if (rc == 0)
        sd_json_end(&j);
    if (rc == 0)
        sd_json_key_array(&j, "comparisons");
    for (size_t i = 1; i < t->n_sides && rc == 0 && !t->size_name; i++)
        rc = put_comparison_json(&j, t, i);
    if (rc < 0)
        return rc;
    sd_json_end(&j);
    sd_json_key(&j, "growth");
    if (t->size_name)
        rc = put_growth_json(&j, t);
    else
        sd_json_null(&j);
    if (rc == 0) {
        sd_json_end(&j);
        sd_out_text(out, "\n");
    }
    return rc;
}
