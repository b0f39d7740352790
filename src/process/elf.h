/* SPDX-License-Identifier: MIT */
#ifndef SD_PROCESS_ELF_H
#define SD_PROCESS_ELF_H
/* elf: symbols and sections of a file that a process has mapped.
 *
 * The file is opened the way the process sees it: through /proc/PID/map_files (which
 * also reaches deleted and replaced files, but wants more rights), /proc/PID/exe, else
 * its path below /proc/PID/root, which is right in other mount namespaces; device and
 * inode are compared, so a file that was replaced meanwhile is not taken for the mapped
 * one.  Nothing in the file is believed: each offset is checked against its size. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/file.h"
#include "process/maps.h"

struct sd_elf {         /* all zero is none */
    struct sd_map file; /* owned */
    uint64_t low; /* address, as the file counts, of its first loaded byte's page */
    uint64_t low_offset; /* where that byte stands in the file */
    bool is_fixed;       /* loaded where it says; otherwise anywhere */
};

struct sd_elf_place {
    uint64_t address; /* as the file counts; add the bias */
    uint64_t size;
};

/* SD_EFORMAT when it is no 64-bit little-endian ELF file, SD_EABSENT when the mapped
 * file can no longer be reached; both without a sentence. */
int sd_elf_open(struct sd_elf *e, pid_t pid, const struct sd_mapping *m);
int sd_elf_open_path(struct sd_elf *e, const char *path);
void sd_elf_close(struct sd_elf *e);

/* What to add to the file's addresses, when the byte at `offset` of the file is mapped
 * at `start`. */
uint64_t sd_elf_bias(const struct sd_elf *e, uint64_t start, uint64_t offset);
bool sd_elf_section(const struct sd_elf *e, const char *name, struct sd_elf_place *out);
/* In .dynsym, else .symtab. */
bool sd_elf_symbol(const struct sd_elf *e, const char *name, struct sd_elf_place *out);
/* The bytes of the file that are loaded at this address; NULL when they are not in it.
 */
const uint8_t *sd_elf_bytes(const struct sd_elf *e, uint64_t address, size_t n);
#endif
