/* SPDX-License-Identifier: MIT */
#include "cpython/compat_heap.h"

#include "collect/heap/object_size.h"

int sd_size_names_init(struct sd_size_names *n)
{
    *n = (struct sd_size_names){ .plain = NULL };
    n->sizeof_name = PyUnicode_InternFromString("__sizeof__");
    n->no_arguments = PyTuple_New(0);
    if (!n->sizeof_name || !n->no_arguments) {
        sd_size_names_release(n);
        return -1;
    }
    n->plain = sd_compat_heap_type_has(&PyBaseObject_Type, n->sizeof_name);
    n->list = sd_compat_heap_type_has(&PyList_Type, n->sizeof_name);
    n->dict = sd_compat_heap_type_has(&PyDict_Type, n->sizeof_name);
    n->set = sd_compat_heap_type_has(&PySet_Type, n->sizeof_name);
    n->frozenset = sd_compat_heap_type_has(&PyFrozenSet_Type, n->sizeof_name);
    n->integer = sd_compat_heap_type_has(&PyLong_Type, n->sizeof_name);
    n->str = sd_compat_heap_type_has(&PyUnicode_Type, n->sizeof_name);
    return 0;
}

void sd_size_names_release(struct sd_size_names *n)
{
    Py_CLEAR(n->sizeof_name);
    Py_CLEAR(n->no_arguments);
}

/* The method of C that answers for this type; NULL: there is none. */
static PyObject *method_of(const struct sd_size_names *n, PyTypeObject *type)
{
    PyObject *mro = type->tp_mro;
    PyObject *found = sd_compat_heap_type_has(type, n->sizeof_name);

    if (found && Py_TYPE(found) == &PyMethodDescr_Type)
        return found;
    for (Py_ssize_t i = 1; mro && PyTuple_CheckExact(mro) && i < PyTuple_GET_SIZE(mro);
         i++) {
        PyTypeObject *base = (PyTypeObject *)PyTuple_GET_ITEM(mro, i);

        found = sd_compat_heap_type_has(base, n->sizeof_name);
        if (found && Py_TYPE(found) == &PyMethodDescr_Type &&
            PyType_IsSubtype(type, ((PyMethodDescrObject *)found)->d_common.d_type))
            return found;
    }
    return NULL;
}

struct sd_size_of_type sd_size_of_type(const struct sd_size_names *n,
                                       PyTypeObject *type)
{
    struct sd_size_of_type how = { .way = SD_SIZE_ZERO };
    PyObject *method = method_of(n, type);

    if (!method)
        return how;
    how.flags = ((PyMethodDescrObject *)method)->d_method->ml_flags;
    how.function = ((PyMethodDescrObject *)method)->d_method->ml_meth;
    how.definer = ((PyMethodDescrObject *)method)->d_common.d_type;
    if (method == n->plain)
        how.way = SD_SIZE_PLAIN;
    else if (method == n->list)
        how.way = SD_SIZE_LIST;
    else if (method == n->dict)
        how.way = SD_SIZE_DICT;
    else if (method == n->set || method == n->frozenset)
        how.way = SD_SIZE_SET;
    else if (method == n->integer && type == &PyLong_Type)
        how.way = SD_SIZE_INT;
    else if (method == n->str && type == &PyUnicode_Type)
        how.way = SD_SIZE_STR;
    else
        how.way = SD_SIZE_CALL;
    return how;
}

/* The ways in which functions of C take arguments, of which there are none here. */
typedef PyObject *(*plain_call)(PyObject *, PyObject *const *, Py_ssize_t);
typedef PyObject *(*call_with_names)(PyObject *, PyObject *const *, Py_ssize_t,
                                     PyObject *);

static size_t call(const struct sd_size_names *n, const struct sd_size_of_type *how,
                   PyObject *o)
{
    void (*function)(void) = (void (*)(void))how->function;
    PyObject *answer = NULL;
    Py_ssize_t size;

    switch (how->flags & ~METH_COEXIST) {
    case METH_NOARGS:
        answer = how->function(o, NULL);
        break;
    case METH_VARARGS:
        answer = how->function(o, n->no_arguments);
        break;
    case METH_VARARGS | METH_KEYWORDS:
        answer = ((PyCFunctionWithKeywords)function)(o, n->no_arguments, NULL);
        break;
    case METH_FASTCALL:
        answer = ((plain_call)function)(o, NULL, 0);
        break;
    case METH_FASTCALL | METH_KEYWORDS:
        answer = ((call_with_names)function)(o, NULL, 0, NULL);
        break;
#ifdef METH_METHOD
    case METH_METHOD | METH_FASTCALL | METH_KEYWORDS:
        answer = ((PyCMethod)function)(o, how->definer, NULL, 0, NULL);
        break;
#endif
    }
    size = answer && PyLong_CheckExact(answer) ? PyLong_AsSsize_t(answer) : 0;
    Py_XDECREF(answer);
    if (PyErr_Occurred())
        PyErr_Clear();
    return size > 0 ? (size_t)size : 0;
}

static size_t plain_size(PyObject *o)
{
    PyTypeObject *type = Py_TYPE(o);
    Py_ssize_t items = type->tp_itemsize ? Py_SIZE(o) : 0;

    return (size_t)(type->tp_basicsize + items * type->tp_itemsize);
}

static size_t set_size(PySetObject *set)
{
    size_t size = (size_t)Py_TYPE(set)->tp_basicsize;

    if (set->table != set->smalltable)
        size += (size_t)(set->mask + 1) * sizeof(setentry);
    return size;
}

size_t sd_object_size(const struct sd_size_names *n, const struct sd_size_of_type *how,
                      PyObject *o)
{
    size_t size = 0;

    switch (how->way) {
    case SD_SIZE_PLAIN:
        size = plain_size(o);
        break;
    case SD_SIZE_LIST:
        size = (size_t)Py_TYPE(o)->tp_basicsize +
               (size_t)((PyListObject *)o)->allocated * sizeof(PyObject *);
        break;
    case SD_SIZE_DICT:
        size = sd_compat_heap_dict_size(o);
        break;
    case SD_SIZE_SET:
        size = set_size((PySetObject *)o);
        break;
    case SD_SIZE_INT:
        size = sd_compat_heap_digits(o) * sizeof(digit);
        size = size ? sd_compat_heap_digits_at() + size : call(n, how, o);
        break;
    case SD_SIZE_STR:
        size = sd_compat_heap_ascii_size(o);
        size = size ? size : call(n, how, o);
        break;
    case SD_SIZE_CALL:
        size = call(n, how, o);
        break;
    case SD_SIZE_ZERO:
        break;
    }
    return size + sd_compat_heap_bytes_in_front(o);
}
