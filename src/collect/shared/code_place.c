/* SPDX-License-Identifier: MIT */
#include "collect/shared/code_place.h"

#include "base/table.h"
#include "cpython/compat.h"

static uint64_t hash_text(PyObject *text, uint64_t seed)
{
    Py_ssize_t n = 0;
    const char *p =
        text && PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, &n) : NULL;

    PyErr_Clear(); /* texts that are no UTF-8 are equal */
    return sd_hash(p ? p : "", p ? (size_t)n : 0, seed);
}

uint64_t sd_code_place(const PyCodeObject *code)
{
    return hash_text(code->co_name,
                     hash_text(code->co_filename, (uint64_t)code->co_firstlineno));
}

uint64_t sd_code_place_of_name(PyObject *name) { return hash_text(name, 0); }
