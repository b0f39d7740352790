/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_PY_MEMORY_H
#define SD_EXT_PY_MEMORY_H
/* py_memory: reads how much memory processes hold, now or while something runs. */
#include "ext/ext.h"
#include "process/memory_watch.h"

/* "rss", "pss" or "uss"; false with an exception for other words. */
bool sd_py_memory_kind(const char *word, enum sd_memory_kind *kind);
/* memory_of(pid, kind, has_children) -> bytes or None; kind "rss", "pss" or "uss"; pid
 * 0 is this process. */
PyObject *sd_py_memory_of_process(PyObject *module, PyObject *args);
/* memory_of_children(pid, kind) -> [(pid, bytes), ...] */
PyObject *sd_py_memory_of_children(PyObject *module, PyObject *args);
/* memory_watch(pid, kind, has_children, has_most, interval) -> a watch that reads
 * memory from now on */
PyObject *sd_py_memory_watch(PyObject *module, PyObject *args);
/* memory_watched(watch) -> ([(bytes, time), ...], how many were read); it is stopped */
PyObject *sd_py_memory_watched(PyObject *module, PyObject *watch);
#endif
