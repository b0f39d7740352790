/* SPDX-License-Identifier: MIT */
/* machine_measure: runs the loops on one core and on all, round by round, until the
 * best results agree. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "machine/machine.h"
#include "machine/machine_best.h"
#include "machine/machine_identity.h"
#include "machine/machine_limits.h"
#include "machine/machine_loops.h"
#include "machine/machine_memory.h"
#include "machine/machine_team.h"

/* Every figure is timed in many short rounds, of which the best that was reached twice
 * counts.  A moment in which the machine was slow must not spoil one figure and leave
 * the others, so the rounds of one do not follow each other: all figures are gone
 * through, again and again, until enough time has passed and two of the best of each
 * agree. */
enum {
    ROUND_NS = 8 * 1000 * 1000, /* of a loop that can be repeated */
    TIMED_NS = 1000 * 1000,     /* long enough to be timed */
    PASSES_LEAST = 3,
    FIGURES_MAX = 2 * SD_MACHINE_NUMBERS + 2 * SD_MEMORY_LEVELS + 1,
};
#ifdef SD_TINY
static const uint64_t LEAST_NS = 50000000, MOST_NS = 100000000;
#else
static const uint64_t LEAST_NS = 1000000000, MOST_NS = 5000000000; /* of all passes */
#endif

struct result {
    double done; /* operations, or bytes */
    int64_t ns;  /* CPU time of the thread: what others take of the core is not ours */
};

struct job {
    double (*run)(const struct job *j, unsigned place); /* how much was done */
    struct sd_machine_kernel kernel;
    const struct sd_machine_memory *memory;
    enum sd_memory_level level;
    bool is_alone;
    uint64_t repeats;
    struct result *results; /* borrowed; one for each core */
};

struct figure {
    struct job job;
    unsigned n;            /* cores */
    double *to;            /* where it goes */
    double *one_core;      /* what one of them reached goes there, if it is better */
    struct sd_best rounds; /* of all cores together */
    struct sd_best members;
};

struct measuring {
    struct sd_team team;
    struct sd_machine_memory memory;
    struct result *results;
    struct figure figures[FIGURES_MAX];
    unsigned n_figures;
};

/* --- What a core does */

static int64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static const struct sd_memory_part *part_of(const struct job *j, unsigned place)
{
    return j->is_alone ? &j->memory->alone : &j->memory->parts[place];
}

static double compute(const struct job *j, unsigned place)
{
    double sink = 0;

    (void)place;
    j->kernel.run(j->repeats, &sink);
    __asm__ volatile("" : : "g"(&sink) : "memory");
    return (double)j->repeats * j->kernel.ops_per_round;
}

static double read_through(const struct job *j, unsigned place)
{
    const struct sd_memory_part *p = part_of(j, place);
    double sink = 0;

    sd_machine_sum(j->memory->pages + p->at, p->bytes[j->level], j->repeats, &sink);
    __asm__ volatile("" : : "g"(&sink) : "memory");
    return (double)p->bytes[j->level] * (double)j->repeats;
}

/* A third of the core's part for each of the arrays. */
static double triad(const struct job *j, unsigned place)
{
    const struct sd_memory_part *p = part_of(j, place);
    size_t n = p->bytes[SD_MEMORY_ITSELF] / 3 / 1024 * 1024 / sizeof(double);
    double *a = (void *)(j->memory->pages + p->at);

    for (uint64_t i = 0; i < j->repeats; i++)
        sd_machine_triad(a, a + n, a + 2 * n, n);
    return 3.0 * (double)(n * sizeof *a) * (double)j->repeats;
}

/* Pages that are there before the clock runs, near the core that reads them. */
static double touch(const struct job *j, unsigned place)
{
    const struct sd_memory_part *p = part_of(j, place);

    memset(j->memory->pages + p->at, 1, p->bytes[SD_MEMORY_ITSELF]);
    return 0;
}

static void work(void *job, unsigned place)
{
    const struct job *j = job;
    int64_t start = cpu_ns();

    j->results[place].done = j->run(j, place);
    j->results[place].ns = cpu_ns() - start;
}

/* --- Rounds */

/* As many repeats as take long enough: a small level is read in less time than the
 * clock needs to be. */
static void find_repeats(struct measuring *g, struct figure *f)
{
    struct job *j = &f->job;

    j->repeats = 1;
    sd_team_run(&g->team, 1, work, j);
    while (j->results[0].ns < TIMED_NS && j->repeats < (uint64_t)1 << 40) {
        j->repeats *= 4;
        sd_team_run(&g->team, 1, work, j);
    }
    if (j->results[0].ns > 0 && j->results[0].ns < ROUND_NS)
        j->repeats =
            (uint64_t)((double)j->repeats * ROUND_NS / (double)j->results[0].ns);
}

/* The cores' rates are added within a round: the best of each, from different ones,
 * might be of moments in which the others stood still. */
