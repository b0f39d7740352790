/* SPDX-License-Identifier: MIT */
#include "cli/verb.h"

#include <string.h>

#include "base/error.h"

#define VERB(name) extern const struct sd_verb sd_verb_##name;
#include "cli/verbs.def"
#undef VERB

static const struct sd_verb *const verbs[] = {
#define VERB(name) &sd_verb_##name,
#include "cli/verbs.def"
#undef VERB
};
enum { N_VERBS = sizeof verbs / sizeof verbs[0] };

const struct sd_option sd_common_options[] = {
    { "help", SD_FLAG, NULL, "say what this verb does and what it understands", 'h',
      NULL },
    { "help-all", SD_FLAG, NULL,
      "the same with every option; --help of a collector's verb has only its own", 0,
      NULL },
    { "color", SD_CHOICE, "auto", "colour text: on a terminal, always, or never", 0,
      "auto|always|never" },
    { "quiet", SD_FLAG, NULL, "say nothing on stderr but what went wrong", 'q', NULL },
    { "verbose", SD_FLAG, NULL, "say on stderr what is being done", 'v', NULL },
    { NULL, SD_FLAG, NULL, NULL, 0, NULL },
};

/* A collector as a verb: `run` in everything but its name and what help says of it. */
static struct sd_verb verb_of(const struct sd_collector_about *about)
{
    struct sd_verb v = sd_verb_run;

    v.name = about->name;
    v.summary = about->summary;
    v.collector = about;
    return v;
}

/* A collector that has more to say is a verb with a file of its own. */
static bool has_verb(const struct sd_collector_about *about)
{
    for (size_t i = 0; i < N_VERBS; i++)
        if (verbs[i]->collector == about)
            return true;
    return false;
}

bool sd_verb_at(size_t i, struct sd_verb *out)
{
    if (i < N_VERBS) {
        *out = *verbs[i];
        return true;
    }
    i -= N_VERBS;
    for (size_t k = 0; sd_abouts[k]; k++) {
        if (has_verb(sd_abouts[k]))
            continue;
        if (i-- == 0) {
            *out = verb_of(sd_abouts[k]);
            return true;
        }
    }
    return false;
}

const char *sd_verb_nearest(const char *name)
{
    const char *names[64] = { NULL };
    struct sd_verb v;

    for (size_t i = 0; i + 1 < sizeof names / sizeof names[0] && sd_verb_at(i, &v); i++)
        names[i] = v.name;
    return sd_nearest(name, names);
}

int sd_verb_find(const char *name, struct sd_verb *out)
{
    const char *near;

    for (size_t i = 0; sd_verb_at(i, out); i++)
        if (strcmp(out->name, name) == 0)
            return 0;
    near = sd_verb_nearest(name);
    if (near)
        return sd_fail(SD_EUSAGE, "there is no verb \"%s\"; did you mean \"%s\"?", name,
                       near);
    return sd_fail(SD_EUSAGE, "there is no verb \"%s\"; `sonde --help` lists the verbs",
                   name);
}

size_t sd_verb_tables(const struct sd_verb *v,
                      struct sd_option_table tables[SD_TABLES_MAX])
{
    size_t n = 0;

    tables[n++] = (struct sd_option_table){ v->options, NULL, false };
    tables[n++] = (struct sd_option_table){ sd_common_options, NULL, false };
    if (!v->takes_program)
        return n;
    for (size_t i = 0; sd_abouts[i] && n < SD_TABLES_MAX; i++)
        if (sd_abouts[i] != v->speaks_for)
            tables[n++] =
                (struct sd_option_table){ sd_abouts[i]->options, sd_abouts[i]->name,
                                          sd_abouts[i] == v->collector };
    return n;
}

const struct sd_option_value *
sd_command_options_of(const struct sd_command *c,
                      const struct sd_collector_about *about)
{
    const struct sd_option_value *at = c->of_collectors;

    if (about == c->verb->speaks_for)
        return c->spoken;
    for (size_t i = 0; sd_abouts[i] && sd_abouts[i] != about; i++)
        if (sd_abouts[i] != c->verb->speaks_for)
            at += sd_options_count(sd_abouts[i]->options);
    return at;
}
