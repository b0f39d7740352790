/* SPDX-License-Identifier: MIT */
/* verb_merge: the verb `merge`: puts several captures, such as the ranks of one
 * training run, into one. */
#include <string.h>

#include "base/error.h"
#include "cli/path.h"
#include "cli/read/export.h"
#include "cli/read/command_captures.h"
#include "cli/say.h"
#include "cli/shared_options.h"
#include "outputs/outputs.h"
#include "outputs/tables.h"

enum { OPT_OUTPUT, OPT_FORCE };
static const struct sd_option options[] = {
    [OPT_OUTPUT] = { "output", SD_TEXT, NULL, "write to FILE: .sonde, .json or .csv",
                     'o', "FILE" },
    [OPT_FORCE] = SD_OPTION_FORCE,
    { NULL, SD_FLAG, NULL, NULL, 0, NULL },
};

static const struct sd_output *output_of(const char *path)
{
    return sd_output_for(path, SD_HOLDS_ANYTHING);
}

static bool is_data(const char *path)
{
    const struct sd_output *o = output_of(path);

    return o && o->has_tables && o->form != SD_TABLE_TEXT;
}

static int check(const struct sd_command *c)
{
    const char *to = c->values[OPT_OUTPUT].text;

    if (!to || c->n_words == 0)
        return sd_fail(SD_EUSAGE, "merge needs captures and a name for the result: "
                                  "sonde merge rank*.sonde -o all.sonde");
    if (sd_output_is_capture(to) || is_data(to))
        return 0;
    return sd_fail(SD_EUSAGE,
                   "merge writes a capture, .sonde, or its tables as .json "
                   "or .csv, not %s",
                   to);
}

static int write_capture(const struct sd_command *c)
{
    const char *to = c->values[OPT_OUTPUT].text;
    struct sd_command_loader loader;
    struct sd_capture_merge *merged;
    int rc = sd_capture_merge_create(
        to, c->values[OPT_FORCE].number ? SD_CREATE_OVER : SD_CREATE_NEW, &merged);

    if (rc == SD_EEXISTS && !c->values[OPT_FORCE].number && sd_path_is_regular(to))
        return sd_fail(rc,
                       "%s already exists; choose another name, or use --force to "
                       "overwrite it",
                       to);
    if (rc < 0)
        return rc;
    sd_command_loader_init(&loader, c, SD_LOSSES_ALL);
    rc = sd_captures_copy(&loader.how, c->words, (size_t)c->n_words, merged);
    if (rc == 0)
        return sd_capture_merge_finish(merged);
    sd_capture_merge_abandon(merged);
    return rc;
}

static int put_tables(const struct sd_command *c, const struct sd_profile *p)
{
    const char *to = c->values[OPT_OUTPUT].text;
    const struct sd_view_request all = { .has_both = true };
    struct sd_export_file file;
    struct sd_view view = { 0 };
    int rc = sd_export_open(
        &file, to, c->values[OPT_FORCE].number ? SD_CREATE_OVER : SD_CREATE_NEW);

    if (rc < 0)
        return rc;
    rc = sd_tables_of(p, &all, &view);
    if (rc == 0 && output_of(to)->form == SD_TABLE_JSON)
        sd_tables_put_json(&file.out, p, &view, c->words, (size_t)c->n_words);
    else if (rc == 0)
        sd_tables_put_csv(&file.out, &view);
    sd_view_release(&view);
    return sd_export_close(&file, rc);
}

static int write_tables(const struct sd_command *c)
{
    size_t n = (size_t)c->n_words;
    struct sd_profile *p = NULL;
    int rc = sd_export_check_spares(c->values[OPT_OUTPUT].text, c->words, n);

    if (rc == 0)
        rc = sd_load(c, n, c->words, NULL, SD_LOAD_TOTALS, &p);
    if (rc == 0)
        rc = put_tables(c, p);
    sd_profile_free(p);
    return rc;
}

static int run(const struct sd_command *c)
{
    int rc = check(c);

    if (rc == 0 && sd_output_is_capture(c->values[OPT_OUTPUT].text))
        rc = write_capture(c);
    else if (rc == 0)
        rc = write_tables(c);
    return rc < 0 ? sd_say_failure(rc) : 0;
}

const struct sd_verb sd_verb_merge = {
    .name = "merge",
    .group = SD_GROUP_READ,
    .summary = "makes one capture, or one report, of several",
    .usage = "FILE... -o OUT",
    .about = "Reads several captures, such as the ranks of one run, and writes all of "
             "them into one .sonde file, or their tables as one JSON object or one CSV "
             "table. Clocks of different machines are aligned by their time of day. "
             "Merged captures can be merged again: order and grouping make no "
             "difference, and one that comes twice counts once.",
    .examples = "sonde merge rank0.sonde rank1.sonde -o all.sonde\n"
                "sonde merge rank*.sonde -o all.json\n"
                "sonde report rank0.sonde rank1.sonde    # the same, to read\n",
    .options = options,
    .run = run,
};
