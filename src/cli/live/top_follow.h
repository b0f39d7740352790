/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_LIVE_TOP_FOLLOW_H
#define SD_CLI_LIVE_TOP_FOLLOW_H
/* top_follow: shows as `top` what a verb records, while it records it.
 *
 * The verb records in a process of its own, exactly as without this, and `top` follows
 * the capture: so what is shown is what a report will say. */
#include "cli/verb.h"

struct sd_top_following {
    const struct sd_command *command;
    const char *capture; /* that the verb writes; it is not there yet */
    /* Does what the verb does without being shown, in the new process; the exit
     * status. */
    int (*record)(const struct sd_command *c, const char *capture);
    uint64_t delay_ns; /* from one refresh to the next */
    size_t limit;      /* rows without a terminal; 0: all */
    bool has_all;      /* the functions of imports, too */
};

/* Until the program has ended, and with a terminal until somebody quits, which asks the
 * program to end.  Returns the exit status of `record`; dies of the signal that it
 * died of.  False of *is_recorded: there is no capture. */
int sd_top_follow(const struct sd_top_following *f, bool *is_recorded);
#endif
