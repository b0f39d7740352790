/* SPDX-License-Identifier: MIT */
#include "collect/peak.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test.h"
#include "process/usage.h"

#define MB (1 << 20)

static void touch_and_drop(size_t n)
{
    char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(p != MAP_FAILED);
    memset(p, 1, n);
    munmap(p, n);
}

static int64_t rss_now(void)
{
    struct sd_usage u;

    CHECK(sd_usage_read(sd_peak_usage_reader(), SD_USAGE_MEMORY, &u) == 0);
    return u.rss_bytes;
}

static bool can_reset(void) { return sd_usage_reset_peak(sd_peak_usage_reader()) == 0; }

static bool is_about(int64_t bytes, int64_t truth)
{
    return bytes >= truth - 2 * MB && bytes <= truth + 4 * MB;
}

/* What lines do: one part after the other, each told what is resident at its end. */
TEST(peak_of_parts_falls_with_what_is_given_back)
{
    const size_t n = 20 * MB;
    struct sd_peak_region part;
    int64_t rss;
    char *p;

    if (!can_reset())
        skip();
    rss = rss_now();
    sd_peak_open(&part);
    for (int i = 0; i < 3; i++) { /* nothing happens: the mark need not be set back */
        int64_t idle = sd_peak_next(&part, rss_now());

        CHECK(is_about(idle - rss, 0));
    }
    p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED);
    memset(p, 1, n);
    CHECK(is_about(sd_peak_next(&part, rss_now()) - rss, (int64_t)n));
    munmap(p, n); /* touches nothing */
    CHECK(is_about(sd_peak_next(&part, rss_now()) - rss, (int64_t)n));
    CHECK(is_about(sd_peak_next(&part, rss_now()) - rss, 0));
    touch_and_drop(n); /* as much is resident afterwards as before */
    CHECK(is_about(sd_peak_next(&part, rss_now()) - rss, (int64_t)n));
    CHECK(is_about(sd_peak_next(&part, rss_now()) - rss, 0));
    sd_peak_close(&part);
}

TEST(peak_of_an_inner_region_counts_for_the_outer_one_too)
{
    struct sd_peak_region outer, inner, later;
    int64_t rss, in_inner, in_later, in_outer;

    if (!can_reset())
        skip();
    rss = rss_now();
    sd_peak_open(&outer);
    sd_peak_open(&inner);
    touch_and_drop(100 * MB);
    in_inner = sd_peak_close(&inner);
    sd_peak_open(&later);
    touch_and_drop(20 * MB);
    in_later = sd_peak_close(&later);
    in_outer = sd_peak_close(&outer);
    CHECK(is_about(in_inner - rss, 100 * MB));
    CHECK(is_about(in_later - rss, 20 * MB));
    CHECK(is_about(in_outer - rss, 100 * MB));
    CHECK(sd_peak_of_process() >= in_inner);
}

TEST(peak_of_a_region_that_opens_again_at_once_is_that_of_each_part)
{
    struct sd_peak_region outer, part;
    int64_t rss, first, second, last;

    if (!can_reset())
        skip();
    rss = rss_now();
    sd_peak_open(&outer);
    sd_peak_open(&part);
    touch_and_drop(100 * MB);
    first = sd_peak_next(&part, rss);
    touch_and_drop(20 * MB);
    second = sd_peak_next(&part, rss);
    last = sd_peak_close_at_least(&part, rss + 40 * MB);
    CHECK(is_about(first - rss, 100 * MB) && is_about(second - rss, 20 * MB));
    CHECK(is_about(last - rss, 40 * MB)); /* what the caller has seen */
    CHECK(is_about(sd_peak_close(&outer) - rss, 100 * MB));
}

TEST(peak_before_a_region_opens_is_the_process_alone)
{
    struct sd_peak_region r;
    int64_t rss, in_region;

    if (!can_reset())
        skip();
    rss = rss_now();
    touch_and_drop(60 * MB);
    sd_peak_open(&r);
    in_region = sd_peak_close(&r);
    CHECK(is_about(in_region, rss));
    CHECK(sd_peak_of_process() - rss >= 58 * MB);
}

