/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SESSION_H
#define SD_COLLECT_SESSION_H
/* session: what a process has only one of.
 *
 * The writer into the capture, if there is one; and the high-water mark of memory,
 * which the kernel keeps once per process.  A section that asks for its peak resets
 * that mark; so before each reset the old mark is folded into every open region and
 * into the process's own peak, and each region's peak comes out true however they nest
 * or overlap in threads.  Later collectors hang what else is single on it: the
 * monitoring tool id, the eval-frame hook. */
#include <stdbool.h>
#include <stdint.h>

struct sd_writer;
struct sd_log;

/* Joins the capture named by SONDE_LIVE, if set, once per process; cheap when done.
 * Without one nothing is written and results live in memory only. */
void sd_session_join_from_env(void);
/* Joins the capture of this live folder (sonde.start).  SD_EEXISTS when one is joined
 * already. */
int sd_session_join(const char *live_dir);
void sd_session_leave(void);
bool sd_session_has_capture(void);
/* This thread's log into the capture, or NULL. */
struct sd_log *sd_session_log(void);

/* A region of time whose memory peak is asked for.  The caller owns the struct; it
 * is linked into the session between open and close. */
struct sd_peak_region {
    struct sd_peak_region *prev, *next;
    int64_t peak_bytes; /* largest folded so far */
};
void sd_peak_open(struct sd_peak_region *r);
/* The largest RSS of the process while the region was open, or -1 where the mark cannot
 * be reset. */
int64_t sd_peak_close(struct sd_peak_region *r);
/* The process's own peak, resets notwithstanding. */
int64_t sd_peak_of_process(void);
#endif