static void measure_round(struct measuring *g, struct figure *f)
{
    double sum = 0;

    sd_team_run(&g->team, f->n, work, &f->job);
    for (unsigned i = 0; i < f->n; i++) {
        const struct result *r = &g->results[i];
        double rate = r->ns > 0 ? r->done / ((double)r->ns * 1e-9) : 0;

        sum += rate;
        sd_best_add(&f->members, rate);
    }
    sd_best_add(&f->rounds, sum);
}

/* How many are not settled when the time is over. */
static unsigned measure_rounds(struct measuring *g)
{
    uint64_t start = sd_clock_ns(), passed = 0;
    unsigned left = g->n_figures;

    for (unsigned pass = 0;
         pass < PASSES_LEAST || (left > 0 && passed < MOST_NS) || passed < LEAST_NS;
         pass++) {
        left = 0;
        for (unsigned i = 0; i < g->n_figures; i++) {
            struct figure *f = &g->figures[i];

            if (pass < PASSES_LEAST || passed < LEAST_NS ||
                !sd_best_is_settled(&f->rounds))
                measure_round(g, f);
            left += !sd_best_is_settled(&f->rounds);
        }
        passed = sd_clock_ns() - start;
    }
    return left;
}

/* --- Figures */

static void add_figure(struct measuring *g, struct job job, unsigned n, double *to,
                       double *one_core)
{
    struct figure *f = &g->figures[g->n_figures++];

    job.memory = &g->memory;
    job.results = g->results;
    *f = (struct figure){ .job = job, .n = n, .to = to, .one_core = one_core };
    find_repeats(g, f);
}

/* One core alone, then all of them. */
static void add_both(struct measuring *g, struct job job, double *one, double *all)
{
    job.is_alone = true;
    add_figure(g, job, 1, one, NULL);
    job.is_alone = false;
    add_figure(g, job, g->team.n, all, one);
}

static void add_figures(struct measuring *g, struct sd_machine *m)
{
    static const char *const names[] = { "L1", "L2", "L3", "memory" };

    for (int k = 0; k < SD_MACHINE_NUMBERS; k++) {
        struct job job = { .run = compute,
                           .kernel = sd_machine_kernel((enum sd_machine_number)k) };

        if (job.kernel.run)
            add_both(g, job, &m->one_core[k], &m->all_cores[k]);
    }
    for (unsigned i = 0; i < SD_MEMORY_LEVELS; i++) {
        struct sd_machine_level *l = &m->levels[m->n_levels];

        if (g->memory.alone.bytes[i] == 0)
            continue;
        m->n_levels++;
        snprintf(l->name, sizeof l->name, "%s", names[i]);
        l->bytes = g->memory.caches[i];
        add_both(g,
                 (struct job){ .run = read_through, .level = (enum sd_memory_level)i },
                 &l->one_core, &l->all_cores);
    }
    add_figure(g, (struct job){ .run = triad }, g->team.n, &m->triad, NULL);
}

/* A core is no slower alone than beside others, nor all of them slower than one: where
 * it was measured so, the better figure is the nearer one. */
static void keep_figures(const struct measuring *g)
{
    for (unsigned i = 0; i < g->n_figures; i++) {
        const struct figure *f = &g->figures[i];

        *f->to = sd_best_of(&f->rounds);
        if (f->one_core && sd_best_of(&f->members) > *f->one_core)
            *f->one_core = sd_best_of(&f->members);
        if (f->one_core && *f->one_core > *f->to)
            *f->to = *f->one_core;
    }
}

static int measure(struct measuring *g, struct sd_machine *m)
{
    struct job first = { .run = touch, .memory = &g->memory, .results = g->results };

    sd_team_run(&g->team, g->team.n, work, &first);
    add_figures(g, m);
    m->n_unsettled = measure_rounds(g);
    m->n_figures = g->n_figures;
    keep_figures(g);
    m->bytes_read = g->memory.n_bytes;
    m->cache_bytes = g->memory.all_caches;
    m->measured_at = (uint64_t)time(NULL);
    return sd_machine_is_whole(m)
               ? 0
               : sd_fail(SD_EIO, "cannot measure the highest speed of this machine: "
                                 "its CPU-time clock does not advance as it should");
}

int sd_machine_measure(struct sd_machine *m)
{
    struct sd_machine_limits limits;
    struct measuring g = { 0 };
    int cpus[SD_MACHINE_CORES];
    int rc;

    sd_machine_identify(m);
    sd_machine_limits("", &limits);
    if (sd_machine_cpus(cpus) < m->n_cores)
        m->n_cores = 1; /* the affinity has changed meanwhile */
    g.results = sd_zalloc(m->n_cores * sizeof *g.results);
    rc = g.results ? sd_machine_memory_plan(&g.memory, "", cpus, m->n_cores,
                                            sd_machine_memory_most("", &limits))
                   : sd_no_memory();
    if (rc == 0)
        rc = sd_machine_memory_take(&g.memory);
    if (rc == 0)
        rc = sd_team_start(&g.team, cpus, m->n_cores);
    if (rc == 0) {
        rc = measure(&g, m);
        sd_team_end(&g.team);
    }
    sd_machine_memory_release(&g.memory);
    sd_free(g.results);
    return rc;
}
