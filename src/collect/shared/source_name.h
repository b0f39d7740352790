/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SHARED_SOURCE_NAME_H
#define SD_COLLECT_SHARED_SOURCE_NAME_H
/* source_name: makes the file name of a code object absolute.
 *
 * Before 3.9 the interpreter keeps the name of a script as it was typed.  Who reads a
 * capture is elsewhere, and who names a file by its whole path means that script, too:
 * so a name that was meant from the folder in which the process began is made whole. */
#include <limits.h>
#include <stdbool.h>

/* The process is in the folder from which names are meant; the first time counts. */
void sd_source_name_begins(void);
/* Makes a name whole that is not, if there is such a file.  False: it stays as it is.
 */
bool sd_source_name_whole(const char *name, char whole[PATH_MAX]);
/* The shortest name of the same file, without "." and ".." and doubled slashes, as who
 * types it would.  False: it is that already, or another file (a link stands before a
 * ".."). */
bool sd_source_name_plain(const char *name, char plain[PATH_MAX]);
#endif
