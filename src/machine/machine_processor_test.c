/* SPDX-License-Identifier: MIT */
#include "machine/machine_processor.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"

TEST(machine_processor_is_what_the_kernel_calls_it)
{
    char name[SD_MACHINE_TEXT];

    CHECK(sd_machine_processor_in(
        "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Some (R) CPU @ 2.00GHz \n"
        "model name\t: another\n",
        name));
    CHECK(strcmp(name, "Some (R) CPU @ 2.00GHz") == 0);
    CHECK(sd_machine_processor_in("model name\t:Tight", name));
    CHECK(strcmp(name, "Tight") == 0);
}

TEST(machine_processor_that_nobody_names_is_not_known)
{
    static const char *const texts[] = {
        "",
        "\n",
        "processor\t: 0\nBogoMIPS\t: 50.00\n",
        "model name",
        "model name\t: ",
        "model name\n: no\n",
        "not the model name\t: no\n",
    };
    char name[SD_MACHINE_TEXT];

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        strcpy(name, "before");
        CHECK(!sd_machine_processor_in(texts[i], name));
        CHECK(strcmp(name, "") == 0);
    }
}

/* Whoever notes the whole name would never find it again under the cut one. */
TEST(machine_processor_of_a_long_name_is_cut_to_whole_characters)
{
    char text[2 * SD_MACHINE_TEXT + 16], name[SD_MACHINE_TEXT];
    int n = snprintf(text, sizeof text, "model name\t: ");

    memset(text + n, 'x', SD_MACHINE_TEXT - 2);
    strcpy(text + n + SD_MACHINE_TEXT - 2, "\xc2\xb5 and more");
    CHECK(sd_machine_processor_in(text, name));
    CHECK(strlen(name) == SD_MACHINE_TEXT - 2);
    CHECK(strspn(name, "x") == strlen(name));
}
