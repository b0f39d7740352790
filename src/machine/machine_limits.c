/* SPDX-License-Identifier: MIT */
#include "machine/machine_limits.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/control_groups.h"

enum { CORES_MAX = 1024 };

unsigned sd_machine_quota(const char *cpu_max)
{
    unsigned long long quota, period, cores;

    if (sscanf(cpu_max, "%llu %llu", &quota, &period) != 2 || quota == 0 || period == 0)
        return 0; /* "max 100000" */
    cores = quota / period + (quota % period > 0);
    return cores < CORES_MAX ? (unsigned)cores : CORES_MAX;
}

static void lower_cores(struct sd_machine_limits *l, unsigned cores)
{
    if (cores > 0 && (l->cores == 0 || cores < l->cores))
        l->cores = cores;
}

static void lower_memory(struct sd_machine_limits *l, const char *text)
{
    unsigned long long bytes = strtoull(text, NULL, 10); /* "max": 0 */

    if (bytes > 0 && (l->memory == 0 || bytes < l->memory))
        l->memory = bytes;
}

static void look_at_2(const char *folder, void *limits)
{
    struct sd_machine_limits *l = limits;
    char text[SD_GROUP_TEXT_MAX];

    sd_control_groups_read(folder, "cpu.max", text);
    lower_cores(l, sd_machine_quota(text));
    sd_control_groups_read(folder, "memory.max", text);
    lower_memory(l, text);
}

static void look_at_cpu_1(const char *folder, void *limits)
{
    struct sd_machine_limits *l = limits;
    char quota[SD_GROUP_TEXT_MAX], period[SD_GROUP_TEXT_MAX],
        both[2 * SD_GROUP_TEXT_MAX];

    sd_control_groups_read(folder, "cpu.cfs_quota_us", quota);
    sd_control_groups_read(folder, "cpu.cfs_period_us", period);
    snprintf(both, sizeof both, "%s %s", quota, period);
    if (quota[0] != '-') /* -1: none */
        lower_cores(l, sd_machine_quota(both));
}

static void look_at_memory_1(const char *folder, void *limits)
{
    struct sd_machine_limits *l = limits;
    char text[SD_GROUP_TEXT_MAX];

    sd_control_groups_read(folder, "memory.limit_in_bytes", text);
    lower_memory(l, text); /* none is nearly all of 64 bits */
}

static const struct hierarchy {
    const char *controller; /* "" is cgroup 2 */
    const char *mount;
    sd_group_visit *look;
} hierarchies[] = {
    { "", "/sys/fs/cgroup", look_at_2 },
    { "cpu", "/sys/fs/cgroup/cpu", look_at_cpu_1 },
    { "memory", "/sys/fs/cgroup/memory", look_at_memory_1 },
};

void sd_machine_limits(const char *root, struct sd_machine_limits *l)
{
    *l = (struct sd_machine_limits){ 0 };
    for (size_t i = 0; i < sizeof hierarchies / sizeof *hierarchies; i++)
        sd_control_groups(root, hierarchies[i].controller, hierarchies[i].mount,
                          hierarchies[i].look, l);
}
