/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_PATH_H
#define SD_CLI_PATH_H
/* path: small functions on file names. */
#include <stdbool.h>

#include "base/arena.h"

/* "dir/train.py" gives "train.py". */
const char *sd_path_base(const char *path);
bool sd_path_exists(const char *path); /* also a link to nowhere */
bool sd_path_is_dir(const char *path);
bool sd_path_is_regular(const char *path); /* a link is not */
bool sd_path_is_program(const char *path); /* a file that may be executed */
bool sd_path_is_script(const char *path);  /* begins with "#!" */
bool sd_path_has_suffix(const char *path, const char *suffix);
/* Where the shell would find this program: itself when there is a '/' in it, else the
 * first of that name on PATH; NULL when there is none.  In the arena. */
const char *sd_path_find_program(struct sd_arena *a, const char *name);
/* Makes a folder of temporary files, "TMPDIR/NAME-XXXXXX", that nobody else can read.
 */
int sd_path_new_folder(struct sd_arena *a, const char *name, char **out);
#endif
