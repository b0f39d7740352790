/* SPDX-License-Identifier: MIT */
#include "process/machine.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "process/machine_loops.h"

enum {
    CORES_MAX = 1024,
    ROUNDS = 8,                 /* of which the best counts */
    ROUND_NS = 8 * 1000 * 1000, /* of arithmetic */
    READ_NS = 1000 * 1000,      /* of reading, at least */
    CACHE_TEXT_MAX = 1 << 16,
};

static const char *const words[] = {
#define MACHINE_NUMBER(name, word, meaning) word,
#include "process/machine.def"
#undef MACHINE_NUMBER
};
static const char *const meanings[] = {
#define MACHINE_NUMBER(name, word, meaning) meaning,
#include "process/machine.def"
#undef MACHINE_NUMBER
};

const char *sd_machine_word(enum sd_machine_number k) { return words[k]; }

const char *sd_machine_meaning(enum sd_machine_number k) { return meanings[k]; }

/* --- Who it is */

static void read_cpu_name(struct sd_machine *m)
{
    const char *at, *end;
    char *text;
    size_t n;

    snprintf(m->cpu, sizeof m->cpu, "unknown");
    if (sd_read_file("/proc/cpuinfo", 16u << 20, &text, &n) < 0)
        return;
    at = strstr(text, "model name");
    at = at ? strchr(at, ':') : NULL;
    end = at ? strchr(at, '\n') : NULL;
    if (end && end > at + 2)
        snprintf(m->cpu, sizeof m->cpu, "%.*s", (int)(end - at - 2), at + 2);
    sd_free(text);
}

static unsigned usable_cores(cpu_set_t *set)
{
    CPU_ZERO(set);
    if (sched_getaffinity(0, sizeof *set, set) < 0 || CPU_COUNT(set) == 0)
        CPU_SET(0, set);
    return (unsigned)CPU_COUNT(set);
}

unsigned sd_machine_quota(const char *cpu_max)
{
    unsigned long long quota, period, cores;

    if (sscanf(cpu_max, "%llu %llu", &quota, &period) != 2 || quota == 0 || period == 0)
        return 0; /* "max 100000" */
    cores = quota / period + (quota % period > 0);
    return cores < CORES_MAX ? (unsigned)cores : CORES_MAX;
}

static unsigned quota_of_group(const char *group)
{
    char path[1200], *text;
    unsigned cores;
    size_t n;

    snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
    if (access(path, R_OK) != 0 || sd_read_file(path, 4096, &text, &n) < 0)
        return 0;
    cores = sd_machine_quota(text);
    sd_free(text);
    return cores;
}

/* The own group of cgroup 2: "0::/user.slice/one.scope"; false: there is none. */
static bool own_group(char *group, size_t size)
{
    const char *at;
    bool is_there;
    char *text;
    size_t n;

    if (sd_read_file("/proc/self/cgroup", 1u << 16, &text, &n) < 0)
        return false;
    at = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
    if (at) {
        at += *at == '\n' ? 4 : 3;
        snprintf(group, size, "%.*s", (int)strcspn(at, "\n"), at);
    }
    is_there = at != NULL;
    sd_free(text);
    return is_there;
}

/* The smallest limit of the own group and of all around it; 0: none. */
static unsigned quota_cores(void)
{
    char group[1024];
    unsigned least = 0;

    if (!own_group(group, sizeof group))
        return 0;
    for (char *slash = group; slash;) {
        unsigned here = quota_of_group(group);

        if (here > 0 && (least == 0 || here < least))
            least = here;
        slash = strrchr(group, '/');
        if (slash)
            *slash = 0;
    }
    return least;
}

void sd_machine_identify(struct sd_machine *m)
{
    unsigned quota = quota_cores();
    cpu_set_t set;

    *m = (struct sd_machine){ 0 };
    read_cpu_name(m);
    m->n_cores = usable_cores(&set);
    if (quota > 0 && quota < m->n_cores)
        m->n_cores = quota;
    snprintf(m->vectors, sizeof m->vectors, "%s",
             sd_machine_kernel(SD_MACHINE_F32).vectors);
}

/* --- Threads, one on each core, that begin together */

struct team;
typedef void (*team_work)(struct team *t, unsigned core, double *rate);

struct team {
    team_work work;
    struct sd_machine_kernel kernel;
    size_t bytes; /* that each reads */
    unsigned n;
    pthread_mutex_t start; /* held until all are there */
    struct member {
        struct team *team;
        unsigned place;
        int cpu;
        double rate;
        pthread_t thread;
    } * members; /* owned */
};

static int64_t now_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void *member_main(void *p)
{
    struct member *me = p;
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((size_t)me->cpu, &one);
    sched_setaffinity(0, sizeof one, &one); /* this thread; it is better, not needed */
    pthread_mutex_lock(&me->team->start);
    pthread_mutex_unlock(&me->team->start);
    me->team->work(me->team, me->place, &me->rate);
    return NULL;
}

