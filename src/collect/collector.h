/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_COLLECTOR_H
#define SD_COLLECT_COLLECTOR_H
/* collector: the contract between a way of measuring and the rest of Sonde.
 *
 * A collector is a folder here plus a line in collectors.def.  Its about.c says
 * what it is, as plain data, so that the command line, the extension, `sonde
 * collectors` and the manual all read the same words.  The other files do the work. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/option.h"
#include "capture/log.h"

struct sd_writer;

enum sd_collector_place { SD_OUTSIDE, SD_INSIDE, SD_PYTHON };

struct sd_collector_about {
    const char *name;
    enum sd_collector_place place;
    const char *replaces; /* "mprof run" */
    const char *summary;  /* completes "this collector ..." */
    const char *cost;     /* measured, with the bench that measured it */
    const char *blind_to; /* what it cannot see: said before it misleads */
    const struct sd_metric_about *metrics; /* ends with a NULL name */
    const struct sd_option *options;       /* ends with a NULL name */
    /* Refuses values that the kinds of the options allow and the collector cannot use:
     * SD_EUSAGE with a sentence, before anything starts.  NULL: there are none. */
    int (*check)(const struct sd_option_value *values);
    /* Do these values ask for the package's library in LD_PRELOAD?  With it the
     * collector, a PYTHON one, records programs without a Python, too.  NULL: there is
     * none. */
    bool (*preloads)(const struct sd_option_value *values);
};

/* Where a collector runs, and on whom. */
struct sd_collect {
    struct sd_writer *writer; /* borrowed; outlives the collector */
    pid_t root;               /* OUTSIDE: the process watched, with its descendants */
    const struct sd_option_value *options; /* in the order of about->options */
    uint64_t (*folded_peak)(
        void *of, pid_t pid); /* the mark folded by that process's session, or 0 */
    /* Bytes that Sonde itself read and wrote inside that process; may be NULL. */
    void (*own_io)(void *of, pid_t pid, uint64_t *read, uint64_t *written);
    void *of;
};

struct sd_collector {
    const struct sd_collector_about *about;
    /* Starts measuring.  On failure nothing is left running and *state is NULL. */
    int (*start)(const struct sd_collect *how, void **state);
    /* The watched process has ended, or nearly so, and is not waited for yet (waitid
     * with WNOWAIT): the moment for a last reading.  May be NULL. */
    void (*at_end)(void *state);
    /* The program is stopped (Ctrl-Z), and this process is about to stop with it: held;
     * both go on: no longer held.  One thread calls both, in turn, and nothing else in
     * between.  Collectors leave that time out.  May be NULL. */
    void (*hold)(void *state, bool is_held);
    /* Stops, writes what is left and frees `state`.  Accepts NULL. */
    void (*stop)(void *state);
};

/* Every collector of this build, ended by NULL. */
extern const struct sd_collector_about *const sd_abouts[];
/* Those that run outside; of the others inside.h is the contract. */
extern const struct sd_collector *const sd_outside_collectors[];

const struct sd_collector_about *sd_collectors_find(const char *name); /* or NULL */
#endif
