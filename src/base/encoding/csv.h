/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_ENCODING_CSV_H
#define SD_BASE_ENCODING_CSV_H
/* csv: writes one text cell as RFC 4180 has it, safe to open in a spreadsheet.
 *
 * A spreadsheet takes a cell that begins with = + - @ for a formula, and names come
 * from strangers: such a cell gets a ' before it.  Unprintable characters are escaped
 * as on a terminal, so the file may be shown there too and is always UTF-8.  Numbers
 * need none of this and are printed as they are. */
#include <stddef.h>

#include "base/out.h"

void sd_csv_text(struct sd_out *out, const char *s, size_t n);
#endif
