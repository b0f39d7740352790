/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_RECORD_RUN_COLLECTORS_H
#define SD_CLI_RECORD_RUN_COLLECTORS_H
/* run_collectors: the collectors of one run: parses their names, starts and stops them.
 */
#include <stdbool.h>

#include "base/buf.h"
#include "cli/verb.h"

enum { SD_COLLECTOR_SET_MAX = 32 };

struct sd_collector_set {
    const struct sd_command *command; /* borrowed: the options */
    const struct sd_collector_about *abouts[SD_COLLECTOR_SET_MAX];
    void *states[SD_COLLECTOR_SET_MAX]; /* of those outside that were started */
    size_t n;
    bool is_named; /* by --with or by the verb: then one that cannot work is an error */
};

/* `with` is "rss,sections", or NULL for what the verb records by itself.  SD_EUSAGE
 * with a sentence that names the nearest collector. */
int sd_collector_set_read(const struct sd_command *c, const char *with,
                          struct sd_collector_set *out);
/* Must something run inside a Python process? */
bool sd_collector_set_needs_inside(const struct sd_collector_set *ch);
/* "rss,sections" */
void sd_collector_set_names(const struct sd_collector_set *ch, struct sd_buf *to);
/* Can the file `to` be made of what they record, or the output called `word` where that
 * is not NULL?  SD_EUSAGE with a sentence. */
int sd_collector_set_check_export(const struct sd_collector_set *ch, const char *to,
                                  const char *word);
/* SONDE_WITH: the inside ones with the options that were given. */
void sd_collector_set_inside(const struct sd_collector_set *ch, struct sd_buf *to);

/* Starts the outside ones on the process `how->root`, all or none. */
int sd_collector_set_start(struct sd_collector_set *ch, const struct sd_collect *how);
/* The process has ended but is not yet forgotten: the last figures are taken. */
void sd_collector_set_at_end(struct sd_collector_set *ch);
void sd_collector_set_hold(struct sd_collector_set *ch, bool is_held);
void sd_collector_set_stop(struct sd_collector_set *ch);
/* What the collector `sample` gave when it started, or NULL: for collect/sample's own
 * questions (collector.h there). */
void *sd_collector_set_sampler(const struct sd_collector_set *ch);
#endif
