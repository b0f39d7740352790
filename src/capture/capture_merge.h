/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_CAPTURE_MERGE_H
#define SD_CAPTURE_CAPTURE_MERGE_H
/* capture_merge: puts several captures into one file.
 *
 * They stand one behind the other, each with its own preamble, salt, facts and end:
 * what a pid, a clock or an id means is said within one capture, and stays said.  A
 * merged file can be merged again, which gives the same as merging all at once; a
 * capture that comes twice is kept once.  Chunks are sealed anew on the way, so a live
 * folder's go into the file; what was missing of a capture is missing here, and is said
 * again. */
#include <stdbool.h>

#include "base/file.h"
#include "capture/reader.h"

struct sd_capture_merge;

int sd_capture_merge_create(const char *path, enum sd_create_flags create,
                            struct sd_capture_merge **out);
/* Adds what the reader has (one capture; its file may hold more).  *is_new is false
 * when that one is there already. */
int sd_capture_merge_add(struct sd_capture_merge *m, struct sd_reader *r, bool *is_new);
/* Completes the file, or removes it and says why.  Frees m. */
int sd_capture_merge_finish(struct sd_capture_merge *m);
/* Removes what was written, after sd_capture_merge_add has failed; a file that was to
 * be overwritten stays.  Frees m. */
void sd_capture_merge_abandon(struct sd_capture_merge *m);
#endif
