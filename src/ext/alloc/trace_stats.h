/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_ALLOC_TRACE_STATS_H
#define SD_EXT_ALLOC_TRACE_STATS_H
/* trace_stats: the loops over traces behind tracemalloc.Snapshot: groups, differences,
 * filters.  The classes whose objects they make are the caller's. */
#include "ext/ext.h"

/* trace_groups(traces, "traceback"|"lineno"|"filename", cumulative, Traceback,
 * Statistic) -> {Traceback: Statistic} */
PyObject *sd_trace_stats_groups(PyObject *module, PyObject *args);
/* trace_differences(old groups, new groups, StatisticDiff) -> list; nothing that is in
 * both is left in the old ones, as in the original */
PyObject *sd_trace_stats_differences(PyObject *module, PyObject *args);
/* trace_sort(list of statistics): the largest first, in place */
PyObject *sd_trace_stats_sort(PyObject *module, PyObject *list);
/* trace_filter(traces, [filters that include], [filters that exclude], Filter) -> list;
 * of any other class than Filter the filter's _match(trace) is called */
PyObject *sd_trace_stats_filter(PyObject *module, PyObject *args);
#endif
