/* SPDX-License-Identifier: MIT */
/* report_asked: what was typed, understood. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/path.h"
#include "cli/report.h"

enum {
    PIXELS_MIN = 100,
    PIXELS_MAX = 20000,
    PLOT_WIDTH = 1000,
    FLAME_WIDTH = 1200,
    TEXT_ROWS = 20,
};
/* As text a tree goes without its smallest twigs. */
#define TEXT_LEAST_PERCENT 0.5

/* --- The form */

static int picture_form(const char *to, enum sd_report_form *form)
{
    enum sd_picture kind;

    if (!to)
        return *form == SD_FORM_FLAME
                   ? sd_fail(SD_EUSAGE, "--flame wants a file: --flame -o flame.svg")
                   : sd_fail(
                         SD_EUSAGE,
                         "--plot wants a picture to draw into: --plot -o image.png");
    if (*form == SD_FORM_FLAME && strcmp(to, "-") != 0 &&
        (!sd_picture_of(to, &kind) || kind != SD_PICTURE_SVG))
        return sd_fail(SD_EUSAGE, "a flame graph is an .svg file, not %s", to);
    return 0;
}

static int form_of_suffix(const char *to, enum sd_report_form *form)
{
    enum sd_picture kind;

    if (sd_picture_of(to, &kind))
        *form = kind == SD_PICTURE_SVG ? SD_FORM_PICTURE : SD_FORM_PLOT;
    else if (sd_path_has_suffix(to, ".csv"))
        *form = SD_FORM_CSV;
    else if (sd_path_has_suffix(to, ".json"))
        *form = SD_FORM_JSON;
    else if (!sd_path_has_suffix(to, ".txt") && strcmp(to, "-") != 0)
        return sd_fail(SD_EUSAGE,
                       "a report is written as .txt, .csv or .json, a flame graph as "
                       ".svg, a plot as .svg, .png, .jpeg or .pdf, not %s",
                       to);
    return 0;
}

/* What is asked for by flags and by the suffix of -o must not contradict. */
static int choose_form(const struct sd_option_value *v, enum sd_report_form *form)
{
    const char *to = v[SD_REPORT_OUTPUT].text;

    if (v[SD_REPORT_CSV].number + v[SD_REPORT_JSON].number + v[SD_REPORT_PLOT].number +
            v[SD_REPORT_FLAME].number >
        1)
        return sd_fail(SD_EUSAGE, "choose one of --csv, --json, --flame and --plot");
    *form = v[SD_REPORT_CSV].number     ? SD_FORM_CSV
            : v[SD_REPORT_JSON].number  ? SD_FORM_JSON
            : v[SD_REPORT_FLAME].number ? SD_FORM_FLAME
            : v[SD_REPORT_PLOT].number  ? SD_FORM_PLOT
                                        : SD_FORM_TEXT;
    if (to && sd_path_has_suffix(to, ".sonde")) /* with --json, too */
        return form_of_suffix(to, form);
    if (*form == SD_FORM_FLAME || *form == SD_FORM_PLOT)
        return picture_form(to, form);
    return to && *form == SD_FORM_TEXT ? form_of_suffix(to, form) : 0;
}

/* With --scaling a picture is that of growth. */
static int choose_growth(const struct sd_option_value *v, enum sd_report_form *form)
{
    if (!v[SD_REPORT_SCALING].number)
        return 0;
    if (v[SD_REPORT_FLAME].number || v[SD_REPORT_PLOT].number)
        return sd_fail(SD_EUSAGE,
                       "--scaling has a picture of its own: --scaling -o growth.svg");
    if (*form == SD_FORM_PICTURE || *form == SD_FORM_PLOT)
        *form = SD_FORM_GROWTH;
    return 0;
}

static int check_pixels(const struct sd_option_value *v)
{
    if (v->is_given && (v->number < PIXELS_MIN || v->number > PIXELS_MAX))
        return sd_fail(SD_EUSAGE, "--width and --height go from %d to %d pixels",
                       PIXELS_MIN, PIXELS_MAX);
    return 0;
}

/* --- Pictures and tables */

static int read_pictures(struct sd_asked *a)
{
    const struct sd_option_value *v = a->v;
    bool has_width = v[SD_REPORT_WIDTH].is_given;
    int rc = check_pixels(&v[SD_REPORT_WIDTH]);

    if (rc == 0)
        rc = check_pixels(&v[SD_REPORT_HEIGHT]);
    a->plot = (struct sd_plot_wish){
        v[SD_REPORT_METRIC].text ? v[SD_REPORT_METRIC].text : "rss",
        has_width ? (unsigned)v[SD_REPORT_WIDTH].number : PLOT_WIDTH,
        (unsigned)v[SD_REPORT_HEIGHT].number,
    };
    a->flame_width = has_width ? (unsigned)v[SD_REPORT_WIDTH].number : FLAME_WIDTH;
    return rc;
}

/* "10" rows, or "0.1" of them. */
static int read_rows(const char *word, struct sd_tables_wish *wish)
{
    uint64_t n;
    char *end;
    double fraction;

    if (sd_text_parse_number(word, &n)) {
        wish->limit = (size_t)n;
        return 0;
    }
    fraction = strtod(word, &end);
    if (end == word || *end || !(fraction > 0 && fraction <= 1))
        return sd_fail(SD_EUSAGE,
                       "-n takes a number of rows or a fraction of them such as 0.1, "
                       "not \"%s\"",
                       word);
    wish->fraction = fraction;
    return 0;
}

