/* SPDX-License-Identifier: MIT */
#ifndef SD_PROCESS_MACHINE_IDENTITY_H
#define SD_PROCESS_MACHINE_IDENTITY_H
/* machine_identity: which machine this is, and which of its cores may be used
 * (sd_machine_identify, in machine.h). */
enum { SD_MACHINE_CORES = 1024 };

/* The cores of the affinity, in their order; at least one. */
unsigned sd_machine_cpus(int cpus[SD_MACHINE_CORES]);
#endif
