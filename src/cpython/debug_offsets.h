/* SPDX-License-Identifier: MIT */
#ifndef SD_CPYTHON_DEBUG_OFFSETS_H
#define SD_CPYTHON_DEBUG_OFFSETS_H
/* debug_offsets: reads the layout that CPython 3.13 and later publish about themselves.
 *
 * _PyRuntime begins with a cookie, a version and a flag, then words: sizes of
 * structures and offsets of their fields.  Which word stands where changes with every
 * minor version (and once within the betas of 3.15), so each order is a list of its
 * own, told/cp3XX.def. The few fields that are not told stand at a fixed distance from
 * one that is.
 *
 * The words come from a stranger: each offset must lie inside its structure, each size
 * must be one that such a structure can have, and fields that CPython has always kept
 * side by side must be so; otherwise the order is not the one we think it is. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpython/layout.h"

enum { SD_DEBUG_OFFSETS_BYTES = 1024 }; /* of _PyRuntime; all known orders fit */

/* Whether `p` begins with the cookie, and then which version tells. */
bool sd_debug_offsets_version(const uint8_t *p, size_t n, uint32_t *version);
/* SD_EFORMAT, with a sentence, when the order is not known or something does not fit.
 */
int sd_debug_offsets_read(struct sd_layout *out, const uint8_t *p, size_t n);
#endif
