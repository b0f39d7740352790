/* SPDX-License-Identifier: MIT */
/* table_csv: writes a table as CSV (RFC 4180) with raw numbers.  Times are nanoseconds,
 * sizes bytes. */
#include <string.h>

#include "base/encoding/csv.h"
#include "base/text.h"
#include "report/report.h"

static void put_cell(struct sd_out *out, const struct sd_cell *c)
{
    char text[SD_TEXT_MAX];

    switch (c->kind) {
    case SD_CELL_TEXT:
        sd_csv_text(out, c->text, strlen(c->text));
        return;
    case SD_CELL_COUNT:
    case SD_CELL_NS:
    case SD_CELL_BYTES:
        sd_out_printf(out, "%lld", (long long)c->number);
        return;
    case SD_CELL_PERCENT:
    case SD_CELL_REAL:
        sd_out_text(out, sd_text_real(text, c->real));
        return;
    case SD_CELL_NONE:
        return;
    }
}

void sd_report_table_csv(struct sd_out *out, const struct sd_view_table *t)
{
    for (size_t k = 0; k < t->n_columns; k++) {
        sd_out_text(out, k ? "," : "");
        sd_csv_text(out, t->columns[k].name, strlen(t->columns[k].name));
    }
    sd_out_text(out, "\r\n");
    for (size_t i = 0; i < t->n_rows; i++) {
        for (size_t k = 0; k < t->n_columns; k++) {
            sd_out_text(out, k ? "," : "");
            put_cell(out, sd_view_cell(t, i, k));
        }
        sd_out_text(out, "\r\n");
    }
}
