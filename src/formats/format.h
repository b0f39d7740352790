/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_FORMAT_H
#define SD_FORMATS_FORMAT_H
/* format: a file that another program reads or wrote.  One .c each and a line in
 * formats.def; each confesses what it cannot carry. */
#include "base/out.h"
#include "formats/stack_style.h"
#include "profile/events.h"

struct sd_format {
    const char *name;
    const char *suffix; /* ".csv" */
    const char *summary;
    const char *loses;     /* what it cannot carry */
    bool prefers_timeline; /* where calls have one, it is written instead of their paths
                            */
    /* Streams from the capture at `path`, of which `p` is the profile, loaded with the
     * same filter.  One of the two; sd_format_write calls it. */
    int (*write)(const struct sd_profile *p, const char *path,
                 const struct sd_filter *filter, struct sd_out *out);
    int (*write_stacks)(const struct sd_profile *p, const char *path,
                        const struct sd_filter *filter,
                        const struct sd_stack_style *style, struct sd_out *out);
};
extern const struct sd_format *const sd_formats[]; /* ended by NULL */
const struct sd_format *
sd_format_for(const char *path); /* by suffix, longest first; or NULL */
const struct sd_format *sd_format_named(const char *name);
/* `style` may be NULL: the plain one; formats without stacks have none. */
int sd_format_write(const struct sd_format *f, const struct sd_profile *p,
                    const char *path, const struct sd_filter *filter,
                    const struct sd_stack_style *style, struct sd_out *out);
#endif
