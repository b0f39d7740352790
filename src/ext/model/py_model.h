/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_MODEL_PY_MODEL_H
#define SD_EXT_MODEL_PY_MODEL_H
/* py_model: `_sonde.Model`, a neural network with the operators that ran, and the
 * questions to it; and `_sonde.ModelRun`, the body of the mode of torch that fills one
 * (collect/model/model_pass.h).  What sonde.model is made of. */
#include "ext/ext.h"

struct sd_model;

/* A Model without anything in it; a new reference, or NULL with an exception. */
PyObject *sd_py_model_new(PyTypeObject *type);
/* What it holds, borrowed; NULL with an exception when `o` is none. */
struct sd_model *sd_py_model_of(PyTypeObject *type, PyObject *o);

/* {name: definition} of the ways of counting. */
PyObject *sd_ext_count_modes(PyObject *module, PyObject *unused);
PyObject *sd_ext_count_is_of_modules(PyObject *module, PyObject *name);
#endif
