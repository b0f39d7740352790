/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_ENCODING_INFLATE_H
#define SD_BASE_ENCODING_INFLATE_H
/* inflate: decompresses deflate data (RFC 1951).
 *
 * For what lies in archives and is read by an eye: some kilobytes of source.  A library
 * is several times as fast, and would be one more that the extension has to find. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Deflate makes of so many bytes one at most: who says more of his is not believed. */
enum { SD_INFLATE_MOST = 1032 };

/* Fills all n_to bytes.  False: `p` is not that many, deflated. */
bool sd_inflate(const uint8_t *p, size_t n, uint8_t *to, size_t n_to);
#endif
