/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_MARK_H
#define SD_BASE_MARK_H
/* mark: a fingerprint of a file, its length and a checksum of its bytes, to tell later
 * whether it changed.  Times are not in it: who touches a file has not changed it, and
 * who changes it may put the time back. */
#include <stdbool.h>

enum { SD_MARK_MAX = 40 };

/* "1234 9a0b1c2d".  False: it is no regular file that can be read, or one of more than
 * 64 MiB.  Allocates nothing. */
bool sd_mark_of(const char *path, char to[SD_MARK_MAX]);
#endif
