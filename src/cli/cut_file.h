/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_CUT_FILE_H
#define SD_CLI_CUT_FILE_H
/* cut_file: keeps the program alive when a file that it has mapped is cut short.
 *
 * Libraries of a program are mapped to be searched for symbols, hundreds of megabytes
 * of them, and whoever installs a new version over the old one cuts it short for a
 * moment: what is beyond its end is then a SIGBUS.  In place of the missing page one of
 * zeros is put, and who reads it finds a damaged file, which all readers are made for.
 *
 * Only pages of private read-only mappings are mended: what is lost of a file that is
 * written to (the live regions of a capture) must not go unnoticed. */
#include <signal.h>
#include <stdbool.h>

/* For the life of the program; threads that block SIGBUS die of it all the same. */
void sd_cut_file_watch(void);
/* For other handlers of SIGBUS: whether that was the reason, and reading can go on. */
bool sd_cut_file_mend(const siginfo_t *info);
#endif
