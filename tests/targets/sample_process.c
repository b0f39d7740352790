/* SPDX-License-Identifier: MIT */
/* sample_process: what the sampler tells of a process, for tests: no capture between.
 *
 *     sample_process PID SECONDS RATE [word ...]
 *
 * Words: cpu gil follow pause none native noidle alone (no children) each.  It ends
 * after SECONDS or with the process, and prints one line for each different (thread,
 * flags, stack):
 *
 *     row TAB pid TAB tid TAB interpreter TAB flags TAB is_cut TAB samples TAB wall_ns
 * TAB cpu_ns TAB name of the thread TAB stack
 *
 * or, with the word each, one for each sample, where after the word row stand when the
 * look began and when it was told (CLOCK_MONOTONIC, in ns): it was taken in between;
 * a stack being frames from the innermost on, "name|file|line|first line" each, with
 * a byte 30 between them; then one line "count NAME VALUE" for each count, "version
 * TEXT" for each process, and "refusal PID TEXT". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/intern.h"
#include "collect/sample/pace.h"
#include "collect/sample/sampler.h"

enum { N_ROWS = 1 << 20 };

struct row {
    uint64_t samples, wall_ns, cpu_ns;
};

struct heard {
    struct sd_arena arena;
    struct sd_intern keys;
    struct row *rows;
    bool is_each;
};

static void hear(void *of, const struct sd_thread_sample *t)
{
    struct heard *h = of;
    struct sd_sample_frame f;
    struct sd_buf b = { 0 };
    char text[512];
    uint32_t id;
    size_t i;

    if (h->is_each) {
        snprintf(text, sizeof text, "%llu\t%llu\t", (unsigned long long)t->time_ns,
                 (unsigned long long)sd_clock_ns());
        sd_buf_add(&b, text, strlen(text));
    }
    snprintf(text, sizeof text, "%d\t%d\t%lld\t%u\t%d\t", (int)t->pid, (int)t->tid,
             (long long)t->interpreter, t->flags, t->is_cut);
    sd_buf_add(&b, text, strlen(text));
    sd_buf_add(&b, t->name, strlen(t->name) + 1);
    for (i = 0; i < t->n_frames; i++) {
        sd_sample_frame(t, i, &f);
        snprintf(text, sizeof text, "%s%s|%s|%d|%d", i ? "\x1e" : "", f.name, f.file,
                 (int)f.line, (int)f.first_line);
        sd_buf_add(&b, text, strlen(text));
    }
    if (b.bad || sd_intern(&h->keys, b.p, b.n, &id) < 0 || id >= N_ROWS) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
    h->rows[id].samples++;
    h->rows[id].wall_ns += t->wall_ns;
    h->rows[id].cpu_ns += t->cpu_ns;
    sd_buf_release(&b);
}

static bool has(int argc, char **argv, const char *word)
{
    int i;

    for (i = 4; i < argc; i++)
        if (strcmp(argv[i], word) == 0)
            return true;
    return false;
}

static void print(struct heard *h, struct sd_sampler *s, uint64_t missed)
{
    struct sd_sample_counts *n = sd_sampler_counts(s);
    const char *why;
    size_t i;
    pid_t pid;

    n->missed = missed;
    for (i = 0; i < h->keys.n; i++) {
        const char *key = h->keys.items[i].p, *name = strrchr(key, '\t') + 1;

        printf("row\t%.*s\t%llu\t%llu\t%llu\t%s\t%.*s\n", (int)(name - key - 1), key,
               (unsigned long long)h->rows[i].samples,
               (unsigned long long)h->rows[i].wall_ns,
               (unsigned long long)h->rows[i].cpu_ns, name,
               (int)(h->keys.items[i].n - (size_t)(name - key) - strlen(name) - 1),
               name + strlen(name) + 1);
    }
#define COUNT(name, meaning)                                                           \
    printf("count " #name " %llu\n", (unsigned long long)n->name);
#include "collect/sample/counts.def"
#undef COUNT
    while ((why = sd_sampler_refusal(s, &pid)) != NULL)
        printf("refusal %d %s\n", (int)pid, why);
}

int main(int argc, char **argv)
{
    struct heard h = { 0 };
    struct sd_listener ear = { .sample = hear, .of = &h };
    struct sd_sampler_options o = { 0 };
    struct sd_sampler *s;
    struct sd_pace pace;
    uint64_t end, now, missed = 0;
    int rc;

    if (argc < 4)
        return 2;
    o.period_ns = (uint64_t)(1e9 / atof(argv[3]));
    o.mode = has(argc, argv, "cpu")   ? SD_MODE_CPU
             : has(argc, argv, "gil") ? SD_MODE_GIL
                                      : SD_MODE_WALL;
    o.consistency = has(argc, argv, "follow")  ? SD_CONSISTENCY_FOLLOW
                    : has(argc, argv, "pause") ? SD_CONSISTENCY_PAUSE
                    : has(argc, argv, "none")  ? SD_CONSISTENCY_NONE
                                               : SD_CONSISTENCY_AUTO;
    o.skips_idle = has(argc, argv, "noidle");
    o.skips_children = has(argc, argv, "alone");
    o.native = has(argc, argv, "native");
    h.is_each = has(argc, argv, "each");
    h.keys.arena = &h.arena;
    h.rows = calloc(N_ROWS, sizeof *h.rows);
    prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
    rc = h.rows ? sd_sampler_open(&s, atoi(argv[1]), &o, SD_SAMPLER_WAITS) : SD_ENOMEM;
    if (rc < 0) {
        fprintf(stderr, "%s\n", sd_fail_text());
        return 1;
    }
    now = sd_clock_ns();
    end = now + (uint64_t)(atof(argv[2]) * 1e9);
    sd_pace_init(&pace, o.period_ns, now, now);
    while (rc == 0 && now < end) {
        struct timespec at;

        rc = sd_sampler_round(s, &ear);
        missed += sd_pace_step(&pace, sd_clock_ns());
        at = (struct timespec){ (time_t)(pace.next_ns / 1000000000u),
                                (long)(pace.next_ns % 1000000000u) };
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
        now = sd_clock_ns();
    }
    print(&h, s, missed);
    printf("version %s\n", sd_sampler_version(s, 0));
    sd_sampler_free(s, &ear);
    return 0;
}
