/* SPDX-License-Identifier: MIT */
#include "process/native/elf.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

enum {
    N_COMPARED = 4096,       /* bytes of the first mapping that must be the file's */
    N_HEADERS_MAX = 4096,    /* program headers, section headers */
    N_SYMBOLS_MAX = 1 << 24, /* of one table */
    N_DYNAMIC_MAX = 1024,    /* entries of a dynamic section */
    N_CHAIN_MAX = 1 << 16,   /* symbols of one bucket of a hash table */
    N_NAME = 64,             /* longest name looked up, with its 0 */
};

/* n bytes of the file from `at` on, aligned as the format says; NULL when it is
 * shorter. */
static const void *bytes(const struct sd_elf *e, uint64_t at, uint64_t n)
{
    if (at > e->file.n || n > e->file.n - at)
        return NULL;
    return e->file.p + at;
}

/* The same for a table of numbers, which the format keeps aligned. */
static const void *table_at(const struct sd_elf *e, uint64_t at, uint64_t n)
{
    return at % 8 == 0 ? bytes(e, at, n) : NULL;
}

static bool is_ours(const Elf64_Ehdr *h)
{
    return memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 &&
           h->e_ident[EI_CLASS] == ELFCLASS64 && h->e_ident[EI_DATA] == ELFDATA2LSB &&
           h->e_phentsize == sizeof(Elf64_Phdr);
}

int sd_elf_open_path(struct sd_elf *e, const char *path)
{
    const Elf64_Ehdr *h;

    *e = (struct sd_elf){ 0 };
    if (sd_map_file(&e->file, path) < 0)
        return SD_EABSENT;
    h = bytes(e, 0, sizeof *h);
    if (h && is_ours(h))
        return 0;
    sd_elf_close(e);
    return SD_EFORMAT;
}

void sd_elf_close(struct sd_elf *e)
{
    sd_map_release(&e->file);
    *e = (struct sd_elf){ 0 };
}

bool sd_elf_is_mapped(const struct sd_elf *e, const struct sd_remote *r,
                      const struct sd_mapping *m)
{
    uint8_t there[N_COMPARED];
    size_t n = sizeof there;
    const void *here;

    if (n > m->end - m->start)
        n = m->end - m->start;
    if (m->offset < e->file.n && n > e->file.n - m->offset)
        n = e->file.n - m->offset;
    here = bytes(e, m->offset, n);
    return here && sd_remote_read(r, m->start, there, n) == 0 &&
           memcmp(here, there, n) == 0;
}

int sd_elf_open(struct sd_elf *e, const struct sd_remote *r, const struct sd_mapping *m)
{
    char paths[3][4096 + 64];
    int best = SD_EABSENT;
    size_t i;

    snprintf(paths[0], sizeof paths[0], "/proc/%d/map_files/%llx-%llx", (int)r->pid,
             (unsigned long long)m->start, (unsigned long long)m->end);
    snprintf(paths[1], sizeof paths[1], "/proc/%d/root%s", (int)r->pid, m->path);
    snprintf(paths[2], sizeof paths[2], "/proc/%d/exe", (int)r->pid);
    for (i = 0; i < 3; i++) {
        int rc = sd_elf_open_path(e, paths[i]);

        if (rc == 0 && sd_elf_is_mapped(e, r, m))
            return 0;
        if (rc == SD_EFORMAT)
            best = rc;
        sd_elf_close(e);
    }
    return best;
}

static const Elf64_Phdr *segments(const struct sd_elf *e, size_t *n)
{
    const Elf64_Ehdr *h = (const Elf64_Ehdr *)e->file.p;

    *n = h->e_phnum < N_HEADERS_MAX ? h->e_phnum : N_HEADERS_MAX;
    return table_at(e, h->e_phoff, *n * sizeof(Elf64_Phdr));
}

