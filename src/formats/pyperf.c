/* SPDX-License-Identifier: MIT */
/* pyperf: writes timed statements as pyperf keeps them: one benchmark for each, with a
 * run for each process, whose values are seconds of one execution.
 *
 * Only batches that count are values, the loop's own time taken off, as in all figures
 * of ours; pyperf leaves it in. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/encoding/json.h"
#include "base/error.h"
#include "formats/output.h"
#include "profile/profile.h"

/* Its loader wants at least one value a run, none of them 0 or below. */
#define LEAST_S 1e-12
enum { NAME_MAX_BYTES = 200, DATE_MAX = 32 };

static bool counts(const struct sd_time_batch *b, size_t side, bool is_empty)
{
    return (size_t)b->side == side && !(b->flags & SD_TIME_WARM_UP) &&
           !(b->flags & SD_TIME_PREEMPTED) &&
           ((b->flags & SD_TIME_EMPTY) != 0) == is_empty;
}

static double least_of(const struct sd_timings *t, const struct sd_timing_process *p,
                       size_t side, bool is_empty)
{
    double least = INFINITY;

    for (size_t i = p->first; i < p->first + p->n; i++)
        if (counts(&t->batches[i], side, is_empty))
            least = fmin(least,
                         (double)t->batches[i].took_ns / (double)t->batches[i].loops);
    return least;
}

static size_t n_values(const struct sd_timings *t, const struct sd_timing_process *p,
                       size_t side)
{
    size_t n = 0;

    for (size_t i = p->first; i < p->first + p->n; i++)
        n += counts(&t->batches[i], side, false);
    return n;
}

/* pyperf's own form: "2024-05-01 12:00:00.000000". */
static void put_date(struct sd_json *j, const struct sd_profile *p, uint64_t at_ns)
{
    uint64_t real_ns = p->real_zero_ns + at_ns;
    time_t seconds = (time_t)(real_ns / 1000000000u);
    char text[DATE_MAX], whole[DATE_MAX + 16];
    struct tm tm;

    if (!localtime_r(&seconds, &tm) ||
        !strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm))
        return;
    snprintf(whole, sizeof whole, "%s.%06u", text,
             (unsigned)(real_ns % 1000000000u / 1000));
    sd_json_key_string(j, "date", whole);
}

static void put_run(struct sd_json *j, const struct sd_profile *p,
                    const struct sd_timings *t, const struct sd_timing_process *of,
                    size_t side)
{
    double loop = least_of(t, of, side, true);
    uint64_t loops = 1, from = UINT64_MAX, to = 0;

    loop = isfinite(loop) ? loop : 0;
    sd_json_object(j);
    sd_json_key_array(j, "values");
    for (size_t i = of->first; i < of->first + of->n; i++) {
        const struct sd_time_batch *b = &t->batches[i];

        if (!counts(b, side, false))
            continue;
        loops = (uint64_t)b->loops;
        from = b->at_ns < from ? b->at_ns : from;
        to = b->at_ns + (uint64_t)b->took_ns;
        sd_json_real(
            j, fmax(((double)b->took_ns / (double)b->loops - loop) * 1e-9, LEAST_S));
    }
    sd_json_end(j);
    sd_json_key_object(j, "metadata");
    put_date(j, p, from);
    sd_json_key_real(j, "duration", (double)(to - from) * 1e-9);
    sd_json_key_uint(j, "loops", loops);
    sd_json_end(j);
    sd_json_end(j);
}

/* Names are told apart: its reader refuses two alike. */
static void put_name(struct sd_json *j, const struct sd_timings *t, size_t side)
{
    const struct sd_timing_side *s = &t->sides[side];
    struct sd_buf name = { 0 };
    bool is_other_python = strcmp(s->python, t->sides[0].python) != 0;

    sd_buf_add(&name, s->statement, strnlen(s->statement, NAME_MAX_BYTES));
    if (t->size_name && isfinite(s->n))
        sd_buf_printf(&name, " (%s=%.17g)", t->size_name, s->n);
    if (is_other_python)
        sd_buf_printf(&name, " (%s)", s->python);
    for (size_t i = 0; i < side; i++)
        if (strcmp(t->sides[i].statement, s->statement) == 0 && !is_other_python &&
            !t->size_name) {
            sd_buf_printf(&name, " (%zu)", side + 1);
            break;
        }
    sd_json_key_string(j, "name", sd_buf_string(&name));
    sd_buf_release(&name);
}

static void put_benchmark(struct sd_json *j, const struct sd_profile *p,
                          const struct sd_timings *t, size_t side)
{
    sd_json_object(j);
    sd_json_key_object(j, "metadata");
    put_name(j, t, side);
    sd_json_key_string(j, "timeit_stmt", t->sides[side].statement);
    sd_json_key_string(j, "timeit_setup", t->sides[side].setup);
    if (*t->sides[side].python)
        sd_json_key_string(j, "python_executable", t->sides[side].python);
    sd_json_key_string(j, "unit", "second");
    sd_json_end(j);
    sd_json_key_array(j, "runs");
    for (size_t i = 0; i < t->n_processes; i++)
        if (n_values(t, &t->processes[i], side) > 0)
            put_run(j, p, t, &t->processes[i], side);
    sd_json_end(j);
    sd_json_end(j);
}

static bool has_values(const struct sd_timings *t, size_t side)
{
    for (size_t i = 0; i < t->n_processes; i++)
        if (n_values(t, &t->processes[i], side) > 0)
            return true;
    return false;
}

static int write_pyperf(const struct sd_output_job *job, struct sd_out *out)
{
    const struct sd_timings *t = &job->profile->evidence[SD_TIMINGS].timings;
    struct sd_json j;

    for (size_t i = 0; i < t->n_sides; i++)
        if (!has_values(t, i))
            return sd_fail(SD_EABSENT,
                           "every batch of %s was preempted, so there is no value for "
                           "pyperf; measure again",
                           t->sides[i].statement);
    sd_json_init(&j, out, false);
    j.keeps_less = true;
    sd_json_object(&j);
    sd_json_key_array(&j, "benchmarks");
    for (size_t i = 0; i < t->n_sides; i++)
        put_benchmark(&j, job->profile, t, i);
    sd_json_end(&j);
    sd_json_key_string(&j, "version", "1.0");
    sd_json_end(&j);
    sd_out_text(out, "\n");
    return 0;
}

const struct sd_output sd_output_pyperf = {
    .name = "pyperf",
    .suffixes = { ".pyperf.json" },
    .summary = "timed statements, for pyperf",
    .loses =
        "batches that were dropped, the loop's own time, how statements compare in "
        "the same round",
    .needs = SD_HOLDS_TIMINGS,
    .write = write_pyperf,
};
