/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_ENCODING_CRC_H
#define SD_BASE_ENCODING_CRC_H
/* crc: computes CRC-32C (Castagnoli), with the processor's own instruction where it has
 * one.  Start with 0; feed on with the last result. */
#include <stddef.h>
#include <stdint.h>

uint32_t sd_crc32c(uint32_t crc, const void *p, size_t n);
/* The same without the instruction; for processors that lack it, and for tests. */
uint32_t sd_crc32c_plain(uint32_t crc, const void *p, size_t n);
#endif
