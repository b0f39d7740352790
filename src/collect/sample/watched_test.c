/* SPDX-License-Identifier: MIT */
/* How a thread is watched without reading it: pulse, follow and pause, on children that
 * wait or count. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/test.h"
#include "collect/sample/follow.h"
#include "collect/sample/pause.h"
#include "collect/sample/pulse.h"
#include "process/stat.h"

struct shared {
    _Atomic uint64_t n_turns, n_signals;
    _Atomic pid_t tid;
};

static struct shared *shared; /* with the children; made by the first test that asks */

static void count_signal(int signal)
{
    (void)signal;
    atomic_fetch_add(&shared->n_signals, 1);
}

static void share(void)
{
    if (!shared)
        shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    atomic_store(&shared->n_turns, 0);
    atomic_store(&shared->n_signals, 0);
}

static pid_t start(bool is_busy)
{
    pid_t pid;

    share();
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGUSR1, count_signal);
        while (is_busy)
            atomic_fetch_add(&shared->n_turns, 1);
        for (;;)
            pause();
    }
    CHECK(pid > 0);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void nap(unsigned ms) { usleep(ms * 1000); }

static void wait_for_turns(void)
{
    uint64_t before = atomic_load(&shared->n_turns);
    int i;

    for (i = 0; i < 10000 && atomic_load(&shared->n_turns) == before; i++)
        nap(1);
    CHECK(atomic_load(&shared->n_turns) != before);
}

static void wait_for_sleep(pid_t pid)
{
    struct sd_process_stat st;
    int i;

    for (i = 0; i < 10000; i++) {
        CHECK(sd_process_stat(pid, &st) == 0);
        if (st.state == 'S')
            break;
        nap(1);
    }
    CHECK(st.state == 'S');
}

/* --- pulse */

TEST(pulse_of_a_thread_that_waits_stands_still)
{
    pid_t pid = start(false);
    struct sd_pulse p;
    struct sd_pulse_counters ran;

    wait_for_sleep(pid);
    sd_pulse_init(&p, pid, pid, true);
    CHECK(sd_pulse_look(&p, sd_clock_ns(), &ran) ==
          SD_PULSE_WAITS); /* the first look */
    CHECK(sd_pulse_look(&p, sd_clock_ns(), &ran) == SD_PULSE_STILL && ran.run_ns == 0);
    CHECK(sd_pulse_look(&p, sd_clock_ns() + 1000000000u, &ran) == SD_PULSE_STILL);
    kill(pid, SIGUSR1); /* it runs for a moment */
    while (atomic_load(&shared->n_signals) == 0)
        nap(1);
    wait_for_sleep(pid);
    CHECK(sd_pulse_look(&p, sd_clock_ns(), &ran) == SD_PULSE_WAITS && ran.run_ns > 0);
    CHECK(sd_pulse_look(&p, sd_clock_ns(), &ran) == SD_PULSE_STILL);
    end(pid);
    sd_pulse_close(&p);
}

TEST(pulse_of_a_thread_that_runs_never_stands_still)
{
    pid_t pid = start(true);
    struct sd_pulse p;
    struct sd_pulse_counters ran;
    uint64_t sum = 0;
    int i;

    wait_for_turns();
    sd_pulse_init(&p, pid, pid, false);
    for (i = 0; i < 200; i++) {
        CHECK(sd_pulse_look(&p, sd_clock_ns(), &ran) == SD_PULSE_RUNS);
        sum += ran.run_ns;
    }
    wait_for_turns();
    nap(30);
    CHECK(sd_pulse_look(&p, sd_clock_ns(), &ran) == SD_PULSE_RUNS);
    CHECK(sum + ran.run_ns > 0);
    end(pid);
    sd_pulse_close(&p);
}

TEST(pulse_of_a_thread_that_ended_is_gone)
{
    pid_t pid = start(false);
    struct sd_pulse p, late;
    struct sd_pulse_counters ran;

    sd_pulse_init(&p, pid, pid, true);
    CHECK(sd_pulse_look(&p, sd_clock_ns(), &ran) != SD_PULSE_GONE);
    end(pid);
    /* Later: a thread that ran is not asked about again for a quarter of a millisecond.
     */
    CHECK(sd_pulse_look(&p, sd_clock_ns() + 1000000000u, &ran) == SD_PULSE_GONE &&
          ran.run_ns == 0);
    sd_pulse_init(&late, pid, pid, true);
    CHECK(sd_pulse_look(&late, sd_clock_ns(), &ran) == SD_PULSE_GONE);
    sd_pulse_close(&p);
    sd_pulse_close(&late);
}

TEST(pulse_counts_a_thread_that_ran_between_two_looks)
{
    pid_t pid = start(false);
    struct sd_pulse_counters before, after = { 0 };
    struct sd_pulse p;

    wait_for_sleep(pid);
    sd_pulse_init(&p, pid, pid, true);
    CHECK(sd_pulse_count(&p, &before) && sd_pulse_count(&p, &after));
    CHECK(sd_pulse_is_same(before, after));
    kill(pid, SIGUSR1); /* it runs, less than a tick of the kernel */
    while (atomic_load(&shared->n_signals) == 0)
        nap(1);
    wait_for_sleep(pid);
    CHECK(sd_pulse_count(&p, &after) && !sd_pulse_is_same(before, after));
    end(pid);
    CHECK(!sd_pulse_count(&p, &after));
    sd_pulse_close(&p);
}

