/* SPDX-License-Identifier: MIT */
#include "analyse/stacks/import_rows.h"

#include <string.h>

#include "analyse/stacks/calltree.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"

enum { NONE = UINT32_MAX, SEVERAL = UINT32_MAX - 1 };

/* --- Functions */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);

    return n >= k && strcmp(text + n - k, end) == 0;
}

/* What is in the interpreter itself; getpath is how it finds its library. */
static bool is_frozen(const char *file)
{
    return strncmp(file, "<frozen importlib", 17) == 0 ||
           strncmp(file, "<frozen zipimport", 17) == 0 ||
           strcmp(file, "<frozen getpath>") == 0;
}

/* Functions of importlib that import; others only look for a module or read its
 * source.  `cb` is called when the lock of a module goes, on 3.15 when
 * _find_and_load has returned already. */
static bool is_entry(const char *function)
{
    static const char *const entries[] = {
        "_find_and_load", "_handle_fromlist",
        "_gcd_import",    "_lock_unlock_module",
        "import_module",  "__import__",
        "reload",         "exec_module",
        "load_module",    "cb",
    };
    const char *dot = strrchr(function, '.'); /* qualified: the class stands before */

    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (strcmp(dot ? dot + 1 : function, entries[i]) == 0)
            return true;
    return false;
}

enum sd_import_part sd_import_part_of(const char *function, const char *file)
{
    if (!file)
        return SD_IMPORT_NO_PART;
    if (is_frozen(file) ||
        (ends_with(file, "/importlib/__init__.py") && is_entry(function)))
        return is_entry(function) ? SD_IMPORT_ENTRY : SD_IMPORT_INSIDE;
    if (ends_with(file, "/sonde/_bootstrap/sitecustomize.py"))
        return SD_IMPORT_STARTUP;
    return strcmp(function, "<module>") == 0 ? SD_IMPORT_BODY : SD_IMPORT_NO_PART;
}

/* --- Names of modules */

static size_t folder_length(const char *file)
{
    const char *slash = strrchr(file, '/');

    return slash ? (size_t)(slash - file) + 1 : 0;
}

static void put_dotted(struct sd_buf *to, const char *path)
{
    size_t n = strlen(path);

    if (n > 3 && strcmp(path + n - 3, ".py") == 0)
        n -= 3;
    if (n > 9 && strncmp(path + n - 9, "/__init__", 9) == 0)
        n -= 9;
    for (size_t i = 0; i < n; i++)
        sd_buf_u8(to, path[i] == '/' ? '.' : (uint8_t)path[i]);
}

/* The last part of the path, or of a package its folder's. */
static const char *last_part(const char *file)
{
    size_t at = folder_length(file);

    if (strcmp(file + at, "__init__.py") == 0 && at > 1)
        for (at--; at > 0 && file[at - 1] != '/';)
            at--;
    return file + at;
}

void sd_import_module(struct sd_buf *to, const char *file, const char *script)
{
    struct sd_site site = { .name = "<module>", .file = file };
    size_t n = script ? folder_length(script) : 0;

    if (*file == '<' || sd_site_is_library(&site))
        sd_callee_module(to, &site);
    else
        put_dotted(to,
                   n > 0 && strncmp(file, script, n) == 0 ? file + n : last_part(file));
}

bool sd_import_is_package_of(const char *package, const char *module)
{
    size_t n = strlen(package);

    return strncmp(package, module, n) == 0 && module[n] == '.';
}

void sd_import_put_unknown(struct sd_buf *to, bool has_importer, uint32_t line)
{
    if (!has_importer)
        sd_buf_text(to, SD_IMPORT_START);
    else if (line)
        sd_buf_printf(to, "import at line %u", line);
    else
        sd_buf_text(to, "import (finding and loading)");
}

/* --- Stacks */

struct finder {
    const struct sd_profile *p;
    struct sd_import_rows *out;
    struct sd_intern keys; /* of rows */
    uint8_t *parts;        /* owned; by site */
    uint32_t *entry_of;    /* owned; by stack: where its import begins, or NONE */
    uint32_t *body_of;     /* owned; by stack: the first body below that, or NONE */
    uint32_t *script_of;   /* owned; by stack: the outermost body in a file, which is
                              the program's own; or NONE */
    uint32_t *only;        /* owned; by importer's stack: the only row of its imports,
                              NONE, or SEVERAL */
};

static const struct sd_site *function_at(const struct sd_profile *p, size_t stack)
{
    return &p->sites[sd_profile_function_of(p, p->stacks[stack].site).at];
}

