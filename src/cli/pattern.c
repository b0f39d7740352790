/* SPDX-License-Identifier: MIT */
#include "cli/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

struct sd_pattern {
    pcre2_general_context *memory;
    pcre2_code *code;
    pcre2_match_data *found;
};

static void *allocate(size_t n, void *unused)
{
    (void)unused;
    return sd_alloc(n);
}

static void release(void *p, void *unused)
{
    (void)unused;
    sd_free(p);
}

/* Where it went wrong is shown by what stands before. */
static int is_none(const char *text, const char *why, size_t at)
{
    if (at == 0)
        return sd_fail(SD_EUSAGE,
                       "\"%s\" is not a valid regular expression: %s, at its start",
                       text, why);
    if (at >= strlen(text))
        return sd_fail(SD_EUSAGE,
                       "\"%s\" is not a valid regular expression: %s, at its end", text,
                       why);
    return sd_fail(SD_EUSAGE,
                   "\"%s\" is not a valid regular expression: %s, after \"%.*s\"", text,
                   why, (int)at, text);
}

/* Names may hold bytes that are no UTF-8: those match nothing. */
static int compile(struct sd_pattern *p, const char *text)
{
    pcre2_compile_context *context;
    unsigned char words[120];
    size_t at = 0;
    int error = 0;

    p->memory = pcre2_general_context_create(allocate, release, NULL);
    context = p->memory ? pcre2_compile_context_create(p->memory) : NULL;
    if (!context)
        return sd_no_memory();
    p->code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
                            PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF, &error,
                            &at, context);
    pcre2_compile_context_free(context);
    if (p->code)
        return 0;
    if (error == PCRE2_ERROR_HEAP_FAILED || error == PCRE2_ERROR_NOMEMORY)
        return sd_no_memory();
    pcre2_get_error_message(error, words, sizeof words);
    return is_none(text, (const char *)words, at);
}

int sd_pattern_new(const char *text, struct sd_pattern **out)
{
    struct sd_pattern *p = sd_zalloc(sizeof *p);
    int rc = p ? compile(p, text) : sd_no_memory();

    if (rc == 0) {
        p->found = pcre2_match_data_create(1, p->memory);
        rc = p->found ? 0 : sd_no_memory();
    }
    *out = rc < 0 ? NULL : p;
    if (rc < 0)
        sd_pattern_free(p);
    return rc;
}

void sd_pattern_free(struct sd_pattern *p)
{
    if (!p)
        return;
    pcre2_match_data_free(p->found);
    pcre2_code_free(p->code);
    pcre2_general_context_free(p->memory);
    sd_free(p);
}

int sd_pattern_find(const struct sd_pattern *p, const char *text, size_t n)
{
    int rc = pcre2_match(p->code, (PCRE2_SPTR)text, n, 0, 0, p->found, NULL);

    if (rc >= 0)
        return 1;
    if (rc == PCRE2_ERROR_NOMATCH)
        return 0;
    if (rc == PCRE2_ERROR_NOMEMORY)
        return sd_no_memory();
    return sd_fail(SD_EUSAGE,
                   "the regular expression tries too many ways to match; write it "
                   "with fewer * and +");
}

static int find(const void *of, const char *text, size_t n)
{
    return sd_pattern_find(of, text, n);
}

struct sd_matcher sd_pattern_matcher(const struct sd_pattern *p)
{
    return (struct sd_matcher){ find, p };
}

static int make_matcher(const char *text, struct sd_matcher *out)
{
    struct sd_pattern *p = NULL;
    int rc = sd_pattern_new(text, &p);

    *out = rc == 0 ? sd_pattern_matcher(p) : (struct sd_matcher){ 0 };
    return rc;
}

static void release_matcher(struct sd_matcher *m)
{
    sd_pattern_free((struct sd_pattern *)m->of);
    *m = (struct sd_matcher){ 0 };
}

const struct sd_matcher_maker sd_pattern_maker = { make_matcher, release_matcher };
