/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_CHOSEN_H
#define SD_CLI_CHOSEN_H
/* chosen: the collectors of one run, from their names to their stop. */
#include <stdbool.h>

#include "base/buf.h"
#include "cli/verb.h"

enum { SD_CHOSEN_MAX = 32 };

struct sd_chosen {
    const struct sd_command *command; /* borrowed: the options */
    const struct sd_collector_about *abouts[SD_CHOSEN_MAX];
    void *states[SD_CHOSEN_MAX]; /* of those outside that were started */
    size_t n;
    bool is_named; /* by --with or by the verb: then one that cannot work is an error */
};

/* `with` is "rss,sections", or NULL for what the verb records by itself.  SD_EUSAGE
 * with a sentence that names the nearest collector. */
int sd_chosen_read(const struct sd_command *c, const char *with, struct sd_chosen *out);
/* Must something run inside a Python process? */
bool sd_chosen_needs_inside(const struct sd_chosen *ch);
/* "rss,sections" */
void sd_chosen_names(const struct sd_chosen *ch, struct sd_buf *to);
/* SONDE_WITH: the inside ones with the options that were given. */
void sd_chosen_inside(const struct sd_chosen *ch, struct sd_buf *to);

/* Starts the outside ones on the process `how->root`, all or none. */
int sd_chosen_start(struct sd_chosen *ch, const struct sd_collect *how);
/* The process has ended but is not yet forgotten: the last figures are taken. */
void sd_chosen_at_end(struct sd_chosen *ch);
void sd_chosen_stop(struct sd_chosen *ch);
/* What the collector `sample` gave when it started, or NULL: for collect/sample's own
 * questions (collector.h there). */
void *sd_chosen_sampler(const struct sd_chosen *ch);
#endif