static enum sd_import_part part_at(const struct finder *f, size_t stack)
{
    return (enum sd_import_part)
        f->parts[sd_profile_function_of(f->p, f->p->stacks[stack].site).at];
}

/* Fills `parts`; true: Sonde's own start is among the sites. */
static bool find_parts(struct finder *f)
{
    bool has_startup = false;

    for (size_t i = 0; i < f->p->n_sites; i++) {
        const struct sd_site *s = &f->p->sites[i];

        if (s->kind != SD_SITE_FUNCTION || s->is_native || !s->name)
            continue;
        f->parts[i] = (uint8_t)sd_import_part_of(s->name, s->file);
        has_startup |= f->parts[i] == SD_IMPORT_STARTUP;
    }
    return has_startup;
}

/* Below Sonde's own start stands the sitecustomize that it hid: that one is the
 * user's. */
static void find_startup(struct finder *f)
{
    bool *is_startup = f->out->is_startup;

    for (size_t i = 0; i < f->p->n_stacks; i++) {
        uint32_t parent = f->p->stacks[i].parent.at;
        enum sd_import_part part = part_at(f, i);
        sd_assert(parent == NONE || parent < i);

        is_startup[i] =
            part == SD_IMPORT_STARTUP ||
            (parent != NONE && is_startup[parent] && part != SD_IMPORT_BODY);
    }
}

static void find_imports(struct finder *f)
{
    for (size_t i = 0; i < f->p->n_stacks; i++) {
        uint32_t parent = f->p->stacks[i].parent.at;
        enum sd_import_part part = part_at(f, i);

        f->script_of[i] = parent == NONE ? NONE : f->script_of[parent];
        if (f->script_of[i] == NONE && part == SD_IMPORT_BODY &&
            *function_at(f->p, i)->file != '<')
            f->script_of[i] = (uint32_t)i;
        f->entry_of[i] = parent == NONE ? NONE : f->entry_of[parent];
        f->body_of[i] = parent == NONE ? NONE : f->body_of[parent];
        if (f->entry_of[i] == NONE &&
            (part == SD_IMPORT_ENTRY || (part == SD_IMPORT_INSIDE && parent == NONE)))
            f->entry_of[i] = (uint32_t)i;
        else if (f->entry_of[i] != NONE && f->body_of[i] == NONE &&
                 part == SD_IMPORT_BODY)
            f->body_of[i] = (uint32_t)i;
    }
}

static uint32_t importer_of(const struct finder *f, size_t stack)
{
    sd_assert(f->entry_of[stack] != NONE);
    return f->p->stacks[f->entry_of[stack]].parent.at;
}

/* --- Rows */

/* The row of this key, made when new. */
static int add_row(struct finder *f, const struct sd_buf *key, const char *name,
                   uint32_t importer, uint32_t *row)
{
    struct sd_import_rows *out = f->out;
    struct sd_import_row *rows;
    int rc = sd_intern(&f->keys, key->p, key->n, row);

    if (rc < 0 || *row < out->n)
        return rc;
    rows = sd_grow_array(out->rows, &out->cap, out->n + 1, sizeof *rows);
    if (!rows)
        return sd_no_memory();
    out->rows = rows;
    sd_assert(*row == out->n);
    rows[out->n] = (struct sd_import_row){
        .name = sd_arena_string(&out->arena, name, strlen(name)),
        .importer = importer == NONE ? SD_NO_SITE : f->p->stacks[importer].site,
        .line = importer == NONE ? 0 : f->p->stacks[importer].line,
    };
    return rows[out->n++].name ? 0 : sd_no_memory();
}

static int name_module(struct finder *f, size_t body, uint32_t *row)
{
    uint32_t importer = importer_of(f, body);
    struct sd_buf name = { 0 };
    int rc;

    sd_buf_text(&name, "import ");
    sd_import_module(&name, function_at(f->p, body)->file,
                     f->script_of[importer] == NONE
                         ? NULL
                         : function_at(f->p, f->script_of[importer])->file);
    rc = name.bad ? sd_no_memory()
                  : add_row(f, &name, sd_buf_string(&name), importer, row);
    sd_buf_release(&name);
    return rc;
}

static int name_unknown(struct finder *f, uint32_t importer, uint32_t *row)
{
    uint32_t line = importer == NONE ? 0 : f->p->stacks[importer].line;
    struct sd_buf name = { 0 }, key = { 0 };
    int rc;

    sd_import_put_unknown(&name, importer != NONE, line);
    sd_buf_text(&key, sd_buf_string(&name));
    if (line)
        sd_buf_printf(&key, " of %u", f->p->stacks[importer].site.at);
    rc = name.bad || key.bad ? sd_no_memory()
                             : add_row(f, &key, sd_buf_string(&name), importer, row);
    sd_buf_release(&name);
    sd_buf_release(&key);
    return rc;
}

