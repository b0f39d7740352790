/* SPDX-License-Identifier: MIT */
#include "process/remote.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/test.h"
#include "process/diagnose.h"

/* A child that waits until it is killed, with the memory it had at the fork. */
static pid_t start_child(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    return pid;
}

static void end_child(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static char words[] = "what is read of another process";

TEST(remote_memory_is_read)
{
    pid_t pid = start_child();
    struct sd_remote r;
    char copy[sizeof words], part[8];
    uint64_t v = 0, want;

    CHECK(sd_remote_open(&r, pid) == 0);
    CHECK(sd_remote_is_alive(&r));
    CHECK(sd_remote_read(&r, (uintptr_t)words, copy, sizeof copy) == 0);
    CHECK(strcmp(copy, words) == 0);
    CHECK(sd_remote_u64(&r, (uintptr_t)words, &v) == 0);
    memcpy(&want, words, sizeof want);
    CHECK(v == want);
    CHECK(sd_remote_string(&r, (uintptr_t)words, part, sizeof part) == 0);
    CHECK(strcmp(part, "what is") == 0);
    CHECK(sd_remote_string(&r, (uintptr_t)words, copy, sizeof copy) == 0);
    CHECK(strcmp(copy, words) == 0);
    sd_remote_close(&r);
    end_child(pid);
}

TEST(remote_ranges_come_in_order_and_whole)
{
    pid_t pid = start_child();
    struct sd_remote r;
    char copy[12] = "";
    struct iovec to[2] = { { copy, 5 }, { copy + 5, 6 } };
    struct iovec from[3] = { { words + 5, 2 }, { words, 4 }, { words + 8, 5 } };

    CHECK(sd_remote_open(&r, pid) == 0);
    CHECK(sd_remote_readv(&r, to, 2, from, 3) == 0);
    CHECK(strcmp(copy, "iswhatread ") == 0);
    from[1].iov_base = (void *)8; /* nothing is mapped there */
    CHECK(sd_remote_readv(&r, to, 2, from, 3) == SD_ETORN);
    CHECK(sd_remote_readv_some(&r, to, 2, from, 3) == 2);
    from[0].iov_base = (void *)8;
    CHECK(sd_remote_readv_some(&r, to, 2, from, 3) == SD_ETORN);
    sd_remote_close(&r);
    end_child(pid);
}

/* The way around a forbidden system call, taken on purpose. */
TEST(remote_memory_is_read_through_proc_as_well)
{
    pid_t pid = start_child();
    struct sd_remote r;
    char copy[12] = "", path[64];
    struct iovec to[2] = { { copy, 5 }, { copy + 5, 6 } };
    struct iovec from[3] = { { words + 5, 2 }, { words, 4 }, { words + 8, 5 } };

    CHECK(sd_remote_open(&r, pid) == 0);
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    r.mem = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(r.mem >= 0);
    CHECK(sd_remote_readv(&r, to, 2, from, 3) == 0);
    CHECK(strcmp(copy, "iswhatread ") == 0);
    from[1].iov_base = (void *)8;
    CHECK(sd_remote_readv(&r, to, 2, from, 3) == SD_ETORN);
    CHECK(sd_remote_readv_some(&r, to, 2, from, 3) == 2);
    end_child(pid);
    from[1].iov_base = words;
    CHECK(sd_remote_readv(&r, to, 2, from, 3) < 0);
    sd_remote_close(&r);
}

TEST(remote_process_that_ends_is_gone)
{
    pid_t pid = start_child();
    struct sd_remote r;
    uint64_t v;

    CHECK(sd_remote_open(&r, pid) == 0);
    kill(pid, SIGKILL);
    while (sd_remote_is_alive(&r)) /* it is seen at the end, before it is waited for */
        usleep(1000);
    CHECK(sd_remote_u64(&r, (uintptr_t)words, &v) == SD_EGONE);
    waitpid(pid, NULL, 0);
    CHECK(!sd_remote_is_alive(&r));
    CHECK(sd_remote_u64(&r, (uintptr_t)words, &v) == SD_EGONE);
    r.start_ticks++; /* as if the pid had been given to another process */
    CHECK(!sd_remote_is_alive(&r));
    sd_remote_close(&r);
}

TEST(remote_string_is_read_up_to_the_end_of_memory)
{
    char *page =
        mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char copy[64];
    struct sd_remote r;
    pid_t pid;

    CHECK(page != MAP_FAILED);
    strcpy(page + 4096 - 6, "brink");
    munmap(page + 4096, 4096);
    pid = start_child();
    CHECK(sd_remote_open(&r, pid) == 0);
    CHECK(sd_remote_string(&r, (uintptr_t)page + 4096 - 6, copy, sizeof copy) == 0);
    CHECK(strcmp(copy, "brink") == 0);
    CHECK(sd_remote_string(&r, (uintptr_t)page + 4096, copy, sizeof copy) == SD_ETORN);
    sd_remote_close(&r);
    end_child(pid);
    munmap(page, 4096);
}

TEST(remote_refuses_what_is_no_process_with_a_sentence)
{
    struct sd_remote r;
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    CHECK(sd_remote_open(&r, 0) == SD_EUSAGE);
    CHECK(sd_remote_open(&r, -5) == SD_EUSAGE);
    CHECK(sd_remote_open(&r, 0x3fffffff) == SD_EGONE);
    CHECK(strstr(sd_fail_text(), "there is no process 1073741823"));
    CHECK(sd_remote_open(&r, getpid()) == SD_EUSAGE);
    CHECK(strstr(sd_fail_text(), "sonde itself"));
    waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
    CHECK(sd_remote_open(&r, pid) == SD_EGONE);
    CHECK(strstr(sd_fail_text(), "has ended"));
    CHECK(r.pidfd == -1 && r.mem == -1);
    waitpid(pid, NULL, 0);
}

/* The child gives up its rights and looks at us, who are root in CI: so every answer of
 * the diagnosis that needs an ordinary user is heard by one. */
static int look_as_user(pid_t pid, enum sd_hindrance want)
{
    struct sd_diagnosis d;

    if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
        return 2;
    sd_diagnose(&d, pid);
    return d.what == want && d.sentence[0] && d.remedy[0] ? 0 : 3;
}

TEST(diagnosis_of_the_process_of_another_user)
{
    int status = 0;
    pid_t child;

    if (geteuid() != 0)
        return; /* only root can become somebody else */
    child = fork();
    if (child == 0)
        _exit(look_as_user(getppid(), SD_HINDRANCE_OTHER_USER));
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(diagnosis_of_a_process_that_made_itself_unreadable)
{
    int ready[2], status = 0;
    pid_t target, child;
    char byte;

    if (geteuid() != 0)
        return;
    CHECK(pipe(ready) == 0);
    target = fork();
    if (target == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
            _exit(1);
        prctl(PR_SET_DUMPABLE, 0);
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    CHECK(read(ready[0], &byte, 1) == 1);
    child = fork();
    if (child == 0)
        _exit(look_as_user(target, SD_HINDRANCE_NOT_DUMPABLE));
    waitpid(child, &status, 0);
    end_child(target);
    close(ready[0]);
    close(ready[1]);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(diagnosis_of_a_process_that_can_be_read)
{
    pid_t pid = start_child();
    struct sd_diagnosis d;

    sd_diagnose(&d, pid);
    CHECK(d.what == SD_HINDRANCE_NONE && d.remedy[0] == 0);
    CHECK(d.its_uid == d.our_uid && !d.is_container && d.name[0]);
    CHECK(sd_diagnosis_fail(&d) == 0);
    end_child(pid);
}

static void *show_tid(void *to)
{
    *(pid_t *)to = (pid_t)syscall(SYS_gettid);
    pause();
    return NULL;
}

/* In a child, because our own threads are "sonde itself". */
static void run_a_thread(int to)
{
    static volatile pid_t tid;
    pid_t seen;
    pthread_t thread;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (pthread_create(&thread, NULL, show_tid, (void *)&tid) != 0)
        _exit(1);
    while (!tid)
        usleep(1000);
    seen = tid;
    if (write(to, &seen, sizeof seen) != (ssize_t)sizeof seen)
        _exit(1);
    for (;;)
        pause();
}

TEST(diagnosis_of_a_thread_names_it_one)
{
    struct sd_diagnosis d;
    int ends[2];
    pid_t pid, tid = 0;

    CHECK(pipe(ends) == 0);
    pid = fork();
    if (pid == 0)
        run_a_thread(ends[1]);
    CHECK(read(ends[0], &tid, sizeof tid) == (ssize_t)sizeof tid);
    sd_diagnose(&d, tid);
    end_child(pid);
    close(ends[0]);
    close(ends[1]);
    CHECK(d.what == SD_HINDRANCE_THREAD);
    CHECK(sd_diagnosis_fail(&d) == SD_EUSAGE);
}

TEST(diagnosis_of_a_thread_of_the_kernel)
{
    struct sd_diagnosis d;

    sd_diagnose(&d, 2);
    if (strcmp(d.name, "kthreadd") != 0)
        return; /* a container sees none */
    CHECK(d.what == SD_HINDRANCE_KERNEL_THREAD);
    CHECK(sd_diagnosis_fail(&d) == SD_EACCESS);
}

/* Between giving back its memory and being a zombie it still runs. */
TEST(diagnosis_of_a_process_that_is_ending)
{
    enum { N_CHILDREN = 100 };
    static char memory[16 << 20]; /* takes a while to give back */

    for (int i = 0; i < N_CHILDREN; i++) {
        struct sd_diagnosis d;
        pid_t pid = fork();

        if (pid == 0) {
            memset(memory, i + 1, sizeof memory);
            _exit(memory[sizeof memory - 1] != i + 1);
        }
        do {
            sd_diagnose(&d, pid);
            CHECK(d.what != SD_HINDRANCE_KERNEL_THREAD);
        } while (d.what != SD_HINDRANCE_ZOMBIE);
        waitpid(pid, NULL, 0);
    }
}
