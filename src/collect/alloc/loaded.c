/* SPDX-License-Identifier: MIT */
#include "collect/alloc/loaded.h"

#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

enum {
    MAX_DYNAMIC = 4096,       /* entries that are looked at */
    HIDDEN_VERSION = 1 << 15, /* of a symbol that is kept for old programs */
};

size_t sd_loaded_room(const struct sd_loaded *o, uintptr_t at, uint32_t flags)
{
    for (size_t i = 0; i < o->n_segments; i++) {
        const Elf64_Phdr *s = &o->segments[i];
        uintptr_t into = at - (o->base + s->p_vaddr);

        if (s->p_type == PT_LOAD && (s->p_flags & flags) == flags && into < s->p_memsz)
            return s->p_memsz - into;
    }
    return 0;
}

/* A table at the address that an entry of the dynamic section names, and how many
 * things of this size there are at most.  glibc has added the base to most of them. */
static const void *table(const struct sd_loaded *o, uint64_t address, size_t size,
                         size_t *n)
{
    uintptr_t at = sd_loaded_room(o, address, PF_R) ? address : o->base + address;

    *n = at % (size < 8 ? size : 8) == 0 ? sd_loaded_room(o, at, PF_R) / size : 0;
    return *n ? (const void *)at : NULL;
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* The dynamic section, which is not ordered, with one place for each kind of entry. */
struct entries {
    uint64_t value[DT_NUM];
    uint64_t gnu_hash, versions, n_relative;
};

static void sort(const struct sd_loaded *o, size_t n, struct entries *e)
{
    for (size_t i = 0; i < n && o->dynamic[i].d_tag != DT_NULL; i++) {
        int64_t tag = o->dynamic[i].d_tag;

        if (tag > 0 && tag < DT_NUM)
            e->value[tag] = o->dynamic[i].d_un.d_val;
        else if (tag == DT_GNU_HASH)
            e->gnu_hash = o->dynamic[i].d_un.d_val;
        else if (tag == DT_VERSYM)
            e->versions = o->dynamic[i].d_un.d_val;
        else if (tag == DT_RELACOUNT)
            e->n_relative = o->dynamic[i].d_un.d_val;
    }
}

static struct sd_relocations relocations(const struct sd_loaded *o, uint64_t address,
                                         uint64_t bytes)
{
    struct sd_relocations r = { 0 };

    if (address && bytes)
        r.at = table(o, address, sizeof *r.at, &r.n);
    r.n = smaller(r.n, bytes / sizeof *r.at);
    return r;
}

static void find_relocations(struct sd_loaded *o, const struct entries *e)
{
    if (e->value[DT_PLTREL] == DT_RELA)
        o->of_calls = relocations(o, e->value[DT_JMPREL], e->value[DT_PLTRELSZ]);
    if (e->value[DT_RELAENT] != sizeof(Elf64_Rela))
        return;
    o->of_data = relocations(o, e->value[DT_RELA], e->value[DT_RELASZ]);
    /* Those that come first name no symbol. */
    if (e->n_relative <= o->of_data.n) {
        o->of_data.at += e->n_relative;
        o->of_data.n -= e->n_relative;
    }
}

static bool find_tables(struct sd_loaded *o, const struct entries *e)
{
    if (e->value[DT_SYMENT] != sizeof(Elf64_Sym))
        return false;
    o->symbols = table(o, e->value[DT_SYMTAB], sizeof(Elf64_Sym), &o->n_symbols);
    o->strings = table(o, e->value[DT_STRTAB], 1, &o->strings_bytes);
    o->strings_bytes = smaller(o->strings_bytes, e->value[DT_STRSZ]);
    if (e->versions)
        o->versions = table(o, e->versions, sizeof(uint16_t), &o->n_versions);
    if (e->gnu_hash)
        o->gnu_hash = table(o, e->gnu_hash, sizeof(uint32_t), &o->gnu_hash_n);
    if (e->value[DT_HASH])
        o->sysv_hash = table(o, e->value[DT_HASH], sizeof(uint32_t), &o->sysv_hash_n);
    find_relocations(o, e);
    return o->symbols && o->strings;
}

/* What the linker protects, computed as it does: the last page only if it is whole. */
static void find_relro(struct sd_loaded *o, const Elf64_Phdr *s)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = o->base + s->p_vaddr;

    if (sd_loaded_room(o, start, PF_W) == 0)
        return;
    o->relro_start = start & -page;
    o->relro_end = (start + s->p_memsz) & -page;
    if (o->relro_end < o->relro_start)
        o->relro_end = o->relro_start;
}

struct sd_loaded sd_loaded_outline(const struct dl_phdr_info *info)
{
    return (struct sd_loaded){ .name = info->dlpi_name ? info->dlpi_name : "",
                               .base = info->dlpi_addr,
                               .segments = info->dlpi_phdr,
                               .n_segments = info->dlpi_phnum };
}

