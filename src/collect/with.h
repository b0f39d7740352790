/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_WITH_H
#define SD_COLLECT_WITH_H
/* with: the text of SONDE_WITH, which tells a process which collectors run inside it,
 * and with which options.
 *
 * "sections:measure=time+peak,calls:builtins=1;nodes=500": a comma stands between
 * collectors and a semicolon between the options of one; options that were not given
 * are left out.  Inside a value a comma is written as a plus, and the other characters
 * with a meaning as %3B.  Options are read by the tables of the collectors
 * (about->options); a name that no table has is skipped, because the run may be of
 * another version. */
#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "collect/collector.h"

/* Appends a collector and those of its options that were given. */
void sd_with_put(struct sd_buf *to, const struct sd_collector_about *about,
                 const struct sd_option_value *values);

/* Is this collector in the text?  NULL is an empty text. */
bool sd_with_has(const char *with, const char *name);

/* Reads the options of a collector into *values, in the order of about->options, with
 * their fallbacks where the text gives none.  Values and their texts live in `keep`.
 * 1: the collector is in the text; 0: it is not, and *values is NULL; negative: a value
 * cannot be read (SD_EUSAGE), or there is no memory. */
int sd_with_read(const char *with, const struct sd_collector_about *about,
                 struct sd_arena *keep, struct sd_option_value **values);
#endif
