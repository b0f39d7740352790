/* SPDX-License-Identifier: MIT */
/* pstats_read: reads an untrusted pstats file.
 *
 * The shape is fixed, so nothing here is recursive: each function below reads one kind
 * of object at the place where it may stand.  Only hand-made files name a tuple or
 * dictionary again, and what that costs is bounded: no more callers are read in all
 * than the file has bytes. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "formats/marshal.h"
#include "formats/pstats.h"

enum { N_ENTRY = 5, N_EDGE = 4, N_KEY = 3 };

struct reading {
    struct sd_marshal m;
    struct sd_call_stats *into;
    size_t n_callers; /* that may still be read */
};

/* --- Numbers */

static int read_seconds(struct reading *r, enum sd_whole flag, double *out,
                        unsigned *whole)
{
    struct sd_marshal_value v = { 0 };
    int rc = sd_marshal_plain(&r->m, &v);

    if (rc == 0 && v.kind != SD_MARSHAL_INT && v.kind != SD_MARSHAL_REAL)
        rc = sd_marshal_wrong(&r->m, "a number of seconds");
    *out = v.kind == SD_MARSHAL_INT ? (double)v.whole : v.real;
    if (v.kind == SD_MARSHAL_INT)
        *whole |= (unsigned)flag;
    return rc;
}

/* --- Objects */

/* Of a tuple whose type byte was read. */
static uint32_t tuple_length(struct reading *r, uint8_t type)
{
    return type == ')'   ? sd_cursor_u8(&r->m.c)
           : type == '(' ? sd_cursor_u32(&r->m.c)
                         : 0;
}

/* (file, line, name), whose type byte was read. */
static int read_key_of(struct reading *r, uint8_t type, uint32_t slot,
                       sd_function_id *out)
{
    uint32_t file, name;
    int64_t line;
    int rc = tuple_length(r, type) == N_KEY
                 ? 0
                 : sd_marshal_wrong(&r->m, "(file, line, name)");

    if (rc == 0)
        rc = sd_marshal_name(&r->m, &file);
    if (rc == 0)
        rc = sd_marshal_count(&r->m, &line);
    if (rc == 0)
        rc = sd_marshal_name(&r->m, &name);
    if (rc == 0)
        rc = sd_call_stats_function_of(r->into, file, line, name, out);
    if (rc == 0)
        sd_marshal_remember(
            &r->m, slot,
            (struct sd_marshal_value){ SD_MARSHAL_FUNCTION, .function = *out });
    return rc;
}

/* A key of a dictionary; *is_end: there was none, and the dictionary ends. */
static int read_key(struct reading *r, bool *is_end, sd_function_id *out)
{
    struct sd_marshal_value v;
    uint32_t slot;
    uint8_t type;
    int rc = sd_marshal_type(&r->m, &type, &slot);

    *is_end = rc == 0 && type == '0';
    if (rc < 0 || *is_end)
        return rc;
    if (type != 'r')
        return read_key_of(r, type, slot, out);
    rc = sd_marshal_ref(&r->m, &v);
    if (rc == 0 && v.kind != SD_MARSHAL_FUNCTION)
        rc = sd_marshal_wrong(&r->m, "(file, line, name)");
    *out = v.function;
    return rc;
}

/* Both orders of the counts: see the header. */
static int read_numbers(struct reading *r, int64_t *first, int64_t *second,
                        struct sd_call_numbers *n)
{
    int rc = sd_marshal_count(&r->m, first);

    if (rc == 0)
        rc = sd_marshal_count(&r->m, second);
    if (rc == 0)
        rc = read_seconds(r, SD_WHOLE_OWN, &n->own, &n->whole);
    if (rc == 0)
        rc = read_seconds(r, SD_WHOLE_TOTAL, &n->total, &n->whole);
    return rc;
}

/* Who called whom: of a function itself only `callee`. */
struct pair {
    sd_function_id caller, callee;
};
typedef int read_fn(struct reading *r, uint8_t type, struct pair of);

/* A tuple or a dictionary, or a reference to one: then reading goes there and comes
 * back. */
