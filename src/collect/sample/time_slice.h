/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SAMPLE_TIME_SLICE_H
#define SD_COLLECT_SAMPLE_TIME_SLICE_H
/* time_slice: asks the kernel for short time slices, for a thread that works for
 * microseconds and must not be late.
 *
 * From Linux 6.12 on a thread may say how long it wants to run at a time.  The shorter
 * that is, the sooner it is given a CPU that others use, too; its share of the CPU
 * stays what it was.  No right is needed.  Older kernels take no notice.
 *
 * Who may (root, RLIMIT_NICE) also gets a better nice value: on a machine with more
 * threads than CPUs a round waits for several turns otherwise, each for some
 * milliseconds.  What is asked for more than 2,000 times a second could take a whole
 * CPU that way, and does without. */
#include <stdint.h>

/* For the calling thread, where it is scheduled as usual: whoever was given another
 * policy or nice value keeps it.  It works once in each `period_ns`. */
void sd_time_slice_shorten(uint64_t period_ns);
#endif
