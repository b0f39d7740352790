/* SPDX-License-Identifier: MIT */
#include "cpython/compat.h"

#include "collect/heap/short_text.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { KEPT = 40 };

static size_t put_character(Py_UCS4 c, char *to)
{
    if (sd_text_is_control(c) || (c >= 0xD800 && c < 0xE000))
        c = '?'; /* also half a character */
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (char)(0xC0 | c >> 6);
        to[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        to[0] = (char)(0xE0 | c >> 12);
        to[1] = (char)(0x80 | (c >> 6 & 63));
        to[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    to[0] = (char)(0xF0 | c >> 18);
    to[1] = (char)(0x80 | (c >> 12 & 63));
    to[2] = (char)(0x80 | (c >> 6 & 63));
    to[3] = (char)(0x80 | (c & 63));
    return 4;
}

size_t sd_short_text_of_str(PyObject *str, char to[SD_SHORT_TEXT])
{
    size_t n = 0;
    Py_ssize_t length, i;

    to[0] = 0;
    if (!PyUnicode_Check(str) || !PyUnicode_IS_READY(str))
        return 0;
    length = PyUnicode_GET_LENGTH(str);
    for (i = 0; i < length && n + 4 <= KEPT; i++)
        n += put_character(PyUnicode_READ_CHAR(str, i), to + n);
    if (i < length) {
        memcpy(to + n, "...", 3);
        n += 3;
    }
    to[n] = 0;
    return n;
}

size_t sd_short_text_of_key(PyObject *key, char to[SD_SHORT_TEXT])
{
    int n, overflow = 0;

    if (PyUnicode_Check(key))
        return sd_short_text_of_str(key, to);
    if (key == Py_None || key == Py_True || key == Py_False) {
        n = snprintf(to, SD_SHORT_TEXT, "%s",
                     key == Py_None   ? "None"
                     : key == Py_True ? "True"
                                      : "False");
    } else if (PyLong_CheckExact(key)) {
        long long v = PyLong_AsLongLongAndOverflow(key, &overflow);

        n = snprintf(to, SD_SHORT_TEXT, overflow ? "<int>" : "%lld", v);
    } else if (PyFloat_CheckExact(key)) {
        n = snprintf(to, SD_SHORT_TEXT, "%.15g", PyFloat_AS_DOUBLE(key));
    } else {
        n = snprintf(to, SD_SHORT_TEXT, "<%.40s>", Py_TYPE(key)->tp_name);
    }
    return n > 0 && n < SD_SHORT_TEXT ? (size_t)n : strlen(to);
}
