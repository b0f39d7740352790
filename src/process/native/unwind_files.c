/* SPDX-License-Identifier: MIT */
/* unwind_files: reads symbols, source files and lines of a file, once for all processes
 * that have mapped it.
 *
 * Sorting the symbols of a file such as libpython and reading its debug information
 * take tens of milliseconds, and the processes of a program mostly have the same files.
 * So a file is read once for all of them: for elfutils it is all that there is in a
 * process that does not exist.
 *
 * Programs also make files, load them once and delete them (what compiles at run time
 * does), and as long as one is mapped here its place on disk is not given back.  So of
 * the files that no process has any more only some are kept. */
#include "process/native/unwind.h"

#include "process/native/unwind_parts.h"

#ifdef HAVE_DW
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

enum {
    N_FILES_MAX = 10000,
#ifdef SD_TINY
    N_IDLE_MAX = 2,
#else
    N_IDLE_MAX = 256, /* files that no process has */
#endif
};
#define PLACE ((uint64_t)1 << 32)

static int find_elf(Dwfl_Module *mod, void **userdata, const char *name,
                    Dwarf_Addr base, char **file_name, Elf **elf)
{
    struct sd_unwind_file *f = *userdata;

    (void)mod, (void)name, (void)base, (void)file_name;
    if (f) /* it is only read, whatever the type says */
        *elf = f->of->dw.elf_memory((char *)(uintptr_t)f->elf.file.p, f->elf.file.n);
    return -1;
}

int sd_unwind_files_new(struct sd_unwind_files **out, sd_symbol_judge judge)
{
    struct sd_unwind_files *files = sd_zalloc(sizeof *files);
    int rc;

    *out = NULL;
    if (!files)
        return sd_no_memory();
    rc = sd_dw_open(&files->dw);
    if (rc < 0) {
        sd_free(files);
        return rc;
    }
    files->judge = judge;
    files->texts.arena = &files->arena;
    files->callbacks =
        (Dwfl_Callbacks){ .find_elf = find_elf,
                          .find_debuginfo = files->dw.dwfl_build_id_find_debuginfo };
    *out = files;
    return 0;
}

static void free_file(struct sd_unwind_file *f)
{
    if (f->alone)
        f->of->dw.dwfl_end(f->alone);
    sd_unwind_names_release(&f->names);
    sd_unwind_symbols_release(&f->symbols);
    sd_elf_close(&f->elf);
    sd_free(f);
}

void sd_unwind_files_free(struct sd_unwind_files *files)
{
    size_t i;

    if (!files)
        return;
    for (i = 0; i < files->n; i++)
        free_file(files->items[i]);
    sd_free(files->items);
    sd_intern_release(&files->texts);
    sd_arena_release(&files->arena);
    sd_dw_close(&files->dw);
    sd_free(files);
}

const char *sd_unwind_text(struct sd_unwind_files *files, const char *s, size_t n)
{
    uint32_t id;

    return sd_intern(&files->texts, s, n, &id) < 0 ? NULL : files->texts.items[id].p;
}

/* elfutils places a file by its first segment.  What it says is only of use when that
 * is where the process has put it, counted from the file's beginning. */
static void report(struct sd_unwind_file *f, const struct sd_mapping *first,
                   uint64_t end)
{
    const struct sd_dw *dw = &f->of->dw;
    uint64_t size = end - first->start, bias;
    void **userdata;
    GElf_Addr found;

    if (!sd_elf_bias(&f->elf, first, &bias))
        return;
    f->alone = dw->dwfl_begin(&f->of->callbacks);
    if (!f->alone)
        return;
    f->bias = PLACE - (first->start - bias);
    dw->dwfl_report_begin_add(f->alone);
    f->dwfl = dw->dwfl_report_module(f->alone, f->path, PLACE, PLACE + size);
    if (f->dwfl &&
        dw->dwfl_module_info(f->dwfl, &userdata, NULL, NULL, NULL, NULL, NULL, NULL))
        *userdata = f;
    dw->dwfl_report_end(f->alone, NULL, NULL);
    if (f->dwfl && (!dw->dwfl_module_getelf(f->dwfl, &found) || found != f->bias))
        f->dwfl = NULL;
}