static int place_members(struct team *t)
{
    cpu_set_t set;
    unsigned at = 0;

    usable_cores(&set);
    t->members = sd_zalloc(t->n * sizeof *t->members);
    if (!t->members)
        return sd_no_memory();
    for (int cpu = 0; cpu < CPU_SETSIZE && at < t->n; cpu++)
        if (CPU_ISSET((size_t)cpu, &set)) {
            t->members[at] = (struct member){ .team = t, .place = at, .cpu = cpu };
            at++;
        }
    t->n = at;
    return 0;
}

/* The sum of what the members reached. */
static int run_team(struct team *t, double *sum)
{
    int rc = place_members(t), err = 0;
    unsigned started = 0;

    *sum = 0;
    if (rc < 0)
        return rc;
    pthread_mutex_init(&t->start, NULL);
    pthread_mutex_lock(&t->start);
    while (started < t->n && err == 0) {
        err = pthread_create(&t->members[started].thread, NULL, member_main,
                             &t->members[started]);
        started += err == 0;
    }
    pthread_mutex_unlock(&t->start);
    for (unsigned i = 0; i < started; i++) {
        pthread_join(t->members[i].thread, NULL);
        *sum += t->members[i].rate;
    }
    pthread_mutex_destroy(&t->start);
    sd_free(t->members);
    return err ? sd_fail_errno(err, "cannot start a thread on each core") : 0;
}

/* --- Arithmetic */

/* By the CPU time of the thread: what other programs take of the core is not ours. */
static double time_kernel(const struct sd_machine_kernel *k, uint64_t rounds)
{
    int64_t start = now_ns(CLOCK_THREAD_CPUTIME_ID), ns;
    double sink = 0;

    k->run(rounds, &sink);
    ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - start;
    __asm__ volatile("" : : "g"(&sink) : "memory");
    return ns > 0 ? (double)rounds * k->ops_per_round / ((double)ns * 1e-9) : 0;
}

static void work_kernel(struct team *t, unsigned core, double *rate)
{
    uint64_t rounds = 100000;
    double reached = time_kernel(&t->kernel, rounds), best = 0;

    (void)core;
    if (reached > 0)
        rounds = (uint64_t)(reached * ROUND_NS * 1e-9 / t->kernel.ops_per_round) + 1;
    for (int i = 0; i < ROUNDS; i++) {
        reached = time_kernel(&t->kernel, rounds);
        best = reached > best ? reached : best;
    }
    *rate = best;
}

static int measure_numbers(struct sd_machine *m)
{
    int rc = 0;

    for (int k = 0; k < SD_MACHINE_NUMBERS && rc == 0; k++) {
        struct team t = { .work = work_kernel,
                          .kernel = sd_machine_kernel((enum sd_machine_number)k),
                          .n = 1 };

        if (!t.kernel.run)
            continue;
        rc = run_team(&t, &m->one_core[k]);
        t.n = m->n_cores;
        if (rc == 0)
            rc = run_team(&t, &m->all_cores[k]);
    }
    return rc;
}

/* --- Memory */

/* Pages that are there before the clock runs. */
static void *take_pages(size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        return NULL;
    madvise(p, n, MADV_HUGEPAGE); /* where there are any: fewer misses of the TLB */
    memset(p, 1, n);
    return p;
}

static int64_t time_sum(const void *p, size_t n, uint64_t rounds)
{
    int64_t start = now_ns(CLOCK_THREAD_CPUTIME_ID);
    double sink = 0;

    sd_machine_sum(p, n, rounds, &sink);
    __asm__ volatile("" : : "g"(&sink) : "memory");
    return now_ns(CLOCK_THREAD_CPUTIME_ID) - start;
}

/* As many rounds as take long enough to be timed: a small level is read in less time
 * than the clock needs to be. */
static void work_read(struct team *t, unsigned core, double *rate)
{
    void *p = take_pages(t->bytes);
    uint64_t rounds = 1;
    double best = 0;

    (void)core;
    if (!p)
        return;
    time_sum(p, t->bytes, 1);
    while (time_sum(p, t->bytes, rounds) < READ_NS && rounds < UINT64_MAX / 4)
        rounds *= 4;
    for (int i = 0; i < ROUNDS; i++) {
        int64_t ns = time_sum(p, t->bytes, rounds);
        double reached = ns > 0 ? (double)t->bytes * (double)rounds / (double)ns : 0;

        best = reached > best ? reached : best;
    }
    munmap(p, t->bytes);
    *rate = best * 1e9;
}

