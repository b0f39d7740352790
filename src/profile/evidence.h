/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_EVIDENCE_H
#define SD_PROFILE_EVIDENCE_H
/* evidence: the kinds of data that a profile can hold (evidence.def).
 *
 * A report asks this table what a profile holds, what it is called and how it is
 * recorded.  So evidence with stacks that is added there has functions, a tree,
 * callers, threads, a flame graph and a call graph, and no other file knows its name.
 */
#include <stdbool.h>

enum sd_evidence {
#define SD_EVIDENCE(id, ...) SD_##id,
#include "profile/evidence.def"
#undef SD_EVIDENCE
    SD_EVIDENCES
};

/* Which member of union sd_evidence_data (profile.h) has it. */
enum sd_evidence_shape { SD_OF_STACKS, SD_OF_LINES, SD_OF_MODELS, SD_OF_TIMINGS };

/* What of a run may be selected (struct sd_filter). */
enum sd_selection_part {
    SD_PART_NOTHING = 0,
    SD_PART_TIME = 1,    /* from one moment to another */
    SD_PART_TRACK = 2,   /* a process or thread */
    SD_PART_SECTION = 4, /* while a section was open */
};

struct sd_evidence_about {
    enum sd_evidence_shape shape;
    const char *name;      /* "calls" */
    const char *verb;      /* "traced": what is done to record it */
    const char *title;     /* "traced calls" */
    const char *metric;    /* that shares are of when nobody says */
    unsigned follows;      /* what a filter leaves out of it (enum sd_selection_part):
                              what was added up while it was recorded has no time,
                              but calls with a timeline (call_window.h) */
    const char *collector; /* that records it during a run; NULL: none does */
    const char *command;   /* that records it: "sonde calls" */
};
extern const struct sd_evidence_about sd_evidence[SD_EVIDENCES];

enum { SD_EVIDENCE_TEXT = 256 };
/* The verbs of all evidence with stacks: "sampled, traced or allocated". */
const char *sd_evidence_verbs(char text[SD_EVIDENCE_TEXT]);
/* How they are recorded: "sonde run --with sample, sonde calls, or sonde alloc". */
const char *sd_evidence_commands(char text[SD_EVIDENCE_TEXT]);

bool sd_evidence_has_stacks(enum sd_evidence e);

struct sd_profile;
bool sd_profile_has(const struct sd_profile *p, enum sd_evidence e);
/* Was any recorded, whatever a filter left of it? */
bool sd_profile_recorded(const struct sd_profile *p, enum sd_evidence e);
bool sd_profile_has_any(const struct sd_profile *p);
/* How many kinds of evidence with stacks it holds, and whether there is any. */
unsigned sd_profile_n_stacked(const struct sd_profile *p);
bool sd_profile_has_stacks(const struct sd_profile *p);
/* The first evidence with stacks that carries this metric; NULL: the first that was
 * recorded, so that a selection which leaves nothing of it shows nothing, and not
 * another one in its place.  Without any it is SD_SAMPLES.  Two of them are never one
 * number: what was traced ran slower. */
enum sd_evidence sd_profile_evidence(const struct sd_profile *p, const char *metric);
/* Does any evidence with stacks carry this metric? */
bool sd_profile_carries(const struct sd_profile *p, const char *metric);
/* What it is measured in when nobody says what.  Samples taken as fast as could be have
 * no rate: a stack that is easy to read gives more of them.  Theirs is the time that
 * each stands for, "wall". */
const char *sd_evidence_metric(const struct sd_profile *p, enum sd_evidence e);
#endif
