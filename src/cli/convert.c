/* SPDX-License-Identifier: MIT */
/* convert: a capture in another program's format. */
#include <string.h>

#include "base/error.h"
#include "outputs/call_report.h"
#include "cli/export.h"
#include "cli/line_tables.h"
#include "cli/losses.h"
#include "cli/path.h"
#include "cli/say.h"
#include "cli/shared_options.h"
#include "formats/format.h"
#include "report/report.h"

enum {
    OPT_FORMAT,
    OPT_QUALIFIED,
    OPT_MINE,
    OPT_MIN_DURATION,
    OPT_ALL,
    OPT_FORCE,
    OPT_LIST
};
static const struct sd_option options[] = {
    [OPT_FORMAT] = { "format", SD_TEXT, NULL,
                     "the format to write, when the suffix of OUT does not say it", 'f',
                     "NAME" },
    [OPT_QUALIFIED] = SD_OPTION_QUALIFIED,
    [OPT_MINE] = { "mine", SD_FLAG, NULL,
                   "of a timeline of calls none of the standard library and of "
                   "installed packages (.trace.json)",
                   0, NULL },
    [OPT_MIN_DURATION] = { "min-duration", SD_DURATION, NULL,
                           "of a timeline of calls only those that took this long at "
                           "least (.trace.json)",
                           0, "TIME" },
    [OPT_ALL] = SD_OPTION_ALL(SD_ALL_PATHS),
    [OPT_FORCE] = { "force", SD_FLAG, NULL, "overwrite OUT when it is there already", 0,
                    NULL },
    [OPT_LIST] = { "list", SD_FLAG, NULL, "list the formats and what each loses", 'l',
                   NULL },
    { NULL, SD_FLAG, NULL, NULL, 0, NULL },
};

static int list(void)
{
    struct sd_out out;

    sd_out_to_fd(&out, 1);
    for (size_t i = 0; sd_formats[i]; i++)
        sd_out_printf(&out, "%-10s %-16s %s; loses %s\n", sd_formats[i]->name,
                      sd_formats[i]->suffix, sd_formats[i]->summary,
                      sd_formats[i]->loses);
    for (const struct sd_output *o = sd_outputs; o->suffix; o++)
        if (o->what != SD_OUTPUT_FORMAT && o->what != SD_OUTPUT_CAPTURE)
            sd_out_printf(&out, "%-10s %-16s %s\n", "", o->suffix, o->summary);
    return sd_finish_stdout(&out, 0);
}

/* A flame graph shows functions, other formats the executed lines. */
static struct sd_stack_style style_of(const char *to, const char *format)
{
    bool is_flame =
        format ? strcmp(format, "flamegraph") == 0 : sd_path_has_suffix(to, ".svg");

    return (struct sd_stack_style){ .is_by_function = is_flame };
}

static int run(const struct sd_command *c)
{
    struct sd_stack_style wish;
    const struct sd_stack_style *style = NULL;
    const char *format = c->values[OPT_FORMAT].text;
    enum sd_create_flags create =
        c->values[OPT_FORCE].number ? SD_CREATE_OVER : SD_CREATE_NEW;
    int rc;

    if (c->values[OPT_LIST].number)
        return list();
    if (c->n_words != 2)
        return sd_say_failure(sd_fail(
            SD_EUSAGE, "convert wants two files: sonde convert train.sonde train.csv"));
    if (strcmp(c->words[1], "-") == 0 && !format)
        return sd_say_failure(sd_fail(
            SD_EUSAGE, "which format? sonde convert %s - --format csv", c->words[0]));
    wish = style_of(c->words[1], format);
    wish.is_qualified = c->values[OPT_QUALIFIED].number != 0;
    wish.has_all_paths = c->values[OPT_ALL].number != 0;
    if (wish.is_qualified || wish.has_all_paths)
        style = &wish;
    rc = sd_export_check_spares(c->words[1], c->words, 1);
    wish.min_ns = (uint64_t)c->values[OPT_MIN_DURATION].number;
    wish.is_mine = c->values[OPT_MINE].number != 0;
    if (rc == 0 && (wish.min_ns || wish.is_mine)) {
        style = &wish;
        if (sd_call_file_is(c->words[0]) || sd_line_file_is(c->words[0]))
            rc = sd_fail(SD_EUSAGE,
                         "%s has no timeline, of which %s leaves calls out: sonde "
                         "calls --timeline",
                         c->words[0], wish.is_mine ? "--mine" : "--min-duration");
    }
    if (rc == 0 && sd_call_file_is(c->words[0]))
        rc = sd_call_file_convert(c->words[0], c->words[1], format, create);
    else if (rc == 0 && sd_line_file_is(c->words[0]))
        rc = sd_line_file_convert(c->words[0], c->words[1], format, create);
    else if (rc == 0)
        rc = sd_export(c, c->words[0], c->words[1], format, style, create,
                       SD_LOSSES_ALL);
    return rc < 0 ? sd_say_failure(rc) : 0;
}

const struct sd_verb sd_verb_convert = {
    .name = "convert",
    .group = SD_GROUP_READ,
    .summary = "writes a capture in another format",
    .usage = "[OPTION...] IN OUT",
    .about =
        "Writes the capture IN as OUT, in the format that OUT's suffix names. "
        "OUT \"-\" is stdout, and then --format is needed. What a format cannot "
        "carry is listed by --list. IN may be a pstats file, too, which becomes "
        ".pstats, .prof, .csv, .json, .txt, its call graph (.svg, .dot) or "
        ".callgrind, or a file of line_profiler, which becomes .lprof, .csv, .json "
        "or .txt.",
    .examples = "sonde convert train.sonde train.csv\n"
                "sonde convert train.sonde - --format json | jq .\n"
                "sonde convert --qualified train.sonde train.speedscope.json\n"
                "sonde convert --all app.sonde app.collapsed    # every path\n"
                "sonde convert --min-duration 100us app.sonde app.trace.json\n"
                "sonde convert --list\n",
    .options = options,
    .run = run,
};