/* Each core does its part of it; three arrays of t->bytes each. */
static void work_triad(struct team *t, unsigned core, double *rate)
{
    size_t n = t->bytes / sizeof(double);
    double *a = take_pages(3 * t->bytes), best = 0;

    (void)core;
    if (!a)
        return;
    for (int i = 0; i < ROUNDS; i++) {
        int64_t start = now_ns(CLOCK_THREAD_CPUTIME_ID), ns;
        double reached;

        sd_machine_triad(a, a + n, a + 2 * n, n);
        ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - start;
        reached = ns > 0 ? 3.0 * (double)t->bytes / ((double)ns * 1e-9) : 0;
        best = reached > best ? reached : best;
    }
    munmap(a, 3 * t->bytes);
    *rate = best;
}

static uint64_t level_bytes(int level)
{
    static const int names[] = { _SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
                                 _SC_LEVEL3_CACHE_SIZE };
    long n = sysconf(names[level]);

    return n > 0 ? (uint64_t)n : 0;
}

static int measure_level(struct sd_machine *m, const char *name, uint64_t size,
                         size_t one, size_t each)
{
    struct sd_machine_level *l = &m->levels[m->n_levels];
    struct team t = { .work = work_read, .n = 1, .bytes = one };
    int rc;

    snprintf(l->name, sizeof l->name, "%s", name);
    l->bytes = size;
    rc = run_team(&t, &l->one_core);
    t.n = m->n_cores;
    t.bytes = each;
    if (rc == 0)
        rc = run_team(&t, &l->all_cores);
    m->n_levels++;
    return rc;
}

static size_t rounded(uint64_t n)
{
    return n < 1024 ? 1024 : (size_t)(n / 1024 * 1024);
}

/* Half of a level: the other half may be others'.  L1 and L2 are a core's own, L3 is
 * all cores'.  What is read from memory is larger than all of L3, but no more than an
 * eighth of it. */
static int measure_memory(struct sd_machine *m)
{
    static const char *const names[] = { "L1", "L2", "L3" };
    uint64_t pages = (uint64_t)sysconf(_SC_AVPHYS_PAGES), most, last = 0;
    struct team t = { .work = work_triad, .n = m->n_cores };
    int rc = 0;

    most = pages * (uint64_t)sysconf(_SC_PAGESIZE) / 8;
    for (int i = 0; i < 3 && rc == 0; i++) {
        uint64_t bytes = level_bytes(i), each = i < 2 ? bytes : bytes / m->n_cores;

        if (bytes == 0 || bytes / 2 > most)
            continue;
        last = bytes;
        rc = measure_level(m, names[i], bytes, rounded(bytes / 2), rounded(each / 2));
    }
    last = 4 * last < 64u << 20 ? 64u << 20 : 4 * last;
    last = last < most ? last : most;
    if (rc == 0)
        rc = measure_level(m, "memory", 0, rounded(last), rounded(last / m->n_cores));
    t.bytes = rounded(last / 3 / m->n_cores);
    return rc == 0 ? run_team(&t, &m->triad) : rc;
}

int sd_machine_measure(struct sd_machine *m)
{
    int rc;

    sd_machine_identify(m);
    if (m->n_cores > CORES_MAX)
        m->n_cores = CORES_MAX;
    rc = measure_numbers(m);
    if (rc == 0)
        rc = measure_memory(m);
    m->measured_at = (uint64_t)time(NULL);
    return rc;
}

/* --- The cache: one line for each figure, for people as well */

void sd_machine_write(const struct sd_machine *m, struct sd_buf *to)
{
    sd_buf_printf(to, "sonde machine 1\ncpu %s\nvectors %s\ncores %u\nat %llu\n",
                  m->cpu, m->vectors, m->n_cores, (unsigned long long)m->measured_at);
    for (int k = 0; k < SD_MACHINE_NUMBERS; k++)
        sd_buf_printf(to, "number %s %llu %llu\n", words[k],
                      (unsigned long long)m->one_core[k],
                      (unsigned long long)m->all_cores[k]);
    for (unsigned i = 0; i < m->n_levels; i++)
        sd_buf_printf(to, "level %s %llu %llu %llu\n", m->levels[i].name,
                      (unsigned long long)m->levels[i].bytes,
                      (unsigned long long)m->levels[i].one_core,
                      (unsigned long long)m->levels[i].all_cores);
    sd_buf_printf(to, "triad %llu\nend\n", (unsigned long long)m->triad);
}

