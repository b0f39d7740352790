/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_RECORD_ATTACH_H
#define SD_CLI_RECORD_ATTACH_H
/* attach: the options of verbs that look at a running process.
 *
 * py-spy's words are understood as they are: its --nonblocking is our `auto` (which
 * does not stop anything either, but tells when a stack is torn), its blocking way is
 * our `pause`. */
#include "base/option.h"
#include "cli/shared_options.h"
#include "collect/sample/sampler.h"
#include "process/python/runtime.h"

/* "1234" or "0x4d2"; SD_EUSAGE with a sentence when it is no number of a process. */
int sd_attach_pid(const char *typed, pid_t *pid);

/* The three words that say how a stack is kept from changing while it is read.
 * SD_EUSAGE when they contradict each other. */
int sd_attach_consistency(const struct sd_option_value *consistency,
                          const struct sd_option_value *nonblocking,
                          const struct sd_option_value *blocking,
                          enum sd_consistency *out);

/* What verbs that look and record nothing share: a part of their table, and how it is
 * read, from its first value on.  `options` keeps a pointer to the hints. */
enum {
    SD_ATTACH_NATIVE,
    SD_ATTACH_CONSISTENCY,
    SD_ATTACH_NONBLOCKING,
    SD_ATTACH_BLOCKING,
    SD_ATTACH_FULL_FILENAMES,
    SD_ATTACH_QUALIFIED,
    SD_ATTACH_PYTHON_VERSION,
    SD_ATTACH_OPTIONS
};
#define SD_ATTACH_OPTIONS_AT(at)                                                       \
    [(at) + SD_ATTACH_NATIVE] = SD_OPTION_NATIVE,                                      \
            [(at) + SD_ATTACH_CONSISTENCY] = SD_OPTION_CONSISTENCY,                    \
            [(at) + SD_ATTACH_NONBLOCKING] = SD_OPTION_NONBLOCKING,                    \
            [(at) + SD_ATTACH_BLOCKING] = SD_OPTION_BLOCKING,                          \
            [(at) + SD_ATTACH_FULL_FILENAMES] = SD_OPTION_FULL_FILENAMES,              \
            [(at) + SD_ATTACH_QUALIFIED] = SD_OPTION_QUALIFIED,                        \
            [(at) + SD_ATTACH_PYTHON_VERSION] = SD_OPTION_PYTHON_VERSION
int sd_attach_read(const struct sd_option_value *values, struct sd_runtime_hints *hints,
                   struct sd_sampler_options *options);

/* Opens a sampler on a process that has a Python.  One that was just started gets half
 * a second to begin: the first command after `python app.py &` must not fail. */
int sd_attach_open(struct sd_sampler **out, pid_t pid,
                   const struct sd_sampler_options *options);

/* The file as a person knows it, unless `is_full`: the part below site-packages or the
 * library, else its last part.  Borrowed from `file`. */
const char *sd_attach_file(const char *file, bool is_full);
/* The words it was started with, in one line; NULL: cannot be told.  The caller frees
 * them. */
char *sd_attach_command(pid_t pid);
#endif
