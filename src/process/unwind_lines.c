/* SPDX-License-Identifier: MIT */
/* Source files and lines, from debug information.
 *
 * Reading debug information takes tens of milliseconds for a file such as libpython,
 * and the processes of a program mostly have the same files.  So a file is read once
 * for all of them, in a place of its own: here it lies at an address that no process
 * has. */
#include "process/unwind.h"

#include "process/unwind_parts.h"

#ifdef HAVE_DW
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

enum { N_FILES_MAX = 10000 };
#define FIRST_PLACE ((uint64_t)1 << 32)
#define ROUND (((uint64_t)1 << 21) - 1)

struct line_file {
    uint64_t dev, inode;
    struct sd_elf elf;   /* owned */
    uint64_t bias;       /* here */
    Dwfl_Module *module; /* NULL: it cannot be read */
    const struct sd_dw *dw;
};

struct sd_unwind_lines {
    struct sd_dw dw;
    Dwfl *dwfl;
    Dwfl_Callbacks callbacks;
    struct line_file **files; /* owned */
    size_t n, cap;
    uint64_t next_place;
};

static int find_elf(Dwfl_Module *mod, void **userdata, const char *name,
                    Dwarf_Addr base, char **file_name, Elf **elf)
{
    struct line_file *f = *userdata;

    (void)mod, (void)name, (void)base, (void)file_name;
    if (f) /* it is only read, whatever the type says */
        *elf = f->dw->elf_memory((char *)(uintptr_t)f->elf.file.p, f->elf.file.n);
    return -1;
}

int sd_unwind_lines_new(struct sd_unwind_lines **out)
{
    struct sd_unwind_lines *l = sd_zalloc(sizeof *l);
    int rc;

    *out = NULL;
    if (!l)
        return sd_no_memory();
    rc = sd_dw_open(&l->dw);
    if (rc < 0) {
        sd_free(l);
        return rc;
    }
    l->callbacks =
        (Dwfl_Callbacks){ .find_elf = find_elf,
                          .find_debuginfo = l->dw.dwfl_build_id_find_debuginfo };
    l->next_place = FIRST_PLACE;
    l->dwfl = l->dw.dwfl_begin(&l->callbacks);
    *out = l;
    return 0;
}

void sd_unwind_lines_free(struct sd_unwind_lines *l)
{
    size_t i;

    if (!l)
        return;
    if (l->dwfl)
        l->dw.dwfl_end(l->dwfl);
    for (i = 0; i < l->n; i++) {
        sd_elf_close(&l->files[i]->elf);
        sd_free(l->files[i]);
    }
    sd_free(l->files);
    sd_dw_close(&l->dw);
    sd_free(l);
}

static void report(struct sd_unwind_lines *l, struct line_file *f,
                   const struct sd_unwind_module *m)
{
    uint64_t size = m->end - m->start, place = l->next_place;
    void **userdata;

    l->next_place += (size + ROUND) & ~ROUND;
    f->bias = place - (m->start - m->bias);
    l->dw.dwfl_report_begin_add(l->dwfl);
    f->module = l->dw.dwfl_report_module(l->dwfl, m->path, place, place + size);
    if (f->module && l->dw.dwfl_module_info(f->module, &userdata, NULL, NULL, NULL,
                                            NULL, NULL, NULL))
        *userdata = f;
    l->dw.dwfl_report_end(l->dwfl, NULL, NULL);
}

static struct line_file *add(struct sd_unwind_lines *l,
                             const struct sd_unwind_module *m)
{
    struct line_file **files, *f;

    if (l->n >= N_FILES_MAX || !l->dwfl)
        return NULL;
    files = sd_grow_array(l->files, &l->cap, l->n + 1, sizeof *files);
    if (!files)
        return NULL;
    l->files = files;
    f = sd_zalloc(sizeof *f);
    if (!f)
        return NULL;
    f->dev = m->dev;
    f->inode = m->inode;
    f->dw = &l->dw;
    if (sd_elf_open(&f->elf, m->of->remote, &m->first) == 0)
        report(l, f, m);
    files[l->n++] = f;
    return f;
}

static struct line_file *file_of(struct sd_unwind_lines *l,
                                 const struct sd_unwind_module *m)
{
    size_t i;

    for (i = 0; i < l->n; i++)
        if (l->files[i]->inode == m->inode && l->files[i]->dev == m->dev &&
            l->files[i]->elf.file.n == m->elf.file.n)
            return l->files[i];
    return add(l, m);
}

const char *sd_unwind_lines_at(struct sd_unwind_lines *l,
                               const struct sd_unwind_module *m, uint64_t address,
                               uint32_t *line)
{
    struct line_file *f = l && !m->image ? file_of(l, m) : NULL;
    Dwfl_Line *found =
        f && f->module
            ? l->dw.dwfl_module_getsrc(f->module, address - m->bias + f->bias)
            : NULL;
    int number = 0;
    const char *file =
        found ? l->dw.dwfl_lineinfo(found, NULL, &number, NULL, NULL, NULL) : NULL;

    *line = number > 0 ? (uint32_t)number : 0;
    return file;
}
#else
#include "base/error.h"

int sd_unwind_lines_new(struct sd_unwind_lines **out)
{
    *out = NULL;
    return sd_unwind_check();
}

void sd_unwind_lines_free(struct sd_unwind_lines *l) { (void)l; }
#endif
