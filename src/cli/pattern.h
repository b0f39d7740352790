/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_PATTERN_H
#define SD_CLI_PATTERN_H
/* pattern: matches regular expressions as people write them for pstats, that is as
 * Python's re has them.  PCRE2 understands those: classes such as \d and \w of all of
 * Unicode, groups, (?i), looking ahead and behind.  The two differ
 * only in ways that do not matter for names of functions (docs/calls.md). */
#include <stddef.h>

#include "base/matcher.h"

struct sd_pattern;

/* SD_EUSAGE with a sentence for what is no regular expression. */
int sd_pattern_new(const char *text, struct sd_pattern **out);
void sd_pattern_free(struct sd_pattern *p); /* NULL is fine */
/* Is it found anywhere in these bytes?  1, 0, or negative with a sentence when the
 * search goes beyond all measure. */
int sd_pattern_find(const struct sd_pattern *p, const char *text, size_t n);
/* The same question, for the rooms that do not know regular expressions. */
struct sd_matcher sd_pattern_matcher(const struct sd_pattern *p);
/* Makes such matchers, which own their patterns. */
extern const struct sd_matcher_maker sd_pattern_maker;
#endif
