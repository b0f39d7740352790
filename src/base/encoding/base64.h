/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_ENCODING_BASE64_H
#define SD_BASE_ENCODING_BASE64_H
/* base64: writes bytes as letters (RFC 4648), without line ends. */
#include <stddef.h>

#include "base/out.h"

void sd_base64_write(struct sd_out *out, const void *p, size_t n);
/* How many letters n bytes become. */
static inline size_t sd_base64_size(size_t n) { return (n + 2) / 3 * 4; }
#endif
