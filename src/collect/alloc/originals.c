/* SPDX-License-Identifier: MIT */
#include "collect/alloc/originals.h"

#include <string.h>
#include <sys/auxv.h>

#include "base/error.h"
#include "collect/alloc/loaded.h"

struct search {
    struct sd_originals *originals;
    struct sd_hook *hooks;
    size_t n;
    bool has_malloc, is_program;
};

static bool is_function(const Elf64_Sym *s)
{
    unsigned type = ELF64_ST_TYPE(s->st_info);

    return s->st_value &&
           (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

/* Such a symbol is a function that chooses the function. */
static void *choose(uintptr_t chooser)
{
    void *(*call)(unsigned long) = (void *(*)(unsigned long))chooser;

    return call(getauxval(AT_HWCAP));
}

static void *defined(const struct sd_loaded *o, const char *name)
{
    const Elf64_Sym *s = sd_loaded_find(o, name);
    uintptr_t at;

    if (!s || s->st_shndx == SHN_UNDEF || !is_function(s))
        return NULL;
    at = o->base + s->st_value;
    if (!sd_loaded_room(o, at, PF_X))
        return NULL;
    return ELF64_ST_TYPE(s->st_info) == STT_GNU_IFUNC ? choose(at) : (void *)at;
}

static const void *stand_in(const struct sd_loaded *program, const char *name)
{
    const Elf64_Sym *s = sd_loaded_find(program, name);

    return s && s->st_shndx == SHN_UNDEF && s->st_value
               ? (const void *)(program->base + s->st_value)
               : NULL;
}

static void note_malloc(struct search *s, const struct sd_loaded *o)
{
    s->has_malloc = true;
    s->originals->is_foreign = !defined(o, "__libc_start_main");
    if (s->originals->is_foreign && !s->is_program)
        s->originals->allocator = o->base;
}

static void look_for(struct search *s, const struct sd_loaded *o, struct sd_hook *h,
                     bool has_malloc)
{
    if (s->is_program)
        h->stand_in = stand_in(o, h->name);
    if (!h->original && (h->rule == SD_HOOK_ANY || has_malloc))
        h->original = defined(o, h->name);
}

static int visit(struct dl_phdr_info *info, size_t bytes, void *to)
{
    struct search *s = to;
    struct sd_loaded o = sd_loaded_outline(info);
    bool has_malloc = false;

    (void)bytes;
    if (sd_loaded_read(&o) && !sd_loaded_is_linker(&o)) {
        if (!s->has_malloc && defined(&o, "malloc")) {
            note_malloc(s, &o);
            has_malloc = true;
        }
        for (size_t i = 0; i < s->n; i++)
            look_for(s, &o, &s->hooks[i], has_malloc);
    }
    s->is_program = false;
    return 0;
}

int sd_originals_find(struct sd_originals *o, struct sd_hook *hooks, size_t n)
{
    struct search s = { .originals = o, .hooks = hooks, .n = n, .is_program = true };

    *o = (struct sd_originals){ 0 };
    dl_iterate_phdr(visit, &s); /* the program comes first */
    return s.has_malloc
               ? 0
               : sd_fail(SD_EABSENT, "C's allocators cannot be recorded: no loaded "
                                     "library defines malloc; record with --layer py");
}
