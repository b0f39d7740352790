/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_SECTIONS_COLUMNS_H
#define SD_EXT_SECTIONS_COLUMNS_H
/* columns: converts a row of the store to what users see: their units, amltk's names.
 *
 * The store holds bytes and nanoseconds; here and nowhere else they become megabytes
 * and seconds.  Knows nothing of Python: objects, data frames and Arrow all start
 * from these cells. */
#include <stdbool.h>
#include <stdint.h>

#include "collect/sections/store.h"

enum sd_interval_column {
#define COLUMN(id, group, name, shape, a, b) SD_COL_##id,
#include "ext/sections/columns.def"
#undef COLUMN
    SD_N_COLUMNS,
};

enum sd_word {
#define WORD(id, text) SD_WORD_##id,
#include "ext/sections/words.def"
#undef WORD
    SD_N_WORDS,
};
extern const char *const sd_words[SD_N_WORDS];

enum sd_column_group {
    SD_GROUP_MEMORY,
    SD_GROUP_TIME,
    SD_GROUP_IO,
    SD_GROUP_NETWORK,
    SD_N_GROUPS,
};

enum sd_figure_kind { SD_FIGURE_NONE, SD_FIGURE_REAL, SD_FIGURE_COUNT, SD_FIGURE_WORD };

struct sd_figure {
    enum sd_figure_kind kind; /* NONE: not measured, or not over yet */
    union {
        double real;
        int64_t count;
        enum sd_word word;
    };
};

struct sd_column_about {
    const char *name;  /* "memory:start_vms" */
    const char *field; /* "start_vms" */
    enum sd_column_group group;
    enum sd_figure_kind kind;
};
extern const struct sd_column_about sd_columns[SD_N_COLUMNS];

struct sd_figure sd_column_cell(const struct sd_store *s, const struct sd_row *row,
                                enum sd_interval_column column);
/* Is it a column of this store's tables?  PSS is, only where it was asked for. */
bool sd_column_is_shown(const struct sd_store *s, enum sd_interval_column column);

double sd_column_unit_bytes(enum sd_size_unit unit); /* 1, 1024, ... */
#endif