bool sd_elf_bias(const struct sd_elf *e, const struct sd_mapping *m, uint64_t *bias)
{
    size_t n, i;
    const Elf64_Phdr *p = segments(e, &n);

    for (i = 0; p && i < n; i++) {
        uint64_t page = p[i].p_offset & ~(uint64_t)4095;

        if (p[i].p_type != PT_LOAD || m->offset < page ||
            m->offset >= p[i].p_offset + p[i].p_filesz)
            continue;
        *bias = m->start - (p[i].p_vaddr - p[i].p_offset + m->offset);
        return true;
    }
    return false;
}

const uint8_t *sd_elf_bytes(const struct sd_elf *e, uint64_t address, size_t n)
{
    size_t n_segments, i;
    const Elf64_Phdr *p = segments(e, &n_segments);

    for (i = 0; p && i < n_segments; i++)
        if (p[i].p_type == PT_LOAD && address >= p[i].p_vaddr &&
            address - p[i].p_vaddr <= p[i].p_filesz &&
            n <= p[i].p_filesz - (address - p[i].p_vaddr))
            return bytes(e, p[i].p_offset + (address - p[i].p_vaddr), n);
    return NULL;
}

static const Elf64_Shdr *sections(const struct sd_elf *e, size_t *n)
{
    const Elf64_Ehdr *h = (const Elf64_Ehdr *)e->file.p;

    if (h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shnum > N_HEADERS_MAX)
        return NULL;
    *n = h->e_shnum;
    return table_at(e, h->e_shoff, *n * sizeof(Elf64_Shdr));
}

/* A name in a string table, when all of it is there. */
static bool is_name(const struct sd_elf *e, const Elf64_Shdr *table, uint64_t at,
                    const char *name)
{
    size_t n = strlen(name) + 1;
    const char *p;

    if (at > table->sh_size || n > table->sh_size - at)
        return false;
    p = bytes(e, table->sh_offset + at, n);
    return p && memcmp(p, name, n) == 0;
}

bool sd_elf_section(const struct sd_elf *e, const char *name, struct sd_elf_place *out)
{
    const Elf64_Ehdr *h = (const Elf64_Ehdr *)e->file.p;
    size_t n = 0, i;
    const Elf64_Shdr *s = sections(e, &n);

    for (i = 0; s && h->e_shstrndx < n && i < n; i++) {
        if (!is_name(e, &s[h->e_shstrndx], s[i].sh_name, name))
            continue;
        *out = (struct sd_elf_place){ s[i].sh_addr, s[i].sh_size };
        return s[i].sh_addr != 0;
    }
    return false;
}

static bool find_in_table(const struct sd_elf *e, const Elf64_Shdr *table,
                          const Elf64_Shdr *names, const char *name,
                          struct sd_elf_place *out)
{
    size_t n = table->sh_size / sizeof(Elf64_Sym), length = strlen(name) + 1, i;
    const Elf64_Sym *s = table_at(e, table->sh_offset, n * sizeof *s);
    const char *text = bytes(e, names->sh_offset, names->sh_size);

    if (!s || !text || n > N_SYMBOLS_MAX || length > names->sh_size)
        return false;
    for (i = 0; i < n; i++) {
        if (!s[i].st_value || s[i].st_name > names->sh_size - length ||
            memcmp(text + s[i].st_name, name, length) != 0)
            continue;
        *out = (struct sd_elf_place){ s[i].st_value, s[i].st_size };
        return true;
    }
    return false;
}

bool sd_elf_symbol(const struct sd_elf *e, const char *name, struct sd_elf_place *out)
{
    static const uint32_t kinds[] = { SHT_DYNSYM, SHT_SYMTAB };
    size_t n = 0, i, k;
    const Elf64_Shdr *s = sections(e, &n);

    for (k = 0; k < 2; k++)
        for (i = 0; s && i < n; i++)
            if (s[i].sh_type == kinds[k] && s[i].sh_link < n &&
                find_in_table(e, &s[i], &s[s[i].sh_link], name, out))
                return true;
    return false;
}

/* --- The same in the memory of a process ----------------------------------------- */

struct dynamic { /* addresses in the process */
    uint64_t symbols, names, gnu_hash;
};

/* The dynamic linker has replaced addresses of the file by those in memory, but not for
 * every object (the vdso keeps them), so both are understood. */
