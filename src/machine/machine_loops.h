/* SPDX-License-Identifier: MIT */
#ifndef SD_MACHINE_MACHINE_LOOPS_H
#define SD_MACHINE_MACHINE_LOOPS_H
/* machine_loops: the loops that machine_measure times.  Each processor has its best;
 * which one it has is asked of it when the program runs. */
#include "machine/machine.h"

/* Runs `rounds` of it; *sink takes what the compiler must not leave out. */
typedef void (*sd_machine_loop)(uint64_t rounds, double *sink);

struct sd_machine_kernel {
    sd_machine_loop run;    /* NULL: this processor cannot */
    unsigned ops_per_round; /* two for each multiply-add */
    const char *vectors;
};
struct sd_machine_kernel sd_machine_kernel(enum sd_machine_number k);

/* Reads n bytes, a multiple of 1024 at a multiple of 64, `rounds` times. */
void sd_machine_sum(const void *p, size_t n, uint64_t rounds, double *sink);
void sd_machine_triad(double *a, const double *b, const double *c, size_t n);
#endif
