/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_TEXT_H
#define SD_BASE_TEXT_H
/* text: escapes untrusted text, measures it in terminal columns, parses durations and
 * sizes.
 *
 * Names come from strangers: control bytes, escape sequences and direction
 * overrides are shown as \x1b or \u202e, never sent to the terminal.  Nothing here
 * asks the locale: inside a target it is the target's, and its decimal comma must not
 * get into our files. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* The first character of n > 0 bytes into *code and its length (1 to 4); 0 when they
 * do not begin with well-formed UTF-8. */
size_t sd_text_decode(const char *s, size_t n, uint32_t *code);
/* Control characters, separators of lines, and what turns the direction of text. */
bool sd_text_is_control(uint32_t code);

bool sd_text_ends(const char *s, const char *end); /* "x.onnx" ends ".onnx" */

/* How many of the first n bytes of a longer text, or of one ended by a 0, are whole
 * characters: n, or a little less. */
size_t sd_text_whole(const char *s, size_t n);
/* Adds `s` with everything unprintable escaped.  Bad UTF-8 bytes become \xff.  A
 * backslash stays one: the result is for eyes, not to be read back. */
void sd_text_escape(struct sd_buf *to, const char *s, size_t n);
/* Columns a terminal gives to n bytes of UTF-8 (wide 2, combining 0, a bad byte 1). */
size_t sd_text_width(const char *s, size_t n);
/* How many of the n bytes fit into `columns`.  Never part of a character; what
 * combines with the last one is in. */
size_t sd_text_fit(const char *s, size_t n, size_t columns);
/* The same of the bytes at the end. */
size_t sd_text_fit_end(const char *s, size_t n, size_t columns);

enum { SD_TEXT_MAX = 32 }; /* every number below fits, with its 0 */
char *sd_text_bytes(char out[SD_TEXT_MAX], int64_t bytes); /* "412.0 MiB" */
/* "250 ns", "3.1 ms", "12.4 s", "2m05s", "1h02m", "3d04h" */
char *sd_text_duration(char out[SD_TEXT_MAX], int64_t ns);
char *sd_text_count(char out[SD_TEXT_MAX], int64_t n); /* "1,239" */
/* "512", "9.41K", "11.69M", "1.81G": in thousands, two digits behind the point. */
char *sd_text_scaled(char out[SD_TEXT_MAX], double v);
/* The shortest digits that read back as the same number, with a point: "0.1". */
char *sd_text_real(char out[SD_TEXT_MAX], double v);

/* "100ms", "1.5s", "2m" to nanoseconds (a bare number is seconds); "64KiB", "1.5GB",
 * "100" to bytes (K, M, G, T alone count in 1024s); false when it is neither or too
 * large. */
bool sd_text_parse_duration(const char *s, uint64_t *ns);
bool sd_text_parse_size(const char *s, uint64_t *bytes);
bool sd_text_parse_number(const char *s, uint64_t *n);
#endif
