/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_FINDINGS_FINDINGS_H
#define SD_ANALYSE_FINDINGS_FINDINGS_H
/* findings: one to eight sentences about what stands out in a profile, each with a
 * figure and a link: the view that shows it, and what to select there. */
#include "analyse/view.h"
#include "analyse/view_request.h"
#include "base/buf.h"

enum { SD_FINDINGS_MAX = 8 };

/* What to select; what is 0 or NULL stays as it is. */
struct sd_finding_selection {
    uint64_t from_ns, to_ns; /* to 0: all the time */
    const char *section;     /* a path */
    const char *thread;      /* "pid/tid", or "pid" */
    const char *search;      /* a regular expression */
    const char *metric;
};

struct sd_profile_finding {
    const char *rule; /* its name in findings.def */
    const char *text; /* "62.1 % of the time is in load_batch (data.py:12)" */
    struct sd_cell value;
    const char *view; /* a name of views.def; NULL: none shows it */
    struct sd_finding_selection selection;
};

struct sd_profile_findings {
    struct sd_profile_finding items[SD_FINDINGS_MAX];
    size_t n;
};

/* Of a profile, with the metric and the samples that the request chooses; texts are in
 * the arena or the profile's.  0 or SD_ENOMEM; SD_EUSAGE where there is no such metric.
 */
int sd_findings_make(const struct sd_profile *p, const struct sd_view_request *r,
                     struct sd_arena *a, struct sd_profile_findings *out);

/* --- Rules */

/* What rules are about.  Who needs the tree of functions asks for it: it is made once.
 */
struct sd_finding_case {
    const struct sd_profile *p;
    const struct sd_view_request *r;
    struct sd_arena *arena;
    struct sd_calltree tree; /* imports are folded; owned */
    bool has_tree;
};

/* 1: *out, which is zeroed but for its name, is a finding; 0: nothing stands out;
 * < 0. */
typedef int sd_finding_rule(struct sd_finding_case *c, struct sd_profile_finding *out);
#define FINDING(name, rule) sd_finding_rule rule;
#include "analyse/findings/findings.def"
#undef FINDING

/* The functions of the first evidence with stacks, in c->tree.  1; 0: there is none, or
 * it is of memory and not of time; < 0. */
int sd_finding_tree(struct sd_finding_case *c);
/* Fills in the sentence.  1 or SD_ENOMEM with its sentence. */
int sd_finding_say(struct sd_finding_case *c, struct sd_profile_finding *out,
                   const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* "load_batch (data.py:12)", in the arena; NULL when out of memory. */
const char *sd_finding_function(struct sd_finding_case *c, const struct sd_site *s);
/* A regular expression that finds this text, in the arena; NULL when out of memory. */
const char *sd_finding_search(struct sd_finding_case *c, const char *text);
/* One that finds this name alone. */
const char *sd_finding_search_name(struct sd_finding_case *c, const char *name);
/* "12/34" of a thread, "12" of a process, in the arena; NULL when out of memory. */
const char *sd_finding_thread(struct sd_finding_case *c, sd_track_id t);
/* "sampled " where there is other evidence with stacks; else "". */
const char *sd_finding_verb(const struct sd_finding_case *c);
#endif
