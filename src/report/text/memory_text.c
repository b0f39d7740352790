/* SPDX-License-Identifier: MIT */
#include "report/text/memory_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/plain_locale.h"
#include "report/text/code_files.h"

enum { CELL = 40 }; /* bytes of one number's text */

static void put_mib(char *to, int64_t bytes, unsigned precision)
{
    snprintf(to, CELL, "%*.*f MiB", (int)precision + 4, (int)precision,
             (double)bytes / (1024 * 1024));
}

/* The row of the def has no hits: what it shows is all that was there when the function
 * was entered. */
static void put_row(struct sd_out *out, uint32_t line,
                    const struct sd_line_list_row *row, struct sd_code_text_line text,
                    unsigned precision)
{
    char memory[CELL] = "", grew[CELL] = "", times[CELL] = "";

    if (row && row->values[SD_LINE_MEMORY] != SD_LINE_NONE) {
        const int64_t *v = row->values;
        bool is_entry = v[SD_LINE_HITS] == 0;

        put_mib(memory, v[SD_LINE_MEMORY], precision);
        put_mib(grew, is_entry ? v[SD_LINE_MEMORY] : v[SD_LINE_INCREMENT], precision);
        snprintf(times, sizeof times, "%" PRId64,
                 is_entry ? v[SD_LINE_READ] : v[SD_LINE_HITS]);
    }
    sd_out_printf(out, "%6" PRIu32 " %12s %12s  %10s   ", line, memory, grew, times);
    sd_code_text_put(out, text.p, text.n);
    sd_out_text(out, "\n");
}

/* How many lines are shown: those of the source, and up to the last number that ran,
 * which may be anything where the file has changed or is not there. */
static size_t count_lines(const struct sd_line_list_function *f,
                          const struct sd_code_text *source)
{
    size_t n = sd_code_block_extent(source, f->name, strlen(f->name), f->first);
    uint32_t last = f->n_rows ? f->rows[f->n_rows - 1].line : f->first;
    size_t least = last > f->first ? (size_t)(last - f->first) + 1 : 1;

    least = least < SD_CODE_LINES_MAX ? least : SD_CODE_LINES_MAX;
    return n > least ? n : least;
}

static void put_function(struct sd_out *out, const struct sd_line_list_function *f,
                         const struct sd_code_text *source, unsigned precision)
{
    static const char heading[] =
        "Line #    Mem usage    Increment  Occurrences   Line Contents";
    const char *shown = f->shown ? f->shown : f->file;
    size_t n = count_lines(f, source), at = 0;

    sd_out_text(out, "Filename: ");
    sd_code_text_put(out, shown, strlen(shown));
    sd_out_printf(out, "\n\n%s\n", heading);
    for (size_t i = 1; i < sizeof heading; i++)
        sd_out_text(out, "=");
    sd_out_text(out, "\n");
    for (uint64_t line = f->first; line < (uint64_t)f->first + n; line++) {
        while (at < f->n_rows && f->rows[at].line < line)
            at++;
        put_row(out, (uint32_t)line,
                at < f->n_rows && f->rows[at].line == line ? &f->rows[at] : NULL,
                sd_code_text_line(source, line), precision);
    }
    sd_out_text(out, "\n\n");
}

int sd_report_line_memory(const struct sd_line_list *l, unsigned precision,
                          struct sd_out *out)
{
    struct sd_code_files sources = { 0 };
    struct sd_plain_locale locale;
    int rc = 0;

    sd_plain_locale_enter(&locale);
    for (size_t i = 0; i < l->n && rc >= 0; i++) {
        const struct sd_code_text *source;

        rc = sd_code_files_find_in(&sources, l->functions[i].file, l->functions[i].text,
                                   &source);
        if (rc >= 0)
            put_function(out, &l->functions[i], source, precision);
    }
    sd_plain_locale_leave(&locale);
    sd_code_files_release(&sources);
    return rc < 0 ? rc : 0;
}
