/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_ENCODING_JSON_IN_H
#define SD_BASE_ENCODING_JSON_IN_H
/* json_in: reads JSON from untrusted bytes, one token at a time.
 *
 * No tree is made: who reads a header of a hundred megabytes takes in what it wants and
 * skips the rest.  Texts without an escape are borrowed from the input.  After the
 * first byte that is no JSON every token is SD_JSON_BAD, so a reader may ask once, at
 * the end. Text is taken as it stands: it is not checked to be UTF-8. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/encoding/json.h"

enum sd_json_kind {
    SD_JSON_BAD,    /* no JSON from here on, or no memory: sd_json_in_wrong */
    SD_JSON_STOP,   /* the one value has ended, and the input with it */
    SD_JSON_OBJECT, /* one begins; keys and values follow, then a CLOSE */
    SD_JSON_ARRAY,  /* one begins; values follow, then a CLOSE */
    SD_JSON_CLOSE,  /* the innermost of these ends */
    SD_JSON_KEY,    /* `text`; its value is next */
    SD_JSON_TEXT,   /* `text` */
    SD_JSON_WHOLE,  /* a number without fraction or exponent that fits: `whole` */
    SD_JSON_REAL,   /* any other number: `real`, to about 15 digits */
    SD_JSON_TRUE,
    SD_JSON_FALSE,
    SD_JSON_NULL,
};

struct sd_json_in {
    const char *start, *at, *end; /* borrowed */
    enum sd_json_kind kind;       /* of the last token */
    const char *text;             /* of a KEY or TEXT, until the next token; no 0 */
    size_t n;
    int64_t whole;
    double real;
    struct sd_buf unescaped; /* where a text with escapes is put together */
    int depth;
    bool is_object[SD_JSON_DEPTH + 1]; /* of each open level */
    bool has_item;                     /* the innermost level has one */
    bool wants_value;                  /* a key was given */
};

void sd_json_in_init(struct sd_json_in *j, const void *p, size_t n);
void sd_json_in_release(struct sd_json_in *j);
enum sd_json_kind sd_json_in_next(struct sd_json_in *j);
/* After the first token of a value: passes over the rest of it. */
void sd_json_in_skip(struct sd_json_in *j);
/* Is the text of the last token this? */
bool sd_json_in_is(const struct sd_json_in *j, const char *text);
/* SD_EFORMAT (or SD_ENOMEM): "<what> is not valid JSON at byte N". */
int sd_json_in_wrong(const struct sd_json_in *j, const char *what);
#endif
