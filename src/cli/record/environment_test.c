/* SPDX-License-Identifier: MIT */
#include "cli/record/environment.h"

#include <string.h>

#include "base/test.h"

static int count(char **environment, const char *entry)
{
    int n = 0;

    for (size_t i = 0; environment[i]; i++)
        n += strcmp(environment[i], entry) == 0;
    return n;
}

TEST(environment_keeps_all_but_our_own_names)
{
    char *ours[] = { "HOME=/h",        "SONDE_LIVE=old",   "SONDE_OUT=x",
                     "SONDE_WITHIN=1", "SONDE_PYTHON=/py", NULL };
    struct sd_arena a = { 0 };
    char **theirs = sd_environment_for(&a, ours, "/live", "sections", NULL, NULL);

    CHECK(count(theirs, "HOME=/h") == 1 && count(theirs, "SONDE_OUT=x") == 1);
    CHECK(count(theirs, "SONDE_WITHIN=1") == 1);
    CHECK(count(theirs, "SONDE_LIVE=old") == 0);
    CHECK(count(theirs, "SONDE_PYTHON=/py") == 0);
    CHECK(count(theirs, "SONDE_LIVE=/live") == 1);
    CHECK(count(theirs, "SONDE_WITH=sections") == 1);
    sd_arena_release(&a);
}

TEST(environment_puts_the_bootstrap_before_the_users_path)
{
    char *with[] = { "PYTHONPATH=/a:/b", NULL };
    char *empty[] = { "PYTHONPATH=", NULL };
    char *none[] = { NULL };
    char *again[] = { "PYTHONPATH=/boot:/a", NULL };
    struct sd_arena a = { 0 };

    CHECK(count(sd_environment_for(&a, with, "/l", "", "/boot", NULL),
                "PYTHONPATH=/boot:/a:/b") == 1);
    CHECK(count(sd_environment_for(&a, empty, "/l", "", "/boot", NULL),
                "PYTHONPATH=/boot") == 1);
    CHECK(count(sd_environment_for(&a, none, "/l", "", "/boot", NULL),
                "PYTHONPATH=/boot") == 1);
    CHECK(count(sd_environment_for(&a, again, "/l", "", "/boot", NULL),
                "PYTHONPATH=/boot:/a") == 1);
    CHECK(count(sd_environment_for(&a, with, "/l", "", NULL, NULL),
                "PYTHONPATH=/a:/b") == 1);
    sd_arena_release(&a);
}

TEST(environment_puts_a_library_behind_those_of_the_user)
{
    char *with[] = { "LD_PRELOAD=/j.so /k.so", NULL };
    char *empty[] = { "LD_PRELOAD=", NULL };
    char *again[] = { "LD_PRELOAD=/j.so:/ours.so", NULL };
    char *longer[] = { "LD_PRELOAD=/ours.so.1", NULL };
    struct sd_arena a = { 0 };

    CHECK(count(sd_environment_for(&a, with, "/l", "", NULL, "/ours.so"),
                "LD_PRELOAD=/j.so /k.so:/ours.so") == 1);
    CHECK(count(sd_environment_for(&a, empty, "/l", "", NULL, "/ours.so"),
                "LD_PRELOAD=/ours.so") == 1);
    CHECK(count(sd_environment_for(&a, again, "/l", "", NULL, "/ours.so"),
                "LD_PRELOAD=/j.so:/ours.so") == 1);
    CHECK(count(sd_environment_for(&a, longer, "/l", "", NULL, "/ours.so"),
                "LD_PRELOAD=/ours.so.1:/ours.so") == 1);
    CHECK(count(sd_environment_for(&a, again, "/l", "", NULL, NULL),
                "LD_PRELOAD=/j.so:/ours.so") == 1);
    sd_arena_release(&a);
}
