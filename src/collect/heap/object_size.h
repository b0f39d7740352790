/* SPDX-License-Identifier: MIT */
#ifndef SD_HEAP_OBJECT_SIZE_H
#define SD_HEAP_OBJECT_SIZE_H
/* object_size: the size of an object, as sys.getsizeof tells it.
 *
 * Types that have __sizeof__ from object, list, dict, set, int or str are measured
 * here. Of others the C function behind __sizeof__ is called, as the interpreter would.
 * One that is written in Python is code of the program, and is not: the answer is that
 * of the nearest base whose function is C. */
#include "cpython/compat.h"

enum sd_size_way {
    SD_SIZE_PLAIN, /* as object says: the type's own size and that of its items */
    SD_SIZE_LIST,
    SD_SIZE_DICT,
    SD_SIZE_SET,
    SD_SIZE_INT,
    SD_SIZE_STR,
    SD_SIZE_CALL,
    SD_SIZE_ZERO, /* no function of C was found */
};

struct sd_size_of_type {
    enum sd_size_way way;
    int flags; /* of the function: how it is called */
    PyCFunction function;
    PyTypeObject *definer; /* of the function */
};

struct sd_size_names {                    /* what a walk needs; made before it begins */
    PyObject *sizeof_name, *no_arguments; /* references */
    PyObject *plain, *list, *dict, *set, *frozenset, *integer, *str; /* borrowed */
};

/* 0, or -1 with an exception. */
int sd_size_names_init(struct sd_size_names *n);
void sd_size_names_release(struct sd_size_names *n);

struct sd_size_of_type sd_size_of_type(const struct sd_size_names *n,
                                       PyTypeObject *type);
size_t sd_object_size(const struct sd_size_names *n, const struct sd_size_of_type *how,
                      PyObject *o);
#endif
