/* SPDX-License-Identifier: MIT */
#include "collect/alloc/native/code_objects.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "collect/alloc/native/call_frames.h"

struct list {
    uint64_t n_loaded, n_unloaded; /* as the linker counted */
    size_t n, cap, bytes;
    struct sd_cxx_names cxx;
    struct sd_code_object items[]; /* by address */
};

static _Atomic(struct list *) newest;

static struct list *new_list(size_t cap)
{
    size_t bytes = sizeof(struct list) + cap * sizeof(struct sd_code_object);
    struct list *l =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (l == MAP_FAILED)
        return NULL;
    l->cap = cap;
    l->bytes = bytes;
    return l;
}

static bool is_ours(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    return strncmp(name, "libsonde", 8) == 0 || strncmp(name, "_sonde.", 7) == 0;
}

static bool outline(const struct dl_phdr_info *info, struct sd_code_object *o)
{
    *o = (struct sd_code_object){ .loaded = sd_loaded_outline(info),
                                  .start = UINTPTR_MAX };
    for (size_t i = 0; i < o->loaded.n_segments; i++) {
        const Elf64_Phdr *s = &o->loaded.segments[i];
        uintptr_t from = o->loaded.base + s->p_vaddr;

        if (s->p_type != PT_LOAD || !(s->p_flags & PF_X))
            continue;
        o->start = from < o->start ? from : o->start;
        o->end = from + s->p_memsz > o->end ? from + s->p_memsz : o->end;
    }
    o->table = sd_call_frames_table(&o->loaded);
    o->is_ours = is_ours(o->loaded.name);
    return o->start < o->end;
}

/* Few are out of order: the linker places objects one after the other. */
static void insert(struct list *l, const struct sd_code_object *o)
{
    size_t i = l->n++;

    for (; i > 0 && l->items[i - 1].start > o->start; i--)
        l->items[i] = l->items[i - 1];
    l->items[i] = *o;
}

static int count(struct dl_phdr_info *info, size_t bytes, void *n)
{
    (void)info, (void)bytes;
    ++*(size_t *)n;
    return 0;
}

static void *defined(struct sd_loaded *o, const char *name)
{
    const Elf64_Sym *s = sd_loaded_read(o) ? sd_loaded_find(o, name) : NULL;

    return s && s->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(s->st_info) == STT_FUNC
               ? (void *)(o->base + s->st_value)
               : NULL;
}

/* The first that defines a function is where calls of it lead. */
static void look_for_cxx(struct list *l, const struct sd_loaded *o)
{
    struct sd_loaded copy = *o;

    if (!l->cxx.give_back && !sd_loaded_is_linker(o))
        l->cxx.give_back = (void (*)(void *))defined(&copy, "free");
    if (!l->cxx.write_out && strstr(o->name, "libstdc++"))
        l->cxx.write_out = (char *(*)(const char *, char *, size_t *, int *))defined(
            &copy, "__cxa_demangle");
}

static int add(struct dl_phdr_info *info, size_t bytes, void *to)
{
    struct list *l = to;
    struct sd_code_object o;

    (void)bytes;
    o.loaded = sd_loaded_outline(info);
    look_for_cxx(l, &o.loaded);
    l->n_loaded = info->dlpi_adds;
    l->n_unloaded = info->dlpi_subs;
    if (l->n < l->cap && outline(info, &o))
        insert(l, &o);
    return 0;
}

/* Two threads may do this at once: one of the lists is thrown away. */
static struct list *make_list(struct list *old)
{
    size_t n = 0;
    struct list *l;

    dl_iterate_phdr(count, &n);
    l = new_list(n + 8);
    if (!l)
        return old;
    dl_iterate_phdr(add, l);
    if (atomic_compare_exchange_strong(&newest, &old, l))
        return l;
    munmap(l, l->bytes);
    return old;
}

static int look(struct dl_phdr_info *info, size_t bytes, void *old)
{
    const struct list *l = old;

    (void)bytes;
    return info->dlpi_adds == l->n_loaded && info->dlpi_subs == l->n_unloaded ? 1 : 2;
}

static const struct sd_code_object *find(const struct list *l, uintptr_t at)
{
    size_t low = 0, high = l->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (l->items[middle].start <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low && at < l->items[low - 1].end ? &l->items[low - 1] : NULL;
}

const struct sd_code_object *sd_code_object_at(uintptr_t at)
{
    struct list *l = atomic_load_explicit(&newest, memory_order_acquire);
    const struct sd_code_object *o = l ? find(l, at) : NULL;

    if (o || (l && dl_iterate_phdr(look, l) == 1))
        return o;
    l = make_list(l);
    return l ? find(l, at) : NULL;
}

struct sd_cxx_names sd_code_objects_cxx(void)
{
    const struct list *l = atomic_load_explicit(&newest, memory_order_acquire);

    return l && l->cxx.write_out && l->cxx.give_back ? l->cxx
                                                     : (struct sd_cxx_names){ 0 };
}

uint64_t sd_code_objects_unloaded(void)
{
    const struct list *l = atomic_load_explicit(&newest, memory_order_acquire);

    return l ? l->n_unloaded : 0;
}

void sd_code_objects_update(void)
{
    struct list *l = atomic_load_explicit(&newest, memory_order_acquire);

    if (l && dl_iterate_phdr(look, l) != 1)
        make_list(l);
}