TEST(peak_of_regions_that_overlap_without_nesting)
{
    struct sd_peak_region a, b;
    int64_t rss, in_a, in_b;

    if (!can_reset())
        skip();
    rss = rss_now();
    sd_peak_open(&a);
    touch_and_drop(30 * MB);
    sd_peak_open(&b);
    touch_and_drop(10 * MB);
    in_a = sd_peak_close(&a);
    touch_and_drop(50 * MB);
    in_b = sd_peak_close(&b);
    CHECK(is_about(in_a - rss, 30 * MB));
    CHECK(is_about(in_b - rss, 50 * MB));
}

/* After a change of user /proc/self belongs to root, and the mark cannot be set. */
static bool is_unknown_as_nobody(void)
{
    struct sd_peak_region outer, inner;

    if (setresuid(65534, 65534, 65534) < 0)
        return true;
    sd_peak_open(&outer);
    sd_peak_open(&inner);
    return sd_peak_close(&inner) == -1 && sd_peak_close(&outer) == -1;
}

TEST(peak_is_unknown_where_the_mark_cannot_be_set_back)
{
    int status;
    pid_t pid;

    if (geteuid() != 0)
        skip();
    pid = fork();
    if (pid == 0)
        _exit(is_unknown_as_nobody() ? 0 : 1);
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static pthread_barrier_t all_open;

/* Every region is open while each thread, in turn or at once, holds 8 MB. */
static void *in_thread(void *arg)
{
    struct sd_peak_region outer, inner;
    int64_t *out = arg;

    sd_peak_open(&outer);
    pthread_barrier_wait(&all_open);
    for (int i = 0; i < 20; i++) {
        sd_peak_open(&inner);
        touch_and_drop(8 * MB);
        if (sd_peak_close(&inner) < 8 * MB)
            return NULL;
    }
    pthread_barrier_wait(&all_open);
    *out = sd_peak_close(&outer);
    return arg;
}

TEST(peak_of_eight_threads_is_one_and_the_same)
{
    pthread_t threads[8];
    int64_t peaks[8];
    int64_t rss;
    void *fine;

    if (!can_reset())
        skip();
    rss = rss_now();
    pthread_barrier_init(&all_open, NULL, 8);
    for (int i = 0; i < 8; i++)
        CHECK(pthread_create(&threads[i], NULL, in_thread, &peaks[i]) == 0);
    for (int i = 0; i < 8; i++) {
        CHECK(pthread_join(threads[i], &fine) == 0);
        CHECK(fine == &peaks[i]);
    }
    for (int i = 0; i < 8; i++) {
        CHECK(peaks[i] - rss >= 7 * MB && peaks[i] - rss <= 70 * MB);
        CHECK(peaks[i] - peaks[0] < MB && peaks[0] - peaks[i] < MB);
    }
    pthread_barrier_destroy(&all_open);
}

/* The child's regions are its own; a region of the parent that it holds a copy of is
 * not linked, and says so. */
static bool child_of_open_region(struct sd_peak_region *of_parent)
{
    struct sd_peak_region own;
    int64_t rss = rss_now();

    sd_peak_open(&own);
    touch_and_drop(20 * MB);
    if (sd_peak_close(of_parent) != -1)
        return false;
    return is_about(sd_peak_close(&own) - rss, 20 * MB);
}

TEST(peak_regions_open_at_a_fork_stay_the_parents)
{
    struct sd_peak_region r;
    int status;
    pid_t pid;
    int64_t rss;

    if (!can_reset())
        skip();
    rss = rss_now();
    sd_peak_open(&r);
    touch_and_drop(40 * MB);
    pid = fork();
    if (pid == 0)
        _exit(child_of_open_region(&r) ? 0 : 1);
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(is_about(sd_peak_close(&r) - rss, 40 * MB));
}

/* No lock of ours may stay held in the child, whatever other threads do. */
static _Atomic bool must_stop;

static void *open_and_close(void *unused)
{
    struct sd_peak_region r;

    (void)unused;
    while (!must_stop) {
        sd_peak_open(&r);
        sd_peak_close(&r);
    }
    return NULL;
}

TEST(peak_owner_never_hangs_a_child_forked_beside_busy_threads)
{
    pthread_t threads[4];
    struct sd_peak_region r;

    must_stop = false;
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, open_and_close, NULL) == 0);
    for (int i = 0; i < 100; i++) {
        int status = 1;
        pid_t pid = fork();

        if (pid == 0) {
            alarm(20);
            sd_peak_open(&r);
            sd_peak_close(&r);
            _exit(0);
        }
        CHECK(waitpid(pid, &status, 0) == pid);
        CHECK(status == 0);
    }
    must_stop = true;
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}