/* What begins at one place is one import, if its modules are packages of one another:
 * `import xml.dom.minidom` runs three bodies. */
static void note_row(struct finder *f, uint32_t importer, uint32_t row)
{
    uint32_t *only = &f->only[importer];
    const struct sd_import_row *rows = f->out->rows;

    sd_assert(row < f->out->n);
    if (*only == SEVERAL || *only == row)
        return;
    if (*only == NONE || sd_import_is_package_of(rows[*only].name, rows[row].name))
        *only = row;
    else if (!sd_import_is_package_of(rows[row].name, rows[*only].name))
        *only = SEVERAL;
}

static int name_modules(struct finder *f)
{
    int rc = 0;

    for (size_t i = 0; i < f->p->n_stacks && rc == 0; i++) {
        if (f->entry_of[i] == NONE || f->body_of[i] != i || importer_of(f, i) == NONE)
            continue;
        rc = name_module(f, i, &f->out->row_of[i]);
        if (rc == 0)
            note_row(f, importer_of(f, i), f->out->row_of[i]);
    }
    return rc;
}

/* Children come after their body, whose row is known then. */
static int choose_row(struct finder *f, size_t i)
{
    uint32_t *row_of = f->out->row_of, body = f->body_of[i];
    uint32_t importer = importer_of(f, i);
    uint32_t only = importer == NONE ? SEVERAL : f->only[importer];
    bool is_known = only != NONE && only != SEVERAL;
    uint32_t own = body == NONE ? NONE : row_of[body];

    f->out->importer[i] = importer;
    if (is_known && (body != NONE || f->p->stacks[importer].line))
        row_of[i] = only;
    else if (body == NONE || importer == NONE)
        return name_unknown(f, importer, &row_of[i]);
    else
        row_of[i] = own;
    sd_assert(row_of[i] < f->out->n);
    f->out->is_body[i] = body == i && own == row_of[i];
    return 0;
}

static int find_rows(struct finder *f)
{
    size_t n = f->p->n_stacks;
    int rc;

    f->entry_of = sd_alloc((n + 1) * sizeof *f->entry_of);
    f->body_of = sd_alloc((n + 1) * sizeof *f->body_of);
    f->script_of = sd_alloc((n + 1) * sizeof *f->script_of);
    f->only = sd_alloc((n + 1) * sizeof *f->only);
    f->out->row_of = sd_alloc((n + 1) * sizeof *f->out->row_of);
    f->out->importer = sd_alloc((n + 1) * sizeof *f->out->importer);
    f->out->is_body = sd_zalloc(n + 1);
    if (!f->entry_of || !f->body_of || !f->script_of || !f->only || !f->out->row_of ||
        !f->out->importer || !f->out->is_body)
        return sd_no_memory();
    memset(f->only, 0xff, (n + 1) * sizeof *f->only);
    memset(f->out->row_of, 0xff, (n + 1) * sizeof *f->out->row_of);
    find_imports(f);
    rc = name_modules(f);
    for (size_t i = 0; i < n && rc == 0; i++)
        if (f->entry_of[i] != NONE)
            rc = choose_row(f, i);
    return rc;
}

int sd_import_rows_make(const struct sd_profile *p, bool has_rows,
                        struct sd_import_rows *out)
{
    struct sd_arena arena = { 0 };
    struct finder f = { .p = p, .out = out, .keys.arena = &arena };
    int rc = 0;

    *out = (struct sd_import_rows){ 0 };
    f.parts = sd_zalloc(p->n_sites + 1);
    if (!f.parts)
        return sd_no_memory();
    if (find_parts(&f)) {
        out->is_startup = sd_zalloc(p->n_stacks + 1);
        rc = out->is_startup ? 0 : sd_no_memory();
        if (rc == 0)
            find_startup(&f);
    }
    if (rc == 0 && has_rows)
        rc = find_rows(&f);
    sd_intern_release(&f.keys);
    sd_arena_release(&arena);
    sd_free(f.parts);
    sd_free(f.entry_of);
    sd_free(f.body_of);
    sd_free(f.script_of);
    sd_free(f.only);
    if (rc < 0)
        sd_import_rows_release(out);
    return rc;
}

void sd_import_rows_release(struct sd_import_rows *r)
{
    sd_free(r->rows);
    sd_free(r->row_of);
    sd_free(r->importer);
    sd_free(r->is_body);
    sd_free(r->is_startup);
    sd_arena_release(&r->arena);
    *r = (struct sd_import_rows){ 0 };
}
