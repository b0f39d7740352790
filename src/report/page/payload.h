/* SPDX-License-Identifier: MIT */
#ifndef SD_REPORT_PAGE_PAYLOAD_H
#define SD_REPORT_PAGE_PAYLOAD_H
/* payload: the data of a page: JSON, and behind it columns of numbers as bytes.
 *
 * A page has texts in dozens and numbers in millions.  The texts are JSON, each name
 * once, in a list at its end; a column of numbers stands in the JSON as the place where
 * its bytes are, so that a browser makes a typed array of them without reading digits.
 * web/README.md describes the bytes.
 *
 * The same input gives the same bytes.  It goes bad instead of failing each time. */
#include <stdint.h>

#include "base/arena.h"
#include "base/encoding/json.h"
#include "base/intern.h"

enum {
    SD_PAYLOAD_NAME = 500, /* bytes of a name; longer ones end in "…" */
    SD_PAYLOAD_CUT = SD_PAYLOAD_NAME + sizeof "…",
};

struct sd_payload {
    struct sd_json j; /* the open object; other members may be written by anyone */
    struct sd_out json;
    struct sd_buf columns;
    struct sd_arena arena;
    struct sd_intern strings;
    int64_t *scratch; /* owned; one column, while it is filled */
    size_t cap_scratch;
    bool bad;
};

enum sd_payload_flags {
    SD_PAYLOAD_PLAIN = 0,
    SD_PAYLOAD_DELTA = 1, /* each is the difference to the one before: for numbers that
                             ascend */
};

/* Begins the object. */
void sd_payload_init(struct sd_payload *p);
/* The name, or where it is too long its beginning, in `cut`. */
const char *sd_payload_cut(const char *name, char cut[SD_PAYLOAD_CUT]);
/* The place of a name in the list of strings. */
uint32_t sd_payload_name(struct sd_payload *p, const char *name);
/* The same plus one, and 0 of NULL. */
uint32_t sd_payload_name_or_0(struct sd_payload *p, const char *name);
/* Room for a column of n numbers, none below 0; NULL when it went bad.  Only the last
 * one is valid. */
int64_t *sd_payload_column(struct sd_payload *p, size_t n);
/* Writes what was filled in: "key": { "at", "n", "as" }. */
void sd_payload_put_column(struct sd_payload *p, const char *key, size_t n,
                           enum sd_payload_flags flags);
/* Any real numbers; NAN is none.  Whole ones take less room. */
void sd_payload_put_reals(struct sd_payload *p, const char *key, const double *reals,
                          size_t n);
/* Ends the object and adds all bytes to `to`.  0 or SD_ENOMEM with its sentence. */
int sd_payload_finish(struct sd_payload *p, struct sd_buf *to);
void sd_payload_release(struct sd_payload *p);
#endif
