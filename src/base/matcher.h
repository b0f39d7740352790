/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_MATCHER_H
#define SD_BASE_MATCHER_H
/* matcher: a callback that tests whether a text matches a pattern.
 *
 * Regular expressions as Python has them need a library, which the program links and
 * the core does not (cli/pattern.h), so those who look through names are handed a
 * question to ask. */
#include <stddef.h>
#include <string.h>

struct sd_matcher {
    /* Is it found anywhere in these bytes?  1, 0, or negative with a sentence. */
    int (*find)(const void *of, const char *text, size_t n);
    const void *of;
};

/* Makes matchers of what users type; one of a released matcher is zeroed. */
struct sd_matcher_maker {
    int (*make)(const char *text, struct sd_matcher *out); /* SD_EUSAGE: a sentence */
    void (*release)(struct sd_matcher *m);                 /* a zeroed one is fine */
};

/* `text` NULL: it is not. */
static inline int sd_matcher_find(const struct sd_matcher *m, const char *text)
{
    return text ? m->find(m->of, text, strlen(text)) : 0;
}
#endif
