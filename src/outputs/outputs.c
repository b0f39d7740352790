/* SPDX-License-Identifier: MIT */
#include "outputs/outputs.h"

#include <string.h>
#include <strings.h>

#include "base/error.h"

#define OUTPUT(name) extern const struct sd_output sd_output_##name;
#include "outputs/outputs.def"
#undef OUTPUT

const struct sd_output *const sd_outputs[] = {
#define OUTPUT(name) &sd_output_##name,
#include "outputs/outputs.def"
#undef OUTPUT
    NULL,
};

static const char *pyspy_word(const struct sd_output *o)
{
    return o->pyspy_word ? o->pyspy_word : o->name;
}

const struct sd_output *sd_output_named(const char *word)
{
    for (const struct sd_output *const *o = sd_outputs; *o; o++)
        if (strcmp(word, (*o)->name) == 0 || strcmp(word, pyspy_word(*o)) == 0)
            return *o;
    return NULL;
}

const char *const *sd_output_suffix_of(const struct sd_output *o, const char *path)
{
    const char *const *longest = NULL;
    size_t n = strlen(path);

    for (const char *const *s = o->suffixes; *s; s++) {
        size_t k = strlen(*s);

        if (n >= k && strcasecmp(path + n - k, *s) == 0 &&
            (!longest || k > strlen(*longest)))
            longest = s;
    }
    return longest;
}

const struct sd_output *sd_output_for(const char *path, unsigned holds)
{
    const struct sd_output *best = NULL;
    size_t longest = 0;

    for (const struct sd_output *const *o = sd_outputs; *o; o++) {
        const char *const *suffix = sd_output_suffix_of(*o, path);
        size_t k = suffix ? strlen(*suffix) : 0;

        if (k > longest || (k > 0 && k == longest && !(best->needs & holds)))
            best = *o;
        if (k > longest)
            longest = k;
    }
    return best;
}

unsigned sd_output_needs(const char *path)
{
    const struct sd_output *best = sd_output_for(path, SD_HOLDS_ANYTHING);
    const char *const *longest = best ? sd_output_suffix_of(best, path) : NULL;
    unsigned needs = 0;

    for (const struct sd_output *const *o = sd_outputs; *o && best; o++) {
        const char *const *suffix = sd_output_suffix_of(*o, path);

        if (suffix && strcmp(*suffix, *longest) == 0)
            needs |= (*o)->needs;
    }
    return needs;
}

bool sd_output_is_capture(const char *path)
{
    const struct sd_output *o = sd_output_for(path, SD_HOLDS_ANYTHING);

    return o && !o->write;
}

const char *sd_output_suffix(const struct sd_output *o, const char *word, bool is_pyspy)
{
    bool is_theirs = o->pyspy_word ? strcmp(word, o->pyspy_word) == 0 : is_pyspy;

    return is_theirs && o->pyspy_suffix ? o->pyspy_suffix : o->suffixes[0];
}

bool sd_output_can_be_of(const struct sd_output *o, unsigned holds)
{
    return o->write && o->needs & holds &&
           (!o->reads_events || holds & SD_HOLDS_EVENTS);
}

/* --- Sentences */

static bool is_in(const char *suffix, unsigned holds)
{
    const struct sd_output *o = sd_output_for(suffix, holds);

    return sd_output_can_be_of(o, holds);
}

void sd_outputs_put_suffixes(struct sd_buf *to, unsigned holds, const char *last)
{
    const char *before = NULL;
    size_t n = 0;

    for (const struct sd_output *const *o = sd_outputs; *o; o++)
        for (const char *const *s = (*o)->suffixes; *s; s++) {
            if (sd_output_for(*s, holds) != *o || !is_in(*s, holds))
                continue;
            if (before)
                sd_buf_printf(to, "%s%s", n++ ? ", " : "", before);
            before = *s;
        }
    if (before)
        sd_buf_printf(to, "%s%s", n ? last : "", before);
}

int sd_output_check(const char *path, const char *also)
{
    const struct sd_output *output = sd_output_for(path, SD_HOLDS_ANYTHING);
    struct sd_buf known = { 0 };
    int rc;

    if (output && output->write)
        return 0;
    sd_outputs_put_suffixes(&known, SD_HOLDS_ANYTHING, " and ");
    rc = sd_fail(SD_EUSAGE,
                 "cannot write %s: its suffix is not known; the suffixes are %s%s",
                 path, also, sd_buf_string(&known));
    sd_buf_release(&known);
    return rc;
}

int sd_output_check_word(const char *word)
{
    const struct sd_output *output = sd_output_named(word);
    struct sd_buf known = { 0 };
    int rc;

    if (output && output->write)
        return 0;
    for (const struct sd_output *const *o = sd_outputs; *o; o++)
        if ((*o)->write)
            sd_buf_printf(&known, "%s%s", known.n ? ", " : "", (*o)->name);
    rc = sd_fail(SD_EUSAGE, "there is no format \"%s\"; there are %s", word,
                 sd_buf_string(&known));
    sd_buf_release(&known);
    return rc;
}
