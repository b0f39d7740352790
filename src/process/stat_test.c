/* SPDX-License-Identifier: MIT */
#include "process/stat.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/test.h"

TEST(stat_takes_a_name_with_brackets_and_blanks)
{
    static const char line[] = "12 (a) b (c)) S 7 1 1 0 -1 4194304 84 0 0 0 3 4 0 0 20 "
                               "0 5 0 149864 2539520 400\n";
    struct sd_process_stat st;

    CHECK(sd_process_stat_parse(line, sizeof line - 1, &st) == 0);
    CHECK(strcmp(st.name, "a) b (c)") == 0);
    CHECK(st.state == 'S' && st.parent == 7);
    CHECK(st.n_threads == 5 && st.start_ticks == 149864);
}

TEST(stat_tells_a_thread_of_the_kernel_by_its_flags)
{
    static const char user[] = "9 (x) S 7 1 1 0 -1 4194304 84 0 0 0 3 4 0 0 20 0 1 0 8";
    static const char kernel[] = "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 "
                                 "0 1 0 8";
    struct sd_process_stat st;

    CHECK(sd_process_stat_parse(user, sizeof user - 1, &st) == 0 && !st.is_of_kernel);
    CHECK(sd_process_stat_parse(kernel, sizeof kernel - 1, &st) == 0 &&
          st.is_of_kernel);
}

TEST(stat_refuses_every_cut_of_the_line_before_the_start_time)
{
    static const char line[] = "12 (x) S 7 1 1 0 -1 4194304 84 0 0 0 3 4 0 0 20 0 5 0 ";
    struct sd_process_stat st;
    size_t n;

    for (n = 0; n < sizeof line; n++)
        CHECK(sd_process_stat_parse(line, n, &st) == SD_EFORMAT);
}

TEST(stat_knows_our_own_process)
{
    struct sd_process_stat st;

    CHECK(sd_process_stat(0, &st) == 0);
    CHECK(st.parent == getppid());
    CHECK(st.start_ticks == sd_process_start_time(getpid()));
    CHECK(sd_process_thread_start_time(getpid(), (pid_t)syscall(SYS_gettid)) >=
          st.start_ticks);
    CHECK(sd_process_start_ns(st.start_ticks) <= sd_clock_ns());
}

TEST(stat_of_nobody_is_gone)
{
    struct sd_process_stat st;

    CHECK(sd_process_stat(0x3fffffff, &st) == SD_EGONE);
    CHECK(sd_process_start_time(0x3fffffff) == 0);
}

TEST(stat_of_a_zombie_has_one_thread)
{
    struct sd_process_stat st;
    siginfo_t end;
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    CHECK(waitid(P_PID, (id_t)pid, &end, WEXITED | WNOWAIT) == 0);
    CHECK(sd_process_stat(pid, &st) == 0);
    CHECK(st.state == 'Z' && st.n_threads == 1);
    CHECK(waitpid(pid, NULL, 0) == pid);
}

static void *say_own_stat(void *out)
{
    CHECK(sd_process_stat((pid_t)syscall(SYS_gettid), out) == 0);
    return NULL;
}

TEST(stat_tells_a_thread_from_a_process)
{
    struct sd_process_stat st;
    pthread_t thread;

    CHECK(sd_process_stat(getpid(), &st) == 0 && !st.is_thread);
    CHECK(pthread_create(&thread, NULL, say_own_stat, &st) == 0);
    pthread_join(thread, NULL);
    CHECK(st.is_thread && st.parent == getppid());
}

TEST(stat_counts_pages_that_are_touched)
{
    enum { N = 64 << 12 };
    struct sd_process_stat before, after;
    char *p = mmap(NULL, N, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(p != MAP_FAILED);
    CHECK(sd_process_stat(0, &before) == 0);
    memset(p, 1, N);
    CHECK(sd_process_stat(0, &after) == 0);
    CHECK(after.n_faults > before.n_faults);
    munmap(p, N);
}
