/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SAMPLE_VISITOR_H
#define SD_COLLECT_SAMPLE_VISITOR_H
/* visitor: a thread that stays on one CPU and does there what must be done there.
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
/* Ends the thread; *cpu_ns (may be NULL) grows by the CPU time that it had. */
void sd_visitor_free(struct sd_visitor *r, uint64_t *cpu_ns);
int sd_visitor_cpu(const struct sd_visitor *r);

/* hot: has `work` done there, and waits for it. */
void sd_visitor_do(struct sd_visitor *r, void (*work)(void *of), void *of);
#endif
