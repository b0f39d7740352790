/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_MARSHAL_H
#define SD_FORMATS_MARSHAL_H
/* marshal: reads Python's marshal format from untrusted bytes.
 *
 * Every object begins with a type byte.  One that carries the flag is remembered under
 * the next number, in the order in which they begin, and may be named by it later.
 * Numbers and names are remembered as such; tuples and dictionaries by where they
 * stand: whoever meets one again reads it again.  All of marshal's versions are read, 0
 * to 5, as far as profilers use them. */
#include <locale.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/intern.h"
#include "profile/call_stats.h"

enum { SD_MARSHAL_FLAG = 0x80 };
#define SD_MARSHAL_NO_REF UINT32_MAX

enum sd_marshal_kind {
    SD_MARSHAL_UNFINISHED, /* of an object that is being read */
    SD_MARSHAL_INT,
    SD_MARSHAL_REAL,
    SD_MARSHAL_STRING,
    SD_MARSHAL_CODE,     /* a code object; `string` is how Python shows it */
    SD_MARSHAL_FUNCTION, /* a tuple (file, line, name); pstats_read.c */
    SD_MARSHAL_OBJECT,   /* another tuple, or a dictionary */
    SD_MARSHAL_OTHER,    /* nothing that we take */
};

struct sd_marshal_value {
    enum sd_marshal_kind kind;
    union {
        int64_t whole;
        double real;
        uint32_t string; /* in the reader's strings */
        sd_function_id function;
        const uint8_t *at; /* the type byte of an object */
    };
};

struct sd_marshal_shape;

struct sd_marshal {
    struct sd_cursor c;
    const uint8_t *start;
    struct sd_intern *strings;     /* borrowed; names go there */
    struct sd_marshal_value *refs; /* owned */
    size_t n_refs, refs_cap;
    bool is_again;      /* an object is read again: its flags were counted before */
    locale_t c_numbers; /* owned; made when numbers are written as text */
    const struct sd_marshal_shape *shape; /* of code objects; NULL: none met yet */
    size_t names_left; /* bytes that names of code objects may still take */
};

void sd_marshal_init(struct sd_marshal *r, const void *p, size_t n,
                     struct sd_intern *strings);
void sd_marshal_release(struct sd_marshal *r);

/* SD_EFORMAT: what was read last is not `what`, or the data end there. */
int sd_marshal_wrong(const struct sd_marshal *r, const char *what);

/* The next type byte without its flag; *slot is where the object is to be remembered.
 */
int sd_marshal_type(struct sd_marshal *r, uint8_t *type, uint32_t *slot);
void sd_marshal_remember(struct sd_marshal *r, uint32_t slot,
                         struct sd_marshal_value value);
/* What the number behind an 'r' stands for. */
int sd_marshal_ref(struct sd_marshal *r, struct sd_marshal_value *out);

/* A number or a name, or a reference to whatever. */
int sd_marshal_plain(struct sd_marshal *r, struct sd_marshal_value *out);
int sd_marshal_count(struct sd_marshal *r, int64_t *out); /* a whole number */
int sd_marshal_name(struct sd_marshal *r, uint32_t *out); /* also of a code object */
#endif