static int read_object(struct reading *r, read_fn *read, struct pair of)
{
    struct sd_marshal_value v = { SD_MARSHAL_OBJECT, .at = r->m.c.at };
    struct sd_cursor back;
    bool was_again = r->m.is_again;
    uint32_t slot, none;
    uint8_t type;
    int rc = sd_marshal_type(&r->m, &type, &slot);

    if (rc < 0)
        return rc;
    if (type != 'r') {
        rc = read(r, type, of);
        if (rc == 0)
            sd_marshal_remember(&r->m, slot, v);
        return rc;
    }
    rc = sd_marshal_ref(&r->m, &v);
    if (rc == 0 && v.kind != SD_MARSHAL_OBJECT)
        rc = sd_marshal_wrong(&r->m, "a tuple or a dictionary");
    if (rc < 0)
        return rc;
    back = r->m.c;
    r->m.c.at = v.at;
    r->m.is_again = true;
    rc = sd_marshal_type(&r->m, &type, &none);
    if (rc == 0)
        rc = read(r, type, of);
    r->m.is_again = was_again;
    if (rc == 0)
        r->m.c = back;
    return rc;
}

/* Does a tuple come, by itself or by reference?  Nothing is read yet. */
static bool is_tuple_next(const struct reading *r)
{
    struct sd_cursor ahead = r->m.c;
    uint8_t type = sd_cursor_u8(&ahead) & (uint8_t)~SD_MARSHAL_FLAG;
    uint32_t at = sd_cursor_u32(&ahead);

    return type == '(' || type == ')' ||
           (type == 'r' && at < r->m.n_refs && r->m.refs[at].kind == SD_MARSHAL_OBJECT);
}

static int read_edge_tuple(struct reading *r, uint8_t type, struct pair of)
{
    struct sd_call_numbers n = { 0 };
    int rc = tuple_length(r, type) == N_EDGE
                 ? 0
                 : sd_marshal_wrong(&r->m, "four numbers of a caller");

    if (rc == 0)
        rc = read_numbers(r, &n.calls, &n.primitive, &n);
    return rc < 0 ? rc : sd_call_stats_count_calls(r->into, of.caller, of.callee, &n);
}

/* What is known of one caller: four numbers, or one of profile.py. */
static int read_edge(struct reading *r, struct pair of)
{
    int64_t calls;
    int rc;

    if (is_tuple_next(r))
        return read_object(r, read_edge_tuple, of);
    rc = sd_marshal_count(&r->m, &calls);
    return rc < 0 ? rc
                  : sd_call_stats_count_plain(r->into, of.caller, of.callee, calls);
}

static int read_callers(struct reading *r, uint8_t type, struct pair of)
{
    bool is_end = false;
    int rc = type == '{' ? 0 : sd_marshal_wrong(&r->m, "a dictionary of callers");

    while (rc == 0) {
        rc = read_key(r, &is_end, &of.caller);
        if (rc < 0 || is_end)
            break;
        if (r->n_callers-- == 0)
            return sd_fail(SD_EFORMAT,
                           "the pstats data name the same callers over and over, which "
                           "no profiler writes; they were made to take up memory");
        rc = read_edge(r, of);
    }
    return rc;
}

static int read_entry(struct reading *r, uint8_t type, struct pair of)
{
    struct sd_call_numbers n = { 0 };
    int rc =
        tuple_length(r, type) == N_ENTRY
            ? 0
            : sd_marshal_wrong(&r->m, "four numbers of a function and its callers");

    if (rc == 0)
        rc = read_numbers(r, &n.primitive, &n.calls, &n);
    if (rc == 0)
        rc = sd_call_stats_count(r->into, of.callee, &n);
    return rc < 0 ? rc : read_object(r, read_callers, of);
}

/* Does ("__sampled__",) come: a tuple of one?  Nothing is read yet. */
static bool is_marker_next(const struct reading *r)
{
    struct sd_cursor ahead = r->m.c;
    uint8_t type = sd_cursor_u8(&ahead) & (uint8_t)~SD_MARSHAL_FLAG;

    return (type == ')' && sd_cursor_u8(&ahead) == 1) ||
           (type == '(' && sd_cursor_u32(&ahead) == 1);
}

