/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_RECORD_VERB_RUN_H
#define SD_CLI_RECORD_VERB_RUN_H
/* verb_run: what `run` and the verbs of collectors share: they start a program, record
 * it and print a summary.
 *
 * A collector's verb is `run` with that collector and its tables behind it; one that
 * has more to say (calls) has a file of its own, options behind those of `run`, and a
 * manner. */
#include "base/file.h"
#include "cli/shared_options.h"
#include "cli/verb.h"
#include "formats/stack_style.h"
#include "profile/profile.h"

/* The options of every such verb, in this order; its own follow. */
enum sd_run_option {
    SD_RUN_WITH,
    SD_RUN_OUTPUT,
    SD_RUN_FORCE,
    SD_RUN_PYTHON,
    SD_RUN_SYNC,
    SD_RUN_ALL,
    SD_RUN_SOURCE,
    SD_RUN_SHARE,
    SD_RUN_OPTIONS
};

struct sd_pass_manner {
    /* Refuses what was typed, before anything starts; or NULL. */
    int (*check)(const struct sd_command *c);
    /* Does the verb itself make the file that -o names? */
    bool (*makes)(const struct sd_command *c, const char *to);
    int (*make)(const struct sd_command *c, const struct sd_profile *p, const char *to,
                enum sd_create_flags create);
    /* The table on stdout; `capture` is NULL when that is not kept. */
    int (*put_report)(const struct sd_command *c, const struct sd_profile *p,
                      const char *capture);
    /* How what -o names is written, if not by the verb itself; false, or NULL: as it is
     * without being told. */
    bool (*style)(const struct sd_command *c, struct sd_stack_style *out);
};

struct sd_running_process;

/* The same of a process that runs already and is held. */
int sd_run_beside(const struct sd_command *c, struct sd_running_process *process);
/* Returns the exit status.  `manner` is NULL for run and most collectors. */
int sd_run(const struct sd_command *c, const struct sd_pass_manner *manner);
#endif
