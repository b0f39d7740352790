/* SPDX-License-Identifier: MIT */
/* Preloaded: children of forks allocate before other handlers of forks have run, and
 * children that run no handlers at all. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 1000, CHILD = 100003, PARENT = 211 };
static void *volatile last;

static void in_child(void)
{
    for (int i = 0; i < N; i++)
        last = malloc(CHILD);
}

__attribute__((constructor)) static void begin(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

void forked_quietly(void)
{
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

    if (pid == 0) {
        in_child();
        _exit(0);
    }
    for (int i = 0; i < N; i++)
        last = malloc(PARENT);
    waitpid(pid, NULL, 0);
}
