/* SPDX-License-Identifier: MIT */
#include "collect/shared/source_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test.h"

static bool is_plain(const char *dir, const char *typed, const char *wanted)
{
    char name[256], same[256], plain[PATH_MAX];

    snprintf(name, sizeof name, "%s/%s", dir, typed);
    snprintf(same, sizeof same, "%s/%s", dir, wanted);
    return sd_source_name_plain(name, plain) && strcmp(plain, same) == 0;
}

/* "link/.." is not where the link stands, but where it points to. */
TEST(source_names_are_made_plain_where_that_is_the_same_file)
{
    char dir[] = "/tmp/sonde-test-XXXXXX", path[256], to[256], plain[PATH_MAX];

    CHECK(mkdtemp(dir) != NULL);
    snprintf(path, sizeof path, "%s/a", dir);
    CHECK(mkdir(path, 0700) == 0);
    snprintf(path, sizeof path, "%s/a/b", dir);
    CHECK(mkdir(path, 0700) == 0);
    snprintf(to, sizeof to, "%s/link", dir);
    CHECK(symlink(path, to) == 0);
    CHECK(is_plain(dir, "./a//b", "a/b"));
    CHECK(is_plain(dir, "a/b/../../a/./b", "a/b"));
    CHECK(!is_plain(dir, "link/../b", "b"));
    CHECK(!is_plain(dir, "a/nothing/../c", "a/c"));
    CHECK(!sd_source_name_plain(path, plain));
    CHECK(unlink(to) == 0 && rmdir(path) == 0);
    snprintf(path, sizeof path, "%s/a", dir);
    CHECK(rmdir(path) == 0 && rmdir(dir) == 0);
}
