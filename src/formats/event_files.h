/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_EVENT_FILES_H
#define SD_FORMATS_EVENT_FILES_H
/* event_files: write every event of a capture as a row of CSV, or as JSON. */
#include "formats/output.h"

int sd_csv_write_events(const struct sd_output_job *job, struct sd_out *out);
int sd_json_write_events(const struct sd_output_job *job, struct sd_out *out);
#endif
