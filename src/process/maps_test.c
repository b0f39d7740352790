/* SPDX-License-Identifier: MIT */
#include "process/maps.h"

#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"

static const char sample[] =
    "55d0-55e0 r--p 00000000 08:01 1234                       /usr/bin/python3.11\n"
    "55e0-55f0 r-xp 00010000 08:01 1234                       /usr/bin/python3.11\n"
    "7000-8000 rw-p 00000000 00:00 0                          [heap]\n"
    "9000-a000 rw-s 00001000 103:02 18446744073709551615      /tmp/a b (deleted)\n"
    "b000-c000 ---p 00000000 00:00 0 \n"
    "c000-d000 r--p 00000000 fd:00 7                          /tmp/two\\012lines\n";

TEST(maps_are_read_with_blanks_line_ends_and_deleted_files)
{
    struct sd_maps m = { 0 };
    char *text = sd_strdup(sample);

    CHECK(sd_maps_parse(&m, text, strlen(text)) == 0);
    CHECK(m.n == 6);
    CHECK(m.items[0].start == 0x55d0 && m.items[0].end == 0x55e0);
    CHECK(m.items[1].rights == (SD_MAPPING_R | SD_MAPPING_X));
    CHECK(m.items[1].offset == 0x10000 && m.items[1].inode == 1234);
    CHECK(strcmp(m.items[1].path, "/usr/bin/python3.11") == 0);
    CHECK(strcmp(m.items[2].path, "[heap]") == 0 && !m.items[2].is_deleted);
    CHECK(strcmp(m.items[3].path, "/tmp/a b") == 0 && m.items[3].is_deleted);
    CHECK(m.items[3].dev == ((uint64_t)0x103 << 32 | 2) &&
          m.items[3].inode == UINT64_MAX);
    CHECK(m.items[4].rights == 0 && m.items[4].path[0] == 0);
    CHECK(strcmp(m.items[5].path, "/tmp/two\nlines") == 0);
    sd_maps_release(&m);
    sd_free(text);
}

TEST(maps_know_which_mapping_holds_an_address)
{
    struct sd_maps m = { 0 };
    char *text = sd_strdup(sample);

    CHECK(sd_maps_parse(&m, text, strlen(text)) == 0);
    CHECK(sd_maps_find(&m, 0x55d0) == &m.items[0]);
    CHECK(sd_maps_find(&m, 0x55df) == &m.items[0]);
    CHECK(sd_maps_find(&m, 0x55e0) == &m.items[1]);
    CHECK(!sd_maps_find(&m, 0x55cf) && !sd_maps_find(&m, 0x6000) &&
          !sd_maps_find(&m, 0xd000));
    sd_maps_release(&m);
    sd_free(text);
}

TEST(maps_of_every_cut_text_are_the_lines_that_are_whole)
{
    size_t n, i, lines;

    for (n = 0; n < sizeof sample; n++) {
        struct sd_maps m = { 0 };
        char *text = sd_strndup(sample, n);

        for (i = 0, lines = 0; i < n; i++)
            lines += sample[i] == '\n';
        CHECK(sd_maps_parse(&m, text, n) == 0);
        CHECK(m.n == lines);
        sd_maps_release(&m);
        sd_free(text);
    }
}

TEST(maps_of_our_own_process_hold_this_function)
{
    struct sd_maps m = { 0 };
    const struct sd_mapping *found;

    CHECK(sd_maps_read(&m, getpid()) == 0);
    found = sd_maps_find(&m, (uint64_t)(uintptr_t)sd_maps_find);
    CHECK(found && found->rights & SD_MAPPING_X && found->path[0] == '/');
    found = sd_maps_find(&m, (uint64_t)(uintptr_t)&m);
    CHECK(found && found->rights & SD_MAPPING_W);
    sd_maps_release(&m);
}

TEST(maps_of_nobody_are_gone)
{
    struct sd_maps m = { 0 };

    CHECK(sd_maps_read(&m, 0x3fffffff) == SD_EGONE);
    sd_maps_release(&m);
}

TEST(maps_survive_every_failing_allocation)
{
    EACH_FAILURE(nth)
    {
        struct sd_maps m = { 0 };
        int rc = sd_maps_read(&m, getpid());

        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_maps_release(&m);
    }
}
