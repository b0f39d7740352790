/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_RECORD_OUTPUT_NAMES_H
#define SD_CLI_RECORD_OUTPUT_NAMES_H
/* output_names: chooses the name of the capture of a run, and of the file that is made
 * from it. */
#include "base/arena.h"
#include "base/file.h"

struct sd_naming {
    const char *capture; /* the .sonde file */
    const char *export;  /* NULL, or the file -o asked for, made from the capture */
    bool is_chosen;      /* by -o: an existing file is refused, not stepped around */
};

/* With `output` NULL: "<name>.sonde" in the current directory, or the first of
 * "<name>-2.sonde", … that is free. */
int sd_naming_choose(struct sd_arena *a, const char *output, const char *name,
                     enum sd_create_flags create, struct sd_naming *out);
/* The same for a file that is made of the capture, whatever its suffix: the capture
 * stands beside it until then. */
int sd_naming_beside(struct sd_arena *a, const char *output,
                     enum sd_create_flags create, struct sd_naming *out);
/* May `path` be written to?  Refused before anything is recorded. */
int sd_naming_check_free(const char *path, enum sd_create_flags create);
/* The next free name after this one: another run took it in the meantime. */
int sd_naming_next(struct sd_arena *a, const char *name, struct sd_naming *in_out);
#endif
