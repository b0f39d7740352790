/* SPDX-License-Identifier: MIT */
#include "profile/evidence.h"

#include <stdio.h>

#include "base/assert.h"
#include "profile/profile.h"

enum { /* as evidence.def writes them */
       TIME = SD_PART_TIME,
       TRACK = SD_PART_TRACK,
       SECTION = SD_PART_SECTION,
       NOTHING = SD_PART_NOTHING,
};

const struct sd_evidence_about sd_evidence[] = {
#define SD_EVIDENCE(id, shape, ...) [SD_##id] = { SD_OF_##shape, __VA_ARGS__ },
#include "profile/evidence.def"
#undef SD_EVIDENCE
};
_Static_assert(sizeof sd_evidence / sizeof *sd_evidence == SD_EVIDENCES,
               "each evidence has a line in the table");
_Static_assert(SD_SAMPLES == 0, "samples come first where a report has to choose");

bool sd_profile_has(const struct sd_profile *p, enum sd_evidence e)
{
    sd_assert(e < SD_EVIDENCES);
    switch (sd_evidence[e].shape) {
    case SD_OF_STACKS:
        return p->evidence[e].stacks.n > 0;
    case SD_OF_LINES:
        return p->evidence[e].lines.n > 0;
    case SD_OF_MODELS:
        return sd_profile_n_models(p) > 0;
    case SD_OF_TIMINGS:
        return p->evidence[e].timings.n_batches > 0;
    }
    return false;
}

bool sd_profile_recorded(const struct sd_profile *p, enum sd_evidence e)
{
    return p->recorded >> e & 1 || sd_profile_has(p, e);
}

bool sd_profile_has_any(const struct sd_profile *p)
{
    bool has = false;

    for (enum sd_evidence e = 0; e < SD_EVIDENCES; e++)
        has |= sd_profile_has(p, e);
    return has;
}

bool sd_evidence_has_stacks(enum sd_evidence e)
{
    return sd_evidence[e].shape == SD_OF_STACKS;
}

unsigned sd_profile_n_stacked(const struct sd_profile *p)
{
    unsigned n = 0;

    for (enum sd_evidence e = 0; e < SD_EVIDENCES; e++)
        n += sd_evidence_has_stacks(e) && sd_profile_has(p, e);
    return n;
}

bool sd_profile_has_stacks(const struct sd_profile *p)
{
    return sd_profile_n_stacked(p) > 0;
}

enum sd_evidence sd_profile_evidence(const struct sd_profile *p, const char *metric)
{
    for (enum sd_evidence e = 0; e < SD_EVIDENCES; e++)
        if (sd_evidence_has_stacks(e) &&
            (metric ? sd_totals_metric(p, &p->evidence[e].stacks, metric) != UINT32_MAX
                    : sd_profile_recorded(p, e)))
            return e;
    return SD_SAMPLES;
}

bool sd_profile_carries(const struct sd_profile *p, const char *metric)
{
    enum sd_evidence e = sd_profile_evidence(p, metric);

    return sd_totals_metric(p, &p->evidence[e].stacks, metric) != UINT32_MAX;
}

/* Samples of one capture stand for unequal times where they were taken as fast as could
 * be, where threads with deep stacks were read less often than others, and where rounds
 * were left out to take little CPU time. */
static bool are_uneven(const struct sd_profile *p)
{
    return sd_profile_meta(p, "sample.unpaced") || sd_profile_meta(p, "sample.uneven");
}

const char *sd_evidence_metric(const struct sd_profile *p, enum sd_evidence e)
{
    if (e == SD_SAMPLES && are_uneven(p) &&
        sd_profile_sample_metric(p, "wall") != UINT32_MAX)
        return "wall";
    return sd_evidence[e].metric;
}

/* --- Words */

/* "a or b", "a, b or c": what `field` says of all evidence with stacks. */
static const char *list(char text[SD_EVIDENCE_TEXT], const char *last,
                        const char *(*field)(const struct sd_evidence_about *))
{
    unsigned n = 0, i = 0;
    size_t at = 0;

    text[0] = '\0';
    for (enum sd_evidence e = 0; e < SD_EVIDENCES; e++)
        n += sd_evidence_has_stacks(e);
    for (enum sd_evidence e = 0; e < SD_EVIDENCES && at < SD_EVIDENCE_TEXT; e++)
        if (sd_evidence_has_stacks(e)) {
            const char *before = i == 0 ? "" : i + 1 == n ? last : ", ";

            at += (size_t)snprintf(text + at, SD_EVIDENCE_TEXT - at, "%s%s", before,
                                   field(&sd_evidence[e]));
            i++;
        }
    return text;
}

static const char *verb(const struct sd_evidence_about *e) { return e->verb; }
static const char *command(const struct sd_evidence_about *e) { return e->command; }

const char *sd_evidence_verbs(char text[SD_EVIDENCE_TEXT])
{
    return list(text, " or ", verb);
}

const char *sd_evidence_commands(char text[SD_EVIDENCE_TEXT])
{
    return list(text, ", or ", command);
}
