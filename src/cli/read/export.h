/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_READ_EXPORT_H
#define SD_CLI_READ_EXPORT_H
/* export: writes a file of one kind as another (outputs/inputs.def,
 * outputs/outputs.def), and opens and closes files for those that write. */
#include "base/file.h"
#include "base/out.h"
#include "cli/verb.h"
#include "outputs/inputs.h"

/* Is `to` none of the `n` files that are read?  SD_EUSAGE: overwriting a recording with
 * what was made of it would lose it, whatever --force says. */
int sd_export_check_spares(const char *to, char **files, size_t n);

struct sd_export_request {
    struct sd_output_choice choice;
    const struct sd_stack_style *style; /* which stacks are written and how; NULL: as
                                           the output does by itself */
    enum sd_create_flags create;
    unsigned privacy; /* of a page: enum sd_page_privacy */
    unsigned losses; /* the kinds that are to be said of a capture (profile/losses.h) */
};

/* What --no-source and --share leave out of `output` (NULL: no other file is written);
 * SD_EUSAGE where that is no page. */
int sd_export_privacy(const struct sd_option_value *source,
                      const struct sd_option_value *share,
                      const struct sd_output *output, unsigned *out);

/* Writes it; "-" is stdout.  A file that could not be finished is removed.  1: it is
 * written, and lacks what only the capture has. */
int sd_export(const struct sd_command *c, const struct sd_export_request *request);

/* A file to write to, or stdout for "-"; closed and, after a failure, removed by
 * sd_export_close, which returns `rc` or the failure of the last write.  Only when it
 * is whole does it get its name; a file that is to be overwritten stays until then. */
struct sd_export_file {
    const char *path;
    enum sd_create_flags create;
    char *beside; /* owned; the name meanwhile, or NULL: of stdout */
    int fd;
    struct sd_out out;
};
int sd_export_open(struct sd_export_file *f, const char *path,
                   enum sd_create_flags create);
int sd_export_close(struct sd_export_file *f, int rc);
/* Can it be opened?  For what takes long to make: who asks first has not worked for
 * nothing, and whatever ends us meanwhile leaves no file behind. */
int sd_export_try(const char *path, enum sd_create_flags create);
#endif
