/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_MEMORY_CLOCK_H
#define SD_ALLOC_MEMORY_CLOCK_H
/* memory_clock: reads the memory of this process at intervals while allocations are
 * recorded, as a program that sleeps makes no event which could.
 *
 * Under `sonde run` the parent advances the time, and a recording that a program makes
 * of itself looks at it now and then; only who asks for readings at fixed intervals
 * gets this thread.  It takes no signals and touches nothing of Python.  Ten times a
 * second it seals what a process that owns its capture has recorded. */
#include <stdint.h>

/* From now on, until it is stopped; before a recording begins, so that the start of the
 * thread is not part of it.  0 or < 0. */
int sd_alloc_clock_start(uint64_t every_ms);
/* Waits for its last reading.  Does nothing where there is none, as in the child of a
 * fork. */
void sd_alloc_clock_stop(void);
#endif
