/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/error.h"
#include "formats/stacks_testing.h"

static bool gives(struct sd_stack_style style, const char *expected)
{
    struct sd_out out;
    bool is =
        strcmp(sd_maker_written(&sd_output_collapsed, &style, &out), expected) == 0;

    sd_out_release(&out);
    return is;
}

TEST(collapsed_has_a_line_for_each_stack_that_looks_different)
{
    CHECK(gives((struct sd_stack_style){ 0 },
                "<module> (app.py:3);f (app.py:12) 3\n"
                "<module> (app.py:4);f (app.py:12) 1\n"
                "a,b\\n\\x1b[2J<x>\\xff (a,b\\n\\x1b[2J<x>\\xff:5) 2\n"));
    CHECK(gives((struct sd_stack_style){ .has_no_lines = true, .is_gil_only = true },
                "<module> (app.py);f (app.py) 2\n"
                "a,b\\n\\x1b[2J<x>\\xff (a,b\\n\\x1b[2J<x>\\xff) 2\n"));
}

TEST(collapsed_shows_what_the_style_asks_for)
{
    CHECK(gives((struct sd_stack_style){ .is_by_function = true,
                                         .has_full_files = true,
                                         .is_gil_only = true,
                                         .metric = "wall" },
                "<module> (/x/app.py:1);f (/x/app.py:10) 20000000\n"
                "a,b\\n\\x1b[2J<x>\\xff (a,b\\n\\x1b[2J<x>\\xff:2) 20000000\n"));
    CHECK(gives((struct sd_stack_style){ .has_idle = true,
                                         .has_threads = true,
                                         .has_processes = true,
                                         .has_no_lines = true },
                "process 7:\"python\";thread (7): MainThread;<module> (app.py) 10\n"
                "process 7:\"python\";thread (7): MainThread;<module> (app.py);"
                "f (app.py) 4\n"
                "process 9:\"python\";thread (10): a,b\\n\\x1b[2J<x>\\xff;"
                "a,b\\n\\x1b[2J<x>\\xff (a,b\\n\\x1b[2J<x>\\xff) 2\n"));
}

TEST(collapsed_refuses_a_metric_that_samples_do_not_carry)
{
    const struct sd_stack_style style = { .metric = "bytes" };
    struct sd_maker m;
    struct sd_profile *p;
    struct sd_out out;

    sd_maker_stacks(&m);
    p = sd_maker_load(&m, NULL);
    sd_out_to_memory(&out);
    CHECK(sd_output_collapsed.write(
              &(struct sd_output_job){ .from = "", .profile = p, .style = &style },
              &out) == SD_EUSAGE);
    sd_out_release(&out);
    sd_profile_free(p);
    sd_maker_release(&m);
}
