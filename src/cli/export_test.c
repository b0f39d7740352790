/* SPDX-License-Identifier: MIT */
#include "cli/export.h"

#include <string.h>

#include "base/error.h"
#include "base/test.h"
#include "formats/format.h"
#include "report/report.h"

TEST(export_every_suffix_of_a_format_is_an_output_and_the_other_way_round)
{
    for (size_t i = 0; sd_formats[i]; i++) {
        const struct sd_output *o = sd_output_for(sd_formats[i]->suffix);

        CHECK(o && o->what == SD_OUTPUT_FORMAT);
        CHECK(strcmp(o->suffix, sd_formats[i]->suffix) == 0);
    }
    for (const struct sd_output *o = sd_outputs; o->suffix; o++)
        CHECK((o->what == SD_OUTPUT_FORMAT) == (sd_format_for(o->suffix) != NULL));
}

TEST(export_takes_the_words_of_py_spy)
{
    CHECK(sd_export_check_format("raw") == 0);
    CHECK(sd_export_check_format("collapsed") == 0);
    CHECK(sd_export_check_format("speedscope") == 0);
    CHECK(sd_export_check_format("flamegraph") == 0);
    CHECK(sd_export_check_format("nonsense") == SD_EUSAGE);
    CHECK(strstr(sd_fail_text(), "collapsed"));
}

TEST(export_names_every_suffix_when_there_is_none_such)
{
    CHECK(sd_export_check("x.speedscope.json", "") == 0);
    CHECK(sd_export_check("x.txt", "") == 0);
    CHECK(sd_export_check("x.nonsense", ".sonde, ") == SD_EUSAGE);
    CHECK(strstr(sd_fail_text(), "there are .sonde, .collapsed, "));
    CHECK(strstr(sd_fail_text(), " and .pdf"));
}
