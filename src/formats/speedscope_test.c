/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "formats/stacks_testing.h"

TEST(speedscope_has_a_profile_per_thread_and_an_entry_per_sample)
{
    const struct sd_stack_style style = { .has_processes = true };
    struct sd_out out;
    const char *text = sd_maker_written(&sd_output_speedscope, &style, &out);

    CHECK(strstr(text,
                 "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                 "\"profiles\":[{\"type\":\"sampled\","
                 "\"name\":\"Process 7 Thread 7 \\\"MainThread\\\"\","
                 "\"unit\":\"seconds\",\"startValue\":0,\"endValue\":0.04,"
                 "\"samples\":[[0,1],[0,1],[0,1],[2,1]],"
                 "\"weights\":[0.01,0.01,0.01,0.01]},") == text);
    CHECK(strstr(text,
                 "\"shared\":{\"frames\":["
                 "{\"name\":\"\\u003cmodule>\",\"file\":\"/x/app.py\","
                 "\"line\":3,\"col\":0},"
                 "{\"name\":\"f\",\"file\":\"/x/app.py\",\"line\":12,\"col\":0},"));
    CHECK(strstr(text, "\"samples\":[[3],[3]]"));
    CHECK(!strchr(text, '\033'));
    sd_out_release(&out);
}

TEST(speedscope_repeats_idle_samples_when_they_are_asked_for)
{
    const struct sd_stack_style style = { .has_idle = true, .has_no_lines = true };
    struct sd_out out;
    const char *text = sd_maker_written(&sd_output_speedscope, &style, &out);

    CHECK(strstr(text, "\"samples\":[[0,1],[0,1],[0,1],[0,1],[0],[0],[0],[0],[0],[0],"
                       "[0],[0],[0],[0]]"));
    CHECK(strstr(text, "\"endValue\":0.14"));
    CHECK(strstr(text, "\"name\":\"Thread 7 "));
    sd_out_release(&out);
}
