/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SAMPLE_VISITOR_H
#define SD_COLLECT_SAMPLE_VISITOR_H
/* visitor: a thread of ours that stays on one CPU and reads there.
 *
 * Whatever the sampler does on the CPU of a thread that it follows is taken from that
 * thread.  So only the read goes there, by a thread that sleeps on that CPU: waking it
 * costs the sampler, on its own CPU, and the other one an interrupt and two switches.
 * The sampler waits for it meanwhile, first without sleeping, so that nobody need be
 * woken from the other CPU either.  As one of the two always waits for the other,
 * nothing that they share needs a lock. */
#include <stdbool.h>
#include <stdint.h>

struct sd_visitor;

/* NULL: no memory, no thread, or that CPU is none of ours. */
struct sd_visitor *sd_visitor_new(int cpu);
void sd_visitor_free(struct sd_visitor *r); /* ends the thread */
/* The CPU time that it has had so far; accepts NULL. */
uint64_t sd_visitor_cpu_ns(const struct sd_visitor *r);

/* hot: has `work` done there, and waits for it. */
void sd_visitor_do(struct sd_visitor *r, void (*work)(void *of), void *of);
#endif
