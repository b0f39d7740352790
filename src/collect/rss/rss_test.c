/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"
#include "capture/capture.h"
#include "capture/writer.h"
#include "collect/captured_test.h"
#include "collect/collector.h"
#include "collect/rss/metrics.h"
#include "process/usage.h"

#define MB (1 << 20)

extern const struct sd_collector sd_collector_rss;

struct recording {
    struct sd_capture *capture;
    struct sd_writer *writer;
    void *state;
    char path[96];
};

static struct sd_option_value options[4];

static void set_options(uint64_t every_ns, bool children, bool pss)
{
    memset(options, 0, sizeof options);
    options[SD_RSS_EVERY].number = every_ns;
    options[SD_RSS_EVERY].is_given = true;
    options[SD_RSS_CHILDREN].number = children;
    options[SD_RSS_WITH_PSS].number = pss;
}

static struct recording start(pid_t root)
{
    const struct sd_capture_options raw = { .zstd_level = 0 };
    struct recording r = { 0 };
    struct sd_collect how = { .root = root, .options = options };

    strcpy(r.path, captured_path());
    CHECK(sd_capture_create(r.path, &raw, &r.capture) == 0);
    CHECK(sd_writer_join(sd_capture_live_dir(r.capture), &r.writer) == 0);
    how.writer = r.writer;
    CHECK(sd_collector_rss.start(&how, &r.state) == 0);
    return r;
}

static struct captured *stop(struct recording *r)
{
    struct sd_capture_counts counts;

    sd_collector_rss.stop(r->state);
    sd_writer_leave(r->writer);
    CHECK(sd_capture_finish(r->capture, 0, &counts) == 0);
    return captured_read(r->path);
}

/* --- Children that are read when they say so: no moment is left to chance --------- */

static int to_child, to_parent; /* one pair; each process has its own end */

static void tell(int to) { CHECK(send(to, "", 1, MSG_NOSIGNAL) == 1); }

static void hear(int from)
{
    char c;

    CHECK(recv(from, &c, 1, 0) == 1);
}

/* A child that waits to be let go, as one does before exec; then runs `body`. */
static pid_t start_child(void (*body)(void))
{
    int ends[2];
    pid_t pid;

    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    to_child = ends[0];
    to_parent = ends[1];
    pid = fork();
    if (pid == 0) {
        close(to_child);
        hear(to_parent);
        body();
        _exit(0);
    }
    close(to_parent);
    return pid;
}

static void let_go(void) { tell(to_child); }

/* In the child: it stays as it is until the test has read it. */
static void be_read_now(void)
{
    tell(to_parent);
    hear(to_parent);
}

static void read_when_asked(struct recording *r)
{
    hear(to_child);
    sd_collector_rss.at_end(r->state); /* a reading at once; the deadlines go on */
    let_go();
}

/* Works as the parent does: waits, lets the collector read the zombie, reaps it. */
static struct captured *run_to_end(struct recording *r, pid_t pid)
{
    siginfo_t info;

    CHECK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
    sd_collector_rss.at_end(r->state);
    CHECK(waitpid(pid, NULL, 0) == pid);
    close(to_child);
    return stop(r);
}

static void touch_and_drop(size_t n)
{
    char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    memset(p, 1, n);
    munmap(p, n);
}

static int64_t last_of(const struct captured *c, pid_t pid, const char *metric)
{
    int64_t last = SD_VALUE_NONE;

    for (size_t i = 0; i < c->n; i++)
        if (c->events[i].type == SD_REC_POINT &&
            c->events[i].process == (uint64_t)pid &&
            captured_value(&c->events[i], metric) != SD_VALUE_NONE)
            last = captured_value(&c->events[i], metric);
    return last;
}

static int64_t first_of(const struct captured *c, pid_t pid, const char *metric)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->events[i].type == SD_REC_POINT &&
            c->events[i].process == (uint64_t)pid &&
            captured_value(&c->events[i], metric) != SD_VALUE_NONE)
            return captured_value(&c->events[i], metric);
    return SD_VALUE_NONE;
}

