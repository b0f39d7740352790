/* SPDX-License-Identifier: MIT */
#include "profile/lines/line_stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"

void sd_line_stats_init(struct sd_line_stats *s)
{
    *s = (struct sd_line_stats){ .unit = 1e-9 };
    s->strings.arena = &s->arena;
}

void sd_line_stats_release(struct sd_line_stats *s)
{
    for (size_t i = 0; i < s->n; i++)
        sd_free(s->functions[i].entries);
    sd_free(s->functions);
    sd_table_release(&s->by_key);
    sd_intern_release(&s->strings);
    sd_arena_release(&s->arena);
    sd_line_stats_init(s);
}

/* --- Functions and lines */

static uint64_t key_of(uint32_t file, int64_t line, uint32_t name)
{
    uint64_t parts[3] = { file, (uint64_t)line, name };

    return sd_hash(parts, sizeof parts, 0);
}

static bool is_same(const struct sd_line_function *f, uint32_t file, int64_t line,
                    uint32_t name)
{
    return f->file_id == file && f->line == line && f->name_id == name;
}

/* Two functions with one hash are told apart by looking further along the hashes. */
static bool find(const struct sd_line_stats *s, uint32_t file, int64_t line,
                 uint32_t name, uint64_t *key, size_t *at)
{
    uint64_t found;

    for (*key = key_of(file, line, name); sd_table_get(&s->by_key, *key, &found);
         ++*key)
        if (is_same(&s->functions[found], file, line, name)) {
            *at = (size_t)found;
            return true;
        }
    return false;
}

static int append(struct sd_line_stats *s, uint32_t file, int64_t line, uint32_t name,
                  size_t *at)
{
    struct sd_line_function *grown =
        sd_grow_array(s->functions, &s->cap, s->n + 1, sizeof *s->functions);

    sd_assert(file < s->strings.n && name < s->strings.n);
    if (!grown)
        return sd_no_memory();
    s->functions = grown;
    s->functions[s->n] = (struct sd_line_function){ .file = s->strings.items[file],
                                                    .name = s->strings.items[name],
                                                    .file_id = file,
                                                    .name_id = name,
                                                    .line = line };
    *at = s->n++;
    return 0;
}

int sd_line_stats_function(struct sd_line_stats *s, const char *file, size_t n_file,
                           int64_t line, const char *name, size_t n_name, size_t *at)
{
    uint32_t file_id, name_id;
    uint64_t key;
    int rc = sd_intern(&s->strings, file, n_file, &file_id);

    if (rc == 0)
        rc = sd_intern(&s->strings, name, n_name, &name_id);
    if (rc < 0 || find(s, file_id, line, name_id, &key, at))
        return rc;
    rc = sd_table_put(&s->by_key, key, s->n);
    if (rc < 0)
        return rc;
    rc = append(s, file_id, line, name_id, at);
    if (rc < 0)
        sd_table_remove(&s->by_key, key);
    return rc;
}

int sd_line_stats_add_function(struct sd_line_stats *s, const char *file, size_t n_file,
                               int64_t line, const char *name, size_t n_name,
                               size_t *at)
{
    uint32_t file_id, name_id;
    int rc = sd_intern(&s->strings, file, n_file, &file_id);

    if (rc == 0)
        rc = sd_intern(&s->strings, name, n_name, &name_id);
    return rc == 0 ? append(s, file_id, line, name_id, at) : rc;
}

int sd_line_stats_add_line(struct sd_line_stats *s, size_t function,
                           struct sd_line_entry entry)
{
    struct sd_line_function *f = &s->functions[function];
    struct sd_line_entry *grown =
        sd_grow_array(f->entries, &f->cap, f->n + 1, sizeof *f->entries);

    sd_assert(function < s->n);
    if (!grown)
        return sd_no_memory();
    f->entries = grown;
    f->entries[f->n++] = entry;
    return 0;
}

/* --- Sums */

