/* SPDX-License-Identifier: MIT */
#include "collect/alloc/native/symbol_names.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    PIECE = 1 << 16,        /* bytes of a table that are read at once */
    SECTIONS_MAX = 1 << 12, /* of a file */
    SYMBOLS_MAX = 1 << 25,
    COMPARED = 4096, /* bytes of a file that must be those in memory */
    BUILD_ID_MAX = 64,
    RANK_SHIFT = 30, /* of a name's place: how much the name is to be preferred */
};

struct function {
    uint32_t start; /* in the file's addresses; 0: no function */
    uint32_t name;  /* place in the strings, and its rank above */
};

struct names { /* of one object */
    struct names *next;
    uintptr_t base;
    uint64_t path; /* its hash */
    char file[PATH_MAX];
    struct function *slots; /* mapped; by start; NULL: there are none */
    uint32_t mask;
    uint64_t strings_at, strings_n;
};

static struct names *all; /* mapped; one for each object that was asked for */

static void *map(size_t bytes)
{
    void *p =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

static bool read_at(int fd, void *to, size_t n, uint64_t at)
{
    return at <= INT64_MAX && pread(fd, to, n, (off_t)at) == (ssize_t)n;
}

/* --- Where things are */

size_t sd_symbol_file(const struct sd_code_object *o, char *to, size_t most)
{
    ssize_t n;

    if (o->loaded.name[0]) {
        n = (ssize_t)strnlen(o->loaded.name, most);
        memcpy(to, o->loaded.name, (size_t)n);
    } else {
        n = readlink("/proc/self/exe", to, most);
    }
    return n > 0 ? (size_t)n : 0;
}

/* The build id that stands in the notes of the object; 0: it has none. */
static size_t build_id(const struct sd_loaded *o, uint8_t to[BUILD_ID_MAX])
{
    for (size_t i = 0; i < o->n_segments; i++) {
        const Elf64_Phdr *s = &o->segments[i];
        uintptr_t at = o->base + s->p_vaddr, end;

        if (s->p_type != PT_NOTE || sd_loaded_room(o, at, PF_R) < s->p_memsz)
            continue;
        for (end = at + s->p_memsz; end - at > sizeof(Elf64_Nhdr);) {
            const Elf64_Nhdr *h = (const void *)at;
            uint64_t name = (h->n_namesz + 3u) & ~UINT64_C(3),
                     n = (h->n_descsz + 3u) & ~UINT64_C(3);

            at += sizeof *h;
            if (at % 4 || name + n > end - at)
                break;
            if (h->n_type == NT_GNU_BUILD_ID && h->n_descsz <= BUILD_ID_MAX) {
                memcpy(to, (const void *)(at + name), h->n_descsz);
                return h->n_descsz;
            }
            at += name + n;
        }
    }
    return 0;
}

static bool debug_file(const struct sd_loaded *o, char to[PATH_MAX])
{
    uint8_t id[BUILD_ID_MAX];
    size_t n = build_id(o, id);
    int at;

    if (n < 2)
        return false;
    at = snprintf(to, PATH_MAX, "/usr/lib/debug/.build-id/%02x/", id[0]);
    for (size_t i = 1; i < n; i++)
        at += snprintf(to + at, (size_t)(PATH_MAX - at), "%02x", id[i]);
    snprintf(to + at, (size_t)(PATH_MAX - at), ".debug");
    return true;
}

/* Is this the file that was loaded?  It may have been replaced. */
static bool is_loaded(int fd, const struct sd_loaded *o)
{
    uint8_t there[COMPARED];

    for (size_t i = 0; i < o->n_segments; i++) {
        const Elf64_Phdr *s = &o->segments[i];
        size_t n = s->p_filesz < sizeof there ? s->p_filesz : sizeof there;

        if (s->p_type == PT_LOAD && s->p_offset == 0 && s->p_flags == PF_R)
            return read_at(fd, there, n, 0) &&
                   memcmp(there, (const void *)(o->base + s->p_vaddr), n) == 0;
    }
    return true; /* of an old linker: its first segment is code */
}

/* --- The table of symbols */

static const Elf64_Shdr *find_symbols(const Elf64_Shdr *s, size_t n, uint32_t type)
{
    for (size_t i = 0; i < n; i++)
        if (s[i].sh_type == type && s[i].sh_entsize == sizeof(Elf64_Sym) &&
            s[i].sh_link < n)
            return &s[i];
    return NULL;
}

static uint32_t rank_of(const Elf64_Sym *s)
{
    switch (ELF64_ST_BIND(s->st_info)) {
    case STB_GLOBAL:
        return 3;
    case STB_WEAK:
        return 2;
    }
    return 1;
}

static struct function *slot_of(const struct names *n, uint32_t start)
{
    uint32_t at = start * 0x9E3779B1u >> 3;

    while (n->slots[at & n->mask].start && n->slots[at & n->mask].start != start)
        at++;
    return &n->slots[at & n->mask];
}

static void add_symbol(struct names *n, const Elf64_Sym *s)
{
    unsigned type = ELF64_ST_TYPE(s->st_info);
    uint32_t rank = rank_of(s) << RANK_SHIFT;
    struct function *slot;

    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || s->st_shndx == SHN_UNDEF ||
        s->st_value == 0 || s->st_value > UINT32_MAX ||
        s->st_name >= 1u << RANK_SHIFT || s->st_name == 0)
        return;
    slot = slot_of(n, (uint32_t)s->st_value);
    if (slot->start && (slot->name & 3u << RANK_SHIFT) >= rank)
        return;
    *slot = (struct function){ (uint32_t)s->st_value, s->st_name | rank };
}

