/* SPDX-License-Identifier: MIT */
#include "ext/sections/columns.h"

const char *const sd_words[SD_N_WORDS] = {
#define WORD(id, text) text,
#include "ext/sections/words.def"
#undef WORD
};

enum shape {
    SIZE,
    SIZE_GAIN,
    SECONDS,
    LASTED,
    COUNT,
    WORD_SIZE,
    WORD_KIND,
    WORD_SECONDS,
};

static const struct {
    enum shape shape;
    enum sd_field a, b;
} sources[SD_N_COLUMNS] = {
#define COLUMN(id, group, name, shape, a, b) { shape, SD_FIELD_##a, SD_FIELD_##b },
#include "ext/sections/columns.def"
#undef COLUMN
};

#define GROUP_NAME_MEMORY "memory:"
#define GROUP_NAME_TIME "time:"
#define GROUP_NAME_IO "io:"
#define GROUP_NAME_NETWORK "network:"
#define CELL_OF_SIZE SD_FIGURE_REAL
#define CELL_OF_SIZE_GAIN SD_FIGURE_REAL
#define CELL_OF_SECONDS SD_FIGURE_REAL
#define CELL_OF_LASTED SD_FIGURE_REAL
#define CELL_OF_COUNT SD_FIGURE_COUNT
#define CELL_OF_WORD_SIZE SD_FIGURE_WORD
#define CELL_OF_WORD_KIND SD_FIGURE_WORD
#define CELL_OF_WORD_SECONDS SD_FIGURE_WORD

const struct sd_column_about sd_columns[SD_N_COLUMNS] = {
#define COLUMN(id, group, name, shape, a, b)                                           \
    { GROUP_NAME_##group name, name, SD_GROUP_##group, CELL_OF_##shape },
#include "ext/sections/columns.def"
#undef COLUMN
};

double sd_column_unit_bytes(enum sd_size_unit unit)
{
    return unit < SD_N_SIZE_UNITS ? (double)(1ull << (10u * (unsigned)unit)) : 1;
}

bool sd_column_is_shown(const struct sd_store *s, enum sd_interval_column column)
{
    return column != SD_COL_PSS || (s->measure & SD_MEASURE_PSS);
}

static struct sd_figure real(double v)
{
    return (struct sd_figure){ .kind = SD_FIGURE_REAL, .real = v };
}

/* Wraps where a pickle holds what no clock shows. */
static double less(int64_t b, int64_t a)
{
    return (double)(int64_t)((uint64_t)b - (uint64_t)a);
}

/* The nth of n words; a row that came from elsewhere may not know its own. */
static struct sd_figure word(unsigned first, unsigned which, unsigned n)
{
    if (which >= n)
        return (struct sd_figure){ .kind = SD_FIGURE_NONE };
    return (struct sd_figure){ .kind = SD_FIGURE_WORD, .word = first + which };
}

struct sd_figure sd_column_cell(const struct sd_store *s, const struct sd_row *row,
                                enum sd_interval_column column)
{
    static const struct sd_figure none = { .kind = SD_FIGURE_NONE };
    enum shape shape = sources[column].shape;
    enum sd_field a_field = sources[column].a;
    int64_t a, b;

    /* A word is as true of an open interval as of a finished one, but has no sense
     * beside numbers that were not asked for. */
    if (sd_columns[column].kind == SD_FIGURE_WORD && s->at[a_field] < 0)
        return none;
    a = sd_store_get(s, row, a_field);
    b = sd_store_get(s, row, sources[column].b);
    if (sd_columns[column].kind != SD_FIGURE_WORD &&
        (a == SD_VALUE_NONE || b == SD_VALUE_NONE))
        return none;
    switch (shape) {
    case SIZE:
        return real((double)a / sd_column_unit_bytes(row->unit));
    case SIZE_GAIN:
        return real(less(b, a) / sd_column_unit_bytes(row->unit));
    case SECONDS:
        return real((double)a / 1e9);
    case LASTED:
        return real(less(b, a) / 1e9);
    case COUNT:
        return (struct sd_figure){ .kind = SD_FIGURE_COUNT, .count = a };
    case WORD_SIZE:
        return word(SD_WORD_BYTES, row->unit, SD_N_SIZE_UNITS);
    case WORD_KIND:
        return word(SD_WORD_WALL, row->kind, SD_N_KINDS);
    case WORD_SECONDS:
        return word(SD_WORD_SECONDS, 0, row->kind < SD_N_KINDS);
    }
    return none;
}
