/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/error.h"
#include "base/test.h"
#include "formats/callgrind.h"

static sd_function_id function(struct sd_call_stats *s, const char *file, int64_t line,
                               const char *name, double own)
{
    struct sd_call_numbers n = { 2, 2, own, own, 0 };
    sd_function_id id;

    CHECK(sd_call_stats_function(s, file, strlen(file), line, name, strlen(name),
                                 &id) == 0);
    CHECK(sd_call_stats_count(s, id, &n) == 0);
    return id;
}

static void make(struct sd_call_stats *s)
{
    struct sd_call_numbers n = { 7, 7, 0, 0.25, 0 };
    sd_function_id f, g, h;

    sd_call_stats_init(s);
    f = function(s, "a.py", 3, "f", 1.5);
    g = function(s, "a.py", 9, "f", 0.25); /* the same name, another function */
    h = function(s, "~", 0, "<built-in\nlen>", 0.125);
    CHECK(sd_call_stats_count_calls(s, f, g, &n) == 0);
    CHECK(sd_call_stats_count_plain(s, f, h, 1) == 0);
    CHECK(sd_call_stats_sum(s) == 0);
}

TEST(callgrind_has_own_and_called_costs_under_numbered_names)
{
    const struct sd_callgrind_head head = { .command = "run\nit.py",
                                            .event = "ns",
                                            .per_unit = 1e9 };
    struct sd_call_stats s;
    struct sd_out out;

    make(&s);
    sd_out_to_memory(&out);
    CHECK(sd_call_stats_write_callgrind(&s, &head, &out) == 0);
    CHECK(strcmp(sd_buf_string(&out.pending),
                 "# callgrind format\nversion: 1\ncreator: sonde\ncmd: run\\nit.py\n"
                 "positions: line\nevents: ns\nsummary: 1875000000\n"
                 "\nfl=(1) a.py\nfn=(1) f:3\n3 1500000000\n"
                 "cfi=(1)\ncfn=(2) f:9\ncalls=7 9\n3 250000000\n"
                 "cfi=(3) ~\ncfn=(3) <built-in\\nlen>\ncalls=1 0\n3 62500000\n"
                 "\nfl=(1)\nfn=(2)\n9 250000000\n"
                 "\nfl=(3)\nfn=(3)\n0 125000000\n") == 0);
    sd_out_release(&out);
    sd_call_stats_release(&s);
}

TEST(callgrind_has_all_names_at_its_top_when_asked)
{
    const struct sd_callgrind_head head = { .event = "Ticks",
                                            .per_unit = 1e6,
                                            .has_names_first = true };
    struct sd_call_stats s;
    struct sd_out out;

    make(&s);
    sd_out_to_memory(&out);
    CHECK(sd_call_stats_write_callgrind(&s, &head, &out) == 0);
    CHECK(strcmp(sd_buf_string(&out.pending),
                 "# callgrind format\nversion: 1\ncreator: sonde\n"
                 "positions: line\nevents: Ticks\nsummary: 1875000\n"
                 "fl=(1) a.py\nfn=(1) f:3\nfl=(1)\nfn=(2) f:9\n"
                 "fl=(3) ~\nfn=(3) <built-in\\nlen>\n"
                 "\nfl=(1)\nfn=(1)\n3 1500000\n"
                 "cfi=(1)\ncfn=(2)\ncalls=7 9\n3 250000\n"
                 "cfi=(3)\ncfn=(3)\ncalls=1 0\n3 62500\n"
                 "\nfl=(1)\nfn=(2)\n9 250000\n"
                 "\nfl=(3)\nfn=(3)\n0 125000\n") == 0);
    sd_out_release(&out);
    sd_call_stats_release(&s);
}

TEST(callgrind_has_no_line_without_a_name)
{
    const struct sd_callgrind_head head = { .event = "ns", .per_unit = 1e9 };
    struct sd_call_stats s;
    struct sd_out out;

    sd_call_stats_init(&s);
    function(&s, "", 0, "", 1);
    CHECK(sd_call_stats_sum(&s) == 0);
    sd_out_to_memory(&out);
    CHECK(sd_call_stats_write_callgrind(&s, &head, &out) == 0);
    CHECK(strstr(sd_buf_string(&out.pending), "\nfl=(1) ???\nfn=(1) ???\n0 "));
    sd_out_release(&out);
    sd_call_stats_release(&s);
}

TEST(callgrind_survives_every_allocation_that_fails)
{
    struct sd_call_stats s;

    make(&s);
    EACH_FAILURE(nth)
    {
        const struct sd_callgrind_head head = { .event = "samples", .per_unit = 1 };
        struct sd_out out;
        int rc;

        sd_out_to_memory(&out);
        rc = sd_call_stats_write_callgrind(&s, &head, &out);
        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_out_release(&out);
    }
    sd_call_stats_release(&s);
}
