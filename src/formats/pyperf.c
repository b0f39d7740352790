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
#include "base/mem.h"
#include "base/text.h"
#include "formats/output.h"
#include "profile/profile.h"
#include "profile/time/timing_times.h"

/* Its loader wants at least one value a run, none of them 0 or below. */
#define LEAST_S 1e-12
enum { NAME_COLUMNS = 200, DATE_MAX = 32 };

/* Of one statement. */
struct benchmark {
    const struct sd_timings *t;
    struct sd_timing_rule rule;
    double *times;                   /* owned; room for those of one process */
    const struct sd_time_batch **of; /* owned */
};

static struct sd_timing_times take(struct benchmark *b, size_t process)
{
    return sd_timing_times_of(b->t, &b->rule, &b->t->processes[process], b->times,
                              b->of);
}

static int begin(struct benchmark *b, const struct sd_timings *t)
{
    *b = (struct benchmark){ .t = t,
                             .times = sd_alloc((t->n_batches + 1) * sizeof *b->times),
                             .of = sd_alloc((t->n_batches + 1) * sizeof *b->of) };
    return b->times && b->of ? 0 : sd_no_memory();
}

static void end(struct benchmark *b)
{
    sd_free(b->times);
    sd_free(b->of);
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
                    const struct benchmark *b, const struct sd_timing_times *r)
{
    const struct sd_time_batch *last = b->of[r->n - 1];
    uint64_t from = b->of[0]->at_ns;
    uint64_t to = last->at_ns + (uint64_t)last->took_ns;

    sd_json_object(j);
    sd_json_key_array(j, "values");
    for (size_t i = 0; i < r->n; i++)
        sd_json_real(j, fmax((b->times[i] - r->loop_ns) * 1e-9, LEAST_S));
    sd_json_end(j);
    sd_json_key_object(j, "metadata");
    put_date(j, p, from);
    sd_json_key_real(j, "duration", to > from ? (double)(to - from) * 1e-9 : 0);
    sd_json_key_uint(j, "loops", (uint64_t)last->loops);
    sd_json_end(j);
    sd_json_end(j);
}

static void make_name(const struct sd_timings *t, size_t side, struct sd_buf *name)
{
    const struct sd_timing_side *s = &t->sides[side];

    sd_buf_add(name, s->statement,
               sd_text_fit(s->statement, strlen(s->statement), NAME_COLUMNS));
    if (t->size_name && isfinite(s->n))
        sd_buf_printf(name, " (%s=%.17g)", t->size_name, s->n);
    if (strcmp(s->python, t->sides[0].python) != 0)
        sd_buf_printf(name, " (%s)", s->python);
}

/* Names are told apart: its reader refuses two alike. */
static void put_name(struct sd_json *j, const struct sd_timings *t, size_t side)
{
    struct sd_buf name = { 0 }, other = { 0 };
    size_t n_alike = 0;

    make_name(t, side, &name);
    for (size_t i = 0; i < side; i++) {
        other.n = 0;
        make_name(t, i, &other);
        n_alike += strcmp(sd_buf_string(&other), sd_buf_string(&name)) == 0;
    }
    if (n_alike)
        sd_buf_printf(&name, " (%zu)", n_alike + 1);
    sd_json_key_string(j, "name", sd_buf_string(&name));
    sd_buf_release(&name);
    sd_buf_release(&other);
}

static void put_benchmark(struct sd_json *j, const struct sd_profile *p,
                          struct benchmark *b, size_t side)
{
    const struct sd_timings *t = b->t;

    b->rule = sd_timing_times_rule(t, side);
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
    for (size_t i = 0; i < t->n_processes; i++) {
        struct sd_timing_times r = take(b, i);

        if (r.n > 0)
            put_run(j, p, b, &r);
    }
    sd_json_end(j);
    sd_json_end(j);
}

static bool has_values(struct benchmark *b, size_t side)
{
    b->rule = sd_timing_times_rule(b->t, side);
    for (size_t i = 0; i < b->t->n_processes; i++)
        if (take(b, i).n > 0)
            return true;
    return false;
}

static int check(struct benchmark *b)
{
    for (size_t i = 0; i < b->t->n_sides; i++)
        if (!has_values(b, i))
            return sd_fail(SD_EABSENT,
                           "every batch of %s was preempted, so there is no value for "
                           "pyperf; measure again",
                           b->t->sides[i].statement);
    return 0;
}

static int write_pyperf(const struct sd_output_job *job, struct sd_out *out)
{
    const struct sd_timings *t = &job->profile->evidence[SD_TIMINGS].timings;
    struct benchmark b;
    struct sd_json j;
    int rc = begin(&b, t);

    if (rc == 0)
        rc = check(&b);
    if (rc < 0) {
        end(&b);
        return rc;
    }
    sd_json_init(&j, out, false);
    j.keeps_less = true;
    sd_json_object(&j);
    sd_json_key_array(&j, "benchmarks");
    for (size_t i = 0; i < t->n_sides; i++)
        put_benchmark(&j, job->profile, &b, i);
    sd_json_end(&j);
    sd_json_key_string(&j, "version", "1.0");
    sd_json_end(&j);
    sd_out_text(out, "\n");
    end(&b);
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
