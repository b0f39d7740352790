/* SPDX-License-Identifier: MIT */
/* report: what is in a capture, as tables, numbers for programs, or a picture. */
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/export.h"
#include "cli/load.h"
#include "cli/path.h"
#include "cli/say.h"
#include "cli/tables.h"

enum {
    OPT_ROWS,
    OPT_SORT,
    OPT_FILTER,
    OPT_TRACK,
    OPT_SECTION,
    OPT_FROM,
    OPT_TO,
    OPT_TABLE,
    OPT_TREE,
    OPT_PLOT,
    OPT_METRIC,
    OPT_WIDTH,
    OPT_HEIGHT,
    OPT_CSV,
    OPT_JSON,
    OPT_OUTPUT,
    OPT_FORCE
};
static const struct sd_option options[] = {
    [OPT_ROWS] = { "rows", SD_NUMBER, NULL,
                   "print at most N rows of each table; 0 is all (20; all of them as "
                   "CSV and JSON)",
                   'n', "N" },
    [OPT_SORT] = { "sort", SD_TEXT, NULL,
                   "sort by this column, largest first; -COLUMN the other way round",
                   's', "COLUMN" },
    [OPT_FILTER] = { "filter", SD_TEXT, NULL,
                     "only sections whose name matches this regular expression", 0,
                     "RE" },
    [OPT_TRACK] = { "track", SD_TEXT, NULL,
                    "only this process or thread: a pid, pid/tid, or part of its name",
                    0, "WHO" },
    [OPT_SECTION] = { "section", SD_TEXT, NULL,
                      "only what happened while this section was open", 0, "NAME" },
    [OPT_FROM] = { "from", SD_DURATION, NULL, "only what happened after this time", 0,
                   "TIME" },
    [OPT_TO] = { "to", SD_DURATION, NULL, "only what happened before this time", 0,
                 "TIME" },
    [OPT_TABLE] = { "table", SD_TEXT, NULL,
                    "only this table: functions, calls (a tree), lines, callers, "
                    "callees, threads, sections, processes, or series (the readings "
                    "of each process)",
                    0, "NAME" },
    [OPT_TREE] = { "tree", SD_FLAG, NULL, "functions and sections as trees", 0, NULL },
    [OPT_PLOT] = { "plot", SD_FLAG, NULL,
                   "draw readings over time into the picture that -o names", 0, NULL },
    [OPT_METRIC] = { "metric", SD_TEXT, "rss", "what to plot: rss, vms, cpu, ...", 0,
                     "NAME" },
    [OPT_WIDTH] = { "width", SD_NUMBER, "1000", "of the picture, in pixels", 0, "N" },
    [OPT_HEIGHT] = { "height", SD_NUMBER, "500", "of the picture, in pixels", 0, "N" },
    [OPT_CSV] = { "csv", SD_FLAG, NULL,
                  "print one table as CSV: the first there is, or --table's", 0, NULL },
    [OPT_JSON] = { "json", SD_FLAG, NULL, "print one JSON object with all tables", 0,
                   NULL },
    [OPT_OUTPUT] = { "output", SD_TEXT, NULL,
                     "write to FILE; the suffix chooses: .txt .csv .json, and .svg "
                     ".png .jpeg .pdf for a plot",
                     'o', "FILE" },
    [OPT_FORCE] = { "force", SD_FLAG, NULL, "overwrite FILE when it is there already",
                    0, NULL },
    { NULL, SD_FLAG, NULL, NULL, 0, NULL },
};

enum form { FORM_TEXT, FORM_CSV, FORM_JSON, FORM_PLOT };
enum { PIXELS_MIN = 100, PIXELS_MAX = 20000, TEXT_ROWS = 20 };

/* What is asked for by flags and by the suffix of -o must not contradict. */
static int choose_form(const struct sd_option_value *v, enum form *form)
{
    const char *to = v[OPT_OUTPUT].text;
    enum sd_picture kind;

    if (v[OPT_CSV].number + v[OPT_JSON].number + v[OPT_PLOT].number > 1)
        return sd_fail(SD_EUSAGE, "choose one of --csv, --json and --plot");
    *form = v[OPT_CSV].number    ? FORM_CSV
            : v[OPT_JSON].number ? FORM_JSON
            : v[OPT_PLOT].number ? FORM_PLOT
                                 : FORM_TEXT;
    if (*form == FORM_PLOT && !to)
        return sd_fail(SD_EUSAGE,
                       "--plot wants a picture to draw into: --plot -o image.png");
    if (!to || *form != FORM_TEXT)
        return 0;
    if (sd_picture_of(to, &kind))
        *form = FORM_PLOT;
    else if (sd_path_has_suffix(to, ".csv"))
        *form = FORM_CSV;
    else if (sd_path_has_suffix(to, ".json"))
        *form = FORM_JSON;
    else if (!sd_path_has_suffix(to, ".txt") && strcmp(to, "-") != 0)
        return sd_fail(SD_EUSAGE,
                       "a report is written as .txt, .csv or .json, a plot as .svg, "
                       ".png, .jpeg or .pdf, not %s",
                       to);
    return 0;
}

