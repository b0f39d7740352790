/* SPDX-License-Identifier: MIT */
#include "cli/record/run_collectors.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "collect/with.h"
#include "outputs/needs.h"
#include "outputs/outputs.h"

/* What `sonde run` records when nobody says what. */
static const char BY_ITSELF[] = "sample,rss,sections";
/* Sections are the program's own request: recorded whatever else was chosen. */
static const char ALWAYS_INSIDE[] = "sections";

static int unknown(const char *name)
{
    const char *names[SD_COLLECTOR_SET_MAX + 1] = { NULL };
    struct sd_buf all = { 0 };
    const char *near;
    int rc;

    for (size_t i = 0; sd_abouts[i] && i < SD_COLLECTOR_SET_MAX; i++) {
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
                   "--with \"%s\" has an empty entry; it takes names of collectors "
                   "separated by commas, such as --with rss,sections",
                   with);
}

static bool has(const struct sd_collector_set *ch,
                const struct sd_collector_about *about)
{
    for (size_t i = 0; i < ch->n; i++)
        if (ch->abouts[i] == about)
            return true;
    return false;
}

static int add(struct sd_collector_set *ch, const char *name)
{
    const struct sd_collector_about *about = sd_collectors_find(name);

    if (!about)
        return unknown(name);
    if (!has(ch, about) && ch->n < SD_COLLECTOR_SET_MAX)
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

/* An option of a collector that does not run would be ignored. */
static int check_all_run(const struct sd_collector_set *ch)
{
    for (size_t i = 0; sd_abouts[i]; i++) {
        const struct sd_collector_about *about = sd_abouts[i];
        const struct sd_option_value *v = sd_command_options_of(ch->command, about);

        if (has(ch, about) || strcmp(about->name, ALWAYS_INSIDE) == 0)
            continue;
        for (size_t k = 0; about->options[k].name; k++)
            if (v[k].is_given)
                return sd_fail(SD_EUSAGE,
                               "--%s-%s is an option of the collector %s, which is not "
                               "chosen; add it to --with",
                               about->name, about->options[k].name, about->name);
    }
    return 0;
}

int sd_collector_set_read(const struct sd_command *c, const char *with,
                          struct sd_collector_set *out)
{
    char name[64];
    int rc = check_options(c);

    *out = (struct sd_collector_set){ .command = c };
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
    return rc < 0 ? rc : check_all_run(out);
}

bool sd_collector_set_needs_inside(const struct sd_collector_set *ch)
{
    for (size_t i = 0; i < ch->n; i++)
        if (ch->abouts[i]->place != SD_OUTSIDE)
            return true;
    return false;
}

void sd_collector_set_names(const struct sd_collector_set *ch, struct sd_buf *to)
{
    for (size_t i = 0; i < ch->n; i++)
        sd_buf_printf(to, "%s%s", i ? "," : "", ch->abouts[i]->name);
}

int sd_collector_set_check_export(const struct sd_collector_set *ch, const char *to,
                                  const char *word)
{
    unsigned needs = word ? sd_output_named(word)->needs : sd_output_needs(to);
    unsigned holds = sd_holds_of_collector(ALWAYS_INSIDE);
    struct sd_buf start = { 0 };
    int rc;

    for (size_t i = 0; i < ch->n; i++)
        holds |= sd_holds_of_collector(ch->abouts[i]->name);
    if (needs & holds)
        return 0;
    sd_buf_printf(&start, "%s cannot be made of this run, which records", to);
    rc = sd_needs_fail(SD_EUSAGE, sd_buf_string(&start), needs);
    sd_buf_release(&start);
    return rc;
}

void sd_collector_set_inside(const struct sd_collector_set *ch, struct sd_buf *to)
{
    const struct sd_collector_about *always = sd_collectors_find(ALWAYS_INSIDE);

    if (always && !has(ch, always))
        sd_with_put(to, always, sd_command_options_of(ch->command, always));
    for (size_t i = 0; i < ch->n; i++)
        if (ch->abouts[i]->place != SD_OUTSIDE)
            sd_with_put(to, ch->abouts[i],
                        sd_command_options_of(ch->command, ch->abouts[i]));
}

static const struct sd_collector *outside(const struct sd_collector_about *about)
{
    for (size_t i = 0; sd_outside_collectors[i]; i++)
        if (sd_outside_collectors[i]->about == about)
            return sd_outside_collectors[i];
    return NULL;
}

int sd_collector_set_start(struct sd_collector_set *ch, const struct sd_collect *how)
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
            sd_collector_set_stop(ch);
            return sd_fail_in(rc, "%s", ch->abouts[i]->name);
        }
    }
    return 0;
}

void sd_collector_set_at_end(struct sd_collector_set *ch)
{
    for (size_t i = 0; i < ch->n; i++) {
        const struct sd_collector *collector = outside(ch->abouts[i]);

        if (collector && collector->at_end && ch->states[i])
            collector->at_end(ch->states[i]);
    }
}

void sd_collector_set_hold(struct sd_collector_set *ch, bool is_held)
{
    for (size_t i = 0; i < ch->n; i++) {
        const struct sd_collector *collector = outside(ch->abouts[i]);

        if (collector && collector->hold && ch->states[i])
            collector->hold(ch->states[i], is_held);
    }
}

void sd_collector_set_stop(struct sd_collector_set *ch)
{
    for (size_t i = 0; i < ch->n; i++) {
        const struct sd_collector *collector = outside(ch->abouts[i]);

        if (collector && ch->states[i])
            collector->stop(ch->states[i]);
        ch->states[i] = NULL;
    }
}

void *sd_collector_set_sampler(const struct sd_collector_set *ch)
{
    const struct sd_collector_about *sample = sd_collectors_find("sample");

    for (size_t i = 0; i < ch->n; i++)
        if (ch->abouts[i] == sample)
            return ch->states[i];
    return NULL;
}
