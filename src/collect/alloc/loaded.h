/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_LOADED_H
#define SD_ALLOC_LOADED_H
/* loaded: an object (the program, a shared library) that the dynamic linker has loaded
 * into this process, as its own tables in memory describe it.
 *
 * A stranger wrote the tables.  Each is used only as far as it lies in one readable
 * segment of the object, so that none can lead out of what is mapped.
 *
 * An object may be unloaded at any time: what is read here is good inside a callback of
 * dl_iterate_phdr, which holds the linker's lock. */
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sd_relocations {
    const Elf64_Rela *at;
    size_t n;
};

struct sd_loaded {
    const char *name; /* the path; "" is the program */
    uintptr_t base;   /* added to the addresses in its file */
    const Elf64_Phdr *segments;
    size_t n_segments;
    const Elf64_Dyn *dynamic;
    uintptr_t relro_start, relro_end; /* whole pages, read-only after relocation; equal:
                                         none */
    struct sd_relocations of_calls, of_data;
    const Elf64_Sym *symbols;
    size_t n_symbols; /* at most */
    const uint16_t *versions;
    size_t n_versions; /* at most */
    const char *strings;
    size_t strings_bytes;
    const uint32_t *gnu_hash, *sysv_hash; /* NULL: it has none */
    size_t gnu_hash_n, sysv_hash_n;       /* at most, in words */
};

/* Where it lies and what it is called.  Everything is borrowed. */
struct sd_loaded sd_loaded_outline(const struct dl_phdr_info *info);
/* Its tables, too; false: it has none that could be read. */
bool sd_loaded_read(struct sd_loaded *o);
/* How many bytes of a segment with all of these flags (PF_R...) begin at the address;
 * 0: it is in none. */
size_t sd_loaded_room(const struct sd_loaded *o, uintptr_t at, uint32_t flags);
/* Is it the dynamic linker, or what the kernel maps into each process? */
bool sd_loaded_is_linker(const struct sd_loaded *o);

const Elf64_Sym *sd_loaded_symbol(const struct sd_loaded *o, size_t index);
/* Does the symbol have this name? */
bool sd_loaded_is_named(const struct sd_loaded *o, const Elf64_Sym *s,
                        const char *name);
/* The entry of a name in the object's hash table, or NULL: what the dynamic linker
 * finds when it looks there. */
const Elf64_Sym *sd_loaded_find(const struct sd_loaded *o, const char *name);
#endif
