/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_EXPORT_H
#define SD_CLI_EXPORT_H
/* export: makes of a capture the file that a suffix asks for: another tool's format
 * (formats.def) or a picture of its readings over time. */
#include "base/file.h"
#include "base/out.h"
#include "profile/profile.h"

/* Is there anything that makes such a file?  SD_EUSAGE with a sentence that lists the
 * suffixes, after those that the caller takes `also` (".sonde, " or ""). */
int sd_export_check(const char *path, const char *also);

/* Writes it.  `format` is a name from formats.def, or NULL to go by the suffix of
 * `to`; "-" is stdout.  A file that could not be finished is removed. */
int sd_export(const char *capture, const char *to, const char *format,
              enum sd_create_flags create);

/* A file to write to, or stdout for "-"; closed and, after a failure, removed by
 * sd_export_close, which returns `rc` or the failure of the last write. */
struct sd_export_file {
    const char *path;
    int fd;
    struct sd_out out;
};
int sd_export_open(struct sd_export_file *f, const char *path,
                   enum sd_create_flags create);
int sd_export_close(struct sd_export_file *f, int rc);

/* A picture of one metric over time. */
struct sd_plot_wish {
    const char *metric;
    unsigned width, height;
};
int sd_export_plot(const struct sd_profile *p, const struct sd_plot_wish *wish,
                   const char *path, struct sd_out *out);
#endif
