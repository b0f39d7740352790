/* SPDX-License-Identifier: MIT */
/* verb_convert: the verb `convert`: writes a capture in another program's format. */
#include <string.h>

#include "base/error.h"
#include "cli/read/export.h"
#include "cli/say.h"
#include "cli/shared_options.h"
#include "outputs/outputs.h"

enum {
    OPT_FORMAT,
    OPT_QUALIFIED,
    OPT_IDLE,
    OPT_MINE,
    OPT_MIN_DURATION,
    OPT_ALL,
    OPT_SOURCE,
    OPT_SHARE,
    OPT_FORCE,
    OPT_LIST
};
static const struct sd_option options[] = {
    [OPT_FORMAT] = { "format", SD_FORMAT, NULL,
                     "the format to write, when the suffix of OUT does not say it", 'f',
                     "NAME" },
    [OPT_QUALIFIED] = SD_OPTION_QUALIFIED,
    [OPT_IDLE] = { "idle", SD_FLAG, NULL, "write samples of waiting threads too", 0,
                   NULL },
    [OPT_MINE] = { "mine", SD_FLAG, NULL,
                   "leave calls of the standard library and of installed packages out "
                   "of a timeline (.trace.json)",
                   0, NULL },
    [OPT_MIN_DURATION] = { "min-duration", SD_DURATION, NULL,
                           "only calls of a timeline that took at least this long "
                           "(.trace.json)",
                           0, "TIME" },
    [OPT_ALL] = SD_OPTION_ALL(SD_ALL_PATHS),
    [OPT_SOURCE] = SD_OPTION_SOURCE,
    [OPT_SHARE] = SD_OPTION_SHARE,
    [OPT_FORCE] = { "force", SD_FLAG, NULL, "overwrite OUT if it already exists", 0,
                    NULL },
    [OPT_LIST] = { "list", SD_FLAG, NULL, "list the formats and what each loses", 'l',
                   NULL },
    { NULL, SD_FLAG, NULL, NULL, 0, NULL },
};

static int list(void)
{
    struct sd_out out;

    sd_out_to_fd(&out, 1);
    for (const struct sd_output *const *o = sd_outputs; *o; o++) {
        struct sd_buf suffixes = { 0 };

        if (!(*o)->write)
            continue;
        for (const char *const *s = (*o)->suffixes; *s; s++)
            sd_buf_printf(&suffixes, "%s%s", suffixes.n ? " " : "", *s);
        sd_out_printf(&out, "%-11s %-16s %s; loses %s\n", (*o)->name,
                      sd_made(&out, &suffixes), (*o)->summary, (*o)->loses);
        sd_buf_release(&suffixes);
    }
    return sd_finish_stdout(&out, 0);
}

static const struct sd_output *output_of(const struct sd_output_choice *choice)
{
    return choice->word ? sd_output_named(choice->word)
                        : sd_output_for(choice->to, SD_HOLDS_ANYTHING);
}

/* False: no style is given, and the output has its own. */
static bool read_style(const struct sd_command *c,
                       const struct sd_output_choice *choice,
                       struct sd_stack_style *style)
{
    const struct sd_output *o = output_of(choice);

    *style = (struct sd_stack_style){
        .is_by_function = o && o->shows_functions,
        .is_qualified = c->values[OPT_QUALIFIED].number != 0,
        .has_all_paths = c->values[OPT_ALL].number != 0,
        .has_idle = c->values[OPT_IDLE].number != 0,
        .min_ns = (uint64_t)c->values[OPT_MIN_DURATION].number,
        .is_mine = c->values[OPT_MINE].number != 0,
    };
    return style->is_qualified || style->has_all_paths || style->has_idle ||
           style->min_ns || style->is_mine;
}

/* Whoever would write a capture wants a copy. */
static int no_capture(const struct sd_output_choice *choice)
{
    if (sd_output_is_capture(choice->from))
        return sd_fail(SD_EUSAGE,
                       "convert does not write captures, only other formats (`sonde "
                       "convert --list`); "
                       "to copy one: cp %s %s",
                       choice->from, choice->to);
    return sd_fail(
        SD_EUSAGE,
        "convert does not write captures, only other formats (`sonde convert --list`)");
}

static int check(const struct sd_command *c, const struct sd_output_choice *choice)
{
    int rc;

    if (c->n_words != 2)
        return sd_fail(SD_EUSAGE, "convert needs an input and an output file: sonde "
                                  "convert train.sonde train.csv");
    if (strcmp(choice->to, "-") == 0 && !choice->word)
        return sd_fail(SD_EUSAGE,
                       "convert needs a format when it writes to stdout: sonde convert "
                       "%s - --format csv",
                       choice->from);
    rc = sd_export_check_spares(choice->to, c->words, 1);
    if (rc == 0 && !choice->word && choice->input == &sd_input_capture &&
        sd_output_is_capture(choice->to))
        rc = no_capture(choice);
    return rc;
}

/* What becomes of files that are no captures. */
static void put_about(struct sd_buf *to)
{
    const char *before = " IN may also be ";

    for (const struct sd_input *const *i = sd_inputs; *i; i++) {
        if (*i == &sd_input_capture || !((*i)->gives & SD_HOLDS_DATA))
            continue;
        sd_buf_printf(to, "%s%s, which becomes ", before, (*i)->title);
        sd_outputs_put_suffixes(to, (*i)->gives, " or ");
        before = ", or ";
    }
    sd_buf_text(to, ".");
}

static int run(const struct sd_command *c)
{
    const char *from = c->n_words > 0 ? c->words[0] : "";
    struct sd_stack_style style;
    struct sd_export_request request = {
        .choice = { .input = sd_input_of(from, SD_HOLDS_DATA, &sd_input_capture),
                    .from = from,
                    .to = c->n_words > 1 ? c->words[1] : "",
                    .word = c->values[OPT_FORMAT].text },
        .create = c->values[OPT_FORCE].number ? SD_CREATE_OVER : SD_CREATE_NEW,
        .losses = SD_LOSSES_ALL,
    };
    int rc;

    if (c->values[OPT_LIST].number)
        return list();
    rc = check(c, &request.choice);
    if (read_style(c, &request.choice, &style))
        request.style = &style;
    if (rc == 0)
        rc = sd_export_privacy(&c->values[OPT_SOURCE], &c->values[OPT_SHARE],
                               output_of(&request.choice), &request.privacy);
    if (rc == 0)
        rc = sd_export(c, &request);
    return rc < 0 ? sd_say_failure(rc) : 0;
}

const struct sd_verb sd_verb_convert = {
    .name = "convert",
    .group = SD_GROUP_READ,
    .summary = "writes a capture in another format",
    .usage = "[OPTION...] IN OUT",
    .about = "Writes the capture IN as OUT, in the format that OUT's suffix names. OUT "
             "\"-\" is stdout, and then --format is needed. --list says what each "
             "format loses.",
    .put_about = put_about,
    .examples = "sonde convert train.sonde train.csv\n"
                "sonde convert train.sonde - --format json | jq .\n"
                "sonde convert --qualified train.sonde train.speedscope.json\n"
                "sonde convert --all app.sonde app.collapsed    # every path\n"
                "sonde convert --min-duration 100us app.sonde app.trace.json\n"
                "sonde convert --list\n",
    .options = options,
    .run = run,
};
