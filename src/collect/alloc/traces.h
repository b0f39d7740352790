/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_TRACES_H
#define SD_ALLOC_TRACES_H
/* traces: the blocks that live in this process now, each with its stack, for a program
 * that asks itself (sonde.compat.tracemalloc): those of Python's allocators, and those
 * that C extensions report.
 *
 * It is a recording in the mode `aggregate` into memory alone, without a capture; a
 * process has one recording.  In the child of a fork it goes on, with what lived then.
 *
 * All of this wants the interpreter's lock.  Stacks are numbers of one recording; of
 * an earlier one they are none. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sd_trace {
    uint64_t address, size;
    uint32_t stack;
};

struct sd_trace_frame {
    uint32_t site, line; /* site 0: no Python ran */
};

struct sd_traces_figures {
    uint64_t live_bytes, peak_bytes;
    uint64_t own_bytes; /* what it takes to know them */
};

/* SD_EEXISTS, with a sentence, when allocations are recorded otherwise. */
int sd_traces_start(void);
void sd_traces_stop(void); /* forgets all */
bool sd_traces_are_on(void);
struct sd_traces_figures sd_traces_figures(void);
/* From now on the peak is that of what comes. */
void sd_traces_reset_peak(void);
/* Forgets all blocks, and goes on. */
void sd_traces_clear(void);

/* All of them; to be freed with sd_free.  0 or SD_ENOMEM. */
int sd_traces_copy(struct sd_trace **out, size_t *n);
/* The one that begins there. */
bool sd_traces_find(uint64_t address, struct sd_trace *out);
/* Its frames, innermost first, at most so many; returns how many there are in all. */
size_t sd_traces_stack(uint32_t stack, struct sd_trace_frame *to, size_t most);
/* 0: Python's own; else that of the extension which allocated (foreign_traces.h). */
unsigned sd_traces_domain(uint32_t stack);
/* The file of a site; NULL: it has none.  Borrowed until sd_traces_stop. */
const char *sd_traces_file(uint32_t site, size_t *n);
#endif
