/* SPDX-License-Identifier: MIT */
#ifndef SD_MACHINE_MACHINE_H
#define SD_MACHINE_MACHINE_H
/* machine: the best that this machine can do: arithmetic per second for each number
 * type, and bytes per second from each level of memory.
 *
 * Data sheets tell the peak of a processor that is alone in its box; in a virtual
 * machine, in a container or with few memory channels it is another.  So it is
 * measured: loops of nothing but multiply-adds in registers, with the widest
 * instructions that the processor has, and loops that only read.  A loop is timed by
 * the CPU time of its thread, best of many short rounds that are spread over a second
 * or more, until two of the best agree within 2 %: other programs on the machine cost
 * precision, not truth.  Memory is shared with them, though, and its figures are best
 * on a quiet machine.  There all of it takes two seconds or less; where no two rounds
 * agree it goes on for five seconds, of a machine that is busy, and that is noted.
 *
 * It is measured once and kept in the user's cache
 * (XDG_CACHE_HOME/sonde/machine-*.txt), a file for each machine and number of usable
 * cores.  Usable are those of the affinity, and no more of them than the limit of CPU
 * time of the control groups allows (a part of a core counts as one): by the CPU time
 * of threads such a limit would not be seen. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/out.h"

enum sd_machine_number { /* machine.def */
#define MACHINE_NUMBER(name, word, meaning) SD_MACHINE_##name,
#include "machine/machine.def"
#undef MACHINE_NUMBER
                         SD_MACHINE_NUMBERS
};
enum { SD_MACHINE_LEVELS = 5, SD_MACHINE_TEXT = 96 };

struct sd_machine_level {
    char name[8];     /* "L1", "L2", "L3", "memory" */
    uint64_t bytes;   /* of one of it; 0 of memory: not asked */
    double one_core;  /* bytes read a second */
    double all_cores; /* the same, all usable cores at once */
};

struct sd_machine {
    char host[24];             /* made of its id; not the id */
    char cpu[SD_MACHINE_TEXT]; /* "Intel(R) Xeon(R) ...", or "unknown" */
    char vectors[16];          /* "AVX-512", "AVX2", "SSE2" */
    unsigned n_cores;          /* that this process may use */
    uint64_t measured_at;      /* seconds since 1970 */
    /* Operations a second (two for each multiply-add); 0: the processor cannot. */
    double one_core[SD_MACHINE_NUMBERS], all_cores[SD_MACHINE_NUMBERS];
    struct sd_machine_level levels[SD_MACHINE_LEVELS];
    unsigned n_levels;
    double triad; /* bytes a second of a[i] = b[i] + s * c[i], all cores, as STREAM
                     counts: three each */
    uint64_t bytes_read;  /* of memory, by all cores; and all that their caches hold: */
    uint64_t cache_bytes; /* if that is not far less, caches answered for memory */
    unsigned n_figures;
    unsigned n_unsettled; /* whose best rounds differ by more than 2 % */
};

const char *sd_machine_word(enum sd_machine_number k);
const char *sd_machine_meaning(enum sd_machine_number k);

/* Has it what others divide by: arithmetic in float32 and the speed of memory? */
bool sd_machine_is_whole(const struct sd_machine *m);
/* Host, processor and cores, nothing measured. */
void sd_machine_identify(struct sd_machine *m);
/* Measures all of it.  SD_ENOMEM, or what the system refused. */
int sd_machine_measure(struct sd_machine *m);
/* What was measured before; SD_EABSENT, without a sentence, when nothing was, or on
 * another machine. */
int sd_machine_load(struct sd_machine *m);
int sd_machine_keep(
    const struct sd_machine *m); /* may fail: then it is measured again */

/* The cache's own text, and back; SD_EFORMAT without a sentence. */
void sd_machine_write(const struct sd_machine *m, struct sd_buf *to);
int sd_machine_read(const char *text, size_t n, struct sd_machine *m);

/* What the machine can do with numbers of this type (a word of torch's: "float32") with
 * all cores; of one that it cannot do, what it can with the next larger one. */
double sd_machine_peak(const struct sd_machine *m, const char *type);
double sd_machine_bandwidth(const struct sd_machine *m); /* of memory, all cores */

/* "~/.cache/sonde/WHAT-0123456789abcdef.txt" of that machine, its folders made if they
 * are not there; false: nowhere to keep anything. */
bool sd_machine_cache_path(const struct sd_machine *m, const char *what, bool make,
                           char *path, size_t size);
/* Is it a file, and not a pipe that would make its reader wait? */
bool sd_machine_cache_has(const char *path);
#endif