static int64_t largest_of(const struct captured *c, pid_t pid, const char *metric)
{
    int64_t most = SD_VALUE_NONE;

    for (size_t i = 0; i < c->n; i++)
        if (c->events[i].type == SD_REC_POINT &&
            c->events[i].process == (uint64_t)pid &&
            captured_value(&c->events[i], metric) > most)
            most = captured_value(&c->events[i], metric);
    return most;
}

TEST(rss_refuses_a_zero_interval_and_leaves_nothing)
{
    struct sd_collect how = { .root = getpid(), .options = options };
    void *running = &options;

    set_options(0, true, false);
    CHECK(sd_collector_rss.start(&how, &running) == SD_EUSAGE);
    CHECK(running == NULL);
    CHECK(strstr(sd_fail_text(), "cannot be zero"));
    sd_collector_rss.stop(NULL);
}

TEST(rss_of_nobody_is_refused)
{
    struct sd_collect how = { .root = 0x3fffffff, .options = options };
    void *running = &options;

    set_options(10000000, true, false);
    CHECK(sd_collector_rss.start(&how, &running) == SD_EGONE);
    CHECK(running == NULL);
}

/* --- Truth */

static void spin_and_hold(void)
{
    uint64_t from = sd_clock_process_cpu_ns();
    char *p =
        mmap(NULL, 60 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    memset(p, 1, 60 * MB);
    while (sd_clock_process_cpu_ns() - from < 200000000u)
        ;
    be_read_now();
    munmap(p, 60 * MB);
}

static int64_t cpu_of(const struct rusage *u)
{
    return (u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1000000000 +
           (u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1000;
}

TEST(rss_reads_memory_and_all_of_the_cpu_time)
{
    struct rusage before, after;
    pid_t pid = start_child(spin_and_hold);
    struct recording r;
    struct captured *c;

    getrusage(RUSAGE_CHILDREN, &before);
    set_options(10000000, true, false);
    r = start(pid);
    let_go();
    read_when_asked(&r);
    c = run_to_end(&r, pid);
    getrusage(RUSAGE_CHILDREN, &after);
    CHECK(last_of(c, pid, "cpu") - first_of(c, pid, "cpu") >= 200000000);
    /* All of it, its end included, as the kernel counts it, within 20 ms. */
    CHECK(llabs(cpu_of(&after) - cpu_of(&before) - last_of(c, pid, "cpu")) < 20000000);
    CHECK(largest_of(c, pid, "rss") >= 60 * MB && largest_of(c, pid, "vms") >= 60 * MB);
    CHECK(largest_of(c, pid, "rss") <= largest_of(c, pid, "peak_rss"));
    CHECK(first_of(c, pid, "threads") == 1);
    CHECK(last_of(c, pid, "pss") == SD_VALUE_NONE);
    /* 200 ms at 100 a second; on a busy machine some are left out, and it says so. */
    CHECK(c->n >= 15 || strstr(c->notes, "left out"));
    CHECK(strstr(c->metas, "rss.readings="));
    captured_free(c);
    captured_clean();
}

/* What this process held at most: a child's peak below that is not told from what it
 * was given by fork (rss_watch.c), and how much that is depends on the tests before. */
static int64_t floor_bytes;

static int64_t own_largest(void)
{
    struct rusage own;

    CHECK(getrusage(RUSAGE_SELF, &own) == 0);
    return (int64_t)own.ru_maxrss * 1024;
}

static void peak_for_a_moment(void)
{
    struct sd_usage_reader reader;
    struct sd_usage now;

    sd_usage_init(&reader, 0);
    CHECK(sd_usage_read(&reader, SD_USAGE_MEMORY, &now) == 0);
    touch_and_drop((size_t)(floor_bytes + 80 * MB - now.rss_bytes));
}

TEST(rss_sees_a_peak_shorter_than_its_interval)
{
    struct recording r;
    struct captured *c;
    pid_t pid;

    floor_bytes = own_largest();
    pid = start_child(peak_for_a_moment);
    set_options(3600000000000u, true, false); /* reads at the start and the end only */
    r = start(pid);
    let_go();
    c = run_to_end(&r, pid);
    CHECK(largest_of(c, pid, "rss") < floor_bytes + 20 * MB);
    CHECK(last_of(c, pid, "peak_rss") >= floor_bytes + 60 * MB);
    CHECK(last_of(c, pid, "peak_rss") <= floor_bytes + 110 * MB);
    captured_free(c);
    captured_clean();
}

static void exec_a_sleeper(void)
{
    execl("/bin/sleep", "sleep", "1.3", (char *)NULL);
    _exit(1);
}

TEST(rss_with_pss_goes_on_after_an_exec)
{
    pid_t pid = start_child(exec_a_sleeper);
    struct recording r;
    struct captured *c;

    set_options(20000000, true, true); /* pss is read at once, and after a second */
    r = start(pid);
    let_go();
    c = run_to_end(&r, pid);
    CHECK(largest_of(c, pid, "pss") > 0);
    CHECK(c->events[c->n - 1].to - c->events[0].from >= 1200000000u);
    captured_free(c);
    captured_clean();
}

static void write_much(void)
{
    char path[] = "/tmp/sonde-test-XXXXXX";
    static char block[1 << 16];
    int fd = mkstemp(path);

    unlink(path);
    for (int i = 0; i < 320; i++)
        if (write(fd, block, sizeof block) < 0)
            _exit(1);
}

TEST(rss_counts_bytes_written_to_the_last)
{
    pid_t pid = start_child(write_much);
    struct recording r;
    struct captured *c;

    set_options(1000000000, true, false);
    r = start(pid);
    let_go();
    c = run_to_end(&r, pid);
    CHECK(last_of(c, pid, "written") - first_of(c, pid, "written") == 20 * MB);
    CHECK(last_of(c, pid, "received") >= 0 && last_of(c, pid, "sent") >= 0);
    captured_free(c);
    captured_clean();
}

/* --- Trees */

static pid_t *shared_pid;

static void have_a_child(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        spin_and_hold();
        _exit(0);
    }
    *shared_pid = pid;
    waitpid(pid, NULL, 0);
}

TEST(rss_follows_children_and_keeps_what_they_used)
{
    struct recording r;
    struct captured *c;
    pid_t pid, child;

    shared_pid =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid = start_child(have_a_child);
    set_options(5000000, true, true);
    r = start(pid);
    let_go();
    read_when_asked(&r);
    c = run_to_end(&r, pid);
    child = *shared_pid;
    CHECK(first_of(c, child, "cpu") == 0 && first_of(c, child, "written") == 0);
    CHECK(last_of(c, child, "cpu") >= 200000000);
    CHECK(largest_of(c, child, "peak_rss") >= largest_of(c, pid, "peak_rss") + 50 * MB);
    /* One namespace, one reader of its network. */
    CHECK(last_of(c, pid, "received") >= 0);
    CHECK(last_of(c, child, "received") == SD_VALUE_NONE);
    for (size_t i = 0; i < c->n; i++)
        if (c->events[i].process == (uint64_t)child)
            CHECK(c->events[i].parent_process == (uint64_t)pid);
    munmap(shared_pid, 4096);
    captured_free(c);
    captured_clean();
}

TEST(rss_without_children_reads_the_root_alone)
{
    struct recording r;
    struct captured *c;
    pid_t pid;

    shared_pid =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid = start_child(have_a_child);
    set_options(5000000, false, false);
    r = start(pid);
    let_go();
    read_when_asked(&r);
    c = run_to_end(&r, pid);
    CHECK(last_of(c, *shared_pid, "cpu") == SD_VALUE_NONE);
    CHECK(last_of(c, pid, "cpu") >= 0);
    munmap(shared_pid, 4096);
    captured_free(c);
    captured_clean();
}

static void wait_for_a_writer(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        write_much();
        be_read_now();
        _exit(0);
    }
    *shared_pid = pid;
    waitpid(pid, NULL, 0);
}

/* The kernel adds a child's bytes to the parent that waited for it. */
TEST(rss_counts_bytes_of_a_child_for_the_child_alone)
{
    struct recording r;
    struct captured *c;
    pid_t pid;

    shared_pid =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid = start_child(wait_for_a_writer);
    set_options(5000000, true, false);
    r = start(pid);
    let_go();
    read_when_asked(&r);
    c = run_to_end(&r, pid);
    CHECK(last_of(c, *shared_pid, "written") == 20 * MB);
    CHECK(last_of(c, pid, "written") < MB);
    munmap(shared_pid, 4096);
    captured_free(c);
    captured_clean();
}

static void exec_sleep(void) { execlp("sleep", "sleep", "0.1", (char *)NULL); }

TEST(rss_shows_the_name_of_the_program_that_was_executed)
{
    pid_t pid = start_child(exec_sleep);
    struct recording r;
    struct captured *c;
    const char *name = "";

    set_options(5000000, true, false);
    r = start(pid);
    let_go();
    c = run_to_end(&r, pid);
    for (size_t i = 0; i < c->n; i++)
        name = c->events[i].track;
    CHECK(strcmp(name, "sleep") == 0);
    captured_free(c);
    captured_clean();
}

/* --- Deadlines and memory */

static void end_at_once(void) {}

TEST(rss_keeps_its_deadlines)
{
    pid_t pid = start_child(end_at_once);
    uint64_t from = sd_clock_ns();
    struct recording r;
    struct captured *c;
    uint64_t took;
    size_t n;

    set_options(1000000, true, false);
    r = start(pid);
    usleep(200000);
    let_go();
    c = run_to_end(&r, pid);
    took = sd_clock_ns() - from;
    n = captured_count(c, SD_REC_POINT, NULL);
    CHECK(n <= took / 1000000 + 10);
    /* On a busy machine some are left out; then the capture says so. */
    CHECK(n >= 180 || strstr(c->notes, "left out"));
    captured_free(c);
    captured_clean();
}

enum { MANY = 12 };

static void have_many_children(void)
{
    for (int i = 0; i < MANY; i++)
        if (fork() == 0) {
            pause();
            _exit(0);
        }
    be_read_now();
    signal(SIGTERM, SIG_IGN);
    kill(0, SIGTERM);
    while (wait(NULL) > 0)
        ;
}

static void have_many_children_in_a_group(void)
{
    setpgid(0, 0);
    have_many_children();
}

/* Readings one after the other spend far more than their allowance. */
static struct captured *read_many_often(bool is_given)
{
    pid_t pid = start_child(have_many_children_in_a_group);
    struct recording r;

    set_options(1000000, true, false);
    options[SD_RSS_EVERY].is_given = is_given;
    r = start(pid);
    let_go();
    hear(to_child);
    for (int i = 0; i < 500; i++)
        sd_collector_rss.at_end(r.state);
    let_go();
    return run_to_end(&r, pid);
}

TEST(rss_slows_down_where_readings_are_dear_and_says_so)
{
    struct captured *c = read_many_often(false);

    CHECK(strstr(c->notes, "of 13 processes were read every "));
    CHECK(strstr(c->notes, " ms instead of 1, to take no more than 0.5 % of a CPU"));
    CHECK(strstr(c->notes, "--rss-every 1ms keeps that interval"));
    captured_free(c);
    captured_clean();
}

TEST(rss_keeps_to_an_interval_that_was_asked_for)
{
    struct captured *c = read_many_often(true);

    CHECK(!strstr(c->notes, "instead of"));
    captured_free(c);
    captured_clean();
}

TEST(rss_without_memory_fails_or_records_and_never_hangs)
{
    pid_t pid = start_child(end_at_once);
    const struct sd_capture_options raw = { .zstd_level = 0 };

    set_options(1000000, true, false);
    for (size_t nth = 1; nth < 12; nth++) {
        struct sd_collect how = { .root = pid, .options = options };
        struct sd_capture_counts counts;
        struct sd_capture *capture;
        void *running = NULL;
        int rc;

        CHECK(sd_capture_create(captured_path(), &raw, &capture) == 0);
        CHECK(sd_writer_join(sd_capture_live_dir(capture), &how.writer) == 0);
        sd_mem_fail_at(nth, true);
        rc = sd_collector_rss.start(&how, &running);
        usleep(5000);
        sd_mem_fail_at(0, false);
        CHECK(rc == 0 || rc == SD_ENOMEM);
        CHECK((running != NULL) == (rc == 0));
        sd_collector_rss.stop(running);
        sd_writer_leave(how.writer);
        CHECK(sd_capture_finish(capture, 0, &counts) == 0);
        captured_clean();
    }
    let_go();
    waitpid(pid, NULL, 0);
    close(to_child);
}
