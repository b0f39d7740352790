/* SPDX-License-Identifier: MIT */
#include "profile/evidence.h"

#include <string.h>

#include "base/test.h"
#include "profile/profile.h"

TEST(each_evidence_says_what_it_is_and_how_it_is_recorded)
{
    for (enum sd_evidence e = 0; e < SD_EVIDENCES; e++) {
        const struct sd_evidence_about *a = &sd_evidence[e];

        CHECK(a->name && a->verb && a->title && a->metric && a->command);
        CHECK(strstr(a->title, a->name) || sd_evidence_has_stacks(e));
        for (enum sd_evidence other = 0; other < e; other++)
            CHECK(strcmp(sd_evidence[other].name, a->name) != 0);
    }
}

TEST(the_first_evidence_with_stacks_is_chosen_or_that_with_the_metric)
{
    struct sd_metric metrics[] = { { .name = "time" } };
    struct sd_profile p = { .metrics = metrics, .n_metrics = 1 };

    CHECK(!sd_profile_has_any(&p) && !sd_profile_has_stacks(&p));
    CHECK(sd_profile_evidence(&p, NULL) == SD_SAMPLES);
    p.evidence[SD_LINES].lines.n = 1;
    CHECK(sd_profile_has_any(&p) && sd_profile_has(&p, SD_LINES));
    CHECK(!sd_profile_has_stacks(&p));
    p.evidence[SD_CALLS].stacks.n = 1;
    CHECK(sd_profile_has(&p, SD_CALLS) && sd_profile_n_stacked(&p) == 1);
    CHECK(sd_profile_evidence(&p, NULL) == SD_CALLS);
    p.evidence[SD_SAMPLES].stacks.n = 1;
    CHECK(sd_profile_evidence(&p, NULL) == SD_SAMPLES);
    CHECK(sd_profile_evidence(&p, "time") == SD_SAMPLES); /* nobody carries it */
    p.evidence[SD_CALLS].stacks.n_metrics = 1;
    CHECK(sd_profile_evidence(&p, "time") == SD_CALLS &&
          sd_profile_carries(&p, "time"));
    CHECK(!sd_profile_carries(&p, "wall"));
}

TEST(evidence_of_which_a_filter_leaves_nothing_is_chosen_all_the_same)
{
    struct sd_profile p = { .recorded = 1u << SD_SAMPLES | 1u << SD_CALLS };

    p.evidence[SD_CALLS].stacks.n = 1;
    CHECK(!sd_profile_has(&p, SD_SAMPLES) && sd_profile_recorded(&p, SD_SAMPLES));
    CHECK(sd_profile_evidence(&p, NULL) == SD_SAMPLES);
    CHECK(!sd_profile_recorded(&p, SD_LINES));
}

TEST(sentences_about_stacks_name_all_evidence_that_has_them)
{
    char verbs[SD_EVIDENCE_TEXT], commands[SD_EVIDENCE_TEXT];

    sd_evidence_verbs(verbs);
    sd_evidence_commands(commands);
    CHECK(strncmp(verbs, "sampled", 7) == 0 && strstr(verbs, " or "));
    CHECK(strstr(commands, ", or sonde "));
    for (enum sd_evidence e = 0; e < SD_EVIDENCES; e++)
        CHECK(!sd_evidence_has_stacks(e) || (strstr(verbs, sd_evidence[e].verb) &&
                                             strstr(commands, sd_evidence[e].command)));
    CHECK(!strstr(verbs, "counted")); /* lines and models have no stacks */
}
