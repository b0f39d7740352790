/* SPDX-License-Identifier: MIT */
#include "cli/summary.h"

#include <string.h>
#include <unistd.h>

#include "analyse/analyse.h"
#include "base/buf.h"
#include "cli/redact.h"
#include "cli/tables.h"

enum { ROWS = 5 };
/* Of the many columns of the sections' table, those one looks at first. */
static const char *const looked_at[] = { "section", "name",  "count", "calls",   "wall",
                                         "wall_%",  "share", "cpu",   "peak_rss" };

static bool is_looked_at(const char *column)
{
    for (size_t i = 0; i < sizeof looked_at / sizeof looked_at[0]; i++)
        if (strcmp(column, looked_at[i]) == 0)
            return true;
    return false;
}

static void put_sections(const struct sd_command *c, const struct sd_profile *p)
{
    struct sd_text_style style = sd_style_for(c, STDERR_FILENO);
    struct sd_view v = { 0 };
    struct sd_out out;

    sd_out_to_fd(&out, STDERR_FILENO);
    if (sd_analyse_sections(p, &v) == 0 && v.n_tables && v.tables[0].n_rows) {
        struct sd_view_table *t = &v.tables[0];

        t->title = NULL;
        for (size_t i = 0; i < t->n_columns; i++)
            if (!is_looked_at(t->columns[i].name))
                t->columns[i].is_hidden_in_text = true;
        if (sd_view_table_sort(&v, t, "wall", ROWS) == 0)
            sd_report_table_text(&out, t, &style);
    }
    sd_out_flush(&out);
    sd_out_release(&out);
    sd_view_release(&v);
}

void sd_summary_print(const struct sd_command *c, const struct sd_profile *p)
{
    struct sd_buf words = { 0 };

    sd_summary_words(&words, p);
    sd_say("%s", words.bad ? "out of memory for the summary" : sd_buf_string(&words));
    sd_buf_release(&words);
    if (!c->verb->collector) /* whose verb prints its tables on stdout */
        put_sections(c, p);
}

void sd_summary_wrote(const char *capture)
{
    struct sd_buf quoted = { 0 };

    sd_quote_word(&quoted, capture, strlen(capture));
    sd_say("wrote %s %s look at it: sonde report %s", capture,
           sd_speaks_utf8() ? "\u2014" : "-",
           quoted.bad ? capture : sd_buf_string(&quoted));
    sd_buf_release(&quoted);
}
