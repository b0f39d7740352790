/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_SECTIONS_INTERVAL_VALUES_H
#define SD_EXT_SECTIONS_INTERVAL_VALUES_H
/* interval_values: makes intervals whose figures come from a constructor (amltk's
 * from_dict and na) or a pickle, and puts them into the store of a Profiler. */
#include "ext/sections/py_interval.h"

enum { SD_GIVEN_MAX = 7 };

struct sd_given_arguments { /* of a constructor */
    int n, n_needed;
    int columns[SD_GIVEN_MAX]; /* enum sd_interval_column; of an Interval, enum
                                  sd_column_group */
};
extern const struct sd_given_arguments sd_given_arguments[SD_N_VIEWS];
/* Of the ith one. */
const char *sd_given_name(enum sd_view_kind kind, int i);

/* tp_new of all five types. */
PyObject *sd_given_new(PyTypeObject *type, PyObject *args, PyObject *kwargs);
/* _interval(kind, figures): what pickles name. */
PyObject *sd_interval_rebuild(PyObject *module, PyObject *args);
/* Copies an Interval of any origin into a row of `p`: Profiler(profiles={...}).  -1
 * with an exception set. */
int sd_interval_into_row(struct sd_ext *ext, PyObject *interval,
                         struct sd_py_profiler *p, const char *path, size_t n);
#endif