static int read_line(const char *line, struct sd_machine *m)
{
    unsigned long long a, b, c;
    char word[16];

    if (sscanf(line, "cpu %95[^\n]", m->cpu) == 1 ||
        sscanf(line, "vectors %15s", m->vectors) == 1 ||
        sscanf(line, "cores %u", &m->n_cores) == 1)
        return 0;
    if (sscanf(line, "at %llu", &a) == 1) {
        m->measured_at = a;
    } else if (sscanf(line, "triad %llu", &a) == 1) {
        m->triad = (double)a;
    } else if (sscanf(line, "number %15s %llu %llu", word, &a, &b) == 3) {
        for (int k = 0; k < SD_MACHINE_NUMBERS; k++)
            if (strcmp(word, words[k]) == 0) {
                m->one_core[k] = (double)a;
                m->all_cores[k] = (double)b;
            }
    } else if (sscanf(line, "level %7s %llu %llu %llu", word, &a, &b, &c) == 4) {
        struct sd_machine_level *l = &m->levels[m->n_levels];

        if (m->n_levels == SD_MACHINE_LEVELS)
            return SD_EFORMAT;
        m->n_levels++;
        memcpy(l->name, word, sizeof l->name);
        l->bytes = a;
        l->one_core = (double)b;
        l->all_cores = (double)c;
    }
    return 0;
}

int sd_machine_read(const char *text, size_t n, struct sd_machine *m)
{
    const char *end = text + n, *next;
    bool is_whole = false;
    char line[256];
    int rc = 0;

    *m = (struct sd_machine){ 0 };
    if (n < 16 || memcmp(text, "sonde machine 1\n", 16) != 0)
        return SD_EFORMAT;
    for (const char *at = text + 16; at < end && rc == 0; at = next + 1) {
        next = memchr(at, '\n', (size_t)(end - at));
        if (!next || (size_t)(next - at) >= sizeof line)
            return SD_EFORMAT;
        memcpy(line, at, (size_t)(next - at));
        line[next - at] = 0;
        is_whole |= strcmp(line, "end") == 0;
        rc = read_line(line, m);
    }
    return rc == 0 && is_whole && m->n_cores > 0 ? 0 : SD_EFORMAT;
}

/* "~/.cache/sonde", made if it is not there; false: nowhere to keep anything. */
static bool cache_folder(char *path, size_t size, bool make)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n;

    if (cache && cache[0] == '/')
        n = snprintf(path, size, "%s", cache);
    else if (home && home[0] == '/')
        n = snprintf(path, size, "%s/.cache", home);
    else
        return false;
    if (n < 0 || (size_t)n + 32 > size)
        return false;
    if (make)
        mkdir(path, 0700);
    strcat(path, "/sonde");
    if (make)
        mkdir(path, 0700);
    strcat(path, "/machine.txt");
    return true;
}

int sd_machine_load(struct sd_machine *m)
{
    struct sd_machine here;
    char path[4096], *text;
    size_t n;
    int rc;

    if (!cache_folder(path, sizeof path, false) || access(path, R_OK) != 0 ||
        sd_read_file(path, CACHE_TEXT_MAX, &text, &n) < 0)
        return SD_EABSENT;
    rc = sd_machine_read(text, n, m);
    sd_free(text);
    sd_machine_identify(&here);
    if (rc < 0 || strcmp(m->cpu, here.cpu) != 0 || m->n_cores != here.n_cores ||
        strcmp(m->vectors, here.vectors) != 0)
        return SD_EABSENT;
    return 0;
}

int sd_machine_keep(const struct sd_machine *m)
{
    char path[4096], *beside = NULL;
    struct sd_buf text = { 0 };
    int fd = -1, rc;

    if (!cache_folder(path, sizeof path, true))
        return sd_fail(SD_EABSENT, "there is no HOME to keep the figures in");
    sd_machine_write(m, &text);
    rc = text.bad ? sd_no_memory()
                  : sd_file_create_beside(path, SD_CREATE_OVER, &beside, &fd);
    if (rc == 0) {
        if (sd_write_all(fd, text.p, text.n) < 0)
            rc = sd_fail_errno(errno, "cannot write %s", path);
        close(fd);
        if (rc == 0)
            rc = sd_file_place(path, beside, SD_CREATE_OVER);
        if (rc < 0)
            unlink(beside);
    }
    sd_free(beside);
    sd_buf_release(&text);
    return rc;
}

/* --- Questions */

double sd_machine_peak(const struct sd_machine *m, const char *type)
{
    static const enum sd_machine_number larger[] = {
        [SD_MACHINE_I8] = SD_MACHINE_F32,   [SD_MACHINE_F16] = SD_MACHINE_F32,
        [SD_MACHINE_BF16] = SD_MACHINE_F32, [SD_MACHINE_F32] = SD_MACHINE_F32,
        [SD_MACHINE_F64] = SD_MACHINE_F64,
    };

    for (int k = 0; k < SD_MACHINE_NUMBERS; k++)
        if (strcmp(type, words[k]) == 0)
            return m->all_cores[k] > 0 ? m->all_cores[k] : m->all_cores[larger[k]];
    return m->all_cores[SD_MACHINE_F32];
}

double sd_machine_bandwidth(const struct sd_machine *m)
{
    return m->n_levels ? m->levels[m->n_levels - 1].all_cores : 0;
}