bool sd_loaded_read(struct sd_loaded *o)
{
    struct entries e = { 0 };
    size_t n = 0;

    for (size_t i = 0; i < o->n_segments; i++) {
        const Elf64_Phdr *s = &o->segments[i];

        if (s->p_type == PT_GNU_RELRO)
            find_relro(o, s);
        else if (s->p_type == PT_DYNAMIC) {
            o->dynamic = table(o, o->base + s->p_vaddr, sizeof *o->dynamic, &n);
            n = smaller(smaller(n, s->p_memsz / sizeof *o->dynamic), MAX_DYNAMIC);
        }
    }
    if (!o->dynamic)
        return false;
    sort(o, n, &e);
    return find_tables(o, &e);
}

bool sd_loaded_is_linker(const struct sd_loaded *o)
{
    const char *slash = strrchr(o->name, '/');
    const char *file = slash ? slash + 1 : o->name;

    /* Its address is not told where it was started as a program. */
    return o->base != 0 &&
           (o->base == getauxval(AT_BASE) || o->base == getauxval(AT_SYSINFO_EHDR) ||
            strncmp(file, "ld-linux", 8) == 0);
}

const Elf64_Sym *sd_loaded_symbol(const struct sd_loaded *o, size_t index)
{
    return index < o->n_symbols ? &o->symbols[index] : NULL;
}

/* Most differ in the first letters, and most names in an object are asked for. */
bool sd_loaded_is_named(const struct sd_loaded *o, const Elf64_Sym *s, const char *name)
{
    for (size_t at = s->st_name; at < o->strings_bytes; at++, name++) {
        if (o->strings[at] != *name)
            return false;
        if (*name == '\0')
            return true;
    }
    return false;
}

static bool is_hidden(const struct sd_loaded *o, size_t index)
{
    return index < o->n_versions && (o->versions[index] & HIDDEN_VERSION);
}

/* Of two versions of a symbol the one for new programs.  True: it is final. */
static bool is_better(const struct sd_loaded *o, size_t index, const char *name,
                      const Elf64_Sym **best)
{
    const Elf64_Sym *s = sd_loaded_symbol(o, index);

    if (!s || !sd_loaded_is_named(o, s, name))
        return false;
    if (!*best || !is_hidden(o, index))
        *best = s;
    return !is_hidden(o, index);
}

static uint32_t gnu_hash_of(const char *name)
{
    uint32_t h = 5381;

    for (; *name; name++)
        h = h * 33 + (uint8_t)*name;
    return h;
}

/* Words: buckets, first symbol, words of the filter (of 64 bits), shift; filter,
 * buckets, chains. */
static const Elf64_Sym *find_by_gnu_hash(const struct sd_loaded *o, const char *name)
{
    const uint32_t *w = o->gnu_hash;
    uint32_t hash = gnu_hash_of(name);
    uint64_t buckets, chains, at;
    const Elf64_Sym *best = NULL;

    if (o->gnu_hash_n < 4 || w[0] == 0)
        return NULL;
    buckets = 4 + 2 * (uint64_t)w[2];
    chains = buckets + w[0];
    if (chains > o->gnu_hash_n)
        return NULL;
    at = w[buckets + hash % w[0]];
    if (at < w[1]) /* an empty bucket */
        return NULL;
    for (; chains + at - w[1] < o->gnu_hash_n; at++) {
        uint32_t other = w[chains + at - w[1]];

        if ((other | 1) == (hash | 1) && is_better(o, at, name, &best))
            break;
        if (other & 1) /* the last of its bucket */
            break;
    }
    return best;
}

static uint32_t sysv_hash_of(const char *name)
{
    uint32_t h = 0;

    for (; *name; name++) {
        h = (h << 4) + (uint8_t)*name;
        h = (h ^ (h >> 24 & 0xf0)) & 0x0fffffff;
    }
    return h;
}

/* Words: buckets, symbols; buckets, and for each symbol the next of its bucket. */
static const Elf64_Sym *find_by_sysv_hash(const struct sd_loaded *o, const char *name)
{
    const uint32_t *w = o->sysv_hash;
    const Elf64_Sym *best = NULL;
    uint32_t at;

    if (o->sysv_hash_n < 2 || w[0] == 0 || 2 + (uint64_t)w[0] + w[1] > o->sysv_hash_n)
        return NULL;
    at = w[2 + sysv_hash_of(name) % w[0]];
    /* A chain that ran in a circle would end with the number of symbols. */
    for (uint32_t n = 0; at && at < w[1] && n < w[1]; n++, at = w[2 + w[0] + at])
        if (is_better(o, at, name, &best))
            break;
    return best;
}

const Elf64_Sym *sd_loaded_find(const struct sd_loaded *o, const char *name)
{
    return o->gnu_hash ? find_by_gnu_hash(o, name) : find_by_sysv_hash(o, name);
}
