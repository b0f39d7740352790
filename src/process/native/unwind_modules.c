/* SPDX-License-Identifier: MIT */
/* unwind_modules: tells elfutils which files a process has mapped. */
#include "process/native/unwind_parts.h"

#ifdef HAVE_DW
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

enum {
    N_MODULES_MAX = 10000, /* files with code of one process; more are not known */
    N_IMAGE_MAX = 1 << 20, /* bytes of a file that is in memory alone */
};
#define LOOK_NS 2000000000u /* between two looks, unless something is not found */
#define AGAIN_NS 100000000u /* between two of those */

/* Mappings of one file, one after the other in memory as in the file. */
struct group {
    const struct sd_mapping *first;
    uint64_t end, last_offset;
    bool has_code;
};

static bool is_of_memory(const struct sd_mapping *m)
{
    return strcmp(m->path, "[vdso]") == 0;
}

static bool is_same_file(const struct sd_mapping *a, const struct sd_mapping *b)
{
    return a->dev == b->dev && a->inode == b->inode && strcmp(a->path, b->path) == 0;
}

/* The next group from *at on; false at the end. */
static bool next_group(const struct sd_maps *maps, size_t *at, struct group *g)
{
    *g = (struct group){ 0 };
    for (; *at < maps->n; (*at)++) {
        const struct sd_mapping *m = &maps->items[*at];

        if (!*m->path || (*m->path == '[' && !is_of_memory(m)))
            continue;
        if (g->first && (!is_same_file(g->first, m) || m->offset <= g->last_offset)) {
            if (g->has_code)
                return true;
            g->first = NULL;
        }
        if (!g->first)
            *g = (struct group){ .first = m };
        g->end = m->end;
        g->last_offset = m->offset;
        g->has_code |= (m->rights & SD_MAPPING_X) != 0;
    }
    return g->first && g->has_code;
}

/* --- The file of a module, when the first address in it is met */

static int read_image(struct sd_unwind_module *m, const struct sd_remote *r)
{
    m->n_image = m->end - m->start;
    m->image = m->n_image <= N_IMAGE_MAX ? sd_alloc(m->n_image) : NULL;
    if (m->image && sd_remote_read(r, m->start, m->image, m->n_image) == 0) {
        m->bias = m->start;
        return 0;
    }
    sd_free(m->image);
    m->image = NULL;
    return SD_EABSENT;
}

static void reach(struct sd_unwind_module *m)
{
    struct sd_unwinder *u = m->of;

    if (m->is_reached)
        return;
    m->is_reached = true;
    if (is_of_memory(&m->first)) {
        read_image(m, u->remote);
        return;
    }
    m->file = sd_unwind_file_of(u->files, u->remote, &m->first, m->end);
    if (m->file && !sd_elf_bias(&m->file->elf, &m->first, &m->bias)) {
        sd_unwind_file_leave(m->file);
        m->file = NULL;
    }
}

/* elfutils places a file by its first segment; where that is not what the process did
 * (a file mapped in part) nothing it says would be right. */
static void check(struct sd_unwind_module *m)
{
    GElf_Addr bias;

    if (m->is_checked)
        return;
    m->is_checked = true;
    reach(m);
    if (m->dwfl && (!m->of->dw->dwfl_module_getelf(m->dwfl, &bias) ||
                    (!m->image && bias != m->bias)))
        m->dwfl = NULL;
}

/* --- elfutils asks for a file */

int sd_unwind_find_elf(Dwfl_Module *mod, void **userdata, const char *name,
                       Dwarf_Addr base, char **file_name, Elf **elf)
{
    struct sd_unwind_module *m = *userdata;
    const struct sd_map *file;

    (void)mod, (void)name, (void)base, (void)file_name;
    if (m)
        reach(m);
    file = m && m->file ? &m->file->elf.file : NULL;
    if (m && m->image)
        *elf = m->of->dw->elf_memory(m->image, m->n_image);
    else if (file) /* it is only read, whatever the type says */
        *elf = m->of->dw->elf_memory((char *)(uintptr_t)file->p, file->n);
    return -1;
}

/* --- Modules */

static void free_module(struct sd_unwind_module *m)
{
    sd_unwind_file_leave(m->file);
    sd_unwind_names_release(&m->names);
    sd_unwind_symbols_release(&m->symbols);
    sd_free(m->image);
    sd_free(m);
}

void sd_unwind_forget(struct sd_unwinder *u)
{
    size_t i;

    if (u->dwfl)
        u->dw->dwfl_end(u->dwfl);
    u->dwfl = NULL;
    for (i = 0; i < u->n_modules; i++)
        free_module(u->modules[i]);
    u->n_modules = 0;
    sd_table_clear(&u->by_pc);
}

