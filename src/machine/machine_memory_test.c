/* SPDX-License-Identifier: MIT */
#include "machine/machine_memory.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/test.h"
#include "base/root_testing.h"

static const uint64_t KIB = 1024, MIB = 1024 * 1024;

static void put_cache(const char *root, int cpu, int index, const char *level,
                      const char *size, const char *list)
{
    const char *const texts[] = { level, index == 1 ? "Instruction\n" : "Data\n", size,
                                  list };
    static const char *const names[] = { "level", "type", "size", "shared_cpu_list" };
    char path[128];

    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/%s",
                 cpu, index, names[i]);
        put_file(root, path, texts[i]);
    }
}

/* Two sockets of two cores of two threads each: 0 and 4 are one core, 0, 1, 4 and 5 one
 * socket. */
static void make_machine(char *root)
{
    CHECK(mkdtemp(root));
    for (int cpu = 0; cpu < 8; cpu++) {
        char own[16];

        snprintf(own, sizeof own, "%d,%d\n", cpu % 4, cpu % 4 + 4);
        put_cache(root, cpu, 0, "1\n", "32K\n", own);
        put_cache(root, cpu, 1, "1\n", "64K\n", own);
        put_cache(root, cpu, 2, "2\n", "1024K\n", own);
        put_cache(root, cpu, 3, "3\n", "32768K\n",
                  cpu % 4 < 2 ? "0-1,4-5\n" : "2-3,6-7\n");
    }
}

TEST(memory_is_read_beyond_all_caches_of_all_sockets)
{
    static const int cpus[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    char root[] = "/tmp/sonde-memory-XXXXXX";
    struct sd_machine_memory m;
    const struct sd_memory_part *p;

    make_machine(root);
    CHECK(sd_machine_memory_plan(&m, root, cpus, 8, (uint64_t)1 << 40) == 0);
    CHECK(m.caches[0] == 32 * KIB && m.caches[1] == MIB && m.caches[2] == 32 * MIB);
    CHECK(m.all_caches == 4 * 32 * KIB + 4 * MIB + 2 * 32 * MIB);
    CHECK(m.n_bytes == 4 * m.all_caches);
    p = &m.parts[5];
    CHECK(p->bytes[SD_MEMORY_L1] == 8 * KIB); /* half of what a thread has of it */
    CHECK(p->bytes[SD_MEMORY_L2] == 256 * KIB);
    CHECK(p->bytes[SD_MEMORY_L3] == 512 * KIB + 4 * MIB); /* L2 cannot hold it */
    CHECK(p->bytes[SD_MEMORY_ITSELF] == 4 * (16 * KIB + 512 * KIB + 8 * MIB));
    CHECK(p->at == 5 * p->bytes[SD_MEMORY_ITSELF]);
    CHECK(m.alone.bytes[SD_MEMORY_ITSELF] == 4 * (32 * KIB + MIB + 32 * MIB));
    CHECK(m.alone.bytes[SD_MEMORY_L3] == MIB + 16 * MIB);
    sd_machine_memory_release(&m);
    CHECK(sd_machine_memory_plan(&m, root, cpus, 1, (uint64_t)1 << 40) == 0);
    CHECK(m.n_bytes == 4 * (32 * KIB + MIB + 32 * MIB)); /* all of L3 is its own */
    sd_machine_memory_release(&m);
    remove_root(root);
}

TEST(memory_that_is_read_has_bounds)
{
    static const int cpus[] = { 0, 1, 2, 3 };
    struct sd_machine_limits none = { 0 }, some = { .memory = 512 * MIB };
    char root[] = "/tmp/sonde-memory-XXXXXX";
    struct sd_machine_memory m;

    make_machine(root);
    put_file(root, "/proc/meminfo", "MemTotal: 99 kB\nMemAvailable:    8388608 kB\n");
    CHECK(sd_machine_memory_most(root, &none) == 1024 * MIB);
    CHECK(sd_machine_memory_most(root, &some) == 64 * MIB);
    put_file(root, "/proc/meminfo", "MemAvailable: 999999999999 kB\n");
    CHECK(sd_machine_memory_most(root, &none) == 4096 * MIB);
    CHECK(sd_machine_memory_plan(&m, root, cpus, 4, 32 * MIB) == 0);
    CHECK(m.n_bytes <= 32 * MIB && m.n_bytes > 31 * MIB);
    CHECK(m.parts[3].at + m.parts[3].bytes[SD_MEMORY_ITSELF] == m.n_bytes);
    CHECK(m.alone.bytes[SD_MEMORY_ITSELF] <= m.n_bytes);
    CHECK(m.alone.bytes[SD_MEMORY_L2] == 512 * KIB && m.alone.bytes[SD_MEMORY_L3] == 0);
    sd_machine_memory_release(&m);
    CHECK(sd_machine_memory_plan(&m, root, cpus, 4, 0) ==
          0); /* a little is always read */
    CHECK(m.n_bytes == 4 * 64 * KIB && sd_machine_memory_take(&m) == 0);
    sd_machine_memory_release(&m);
    EACH_FAILURE(nth)
    {
        sd_machine_memory_plan(&m, root, cpus, 4, 32 * MIB);
        sd_machine_memory_release(&m);
    }
    remove_root(root);
}

TEST(memory_that_is_not_there_is_an_error_and_no_figure)
{
    struct sd_machine_memory m = { .n_bytes = (size_t)1 << 60 };

    CHECK(sd_machine_memory_take(&m) < 0 && !m.pages);
    sd_machine_memory_release(&m);
}
