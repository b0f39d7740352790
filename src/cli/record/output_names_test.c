/* SPDX-License-Identifier: MIT */
#include "cli/record/output_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/test.h"

/* Each test works in an empty directory, and comes back. */
struct place {
    char before[4096], dir[64];
};

static void enter(struct place *p)
{
    CHECK(getcwd(p->before, sizeof p->before));
    strcpy(p->dir, "/tmp/sonde-naming-XXXXXX");
    CHECK(mkdtemp(p->dir) && chdir(p->dir) == 0);
}

static void leave(struct place *p)
{
    char command[128];

    snprintf(command, sizeof command, "rm -r %s", p->dir);
    CHECK(chdir(p->before) == 0 && system(command) == 0);
}

static void touch(const char *path)
{
    FILE *f = fopen(path, "w");

    CHECK(f);
    fclose(f);
}

TEST(naming_takes_the_first_free_number)
{
    struct sd_arena a = { 0 };
    struct sd_naming n;
    struct place p;

    enter(&p);
    CHECK(sd_naming_choose(&a, NULL, "train", SD_CREATE_NEW, &n) == 0);
    CHECK(strcmp(n.capture, "train.sonde") == 0 && !n.export && !n.is_chosen);
    touch("train.sonde");
    mkdir("train-2.sonde.live", 0700); /* left by a run that was killed */
    CHECK(sd_naming_choose(&a, NULL, "train", SD_CREATE_NEW, &n) == 0);
    CHECK(strcmp(n.capture, "train-3.sonde") == 0);
    sd_arena_release(&a);
    leave(&p);
}

TEST(naming_makes_a_file_name_of_anything)
{
    struct sd_arena a = { 0 };
    struct sd_naming n;
    struct place p;

    enter(&p);
    CHECK(sd_naming_choose(&a, NULL, "../up", SD_CREATE_NEW, &n) == 0);
    CHECK(!strchr(n.capture, '/') && n.capture[0] != '.');
    sd_arena_release(&a);
    leave(&p);
}

TEST(naming_refuses_to_overwrite_without_force)
{
    struct sd_arena a = { 0 };
    struct sd_naming n;
    struct place p;

    enter(&p);
    touch("x.sonde");
    CHECK(sd_naming_choose(&a, "x.sonde", "t", SD_CREATE_NEW, &n) == SD_EEXISTS);
    CHECK(strstr(sd_fail_text(), "--force"));
    CHECK(sd_naming_choose(&a, "x.sonde", "t", SD_CREATE_OVER, &n) == 0);
    CHECK(sd_naming_choose(&a, p.dir, "t", SD_CREATE_OVER, &n) == SD_EEXISTS);
    sd_arena_release(&a);
    leave(&p);
}

TEST(naming_records_beside_what_it_exports)
{
    struct sd_arena a = { 0 };
    struct sd_naming n;
    struct place p;

    enter(&p);
    CHECK(sd_naming_choose(&a, "mem.csv", "t", SD_CREATE_NEW, &n) == 0);
    CHECK(strcmp(n.export, "mem.csv") == 0 && strcmp(n.capture, "mem.csv.sonde") == 0);
    CHECK(sd_naming_choose(&a, "-", "t", SD_CREATE_NEW, &n) == SD_EUSAGE);
    CHECK(sd_naming_choose(&a, "mem.nonsense", "t", SD_CREATE_NEW, &n) == SD_EUSAGE);
    CHECK(sd_naming_choose(&a, "mem", "t", SD_CREATE_NEW, &n) == 0 && !n.export);
    sd_arena_release(&a);
    leave(&p);
}