static uint64_t relocated(uint64_t base, uint64_t address)
{
    return address < base ? base + address : address;
}

static bool read_dynamic(const struct sd_remote *r, uint64_t base, uint64_t at,
                         size_t n, struct dynamic *out)
{
    Elf64_Dyn entry;
    size_t i;

    *out = (struct dynamic){ 0 };
    for (i = 0; i < n && i < N_DYNAMIC_MAX; i++) {
        if (sd_remote_read(r, at + i * sizeof entry, &entry, sizeof entry) < 0)
            return false;
        if (entry.d_tag == DT_NULL)
            break;
        if (entry.d_tag == DT_SYMTAB)
            out->symbols = relocated(base, entry.d_un.d_ptr);
        if (entry.d_tag == DT_STRTAB)
            out->names = relocated(base, entry.d_un.d_ptr);
        if (entry.d_tag == DT_GNU_HASH)
            out->gnu_hash = relocated(base, entry.d_un.d_ptr);
    }
    return out->symbols && out->names && out->gnu_hash;
}

static bool find_dynamic(const struct sd_remote *r, uint64_t base, struct dynamic *out,
                         uint64_t *bias)
{
    Elf64_Ehdr h;
    Elf64_Phdr p;
    uint64_t low = UINT64_MAX, at = 0;
    size_t n = 0, i;

    if (sd_remote_read(r, base, &h, sizeof h) < 0 || !is_ours(&h))
        return false;
    for (i = 0; i < h.e_phnum && i < N_HEADERS_MAX; i++) {
        if (sd_remote_read(r, base + h.e_phoff + i * sizeof p, &p, sizeof p) < 0)
            return false;
        if (p.p_type == PT_LOAD && p.p_vaddr < low)
            low = p.p_vaddr;
        if (p.p_type == PT_DYNAMIC) {
            at = p.p_vaddr;
            n = p.p_memsz / sizeof(Elf64_Dyn);
        }
    }
    if (!at || low == UINT64_MAX)
        return false;
    *bias = base - (low & ~(uint64_t)4095);
    return read_dynamic(r, base, *bias + at, n, out);
}

static uint32_t gnu_hash(const char *name)
{
    uint32_t h = 5381;

    for (; *name; name++)
        h = h * 33 + (uint8_t)*name;
    return h;
}

static bool is_symbol(const struct sd_remote *r, const struct dynamic *d,
                      uint64_t index, const char *name, Elf64_Sym *s)
{
    char there[N_NAME];

    return sd_remote_read(r, d->symbols + index * sizeof *s, s, sizeof *s) == 0 &&
           sd_remote_string(r, d->names + s->st_name, there, sizeof there) == 0 &&
           strcmp(there, name) == 0 && s->st_value;
}

bool sd_elf_symbol_in(const struct sd_remote *r, uint64_t base, const char *name,
                      struct sd_elf_place *out)
{
    struct {
        uint32_t n_buckets, first, n_words, shift;
    } head;
    uint32_t hash = gnu_hash(name), index, there;
    uint64_t buckets, chains, bias, steps;
    struct dynamic d;
    Elf64_Sym s;

    if (!find_dynamic(r, base, &d, &bias) ||
        sd_remote_read(r, d.gnu_hash, &head, sizeof head) < 0 || !head.n_buckets)
        return false;
    buckets = d.gnu_hash + sizeof head + (uint64_t)head.n_words * 8;
    chains = buckets + (uint64_t)head.n_buckets * 4;
    if (sd_remote_read(r, buckets + hash % head.n_buckets * 4, &index, 4) < 0 ||
        index < head.first)
        return false;
    for (steps = 0; steps < N_CHAIN_MAX; steps++, index++) {
        if (sd_remote_read(r, chains + (uint64_t)(index - head.first) * 4, &there, 4) <
            0)
            return false;
        if ((there | 1) == (hash | 1) && is_symbol(r, &d, index, name, &s)) {
            *out = (struct sd_elf_place){ bias + s.st_value, s.st_size };
            return true;
        }
        if (there & 1)
            return false; /* the last of its bucket */
    }
    return false;
}