static bool read_symbols(struct names *n, int fd, const Elf64_Shdr *table, void *piece)
{
    uint64_t left = table->sh_size / sizeof(Elf64_Sym), at = table->sh_offset;
    uint32_t slots = 16;
    const uint64_t fits = PIECE / sizeof(Elf64_Sym);

    if (left > SYMBOLS_MAX)
        return false;
    while (slots < 2 * left)
        slots *= 2;
    n->slots = map(slots * sizeof *n->slots);
    n->mask = slots - 1;
    for (; n->slots && left > 0;) {
        uint64_t here = left < fits ? left : fits;

        if (!read_at(fd, piece, here * sizeof(Elf64_Sym), at))
            break;
        for (uint64_t i = 0; i < here; i++)
            add_symbol(n, (const Elf64_Sym *)piece + i);
        left -= here;
        at += here * sizeof(Elf64_Sym);
    }
    return n->slots != NULL;
}

static bool read_file(struct names *n, int fd, uint32_t type, void *piece)
{
    Elf64_Ehdr h;
    Elf64_Shdr *s = piece;
    const Elf64_Shdr *table;

    _Static_assert(SECTIONS_MAX * sizeof(Elf64_Shdr) <= 4 * PIECE, "they fit");
    if (!read_at(fd, &h, sizeof h, 0) || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 ||
        h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_shentsize != sizeof *s ||
        h.e_shnum == 0 || h.e_shnum > SECTIONS_MAX ||
        !read_at(fd, s, h.e_shnum * sizeof *s, h.e_shoff))
        return false;
    table = find_symbols(s, h.e_shnum, type);
    if (!table)
        return false;
    n->strings_at = s[table->sh_link].sh_offset;
    n->strings_n = s[table->sh_link].sh_size;
    return read_symbols(
        n, fd,
        &(Elf64_Shdr){ .sh_size = table->sh_size, .sh_offset = table->sh_offset },
        piece);
}

static bool try_file(struct names *n, const struct sd_loaded *o, const char *path,
                     bool is_itself, uint32_t type, void *piece)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is =
        fd >= 0 && (!is_itself || is_loaded(fd, o)) && read_file(n, fd, type, piece);

    if (fd >= 0)
        close(fd);
    if (is)
        snprintf(n->file, sizeof n->file, "%s", path);
    return is;
}

static void find_names(struct names *n, const struct sd_code_object *o)
{
    const struct sd_loaded *l = &o->loaded;
    const char *path = l->name[0] ? l->name : "/proc/self/exe";
    void *piece = map(4 * PIECE);
    char debug[PATH_MAX];

    if (!piece)
        return;
    if (!try_file(n, l, path, true, SHT_SYMTAB, piece) &&
        !(debug_file(l, debug) && try_file(n, l, debug, false, SHT_SYMTAB, piece)))
        try_file(n, l, path, true, SHT_DYNSYM, piece);
    munmap(piece, 4 * PIECE);
}

static uint64_t hash_of(const char *text)
{
    uint64_t h = 14695981039346656037u;

    for (; *text; text++)
        h = (h ^ (uint8_t)*text) * 1099511628211u;
    return h;
}

static struct names *names_of(const struct sd_code_object *o)
{
    uint64_t path = hash_of(o->loaded.name);
    struct names *n;

    for (n = all; n; n = n->next)
        if (n->base == o->loaded.base && n->path == path)
            return n;
    n = map(sizeof *n);
    if (!n)
        return NULL;
    n->base = o->loaded.base;
    n->path = path;
    n->next = all;
    all = n;
    find_names(n, o);
    return n;
}

/* Compilers name parts and copies of a function after it ("f.cold", "f.constprop.0"),
 * and linkers versions ("f@@V1"). */
static size_t cut(const char *name, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (name[i] == '.' || name[i] == '@')
            return i;
    return n;
}

size_t sd_symbol_name(const struct sd_code_object *o, uintptr_t start,
                      char to[SD_SYMBOL_NAME])
{
    struct names *n = names_of(o);
    uint64_t at = start - o->loaded.base, name;
    const struct function *f;
    ssize_t got;
    int fd;

    if (!n || !n->slots || at == 0 || at > UINT32_MAX)
        return 0;
    f = slot_of(n, (uint32_t)at);
    name = f->name & ((1u << RANK_SHIFT) - 1);
    if (!f->start || name >= n->strings_n)
        return 0;
    fd = open(n->file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    got = pread(fd, to, SD_SYMBOL_NAME, (off_t)(n->strings_at + name));
    close(fd);
    return got > 0 ? cut(to, strnlen(to, (size_t)got)) : 0;
}
