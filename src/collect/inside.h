/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_INSIDE_H
#define SD_COLLECT_INSIDE_H
/* inside: the contract of a collector that runs in the program that is measured, and
 * the collectors that run in this process now.
 *
 * A collector NAME that collectors.def lists as INSIDE or PYTHON has, besides its
 * about, one `const struct sd_inside sd_inside_NAME`.  The extension and libsonde start
 * and stop all that are listed, without knowing any of them.  Whatever fails is said in
 * the capture: the program runs on.
 *
 * libsonde and the extension may be in one process.  They share nothing, so each starts
 * an INSIDE collector of its own; a PYTHON collector is started once for each process.
 */
#include "collect/collector.h"

struct sd_making;

/* A block of this process (sonde.record): measured beside any number of others, in
 * memory, or into the capture that was joined for it.  All with the interpreter's lock.
 */
struct sd_inside_block {
    /* Begins to measure the calling thread, and those that begin meanwhile, unless the
     * values say otherwise.  On failure, with a sentence or an exception, *state is
     * NULL. */
    int (*begin)(const struct sd_option_value *values, bool in_capture, void **state);
    /* Measures no more; what is open ends. */
    void (*end)(void *state);
    /* Adds what was measured to a capture in the making; not where it went into the
     * capture at once.  After the end. */
    int (*add)(void *state, struct sd_making *to);
    void (*free)(void *state);
    /* These values need a capture that this process has joined.  NULL: none do. */
    bool (*needs_capture)(const struct sd_option_value *values);
};

struct sd_inside {
    const struct sd_collector_about *about;
    /* Starts measuring into the capture that this process has joined (session.h).
     * `values` are in the order of about->options and good until stop.  Negative, with
     * a sentence: nothing was started, and the sentence goes into the capture. */
    int (*start)(const struct sd_option_value *values);
    /* The process ends, in the capture of a run or its own: what is open is closed.
     * PYTHON: the interpreter is gone, its lock too.  May be NULL. */
    void (*at_exit)(void);
    /* The capture is this process's own and is about to be sealed: stops, and writes
     * what is left.  May be NULL. */
    void (*stop)(void);
    /* In a child that os.fork made, before it goes on; the child has its own file in
     * the capture from then on.  Children that C code forks, and collectors that do
     * without it, see sd_session_forks() change.  May be NULL. */
    void (*after_fork)(void);
    /* NULL: a process runs it once at a time, in the capture that it has joined. */
    const struct sd_inside_block *block;
};

/* All of these want the interpreter's lock, where there is an interpreter. */

/* Starts those of `all` (ended by NULL) that SONDE_WITH names and that were not started
 * yet, once this process has joined a capture.  `may` is asked last; NULL: all may.
 * Returns how many were started now. */
size_t sd_inside_start(const struct sd_inside *const *all,
                       bool (*may)(const struct sd_inside *));
/* Starts one of them, as this text (with.h) says, in a capture that this process owns
 * and has joined.  Negative, with a sentence: it was not started. */
int sd_inside_start_one(const struct sd_inside *c, const char *with);
/* Each but start is for those that run, the last first. */
void sd_inside_at_exit(void);
void sd_inside_stop(void);
/* Does one that runs have an after_fork?  Then these two are called around os.fork, the
 * second in the child. */
bool sd_inside_follows_forks(void);
void sd_inside_before_fork(void);
void sd_inside_after_fork(void);
#endif
