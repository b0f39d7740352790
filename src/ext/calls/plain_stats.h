/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_CALLS_PLAIN_STATS_H
#define SD_EXT_CALLS_PLAIN_STATS_H
/* plain_stats: gives results in the form of CPython's pure-Python profiler.
 *
 * Its tables name C functions by their bare name (":0(len)"), count callers as plain
 * numbers, and have the command that was run as a function of its own, which called
 * the rest.  All of it follows from the entries that getstats() gives. */
#include "ext/ext.h"

/* plain_stats(entries, command) -> {(file, line, name): (cc, nc, tt, ct, callers)} */
PyObject *sd_plain_stats(PyObject *module, PyObject *args);
#endif
