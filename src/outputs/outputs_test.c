/* SPDX-License-Identifier: MIT */
#include "outputs/outputs.h"

#include <string.h>

#include "base/error.h"
#include "base/test.h"
#include "outputs/inputs.h"
#include "outputs/pictures.h"

TEST(outputs_are_found_by_name_and_by_the_words_of_py_spy)
{
    CHECK(sd_output_named("raw") == sd_output_named("collapsed"));
    CHECK(sd_output_named("gecko") == sd_output_named("firefox"));
    CHECK(sd_output_check_word("speedscope") == 0);
    CHECK(sd_output_check_word("flamegraph") == 0);
    CHECK(sd_output_check_word("sonde") == SD_EUSAGE); /* it is only recorded */
    CHECK(sd_output_check_word("nonsense") == SD_EUSAGE);
    CHECK(strstr(sd_fail_text(), "collapsed"));
}

TEST(outputs_are_found_by_the_longest_suffix_in_any_case)
{
    CHECK(sd_output_for("a.b.CSV", SD_HOLDS_ANYTHING) == sd_output_named("csv"));
    CHECK(sd_output_for("x.json", SD_HOLDS_ANYTHING) == sd_output_named("json"));
    CHECK(sd_output_for("x.trace.json", SD_HOLDS_ANYTHING) ==
          sd_output_named("chrometrace"));
    CHECK(!sd_output_for("json", SD_HOLDS_ANYTHING));
}

TEST(outputs_that_share_a_suffix_are_chosen_by_what_there_is)
{
    CHECK(sd_output_for("x.svg", SD_HOLDS_STACKS | SD_HOLDS_READINGS) ==
          sd_output_named("flamegraph"));
    CHECK(sd_output_for("x.svg", SD_HOLDS_CALLS) == sd_output_named("graph"));
    CHECK(sd_output_for("x.svg", SD_HOLDS_READINGS) == sd_output_named("plot"));
    CHECK(sd_output_for("x.svg", SD_HOLDS_EVENTS) == sd_output_named("plot"));
}

TEST(outputs_say_what_they_need_and_are_written_or_recorded)
{
    for (size_t i = 0; sd_outputs[i]; i++) {
        CHECK(sd_outputs[i]->suffixes[0] && sd_outputs[i]->summary);
        CHECK(sd_outputs[i]->loses);
        CHECK(sd_outputs[i]->needs != 0);
        CHECK(sd_outputs[i]->write || strcmp(sd_outputs[i]->name, "sonde") == 0);
    }
}

TEST(outputs_name_every_suffix_when_there_is_none_such)
{
    CHECK(sd_output_check("x.speedscope.json", "") == 0);
    CHECK(sd_output_check("x.txt", "") == 0);
    CHECK(sd_output_check("x.nonsense", ".sonde, ") == SD_EUSAGE);
    CHECK(strstr(sd_fail_text(), "the suffixes are .sonde, .callgrind, "));
    CHECK(strstr(sd_fail_text(), " and .pdf"));
}

TEST(outputs_refuse_what_an_input_does_not_give_and_name_the_others)
{
    struct sd_output_choice c = { .from = "a.prof", .to = "x.collapsed" };

    for (size_t i = 0; sd_inputs[i]; i++)
        if (strcmp(sd_inputs[i]->name, "pstats") == 0)
            c.input = sd_inputs[i];
    CHECK(sd_output_choice_check(&c) == SD_EUSAGE);
    CHECK(strstr(sd_fail_text(), "a.prof is a pstats file"));
    CHECK(strstr(sd_fail_text(), ".txt or .svg"));
    CHECK(!strstr(sd_fail_text(), ".lprof"));
    c.to = "x.dot";
    CHECK(sd_output_choice_check(&c) == 0);
}

TEST(pictures_are_found_by_suffix_in_any_case)
{
    enum sd_picture kind;

    CHECK(sd_picture_of("a/b.SVG", &kind) && kind == SD_PICTURE_SVG);
    CHECK(sd_picture_of("x.jpg", &kind) && kind == SD_PICTURE_JPEG);
    CHECK(!sd_picture_of("x.csv", &kind) && !sd_picture_of("svg", &kind));
}

TEST(inputs_are_recognised_by_name_or_first_bytes)
{
    CHECK(sd_input_of("x.sonde", SD_HOLDS_DATA, NULL) == &sd_input_capture);
    CHECK(sd_input_of("x.onnx", SD_HOLDS_MODEL, NULL) == &sd_input_model);
    CHECK(sd_input_of("x.onnx", SD_HOLDS_DATA, &sd_input_capture) == &sd_input_capture);
    CHECK(!sd_input_of("/dev/null", SD_HOLDS_DATA, NULL));
}
