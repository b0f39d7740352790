/* SPDX-License-Identifier: MIT */
#include "machine/machine_memory.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"

enum {
    TIMES = 4,        /* the caches */
    INDEXES_MAX = 16, /* of one core's caches in /sys */
    PAGE = 4096,
    PART_LEAST = 64 * 1024, /* of memory, for one core */
    LEAST = 64 * 1024 * 1024,
};
static const uint64_t MOST = (uint64_t)4 << 30;

struct cache {
    uint64_t bytes; /* 0: there is none */
    cpu_set_t cpus; /* that share it */
};

/* --- What the system tells */

/* The text of a small file; the caller frees it.  NULL: not there. */
static char *read_small(const char *path)
{
    char *text;
    size_t n;

    if (access(path, R_OK) != 0 || sd_read_file(path, 1u << 16, &text, &n) < 0)
        return NULL;
    return text;
}

/* "0-3,64-67" */
static void read_list(const char *text, cpu_set_t *set)
{
    CPU_ZERO(set);
    while (*text >= '0' && *text <= '9') {
        char *end;
        unsigned long from = strtoul(text, &end, 10), to = from;

        if (*end == '-')
            to = strtoul(end + 1, &end, 10);
        for (; from <= to && from < CPU_SETSIZE; from++)
            CPU_SET(from, set);
        text = *end == ',' ? end + 1 : end;
    }
}

/* "48K", "266240K", "1M" */
static uint64_t read_size(const char *text)
{
    char *end;
    uint64_t n = strtoull(text, &end, 10);

    return *end == 'K' ? n << 10 : *end == 'M' ? n << 20 : *end == 'G' ? n << 30 : n;
}

/* One of a core's caches; its level, 0 when it holds no data or is not there. */
static int read_cache(const char *root, int cpu, int index, struct cache *c)
{
    static const char *const names[] = { "level", "type", "size", "shared_cpu_list" };
    char path[1024], *texts[4];
    bool is_whole = true;
    int level = 0;

    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%d/cache/index%d/%s",
                 root, cpu, index, names[i]);
        texts[i] = read_small(path);
        is_whole = is_whole && texts[i];
    }
    if (is_whole && strncmp(texts[1], "Instruction", 11) != 0) {
        level = atoi(texts[0]);
        c->bytes = read_size(texts[2]);
        read_list(texts[3], &c->cpus);
    }
    for (int i = 0; i < 4; i++)
        sd_free(texts[i]);
    return level;
}

/* Where /sys is not there the C library may know; then L3 is taken for all cores'. */
static void ask_library(int cpu, struct cache caches[3])
{
    static const int names[] = { _SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
                                 _SC_LEVEL3_CACHE_SIZE };

    for (int i = 0; i < 3; i++) {
        long n = sysconf(names[i]);

        caches[i].bytes = n > 0 ? (uint64_t)n : 0;
        CPU_SET((size_t)cpu, &caches[i].cpus);
        for (size_t other = 0; other < CPU_SETSIZE && i == 2; other++)
            CPU_SET(other, &caches[i].cpus);
    }
}

static void find_caches(const char *root, int cpu, struct cache caches[3])
{
    bool is_any = false;

    memset(caches, 0, 3 * sizeof *caches);
    for (int i = 0; i < INDEXES_MAX; i++) {
        struct cache c = { 0 };
        int level = read_cache(root, cpu, i, &c);

        if (level < 1 || level > 3 || c.bytes == 0)
            continue;
        CPU_SET((size_t)cpu, &c.cpus);
        caches[level - 1] = c;
        is_any = true;
    }
    if (!is_any)
        ask_library(cpu, caches);
}

