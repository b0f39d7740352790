/* SPDX-License-Identifier: MIT */
#include "base/memory_left.h"

#include "base/root_testing.h"
#include "base/test.h"

enum { GIB = 1 << 30 };

TEST(memory_left_is_the_least_of_the_machine_and_all_groups_around)
{
    char root[] = "/tmp/sonde-left-XXXXXX";

    CHECK(mkdtemp(root));
    CHECK(sd_memory_left(root) == UINT64_MAX);
    put_file(root, "/proc/meminfo",
             "MemTotal:       24000000 kB\nMemAvailable:    8388608 kB\n");
    CHECK(sd_memory_left(root) == UINT64_C(8) * GIB);
    put_file(root, "/proc/self/cgroup", "0::/a.slice/b.scope\n");
    put_file(root, "/sys/fs/cgroup/a.slice/b.scope/memory.max", "max\n");
    put_file(root, "/sys/fs/cgroup/a.slice/memory.max", "4294967296\n");
    put_file(root, "/sys/fs/cgroup/a.slice/memory.current", "3221225472\n");
    CHECK(sd_memory_left(root) == GIB);
    put_file(root, "/sys/fs/cgroup/a.slice/memory.stat",
             "anon 1073741824\ninactive_file 1073741824\n");
    CHECK(sd_memory_left(root) == UINT64_C(2) * GIB); /* of old pages of files */
    put_file(root, "/sys/fs/cgroup/a.slice/memory.current", "5368709120\n");
    CHECK(sd_memory_left(root) == 0); /* the limit was lowered below what is used */
    remove_root(root);
}

TEST(memory_left_knows_the_older_groups)
{
    char root[] = "/tmp/sonde-left-XXXXXX";

    CHECK(mkdtemp(root));
    put_file(root, "/proc/self/cgroup", "4:memory:/docker/0123\n");
    put_file(root, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n");
    put_file(root, "/sys/fs/cgroup/memory/memory.usage_in_bytes", "1610612736\n");
    put_file(root, "/sys/fs/cgroup/memory/memory.stat",
             "total_inactive_file 536870912\n");
    CHECK(sd_memory_left(root) == GIB);
    remove_root(root);
}
