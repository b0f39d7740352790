/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_MODEL_PY_MODEL_OBJECTS_H
#define SD_EXT_MODEL_PY_MODEL_OBJECTS_H
/* py_model_objects: converts the parts of a model to Python objects: shapes are tuples,
 * a sum of costs is a dict with a key for each number, a layer a dict that says what
 * and where it is.
 *
 * A number that was not measured is None, never 0: a program that adds up the answers
 * must not take one for the other. */
#include "ext/model/py_model.h"
#include "profile/model/model.h"

struct sd_model_sum;

struct sd_py_model {
    PyObject_HEAD struct sd_model model;
};

/* What a Model holds; `self` is one. */
static inline struct sd_model *sd_py_model_in(PyObject *self)
{
    return &((struct sd_py_model *)self)->model;
}

PyObject *sd_py_model_text(const struct sd_model *m, uint32_t id);
PyObject *sd_py_model_dims(struct sd_dims d);
/* [(shape, dtype), ...] */
PyObject *sd_py_model_operands(const struct sd_operand *all, size_t n);
PyObject *sd_py_model_sum(const struct sd_model_sum *s);

/* Put more keys into a dict; false with an exception. */
bool sd_py_model_sum_put(PyObject *dict, const struct sd_model_sum *s);
bool sd_py_model_layer_put(PyObject *dict, const struct sd_model *m, uint32_t at);

/* Put one thing into a dict or list and take the reference to it; false, with an
 * exception, also when there is none. */
bool sd_py_model_dict_take(PyObject *dict, const char *key, PyObject *value);
bool sd_py_model_list_take(PyObject *list, PyObject *one);

/* --- py_model_costs.c: methods and attributes of a Model that are about costs */

PyObject *sd_ext_model_rows(PyObject *self, PyObject *args);
PyObject *sd_ext_model_columns(PyObject *self, PyObject *args);
PyObject *sd_ext_model_totals(PyObject *self, PyObject *args);
PyObject *sd_ext_model_beyond(PyObject *self, PyObject *args);
PyObject *sd_ext_model_types(PyObject *self, PyObject *args);
PyObject *sd_ext_model_operators(PyObject *self, PyObject *args);
PyObject *sd_ext_model_layers(PyObject *self, PyObject *args);
PyObject *sd_ext_model_fit(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *sd_ext_model_unsupported(PyObject *self, void *unused);
PyObject *sd_ext_model_coverage(PyObject *self, void *unused);
#endif
