/* SPDX-License-Identifier: MIT */
#include "collect/calls/options.h"

#include "base/test.h"

TEST(calls_are_traced_only_when_the_run_says_so)
{
    struct sd_option_value v[SD_CALLS_N_OPTIONS];

    CHECK(!sd_calls_options_from(NULL, v) && !sd_calls_options_from("", v));
    CHECK(!sd_calls_options_from("sections", v) &&
          !sd_calls_options_from("callsign", v));
    CHECK(sd_calls_options_from("calls", v));
    CHECK(v[SD_CALLS_OPT_THREADS].number == 1 && v[SD_CALLS_OPT_BUILTINS].number == 0);
    CHECK(v[SD_CALLS_OPT_NODES].number == 1000000);
}

TEST(calls_are_traced_as_the_run_says)
{
    struct sd_option_value v[SD_CALLS_N_OPTIONS];

    CHECK(sd_calls_options_from("sections:measure=time+peak;x=1,calls:builtins=1;"
                                "threads=0;nodes=500,later:cpu=1",
                                v));
    CHECK(v[SD_CALLS_OPT_BUILTINS].number == 1 && v[SD_CALLS_OPT_THREADS].number == 0);
    CHECK(v[SD_CALLS_OPT_NODES].number == 500 && v[SD_CALLS_OPT_CPU].number == 0);
    CHECK(!sd_calls_options_from("calls:nodes=0", v)); /* nobody could have typed it */
    CHECK(sd_calls_signatures_of(&v[SD_CALLS_OPT_SIGNATURES]) == 0);
}

TEST(calls_have_the_signatures_that_the_run_says)
{
    struct sd_option_value v[SD_CALLS_N_OPTIONS];
    const struct sd_option_value *said = &v[SD_CALLS_OPT_SIGNATURES];

    CHECK(sd_calls_options_from("calls:signatures=", v));
    CHECK(sd_calls_signatures_of(said) == 1);
    CHECK(sd_calls_options_from("calls:builtins=1;signatures=sizes;cpu=1", v));
    CHECK(sd_calls_signatures_of(said) == 3 && v[SD_CALLS_OPT_CPU].number == 1);
    CHECK(!sd_calls_options_from("calls:signatures=lengths;bounded=1", v));
}
