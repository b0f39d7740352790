/* SPDX-License-Identifier: MIT */
#ifndef SD_OUTPUTS_CAPTURES_H
#define SD_OUTPUTS_CAPTURES_H
/* captures: loads several captures as one profile, or copies them into one file. */
#include "capture/capture_merge.h"
#include "capture/reader.h"
#include "outputs/remarks.h"
#include "profile/profile.h"

struct sd_model_request;

/* stdin as a file that can be looked at twice and be opened by this name, whether it is
 * one or a pipe. */
#define SD_STDIN "/dev/stdin"
int sd_stdin_keep(void);

/* Called before and after each capture is read; for a progress line. */
struct sd_load_watch {
    void (*begin)(void *of, const struct sd_reader *reader, const char *file);
    void (*end)(void *of);
    void *of;
};

/* How files are loaded; all zero is fine. */
struct sd_loader {
    char *const *names; /* what is said of files whose own names nobody has typed
                           (translated.h); NULL: these names */
    const struct sd_remarks *remarks; /* takes what a capture lacks */
    unsigned losses;                  /* the kinds of it (profile/losses.h) */
    const struct sd_load_watch *watch;
    const struct sd_filter *filter;
    unsigned load;                        /* enum sd_load_flags */
    const struct sd_model_request *model; /* of files of models */
};

/* Loads all of them, merged ("-" is stdin).  What one lacks is no failure. */
int sd_captures_load(const struct sd_loader *how, char *const *files, size_t n,
                     struct sd_profile **out);
struct sd_slices;
/* What the profile of these files, which was loaded with this filter, holds by time
 * (profile/slices.h).  On success the caller releases it. */
int sd_captures_slices(const struct sd_profile *p, char *const *files, size_t n,
                       const struct sd_filter *filter, struct sd_slices *out);
/* The same of any evidence with stacks: 1; 0: nobody knows when it was, as of traced
 * calls without a timeline, and *out is empty; < 0. */
int sd_captures_slices_of(const struct sd_profile *p, enum sd_evidence e,
                          char *const *files, size_t n, const struct sd_filter *filter,
                          struct sd_slices *out);
/* Copies all of them into one file. */
int sd_captures_copy(const struct sd_loader *how, char *const *files, size_t n,
                     struct sd_capture_merge *to);
#endif
