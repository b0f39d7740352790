/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_CONTROL_GROUPS_H
#define SD_BASE_CONTROL_GROUPS_H
/* control_groups: finds the folders of the control groups that this process is in.
 *
 * A limit holds for the group and for all groups in it, so the own group and those
 * around it are visited.  Inside a container the path that the kernel tells may be the
 * host's, and only its last stop, the root that the container sees, is there: that is
 * the container's own group. */
#include <stddef.h>

enum { SD_GROUP_TEXT_MAX = 64 };

typedef void sd_group_visit(const char *folder, void *of);

/* Visits the own group of a hierarchy and each group around it.  `root` is put before
 * /proc and /sys: "", but in tests.  `controller`: "memory", "cpu", or "" for cgroup 2;
 * `mount`: where the hierarchy is mounted. */
void sd_control_groups(const char *root, const char *controller, const char *mount,
                       sd_group_visit *visit, void *of);
/* The first line of a file of a group; "" when it is not there. */
void sd_control_groups_read(const char *folder, const char *name,
                            char text[SD_GROUP_TEXT_MAX]);
#endif
