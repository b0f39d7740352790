/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_SECTIONS_PY_PROFILER_H
#define SD_EXT_SECTIONS_PY_PROFILER_H
/* py_profiler: sonde.Profiler, a mapping of names to intervals. */
#include "ext/ext.h"
#include "collect/sections/store.h"

struct sd_py_profiler {
    PyObject_HEAD vectorcallfunc call; /* profiler("name"): the hot door */
    PyObject *weakrefs;
    struct sd_ext *ext; /* lives at least as long as our type */
    struct sd_store store;
    int64_t epoch_ns; /* CLOCK_REALTIME minus CLOCK_MONOTONIC when it was made */
    uint64_t n_lost;  /* intervals for which there was no memory */
    uint8_t kind;     /* enum sd_kind, the default of its sections */
    uint8_t unit;     /* enum sd_size_unit, likewise */
    bool is_disabled;
    bool keeps;           /* false: measures for the capture alone */
    PyObject *unit_given; /* as the caller wrote them: "B", or an enum member */
    PyObject *kind_given;
};

/* A Profiler of the base type with all defaults; NULL with an exception set. */
struct sd_py_profiler *sd_profiler_new(struct sd_ext *ext, unsigned measure,
                                       bool keeps);

/* A name or an alias in any case, as amltk has them; false without an exception. */
bool sd_parse_unit(PyObject *o, uint8_t *unit);
bool sd_parse_kind(PyObject *o, uint8_t *kind);

/* UTF-8 of a str, lone surrogates included, borrowed from `o` or from *owned, which
 * the caller releases.  NULL with an exception set. */
const char *sd_py_section_name_bytes(PyObject *o, Py_ssize_t *n, PyObject **owned);
PyObject *sd_py_section_path_object(const struct sd_entry *e);

/* interval_pickle.c */
PyObject *sd_profiler_reduce(PyObject *self, PyObject *unused);
PyObject *sd_profiler_setstate(PyObject *self, PyObject *state);
/* interval_table.c: rows(), and the columns from which df() is made */
PyObject *sd_profiler_rows(PyObject *self, PyObject *unused);
PyObject *sd_profiler_columns(PyObject *self, PyObject *unused);
/* interval_page.c */
PyObject *sd_profiler_mimebundle(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *sd_profiler_capture(PyObject *self, PyObject *command);
/* arrow.c */
PyObject *sd_profiler_arrow_stream(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *sd_profiler_arrow_schema(PyObject *self, PyObject *unused);
#endif
