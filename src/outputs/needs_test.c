/* SPDX-License-Identifier: MIT */
#include "outputs/needs.h"

#include <string.h>

#include "base/error.h"
#include "base/test.h"
#include "outputs/inputs.h"
#include "outputs/outputs.h"
#include "profile/profile.h"

/* Captures that hold one kind each, and the word that tells how it is recorded. */
static const struct {
    unsigned holds;
    const char *collector, *command;
} kinds[] = {
    { SD_HOLDS_STACKS | SD_HOLDS_CALLS | SD_HOLDS_TIMES, "sample",
      "sonde run --with sample" },
    { SD_HOLDS_STACKS | SD_HOLDS_CALLS | SD_HOLDS_TIMES, "calls", "sonde calls" },
    { SD_HOLDS_STACKS | SD_HOLDS_CALLS, "alloc", "sonde alloc" },
    { SD_HOLDS_LINES, "lines", "sonde lines" },
    { SD_HOLDS_READINGS | SD_HOLDS_TIMES, "rss", "sonde run --with rss" },
    { SD_HOLDS_SECTIONS, "sections", "sonde run --with sections" },
    { 0, "", "" },
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static void fill(struct sd_profile *p, size_t kind)
{
    *p = (struct sd_profile){ 0 };
    for (enum sd_evidence e = 0; e < SD_EVIDENCES; e++)
        if (sd_evidence[e].collector &&
            strcmp(sd_evidence[e].collector, kinds[kind].collector) == 0) {
            if (sd_evidence_has_stacks(e))
                p->evidence[e].stacks.n = 1;
            else
                p->evidence[e].lines.n = 1;
        }
    p->n_series = strcmp(kinds[kind].collector, "rss") == 0;
    p->n_point_events = p->n_series;
    p->n_spans = strcmp(kinds[kind].collector, "sections") == 0;
}

TEST(needs_know_what_profiles_hold_and_collectors_record)
{
    struct sd_profile p;

    for (size_t i = 0; i < N_KINDS; i++) {
        fill(&p, i);
        CHECK(sd_holds_of_profile(&p) == (SD_HOLDS_EVENTS | kinds[i].holds));
        CHECK(sd_holds_of_collector(kinds[i].collector) == sd_holds_of_profile(&p));
    }
}

/* Every way to record what the output needs is named, and no other. */
static void check_sentence(unsigned needs)
{
    for (size_t i = 0; i < N_KINDS - 1; i++)
        CHECK((strstr(sd_fail_text(), kinds[i].command) != NULL) ==
              ((kinds[i].holds & needs) != 0));
}

static int find(const char *to, const char *word, bool may_be_empty,
                const struct sd_profile *p, const struct sd_output **out)
{
    const struct sd_output_choice c = { &sd_input_capture, "x.sonde", to, word,
                                        may_be_empty };

    return sd_output_choice_find(
        &c, &(struct sd_contents){ .profile = (struct sd_profile *)p }, out);
}

TEST(every_output_refuses_captures_without_what_it_needs)
{
    const struct sd_output *out;
    struct sd_profile p;
    size_t n_refused = 0;

    for (size_t k = 0; k < N_KINDS; k++)
        for (size_t i = 0; sd_outputs[i]; i++) {
            const struct sd_output *o = sd_outputs[i];
            bool fits = o->needs & (kinds[k].holds | SD_HOLDS_EVENTS);

            if (!o->write)
                continue;
            fill(&p, k);
            CHECK(find("-", o->name, false, &p, &out) == (fits ? 0 : SD_EABSENT));
            CHECK(out == o);
            if (!fits)
                check_sentence(o->needs);
            n_refused += !fits;
            CHECK(find("-", o->name, true, &p, &out) == 0); /* as py-spy is content */
        }
    CHECK(n_refused > N_KINDS);
}

TEST(a_suffix_of_several_outputs_is_refused_when_none_of_them_fits)
{
    const struct sd_output *out;
    struct sd_profile p;

    for (size_t k = 0; k < N_KINDS; k++) {
        bool fits = kinds[k].holds & (SD_HOLDS_STACKS | SD_HOLDS_READINGS);

        fill(&p, k);
        CHECK(find("x.svg", NULL, false, &p, &out) == (fits ? 0 : SD_EABSENT));
        if (!fits)
            check_sentence(SD_HOLDS_STACKS | SD_HOLDS_READINGS);
    }
    CHECK(sd_output_needs("x.svg") ==
          (SD_HOLDS_STACKS | SD_HOLDS_CALLS | SD_HOLDS_READINGS));
    CHECK(sd_output_needs("x.trace.json") == sd_output_named("chrometrace")->needs);
    CHECK(sd_output_needs("x.nonsense") == 0);
}

TEST(a_timeline_without_totals_can_be_a_trace_and_nothing_with_stacks)
{
    const struct sd_profile p = { .n_timeline_calls = 1 };
    const struct sd_output *out;

    CHECK(sd_holds_of_profile(&p) == (SD_HOLDS_EVENTS | SD_HOLDS_TIMELINE));
    CHECK(find("x.trace.json", NULL, false, &p, &out) == 0);
    CHECK(find("x.collapsed", NULL, false, &p, &out) == SD_EABSENT);
}