/* By its start; where it would stand when it is not there. */
static size_t place_of(const struct sd_unwinder *u, uint64_t start)
{
    size_t low = 0, high = u->n_modules;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (u->modules[mid]->start < start)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct sd_unwind_module *sd_unwind_module_at(struct sd_unwinder *u, uint64_t address)
{
    size_t at = place_of(u, address + 1);

    if (at == 0 || address >= u->modules[at - 1]->end)
        return NULL;
    check(u->modules[at - 1]);
    return u->modules[at - 1];
}

static void report(struct sd_unwinder *u, struct sd_unwind_module *m)
{
    void **userdata;

    m->dwfl = u->dw->dwfl_report_module(u->dwfl, m->path, m->start, m->end);
    if (m->dwfl &&
        u->dw->dwfl_module_info(m->dwfl, &userdata, NULL, NULL, NULL, NULL, NULL, NULL))
        *userdata = m;
}

static int add_module(struct sd_unwinder *u, const struct group *g)
{
    struct sd_unwind_module **items, *m;
    size_t at = place_of(u, g->first->start);

    items = sd_grow_array(u->modules, &u->cap_modules, u->n_modules + 1, sizeof *items);
    if (!items)
        return SD_ENOMEM;
    u->modules = items;
    m = sd_zalloc(sizeof *m);
    if (!m)
        return SD_ENOMEM;
    m->path = sd_unwind_text(u->files, g->first->path, strlen(g->first->path));
    if (!m->path) {
        sd_free(m);
        return SD_ENOMEM;
    }
    m->of = u;
    m->start = g->first->start;
    m->end = g->end;
    m->first = *g->first;
    m->first.path = m->path;
    report(u, m);
    memmove(items + at + 1, items + at, (u->n_modules - at) * sizeof *items);
    items[at] = m;
    u->n_modules++;
    return 0;
}

static const struct sd_unwind_module *known(const struct sd_unwinder *u,
                                            const struct group *g)
{
    size_t at = place_of(u, g->first->start);
    const struct sd_unwind_module *m = at < u->n_modules ? u->modules[at] : NULL;

    if (!m || m->start != g->first->start)
        return NULL;
    return m->end == g->end && m->first.inode == g->first->inode &&
                   m->first.dev == g->first->dev
               ? m
               : NULL;
}

/* Whether all modules that we know are still where they were. */
static bool are_all_there(const struct sd_unwinder *u)
{
    struct group g;
    size_t at = 0, n = 0;

    while (next_group(&u->maps, &at, &g))
        n += known(u, &g) != NULL;
    return n == u->n_modules;
}

static int begin(struct sd_unwinder *u)
{
    u->dwfl = u->dw->dwfl_begin(&u->callbacks);
    return u->dwfl ? 0 : SD_ENOMEM;
}

static int add_new(struct sd_unwinder *u, bool *has_new)
{
    size_t at = 0;
    struct group g;
    int rc = 0;

    *has_new = false;
    u->dw->dwfl_report_begin_add(u->dwfl);
    while (rc == 0 && u->n_modules < N_MODULES_MAX && next_group(&u->maps, &at, &g))
        if (!known(u, &g)) {
            rc = add_module(u, &g);
            *has_new = true;
        }
    u->dw->dwfl_report_end(u->dwfl, NULL, NULL);
    return rc;
}

int sd_unwind_look(struct sd_unwinder *u, uint64_t now_ns, bool must)
{
    bool has_new, is_first = !u->dwfl;
    int rc;

    if (!is_first && now_ns - u->looked_ns < (must ? AGAIN_NS : LOOK_NS))
        return 0;
    u->looked_ns = now_ns;
    rc = sd_maps_read(&u->maps, u->remote->pid);
    if (rc < 0)
        return rc;
    if (!is_first && !are_all_there(u)) {
        sd_unwind_forget(u);
        is_first = true;
    }
    if (is_first)
        rc = begin(u);
    if (rc == 0)
        rc = add_new(u, &has_new);
    if (rc == 0 &&
        has_new) /* what was said of an address while its file was not known */
        sd_table_clear(&u->by_pc);
    if (rc == 0 && is_first &&
        !u->dw->dwfl_attach_state(u->dwfl, NULL, u->remote->pid, &u->thread_callbacks,
                                  u))
        rc = SD_EFORMAT;
    if (rc < 0)
        sd_unwind_forget(u);
    return rc;
}
#endif
