/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_RECORD_RECORDING_H
#define SD_CLI_RECORD_RECORDING_H
/* recording: a capture that outside collectors are filling, whether `run` starts the
 * program or `record` finds it running.
 *
 *     create -> (facts) -> watch -> ... -> at_end -> stop -> finish
 *
 * Before `watch` everything can still be refused; abandon takes it all back. */
#include <stdbool.h>

#include "base/arena.h"
#include "capture/capture.h"
#include "capture/writer.h"
#include "cli/record/run_collectors.h"
#include "cli/record/launch.h"
#include "cli/record/output_names.h"
#include "cli/record/program.h"
#include "collect/sample/collector.h"

struct sd_recording { /* all zero, then command, chosen, create and naming are set */
    const struct sd_command *command; /* borrowed */
    struct sd_arena arena;            /* for all that lives as long; owned */
    struct sd_collector_set chosen;
    struct sd_naming naming;
    enum sd_create_flags create;
    struct sd_capture *capture;
    struct sd_writer *writer;        /* our own way into the capture, or NULL */
    struct sd_sample_result sampled; /* once stopped */
    bool has_sampled;                /* `sample` was one of the collectors */
    bool has_lost;                   /* events, on their way into the file */
    unsigned said_losses; /* kinds of them that were said: profile/losses.h */
    int n_joined;         /* processes that recorded from inside */
    uint32_t n_running;   /* of them, those that went on when it was finished */
    bool has_rest;        /* what did not get into the file stays in the live folder */
};

/* Makes the files of the capture.  A name of our own choosing (after `name`) that
 * somebody else took meanwhile is stepped around. */
int sd_recording_create(struct sd_recording *r, const char *name, const char *sync);
/* Starts the program (`envp` NULL: there was no memory for it).  It is held before its
 * exec while the collectors take up their posts around it. */
int sd_recording_launch(struct sd_recording *r, const struct sd_program *target,
                        char **envp, struct sd_child *child);
/* The collectors take up their posts around this process. */
int sd_recording_watch(struct sd_recording *r, pid_t root);
/* Counts of the collector `sample` so far; 0 when it is none of them. */
uint64_t sd_recording_n_samples(const struct sd_recording *r);
/* Ends the collectors; what they found is in the capture. */
void sd_recording_stop(struct sd_recording *r);
/* Is there next to no room left where the capture stands? */
bool sd_recording_is_disk_full(const struct sd_recording *r);
/* Seals the capture (`status`: how the program ended) and says what was lost. */
void sd_recording_finish(struct sd_recording *r, int32_t status);
/* After another file was made of the finished capture, this one goes, with what of it
 * is in the live folder. */
void sd_recording_discard(const struct sd_recording *r);
/* Says the failure to make that file, and which files still have the recording. */
void sd_recording_say_kept(const struct sd_recording *r);
/* Takes back what was made; the arena stays. */
void sd_recording_abandon(struct sd_recording *r);
/* The largest memory that sections inside that process have seen, or 0. */
uint64_t sd_recording_peak(struct sd_recording *r, pid_t pid);
#endif
