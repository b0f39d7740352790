/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_STACKS_IMPORT_ROWS_H
#define SD_ANALYSE_STACKS_IMPORT_ROWS_H
/* import_rows: finds which stacks are part of an import, and of which module.
 *
 * One `import numpy` runs hundreds of functions, most of them importlib's.  Tables of
 * functions show it as one row, `import numpy`: everything from the first function of
 * importlib on, nested imports included, belongs to the import that the program itself
 * asked for.
 *
 * Stacks do not hold the name that was asked for.  It is that of the first module whose
 * body runs below importlib.  While a module is searched, read or compiled no body runs
 * yet, and none ever does of a module in C: then the line of the importer decides, when
 * all that is known of it is one module (its packages count as it).  Otherwise the row
 * is `import at line 3`, or where lines are not known (traced calls) `import (finding
 * and loading)`.  What the interpreter imports before there is a program is `start of
 * Python`.
 *
 * Sonde's own start, the sitecustomize that `sonde run` puts on the path, is marked
 * here, too: it is in no table. */
#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "profile/profile.h"

/* What a function is to an import. */
enum sd_import_part {
    SD_IMPORT_NO_PART,
    SD_IMPORT_ENTRY,   /* of importlib: called by who imports */
    SD_IMPORT_INSIDE,  /* of importlib: an entry only where nobody called it */
    SD_IMPORT_BODY,    /* of a module */
    SD_IMPORT_STARTUP, /* of Sonde itself */
};
/* `file` may be NULL. */
enum sd_import_part sd_import_part_of(const char *function, const char *file);
/* Writes the name of the module in `file`: "json.decoder".  What lies beside or below
 * the program's own file (`script`, or NULL) is named from there on. */
void sd_import_module(struct sd_buf *to, const char *file, const char *script);
/* Of two names of rows: is "import xml" a package of "import xml.dom"? */
bool sd_import_is_package_of(const char *package, const char *module);
/* The row of an import of which no module is known; `line` is the importer's, or 0. */
#define SD_IMPORT_START "start of Python"
void sd_import_put_unknown(struct sd_buf *to, bool has_importer, uint32_t line);

struct sd_import_row {
    const char *name;    /* "import json" */
    sd_site_id importer; /* SD_NO_SITE: the interpreter itself, as it starts */
    uint32_t line;       /* of the importer, of the first such stack; 0: not known */
};

struct sd_import_rows {         /* all zero is a released one */
    struct sd_import_row *rows; /* owned */
    size_t n, cap;
    uint32_t *row_of;   /* owned; by stack; UINT32_MAX: not part of an import */
    uint32_t *importer; /* owned; by stack that is: the stack that imports, or
                           UINT32_MAX */
    bool *is_body;      /* owned; by stack: the body that its row is named after */
    bool *is_startup;   /* owned; by stack: Sonde's own start; NULL: none is */
    struct sd_arena arena;
};

/* Marks Sonde's own start, and with `has_rows` finds the imports: 0 or SD_ENOMEM, and
 * then it is released. */
int sd_import_rows_make(const struct sd_profile *p, bool has_rows,
                        struct sd_import_rows *out);
void sd_import_rows_release(struct sd_import_rows *r);
#endif
