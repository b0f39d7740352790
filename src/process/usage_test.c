/* SPDX-License-Identifier: MIT */
#include "process/usage.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/test.h"

#define MB (1 << 20)

static void *touched(size_t n)
{
    char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(p != MAP_FAILED);
    memset(p, 1, n);
    return p;
}

static void touch_and_drop(size_t n) { munmap(touched(n), n); }

static struct sd_usage usage_now(struct sd_usage_reader *r, unsigned what)
{
    struct sd_usage u;

    CHECK(sd_usage_read(r, what, &u) == 0);
    return u;
}

/* Runs `body` in a forked child, which must return true. */
static void in_child(bool (*body)(void))
{
    pid_t pid = fork();
    int status;

    if (pid == 0)
        _exit(body() ? 0 : 1);
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* --- Truth of each reading */

TEST(usage_sees_a_hundred_megabytes_come_and_go)
{
    struct sd_usage_reader r;
    struct sd_usage before, with, after;
    void *p;

    sd_usage_init(&r, 0);
    before = usage_now(&r, SD_USAGE_MEMORY);
    p = touched(100 * MB);
    with = usage_now(&r, SD_USAGE_MEMORY);
    munmap(p, 100 * MB);
    after = usage_now(&r, SD_USAGE_MEMORY);
    CHECK(with.rss_bytes - before.rss_bytes >= 99 * MB);
    CHECK(with.rss_bytes - before.rss_bytes <= 102 * MB);
    CHECK(with.vms_bytes - before.vms_bytes == 100 * MB);
    CHECK(after.rss_bytes - before.rss_bytes <= 2 * MB);
    CHECK(before.cpu_ns == -1 && before.peak_bytes == -1 && before.read_bytes == -1);
    sd_usage_release(&r);
}

TEST(usage_peak_is_that_since_the_last_reset)
{
    struct sd_usage_reader r;
    int64_t rss, first, second;

    sd_usage_init(&r, 0);
    if (sd_usage_reset_peak(&r) < 0)
        skip();
    rss = usage_now(&r, SD_USAGE_MEMORY).rss_bytes;
    touch_and_drop(100 * MB);
    first = usage_now(&r, SD_USAGE_PEAK).peak_bytes;
    CHECK(sd_usage_reset_peak(&r) == 0);
    touch_and_drop(20 * MB);
    second = usage_now(&r, SD_USAGE_PEAK).peak_bytes;
    CHECK(first - rss >= 99 * MB && first - rss <= 103 * MB);
    CHECK(second - rss >= 19 * MB && second - rss <= 23 * MB);
    sd_usage_release(&r);
}

/* Run again by exec from a process that held 150 MB, ru_maxrss never falls below that:
 * the peak must still be ours. */
TEST(usage_peak_is_true_after_exec_by_a_large_parent)
{
    struct sd_usage_reader r;
    int status;
    pid_t pid;

    if (getenv("SD_TEST_LARGE_PARENT")) {
        sd_usage_init(&r, 0);
        for (int i = 0; i < 3; i++) {
            CHECK(sd_usage_reset_peak(&r) == 0);
            touch_and_drop(20 * MB);
            CHECK(usage_now(&r, SD_USAGE_PEAK).peak_bytes < 100 * MB);
            CHECK(usage_now(&r, SD_USAGE_PEAK).peak_bytes > 20 * MB);
        }
        CHECK(sd_usage_reset_peak(&r) == 0);
        touch_and_drop(200 * MB);
        CHECK(usage_now(&r, SD_USAGE_PEAK).peak_bytes >= 200 * MB);
        CHECK(usage_now(&r, SD_USAGE_PEAK).peak_bytes < 300 * MB);
        sd_usage_release(&r);
        return;
    }
    sd_usage_init(&r, 0);
    if (sd_usage_reset_peak(&r) < 0)
        skip();
    sd_usage_release(&r);
    pid = fork();
    if (pid == 0) {
        touched(150 * MB);
        setenv("SD_TEST_LARGE_PARENT", "1", 1);
        if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
            _exit(3);
        execl("/proc/self/exe", "unit",
              "usage_peak_is_true_after_exec_by_a_large_parent", (char *)NULL);
        _exit(4);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void write_file(size_t n)
{
    char path[] = "/tmp/sonde-usage-XXXXXX";
    int fd = mkstemp(path);
    char block[1 << 16];

    CHECK(fd >= 0);
    memset(block, 7, sizeof block);
    for (size_t at = 0; at < n; at += sizeof block)
        CHECK(write(fd, block, sizeof block) == (ssize_t)sizeof block);
    close(fd);
    unlink(path);
}

TEST(usage_counts_each_byte_written_and_none_of_its_own)
{
    struct sd_usage_reader r;
    struct sd_usage a, b, c;

    sd_usage_init(&r, 0);
    usage_now(&r, SD_USAGE_IO | SD_USAGE_MEMORY | SD_USAGE_NETWORK);
    a = usage_now(&r, SD_USAGE_IO);
    sd_usage_reset_peak(&r);
    usage_now(&r, SD_USAGE_MEMORY | SD_USAGE_NETWORK | SD_USAGE_PEAK | SD_USAGE_CPU);
    b = usage_now(&r, SD_USAGE_IO);
    CHECK(b.read_bytes == a.read_bytes);
    CHECK(b.written_bytes == a.written_bytes);
    write_file(20 * MB);
    c = usage_now(&r, SD_USAGE_IO);
    CHECK(c.written_bytes - b.written_bytes == 20 * MB);
    sd_usage_release(&r);
}

static void *send_all(void *arg)
{
    char block[1 << 16] = { 0 };
    int server = *(int *)arg;
    int peer = accept(server, NULL, NULL);

    for (size_t at = 0; peer >= 0 && at < 20 * MB; at += sizeof block)
        if (send(peer, block, sizeof block, MSG_NOSIGNAL) != (ssize_t)sizeof block)
            break;
    close(peer);
    return NULL;
}

static size_t over_loopback(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof at;
    int server = socket(AF_INET, SOCK_STREAM, 0);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    char block[1 << 16];
    size_t got = 0;
    pthread_t thread;
    ssize_t n;

    CHECK(bind(server, (struct sockaddr *)&at, len) == 0 && listen(server, 1) == 0);
    CHECK(getsockname(server, (struct sockaddr *)&at, &len) == 0);
    CHECK(pthread_create(&thread, NULL, send_all, &server) == 0);
    CHECK(connect(client, (struct sockaddr *)&at, len) == 0);
    while ((n = recv(client, block, sizeof block, 0)) > 0)
        got += (size_t)n;
    pthread_join(thread, NULL);
    close(client);
    close(server);
    return got;
}

TEST(usage_counts_network_bytes_of_the_namespace)
{
    struct sd_usage_reader r;
    struct sd_usage a, b;

    sd_usage_init(&r, 0);
    a = usage_now(&r, SD_USAGE_NETWORK);
    CHECK(over_loopback() == 20 * MB);
    b = usage_now(&r, SD_USAGE_NETWORK);
    CHECK(b.received_bytes - a.received_bytes >= 20 * MB);
    CHECK(b.sent_bytes - a.sent_bytes >= 20 * MB);
    sd_usage_release(&r);
}

TEST(usage_cpu_is_the_process_clock)
{
    struct sd_usage_reader r;
    int64_t a, b, truth;
    uint64_t start;

    sd_usage_init(&r, 0);
    a = usage_now(&r, SD_USAGE_CPU).cpu_ns;
    start = sd_clock_process_cpu_ns();
    while (sd_clock_process_cpu_ns() - start < 200000000u)
        ;
    truth = (int64_t)(sd_clock_process_cpu_ns() - start);
    b = usage_now(&r, SD_USAGE_CPU).cpu_ns;
    CHECK(b - a >= truth && b - a <= truth + truth / 20);
    CHECK(usage_now(&r, SD_USAGE_CPU).n_threads >= 1);
    CHECK(usage_now(&r, SD_USAGE_CPU).start_ticks == sd_process_start_time(getpid()));
    sd_usage_release(&r);
}

TEST(usage_pss_of_a_process_is_no_more_than_its_rss)
{
    struct sd_usage_reader r;
    struct sd_usage u;

    sd_usage_init(&r, 0);
    u = usage_now(&r, SD_USAGE_PSS | SD_USAGE_MEMORY);
    if (u.pss_bytes < 0)
        skip();
    CHECK(u.pss_bytes > 0 && u.pss_bytes <= u.rss_bytes + MB);
    sd_usage_release(&r);
}

/* --- Descriptors that are no longer ours */

static struct sd_usage_reader inherited;

/* A program that closes all descriptors and whose own files then take their numbers:
 * nothing of ours lands in them, and readings go on. */
static bool survives_closing(void)
{
    char path[] = "/tmp/sonde-usage-XXXXXX";
    struct sd_usage u;
    int file, i;

    if (sd_usage_read(&inherited, SD_USAGE_MEMORY | SD_USAGE_IO, &u) < 0 ||
        sd_usage_reset_peak(&inherited) < 0)
        return false;
    for (i = 3; i < 256; i++)
        close(i);
    file = mkstemp(path);
    unlink(path);
    for (i = 3; i < 256; i++)
        dup2(file, i);
    for (i = 0; i < 3; i++)
        if (sd_usage_reset_peak(&inherited) < 0 ||
            sd_usage_read(&inherited, SD_USAGE_MEMORY | SD_USAGE_IO | SD_USAGE_NETWORK,
                          &u) < 0 ||
            u.rss_bytes <= 0 || u.written_bytes < 0 || u.received_bytes < 0)
            return false;
    return lseek(file, 0, SEEK_END) == 0;
}

TEST(usage_survives_a_program_that_closes_all_descriptors)
{
    struct sd_usage u;

    sd_usage_init(&inherited, 0);
    if (sd_usage_reset_peak(&inherited) < 0)
        skip();
    sd_usage_read(&inherited, SD_USAGE_MEMORY | SD_USAGE_IO, &u);
    in_child(survives_closing);
    sd_usage_release(&inherited);
}

static bool reads_itself(void)
{
    struct sd_usage u;
    void *p = touched(50 * MB);
    bool is_fine = sd_usage_read(&inherited, SD_USAGE_MEMORY | SD_USAGE_CPU, &u) == 0 &&
                   u.rss_bytes >= 50 * MB &&
                   u.start_ticks == sd_process_start_time(getpid()) &&
                   sd_usage_reset_peak(&inherited) == 0;

    munmap(p, 50 * MB);
    return is_fine;
}

TEST(usage_in_a_forked_child_is_the_childs_and_the_parents_mark_stays)
{
    struct sd_usage u;

    sd_usage_init(&inherited, 0);
    if (sd_usage_reset_peak(&inherited) < 0)
        skip();
    touch_and_drop(80 * MB);
    sd_usage_read(&inherited, 63 & ~SD_USAGE_PSS, &u);
    in_child(reads_itself);
    CHECK(usage_now(&inherited, SD_USAGE_PEAK).peak_bytes >= u.peak_bytes);
    CHECK(usage_now(&inherited, SD_USAGE_MEMORY).rss_bytes < u.rss_bytes + 20 * MB);
    sd_usage_release(&inherited);
}

static void *read_often(void *arg)
{
    struct sd_usage u;

    for (int i = 0; i < 2000; i++)
        if (sd_usage_read(arg, SD_USAGE_MEMORY | SD_USAGE_IO, &u) < 0 ||
            u.rss_bytes <= 0 || u.read_bytes < 0)
            return arg;
    return NULL;
}

TEST(usage_reader_of_our_own_serves_all_threads)
{
    struct sd_usage_reader r;
    pthread_t threads[8];
    void *failed;

    sd_usage_init(&r, 0);
    for (int i = 0; i < 8; i++)
        CHECK(pthread_create(&threads[i], NULL, read_often, &r) == 0);
    for (int i = 0; i < 8; i++) {
        CHECK(pthread_join(threads[i], &failed) == 0);
        CHECK(failed == NULL);
    }
    sd_usage_release(&r);
}

/* --- Another process */

static pid_t start_child(size_t bytes)
{
    int ready[2];
    char c;
    pid_t pid;

    CHECK(pipe(ready) == 0);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nothing behind */
        touched(bytes);
        if (write(ready[1], "x", 1) == 1)
            pause();
        _exit(0);
    }
    close(ready[1]);
    CHECK(read(ready[0], &c, 1) == 1);
    close(ready[0]);
    return pid;
}

TEST(usage_of_another_process_until_it_is_gone)
{
    pid_t pid = start_child(30 * MB);
    struct sd_usage_reader r;
    struct sd_usage u;
    siginfo_t info;

    sd_usage_init(&r, pid);
    u = usage_now(&r, 31);
    CHECK(u.rss_bytes >= 30 * MB && u.peak_bytes >= 30 * MB && u.cpu_ns > 0);
    CHECK(u.n_threads == 1 && u.written_bytes >= 1 && u.received_bytes >= 0);
    kill(pid, SIGKILL);
    CHECK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
    u = usage_now(&r, SD_USAGE_CPU | SD_USAGE_IO | SD_USAGE_MEMORY);
    CHECK(u.cpu_ns > 0 && u.written_bytes >= 1); /* a zombie still tells what it used */
    CHECK(u.rss_bytes == -1);
    CHECK(waitpid(pid, NULL, 0) == pid);
    CHECK(sd_usage_read(&r, 31, &u) == SD_EGONE);
    sd_usage_release(&r);
}

/* A child that does a step whenever it is told to, and says when it is done. */
static void step(int to)
{
    char c;

    CHECK(write(to, "", 1) == 1 && read(to, &c, 1) == 1);
}

static void grow_step_by_step(int from)
{
    char *kept = touched(4 * MB);
    char c;

    for (int n = 0; read(from, &c, 1) == 1; n++) {
        if (n == 0)
            touch_and_drop(40 * MB);
        else if (n == 1) /* a few pages: far below the mark */
            memset(kept, 2, 4096);
        else if (n == 2)
            touch_and_drop(60 * MB);
        if (write(from, "", 1) != 1)
            break;
    }
    _exit(0);
}

TEST(usage_mark_of_another_process_is_read_when_it_may_have_risen)
{
    const unsigned what = SD_USAGE_CPU | SD_USAGE_MEMORY | SD_USAGE_PEAK;
    struct sd_usage_reader r;
    int64_t base, first;
    uint64_t read_at;
    int ends[2];
    pid_t pid;

    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    pid = fork();
    if (pid == 0) {
        close(ends[0]);
        grow_step_by_step(ends[1]);
    }
    close(ends[1]);
    sd_usage_init(&r, pid);
    base = usage_now(&r, what).peak_bytes;
    step(ends[0]);
    first = usage_now(&r, what).peak_bytes;
    CHECK(first >= base + 30 * MB);
    read_at = r.mark_faults;
    CHECK(usage_now(&r, what).peak_bytes == first);
    step(ends[0]);
    CHECK(usage_now(&r, what).peak_bytes == first);
    CHECK(r.mark_faults == read_at); /* it was not read again */
    step(ends[0]);
    CHECK(usage_now(&r, what).peak_bytes >= first + 15 * MB);
    CHECK(r.mark_faults > read_at);
    close(ends[0]);
    CHECK(waitpid(pid, NULL, 0) == pid);
    sd_usage_release(&r);
}

TEST(usage_keeps_errno)
{
    struct sd_usage_reader r;
    struct sd_usage u;

    sd_usage_init(&r, 0x3fffffff);
    errno = 77;
    CHECK(sd_usage_read(&r, 63, &u) == SD_EGONE);
    CHECK(errno == 77);
    sd_usage_release(&r);
}
