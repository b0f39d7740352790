/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_MEMORY_LEFT_H
#define SD_BASE_MEMORY_LEFT_H
/* memory_left: how much memory this process can still allocate: the least of what the
 * machine has available, what its control groups leave, and what its address space
 * limit (RLIMIT_AS) leaves.
 *
 * Linux grants more memory than there is and ends whoever uses it, so that an
 * allocation that succeeds proves nothing.  Who reads a file of unknown content asks
 * here first. */
#include <stdint.h>

/* Bytes; UINT64_MAX where nothing is known.  `root` is put before /proc and /sys: "",
 * but in tests. */
uint64_t sd_memory_left(const char *root);

/* For tests: sd_memory_left says so many bytes; 0: what there is, again. */
void sd_memory_left_pretend(uint64_t bytes);
#endif
