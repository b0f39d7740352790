/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_INTERVAL_H
#define SD_EXT_INTERVAL_H
/* interval: what profiler["name"] gives: .memory, .time, .io, .network and their
 * figures.
 *
 * Either a view of a row in a Profiler (figures are made when asked for, so that one
 * taken inside its own section fills when that ends), or figures given by hand, as
 * amltk's from_dict and na do.  One C struct serves all five types. */
#include "ext/profiler.h"

extern PyType_Spec sd_view_specs[SD_N_VIEWS];
/* A view of a row; a new reference. */
PyObject *sd_interval_new(struct sd_profiler *p, uint32_t row);
/* Copies an Interval of any origin into a row of `p`.  -1 with an exception set. */
int sd_interval_into_row(struct sd_ext *ext, PyObject *interval, struct sd_profiler *p,
                         const char *path, size_t n);
/* _interval(kind, figures): what pickles name. */
PyObject *sd_interval_rebuild(PyObject *module, PyObject *args);

PyObject *sd_cell_object(struct sd_ext *ext, struct sd_cell cell); /* words as str */
PyObject *sd_cell_member(struct sd_ext *ext, struct sd_cell cell); /* words as enum */
#endif
