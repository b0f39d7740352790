/* SPDX-License-Identifier: MIT */
/* merge: one report of several captures, such as the ranks of one training run. */
#include <string.h>

#include "base/error.h"
#include "cli/export.h"
#include "cli/load.h"
#include "cli/path.h"
#include "cli/say.h"
#include "cli/shared_options.h"
#include "cli/tables.h"

enum { OPT_OUTPUT, OPT_FORCE };
static const struct sd_option options[] = {
    [OPT_OUTPUT] = { "output", SD_TEXT, NULL, "write to FILE: .sonde, .json or .csv",
                     'o', "FILE" },
    [OPT_FORCE] = SD_OPTION_FORCE,
    { NULL, SD_FLAG, NULL, NULL, 0, NULL },
};

static bool is_capture(const char *path) { return sd_path_has_suffix(path, ".sonde"); }

static int check(const struct sd_command *c)
{
    const char *to = c->values[OPT_OUTPUT].text;

    if (!to || c->n_words == 0)
        return sd_fail(SD_EUSAGE, "merge wants captures and a name for the result: "
                                  "sonde merge rank*.sonde -o all.sonde");
    if (is_capture(to) || sd_path_has_suffix(to, ".json") ||
        sd_path_has_suffix(to, ".csv"))
        return 0;
    return sd_fail(SD_EUSAGE,
                   "merge writes a capture, .sonde, or its tables as .json "
                   "or .csv, not %s",
                   to);
}

static int write_capture(const struct sd_command *c)
{
    const char *to = c->values[OPT_OUTPUT].text;
    struct sd_merged *merged;
    int rc = sd_merged_create(
        to, c->values[OPT_FORCE].number ? SD_CREATE_OVER : SD_CREATE_NEW, &merged);

    if (rc == SD_EEXISTS && !c->values[OPT_FORCE].number && sd_path_is_regular(to))
        return sd_fail(rc,
                       "%s is there already; choose another name, or --force to "
                       "overwrite it",
                       to);
    if (rc < 0)
        return rc;
    rc = sd_load_into(merged, (size_t)c->n_words, c->words);
    if (rc == 0)
        return sd_merged_finish(merged);
    sd_merged_abandon(merged);
    return rc;
}

static int put_tables(const struct sd_command *c, const struct sd_profile *p)
{
    const char *to = c->values[OPT_OUTPUT].text;
    const struct sd_tables_wish all = { .has_both = true };
    struct sd_export_file file;
    struct sd_view view = { 0 };
    int rc = sd_export_open(
        &file, to, c->values[OPT_FORCE].number ? SD_CREATE_OVER : SD_CREATE_NEW);

    if (rc < 0)
        return rc;
    rc = sd_tables_of(p, &all, &view);
    if (rc == 0 && sd_path_has_suffix(to, ".json"))
        sd_tables_json(&file.out, p, &view, c->words, (size_t)c->n_words);
    else if (rc == 0)
        sd_tables_csv(&file.out, &view);
    sd_view_release(&view);
    return sd_export_close(&file, rc);
}

static int write_tables(const struct sd_command *c)
{
    size_t n = (size_t)c->n_words;
    struct sd_profile *p = NULL;
    int rc = sd_export_check_spares(c->values[OPT_OUTPUT].text, c->words, n);

    if (rc == 0)
        rc = sd_load(c, n, c->words, NULL, &p);
    if (rc == 0)
        rc = put_tables(c, p);
    sd_profile_free(p);
    return rc;
}

static int run(const struct sd_command *c)
{
    int rc = check(c);

    if (rc == 0 && is_capture(c->values[OPT_OUTPUT].text))
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
