/* SPDX-License-Identifier: MIT */
/* lprof_read: reads the statistics of line_profiler from a pickle.
 *
 * A hand-made pickle may name one list of lines for many functions; no more lines are
 * read in all than the file has bytes, so that it cannot become much from little. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "formats/lprof.h"
#include "formats/pickle.h"

struct reading {
    struct sd_line_stats *into;
    size_t lines_left; /* that may still be read */
};

static int is_wrong(const char *what)
{
    return sd_fail(SD_EFORMAT,
                   "this is not a file of line_profiler: its pickle holds no %s", what);
}

/* Counts that were computed may be reals. */
static bool as_whole(const struct sd_pickle_value *v, int64_t *out)
{
    if (v->kind == SD_PICKLE_INT) {
        *out = v->whole;
        return true;
    }
    if (v->kind != SD_PICKLE_REAL || !(v->real >= -0x1p62 && v->real <= 0x1p62))
        return false;
    *out = (int64_t)v->real;
    return true;
}

static bool as_real(const struct sd_pickle_value *v, double *out)
{
    *out = v->kind == SD_PICKLE_INT ? (double)v->whole : v->real;
    return v->kind == SD_PICKLE_INT || (v->kind == SD_PICKLE_REAL && isfinite(v->real));
}

/* The n items of a tuple or list, or false. */
static bool take_items(const struct sd_pickle_value *v, size_t n,
                       const struct sd_pickle_value **items)
{
    const struct sd_pickle_item *at = v->items.first;

    if ((v->kind != SD_PICKLE_TUPLE && v->kind != SD_PICKLE_LIST) || v->items.n != n)
        return false;
    for (size_t i = 0; i < n; i++, at = at->next)
        items[i] = at->value;
    return true;
}

/* (line, hits, time) */
static int read_line(struct reading *r, size_t function,
                     const struct sd_pickle_value *v)
{
    const struct sd_pickle_value *items[3];
    struct sd_line_entry e;

    if (v->kind != SD_PICKLE_TUPLE || !take_items(v, 3, items) ||
        !as_whole(items[0], &e.line) || !as_whole(items[1], &e.hits) ||
        !as_real(items[2], &e.time))
        return is_wrong("lines with hits and time");
    if (r->lines_left-- == 0)
        return sd_fail(SD_EFORMAT, "the file names the same lines over and over, which "
                                   "no profiler writes; it was made to take up memory");
    return sd_line_stats_add_line(r->into, function, e);
}

static int read_lines(struct reading *r, size_t function,
                      const struct sd_pickle_value *v)
{
    int rc = 0;

    if (v->kind != SD_PICKLE_LIST && v->kind != SD_PICKLE_TUPLE)
        return is_wrong("list of lines");
    for (const struct sd_pickle_item *i = v->items.first; i && rc == 0; i = i->next)
        rc = read_line(r, function, i->value);
    return rc;
}

/* (file, first line, name) and its lines.  A key that comes again replaces the first,
 * as in any dictionary. */
static int read_function(struct reading *r, const struct sd_pickle_value *key,
                         const struct sd_pickle_value *lines)
{
    const struct sd_pickle_value *items[3];
    size_t at;
    int64_t line;
    int rc;

    if (key->kind != SD_PICKLE_TUPLE || !take_items(key, 3, items) ||
        items[0]->kind != SD_PICKLE_TEXT || !as_whole(items[1], &line) ||
        items[2]->kind != SD_PICKLE_TEXT)
        return is_wrong("functions with their file and line");
    rc = sd_line_stats_function(r->into, items[0]->text.p, items[0]->text.n, line,
                                items[2]->text.p, items[2]->text.n, &at);
    if (rc < 0)
        return rc;
    r->into->functions[at].n = 0;
    return read_lines(r, at, lines);
}

static int read_state(struct reading *r, const struct sd_pickle_value *state)
{
    const struct sd_pickle_value *timings = sd_pickle_get(state, "timings"),
                                 *unit = sd_pickle_get(state, "unit");
    int rc = 0;

    if (!timings || timings->kind != SD_PICKLE_DICT)
        return is_wrong("timings");
    if (!unit || !as_real(unit, &r->into->unit) || !(r->into->unit > 0))
        return is_wrong("unit of time");
    for (const struct sd_pickle_item *i = timings->items.first; i && i->next && rc == 0;
         i = i->next->next)
        rc = read_function(r, i->value, i->next->value);
    return rc;
}

/* Old versions keep the class in another module; its name is the same in all. */
static bool is_line_stats(const struct sd_pickle_value *class)
{
    static const char name[] = ".LineStats";
    size_t n = sizeof name - 1;

    return class->kind == SD_PICKLE_CLASS && class->text.n >= n &&
           memcmp(class->text.p + class->text.n - n, name, n) == 0;
}

static int read_value(struct reading *r, const struct sd_pickle_value *v)
{
    const struct sd_pickle_item *i = v->items.first;

    if (v->kind != SD_PICKLE_OBJECT || v->items.n != 3 || !is_line_stats(i->value))
        return is_wrong("LineStats");
    return read_state(r, i->next->next->value);
}

/* --- lprof.h */

bool sd_lprof_is(const void *p, size_t n)
{
    return sd_pickle_is(p, n) && memmem(p, n, "LineStats", 9) != NULL;
}

int sd_lprof_read(const void *p, size_t n, struct sd_line_stats *into)
{
    struct reading r = { .into = into, .lines_left = n };
    const struct sd_pickle_value *v;
    struct sd_arena arena = { 0 };
    int rc = sd_pickle_read(p, n, &arena, &v);

    if (rc == 0)
        rc = read_value(&r, v);
    sd_arena_release(&arena);
    return rc;
}

int sd_lprof_load(const char *path, struct sd_line_stats *into)
{
    struct sd_map map = { 0 };
    int rc = sd_map_file(&map, path);

    if (rc < 0)
        return rc;
    rc = sd_lprof_read(map.p, map.n, into);
    if (rc < 0)
        sd_fail_in(rc, "%s", path);
    sd_map_release(&map);
    return rc;
}
