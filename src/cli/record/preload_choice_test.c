/* SPDX-License-Identifier: MIT */
#include "cli/record/preload_choice.h"

#include <string.h>

#include "base/error.h"
#include "base/test.h"

static bool wants(const struct sd_option_value *values) { return values[0].number; }

static const struct sd_option one_option[] = { { .name = "preload", .kind = SD_FLAG },
                                               { .name = NULL } };
static const struct sd_collector_about about = { .name = "known",
                                                 .options = one_option,
                                                 .preloads = wants };
static const struct sd_collector_about other = { .name = "other",
                                                 .options = one_option };

static int choose(struct sd_arena *a, const struct sd_collector_about *collector,
                  bool asks, char **argv, bool is_python, const char *package,
                  const char **library)
{
    struct sd_option_value value = { .number = asks };
    struct sd_verb verb = { .collector = collector, .speaks_for = collector };
    struct sd_command command = { .verb = &verb, .spoken = &value };
    struct sd_collector_set set = { .command = &command,
                                    .abouts = { collector },
                                    .n = 1 };
    struct sd_program program = { .path = argv[0],
                                  .argv = argv,
                                  .is_python = is_python };

    return sd_preload_choose(a, &set, &program, package, library);
}

TEST(preload_choice_refuses_what_is_not_python_unless_asked)
{
    char *plain[] = { "/bin/ls", "x", NULL }, *env[] = { "/bin/ls", "python3", NULL };
    char *job[] = { "/bin/ls", "job.sh", NULL };
    struct sd_arena a = { 0 };
    const char *library;

    CHECK(choose(&a, &about, false, plain, false, "/p", &library) == SD_EUSAGE);
    CHECK(strstr(sd_fail_text(), "--preload"));
    CHECK(choose(&a, &about, false, plain, true, "/p", &library) == 0 && !library);
    CHECK(choose(&a, &about, false, env, false, "/p", &library) == 0 && !library);
    CHECK(choose(&a, &about, false, job, false, "/p", &library) == 0 && !library);
    CHECK(choose(&a, &other, true, plain, false, "/p", &library) == 0 && !library);
    sd_arena_release(&a);
}

TEST(preload_choice_names_what_it_cannot_load)
{
    char *plain[] = { "/bin/ls", NULL };
    struct sd_arena a = { 0 };
    const char *library;

    CHECK(choose(&a, &about, true, plain, false, NULL, &library) == SD_ELACKS);
    CHECK(choose(&a, &about, true, plain, false, "/nowhere", &library) == SD_ELACKS);
    CHECK(strstr(sd_fail_text(), "/nowhere/libsonde_preload.so"));
    sd_arena_release(&a);
}
