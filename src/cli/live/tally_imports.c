/* SPDX-License-Identifier: MIT */
/* tally_imports: finds which frames of a stack are one import
 * (analyse/stacks/import_rows.h), from this stack and those before it. */
#include <string.h>

#include "analyse/stacks/import_rows.h"
#include "cli/live/tally.h"

#define NO_ROW UINT32_MAX

static enum sd_import_part part_at(const struct sd_tally *t, size_t i)
{
    uint32_t row = t->frames.rows[i];

    return row == NO_ROW ? SD_IMPORT_NO_PART
                         : (enum sd_import_part)t->functions.items[row].part;
}

/* Sonde's own start, and not the user's own sitecustomize below it. */
static bool is_startup(const struct sd_tally *t)
{
    for (size_t i = 0; i < t->frames.n; i++) {
        enum sd_import_part part = part_at(t, i);

        if (part == SD_IMPORT_STARTUP || part == SD_IMPORT_BODY)
            return part == SD_IMPORT_STARTUP;
    }
    return false;
}

/* The frame with which the outermost import begins, or n. */
static size_t find_entry(const struct sd_tally *t)
{
    size_t n = t->frames.n;

    for (size_t i = n; i-- > 0;)
        if (part_at(t, i) == SD_IMPORT_ENTRY ||
            (i == n - 1 && part_at(t, i) == SD_IMPORT_INSIDE))
            return i;
    return n;
}

/* The first body below it, or n. */
static size_t find_body(const struct sd_tally *t, size_t entry)
{
    for (size_t i = entry; i-- > 0;)
        if (part_at(t, i) == SD_IMPORT_BODY)
            return i;
    return t->frames.n;
}

static const char *file_at(const struct sd_tally *t, size_t i)
{
    return t->functions.items[t->frames.rows[i]].file;
}

static const char *find_script(const struct sd_tally *t, size_t entry)
{
    for (size_t i = t->frames.n; i-- > entry + 1;)
        if (part_at(t, i) == SD_IMPORT_BODY && *file_at(t, i) != '<')
            return file_at(t, i);
    return NULL;
}

static uint32_t add_import(struct sd_tally *t, size_t entry, const char *name)
{
    size_t n = t->frames.n;
    bool has_importer = entry + 1 < n && t->frames.rows[entry + 1] != NO_ROW;

    return sd_tally_function(t, name, name, has_importer ? file_at(t, entry + 1) : "",
                             has_importer ? t->frames.lines[entry + 1] : 0);
}

/* What is known of the modules that a line imports. */
static uint32_t only_at(struct sd_tally *t, uint64_t key, uint32_t row)
{
    uint64_t at = NO_ROW;
    bool is_known = sd_table_get(&t->imports_at, key, &at);

    if (row == NO_ROW)
        return (uint32_t)at;
    if (is_known && (at == NO_ROW || at == row))
        return row;
    if (is_known) {
        const char *before = t->functions.items[at].name;
        const char *now = t->functions.items[row].name;

        if (sd_import_is_package_of(now, before))
            return (uint32_t)at;
        at = sd_import_is_package_of(before, now) ? row : NO_ROW;
    } else {
        at = row;
    }
    t->has_no_room |= sd_table_put(&t->imports_at, key, at) < 0;
    return row;
}

static uint32_t name_import(struct sd_tally *t, size_t entry)
{
    size_t n = t->frames.n, body = find_body(t, entry);
    bool has_importer = entry + 1 < n && t->frames.rows[entry + 1] != NO_ROW;
    uint32_t line = has_importer ? (uint32_t)t->frames.lines[entry + 1] : 0;
    uint64_t key = has_importer ? (uint64_t)t->frames.rows[entry + 1] << 32 | line : 0;
    struct sd_buf name = { 0 };
    uint32_t row = NO_ROW;

    if (has_importer && body < n) {
        sd_buf_text(&name, "import ");
        sd_import_module(&name, file_at(t, body), find_script(t, entry));
        row = add_import(t, entry, sd_buf_string(&name));
    }
    if (has_importer && line)
        row = only_at(t, key, row);
    if (row == NO_ROW) {
        sd_buf_clear(&name);
        sd_import_put_unknown(&name, has_importer, line);
        row = add_import(t, entry, sd_buf_string(&name));
    }
    t->has_no_room |= name.bad;
    sd_buf_release(&name);
    return row;
}

size_t sd_tally_fold(struct sd_tally *t, uint32_t *row)
{
    size_t entry;

    *row = NO_ROW;
    if (is_startup(t))
        return t->frames.n;
    entry = t->folds_imports ? find_entry(t) : t->frames.n;
    if (entry == t->frames.n)
        return 0;
    *row = name_import(t, entry);
    return *row == NO_ROW ? 0 : entry + 1;
}
