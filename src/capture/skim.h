/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_SKIM_H
#define SD_CAPTURE_SKIM_H
/* skim: when a capture was recorded and how much at each time, from the heads of its
 * chunks alone.
 *
 * A capture of 10 GB takes minutes to read and a fraction of a second to skim, so that
 * something can be shown at once.  It is a first look: checksums are not verified, the
 * live folder is left out, events are spread evenly between the first and the last of
 * their chunk, and chunks whose clock is not CLOCK_MONOTONIC (traced calls over time)
 * count as events without a time. */
#include <stdint.h>

enum { SD_SKIM_SLICES = 2048 };

struct sd_skim {
    uint64_t n_chunks, n_events;
    uint64_t file_bytes;
    uint64_t lasted_ns;            /* from the capture's beginning to the last event */
    uint64_t slice_ns;             /* 1 ms, or that doubled as often as it takes */
    double events[SD_SKIM_SLICES]; /* by slice */
    uint32_t n_slices;
};

/* Does it begin as a capture does?  SD_EFORMAT with a sentence when not, or when that
 * part of it is damaged. */
int sd_skim_check(const char *path);
/* SD_EFORMAT with a sentence when it is no capture.  Of a merged file it is the first
 * capture. */
int sd_skim_file(const char *path, struct sd_skim *s);
#endif
