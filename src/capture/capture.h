/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_CAPTURE_H
#define SD_CAPTURE_CAPTURE_H
/* capture: creates x.sonde and x.sonde.live/, seals full halves into compressed chunks
 * while the program runs, and finishes the file.  This is the owner's side.
 *
 * x.sonde is append-only and written by its owner alone: the `sonde` parent, or a
 * process that called sonde.start().  Either side may be killed at any moment. */
#include <stdint.h>

#include "base/file.h"

struct sd_capture;

enum sd_sync { SD_SYNC_OFF, SD_SYNC_SEAL, SD_SYNC_EVERY };

struct sd_capture_options {
    enum sd_create_flags create;
    enum sd_sync sync;
    uint64_t sync_every_ns;
    int zstd_level; /* 0: chunks stay raw */
};

/* Both are made or neither: a bad path is found before anything starts. */
int sd_capture_create(const char *path, const struct sd_capture_options *options,
                      struct sd_capture **out);

/* Absolute name of the live folder, for SONDE_LIVE and sd_writer_join.  Borrowed. */
const char *sd_capture_live_dir(const struct sd_capture *c);

/* Facts that stand in META at the head of the file; before sd_capture_start. */
int sd_capture_meta(struct sd_capture *c, const char *key, const char *value);

/* Seals in a thread of its own until finished (the parent).  Without it nothing is
 * sealed before sd_capture_finish (a process that is its own owner). */
int sd_capture_start(struct sd_capture *c);

/* Without such a thread: one pass, by a thread that nobody else is when it is finished.
 */
void sd_capture_seal(struct sd_capture *c);

struct sd_capture_counts {
    uint64_t events, lost, bytes_raw, bytes_stored;
    int write_error;      /* errno of the first seal that failed, or 0 */
    bool is_at_limit;     /* a file of it came to what files may be here (ulimit -f) */
    uint32_t n_running;   /* other processes that still record when it is finished */
    uint32_t running_pid; /* one of them, or 0 */
};

enum { SD_STATUS_UNKNOWN = INT32_MIN };

/* Seals what every process left, writes END with how the program ended (exit status, or
 * minus the signal) and removes the live folder, unless something in it could not be
 * sealed or a process still writes there: then it stays and readers read it too.  Frees
 * c. */
int sd_capture_finish(struct sd_capture *c, int32_t status,
                      struct sd_capture_counts *counts);

/* Removes the file and the folder (an export was asked for, or nothing ever started).
 */
void sd_capture_abandon(struct sd_capture *c);

/* CPU time of all other processes of this capture, each as far as it was seen: it is
 * looked at four times a second. */
uint64_t sd_capture_cpu_ns(struct sd_capture *c);

/* The largest folded memory mark of a process of this capture (writer.h), or 0. */
uint64_t sd_capture_peak_bytes(struct sd_capture *c, uint32_t pid);
/* Bytes that Sonde itself read and wrote inside that process (writer.h). */
void sd_capture_own_io(struct sd_capture *c, uint32_t pid, uint64_t *read,
                       uint64_t *written);
/* Has any process other than this one joined?  (Did the bootstrap run?) */
int sd_capture_n_joined(struct sd_capture *c);
#endif
