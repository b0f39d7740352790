/* SPDX-License-Identifier: MIT */
#ifndef SD_MACHINE_MACHINE_LIMITS_H
#define SD_MACHINE_MACHINE_LIMITS_H
/* machine_limits: the CPU and memory limits that control groups put on this process.
 *
 * A limit holds for the group and for all groups in it, so the own group and those
 * around it are asked, and the least counts.  Both kinds of groups are known: cgroup 2,
 * and the hierarchies for CPU and memory of cgroup 1.  Inside a container the path that
 * the kernel tells may be the host's, and only its last stop, the root that the
 * container sees, is there: that is the container's own group. */
#include <stdint.h>

struct sd_machine_limits {
    unsigned cores;  /* a part of a core counts as one; 0: no limit */
    uint64_t memory; /* bytes; 0: no limit */
};

/* `root` is put before /proc and /sys: "", but in tests. */
void sd_machine_limits(const char *root, struct sd_machine_limits *l);

/* The cores that a limit allows, as cpu.max tells it ("200000 100000": 2); 0: any. */
unsigned sd_machine_quota(const char *cpu_max);
#endif
