/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_TIME_TIME_FILE_H
#define SD_CLI_TIME_TIME_FILE_H
/* time_file: the file that `sonde time -o` writes: a capture, a picture of the growth,
 * or what is made of a capture. */
#include "cli/time/time_request.h"
#include "profile/time/timings.h"

/* Can it be written?  Asked before anything is measured.  SD_EUSAGE. */
int sd_time_file_check(const struct sd_time_ask *ask);
int sd_time_file_write(const struct sd_time_ask *ask, const struct sd_timings *t);
#endif