/* The one that was left longest ago goes, when there are too many. */
static void drop_idle(struct sd_unwind_files *files)
{
    size_t i, n = 0, oldest = 0;

    for (i = 0; i < files->n; i++) {
        if (files->items[i]->n_users)
            continue;
        if (n++ == 0 || files->items[i]->left < files->items[oldest]->left)
            oldest = i;
    }
    if (n <= N_IDLE_MAX)
        return;
    free_file(files->items[oldest]);
    files->items[oldest] = files->items[--files->n];
}

static struct sd_unwind_file *add(struct sd_unwind_files *files,
                                  const struct sd_remote *r,
                                  const struct sd_mapping *first, uint64_t end)
{
    struct sd_unwind_file **items, *f;

    if (files->n >= N_FILES_MAX)
        return NULL;
    items = sd_grow_array(files->items, &files->cap, files->n + 1, sizeof *items);
    if (!items)
        return NULL;
    files->items = items;
    f = sd_zalloc(sizeof *f);
    if (!f)
        return NULL;
    f->of = files;
    f->dev = first->dev;
    f->inode = first->inode;
    f->path = sd_unwind_text(files, first->path, strlen(first->path));
    if (!f->path || sd_elf_open(&f->elf, r, first) < 0) {
        free_file(f);
        return NULL;
    }
    report(f, first, end);
    files->items[files->n++] = f;
    return f;
}

/* A file that became shorter where it stands must not be read at its old length: there
 * is nothing beyond its end.  (That this does not end us at any moment is the work of
 * cli/cut_file.)  One that cannot be reached any more is deleted, and nobody writes it.
 */
static bool has_its_length(const struct sd_unwind_file *f, const struct sd_remote *r,
                           const struct sd_mapping *first)
{
    struct sd_elf now = { 0 };
    bool is_same = sd_elf_open(&now, r, first) < 0 || now.file.n == f->elf.file.n;

    sd_elf_close(&now);
    return is_same;
}

/* Device and inode do not tell on every file system, and a file may have been written
 * over: the bytes in the process say whether it is this one. */
static struct sd_unwind_file *find(const struct sd_unwind_files *files,
                                   const struct sd_remote *r,
                                   const struct sd_mapping *first)
{
    size_t i;

    for (i = 0; i < files->n; i++) {
        struct sd_unwind_file *f = files->items[i];

        if (f->inode == first->inode && f->dev == first->dev &&
            strcmp(f->path, first->path) == 0 && has_its_length(f, r, first) &&
            sd_elf_is_mapped(&f->elf, r, first))
            return f;
    }
    return NULL;
}

struct sd_unwind_file *sd_unwind_file_of(struct sd_unwind_files *files,
                                         const struct sd_remote *r,
                                         const struct sd_mapping *first, uint64_t end)
{
    struct sd_unwind_file *f = find(files, r, first);

    if (!f)
        f = add(files, r, first, end);
    if (f)
        f->n_users++;
    return f;
}

void sd_unwind_file_leave(struct sd_unwind_file *f)
{
    if (!f || --f->n_users > 0)
        return;
    f->left = ++f->of->n_left;
    drop_idle(f->of);
}

const char *sd_unwind_file_line(const struct sd_unwind_file *f, uint64_t address,
                                uint32_t *line)
{
    const struct sd_dw *dw = &f->of->dw;
    Dwfl_Line *found =
        f->dwfl ? dw->dwfl_module_getsrc(f->dwfl, address + f->bias) : NULL;
    int number = 0;
    const char *file =
        found ? dw->dwfl_lineinfo(found, NULL, &number, NULL, NULL, NULL) : NULL;

    *line = number > 0 ? (uint32_t)number : 0;
    return file;
}
#else
#include "base/error.h"

int sd_unwind_files_new(struct sd_unwind_files **out, sd_symbol_judge judge)
{
    (void)judge;
    *out = NULL;
    return sd_unwind_check();
}

void sd_unwind_files_free(struct sd_unwind_files *files) { (void)files; }
#endif
