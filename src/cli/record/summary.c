/* SPDX-License-Identifier: MIT */
#include "cli/record/summary.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyse/analyse.h"
#include "analyse/stacks/call_counts.h"
#include "base/buf.h"
#include "base/redact.h"
#include "base/text.h"
#include "cli/record/compiled_modules.h"
#include "outputs/tables.h"

enum { FUNCTIONS = 10, SECTIONS = 5, INDENT = 3, REFUSALS = 3, WARNINGS = 3 };
/* Of the many columns of these tables, those one looks at first. */
static const char *const looked_at[] = { "self%",   "cum%",     "function", "where",
                                         "section", "count",    "wall",     "share",
                                         "cpu",     "peak_rss", "calls" };

static bool is_looked_at(const char *column)
{
    for (size_t i = 0; i < sizeof looked_at / sizeof looked_at[0]; i++)
        if (strcmp(column, looked_at[i]) == 0)
            return true;
    return false;
}

/* The first rows by `key` (NULL: as they are) of a table that was just made. */
static void put_first_rows(const struct sd_command *c, struct sd_view *v,
                           const char *key, size_t n_rows)
{
    struct sd_text_style style = sd_style_for(c, STDERR_FILENO);
    struct sd_view_table *t = v->n_tables ? &v->tables[0] : NULL;
    struct sd_out out;

    if (!t || t->n_rows == 0)
        return;
    if (sd_view_table_sort(v, t, key, n_rows) < 0)
        return;
    t->title = NULL;
    style.indent = INDENT;
    for (size_t i = 0; i < t->n_columns; i++) {
        struct sd_column *column = &t->columns[i];

        column->is_hidden_in_text |= !is_looked_at(column->name);
        if (strcmp(column->name, "where") == 0)
            column->name = ""; /* a file and a line speak for themselves */
    }
    sd_out_to_fd(&out, STDERR_FILENO);
    sd_report_table_text(&out, t, &style);
    sd_out_flush(&out);
    sd_out_release(&out);
}

static void put_functions(const struct sd_command *c, const struct sd_profile *p,
                          bool folds_imports)
{
    struct sd_stacks_request request = { .choice = { .folds_imports = folds_imports } };
    struct sd_buf why = { 0 };
    struct sd_view v = { 0 };
    int rc = 0;

    if (sd_profile_has(p, SD_SAMPLES) && sd_views_by_cpu(p, &request.choice, &why)) {
        request.choice.metric = "cpu";
        sd_say("%s", why.bad ? "shares are of CPU time" : sd_buf_string(&why));
    }
    if (sd_profile_has_stacks(p))
        rc = sd_analyse_functions(p, &request, &v);
    if (rc == 0)
        put_first_rows(c, &v, sd_profile_has(p, SD_SAMPLES) ? NULL : "self%",
                       FUNCTIONS);
    sd_view_release(&v);
    sd_buf_release(&why);
}

static void put_hint(const struct sd_profile *p)
{
    struct sd_buf hint = { 0 };

    sd_compiled_modules_hint(p, &hint);
    if (hint.n > 0 && !hint.bad)
        sd_say("%s", sd_buf_string(&hint));
    sd_buf_release(&hint);
}

static void put_sections(const struct sd_command *c, const struct sd_profile *p)
{
    static const struct sd_view_request all;
    struct sd_view v = { 0 };

    if (sd_section_tables_view(p, &all, &v) == 0)
        put_first_rows(c, &v, "wall", SECTIONS);
    sd_view_release(&v);
}

/* What is less than was asked for, though nothing is lost. */
static void say_warnings(const struct sd_profile *p)
{
    int n = 0;

    for (size_t i = 0; i < p->n_notes && n < WARNINGS; i++)
        if (p->notes[i].kind == SD_NOTE_WARNING) {
            sd_say("%s", p->notes[i].text);
            n++;
        }
}

void sd_summary_print(const struct sd_recording *r, const struct sd_profile *p,
                      bool folds_imports)
{
    struct sd_sample_account account;
    struct sd_buf words = { 0 };

    sd_summary_account(r, p, &account);
    if (r->has_sampled)
        sd_summary_say_causes(r, &account, "--sample-consistency");
    if (account.lost || account.partial)
        sd_summary_say_account(&account);
    sd_tables_summary_words(&words, p, false); /* the account says it */
    sd_say("%s", words.bad ? "out of memory for the summary" : sd_buf_string(&words));
    sd_buf_release(&words);
    say_warnings(p);
    if (r->command->verb->collector) /* its verb prints its tables on stdout */
        return;
    put_functions(r->command, p, folds_imports);
    put_hint(p);
    put_sections(r->command, p);
}

