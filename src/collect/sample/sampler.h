/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SAMPLE_SAMPLER_H
#define SD_COLLECT_SAMPLE_SAMPLER_H
/* sampler: samples a process and all its descendants, round by round.
 *
 * It keeps no time and writes nothing: whoever holds it says when a round is due and
 * gets every stack by a listener.  So `dump` is one round, `top` is rounds that are
 * added up, and the collector is rounds at random times, written into the capture.
 *
 *     struct sd_sampler_options o = { .skips_children = true };
 *     struct sd_listener ear = { .sample = print_it };
 *
 *     rc = sd_sampler_open(&s, pid, &o, SD_SAMPLER_NEEDS_PYTHON);
 *     if (rc == 0)
 *         rc = sd_sampler_round(s, &ear);
 *     sd_sampler_free(s, &ear);
 *
 * A sampler belongs to the thread that made it: it stops threads in its name (pause.h),
 * and has others work for it while it waits (follow.h). */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/sample/counts.h"
#include "collect/sample/sample.h"
#include "process/tree.h"

struct sd_sampler;

enum sd_sampler_open_flags {
    SD_SAMPLER_WAITS = 0,        /* a Python may come later, or never */
    SD_SAMPLER_NEEDS_PYTHON = 1, /* SD_EABSENT, SD_EFORMAT, SD_EACCESS with a sentence
                                    unless the process can be sampled now */
};

/* On success *out is the caller's.  SD_EGONE, SD_EACCESS, SD_EUSAGE with a sentence. */
int sd_sampler_open(struct sd_sampler **out, pid_t root,
                    const struct sd_sampler_options *options,
                    enum sd_sampler_open_flags flags);
/* Ends what the listener keeps of threads, too; it may be NULL.  Free(NULL) is fine. */
void sd_sampler_free(struct sd_sampler *s, const struct sd_listener *listener);

/* One look at every thread of every process.  SD_EGONE, without a sentence, when none
 * of them is left. */
int sd_sampler_round(struct sd_sampler *s, const struct sd_listener *listener);

/* From the next round on. */
void sd_sampler_set_consistency(struct sd_sampler *s, enum sd_consistency how);

/* Ends the threads that read for it and counts their CPU time; a later round would
 * start new ones. */
void sd_sampler_end_reading(struct sd_sampler *s);

/* Nothing was done since the last round, and the programs were stopped: samples do not
 * stand for that time. */
void sd_sampler_skip_time(struct sd_sampler *s);

/* CPU time so far of this thread, which makes the rounds, and of those that read for
 * it. */
uint64_t sd_sampler_cpu_ns(const struct sd_sampler *s);

struct sd_sample_counts *sd_sampler_counts(struct sd_sampler *s);
/* Borrowed until the next round.  Members are never removed. */
const struct sd_tree *sd_sampler_tree(const struct sd_sampler *s);
/* "3.11.7" of the member's Python, or "" when it has none (now). */
const char *sd_sampler_version(const struct sd_sampler *s, size_t member);
/* A sentence about a process that cannot be sampled, each once; NULL: no (more). */
const char *sd_sampler_refusal(struct sd_sampler *s, pid_t *pid);
#endif
