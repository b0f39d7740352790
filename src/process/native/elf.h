/* SPDX-License-Identifier: MIT */
#ifndef SD_PROCESS_NATIVE_ELF_H
#define SD_PROCESS_NATIVE_ELF_H
/* elf: reads symbols and sections of a file that a process has mapped.
 *
 * The file is opened the way the process sees it: through /proc/PID/map_files (which
 * also reaches deleted files, but wants more rights), /proc/PID/exe, else its path
 * below /proc/PID/root, which is right in other mount namespaces.  A file that was
 * replaced since must not be taken for the mapped one, and device and inode cannot tell
 * on overlay file systems; so its first bytes are compared with those in the process,
 * which hold the build id.  Nothing in the file is believed: each offset is checked
 * against its size.
 *
 * Where no file can be reached the dynamic symbols are looked up in the process's own
 * memory, as its dynamic linker does. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "process/maps.h"
#include "process/remote.h"

struct sd_elf {         /* all zero is none */
    struct sd_map file; /* owned */
};

struct sd_elf_place {
    uint64_t address; /* as the file counts; add the bias */
    uint64_t size;
};

/* SD_EFORMAT when it is no 64-bit little-endian ELF file, SD_EABSENT when the mapped
 * file can no longer be reached; both without a sentence.  `m` is the file's first
 * mapping. */
int sd_elf_open(struct sd_elf *e, const struct sd_remote *r,
                const struct sd_mapping *m);
int sd_elf_open_path(struct sd_elf *e, const char *path);
void sd_elf_close(struct sd_elf *e);
/* Whether this file, already open, is the one whose first mapping is `m`. */
bool sd_elf_is_mapped(const struct sd_elf *e, const struct sd_remote *r,
                      const struct sd_mapping *m);

/* What to add to the file's addresses, when the byte at m->offset is mapped at
 * m->start; false when the file loads nothing there. */
bool sd_elf_bias(const struct sd_elf *e, const struct sd_mapping *m, uint64_t *bias);
bool sd_elf_section(const struct sd_elf *e, const char *name, struct sd_elf_place *out);
/* In .dynsym, else .symtab. */
bool sd_elf_symbol(const struct sd_elf *e, const char *name, struct sd_elf_place *out);
/* The bytes of the file that are loaded at this address; NULL when they are not in it.
 */
const uint8_t *sd_elf_bytes(const struct sd_elf *e, uint64_t address, size_t n);

/* Without a file: the dynamic symbol `name` of the object whose ELF header is at `base`
 * in the process.  The address has the bias in it already. */
bool sd_elf_symbol_in(const struct sd_remote *r, uint64_t base, const char *name,
                      struct sd_elf_place *out);
#endif
