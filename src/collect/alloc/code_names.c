/* SPDX-License-Identifier: MIT */
#include "cpython/compat.h"

#include "collect/alloc/code_names.h"

#include <string.h>

#include "collect/alloc/stacks.h"
#include "collect/alloc/utf8.h"
#include "collect/shared/source_name.h"

static size_t file_name(PyObject *str, char to[PATH_MAX])
{
    char whole[PATH_MAX];
    size_t n = sd_utf8_of_str(str, to, PATH_MAX - 1);

    to[n] = '\0';
    if (n && sd_source_name_whole(to, whole)) {
        n = strlen(whole);
        memcpy(to, whole, n);
    }
    return n;
}

void sd_code_name(const void *of, struct sd_alloc_code_name *name)
{
    PyCodeObject *code = (PyCodeObject *)(uintptr_t)of;
    PyObject *qualname = sd_compat_code_qualname(code);

    name->name_n = sd_utf8_of_str(code->co_name, name->name, sizeof name->name);
    name->qualname_n =
        qualname ? sd_utf8_of_str(qualname, name->qualname, sizeof name->qualname) : 0;
    name->file_n = file_name(code->co_filename, name->file);
    name->line = (uint32_t)code->co_firstlineno;
}
