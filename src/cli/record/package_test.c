/* SPDX-License-Identifier: MIT */
#include "cli/record/package.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/test.h"

/* Does a program in root/bin find the package in root/`place`? */
static bool is_found(const char *place)
{
    char root[64] = "/tmp/sonde-package-XXXXXX", command[512], bin[128];
    struct sd_arena a = { 0 };
    const char *found;
    bool is_right;

    CHECK(mkdtemp(root));
    snprintf(command, sizeof command,
             "cd %s && mkdir -p bin '%s/_bootstrap' && touch "
             "'%s/_bootstrap/sitecustomize.py'",
             root, place, place);
    CHECK(system(command) == 0);
    snprintf(bin, sizeof bin, "%s/bin", root);
    found = sd_package_find_from(&a, bin);
    snprintf(command, sizeof command, "%s%s%s", root, *place == '.' ? "" : "/",
             *place == '.' ? "" : place);
    is_right = found && strcmp(found, command) == 0;
    sd_arena_release(&a);
    snprintf(command, sizeof command, "rm -r %s", root);
    CHECK(system(command) == 0);
    return is_right;
}

TEST(package_is_found_where_it_may_be)
{
    CHECK(is_found("bin/python/sonde"));
    CHECK(is_found("lib/python3.11/site-packages/sonde"));
    CHECK(is_found("lib/python3/dist-packages/sonde"));
    CHECK(is_found("lib/sonde"));
    CHECK(is_found(".")); /* the wheel: the program stands in sonde/bin */
    CHECK(!is_found("share/sonde"));
}
