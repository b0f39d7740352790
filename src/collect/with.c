/* SPDX-License-Identifier: MIT */
#include "collect/with.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

/* --- Values ---------------------------------------------------------------------- */

static void put_packed(struct sd_buf *to, const char *typed)
{
    for (; *typed; typed++) {
        if (*typed == ',')
            sd_buf_u8(to, '+');
        else if (strchr("+;%", *typed))
            sd_buf_printf(to, "%%%02X", (unsigned char)*typed);
        else
            sd_buf_u8(to, (uint8_t)*typed);
    }
}

static int digit_of(char c)
{
    static const char digits[] = "0123456789ABCDEF";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* In place: what was typed is never longer. */
static void unpack(char *text)
{
    const char *from = text;
    char *to = text;

    while (*from) {
        int high = *from == '%' ? digit_of(from[1]) : -1;
        int low = high > 0 ? digit_of(from[2]) : -1;

        *to = *from == '+' ? ',' : *from;
        if (low >= 0)
            *to = (char)(high << 4 | low);
        from += low >= 0 ? 3 : 1;
        to++;
    }
    sd_assert(to <= from);
    *to = '\0';
}

/* --- Writing --------------------------------------------------------------------- */

static void put_option(struct sd_buf *to, const struct sd_option *o, const char *typed,
                       char *before)
{
    sd_buf_printf(to, "%c%s=", *before, o->name);
    put_packed(to, typed);
    *before = ';';
}

static void put_value(struct sd_buf *to, const struct sd_option *o,
                      const struct sd_option_value *v, char *before)
{
    if (o->kind == SD_FLAG)
        put_option(to, o, v->number ? "1" : "0", before);
    else if (o->kind != SD_WORDS)
        put_option(to, o, v->text, before);
    else
        for (size_t i = 0; v->words[i]; i++)
            put_option(to, o, v->words[i], before);
}

void sd_with_put(struct sd_buf *to, const struct sd_collector_about *about,
                 const struct sd_option_value *values)
{
    char before = ':';

    sd_assert(about->options);
    sd_buf_printf(to, "%s%s", to->n ? "," : "", about->name);
    for (size_t i = 0; about->options[i].name; i++)
        if (values[i].is_given)
            put_value(to, &about->options[i], &values[i], &before);
}

/* --- Reading --------------------------------------------------------------------- */

/* What follows the name of the collector; NULL: it is not there. */
static const char *after_name(const char *with, const char *name)
{
    size_t n = strlen(name);

    while (with && *with) {
        if (strncmp(with, name, n) == 0 && (!with[n] || strchr(",:", with[n])))
            return with + n;
        with += strcspn(with, ",");
        with += *with == ',';
    }
    return NULL;
}

bool sd_with_has(const char *with, const char *name)
{
    return after_name(with, name) != NULL;
}

/* Which option the n bytes "name=value" are of; NULL: none that we know. */
static const struct sd_option *option_of(const struct sd_option *options,
                                         const char *at, size_t n)
{
    for (; options->name; options++) {
        size_t m = strlen(options->name);

        if (n > m && at[m] == '=' && memcmp(at, options->name, m) == 0)
            return options;
    }
    return NULL;
}

static int read_one(const char *at, size_t n, const struct sd_collector_about *about,
                    struct sd_arena *keep, struct sd_option_value *values)
{
    const struct sd_option *o = option_of(about->options, at, n);
    size_t before = o ? strlen(o->name) + 1 : 0;
    char *typed;

    if (!o)
        return 0;
    typed = sd_arena_string(keep, at + before, n - before);
    if (!typed)
        return sd_no_memory();
    unpack(typed);
    return sd_option_read(o, typed, &values[o - about->options]);
}

int sd_with_read(const char *with, const struct sd_collector_about *about,
                 struct sd_arena *keep, struct sd_option_value **values)
{
    const char *at = after_name(with, about->name);
    int rc = 0;

    *values = NULL;
    if (!at)
        return 0;
    *values =
        sd_arena_alloc(keep, (sd_options_count(about->options) + 1) * sizeof **values);
    if (!*values)
        return sd_no_memory();
    sd_options_fall_back(about->options, *values);
    while (rc == 0 && (*at == ':' || *at == ';')) {
        size_t n = strcspn(++at, ",;");

        rc = read_one(at, n, about, keep, *values);
        at += n;
    }
    return rc < 0 ? rc : 1;
}
