/* SPDX-License-Identifier: MIT */
/* preloaded: a program without a Python whose allocations are known; test_preload.py
 * has the figures.  Its first argument is what it does; with "exec" it ends as
 * ARGUMENTS. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void *kept[64];
static int n_kept;

static void keep(void *p) { kept[n_kept++] = p; }

/* 10 x malloc(1009), 5 of them freed; a calloc that grows; a mapping. */
static void allocate(void)
{
    void *p;

    for (int i = 0; i < 10; i++)
        keep(malloc(1009));
    for (int i = 0; i < 5; i++)
        free(kept[i]);
    p = calloc(7, 13);
    keep(realloc(p, 4001));
    p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(p, 8192);
}

static void *in_thread(void *unused)
{
    (void)unused;
    for (int i = 0; i < 3; i++)
        free(malloc(3001));
    keep(malloc(7001));
    return NULL;
}

static void fork_and_wait(char **command)
{
    pid_t pid = fork();

    if (pid == 0) {
        free(malloc(70001));
        keep(malloc(3001));
        if (command[0])
            execv(command[0], command);
        exit(0);
    }
    waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "plain";
    pthread_t thread;

    allocate();
    if (strcmp(what, "thread") == 0) {
        pthread_create(&thread, NULL, in_thread, NULL);
        pthread_join(thread, NULL);
    }
    if (strcmp(what, "fork") == 0)
        fork_and_wait(argv + 2);
    if (strcmp(what, "exec") == 0)
        execv(argv[2], argv + 2);
    if (strcmp(what, "killed") == 0)
        abort();
    if (write(1, "done\n", 5) != 5)
        return 1;
    return 3;
}
