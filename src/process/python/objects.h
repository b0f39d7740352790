/* SPDX-License-Identifier: MIT */
#ifndef SD_PROCESS_PYTHON_OBJECTS_H
#define SD_PROCESS_PYTHON_OBJECTS_H
/* objects: reads Python objects of another process: text, numbers, dicts, attributes.
 *
 * Nothing runs in the process and nothing is held still, so an object can change or go
 * while it is read.  What is read is checked for being possible and bounded; all
 * functions give SD_ETORN or SD_EFORMAT, without a sentence, when it is not, and the
 * caller does without it. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "cpython/layout.h"
#include "process/remote.h"

enum {
    SD_DICT_MAX = 1 << 20, /* entries of a dict; larger ones are not read */
};

/* Adds a str as UTF-8, at most `most` characters of it. */
int sd_object_str(const struct sd_remote *r, const struct sd_layout *l, uint64_t at,
                  size_t most, struct sd_buf *to);
/* An int of 0 to 2^64 - 1. */
int sd_object_u64(const struct sd_remote *r, const struct sd_layout *l, uint64_t at,
                  uint64_t *v);
int sd_object_type(const struct sd_remote *r, const struct sd_layout *l, uint64_t at,
                   uint64_t *type);
/* Name of a type; cut to n - 1 bytes. */
int sd_type_name(const struct sd_remote *r, const struct sd_layout *l, uint64_t type,
                 char *to, size_t n);

/* The entries of a dict, read at once. */
struct sd_dict {             /* all zero is none */
    uint64_t *keys, *values; /* owned, one block; addresses of objects; 0 0: deleted */
    size_t n;
};
int sd_dict_read(struct sd_dict *d, const struct sd_remote *r,
                 const struct sd_layout *l, uint64_t at);
void sd_dict_release(struct sd_dict *d);
/* The value under a key that is an ASCII str; SD_EABSENT when there is none. */
int sd_dict_find(const struct sd_dict *d, const struct sd_remote *r,
                 const struct sd_layout *l, const char *key, uint64_t *value);

/* The attributes of an instance of a Python class, wherever this version keeps them. */
int sd_instance_read(struct sd_dict *d, const struct sd_remote *r,
                     const struct sd_layout *l, uint64_t at);
#endif
