/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_TEXT_H
#define SD_BASE_TEXT_H
/* text: what a terminal and a person can read.
 *
 * Names come from strangers: control bytes, escape sequences and direction
 * overrides are shown as \x1b or \u202e, never sent to the terminal. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Adds `s` with everything unprintable escaped.  Bad UTF-8 bytes become \xff. */
void sd_text_escape(struct sd_buf *to, const char *s, size_t n);
/* Columns a terminal gives to n bytes of UTF-8 (wide 2, combining 0). */
size_t sd_text_width(const char *s, size_t n);
/* How many of the n bytes fit into `columns`. */
size_t sd_text_fit(const char *s, size_t n, size_t columns);

enum { SD_TEXT_MAX = 32 }; /* every number below fits, with its 0 */
char *sd_text_bytes(char out[SD_TEXT_MAX], int64_t bytes); /* "412.0 MiB" */
char *sd_text_duration(char out[SD_TEXT_MAX], int64_t ns); /* "12.4 s", "3.1 ms" */
char *sd_text_count(char out[SD_TEXT_MAX], int64_t n);     /* "1,239" */

/* "100ms", "1.5s", "2m" to nanoseconds (a bare number is seconds); "64KiB", "1.5GB",
 * "100" to bytes; false when it is neither. */
bool sd_text_parse_duration(const char *s, uint64_t *ns);
bool sd_text_parse_size(const char *s, uint64_t *bytes);
bool sd_text_parse_number(const char *s, uint64_t *n);
#endif