double sd_line_function_time(const struct sd_line_function *f)
{
    double sum = 0;

    for (size_t i = 0; i < f->n; i++)
        sum += f->entries[i].time;
    return sum;
}

int64_t sd_line_function_hits(const struct sd_line_function *f)
{
    int64_t sum = 0;

    for (size_t i = 0; i < f->n; i++)
        if (__builtin_add_overflow(sum, f->entries[i].hits, &sum))
            return INT64_MAX;
    return sum;
}

static int compare_lines(const void *a, const void *b)
{
    const struct sd_line_entry *x = a, *y = b;

    return x->line != y->line ? (x->line < y->line ? -1 : 1) : 0;
}

/* The lines of each file are sorted already, and then few are moved; qsort is for what
 * strangers wrote. */
static void sort_lines(struct sd_line_function *f)
{
    struct sd_line_entry moved;
    size_t j, n_moves = 0;

    for (size_t i = 1; i < f->n; i++) {
        moved = f->entries[i];
        for (j = i; j > 0 && f->entries[j - 1].line > moved.line; j--)
            f->entries[j] = f->entries[j - 1];
        f->entries[j] = moved;
        n_moves += i - j;
        if (n_moves > 64 * f->n) {
            qsort(f->entries, f->n, sizeof *f->entries, compare_lines);
            return;
        }
    }
}

static void add_hits(struct sd_line_entry *to, const struct sd_line_entry *from)
{
    if (__builtin_add_overflow(to->hits, from->hits, &to->hits))
        to->hits = INT64_MAX;
    to->time += from->time;
}

/* One entry for each line, with a whole number of units. */
static void fold_lines(struct sd_line_function *f)
{
    size_t n = 0;

    sort_lines(f);
    for (size_t i = 0; i < f->n; i++)
        if (n > 0 && f->entries[n - 1].line == f->entries[i].line)
            add_hits(&f->entries[n - 1], &f->entries[i]);
        else
            f->entries[n++] = f->entries[i];
    sd_assert(n <= f->n);
    f->n = n;
    for (size_t i = 0; i < n; i++)
        f->entries[i].time = rint(f->entries[i].time);
}

void sd_line_stats_fold(struct sd_line_stats *s)
{
    for (size_t i = 0; i < s->n; i++)
        fold_lines(&s->functions[i]);
}

static int add_scaled(struct sd_line_stats *into, const struct sd_line_stats *from)
{
    double factor = from->unit / into->unit;
    int rc = 0;

    for (size_t i = 0; i < from->n && rc == 0; i++) {
        const struct sd_line_function *f = &from->functions[i];
        size_t at;

        rc = sd_line_stats_function(into, f->file.p, f->file.n, f->line, f->name.p,
                                    f->name.n, &at);
        for (size_t k = 0; k < f->n && rc == 0; k++)
            rc = sd_line_stats_add_line(
                into, at,
                (struct sd_line_entry){ f->entries[k].line, f->entries[k].hits,
                                        factor * f->entries[k].time });
    }
    return rc;
}

/* Small units first, so that little is lost in rounding; those of one unit in order. */
int sd_line_stats_sum(struct sd_line_stats *into, struct sd_line_stats *const *parts,
                      size_t n)
{
    double below = -INFINITY;
    int rc = 0;

    into->unit = n > 0 ? parts[0]->unit : into->unit;
    for (size_t i = 1; i < n; i++)
        if (parts[i]->unit > into->unit)
            into->unit = parts[i]->unit;
    for (size_t done = 0; done < n && rc == 0;) {
        double least = INFINITY;

        for (size_t i = 0; i < n; i++)
            if (parts[i]->unit > below && parts[i]->unit < least)
                least = parts[i]->unit;
        for (size_t i = 0; i < n && rc == 0; i++)
            if (parts[i]->unit == least) {
                rc = add_scaled(into, parts[i]);
                done++;
            }
        if (isinf(least))
            break;
        below = least;
    }
    if (rc == 0)
        sd_line_stats_fold(into);
    return rc;
}
