/* SPDX-License-Identifier: MIT */
#include "formats/mprof.h"

#include <string.h>

#include "base/error.h"
#include "base/test.h"

static int read_text(struct sd_mprof *m, const char *text)
{
    sd_mprof_init(m);
    return sd_mprof_read(text, strlen(text), m);
}

TEST(mprof_lines_are_read_to_their_last_digit)
{
    struct sd_mprof m;

    CHECK(read_text(&m, "CMDLINE /usr/bin/python3 'a b.py'\n"
                        "MEM 7.812500 1700000000.1234\n"
                        "CHLD 42 3.007812 1700000000.1234\n"
                        "FUNC m.f 7.8125 1700000000.1000 8.0000 1700000000.2000 3\n"
                        "FUNC m.f 8.0000 1700000000.2000 7.0000 1700000000.3000\n"
                        "LATER something that is not known yet\n") == 0);
    CHECK(!strcmp(m.command, "/usr/bin/python3 'a b.py'"));
    CHECK(m.n_readings == 2 && m.readings[0].pid == 0 && m.readings[1].pid == 42);
    CHECK(m.readings[0].memory == 7812500000 && m.readings[1].memory == 3007812000);
    CHECK(m.readings[1].at_ns == 1700000000123400000);
    CHECK(sd_mprof_bytes(m.readings[0].memory) == 8192000);
    CHECK(m.n_calls == 2 && m.calls[0].n_name == 3 && !strcmp(m.calls[0].name, "m.f"));
    CHECK(m.calls[0].before == 7812500000 && m.calls[0].after == 8000000000);
    CHECK(m.calls[0].to_ns - m.calls[0].from_ns == 100000000 && m.calls[0].level == 3);
    CHECK(m.calls[1].level == 0 && !m.is_cut && !m.has_empty_line);
    sd_mprof_release(&m);
}

TEST(mprof_memory_that_could_not_be_read_is_below_zero)
{
    struct sd_mprof m;

    CHECK(read_text(&m, "MEM 8999999999.999999999 8999999999.999999999\n") == 0);
    CHECK(m.readings[0].at_ns == 8999999999999999999 &&
          sd_mprof_bytes(m.readings[0].memory) == 9437184000000000);
    sd_mprof_release(&m);
    CHECK(read_text(&m, "MEM -1.000000 1700000000.1\n\n") == 0);
    CHECK(m.n_readings == 1 && m.readings[0].memory == -1000000000 && m.has_empty_line);
    CHECK(m.readings[0].at_ns == 1700000000100000000);
    sd_mprof_release(&m);
}

TEST(mprof_lines_that_say_something_else_are_named)
{
    static const struct {
        const char *text, *says;
    } wrong[] = {
        { "MEM 1.0 2.0\nMEM 1.0\n", "line 2 is broken: after MEM" },
        { "MEM x 2.0\n", "MiB and a time, not \"MEM x 2.0\"" },
        { "MEM 1.0 -2.0\n", "line 1" },
        { "MEM 1,5 2.0\n", "line 1" },
        { "MEM  1.0 2.0\n", "line 1" },
        { "MEM 99999999999999999999 2.0\n", "line 1" },
        { "MEM 1.0 9999999999.0\n", "line 1" },
        { "CHLD a 1.0 2.0\n", "after CHLD" },
        { "CHLD 99999999999 1.0 2.0\n", "after CHLD" },
        { "FUNC  1.0 2.0 1.0 2.0\n", "after FUNC" },
        { "FUNC f 1.0 2.0 1.0 2.0 x\n", "after FUNC" },
        { "hello world\n", "line 1 is \"hello world\"" },
        { "MEM 1.0 2.0\n\x1b[1m\n", "line 2 is \"\\x1b[1m\"" },
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct sd_mprof m;

        CHECK(read_text(&m, wrong[i].text) == SD_EFORMAT);
        CHECK(strstr(sd_fail_text(), wrong[i].says));
        sd_mprof_release(&m);
    }
}

TEST(mprof_may_have_been_killed_in_the_middle_of_a_line)
{
    struct sd_mprof m;

    CHECK(read_text(&m, "MEM 1.0 2.0\nMEM 1.") == 0);
    CHECK(m.n_readings == 1 && m.is_cut);
    sd_mprof_release(&m);
    CHECK(read_text(&m, "MEM 1.0 2.0\nMEM 1.0 2.1") == 0);
    CHECK(m.n_readings == 2 && !m.is_cut);
    sd_mprof_release(&m);
}

TEST(mprof_files_are_known_by_their_first_word)
{
    CHECK(sd_mprof_is("CMDLINE python", 14) && sd_mprof_is("FUNC f", 6));
    CHECK(!sd_mprof_is("MEMORY 1", 8) && !sd_mprof_is("MEM", 3) && !sd_mprof_is("", 0));
}

TEST(six_digits_of_mprof_are_bytes_and_back)
{
    /* The largest difference that rounding to bytes makes is 0.48 millionths. */
    for (int64_t micro = 0; micro < 3000000; micro += 7) {
        int64_t bytes = sd_mprof_bytes(micro * 1000);
        int64_t back = (bytes * 1000000 + (1 << 19)) >> 20;

        CHECK(back == micro);
    }
}

TEST(mprof_reading_survives_every_allocation_that_fails)
{
    EACH_FAILURE(nth)
    {
        struct sd_mprof m;
        int rc = read_text(&m, "CMDLINE p\nMEM 1.0 2.0\nFUNC f 1.0 2.0 1.0 2.0\n");

        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_mprof_release(&m);
    }
}
