/* SPDX-License-Identifier: MIT */
#ifndef SD_REPORT_TEXT_CODE_TEXT_H
#define SD_REPORT_TEXT_CODE_TEXT_H
/* code_text: reads the lines of a Python file, and finds which of them belong to a
 * function.
 *
 * Lines are UTF-8 and end at \n, \r or \r\n, as Python reads them.  A file that says it
 * is Latin-1 is turned into UTF-8; bytes that are none stay, and whoever shows them
 * escapes them. */
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/out.h"

struct sd_code_text { /* all zero is an empty one */
    struct sd_buf text;
    size_t *starts; /* owned; of each line in `text` */
    size_t n, cap;
};

struct sd_code_text_line {
    const char *p; /* without what ends it */
    size_t n;
};

/* Reads the file, which may lie in a zip archive ("/there/app.zip/mod.py"): 1, or 0
 * when there is none that can be read. */
int sd_code_text_read(struct sd_code_text *s, const char *path);
/* The same of bytes that are at hand. */
int sd_code_text_take(struct sd_code_text *s, const char *p, size_t n);
/* Of text that somebody has made UTF-8 of already, whatever it says of its coding. */
int sd_code_text_take_utf8(struct sd_code_text *s, const char *p, size_t n);
void sd_code_text_release(struct sd_code_text *s);

/* A line by its number, from 1 on; empty beyond the end. */
struct sd_code_text_line sd_code_text_line(const struct sd_code_text *s,
                                           uint64_t number);

/* How many lines the block has that begins at line `first`, as inspect.getblock of
 * Python finds it: up to the end of the first def, class or lambda there, decorators
 * before it included; at least one, unless `first` is beyond the end. */
size_t sd_code_block(const struct sd_code_text *s, uint64_t first);

/* The extent of a code object, by its name and its line `first`: how many lines belong
 * to it.  A module has all that follow, and everything else its block.  0: there is no
 * source, or `first` is beyond its end. */
size_t sd_code_block_extent(const struct sd_code_text *s, const char *name,
                            size_t n_name, uint64_t first);

/* No table of a function has more lines, whatever a file says that is not ours. */
enum { SD_CODE_LINES_MAX = 1 << 20 };

/* Source may hold anything: only its tabs and form feeds are let by, and what else a
 * terminal must not get is shown as \x1b. */
void sd_code_text_put(struct sd_out *out, const char *p, size_t n);
#endif
