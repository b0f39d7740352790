/* SPDX-License-Identifier: MIT */
#include "collect/shared/thread_cpu.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/test.h"

/* Between two answers of the kernel, 2^25 ticks apart at most, we go by the TSC.  That
 * leads by whatever the kernel leaves out of a thread's time meanwhile: what the host
 * took from a virtual machine, and interrupts.  On a busy machine it has been more than
 * 200 us in one run of ten, and can never be more than those ticks. */
enum { OFF_NS = 20 * 1000 * 1000 };

static uint64_t burn(uint64_t ns)
{
    uint64_t until = sd_clock_thread_cpu_ns() + ns, n = 0;

    while (sd_clock_thread_cpu_ns() < until)
        n++;
    return n;
}

/* Every answer lies between two of the kernel's, and none before the one before. */
static bool agrees(struct sd_thread_cpu *c, int n_rounds)
{
    uint64_t last = 0;

    for (int i = 0; i < n_rounds; i++) {
        uint64_t before = sd_clock_thread_cpu_ns(), ours = sd_thread_cpu_ns(c),
                 after = sd_clock_thread_cpu_ns();

        if (ours + OFF_NS < before || ours > after + OFF_NS || ours < last)
            return false;
        last = ours;
        if (i % 50 == 0)
            usleep(200); /* off the CPU and back */
        if (i % 7 == 0)
            sched_yield();
        burn(20 * 1000);
    }
    return true;
}

TEST(the_cpu_time_of_a_thread_is_the_kernels)
{
    struct sd_thread_cpu *c = sd_thread_cpu_new();

    CHECK(c != NULL);
    CHECK(agrees(c, 2000));
    sd_thread_cpu_free(c);
}

TEST(sleep_is_no_cpu_time)
{
    struct sd_thread_cpu *c = sd_thread_cpu_new();
    uint64_t before, after, kernel;

    sd_thread_cpu_ns(c);
    kernel = sd_clock_thread_cpu_ns();
    before = sd_thread_cpu_ns(c);
    usleep(50 * 1000);
    after = sd_thread_cpu_ns(c);
    kernel = sd_clock_thread_cpu_ns() - kernel;
    CHECK(after - before <= kernel + OFF_NS);
    sd_thread_cpu_free(c);
}

/* What the host of a virtual machine took was told as the thread's, and is being made
 * up for; a thread that is switched off within a call then has the kernel asked at its
 * end.  The least that is told of such a call is half of what it had. */
TEST(while_we_lead_no_switch_makes_a_call_take_no_cpu_time)
{
    enum { LEAD_NS = 5 * 1000 * 1000, CALL_NS = 200 * 1000, CALLS = 20 };
    struct sd_thread_cpu *c = sd_thread_cpu_new();

    if (sd_thread_cpu_is_cheap(c)) {
        c->base_ns += LEAD_NS;
        c->last_ns += LEAD_NS;
        for (int i = 0; i < CALLS; i++) {
            uint64_t begin, end;

            c->seen--; /* as if the word had changed */
            begin = sd_thread_cpu_ns(c);
            burn(CALL_NS);
            c->seen--;
            end = sd_thread_cpu_ns(c);
            CHECK(end - begin >= CALL_NS / 2);
        }
        CHECK(c->base_ns >= c->kernel_ns);
        CHECK(agrees(c, 100));
    }
    sd_thread_cpu_free(c);
}

static void *in_thread(void *agreed)
{
    struct sd_thread_cpu *c = sd_thread_cpu_new();

    *(bool *)agreed = agrees(c, 300);
    sd_thread_cpu_free(c);
    return NULL;
}

TEST(each_thread_has_its_own_cpu_time)
{
    pthread_t threads[4];
    bool agreed[4];

    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, in_thread, &agreed[i]) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++)
        CHECK(agreed[i]);
}

static int status_of(pid_t child)
{
    int status = 0;

    CHECK(child > 0);
    CHECK(waitpid(child, &status, 0) == child);
    return status;
}

/* The page is not there in the child; its time starts anew, as the kernel's does. */
TEST(the_cpu_time_of_a_child_of_fork_is_its_own)
{
    struct sd_thread_cpu *c = sd_thread_cpu_new();
    pid_t child;

    burn(2 * 1000 * 1000);
    sd_thread_cpu_ns(c);
    child = fork();
    if (child == 0) {
        bool agreed = agrees(c, 100);

        sd_thread_cpu_free(c);
        _exit(agreed ? 0 : 1);
    }
    CHECK(status_of(child) == 0);
    CHECK(agrees(c, 100));
    sd_thread_cpu_free(c);
}

/* No descriptor may be had: the kernel is asked instead. */
TEST(without_perf_events_cpu_time_costs_more_but_is_right)
{
    pid_t child = fork();

    if (child == 0) {
        struct rlimit none = { 0, 0 };
        struct sd_thread_cpu *c = sd_thread_cpu_new();
        bool right = setrlimit(RLIMIT_NOFILE, &none) == 0 && c &&
                     !sd_thread_cpu_is_cheap(c) && agrees(c, 100);

        sd_thread_cpu_free(c);
        _exit(right ? 0 : 1);
    }
    CHECK(status_of(child) == 0);
}
