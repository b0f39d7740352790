/* SPDX-License-Identifier: MIT */
#include "cli/chosen.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* What `sonde run` records when nobody says what. */
static const char BY_ITSELF[] = "sample,rss,sections";
/* Sections are the program's own wish: recorded whatever else was chosen. */
static const char ALWAYS_INSIDE[] = "sections";

static int unknown(const char *name)
{
    const char *names[SD_CHOSEN_MAX + 1] = { NULL };
    struct sd_buf all = { 0 };
    const char *near;
    int rc;

    for (size_t i = 0; sd_abouts[i] && i < SD_CHOSEN_MAX; i++) {
        names[i] = sd_abouts[i]->name;
        sd_buf_printf(&all, "%s%s", i ? ", " : "", names[i]);
    }
    near = sd_nearest(name, names);
    if (near)
        rc = sd_fail(SD_EUSAGE, "there is no collector \"%s\"; did you mean \"%s\"?",
                     name, near);
    else
        rc = sd_fail(SD_EUSAGE, "there is no collector \"%s\"; there are: %s", name,
                     sd_buf_string(&all));
    sd_buf_release(&all);
    return rc;
}

static int no_name(const char *with)
{
    return sd_fail(SD_EUSAGE,
                   "--with \"%s\" lacks a name; it takes collectors with a comma "
                   "between them, such as --with rss,sections",
                   with);
}

static bool has(const struct sd_chosen *ch, const struct sd_collector_about *about)
{
    for (size_t i = 0; i < ch->n; i++)
        if (ch->abouts[i] == about)
            return true;
    return false;
}

static int add(struct sd_chosen *ch, const char *name)
{
    const struct sd_collector_about *about = sd_about_find(name);

    if (!about)
        return unknown(name);
    if (!has(ch, about) && ch->n < SD_CHOSEN_MAX)
        ch->abouts[ch->n++] = about;
    return 0;
}

/* The options of every collector are looked at, chosen or not: what was typed was
 * meant. */
static int check_options(const struct sd_command *c)
{
    int rc = 0;

    for (size_t i = 0; sd_abouts[i] && rc == 0; i++)
        if (sd_abouts[i]->check)
            rc = sd_abouts[i]->check(sd_command_options_of(c, sd_abouts[i]));
    return rc;
}

int sd_chosen_read(const struct sd_command *c, const char *with, struct sd_chosen *out)
{
    char name[64];
    int rc = check_options(c);

    *out = (struct sd_chosen){ .command = c };
    out->is_named = with || c->verb->collector;
    if (c->verb->collector)
        out->abouts[out->n++] = c->verb->collector;
    if (!out->is_named)
        with = BY_ITSELF;
    for (const char *at = with; at && rc == 0;) {
        size_t n = strcspn(at, ",");

        snprintf(name, sizeof name, "%.*s", (int)n, at);
        rc = n ? add(out, name) : no_name(with);
        at = at[n] ? at + n + 1 : NULL;
    }
    return rc;
}

bool sd_chosen_needs_inside(const struct sd_chosen *ch)
{
    for (size_t i = 0; i < ch->n; i++)
        if (ch->abouts[i]->place != SD_OUTSIDE)
            return true;
    return false;
}

void sd_chosen_names(const struct sd_chosen *ch, struct sd_buf *to)
{
    for (size_t i = 0; i < ch->n; i++)
        sd_buf_printf(to, "%s%s", i ? "," : "", ch->abouts[i]->name);
}

/* "name:option=value;option=value", only what was given. */
static void put_inside(const struct sd_chosen *ch,
                       const struct sd_collector_about *about, struct sd_buf *to)
{
    const struct sd_option_value *values = sd_command_options_of(ch->command, about);
    char before = ':';

    sd_buf_printf(to, "%s%s", to->n ? "," : "", about->name);
    for (size_t i = 0; about->options && about->options[i].name; i++) {
        if (!values[i].is_given)
            continue;
        sd_buf_printf(to, "%c%s=", before, about->options[i].name);
        if (about->options[i].kind == SD_FLAG)
            sd_option_pack(to, values[i].number ? "1" : "0");
        else
            sd_option_pack(to, values[i].text);
        before = ';';
    }
}

void sd_chosen_inside(const struct sd_chosen *ch, struct sd_buf *to)
{
    const struct sd_collector_about *always = sd_about_find(ALWAYS_INSIDE);

    if (always && !has(ch, always))
        put_inside(ch, always, to);
    for (size_t i = 0; i < ch->n; i++)
        if (ch->abouts[i]->place != SD_OUTSIDE)
            put_inside(ch, ch->abouts[i], to);
}

static const struct sd_collector *outside(const struct sd_collector_about *about)
{
    for (size_t i = 0; sd_outside_collectors[i]; i++)
        if (sd_outside_collectors[i]->about == about)
            return sd_outside_collectors[i];
    return NULL;
}

int sd_chosen_start(struct sd_chosen *ch, const struct sd_collect *how)
{
    for (size_t i = 0; i < ch->n; i++) {
        const struct sd_collector *collector = outside(ch->abouts[i]);
        struct sd_collect one = *how;
        int rc;

        if (!collector)
            continue;
        one.options = sd_command_options_of(ch->command, ch->abouts[i]);
        rc = collector->start(&one, &ch->states[i]);
        if (rc < 0) {
            sd_chosen_stop(ch);
            return sd_fail_in(rc, "%s", ch->abouts[i]->name);
        }
    }
    return 0;
}

void sd_chosen_at_end(struct sd_chosen *ch)
{
    for (size_t i = 0; i < ch->n; i++) {
        const struct sd_collector *collector = outside(ch->abouts[i]);

        if (collector && collector->at_end && ch->states[i])
            collector->at_end(ch->states[i]);
    }
}

void sd_chosen_stop(struct sd_chosen *ch)
{
    for (size_t i = 0; i < ch->n; i++) {
        const struct sd_collector *collector = outside(ch->abouts[i]);

        if (collector && ch->states[i])
            collector->stop(ch->states[i]);
        ch->states[i] = NULL;
    }
}

void *sd_chosen_sampler(const struct sd_chosen *ch)
{
    const struct sd_collector_about *sample = sd_about_find("sample");

    for (size_t i = 0; i < ch->n; i++)
        if (ch->abouts[i] == sample)
            return ch->states[i];
    return NULL;
}
