/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_PICKLE_H
#define SD_FORMATS_PICKLE_H
/* pickle: reads the data in an untrusted pickle, without running it.
 *
 * A pickle is a program for a small machine with a stack, and unpickling runs it: it
 * may import any module and call anything.  Here nothing is imported, called or made:
 * a class is only its name, and an object only its class, what it was made from and its
 * state.  So a file from a stranger can be read as data, without Python.
 *
 * The result is a graph of values, in which one may be met many times, and lists and
 * dictionaries may hold themselves: who walks it bounds its way.  Memory is bounded by
 * the size of the input.  Protocols 2 to 5, as far as plain data go. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

enum sd_pickle_kind {
    SD_PICKLE_NONE,
    SD_PICKLE_BOOL, /* `whole` is 0 or 1 */
    SD_PICKLE_INT,
    SD_PICKLE_REAL,
    SD_PICKLE_TEXT,   /* UTF-8, also of bytes */
    SD_PICKLE_TUPLE,  /* items */
    SD_PICKLE_LIST,   /* items */
    SD_PICKLE_DICT,   /* items: key, value, key, value, ... */
    SD_PICKLE_CLASS,  /* `text` is "module.name" */
    SD_PICKLE_OBJECT, /* items: class, arguments, and perhaps its state */
};

struct sd_pickle_item {
    const struct sd_pickle_value *value;
    struct sd_pickle_item *next;
};

struct sd_pickle_value {
    enum sd_pickle_kind kind;
    union {
        int64_t whole;
        double real;
        struct {
            const char *p; /* in the arena or the input */
            size_t n;
        } text;
        struct {
            struct sd_pickle_item *first, *last;
            size_t n;
        } items;
    };
};

/* Does it begin as a pickle of protocol 2 or later does? */
bool sd_pickle_is(const void *p, size_t n);
/* The value that the pickle makes; it lives in the arena and borrows from the input.
 * SD_EFORMAT with one sentence for what is none, is cut, or holds more than data. */
int sd_pickle_read(const void *p, size_t n, struct sd_arena *arena,
                   const struct sd_pickle_value **out);
/* The value of this key, the last where there are several; NULL: it has none. */
const struct sd_pickle_value *sd_pickle_get(const struct sd_pickle_value *dict,
                                            const char *key);
#endif
