/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_ANALYSE_H
#define SD_ANALYSE_ANALYSE_H
/* analyse: questions to a profile.  Each fills tables into a view the caller has zeroed
 * or used before; everything it makes lives in the view's arena. */
#include "analyse/view.h"
#include "profile/profile.h"

/* Sections: one row per path: count, wall (total, share, min, mean, max), then every
 * metric seen, by what it adds up to. */
int sd_analyse_sections(const struct sd_profile *p, struct sd_view *v);
/* The same as a tree of nested sections. */
int sd_analyse_section_tree(const struct sd_profile *p, struct sd_view *v);
/* Processes: one row each and one for the tree: wall, cpu, cpu %, peak, rss and vms
 * max, threads, read, written, received, sent. */
int sd_analyse_processes(const struct sd_profile *p, struct sd_view *v);
/* Readings: one row per series: metric, track, n, min, mean, max, last. */
int sd_analyse_series(const struct sd_profile *p, struct sd_view *v);
/* Curves of one metric ("rss", "vms", "cpu", ...) over time, sections as bands. */
int sd_analyse_curves(const struct sd_profile *p, const char *metric,
                      struct sd_arena *a, struct sd_view_series *out);

/* The figures of run's one-line summary. */
struct sd_summary {
    uint64_t wall_ns, cpu_ns;
    int64_t peak_bytes; /* -1: not known */
    uint32_t n_processes, n_threads;
    uint64_t n_points, n_spans;
};
/* 0 or SD_ENOMEM: then the figures are not to be shown. */
int sd_analyse_summary(const struct sd_profile *p, struct sd_summary *out);
#endif
