/* SPDX-License-Identifier: MIT */
#include "cli/time/time_processes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyse/time/time_figures.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "cli/helper.h"
#include "cli/record/interpreter.h"
#include "cli/record/package.h"
#include "cli/say.h"
#include "collect/time/time_parcel.h"
#include "collect/time/time_turns.h"
#include "machine/machine_speed.h"

enum {
    MORE = 4,            /* times the budget, at most */
    LEAST_PROCESSES = 3, /* of a statement that takes long */
    TIMEIT_REPEAT = 5,
    FEW_BATCHES = 3,
    LEAST_LOOKS = 100,
    N_WORDS = 8,
};

struct measuring {
    const struct sd_time_ask *ask;
    struct sd_timings *t;
    struct sd_arena arena;
    struct sd_interpreter pythons[SD_TIME_SIDES_MAX];
    char **environments[SD_TIME_SIDES_MAX];
    const char *package;
    struct sd_time_parcel_side sides[SD_TIME_SIDES_MAX]; /* of one process */
    uint32_t n_sides;
    uint64_t seed;
    int status;
};

/* One of several processes that measure at the same time. */
struct place {
    int fd; /* what it measured */
    const char *argv[N_WORDS];
};

/* --- What is measured, and by whom */

static int find_pythons(struct measuring *m)
{
    extern char **environ;
    int rc = 0;

    m->package = sd_package_find(&m->arena);
    for (size_t i = 0; i < m->ask->n_pythons && rc == 0; i++) {
        struct sd_interpreter *p = &m->pythons[i];

        rc = sd_interpreter_find(&m->arena, m->ask->pythons[i], p);
        if (rc == 0)
            rc = sd_interpreter_fits(&m->arena, p->path, m->package);
        if (rc < 0)
            return rc;
        m->environments[i] = sd_helper_environment(
            &m->arena, p->environment ? p->environment : environ, m->package);
        rc = m->environments[i] ? 0 : sd_no_memory();
    }
    return rc;
}

static int add_side(struct measuring *m, const char *statement, const char *size,
                    const char *python)
{
    const struct sd_timing_side side = { .statement = statement,
                                         .setup = m->ask->setup,
                                         .python = python,
                                         .n = size ? strtod(size, NULL) : NAN,
                                         .allocated_bytes = SD_TIME_UNKNOWN,
                                         .peak_bytes = SD_TIME_UNKNOWN };

    return sd_timings_add_side(m->t, &side);
}

/* Either statements, or sizes of one, or interpreters for one. */
static int add_sides(struct measuring *m)
{
    const struct sd_time_ask *ask = m->ask;
    size_t n = ask->n_sizes ? ask->n_sizes : ask->n_statements;
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++) {
        const char *statement = ask->statements[ask->n_sizes ? 0 : i];
        const char *size = ask->n_sizes ? ask->sizes[i] : NULL;

        m->sides[m->n_sides++] = (struct sd_time_parcel_side){
            .statement = statement, .setup = ask->setup, .size = size ? size : ""
        };
        for (size_t k = 0; k < ask->n_pythons && rc == 0; k++)
            rc = add_side(m, statement, size, m->pythons[k].path);
    }
    return rc;
}

/* --- Processes */

static int make_file(const char *name, int *fd)
{
    *fd = memfd_create(name, 0);
    return *fd < 0
               ? sd_fail_errno(errno, "cannot create a file in memory (memfd_create)")
               : 0;
}

static int put_request(const struct measuring *m, int fd, uint64_t budget_ns,
                       bool wants_memory, size_t side)
{
    const struct sd_time_turns turns = { .n = (uint32_t)m->ask->n_pythons,
                                         .seed = (uint32_t)m->seed };
    struct sd_time_request r = {
        .sides = (struct sd_time_parcel_side *)m->sides + (wants_memory ? side : 0),
        .n_sides = wants_memory ? 1 : m->n_sides,
        .size_name = m->ask->size_name ? m->ask->size_name : "",
        .is_cpu_time = m->ask->is_cpu_time,
        .collects_garbage = m->ask->collects_garbage,
        .is_as_timeit = m->ask->is_as_timeit,
        .wants_memory = wants_memory,
        .budget_ns = budget_ns,
        .loops = m->ask->loops,
        .repeat = m->ask->repeat ? m->ask->repeat : TIMEIT_REPEAT,
        .seed = m->seed,
    };
    struct sd_buf bytes = { 0 };
    uint8_t *page = sd_buf_room(&bytes, SD_TIME_PARCEL_AT);
    int rc = 0;

    if (page) {
        memset(page, 0, SD_TIME_PARCEL_AT);
        memcpy(page, &turns, sizeof turns);
        bytes.n = SD_TIME_PARCEL_AT;
    }
    sd_time_parcel_put_request(&bytes, &r);
    if (bytes.bad)
        rc = sd_no_memory();
    else if (sd_write_all(fd, bytes.p, bytes.n) < 0)
        rc = sd_fail_errno(errno, "cannot write what is to be measured");
    sd_buf_release(&bytes);
    return rc;
}

