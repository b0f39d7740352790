/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_PROCESS_RECORDING_H
#define SD_ALLOC_PROCESS_RECORDING_H
/* process_recording: begins and ends the recording of this process: everything that
 * needs no interpreter. */
#include "base/option.h"

/* Into the capture that this process has joined; values as in options.h.  0, or
 * negative with a sentence: nothing is recorded. */
int sd_process_recording_begin(const struct sd_option_value *values);
/* Does nothing where nothing is recorded. */
void sd_process_recording_end(void);
#endif
