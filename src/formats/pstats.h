/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_PSTATS_H
#define SD_FORMATS_PSTATS_H
/* pstats: the file that cProfile and profile write and pstats reads.
 *
 * It is one object of Python's marshal:
 *
 *     { (file, line, name): (primitive, calls, own, total, callers), ... }
 *     callers = { (file, line, name): (calls, primitive, own, total), ... }
 *
 * (the two counts change places between a function and its callers), or of profile.py
 * { (file, line, name): calls, ... }.  Samples (profiling.sampling of CPython 3.15) are
 * written in the latter form, with one more key ("__sampled__",).  Nothing in it names
 * it a pstats file, so it is known by its first bytes.  Reading and writing it needs no
 * Python: of marshal's types only these occur, and objects that were met before are
 * named by their number. */
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/buf.h"
#include "base/out.h"
#include "profile/call_stats.h"

/* Do these bytes begin as such a file does?  A few dozen are enough. */
bool sd_pstats_is(const void *p, size_t n);

/* Reads the file's bytes into fresh stats, and sums them up.  SD_EFORMAT with one
 * sentence for anything else; memory is bounded by the size of the input.  What follows
 * the object is left alone, as marshal does. */
int sd_pstats_read(const void *p, size_t n, struct sd_call_stats *into);
/* The same of a file, whose date and name become the origin, as pstats shows it. */
int sd_pstats_load(const char *path, struct sd_call_stats *into);

/* Adds what pstats shows of a file: its date and its name. */
void sd_pstats_origin(struct sd_buf *to, time_t changed, const char *path, size_t n);

/* Every CPython from 3.4 on reads what this writes. */
int sd_call_stats_write_pstats(const struct sd_call_stats *s, struct sd_out *out);
#endif
