/* SPDX-License-Identifier: MIT */
#ifndef SD_MACHINE_MACHINE_PROCESSOR_H
#define SD_MACHINE_MACHINE_PROCESSOR_H
/* machine_processor: reads the name of the processor.
 *
 * Times are compared only with the peak of the processor that took them, by this name:
 * whoever notes it and whoever looks for it ask here. */
#include <stdbool.h>

#include "machine/machine.h"

/* "Intel(R) Xeon(R) ...", cut to the room that there is.  False, and "": the kernel
 * does not say (on most that are not x86), so that no two machines are the same. */
bool sd_machine_processor(char name[SD_MACHINE_TEXT]);
/* The same of the text of a /proc/cpuinfo. */
bool sd_machine_processor_in(const char *text, char name[SD_MACHINE_TEXT]);
#endif
