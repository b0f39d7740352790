/* SPDX-License-Identifier: MIT */
/* verb_collectors: prints what each collector records, costs and cannot see, in the
 * words of its about.c. */
#include <string.h>
#include <unistd.h>

#include "base/encoding/json.h"
#include "base/error.h"
#include "cli/learn/verb_help.h"
#include "cli/say.h"

enum { OPT_JSON };
static const struct sd_option options[] = {
    [OPT_JSON] = { "json", SD_FLAG, NULL, "print one JSON object", 0, NULL },
    { NULL, SD_FLAG, NULL, NULL, 0, NULL },
};

static const char *const places[] = {
    [SD_OUTSIDE] = "outside the program",
    [SD_INSIDE] = "inside the program, from C too",
    [SD_PYTHON] = "inside the program",
};
static const char *const place_keys[] = {
    [SD_OUTSIDE] = "outside",
    [SD_INSIDE] = "inside",
    [SD_PYTHON] = "inside",
};
static const char *const units[] = {
    [SD_UNIT_COUNT] = "count",
    [SD_UNIT_NANOSECONDS] = "ns",
    [SD_UNIT_BYTES] = "bytes",
};

enum { LABEL_COLUMN = 4, TEXT_COLUMN = 16 };

static void put_row(struct sd_out *out, const char *label, const char *text)
{
    if (!text)
        return;
    sd_out_printf(out, "%*s%-*s", LABEL_COLUMN, "", TEXT_COLUMN - LABEL_COLUMN, label);
    sd_put_wrapped(out, text, TEXT_COLUMN, TEXT_COLUMN);
}

static void put_lists(struct sd_out *out, const struct sd_collector_about *a)
{
    const struct sd_option_table table = { a->options, a->name, false };
    struct sd_buf words = { 0 };

    for (const struct sd_metric_about *m = a->metrics; m && m->name; m++) {
        sd_buf_clear(&words);
        sd_buf_printf(&words, "%s (%s): %s", m->name, units[m->unit],
                      m->meaning ? m->meaning : "");
        put_row(out, m == a->metrics ? "metrics" : "", sd_made(out, &words));
    }
    for (const struct sd_option *o = a->options; o && o->name; o++) {
        sd_buf_clear(&words);
        sd_help_option_spelling(&words, &table, o);
        sd_buf_text(&words, ": ");
        sd_help_option_explained(&words, o);
        put_row(out, o == a->options ? "options" : "", sd_made(out, &words));
    }
    sd_buf_release(&words);
}

static void put_text(struct sd_out *out, const struct sd_collector_about *a)
{
    sd_out_printf(out, "%s: ", a->name);
    sd_put_wrapped(out, a->summary, strlen(a->name) + 2, LABEL_COLUMN);
    put_row(out, "where", places[a->place]);
    put_row(out, "replaces", a->replaces);
    put_row(out, "cost", a->cost);
    put_row(out, "cannot see", a->blind_to);
    put_lists(out, a);
}

static void put_json(struct sd_json *j, const struct sd_collector_about *a)
{
    sd_json_object(j);
    sd_json_key_string(j, "name", a->name);
    sd_json_key_string(j, "where", place_keys[a->place]);
    sd_json_key_string(j, "replaces", a->replaces);
    sd_json_key_string(j, "summary", a->summary);
    sd_json_key_string(j, "cost", a->cost);
    sd_json_key_string(j, "blind_to", a->blind_to);
    sd_json_key_array(j, "metrics");
    for (const struct sd_metric_about *m = a->metrics; m && m->name; m++) {
        sd_json_object(j);
        sd_json_key_string(j, "name", m->name);
        sd_json_key_string(j, "unit", units[m->unit]);
        sd_json_key_string(j, "meaning", m->meaning);
        sd_json_end(j);
    }
    sd_json_end(j);
    sd_json_key_array(j, "options");
    for (const struct sd_option *o = a->options; o && o->name; o++) {
        sd_json_object(j);
        sd_json_key_string(j, "name", o->name);
        sd_json_key_string(j, "fallback", o->fallback);
        sd_json_key_string(j, "meaning", o->meaning);
        sd_json_end(j);
    }
    sd_json_end(j);
    sd_json_end(j);
}

static int run(const struct sd_command *c)
{
    struct sd_json json;
    struct sd_out out;

    if (c->n_words)
        return sd_say_failure(
            sd_fail(SD_EUSAGE,
                    "collectors takes no arguments; for one of them: sonde %s --help",
                    c->words[0]));
    sd_out_to_fd(&out, STDOUT_FILENO);
    if (!c->values[OPT_JSON].number) {
        for (size_t i = 0; sd_abouts[i]; i++) {
            sd_out_text(&out, i ? "\n" : "");
            put_text(&out, sd_abouts[i]);
        }
        return sd_finish_stdout(&out, 0);
    }
    sd_json_init(&json, &out, true);
    sd_json_object(&json);
    sd_json_key_array(&json, "collectors");
    for (size_t i = 0; sd_abouts[i]; i++)
        put_json(&json, sd_abouts[i]);
    sd_json_end(&json);
    sd_json_end(&json);
    sd_out_text(&out, "\n");
    return sd_finish_stdout(&out, 0);
}

const struct sd_verb sd_verb_collectors = {
    .name = "collectors",
    .group = SD_GROUP_LEARN,
    .summary = "lists the ways of measuring: what each records, costs and cannot see",
    .usage = "[--json]",
    .about = "Lists every collector of this build: where it runs, which tool it "
             "replaces, what it costs, what it cannot see, the metrics it records and "
             "the options it understands. Each is a verb too: `sonde rss x.py`.",
    .examples = "sonde collectors\n"
                "sonde collectors --json    # the same, for programs\n"
                "sonde rss --help           # one of them\n",
    .options = options,
    .run = run,
};