static void add_name(struct sd_asked *a, bool is_wanted, const char *name)
{
    if (is_wanted)
        sd_buf_printf(&a->names, "%s%s", a->names.n ? "," : "", name);
}

/* --table and the flags that name tables add up. */
static int choose_tables(struct sd_asked *a)
{
    const struct sd_option_value *v = a->v;

    add_name(a, v[SD_REPORT_TABLE].text != NULL, v[SD_REPORT_TABLE].text);
    add_name(a, v[SD_REPORT_LINES].number != 0, "lines");
    add_name(a, v[SD_REPORT_CALLERS].is_given, "callers");
    add_name(a, v[SD_REPORT_CALLEES].is_given, "callees");
    add_name(a, v[SD_REPORT_THREADS].number != 0, "threads");
    add_name(a, v[SD_REPORT_IMPORTS].number != 0, "imports");
    add_name(a, v[SD_REPORT_SCALING].number != 0,
             a->form == SD_FORM_JSON ? "scaling,scaling_points" : "scaling");
    if (a->names.bad)
        return sd_no_memory();
    a->tables.table =
        a->names.n || v[SD_REPORT_TABLE].text ? sd_buf_string(&a->names) : NULL;
    return 0;
}

/* `--callers RE` without "=": the RE came out as a word, and names no file. */
static const char *take_word(struct sd_asked *a)
{
    for (int i = a->n_words - 1; i >= 0 && a->n_words > 1; i--) {
        const char *word = a->words[i];

        if (strcmp(word, "-") == 0 || sd_path_exists(word))
            continue;
        memmove(a->words + i, a->words + i + 1,
                (size_t)(--a->n_words - i) * sizeof *a->words);
        return word;
    }
    return NULL;
}

static void read_side(struct sd_asked *a, const struct sd_option_value *side)
{
    if (!side->is_given)
        return;
    if (*side->text)
        a->tables.match = side->text;
    else if (!a->tables.match)
        a->tables.match = take_word(a);
}

static int read_tables(struct sd_asked *a)
{
    const struct sd_option_value *v = a->v;

    a->tables = (struct sd_tables_wish){
        .sort = v[SD_REPORT_SORT].text,
        .limit = a->form == SD_FORM_TEXT ? TEXT_ROWS : 0,
        .is_tree = v[SD_REPORT_TREE].number != 0,
        .is_short = a->form == SD_FORM_TEXT,
        .samples = { .metric = v[SD_REPORT_METRIC].text,
                     .has_idle = v[SD_REPORT_IDLE].number != 0,
                     .is_gil_only = v[SD_REPORT_GIL].number != 0,
                     .is_mine = v[SD_REPORT_MINE].number != 0 },
        .least_percent = a->form == SD_FORM_TEXT ? TEXT_LEAST_PERCENT : 0,
        .by = strcmp(v[SD_REPORT_BY].text, "line") == 0     ? SD_CALLS_BY_LINE
              : strcmp(v[SD_REPORT_BY].text, "module") == 0 ? SD_CALLS_BY_MODULE
                                                            : SD_CALLS_BY_FUNCTION,
        .is_raw = v[SD_REPORT_RAW].number != 0,
        .is_cpu = v[SD_REPORT_CPU].number != 0,
        .has_both = true,
        .has_pstats = a->form == SD_FORM_TEXT,
        .rows = v[SD_REPORT_MATCH].text,
    };
    read_side(a, &v[SD_REPORT_CALLERS]);
    read_side(a, &v[SD_REPORT_CALLEES]);
    a->flame = (struct sd_flame_wish){ .choice = a->tables.samples,
                                       .by = a->tables.by,
                                       .has_threads = v[SD_REPORT_THREADS].number != 0,
                                       .search = v[SD_REPORT_MATCH].text };
    if (v[SD_REPORT_ROWS].text && read_rows(v[SD_REPORT_ROWS].text, &a->tables) < 0)
        return SD_EUSAGE;
    return choose_tables(a);
}

static struct sd_filter read_filter(const struct sd_option_value *v)
{
    return (struct sd_filter){
        .from_ns = v[SD_REPORT_FROM].number,
        .to_ns = v[SD_REPORT_TO].number,
        .track = v[SD_REPORT_TRACK].text,
        .section = v[SD_REPORT_SECTION].text,
        .match = v[SD_REPORT_FILTER].text,
    };
}

static int check_times(const struct sd_option_value *v)
{
    if (v[SD_REPORT_TO].is_given && v[SD_REPORT_TO].number <= v[SD_REPORT_FROM].number)
        return sd_fail(SD_EUSAGE, "--to must be later than --from");
    return 0;
}

int sd_asked_read(struct sd_asked *a, const struct sd_command *c)
{
    int rc;

    *a = (struct sd_asked){
        .command = c, .v = c->values, .words = c->words, .n_words = c->n_words
    };
    a->filter = read_filter(a->v);
    rc = check_times(a->v);
    if (rc == 0)
        rc = choose_form(a->v, &a->form);
    if (rc == 0)
        rc = choose_growth(a->v, &a->form);
    if (rc == 0)
        rc = read_pictures(a);
    return rc < 0 ? rc : read_tables(a);
}

void sd_asked_release(struct sd_asked *a) { sd_buf_release(&a->names); }
