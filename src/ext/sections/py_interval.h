/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_SECTIONS_PY_INTERVAL_H
#define SD_EXT_SECTIONS_PY_INTERVAL_H
/* py_interval: the object that profiler["name"] gives: .memory, .time, .io, .network
 * and their figures.
 *
 * Either a view of a row in a Profiler (figures are made when asked for, so that one
 * taken inside its own section fills when that ends), or figures given by hand
 * (interval_values.h).  One C struct serves all five types. */
#include "ext/sections/py_profiler.h"

struct sd_py_interval {
    PyObject_HEAD enum sd_view_kind kind;
    struct sd_ext *ext;          /* lives at least as long as our type */
    struct sd_py_profiler *from; /* owned; NULL: figures given by hand */
    uint32_t row;
    /* By hand, by column; of an Interval, its parts.  Owned; NULL is None. */
    PyObject *figures[SD_N_COLUMNS];
};

extern PyType_Spec sd_view_specs[SD_N_VIEWS];
/* A view of a row; a new reference. */
PyObject *sd_interval_new(struct sd_py_profiler *p, uint32_t row);
/* One without any figures yet. */
struct sd_py_interval *sd_interval_make(struct sd_ext *ext, enum sd_view_kind kind);

/* New references; NULL with an exception set.  Of a column that is its kind's; */
PyObject *sd_interval_figure(struct sd_py_interval *v, enum sd_interval_column c);
/* of any, an Interval's through its parts, None when it has no such; */
PyObject *sd_interval_any_figure(struct sd_py_interval *v, enum sd_interval_column c);
/* and a part of an Interval: memory, time, io or network. */
PyObject *sd_interval_part(struct sd_py_interval *v, enum sd_column_group g);

static inline enum sd_view_kind sd_interval_kind_of(enum sd_column_group g)
{
    return (enum sd_view_kind)(SD_VIEW_MEMORY + (int)g);
}

static inline bool sd_interval_has(enum sd_view_kind kind, enum sd_interval_column c)
{
    return sd_interval_kind_of(sd_columns[c].group) == kind;
}

PyObject *sd_interval_cell_object(struct sd_ext *ext,
                                  struct sd_figure cell); /* words as str */
PyObject *sd_interval_cell_member(struct sd_ext *ext,
                                  struct sd_figure cell); /* words as enum */
#endif
