/* SPDX-License-Identifier: MIT */
#ifndef SD_MACHINE_MACHINE_IDENTITY_H
#define SD_MACHINE_MACHINE_IDENTITY_H
/* machine_identity: identifies this machine and the cores that may be used
 * (sd_machine_identify, in machine.h). */
enum { SD_MACHINE_CORES = 1024 };

/* The cores of the affinity, in their order; at least one. */
unsigned sd_machine_cpus(int cpus[SD_MACHINE_CORES]);
#endif