static int make_place(struct measuring *m, struct place *p, int request, size_t at)
{
    struct sd_arena *a = &m->arena;
    int rc = make_file("sonde-times", &p->fd);

    if (rc < 0)
        return rc;
    p->argv[0] = m->pythons[at].path;
    p->argv[1] = sd_arena_printf(a, "%s/_time_main.py", m->package);
    p->argv[2] = sd_arena_printf(a, "%d", request);
    p->argv[3] = sd_arena_printf(a, "%d", p->fd);
    p->argv[4] = sd_arena_printf(a, "%zu", at);
    for (int i = 0; i < 5; i++)
        if (!p->argv[i])
            return sd_no_memory();
    return 0;
}

/* The others would wait for its turn. */
static void end_turns(void *turns) { sd_time_turns_end(turns); }

static int run(const struct measuring *m, const struct place *places, size_t n,
               int request, struct sd_helper *helpers)
{
    struct sd_time_turns *turns =
        mmap(NULL, SD_TIME_PARCEL_AT, PROT_READ | PROT_WRITE, MAP_SHARED, request, 0);
    int rc;

    if (turns == MAP_FAILED)
        return sd_fail_errno(errno, "cannot map what the measuring processes share");
    for (size_t i = 0; i < n; i++)
        helpers[i] = (struct sd_helper){ .path = m->pythons[i].path,
                                         .argv = (char *const *)places[i].argv,
                                         .envp = m->environments[i],
                                         .prints_data = !m->ask->is_json };
    rc = sd_helper_run_all(helpers, n, end_turns, turns);
    munmap(turns, SD_TIME_PARCEL_AT);
    return rc;
}

/* Of a process that was killed, or ended by the statement, nothing is known. */
static int has_no_result(const struct sd_helper *h)
{
    if (h->status < 0)
        return sd_fail(SD_EGONE,
                       "the measuring process was killed by signal %d (%s) before it "
                       "had measured",
                       -h->status, strsignal(-h->status));
    return sd_fail(SD_EGONE,
                   "the measuring process exited with status %d before it had "
                   "measured; does the statement call os._exit()?",
                   h->status);
}

/* What it measured; in the arena. */
static int take_result(struct measuring *m, const struct place *p,
                       const struct sd_helper *h, struct sd_time_result *out)
{
    off_t n = lseek(p->fd, 0, SEEK_END);
    void *bytes =
        n > 0 ? mmap(NULL, (size_t)n, PROT_READ, MAP_PRIVATE, p->fd, 0) : MAP_FAILED;
    int rc = bytes == MAP_FAILED
                 ? SD_EFORMAT
                 : sd_time_parcel_result(bytes, (size_t)n, &m->arena, out);

    if (bytes != MAP_FAILED)
        munmap(bytes, (size_t)n);
    if (rc == 0 && out->refusal) {
        m->status = out->refusal == SD_TIME_REFUSED_SYNTAX ? 2 : 1;
        return SD_EUSAGE;
    }
    return rc == SD_EFORMAT ? has_no_result(h) : rc;
}

/* --- Gathering */

static int add_result(struct measuring *m, const struct sd_time_result *r, size_t place,
                      uint32_t set)
{
    int rc = sd_timings_add_process(m->t, r->pid, r->start_ticks, set);

    if (rc == 0 && r->n_sides != m->n_sides)
        return sd_fail(SD_EFORMAT, "the measuring process told of other statements");
    for (size_t i = 0; i < r->n_batches && rc == 0; i++) {
        struct sd_time_batch b = r->batches[i];

        b.side = b.side * (int64_t)m->ask->n_pythons + (int64_t)place;
        rc = sd_timings_add_batch(m->t, &b);
    }
    for (uint32_t i = 0; i < m->n_sides; i++)
        if (m->sides[i].loops == 0 && m->ask->n_pythons == 1)
            m->sides[i].loops = r->loops[i];
    return rc;
}

/* One process, or one of each interpreter. */
static int run_set(struct measuring *m, uint32_t set, uint64_t share_ns)
{
    size_t n = m->ask->n_pythons;
    struct place places[SD_TIME_TURNS_MAX];
    struct sd_helper helpers[SD_TIME_TURNS_MAX];
    int request = -1, rc = make_file("sonde-time", &request);

    sd_assert(n > 0 && n <= SD_TIME_TURNS_MAX);
    m->seed = m->seed * 6364136223846793005u + 1442695040888963407u;
    for (size_t i = 0; i < n; i++)
        places[i] = (struct place){ .fd = -1 };
    if (rc == 0)
        rc = put_request(m, request, share_ns, false, 0);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = make_place(m, &places[i], request, i);
    if (rc == 0)
        rc = run(m, places, n, request, helpers);
    for (size_t i = 0; i < n && rc == 0; i++) {
        struct sd_time_result result;

        rc = take_result(m, &places[i], &helpers[i], &result);
        if (rc == 0)
            rc = add_result(m, &result, i, set);
    }
    for (size_t i = 0; i < n; i++)
        if (places[i].fd >= 0)
            close(places[i].fd);
    if (request >= 0)
        close(request);
    return rc;
}

