/* SPDX-License-Identifier: MIT */
/* tables_order: sorts the rows of tables and limits their number. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "outputs/tables.h"
#include "report/text/pstats_text.h"

enum { KEYS_MAX = 32 };

int sd_tables_read_rows(const char *typed, struct sd_view_request *r)
{
    uint64_t n;
    char *end;
    double fraction;

    if (!typed)
        return 0;
    if (sd_text_parse_number(typed, &n)) {
        r->limit = (size_t)n;
        return 0;
    }
    fraction = strtod(typed, &end);
    if (end == typed || *end || !(fraction > 0 && fraction <= 1))
        return sd_fail(SD_EUSAGE,
                       "-n takes a number of rows, or a fraction of the rows such as "
                       "0.1, not \"%s\"",
                       typed);
    r->fraction = fraction;
    return 0;
}

/* What pstats and hands used to short words call a column; the first that a table has.
 */
static const char *const aliases[][2] = {
    { "self", "self%" },   { "self", "own" },         { "tottime", "self%" },
    { "tottime", "own" },  { "time", "self%" },       { "time", "own" },
    { "ncalls", "calls" }, { "pcalls", "primitive" }, { "cum", "cum%" },
    { "cum", "total" },    { "cumulative", "cum%" },  { "cumulative", "total" },
    { "cumtime", "cum%" }, { "cumtime", "total" },    { "name", "function" },
    { "name", "callee" },  { "stdname", "function" }, { "stdname", "callee" },
    { "nfl", "function" }, { "nfl", "callee" },       { "filename", "where" },
    { "module", "where" },
};

static bool has_column(const struct sd_view_table *t, const char *name)
{
    for (size_t i = 0; i < t->n_columns; i++)
        if (strcmp(t->columns[i].name, name) == 0)
            return true;
    return false;
}

static const char *alias_for(const struct sd_view_table *t, const char *name)
{
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcmp(aliases[i][0], name) == 0 && has_column(t, aliases[i][1]))
            return aliases[i][1];
    return NULL;
}

/* The table's column of this name, alias or beginning of a word of pstats, or NULL. */
static const char *column_for(const struct sd_view_table *t, const char *name)
{
    const char *found = has_column(t, name) ? name : alias_for(t, name);
    const char *meant = found ? NULL : sd_pstats_word_like(name);

    return meant ? alias_for(t, meant) : found;
}

struct key {
    const char *word; /* in the view's arena */
    bool is_reversed; /* smallest first */
};

/* Words apart by commas, each perhaps behind a "-"; numbers are those of pstats. */
static int add_keys(struct sd_view *v, const char *typed, struct key keys[KEYS_MAX],
                    size_t *n)
{
    for (const char *at = typed;; at++) {
        size_t length = strcspn(at, ",");
        char *word = sd_arena_string(&v->arena, at, length), *end;
        const char *meant;

        if (!word)
            return sd_no_memory();
        if (*n == KEYS_MAX)
            return sd_fail(SD_EUSAGE, "-s takes at most %d columns to sort by",
                           KEYS_MAX);
        meant = sd_pstats_word_of(strtol(word, &end, 10));
        if (*word && *end == '\0' && meant)
            keys[(*n)++] = (struct key){ meant, false };
        else
            keys[(*n)++] = (struct key){ word + (*word == '-'), *word == '-' };
        at += length;
        if (!*at)
            return 0;
    }
}

static bool is_known(const struct sd_view *v, const struct key *key)
{
    for (size_t i = 0; i < v->n_tables; i++)
        if (column_for(&v->tables[i], key->word))
            return true;
    return false;
}

/* A column sorts every table that has it; the others keep their order.  One that none
 * has is refused in the words of the first table. */
static int sort_by(struct sd_view *v, const struct key *key, bool may_be_unknown)
{
    bool is_for_any = is_known(v, key);
    int rc = 0;

    for (size_t i = 0; i < v->n_tables && rc == 0; i++) {
        struct sd_view_table *t = &v->tables[i];
        const char *column = column_for(t, key->word);

        if (!is_for_any && !may_be_unknown)
            column = key->word;
        if (column && key->is_reversed) {
            column = sd_arena_printf(&v->arena, "-%s", column);
            if (!column)
                return sd_no_memory();
        }
        if (column)
            rc = sd_view_table_sort(v, t, column, 0);
    }
    return rc;
}

static size_t limit_of(const struct sd_view_request *r, const struct sd_view_table *t)
{
    size_t n;

    if (r->fraction <= 0)
        return r->limit;
    n = (size_t)((double)t->n_rows * r->fraction + 0.5); /* as pstats rounds */
    return n ? n : 1;
}

/* What is equal by one word stays in the order of the next, so the last comes first. */
int sd_tables_order(struct sd_view *v, const struct sd_view_request *r)
{
    struct key keys[KEYS_MAX];
    size_t n = 0;
    int rc = 0;

    for (const char *const *word = r->sort; word && *word && rc == 0; word++)
        rc = add_keys(v, *word, keys, &n);
    for (size_t i = n; i > 0 && rc == 0; i--) {
        keys[i - 1].is_reversed ^= r->is_reversed;
        rc = sort_by(v, &keys[i - 1], r->is_sort_known);
    }
    for (size_t i = 0; i < v->n_tables && rc == 0; i++)
        rc = sd_view_table_sort(v, &v->tables[i], NULL, limit_of(r, &v->tables[i]));
    return rc;
}
