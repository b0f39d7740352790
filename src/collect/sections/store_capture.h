/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SECTIONS_STORE_CAPTURE_H
#define SD_COLLECT_SECTIONS_STORE_CAPTURE_H
/* store_capture: makes a capture of the rows that a store keeps, as `sections` would
 * have written it.
 *
 * An interval that is still open ends now, and is marked as unfinished.  Of one that
 * came from elsewhere it may not be known when it was (figures given by hand, CPU
 * seconds of a pickle): it is left out, and a note of the capture says how many are. */
#include "base/buf.h"
#include "collect/sections/store.h"

/* Adds the bytes of a .sonde file; `command`, what was run, or NULL.  `epoch_ns` is
 * that of the rows.  0 or SD_ENOMEM. */
int sd_store_as_capture(const struct sd_store *s, int64_t epoch_ns, const char *command,
                        struct sd_buf *to);
#endif