static int read_plot(const struct sd_option_value *v, struct sd_plot_wish *out)
{
    if (v[OPT_WIDTH].number < PIXELS_MIN || v[OPT_WIDTH].number > PIXELS_MAX ||
        v[OPT_HEIGHT].number < PIXELS_MIN || v[OPT_HEIGHT].number > PIXELS_MAX)
        return sd_fail(SD_EUSAGE, "--width and --height go from %d to %d pixels",
                       PIXELS_MIN, PIXELS_MAX);
    *out = (struct sd_plot_wish){ v[OPT_METRIC].text, (unsigned)v[OPT_WIDTH].number,
                                  (unsigned)v[OPT_HEIGHT].number };
    return 0;
}

static struct sd_filter read_filter(const struct sd_option_value *v)
{
    return (struct sd_filter){
        .from_ns = v[OPT_FROM].number,
        .to_ns = v[OPT_TO].number,
        .track = v[OPT_TRACK].text,
        .section = v[OPT_SECTION].text,
        .match = v[OPT_FILTER].text,
    };
}

static void put_heading(struct sd_out *out, const struct sd_profile *p,
                        const struct sd_command *c)
{
    struct sd_buf words = { 0 };

    sd_summary_words(&words, p);
    sd_out_printf(out, "%s", c->words[0]);
    if (c->n_words > 1)
        sd_out_printf(out, " and %d more", c->n_words - 1);
    sd_out_printf(out, ": %s\n\n", sd_made(out, &words));
    sd_buf_release(&words);
}

static int put_tables(const struct sd_command *c, const struct sd_profile *p,
                      enum form form, struct sd_out *out, int fd)
{
    const struct sd_option_value *v = c->values;
    struct sd_tables_wish wish = { .table = v[OPT_TABLE].text,
                                   .sort = v[OPT_SORT].text,
                                   .limit = (size_t)v[OPT_ROWS].number,
                                   .is_tree = v[OPT_TREE].number != 0,
                                   .is_short = form == FORM_TEXT };
    struct sd_text_style style = sd_style_for(c, fd);
    struct sd_view view = { 0 };
    int rc;

    if (form == FORM_TEXT && !v[OPT_ROWS].is_given)
        wish.limit = TEXT_ROWS;
    rc = sd_tables_of(p, &wish, &view);
    if (rc == 0 && form == FORM_JSON)
        sd_tables_json(out, p, &view, c->words, (size_t)c->n_words);
    else if (rc == 0 && form == FORM_CSV)
        sd_tables_csv(out, &view);
    else if (rc == 0) {
        put_heading(out, p, c);
        sd_tables_text(out, &view, &style);
    }
    sd_view_release(&view);
    return rc;
}

static int write_report(const struct sd_command *c, const struct sd_profile *p,
                        enum form form, const struct sd_plot_wish *plot)
{
    const struct sd_option_value *v = c->values;
    const char *to = v[OPT_OUTPUT].text ? v[OPT_OUTPUT].text : "-";
    struct sd_export_file file;
    int rc =
        sd_export_open(&file, to, v[OPT_FORCE].number ? SD_CREATE_OVER : SD_CREATE_NEW);

    if (rc < 0)
        return rc;
    if (form == FORM_PLOT)
        rc = sd_export_plot(p, plot, to, &file.out);
    else
        rc = put_tables(c, p, form, &file.out, file.fd);
    return sd_export_close(&file, rc);
}

static int run(const struct sd_command *c)
{
    struct sd_filter filter = read_filter(c->values);
    struct sd_plot_wish plot;
    struct sd_profile *p = NULL;
    enum form form = FORM_TEXT;
    int rc = choose_form(c->values, &form);

    if (rc == 0)
        rc = read_plot(c->values, &plot);
    if (rc == 0)
        rc = sd_load(c, (size_t)c->n_words, c->words, &filter, &p);
    if (rc == 0)
        rc = write_report(c, p, form, &plot);
    sd_profile_free(p);
    return rc < 0 ? sd_say_failure(rc) : 0;
}

const struct sd_verb sd_verb_report = {
    .name = "report",
    .group = SD_GROUP_READ,
    .summary = "prints what is in a capture: tables, JSON, CSV, or a plot",
    .usage = "[OPTION...] FILE...",
    .about = "Prints the tables of a capture (\"-\" is stdin): its sections and its "
             "processes; the "
             "readings taken over time with --table series, and in JSON. Several "
             "captures are merged into one report. "
             "A capture that is cut or damaged is reported as far as it goes; what is "
             "missing is said on stderr.\n\n"
             "Times of --from and --to count from the start of the capture: 2s, "
             "500ms, 1.5m; a bare number is seconds.",
    .examples = "sonde report train.sonde\n"
                "sonde report train.sonde -n 5 -s cpu\n"
                "sonde report train.sonde --tree --filter '^train'\n"
                "sonde report train.sonde --plot -o image.png    # memory over time\n"
                "sonde report train.sonde --plot --metric cpu -o cpu.svg\n"
                "sonde report train.sonde --json | jq .summary\n",
    .options = options,
    .run = run,
};
