/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_MATCHER_TESTING_H
#define SD_BASE_MATCHER_TESTING_H
/* matcher_testing: a matcher for tests of the core: a POSIX extended expression. */
#include <regex.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/matcher.h"

/* `of` is the expression itself. */
static inline int sd_testing_find(const void *of, const char *text, size_t n)
{
    regex_t regex;
    int rc;

    (void)n; /* what is asked here ends with a 0 */
    if (regcomp(&regex, of, REG_EXTENDED | REG_NOSUB) != 0)
        return sd_fail(SD_EUSAGE, "no regular expression");
    rc = regexec(&regex, text, 0, NULL, 0) == 0;
    regfree(&regex);
    return rc;
}

#define SD_MATCHER(expression)                                                         \
    (&(const struct sd_matcher){ sd_testing_find, (expression) })
#endif