/* --- follow */

static int first_allowed(const cpu_set_t *set)
{
    int i;

    for (i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET((size_t)i, set))
            return i;
    return -1;
}

static void note_cpu(void *of) { *(int *)of = sched_getcpu(); }

TEST(follow_works_where_the_thread_runs_and_leaves_us_where_we_may_be)
{
    cpu_set_t before, there, after;
    struct sd_thread_place of;
    struct sd_follow f;
    int cpu, seen;
    unsigned i;
    pid_t pid;

    CHECK(sched_getaffinity(0, sizeof before, &before) == 0);
    cpu = first_allowed(&before);
    pid = start(true);
    CPU_ZERO(&there);
    CPU_SET((size_t)cpu, &there);
    CHECK(sched_setaffinity(pid, sizeof there, &there) == 0);
    wait_for_turns();
    sd_follow_init(&f);
    sd_follow_place_init(&of);
    for (i = 0; i < 3; i++) {
        seen = -1;
        CHECK(sd_follow_visit(&f, &of, pid, pid, sd_clock_ns(), i > 0, note_cpu,
                              &seen) == 0);
        CHECK(seen == cpu && f.n_visits == i + 1 && f.cpu == -1);
        CHECK(!sd_follow_is_barred(&f, &of, pid, pid, sd_clock_ns()));
    }
    CHECK(sched_getaffinity(0, sizeof after, &after) == 0);
    CHECK(CPU_EQUAL(&before, &after));
    CPU_CLR((size_t)cpu, &f.allowed); /* as if it were not ours */
    seen = -1;
    CHECK(sd_follow_visit(&f, &of, pid, pid, sd_clock_ns(), true, note_cpu, &seen) ==
          SD_EACCESS);
    CHECK(seen == -1 && sd_follow_is_barred(&f, &of, pid, pid, sd_clock_ns()));
    end(pid);
    CHECK(sd_follow_visit(&f, &of, pid, pid, sd_clock_ns(), true, note_cpu, &seen) ==
          SD_EGONE);
    sd_follow_place_close(&of);
    sd_follow_end(&f);
}

/* --- pause */

TEST(pause_stops_a_thread_and_lets_it_go_on)
{
    pid_t pid = start(true);
    struct sd_pause p = { 0 };
    uint64_t turns;
    int i;

    wait_for_turns();
    for (i = 0; i < 20; i++) {
        if (sd_pause_begin(&p, pid) == 0) {
            turns = atomic_load(&shared->n_turns);
            nap(2);
            CHECK(atomic_load(&shared->n_turns) == turns);
        }
        while (!sd_pause_end(&p, pid))
            ;
        CHECK(!p.is_seized);
        wait_for_turns();
    }
    end(pid);
}

TEST(pause_delivers_the_signals_that_came_meanwhile)
{
    pid_t pid = start(true);
    struct sd_pause p = { 0 };
    uint64_t i, n = 20;

    wait_for_turns();
    for (i = 1; i <= n; i++) {
        kill(pid, SIGUSR1); /* before, so that some stop at the signal itself */
        sd_pause_begin(&p, pid);
        while (!sd_pause_end(&p, pid))
            ;
        while (atomic_load(&shared->n_signals) < i)
            nap(1);
    }
    CHECK(atomic_load(&shared->n_signals) == n);
    end(pid);
}

TEST(pause_ends_when_the_one_who_paused_is_killed)
{
    pid_t pid = start(true), killer;
    struct sd_pause p = { 0 };

    wait_for_turns();
    killer = fork();
    if (killer == 0) {
        while (sd_pause_begin(&p, pid) < 0)
            ;
        raise(SIGKILL);
    }
    waitpid(killer, NULL, 0);
    wait_for_turns();
    end(pid);
}

TEST(pause_of_a_process_that_is_killed_meanwhile_ends)
{
    pid_t pid = start(true);
    struct sd_pause p = { 0 };
    int status;

    wait_for_turns();
    while (sd_pause_begin(&p, pid) < 0)
        ;
    kill(pid, SIGKILL);
    while (!sd_pause_end(&p, pid))
        ;
    CHECK(!p.is_seized);
    CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
}

TEST(pause_of_nobody_is_gone)
{
    pid_t pid = start(false);
    struct sd_pause p = { 0 };

    end(pid);
    CHECK(sd_pause_begin(&p, pid) == SD_EGONE);
    CHECK(sd_pause_end(&p, pid));
}

static void *live_shortly(void *nothing)
{
    atomic_store(&shared->tid, (pid_t)syscall(SYS_gettid));
    usleep(200);
    return nothing;
}

static void live_shortly_again_and_again(void)
{
    int i;

    for (i = 0; i < 300; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, live_shortly, NULL) == 0)
            pthread_join(thread, NULL);
    }
}

TEST(pause_of_a_thread_that_ends_does_not_keep_its_process)
{
    struct sd_pause p = { 0 };
    int status;
    pid_t pid;

    share();
    atomic_store(&shared->tid, 0);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        live_shortly_again_and_again();
        _exit(7);
    }
    while (waitpid(pid, &status, WNOHANG) == 0) { /* hangs where the test fails */
        pid_t tid = atomic_load(&shared->tid);

        if (tid) {
            sd_pause_begin(&p, tid);
            while (!sd_pause_end(&p, tid))
                ;
        }
    }
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}