/* The key and its value, which is True. */
static int read_marker(struct reading *r)
{
    static const char sampled[] = "__sampled__";
    const struct sd_intern_string *name;
    uint32_t slot, id;
    uint8_t type;
    int rc = sd_marshal_type(&r->m, &type, &slot);

    if (rc < 0)
        return rc;
    tuple_length(r, type);
    rc = sd_marshal_name(&r->m, &id);
    if (rc < 0)
        return rc;
    name = &r->into->strings.items[id];
    if (name->n != sizeof sampled - 1 || memcmp(name->p, sampled, name->n) != 0)
        return sd_marshal_wrong(&r->m, "(file, line, name)");
    rc = sd_marshal_type(&r->m, &type, &slot);
    if (rc == 0 && type != 'T')
        rc = sd_marshal_wrong(&r->m, "True");
    if (rc == 0)
        r->into->is_sampled = true;
    return rc;
}

static int read_all(struct reading *r)
{
    struct pair of = { 0 };
    bool is_end = false;
    uint32_t slot;
    uint8_t type;
    int rc = sd_marshal_type(&r->m, &type, &slot);

    if (rc == 0 && type != '{')
        rc = sd_marshal_wrong(&r->m, "a dictionary of functions");
    while (rc == 0) {
        if (is_marker_next(r)) {
            rc = read_marker(r);
            continue;
        }
        rc = read_key(r, &is_end, &of.callee);
        if (rc < 0 || is_end)
            break;
        rc = read_object(r, read_entry, of);
    }
    return rc;
}

/* --- pstats.h */

/* A dictionary that is empty, or begins with a tuple of three, or of one: a marker. */
bool sd_pstats_is(const void *p, size_t n)
{
    const uint8_t *b = p;
    uint8_t first;

    if (n < 2 || (b[0] & ~SD_MARSHAL_FLAG) != '{')
        return false;
    first = (uint8_t)(b[1] & ~SD_MARSHAL_FLAG);
    return b[1] == '0' || (first == ')' && (n < 3 || b[2] == N_KEY || b[2] == 1)) ||
           (first == '(' && (n < 6 || memcmp(b + 2, "\3\0\0", 4) == 0 ||
                             memcmp(b + 2, "\1\0\0", 4) == 0));
}

int sd_pstats_read(const void *p, size_t n, struct sd_call_stats *into)
{
    struct reading r = { .into = into, .n_callers = n };
    int rc;

    sd_marshal_init(&r.m, p, n, &into->strings);
    rc = read_all(&r);
    sd_marshal_release(&r.m);
    return rc < 0 ? rc : sd_call_stats_sum(into);
}

/* "Mon Nov 16 04:13:00 2026    restats", as time.ctime writes it. */
void sd_pstats_origin(struct sd_buf *to, time_t changed, const char *path, size_t n)
{
    char date[64];
    struct tm tm;

    if (localtime_r(&changed, &tm) && asctime_r(&tm, date))
        sd_buf_printf(to, "%.*s    ", (int)strcspn(date, "\n"), date);
    sd_buf_add(to, path, n);
}

static int add_origin(struct sd_call_stats *s, const char *path, const struct stat *st)
{
    struct sd_buf line = { 0 };
    int rc;

    sd_pstats_origin(&line, st->st_mtime, path, strlen(path));
    rc =
        line.bad ? sd_no_memory() : sd_call_stats_add_origin(s, (char *)line.p, line.n);
    sd_buf_release(&line);
    return rc;
}

int sd_pstats_load(const char *path, struct sd_call_stats *into)
{
    struct sd_map map = { 0 };
    struct stat st;
    int rc = sd_map_file(&map, path);

    if (rc < 0)
        return rc;
    rc = stat(path, &st) < 0 ? sd_fail_errno(errno, "cannot read %s", path) : 0;
    if (rc == 0) {
        rc = sd_pstats_read(map.p, map.n, into);
        if (rc < 0)
            sd_fail_in(rc, "%s", path);
    }
    if (rc == 0)
        rc = add_origin(into, path, &st);
    sd_map_release(&map);
    return rc;
}