void sd_summary_account(const struct sd_recording *r, const struct sd_profile *p,
                        struct sd_sample_account *out)
{
    const struct sd_sample_counts *n = &r->sampled.counts;
    uint64_t unwritten = p ? 0 : r->sampled.unwritten;

    *out = (struct sd_sample_account){ .samples = n->samples - unwritten,
                                       .missed = n->missed,
                                       .lost = n->lost + unwritten,
                                       .partial = n->partial,
                                       .idle = n->idle };
    if (p)
        sd_account_settle(out, p);
}

void sd_summary_say_account(const struct sd_sample_account *a)
{
    char samples[SD_TEXT_MAX], missed[SD_TEXT_MAX], lost[SD_TEXT_MAX];
    char partial[SD_TEXT_MAX], idle[SD_TEXT_MAX];

    sd_say("%s samples (%s missed, %s lost, %s partial, %s idle)",
           sd_text_count(samples, (int64_t)a->samples),
           sd_text_count(missed, (int64_t)a->missed),
           sd_text_count(lost, (int64_t)a->lost),
           sd_text_count(partial, (int64_t)a->partial),
           sd_text_count(idle, (int64_t)a->idle));
}

/* Percent of the rounds that may come too late before it is worth a sentence. */
enum { MISSED_PERCENT = 5 };

static bool has_missed_many(const struct sd_sample_counts *n)
{
    return n->missed * 100 > (n->missed + n->rounds) * MISSED_PERCENT;
}

static void say_missed(const struct sd_sample_counts *n)
{
    char missed[SD_TEXT_MAX], all[SD_TEXT_MAX];

    sd_say("%s of %s sampling rounds %s missed, because other programs kept the CPUs "
           "busy or a round took too long; use a lower rate, or stop other programs",
           sd_text_count(missed, (int64_t)n->missed),
           sd_text_count(all, (int64_t)(n->missed + n->rounds)),
           n->missed == 1 ? "was" : "were");
}

static void say_apart(const struct sd_sample_counts *n, const char *option)
{
    char apart[SD_TEXT_MAX];

    if (n->apart == 0)
        return;
    sd_say("%s %s read from a CPU other than the program's, because sonde may "
           "not run there (taskset, cpuset): those that changed meanwhile end in "
           "[partial]. Give sonde the same CPUs, or use %s pause",
           sd_text_count(apart, (int64_t)n->apart),
           n->apart == 1 ? "stack was" : "stacks were", option);
}

/* "1 sample is", "2 samples are" */
static const char *samples_are(char out[2 * SD_TEXT_MAX], uint64_t n)
{
    char number[SD_TEXT_MAX];

    snprintf(out, 2 * SD_TEXT_MAX, "%s %s", sd_text_count(number, (int64_t)n),
             n == 1 ? "sample is" : "samples are");
    return out;
}

void sd_summary_say_causes(const struct sd_recording *r,
                           const struct sd_sample_account *a, const char *option)
{
    const struct sd_sample_counts *n = &r->sampled.counts;
    char number[SD_TEXT_MAX], text[2 * SD_TEXT_MAX];

    if (has_missed_many(n))
        say_missed(n);
    if (n->spared)
        sd_say("%s samples were skipped: reading such a deep stack each time would "
               "take more than 5 %% of the program's time",
               sd_text_count(number, (int64_t)n->spared));
    if (has_missed_many(n) || n->spared)
        sd_say("fewer samples were taken than asked for, but times are still right: "
               "each sample counts for all the time since the previous one");
    say_apart(n, option);
    if (n->lost)
        sd_say("%s lost because the stack changed at every try to read it; to avoid "
               "this use %s pause, which stops the thread for each read",
               samples_are(text, n->lost), option);
    if (a->lost > n->lost)
        sd_say("%s lost because sonde could not write %s to the capture",
               samples_are(text, a->lost - n->lost),
               a->lost - n->lost == 1 ? "it" : "them");
}

size_t sd_summary_refusals(const struct sd_profile *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_notes; i++) {
        if (p->notes[i].kind != SD_NOTE_REFUSAL)
            continue;
        if (n++ < REFUSALS)
            sd_say("%s", p->notes[i].text);
    }
    if (n > REFUSALS)
        sd_say("%zu more processes were not measured; sonde info lists them",
               n - REFUSALS);
    return n;
}

void sd_summary_wrote(const char *capture, const char *verb)
{
    struct sd_buf quoted = { 0 };

    sd_quote_word(&quoted, capture, strlen(capture));
    sd_say("wrote %s %s look at it: sonde %s %s", capture,
           sd_speaks_utf8() ? "\u2014" : "-", verb,
           quoted.bad ? capture : sd_buf_string(&quoted));
    sd_buf_release(&quoted);
}

void sd_summary_wrote_export(const char *file)
{
    if (strcmp(file, "-") != 0)
        sd_say("wrote %s", file);
}