uint64_t sd_machine_memory_free(const char *root, const struct sd_machine_limits *l)
{
    uint64_t most =
        (uint64_t)sysconf(_SC_AVPHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    char path[1024], *text;
    const char *at;

    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    text = read_small(path);
    at = text ? strstr(text, "MemAvailable:") : NULL; /* what files hold is free, too */
    if (at)
        most = strtoull(at + strlen("MemAvailable:"), NULL, 10) << 10;
    sd_free(text);
    if (l->memory > 0 && l->memory < most)
        most = l->memory;
    return most;
}

uint64_t sd_machine_memory_most(const char *root, const struct sd_machine_limits *l)
{
    uint64_t most = sd_machine_memory_free(root, l) / 8;

    return most < MOST ? most : MOST;
}

/* --- Who reads how much */

static size_t rounded(uint64_t n)
{
    return n < 1024 ? 1024 : (size_t)(n / 1024 * 1024);
}

static uint64_t share(const struct cache *c, const cpu_set_t *ours)
{
    cpu_set_t both;
    int n;

    CPU_AND(&both, &c->cpus, ours);
    n = CPU_COUNT(&both);
    return c->bytes / (n > 0 ? (unsigned)n : 1);
}

/* Bytes of each level for a core, where only cores of `ours` are at work. */
static void plan_part(struct sd_memory_part *p, const struct cache caches[3],
                      const cpu_set_t *ours)
{
    uint64_t l1 = share(&caches[0], ours), l2 = share(&caches[1], ours),
             l3 = share(&caches[2], ours);

    p->bytes[SD_MEMORY_L1] = l1 ? rounded(l1 / 2) : 0;
    p->bytes[SD_MEMORY_L2] = l2 ? rounded(l2 / 2) : 0;
    p->bytes[SD_MEMORY_L3] = l3 ? rounded(l2 + l3 / 2) : 0;
    p->bytes[SD_MEMORY_ITSELF] = rounded(TIMES * (l1 + l2 + l3));
}

/* Parts are made larger or smaller in proportion, until all is within the bounds. */
static void fit_parts(struct sd_machine_memory *m, uint64_t most)
{
    uint64_t all = 0, least = LEAST < most ? LEAST : most, wanted;

    for (unsigned i = 0; i < m->n; i++)
        all += m->parts[i].bytes[SD_MEMORY_ITSELF];
    m->all_caches = all / TIMES;
    wanted = all < least ? least : all > most ? most : all;
    for (unsigned i = 0; i < m->n; i++) {
        struct sd_memory_part *p = &m->parts[i];
        double part = (double)p->bytes[SD_MEMORY_ITSELF] / (double)all;
        size_t bytes = (size_t)(part * (double)wanted) / PAGE * PAGE;

        bytes = bytes < PART_LEAST ? PART_LEAST : bytes;
        p->bytes[SD_MEMORY_ITSELF] = bytes;
        p->at = m->n_bytes;
        m->n_bytes += bytes;
        for (int level = 0; level < SD_MEMORY_ITSELF; level++)
            if (p->bytes[level] > bytes)
                m->alone.bytes[level] = 0;
    }
    if (m->alone.bytes[SD_MEMORY_ITSELF] > m->n_bytes || wanted > all)
        m->alone.bytes[SD_MEMORY_ITSELF] = m->n_bytes;
    for (int level = 0; level < SD_MEMORY_ITSELF; level++)
        if (m->alone.bytes[level] > m->n_bytes)
            m->alone.bytes[level] = 0;
}

int sd_machine_memory_plan(struct sd_machine_memory *m, const char *root,
                           const int *cpus, unsigned n, uint64_t most)
{
    struct cache caches[3];
    cpu_set_t ours, one;

    *m = (struct sd_machine_memory){ .n = n };
    m->parts = sd_zalloc(n * sizeof *m->parts);
    if (!m->parts)
        return sd_no_memory();
    CPU_ZERO(&ours);
    for (unsigned i = 0; i < n; i++)
        CPU_SET((size_t)cpus[i], &ours);
    for (unsigned i = n; i-- > 0;) { /* the first is last: its caches are told */
        find_caches(root, cpus[i], caches);
        plan_part(&m->parts[i], caches, &ours);
    }
    CPU_ZERO(&one);
    CPU_SET((size_t)cpus[0], &one);
    plan_part(&m->alone, caches, &one);
    for (int level = 0; level < 3; level++)
        m->caches[level] = caches[level].bytes;
    fit_parts(m, most);
    return 0;
}

int sd_machine_memory_take(struct sd_machine_memory *m)
{
    char size[SD_TEXT_MAX];
    void *p = mmap(NULL, m->n_bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        return sd_fail_errno(
            errno, "cannot allocate the %s needed to measure memory bandwidth",
            sd_text_bytes(size, (int64_t)m->n_bytes));
    madvise(p, m->n_bytes, MADV_HUGEPAGE); /* where there are any: fewer misses of the
                                              TLB */
    m->pages = p;
    return 0;
}

void sd_machine_memory_release(struct sd_machine_memory *m)
{
    if (m->pages)
        munmap(m->pages, m->n_bytes);
    sd_free(m->parts);
    *m = (struct sd_machine_memory){ 0 };
}
