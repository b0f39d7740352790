/* SPDX-License-Identifier: MIT */
#include "cpython/compat.h"

#include "collect/model/containers.h"

#include <string.h>

static bool is_set(PyObject *o) { return Py_TYPE(o) == &PySet_Type; }

/* Classes of Python's have no dot in the name that C knows them by. */
static bool is_deque(PyObject *o)
{
    return strcmp(Py_TYPE(o)->tp_name, "collections.deque") == 0;
}

/* One that is ordered may have moved some to another place. */
static bool has_own_order(PyObject *dict)
{
    return PyODict_Check(dict) && PyDict_GET_SIZE(dict) > 1;
}

/* As they come when one asks.  A class of the user's is not asked. */
static PyObject *keys_of(PyObject *dict)
{
    PyObject *each, *keys;

    if (!has_own_order(dict))
        return PyDict_Keys(dict);
    each = PyODict_Type.tp_iter(dict);
    keys = each ? PySequence_List(each) : NULL;
    Py_XDECREF(each);
    return keys;
}

/* PyDict_Copy asks a class that has another __iter__ for its keys and values. */
static PyObject *copy_of_dict(PyObject *dict)
{
    PyObject *copy = PyDict_New(), *keys = NULL, *key, *value;
    Py_ssize_t at = 0;
    int rc = copy ? 0 : -1;

    if (has_own_order(dict)) {
        keys = keys_of(dict);
        rc = keys ? rc : -1;
        for (Py_ssize_t i = 0; rc == 0 && i < PyList_GET_SIZE(keys); i++) {
            key = PyList_GET_ITEM(keys, i);
            value = PyDict_GetItemWithError(dict, key);
            rc = value ? PyDict_SetItem(copy, key, value) : PyErr_Occurred() ? -1 : 0;
        }
    } else {
        while (rc == 0 && PyDict_Next(dict, &at, &key, &value))
            rc = PyDict_SetItem(copy, key, value);
    }
    if (rc < 0)
        Py_CLEAR(copy);
    Py_XDECREF(keys);
    return copy;
}

static bool is_list_as_before(PyObject *list, PyObject *copy)
{
    Py_ssize_t n = PyList_GET_SIZE(list);

    if (n != PyList_GET_SIZE(copy))
        return false;
    while (n-- > 0)
        if (PyList_GET_ITEM(list, n) != PyList_GET_ITEM(copy, n))
            return false;
    return true;
}

static void drop_all(PyObject *dict, PyObject *keys)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys); i++) {
        PyObject *key = PyList_GET_ITEM(keys, i);

        if ((PyODict_Check(dict) ? PyODict_DelItem(dict, key)
                                 : PyDict_DelItem(dict, key)) < 0)
            PyErr_Clear();
    }
}

static void put_item(PyObject *dict, PyObject *key, PyObject *value)
{
    if ((PyODict_Check(dict) ? PyODict_SetItem(dict, key, value)
                             : PyDict_SetItem(dict, key, value)) < 0)
        PyErr_Clear();
}

/* The usual case, and of models with many modules most of the time. */
static bool is_dict_as_before(PyObject *dict, PyObject *copy)
{
    PyObject *key, *value, *was_key, *was_value;
    Py_ssize_t at = 0, was_at = 0;

    if (PyDict_GET_SIZE(dict) != PyDict_GET_SIZE(copy) || has_own_order(dict))
        return false;
    while (PyDict_Next(dict, &at, &key, &value))
        if (!PyDict_Next(copy, &was_at, &was_key, &was_value) || key != was_key ||
            value != was_value)
            return false;
    return true;
}

/* Past what a class of the user's does instead: it may refuse.  In the order of before:
 * that of parameters is the one by which states of optimizers are loaded. */
static void put_back_dict(PyObject *dict, PyObject *copy)
{
    PyObject *held, *now, *then, *key, *value;
    Py_ssize_t at = 0;
    bool is_same;

    if (is_dict_as_before(dict, copy))
        return;
    held = copy_of_dict(dict); /* so that nothing ends while it is changed */
    now = keys_of(dict);
    then = keys_of(copy);
    is_same = now && then && is_list_as_before(now, then);
    if (now && !is_same)
        drop_all(dict, now);
    while (PyDict_Next(copy, &at, &key, &value))
        if (!is_same || PyDict_GetItemWithError(dict, key) != value)
            put_item(dict, key, value);
    Py_XDECREF(now);
    Py_XDECREF(then);
    Py_XDECREF(held);
}

static void put_back_set(PyObject *set, PyObject *copy)
{
    PyObject *done;

    if (PyObject_RichCompareBool(set, copy, Py_EQ) == 1)
        return;
    PySet_Clear(set);
    done = PyObject_CallMethod(set, "update", "O", copy);
    Py_XDECREF(done);
}

static void put_back_deque(PyObject *deque, PyObject *copy)
{
    PyObject *now = PySequence_List(deque), *done;

    if (now && !is_list_as_before(now, copy)) {
        done = PyObject_CallMethod(deque, "clear", NULL);
        Py_XDECREF(done);
        done = PyObject_CallMethod(deque, "extend", "O", copy);
        Py_XDECREF(done);
    }
    Py_XDECREF(now);
}

static void put_back_list(PyObject *list, PyObject *copy)
{
    if (!is_list_as_before(list, copy))
        PyList_SetSlice(list, 0, PyList_GET_SIZE(list), copy);
}

bool sd_container_is(PyObject *o)
{
    return (PyDict_Check(o) && PyDict_GET_SIZE(o) < SD_CONTAINER_MOST) ||
           (PyList_Check(o) && PyList_GET_SIZE(o) < SD_CONTAINER_MOST) ||
           (is_set(o) && PySet_GET_SIZE(o) < SD_CONTAINER_MOST) ||
           (is_deque(o) && PyObject_Size(o) < SD_CONTAINER_MOST);
}

PyObject *sd_container_copy(PyObject *o)
{
    if (PyDict_CheckExact(o))
        return PyDict_Copy(o);
    if (PyDict_Check(o))
        return copy_of_dict(o);
    if (PyList_Check(o))
        return PyList_GetSlice(o, 0, PyList_GET_SIZE(o));
    return is_deque(o) ? PySequence_List(o) : PySet_New(o);
}

void sd_container_put_back(PyObject *o, PyObject *copy)
{
    if (PyDict_Check(o))
        put_back_dict(o, copy);
    else if (PyList_Check(o))
        put_back_list(o, copy);
    else if (is_set(o))
        put_back_set(o, copy);
    else
        put_back_deque(o, copy);
    PyErr_Clear();
}
