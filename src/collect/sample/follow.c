/* SPDX-License-Identifier: MIT */
#include "collect/sample/follow.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "collect/sample/visitor.h"

#define ASK_NS 20000000u

enum { FIELD_CPU = 39 }; /* of /proc/PID/stat, counted from 1 */

void sd_follow_init(struct sd_follow *f)
{
    *f = (struct sd_follow){ .cpu = -1 };
    CPU_ZERO(&f->allowed);
    f->has_allowed = sched_getaffinity(0, sizeof f->allowed, &f->allowed) == 0;
}

/* Its name may hold anything, so fields are counted after the last ')'. */
static int cpu_in(const char *stat)
{
    const char *s = strrchr(stat, ')');
    int field = 2;

    while (s && *s && field < FIELD_CPU)
        if (*s++ == ' ')
            field++;
    return s && *s ? atoi(s) : -1;
}

static int ask(struct sd_thread_place *of, pid_t pid, pid_t tid)
{
    char text[1024];
    ssize_t got;

    if (of->stat < 0) {
        snprintf(text, sizeof text, "/proc/%d/task/%d/stat", (int)pid, (int)tid);
        of->stat = open(text, O_RDONLY | O_CLOEXEC);
        if (of->stat < 0)
            return SD_EGONE;
    }
    got = pread(of->stat, text, sizeof text - 1, 0);
    if (got <= 0)
        return SD_EGONE;
    text[got] = 0;
    of->cpu = cpu_in(text);
    return 0;
}

static int ask_again(struct sd_thread_place *of, pid_t pid, pid_t tid, uint64_t now_ns,
                     bool must_ask)
{
    int rc;

    if (!must_ask && of->cpu >= 0 && now_ns - of->asked_ns <= ASK_NS)
        return 0;
    rc = ask(of, pid, tid);
    if (rc == 0)
        of->asked_ns = now_ns;
    return rc;
}

static bool may_run_on(const struct sd_follow *f, int cpu)
{
    return f->has_allowed && cpu >= 0 && cpu < CPU_SETSIZE &&
           CPU_ISSET((size_t)cpu, &f->allowed);
}

/* The visitor of that CPU; NULL: there can be none. */
static struct sd_visitor *visitor_on(struct sd_follow *f, int cpu)
{
    struct sd_visitor **visitors =
        sd_grow_array(f->visitors, &f->cap_visitors, (size_t)cpu + 1, sizeof *visitors);

    if (!visitors)
        return NULL;
    f->visitors = visitors;
    while (f->n_visitors <= (size_t)cpu)
        visitors[f->n_visitors++] = NULL;
    if (!visitors[cpu])
        visitors[cpu] = sd_visitor_new(cpu);
    return visitors[cpu];
}

struct visit {
    struct sd_follow *f;
    void (*work)(void *of);
    void *of;
};

/* A visitor whose CPU was taken from us is elsewhere: it says where. */
static void do_there(void *of)
{
    struct visit *v = of;

    v->f->cpu = sched_getcpu();
    v->work(v->of);
}

/* We ourselves, bound to that CPU for as long as it takes. */
static int go_there(struct visit *v, int cpu)
{
    cpu_set_t there;

    CPU_ZERO(&there);
    CPU_SET((size_t)cpu, &there);
    if (sched_setaffinity(0, sizeof there, &there) < 0)
        return SD_EACCESS;
    do_there(v);
    sched_setaffinity(0, sizeof v->f->allowed, &v->f->allowed);
    v->f->n_own++;
    return 0;
}

int sd_follow_visit_cpu(struct sd_follow *f, int cpu, void (*work)(void *), void *arg)
{
    struct visit v = { f, work, arg };
    struct sd_visitor *r;
    int rc = 0;

    if (!may_run_on(f, cpu))
        return SD_EACCESS;
    r = sched_getcpu() == cpu ? NULL : visitor_on(f, cpu);
    if (r)
        sd_visitor_do(r, do_there, &v);
    else
        rc = go_there(&v, cpu);
    f->n_visits += rc == 0;
    f->cpu = -1;
    return rc;
}

int sd_follow_visit(struct sd_follow *f, struct sd_thread_place *of, pid_t pid,
                    pid_t tid, uint64_t now_ns, bool must_ask, void (*work)(void *),
                    void *arg)
{
    int rc = ask_again(of, pid, tid, now_ns, must_ask);

    return rc == 0 ? sd_follow_visit_cpu(f, of->cpu, work, arg) : rc;
}

int sd_follow_where(struct sd_follow *f, struct sd_thread_place *of, pid_t pid,
                    pid_t tid, uint64_t now_ns, bool must_ask)
{
    if (ask_again(of, pid, tid, now_ns, must_ask) < 0 || !may_run_on(f, of->cpu))
        return -1;
    return of->cpu;
}

bool sd_follow_is_barred(struct sd_follow *f, struct sd_thread_place *of, pid_t pid,
                         pid_t tid, uint64_t now_ns)
{
    return ask_again(of, pid, tid, now_ns, false) == 0 && !may_run_on(f, of->cpu);
}

bool sd_follow_holds(const struct sd_follow *f, struct sd_thread_place *of, pid_t pid,
                     pid_t tid, uint64_t now_ns)
{
    if (ask(of, pid, tid) < 0)
        return false;
    of->asked_ns = now_ns;
    return of->cpu == f->cpu;
}

uint64_t sd_follow_cpu_ns(const struct sd_follow *f)
{
    uint64_t sum = f->cpu_ns;

    for (size_t i = 0; i < f->n_visitors; i++)
        sum += sd_visitor_cpu_ns(f->visitors[i]);
    return sum;
}

void sd_follow_end(struct sd_follow *f)
{
    f->cpu_ns = sd_follow_cpu_ns(f);
    for (size_t i = 0; i < f->n_visitors; i++)
        sd_visitor_free(f->visitors[i]);
    sd_free(f->visitors);
    f->visitors = NULL;
    f->n_visitors = f->cap_visitors = 0;
}

void sd_follow_place_init(struct sd_thread_place *of)
{
    *of = (struct sd_thread_place){ -1, -1, 0 };
}

void sd_follow_place_close(struct sd_thread_place *of)
{
    if (of->stat >= 0)
        close(of->stat);
    sd_follow_place_init(of);
}
