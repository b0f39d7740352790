/* SPDX-License-Identifier: MIT */
#include "collect/own.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/test.h"
#include "capture/capture.h"
#include "collect/captured_test.h"
#include "collect/sections/sections.h"

static void one_section(const char *name)
{
    struct sd_section_name n;
    struct sd_section s;

    sd_section_name_init(&n, NULL, name, (uint32_t)strlen(name));
    sd_section_begin(&s, &n, SD_MEASURE_TIME, 0);
    sd_section_end(&s, false);
}

TEST(own_path_knows_pid_and_percent)
{
    char path[200], real[200];
    struct captured *c;

    snprintf(path, sizeof path, "%s-%%p-%%%%p", captured_path());
    snprintf(real, sizeof real, "%.*s-%d-%%p", (int)(strlen(path) - 7), path,
             (int)getpid());
    CHECK(sd_own_start(path) == 0);
    one_section("a");
    CHECK(sd_own_stop(SD_STATUS_UNKNOWN) == 0);
    c = captured_read(real);
    CHECK(captured_count(c, SD_REC_SPAN, "a") == 1);
    captured_free(c);
    captured_clean();
}

TEST(own_capture_is_there_once_and_can_be_made_again)
{
    char path[200], second[200];

    strcpy(path, captured_path());
    snprintf(second, sizeof second, "%s-2", path);
    CHECK(sd_own_start(path) == 0);
    CHECK(sd_own_start(second) == SD_EEXISTS);
    CHECK(sd_own_stop(0) == 0);
    CHECK(sd_own_stop(0) == 0);
    CHECK(sd_own_start(second) == 0);
    CHECK(sd_own_stop(0) == 0);
    captured_clean();
}

static void execute_again(const char *role)
{
    setenv("SD_TEST_OWN", role, 1);
    if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
        _exit(3);
    execl("/proc/self/exe", "unit", "own_capture_by_environment_is_joined_by_children",
          (char *)NULL);
    _exit(4);
}

static int run_as(const char *role)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0)
        execute_again(role);
    waitpid(pid, &status, 0);
    return status;
}

/* Runs itself twice: as the program that SONDE_OUT makes an owner, and as a program
 * that this one starts. */
TEST(own_capture_by_environment_is_joined_by_children)
{
    const char *role = getenv("SD_TEST_OWN");
    struct captured *c;
    const char *path;

    if (role) {
        sd_session_join_from_env();
        sd_own_start_from_env();
        CHECK(sd_session_has_capture());
        one_section(role);
        if (strcmp(role, "owner") == 0)
            CHECK(run_as("child") == 0);
        CHECK(sd_own_stop(0) == 0);
        return;
    }
    path = captured_path();
    setenv("SONDE_OUT", path, 1);
    CHECK(run_as("owner") == 0);
    unsetenv("SONDE_OUT");
    c = captured_read(path);
    CHECK(captured_count(c, SD_REC_SPAN, "owner") == 1);
    CHECK(captured_count(c, SD_REC_SPAN, "child") == 1);
    CHECK(captured_find(c, SD_REC_SPAN, "owner")->process !=
          captured_find(c, SD_REC_SPAN, "child")->process);
    captured_free(c);
    captured_clean();
}
