/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_CALLS_PY_CALL_TABLES_H
#define SD_EXT_CALLS_PY_CALL_TABLES_H
/* py_call_tables: `_sonde.CallStats`, what compat.pstats' Stats keeps its numbers in.
 *
 * Loading, adding, sorting and printing stay in C; the dictionary that pstats calls
 * `stats` is made only when someone looks at it. */
#include "ext/ext.h"
#include "profile/call_stats.h"
#include "report/text/pstats_text.h"

struct sd_py_call_tables {
    PyObject_HEAD struct sd_call_stats stats;
    struct sd_pstats_order order;
    bool is_sorted;
    unsigned n_readers; /* at work: what Python runs meanwhile may not change it */
    size_t widest;      /* label, if Python set it; 0: look */
};

/* --- Between its own files */

static inline struct sd_py_call_tables *sd_py_call_tables_of(PyObject *self)
{
    return (struct sd_py_call_tables *)self;
}

PyObject *sd_py_call_tables_make(PyTypeObject *type);
/* Somebody reads it: true with an exception. */
bool sd_py_call_tables_is_busy(PyObject *self);
void sd_py_call_tables_unsort(struct sd_py_call_tables *t);
/* None, or what the core or Python says. */
PyObject *sd_py_call_tables_done(int rc);

/* Methods. */
PyObject *sd_py_call_tables_load(PyObject *self, PyObject *name);
PyObject *sd_py_call_tables_load_dict(PyObject *self, PyObject *dict);
PyObject *sd_py_call_tables_add(PyObject *self, PyObject *other);
PyObject *sd_py_call_tables_copy(PyObject *self, PyObject *unused);
PyObject *sd_py_call_tables_strip_dirs(PyObject *self, PyObject *unused);
PyObject *sd_py_call_tables_sort(PyObject *self, PyObject *words);
PyObject *sd_py_call_tables_sort_clear(PyObject *self, PyObject *unused);
PyObject *sd_py_call_tables_reverse(PyObject *self, PyObject *unused);
PyObject *sd_py_call_tables_set_order(PyObject *self, PyObject *args);
PyObject *sd_py_call_tables_fcn_list(PyObject *self, PyObject *unused);
PyObject *sd_py_call_tables_keys(PyObject *self, PyObject *unused);
PyObject *sd_py_call_tables_print_stats(PyObject *self, PyObject *args);
PyObject *sd_py_call_tables_print_callers(PyObject *self, PyObject *args);
PyObject *sd_py_call_tables_print_callees(PyObject *self, PyObject *args);
PyObject *sd_py_call_tables_print_list(PyObject *self, PyObject *args);
PyObject *sd_py_call_tables_as_dict(PyObject *self, PyObject *unused);
PyObject *sd_py_call_tables_callees(PyObject *self, PyObject *unused);
PyObject *sd_py_call_tables_dumps(PyObject *self, PyObject *unused);
PyObject *sd_py_call_tables_callgrind(PyObject *self, PyObject *args);
extern PyGetSetDef sd_py_call_tables_values[];

/* --- call_objects.c: the same as Python's objects, and back.  NULL or -1 with an
 * exception set. */

/* A string of Python as the core keeps it: UTF-8, lone surrogates and all.  *owner
 * keeps the bytes. */
const char *sd_py_call_text(PyObject *text, PyObject **owner, size_t *n);
PyObject *sd_py_call_text_object(const char *p, size_t n);
/* (file, line, name) */
PyObject *sd_py_call_key_object(const struct sd_call_function *f);
int sd_py_call_key_read(struct sd_call_stats *s, PyObject *key, sd_function_id *id);
PyObject *sd_py_call_keys_object(const struct sd_call_stats *s,
                                 const sd_function_id *ids, size_t n);
/* {(file, line, name): (primitive, calls, own, total, {caller: ...})} */
PyObject *sd_py_call_dict(const struct sd_call_stats *s);
int sd_py_call_dict_read(struct sd_call_stats *s, PyObject *dict);
/* {(file, line, name): {callee: (calls, primitive, own, total)}} */
PyObject *sd_py_call_callees(const struct sd_call_stats *s);
PyObject *sd_py_call_seconds(double seconds, bool is_whole);
#endif
