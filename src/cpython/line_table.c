/* SPDX-License-Identifier: MIT */
#include "cpython/line_table.h"

void sd_line_table_init(struct sd_line_table *it, enum sd_lines_style style,
                        const uint8_t *table, size_t n, int32_t first_line,
                        uint32_t n_code)
{
    *it = (struct sd_line_table){ style, table, table + n, n_code, 0, first_line };
}

/* Lines are added modulo 2^32: a table of a stranger may count past the end. */
static void add_lines(struct sd_line_table *it, int32_t delta)
{
    it->line = (int32_t)((uint32_t)it->line + (uint32_t)delta);
}

static bool emit(struct sd_line_table *it, uint32_t n_bytes, int32_t line,
                 struct sd_line_run *run)
{
    *run = (struct sd_line_run){ it->offset, it->offset + n_bytes, line };
    it->offset += n_bytes;
    return true;
}

/* A pair says how far the run goes that began before, and what to add to the line after
 * it; so the last run has no pair and goes to the end of the code. */
static bool next_lnotab(struct sd_line_table *it, struct sd_line_run *run)
{
    while (it->end - it->at >= 2) {
        uint8_t n_bytes = it->at[0];
        int8_t delta = (int8_t)it->at[1];

        it->at += 2;
        if (n_bytes) {
            emit(it, n_bytes, it->line, run);
            add_lines(it, delta);
            return true;
        }
        add_lines(it, delta);
    }
    if (it->offset >= it->n_code)
        return false;
    return emit(it, it->n_code - it->offset, it->line, run);
}

/* Here a pair describes its own run: add to the line, then so many bytes have it. */
static bool next_range(struct sd_line_table *it, struct sd_line_run *run)
{
    while (it->end - it->at >= 2) {
        uint8_t n_bytes = it->at[0];
        int8_t delta = (int8_t)it->at[1];

        it->at += 2;
        if (delta != -128)
            add_lines(it, delta);
        if (n_bytes)
            return emit(it, n_bytes, delta == -128 ? SD_NO_LINE : it->line, run);
    }
    return false;
}

/* Six bits in each byte, low ones first; bit 6 says that more follow. */
static uint32_t varint(struct sd_line_table *it)
{
    uint32_t v = 0;
    unsigned shift = 0;
    uint8_t b = 0x40;

    while (it->at < it->end && b & 0x40) {
        b = *it->at++;
        if (shift < 32)
            v |= (uint32_t)(b & 0x3f) << shift;
        shift += 6;
    }
    return v;
}

static int32_t signed_varint(struct sd_line_table *it)
{
    uint32_t v = varint(it);

    return v & 1 ? -(int32_t)(v >> 1) : (int32_t)(v >> 1);
}

static void skip(struct sd_line_table *it, size_t n)
{
    size_t left = (size_t)(it->end - it->at);

    it->at += n < left ? n : left;
}

/* The first byte of an entry has bit 7 set, then the kind and the number of
 * instructions; what follows holds lines and columns, of which only the line is kept.
 */
static bool next_location(struct sd_line_table *it, struct sd_line_run *run)
{
    unsigned first, kind;
    bool has_line = true;

    if (it->at >= it->end || !(*it->at & 0x80))
        return false;
    first = *it->at++;
    kind = first >> 3 & 15;
    switch (kind) {
    case 15:
        has_line = false;
        break;
    case 14: /* line, end line, column, end column */
        add_lines(it, signed_varint(it));
        varint(it);
        varint(it);
        varint(it);
        break;
    case 13:
        add_lines(it, signed_varint(it));
        break;
    case 12:
    case 11:
    case 10:
        add_lines(it, (int32_t)kind - 10);
        skip(it, 2);
        break;
    default: /* the same line, columns in one byte */
        skip(it, 1);
        break;
    }
    return emit(it, 2 * ((first & 7) + 1), has_line ? it->line : SD_NO_LINE, run);
}

bool sd_line_table_next(struct sd_line_table *it, struct sd_line_run *run)
{
    switch (it->style) {
    case SD_LINES_LNOTAB:
        return next_lnotab(it, run);
    case SD_LINES_RANGES:
        return next_range(it, run);
    case SD_LINES_LOCATIONS:
        return next_location(it, run);
    }
    return false;
}

bool sd_line_table_fits(enum sd_lines_style style, const uint8_t *table, size_t n,
                        uint32_t n_code)
{
    struct sd_line_table it;
    struct sd_line_run run;
    uint32_t end = 0;

    sd_line_table_init(&it, style, table, n, 1, 0);
    while (sd_line_table_next(&it, &run))
        end = run.to;
    return style == SD_LINES_LNOTAB ? end < n_code : end == n_code;
}

int32_t sd_line_table_find(enum sd_lines_style style, const uint8_t *table, size_t n,
                           int32_t first_line, uint32_t n_code, int64_t offset)
{
    struct sd_line_table it;
    struct sd_line_run run;

    if (offset < 0)
        return first_line;
    sd_line_table_init(&it, style, table, n, first_line, n_code);
    while (sd_line_table_next(&it, &run))
        if (offset < (int64_t)run.to)
            return run.line;
    return SD_NO_LINE;
}
