/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_READ_COMMAND_CAPTURES_H
#define SD_CLI_READ_COMMAND_CAPTURES_H
/* command_captures: loads the files of a command line, with a progress line on a
 * terminal when they are large.  What they lack is said on stderr; that is no failure.
 */
#include "cli/progress.h"
#include "cli/verb.h"
#include "outputs/inputs.h"

struct sd_command_loader { /* it does not move: parts of it point to others */
    struct sd_loader how;
    struct sd_load_watch watch;
    struct sd_progress progress;
    const struct sd_command *command;
};
/* `losses`: the kinds that are said of a capture. */
void sd_command_loader_init(struct sd_command_loader *l, const struct sd_command *c,
                            unsigned losses);

/* One capture ("-" is stdin). */
int sd_load_one(const struct sd_command *c, const char *file, struct sd_profile **out);
/* The same of what was recorded just now: the caller says what it lacks. */
int sd_load_back(const struct sd_command *c, const char *file, struct sd_profile **out);
/* All of them, merged. */
int sd_load(const struct sd_command *c, size_t n, char *const *files,
            const struct sd_filter *filter, enum sd_load_flags load,
            struct sd_profile **out);
/* The same of what was translated of `names` (outputs/translated.h). */
int sd_load_named(const struct sd_command *c, size_t n, char *const *files,
                  char *const *names, const struct sd_filter *filter,
                  enum sd_load_flags load, struct sd_profile **out);
#endif
