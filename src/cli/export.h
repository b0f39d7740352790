/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_EXPORT_H
#define SD_CLI_EXPORT_H
/* export: makes of a capture the file that a suffix asks for (report/outputs.def):
 * another tool's format (formats.def), a picture, or the tables as text. */
#include "analyse/analyse.h"
#include "analyse/traced.h"
#include "base/file.h"
#include "base/out.h"
#include "cli/verb.h"
#include "formats/stack_style.h"
#include "profile/profile.h"

/* Is there anything that makes such a file?  SD_EUSAGE with a sentence that lists the
 * suffixes, after those that the caller takes `also` (".sonde, " or ""). */
int sd_export_check(const char *path, const char *also);

/* Is this a name of formats.def or a word of py-spy for one (raw, gecko, flamegraph)?
 * SD_EUSAGE with a sentence that lists them. */
int sd_export_check_format(const char *word);

/* Is `to` none of the `n` files that are read?  SD_EUSAGE: overwriting a recording with
 * what was made of it would lose it, whatever --force says. */
int sd_export_check_spares(const char *to, char **files, size_t n);

/* Writes it: an .svg of a capture with samples is their flame graph.  `format` is such
 * a word, or NULL to go by the suffix of `to`; "-" is stdout.  `style` says which
 * stacks are written and how, NULL: as the format does without being told.  A file that
 * could not be finished is removed.  `losses`: the kinds that are to be said of the
 * capture (losses.h).  1: it is written, and lacks what only the capture has. */
int sd_export(const struct sd_command *c, const char *capture, const char *to,
              const char *format, const struct sd_stack_style *style,
              enum sd_create_flags create, unsigned losses);

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

/* A picture of one metric over time. */
struct sd_plot_wish {
    const char *metric;
    unsigned width, height;
};
int sd_export_plot(const struct sd_profile *p, const struct sd_plot_wish *wish,
                   const char *path, struct sd_out *out);
/* How the time of functions grows with size; `match`: of those that match, or NULL. */
struct sd_growth_wish {
    const struct sd_matcher *match;
    unsigned width;
};
int sd_export_growth(const struct sd_profile *p, const struct sd_traced_wish *traced,
                     const struct sd_growth_wish *wish, const char *path,
                     struct sd_out *out);
/* The samples as a flame graph, an SVG file. */
int sd_export_flame(const struct sd_profile *p, const struct sd_flame_wish *wish,
                    unsigned width, struct sd_out *out);
#endif
