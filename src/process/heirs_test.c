/* SPDX-License-Identifier: MIT */
#include "process/heirs.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test.h"

/* A program with a large environment in which the entry stands at `at`. */
static pid_t start(const char *entry, size_t at)
{
    static char texts[500][100];
    char *envp[502], *argv[] = { "sleep", "60", NULL };
    int gate[2];
    char byte;
    pid_t pid;

    for (size_t i = 0; i < 500; i++) {
        snprintf(texts[i], sizeof texts[i], "V%zu=%090zu", i, i);
        envp[i] = texts[i];
    }
    envp[at] = (char *)entry;
    envp[500] = NULL;
    CHECK(pipe(gate) == 0);
    pid = fork();
    if (pid == 0) {
        setsid();
        fcntl(gate[1], F_SETFD, FD_CLOEXEC);
        execve("/bin/sleep", argv, envp);
        _exit(127);
    }
    close(gate[1]);
    CHECK(read(gate[0], &byte, 1) == 0); /* the exec has closed it */
    close(gate[0]);
    return pid;
}

TEST(heirs_are_found_wherever_the_entry_stands_and_not_once_they_have_ended)
{
    char entry[64], other[80];
    struct sd_heir one;

    snprintf(entry, sizeof entry, "SONDE_TEST=heir of %d", (int)getpid());
    snprintf(other, sizeof other, "X%s", entry);
    for (size_t at = 0; at < 500; at += 41) {
        pid_t pid = start(entry, at), stranger = start(other, at);

        CHECK(sd_heirs_find(entry, 0, &one) == 1);
        CHECK(one.pid == pid && strcmp(one.name, "sleep") == 0);
        CHECK(sd_heirs_find(entry, getsid(0), &one) == 0); /* it has left */
        CHECK(sd_heirs_find(entry, pid, &one) == 1);
        kill(pid, SIGKILL);
        waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT);
        CHECK(sd_heirs_find(entry, 0, &one) == 0);
        waitpid(pid, NULL, 0);
        kill(stranger, SIGKILL);
        waitpid(stranger, NULL, 0);
    }
}