static bool have_agreed(const struct measuring *m)
{
    struct sd_time_figures f;

    for (size_t i = 0; i < m->t->n_sides; i++)
        if (sd_time_figures(m->t, i, &f) == 0 && !f.has_agreed)
            return false;
    return true;
}

/* Has each process so few batches that the statement is what takes the time? */
static bool is_long(const struct measuring *m)
{
    struct sd_time_figures f;

    for (size_t i = 0; i < m->t->n_sides; i++)
        if (sd_time_figures(m->t, i, &f) == 0 &&
            f.n_batches + f.n_dropped <= FEW_BATCHES * m->t->n_processes)
            return true;
    return false;
}

static int run_sets(struct measuring *m)
{
    const struct sd_time_ask *ask = m->ask;
    uint64_t budget = ask->budget_ns * m->t->n_sides, share = budget / ask->n_processes;
    uint64_t until_ns = sd_clock_ns() + MORE * budget;
    uint32_t n = 0;
    int rc = 0;

    for (bool is_enough = false; !is_enough && rc == 0;) {
        rc = run_set(m, n++, share);
        if (ask->is_as_timeit)
            return rc;
        if (n >= ask->n_processes)
            is_enough = sd_clock_ns() + share > until_ns ||
                        ask->n_processes < LEAST_PROCESSES || have_agreed(m);
        else if (n >= LEAST_PROCESSES) /* a statement that takes long */
            is_enough = is_long(m) && sd_clock_ns() > until_ns;
    }
    return rc;
}

/* --- What one execution allocates */

static int measure_memory_of(struct measuring *m, size_t side)
{
    struct sd_time_result result;
    struct sd_helper helper;
    struct place p = { .fd = -1 };
    int request = -1, rc = make_file("sonde-time", &request);

    if (rc == 0)
        rc = put_request(m, request, 0, true, side / m->ask->n_pythons);
    if (rc == 0)
        rc = make_place(m, &p, request, side % m->ask->n_pythons);
    if (rc == 0) {
        helper = (struct sd_helper){ .path = p.argv[0],
                                     .argv = (char *const *)p.argv,
                                     .envp = m->environments[side % m->ask->n_pythons],
                                     .prints_data = !m->ask->is_json };
        rc = sd_helper_run(&helper);
    }
    if (rc == 0)
        rc = take_result(m, &p, &helper, &result);
    if (rc == 0) {
        m->t->sides[side].allocated_bytes = result.allocated_bytes;
        m->t->sides[side].peak_bytes = result.peak_bytes;
    }
    if (p.fd >= 0)
        close(p.fd);
    if (request >= 0)
        close(request);
    return rc;
}

static int measure_memory(struct measuring *m)
{
    int rc = 0;

    for (size_t i = 0; m->ask->wants_memory && i < m->t->n_sides && rc == 0; i++)
        rc = measure_memory_of(m, i);
    return rc;
}

int sd_time_processes_measure(const struct sd_time_ask *ask, struct sd_timings *t,
                              int *status)
{
    struct measuring m = { .ask = ask, .t = t, .seed = sd_clock_real_ns() };
    int rc;

    t->is_as_timeit = ask->is_as_timeit;
    t->is_cpu_time = ask->is_cpu_time;
    t->is_of_pythons = ask->n_pythons > 1;
    t->budget_ns = ask->is_as_timeit ? 0 : ask->budget_ns;
    t->best_speed = sd_machine_speed_load();
    if (ask->size_name) {
        t->size_name =
            sd_arena_string(&t->arena, ask->size_name, strlen(ask->size_name));
        if (!t->size_name)
            return sd_no_memory();
    }
    rc = find_pythons(&m);
    if (rc == 0)
        rc = add_sides(&m);
    if (rc == 0)
        rc = run_sets(&m);
    if (rc == 0) {
        int failed = measure_memory(&m);

        if (failed < 0 && m.status == 0) /* the times are there */
            m.status = sd_say_failure(failed);
    }
    if (rc == 0 && t->n_batches >= LEAST_LOOKS) /* of few the quantile is the least */
        sd_machine_speed_keep(sd_time_figures_speed(t));
    *status = m.status;
    sd_arena_release(&m.arena);
    return rc;
}
