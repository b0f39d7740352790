/* SPDX-License-Identifier: MIT */
#ifndef SD_MACHINE_MACHINE_MEMORY_H
#define SD_MACHINE_MACHINE_MEMORY_H
/* machine_memory: works out how much each core must read so that it comes from one
 * level of memory and no other, and allocates it.
 *
 * From L1 and L2 half of the level is read (the other half may be others'), shared
 * with the cores that have it in common; from L3 as much as L2 holds, too, so that it
 * is not L2 that answers; from memory four times all that the caches of that core can
 * hold.  A cache is divided among those of our cores that share it: what cores of
 * others might leave is ours.  All cores' together that is four times all caches, on
 * every socket; it is no more than an eighth of the memory that is free and of the
 * limit of the control groups, and a level that does not fit then is left out. */
#include <stddef.h>
#include <stdint.h>

#include "machine/machine_limits.h"

enum sd_memory_level {
    SD_MEMORY_L1,
    SD_MEMORY_L2,
    SD_MEMORY_L3,
    SD_MEMORY_ITSELF,
    SD_MEMORY_LEVELS
};

struct sd_memory_part {
    size_t bytes[SD_MEMORY_LEVELS]; /* that a core reads; 0: there is no such level */
    size_t at;                      /* where its own pages begin */
};

struct sd_machine_memory {
    uint64_t caches[SD_MEMORY_LEVELS]; /* size of one, of the first core */
    uint64_t all_caches;               /* of all cores: what may hide memory */
    struct sd_memory_part alone;       /* the first core, when it is alone */
    struct sd_memory_part *parts;      /* all at once; owned, one for each core */
    unsigned n;
    uint8_t *pages; /* owned; not touched yet */
    size_t n_bytes;
};

/* Bytes that are free, or the limit where that is less. */
uint64_t sd_machine_memory_free(const char *root, const struct sd_machine_limits *l);
/* What may be taken of the machine's memory. */
uint64_t sd_machine_memory_most(const char *root, const struct sd_machine_limits *l);
/* How much each of these cores reads, of `most` bytes at most; no pages yet.
 * SD_ENOMEM. */
int sd_machine_memory_plan(struct sd_machine_memory *m, const char *root,
                           const int *cpus, unsigned n, uint64_t most);
/* SD_ENOMEM, with what was asked for. */
int sd_machine_memory_take(struct sd_machine_memory *m);
void sd_machine_memory_release(struct sd_machine_memory *m);
#endif
