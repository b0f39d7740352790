/* SPDX-License-Identifier: MIT */
#include "process/tree.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"

/* A child that forks a grandchild, tells its pid, and lives until told to end. */
struct family {
    pid_t child, grandchild;
    int leave; /* closing it ends the child, not the grandchild */
};

static void be_child(int say, int leave)
{
    pid_t own = fork();
    char c;

    if (own == 0) {
        pause();
        _exit(0);
    }
    if (write(say, &own, sizeof own) == sizeof own && read(leave, &c, 1) == 0)
        _exit(0);
    _exit(1);
}

static struct family start_family(void)
{
    struct family f;
    int say[2], leave[2];

    CHECK(pipe(say) == 0 && pipe(leave) == 0);
    f.child = fork();
    if (f.child == 0) {
        close(leave[1]);
        be_child(say[1], leave[0]);
    }
    CHECK(read(say[0], &f.grandchild, sizeof f.grandchild) == sizeof f.grandchild);
    close(say[0]);
    close(say[1]);
    close(leave[0]);
    f.leave = leave[1];
    return f;
}

static bool has(const struct sd_tree *t, pid_t pid)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->members[i].pid == pid && !t->members[i].is_gone)
            return true;
    return false;
}

TEST(tree_finds_grandchildren_and_keeps_them_when_orphaned)
{
    struct family f;
    struct sd_tree t;

    CHECK(sd_tree_init(&t, getpid()) == 0);
    CHECK(sd_tree_look(&t) == 0);
    f = start_family();
    CHECK(sd_tree_look(&t) == 0);
    CHECK(has(&t, f.child) && has(&t, f.grandchild));
    close(f.leave);
    CHECK(waitpid(f.child, NULL, 0) == f.child);
    CHECK(sd_tree_look(&t) == 0);
    CHECK(has(&t, f.grandchild));
    kill(f.grandchild, SIGKILL);
    sd_tree_release(&t);
}

static void *fork_here(void *arg)
{
    pid_t *pid = arg;

    *pid = fork();
    if (*pid == 0) {
        pause();
        _exit(0);
    }
    return NULL;
}

TEST(tree_finds_children_of_every_thread_once)
{
    pthread_t thread;
    struct sd_tree t;
    pid_t pid = 0;
    size_t n;

    CHECK(sd_tree_init(&t, getpid()) == 0);
    CHECK(pthread_create(&thread, NULL, fork_here, &pid) == 0);
    pthread_join(thread, NULL);
    for (int i = 0; i < 3; i++)
        CHECK(sd_tree_look(&t) == 0);
    n = t.n;
    CHECK(has(&t, pid));
    for (int i = 0; i < 30; i++)
        CHECK(sd_tree_look(&t) == 0);
    CHECK(t.n == n);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    sd_tree_release(&t);
}

/* A child with a thread of its own, whose number is as new as the child's, and a
 * grandchild. */
static void *wait_for_ever(void *arg)
{
    pause();
    return arg;
}

static pid_t start_child_with_thread(pid_t *grandchild)
{
    int say[2];
    pid_t pid;

    CHECK(pipe(say) == 0);
    pid = fork();
    if (pid == 0) {
        pthread_t thread;
        pid_t own;

        if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0)
            _exit(1);
        own = fork();
        if (own == 0) {
            pause();
            _exit(0);
        }
        if (write(say[1], &own, sizeof own) != sizeof own)
            _exit(1);
        pause();
        _exit(0);
    }
    CHECK(read(say[0], grandchild, sizeof *grandchild) == sizeof *grandchild);
    close(say[0]);
    close(say[1]);
    return pid;
}

TEST(tree_finds_newcomers_by_their_numbers_and_takes_no_thread_for_one)
{
    bool was_short = false;
    struct sd_tree t;

    CHECK(sd_tree_init(&t, getpid()) == 0);
    for (int i = 0; i < 100 && !was_short;
         i++) { /* others' processes, too, get numbers */
        pid_t child, grandchild;
        size_t n_before; /* what tests before this one left behind */

        t.last_pid = -1;
        CHECK(sd_tree_look(&t) == 0 && t.n_short == 0);
        n_before = t.n;
        child = start_child_with_thread(&grandchild);
        CHECK(sd_tree_look(&t) == 0);
        was_short = t.n_short == 1;
        CHECK(has(&t, child) && has(&t, grandchild));
        for (size_t k = n_before; k < t.n; k++)
            CHECK(t.members[k].is_gone || t.members[k].pid == child ||
                  t.members[k].pid == grandchild);
        kill(grandchild, SIGKILL);
        kill(child, SIGKILL);
        CHECK(waitpid(child, NULL, 0) == child);
        for (size_t k = 1; k < t.n; k++)
            sd_tree_set_gone(&t, k);
    }
    CHECK(was_short);
    sd_tree_release(&t);
}

/* A process that is told when to exec, by closing the pipe that it then reads from. */
static pid_t start_patient(int *go, int *leave)
{
    char *const words[] = { "sh", "-c", "read x", "--password=hunter2", NULL };
    int wait_for[2], input[2];
    char c;
    pid_t pid;

    CHECK(pipe(wait_for) == 0 && pipe(input) == 0);
    pid = fork();
    if (pid == 0) {
        close(wait_for[1]);
        close(input[1]);
        if (read(wait_for[0], &c, 1) == 0 && dup2(input[0], 0) == 0)
            execv("/bin/sh", words);
        _exit(1);
    }
    close(wait_for[0]);
    close(input[0]);
    *go = wait_for[1];
    *leave = input[1];
    return pid;
}

TEST(tree_names_a_process_as_it_is_called_after_its_exec)
{
    struct sd_process_stat st;
    struct sd_tree t;
    int go, leave;
    pid_t pid = start_patient(&go, &leave);

    CHECK(sd_tree_init(&t, pid) == 0);
    CHECK(strcmp(t.members[0].name, "sh") != 0 && !t.members[0].command);
    close(go);
    do { /* in the midst of exec it has its name already, but not its words */
        CHECK(sd_process_stat(pid, &st) == 0 && st.state != 'Z');
        sd_tree_name_again(&t, 0);
    } while (strcmp(t.members[0].name, "sh") != 0 || !t.members[0].command ||
             strncmp(t.members[0].command, "sh ", 3) != 0);
    CHECK(strcmp(t.members[0].command, "sh -c 'read x' --password=***") == 0);
    close(leave);
    waitpid(pid, NULL, 0);
    sd_tree_name_again(&t, 0); /* nobody's: as it was */
    CHECK(strcmp(t.members[0].name, "sh") == 0 && t.members[0].command);
    sd_tree_release(&t);
}

TEST(tree_of_nobody_is_refused)
{
    struct sd_tree t;

    CHECK(sd_tree_init(&t, 0x3fffffff) == SD_EGONE);
    sd_tree_release(&t);
}

TEST(tree_without_memory_fails_and_can_look_again)
{
    struct family f = start_family();
    struct sd_tree t;
    size_t nth;

    for (nth = 1; nth < 8; nth++) {
        sd_mem_fail_at(nth, false);
        if (sd_tree_init(&t, getpid()) == 0)
            sd_tree_look(&t);
        sd_mem_fail_at(0, false);
        if (t.n) {
            CHECK(sd_tree_look(&t) == 0);
            CHECK(has(&t, f.child) && has(&t, f.grandchild));
        }
        sd_tree_release(&t);
    }
    kill(f.grandchild, SIGKILL);
    close(f.leave);
    waitpid(f.child, NULL, 0);
}
