/* SPDX-License-Identifier: MIT */
#include "cpython/compat.h"

#include "collect/alloc/utf8.h"

#include <string.h>

/* Lone surrogates are how Python carries bytes that are no UTF-8. */
static bool is_byte(Py_UCS4 c) { return c >= 0xdc80 && c <= 0xdcff; }

static size_t put(Py_UCS4 c, char to[4])
{
    size_t n = c < 0x80 || is_byte(c) ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

    if (n == 1) {
        to[0] = (char)c;
        return 1;
    }
    for (size_t i = n; i-- > 1; c >>= 6)
        to[i] = (char)(0x80 | (c & 0x3f));
    to[0] = (char)(c | (n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0));
    return n;
}

size_t sd_utf8_of_str(PyObject *str, char *to, size_t most)
{
    size_t at = 0, n;
    char bytes[4];

    if (!str || !PyUnicode_Check(str) || !PyUnicode_IS_READY(str))
        return 0;
    for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(str); i++) {
        n = put(PyUnicode_READ_CHAR(str, i), bytes);
        if (at + n > most)
            break;
        memcpy(to + at, bytes, n);
        at += n;
    }
    return at;
}
