/* SPDX-License-Identifier: MIT */
#include "machine/machine_limits.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/test.h"
#include "base/root_testing.h"

TEST(machine_cores_are_no_more_than_a_limit_allows)
{
    CHECK(sd_machine_quota("max 100000\n") == 0);
    CHECK(sd_machine_quota("200000 100000\n") == 2);
    CHECK(sd_machine_quota("150000 100000\n") == 2);
    CHECK(sd_machine_quota("5000 100000\n") == 1);
    CHECK(sd_machine_quota("18446744073709551615 1\n") == 1024);
    CHECK(sd_machine_quota("") == 0 && sd_machine_quota("7") == 0);
}

TEST(machine_limits_are_the_least_of_all_groups_around)
{
    char root[] = "/tmp/sonde-limits-XXXXXX";
    struct sd_machine_limits l;

    CHECK(mkdtemp(root));
    sd_machine_limits(root, &l);
    CHECK(l.cores == 0 && l.memory == 0);
    put_file(root, "/proc/self/cgroup", "0::/a.slice/b.scope\n");
    put_file(root, "/sys/fs/cgroup/a.slice/b.scope/memory.max", "max\n");
    put_file(root, "/sys/fs/cgroup/a.slice/b.scope/cpu.max", "max 100000\n");
    sd_machine_limits(root, &l);
    CHECK(l.cores == 0 && l.memory == 0);
    put_file(root, "/sys/fs/cgroup/a.slice/memory.max", "1073741824\n");
    put_file(root, "/sys/fs/cgroup/memory.max", "2147483648\n");
    put_file(root, "/sys/fs/cgroup/a.slice/b.scope/cpu.max", "300000 100000\n");
    sd_machine_limits(root, &l);
    CHECK(l.cores == 3 && l.memory == 1073741824);
    remove_root(root);
}

TEST(machine_limits_of_the_older_groups_count)
{
    char root[] = "/tmp/sonde-limits-XXXXXX";
    struct sd_machine_limits l;

    CHECK(mkdtemp(root));
    put_file(root, "/proc/self/cgroup",
             "9:name=systemd:/\n5:cpuacct,cpu:/x/y\n4:memory:/docker/0123\n0::/\n");
    put_file(root, "/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "150000\n");
    put_file(root, "/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
    put_file(root, "/sys/fs/cgroup/cpu/x/y/cpu.cfs_quota_us", "-1\n");
    put_file(root, "/sys/fs/cgroup/cpu/x/y/cpu.cfs_period_us", "100000\n");
    put_file(root, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n");
    sd_machine_limits(root, &l);
    CHECK(l.cores == 2 && l.memory == 536870912); /* the container sees its root only */
    remove_root(root);
}
