/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_ENCODING_JSON_H
#define SD_BASE_ENCODING_JSON_H
/* json: writes JSON as a stream, without a tree in memory.  Commas, quotes and escapes
 * are its business; nesting is asserted.  Several values at the top are one per line;
 * the last line's end is the caller's.  Text that is not UTF-8 comes out with U+FFFD in
 * place of each bad byte; '<' is written \u003c, so that the result may stand inside a
 * <script>, unless it is told to keep it. */
#include <stdbool.h>
#include <stdint.h>

#include "base/out.h"

enum { SD_JSON_DEPTH = 64 };

struct sd_json {
    struct sd_out *out; /* borrowed */
    bool pretty;        /* two spaces per level */
    bool keeps_less;    /* '<' stays: for readers that do not know \u, not for pages */
    int depth;
    bool has_items[SD_JSON_DEPTH];
    char closers[SD_JSON_DEPTH]; /* of each open level; [0] is the top, with none */
    bool after_key;
};

void sd_json_init(struct sd_json *j, struct sd_out *out, bool pretty);
void sd_json_object(struct sd_json *j); /* { */
void sd_json_array(struct sd_json *j);  /* [ */
void sd_json_end(struct sd_json *j);    /* closes the innermost */
void sd_json_key(struct sd_json *j, const char *key);
void sd_json_text(struct sd_json *j, const char *s, size_t n);
void sd_json_string(struct sd_json *j, const char *s); /* NULL is null */
void sd_json_int(struct sd_json *j, int64_t v);
void sd_json_uint(struct sd_json *j, uint64_t v);
void sd_json_real(struct sd_json *j, double v); /* not finite: null */
void sd_json_bool(struct sd_json *j, bool v);
void sd_json_null(struct sd_json *j);

/* The next item of an array, or value of a key: its text is written by the caller. */
void sd_json_item(struct sd_json *j);

/* A member of an object: its key and its value. */
void sd_json_key_string(struct sd_json *j, const char *key, const char *s);
void sd_json_key_int(struct sd_json *j, const char *key, int64_t v);
void sd_json_key_uint(struct sd_json *j, const char *key, uint64_t v);
void sd_json_key_real(struct sd_json *j, const char *key, double v);
void sd_json_key_bool(struct sd_json *j, const char *key, bool v);
void sd_json_key_object(struct sd_json *j, const char *key); /* begins one */
void sd_json_key_array(struct sd_json *j, const char *key);
#endif
