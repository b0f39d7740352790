/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_LPROF_H
#define SD_FORMATS_LPROF_H
/* lprof: the file that kernprof and LineProfiler.dump_stats write and line_profiler
 * reads: a pickle of one object, a LineStats with the state
 *
 *     { "timings": { (file, first line, name): [(line, hits, time), ...], ... },
 *       "unit": 1e-09 }                                   seconds of one unit of time
 *
 * It is read as data and never unpickled (pickle.h). */
#include <stdbool.h>
#include <stddef.h>

#include "base/out.h"
#include "profile/lines/line_stats.h"

/* Do these bytes begin as such a file does?  About a hundred are enough. */
bool sd_lprof_is(const void *p, size_t n);

/* Reads the bytes into fresh stats.  SD_EFORMAT with one sentence for anything else;
 * memory is bounded by the size of the input. */
int sd_lprof_read(const void *p, size_t n, struct sd_line_stats *into);
int sd_lprof_load(const char *path, struct sd_line_stats *into);

/* line_profiler 4.1 and later read it, with any Python from 3.8 on. */
int sd_line_stats_write_lprof(const struct sd_line_stats *s, struct sd_out *out);
#endif
