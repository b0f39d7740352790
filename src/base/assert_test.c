/* SPDX-License-Identifier: MIT */
#include "base/assert.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test.h"

static const char *claim_heard;
static int line_heard;

static void hear(const char *file, int line, const char *claim)
{
    (void)file;
    line_heard = line;
    claim_heard = claim;
}

TEST(a_broken_assert_tells_the_guests_handler_and_returns)
{
    int one = 1;

    claim_heard = NULL;
    sd_assert_set_handler(hear);
    sd_assert(one == 1);
    CHECK(!claim_heard);
    sd_assert(one == 2);
    CHECK(line_heard == __LINE__ - 1);
    CHECK(strcmp(claim_heard, "one == 2") == 0);
}

TEST(without_a_handler_a_broken_assert_aborts)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        signal(SIGABRT, SIG_DFL); /* cmocka's would go on with the next test */
        close(STDERR_FILENO);
        sd_assert_set_handler(NULL);
        sd_assert(child != 0);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

TEST(a_failed_check_in_a_child_ends_the_child_alone)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        close(STDERR_FILENO);
        CHECK(child != 0);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 99);
}
