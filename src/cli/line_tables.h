/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_LINE_TABLES_H
#define SD_CLI_LINE_TABLES_H
/* line_tables: lines as line_profiler prints them, or as CSV and JSON. */
#include <stdbool.h>
#include <stddef.h>

#include "base/file.h"
#include "base/out.h"
#include "cli/lined.h"
#include "profile/profile.h"
#include "report/text/line_text.h"

int sd_line_tables(const struct sd_line_stats *s, enum sd_line_form form,
                   const struct sd_line_text_wish *wish, struct sd_out *out);

/* Is this a file of line_profiler, by its first bytes?  "-" is stdin, when that is a
 * file. */
bool sd_line_file_is(const char *path);
/* All these, added up as line_profiler's load_stats does. */
int sd_line_files_load(char *const *files, size_t n, struct sd_line_stats *into);
/* Writes such a file as another: .lprof, .csv, .json, .txt; `format` is the word for
 * it, or NULL to go by the suffix.  SD_EUSAGE for what needs more. */
int sd_line_file_convert(char *file, const char *to, const char *format,
                         enum sd_create_flags create);
/* The lines of a capture, as such a file.  SD_EABSENT when none was counted. */
int sd_line_tables_put_lprof(const struct sd_profile *p, struct sd_out *out);
#endif
