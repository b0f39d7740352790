/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_ATTACH_H
#define SD_CLI_ATTACH_H
/* attach: a running process that a verb was asked to look at, and how.
 *
 * py-spy's words are understood as they are: its --nonblocking is our `auto` (which
 * does not stop anything either, but tells when a stack is torn), its blocking way is
 * our `pause`. */
#include "base/option.h"
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
/* "3.11" or "3.11.7"; NULL leaves the hints as they are. */
int sd_attach_version(const char *typed, struct sd_runtime_hints *hints);

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
