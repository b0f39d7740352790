/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SAMPLE_SLICE_H
#define SD_COLLECT_SAMPLE_SLICE_H
/* slice: a thread that works for microseconds and must not be late asks for it.
 *
 * From Linux 6.12 on a thread may say how long it wants to run at a time.  The shorter
 * that is, the sooner it is given a CPU that others use, too; its share of the CPU
 * stays what it was.  No right is needed.  Older kernels take no notice. */

/* For the calling thread, where it is scheduled as usual: whoever was given another
 * policy keeps it. */
void sd_slice_shorten(void);
#endif
