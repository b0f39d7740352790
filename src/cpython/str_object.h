/* SPDX-License-Identifier: MIT */
#ifndef SD_CPYTHON_STR_OBJECT_H
#define SD_CPYTHON_STR_OBJECT_H
/* str_object: reads a str object and converts it to UTF-8.
 *
 * A str is a header, then its characters in the narrowest of 1, 2 or 4 bytes each. Only
 * compact strings are read: all names and file names that the compiler makes are. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "cpython/layout.h"

enum { SD_STR_HEADER = 96 }; /* str_size of every version is at most this */

struct sd_str {
    uint32_t data;   /* where the characters begin, from the start of the object */
    uint32_t width;  /* bytes of a character: 1, 2, 4 */
    uint64_t length; /* in characters */
    bool is_ascii;
};

/* Newer CPythons keep the kind at another bit of str_state, and not every build of a
 * version at the same.  Learns it from any str: false when this is none. */
bool sd_str_learn(struct sd_layout *l, const uint8_t *header);
/* Understands the header, of which layout->str_size bytes are there.  SD_EFORMAT,
 * without a sentence, when it is no compact str. */
int sd_str_parse(const struct sd_layout *l, const uint8_t *header, struct sd_str *out);
/* Adds n characters as UTF-8.  What Unicode forbids becomes U+FFFD; lone surrogates,
 * with which Python carries undecodable bytes of file names, become those bytes again.
 */
void sd_str_utf8(struct sd_buf *to, const struct sd_str *s, const uint8_t *p, size_t n);
#endif
