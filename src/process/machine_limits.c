/* SPDX-License-Identifier: MIT */
#include "process/machine_limits.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

enum { CORES_MAX = 1024, PATH_MAX_HERE = 2048, TEXT_MAX = 64 };

unsigned sd_machine_quota(const char *cpu_max)
{
    unsigned long long quota, period, cores;

    if (sscanf(cpu_max, "%llu %llu", &quota, &period) != 2 || quota == 0 || period == 0)
        return 0; /* "max 100000" */
    cores = quota / period + (quota % period > 0);
    return cores < CORES_MAX ? (unsigned)cores : CORES_MAX;
}

/* A file of one line; "" when it is not there. */
static void read_small(const char *folder, const char *name, char text[TEXT_MAX])
{
    char path[PATH_MAX_HERE], *all;
    size_t n;

    text[0] = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (access(path, R_OK) != 0 || sd_read_file(path, 4096, &all, &n) < 0)
        return;
    snprintf(text, TEXT_MAX, "%.*s", (int)strcspn(all, "\n"), all);
    sd_free(all);
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

static void look_at_2(const char *folder, struct sd_machine_limits *l)
{
    char text[TEXT_MAX];

    read_small(folder, "cpu.max", text);
    lower_cores(l, sd_machine_quota(text));
    read_small(folder, "memory.max", text);
    lower_memory(l, text);
}

static void look_at_cpu_1(const char *folder, struct sd_machine_limits *l)
{
    char quota[TEXT_MAX], period[TEXT_MAX], both[2 * TEXT_MAX];

    read_small(folder, "cpu.cfs_quota_us", quota);
    read_small(folder, "cpu.cfs_period_us", period);
    snprintf(both, sizeof both, "%s %s", quota, period);
    if (quota[0] != '-') /* -1: none */
        lower_cores(l, sd_machine_quota(both));
}

static void look_at_memory_1(const char *folder, struct sd_machine_limits *l)
{
    char text[TEXT_MAX];

    read_small(folder, "memory.limit_in_bytes", text);
    lower_memory(l, text); /* none is nearly all of 64 bits */
}

static const struct hierarchy {
    const char *controller; /* "" is cgroup 2 */
    const char *mount;
    void (*look)(const char *folder, struct sd_machine_limits *l);
} hierarchies[] = {
    { "", "/sys/fs/cgroup", look_at_2 },
    { "cpu", "/sys/fs/cgroup/cpu", look_at_cpu_1 },
    { "memory", "/sys/fs/cgroup/memory", look_at_memory_1 },
};

/* Is `word` one of those between commas, "cpu" of "cpu,cpuacct"? */
static bool has_word(const char *list, size_t n, const char *word)
{
    size_t length = strlen(word);

    while (n > 0) {
        const char *comma = memchr(list, ',', n);
        size_t here = comma ? (size_t)(comma - list) : n;

        if (here == length && memcmp(list, word, here) == 0)
            return true;
        here += comma != NULL;
        list += here;
        n -= here;
    }
    return length == 0;
}

/* The own group of a hierarchy, from lines such as "4:memory:/user.slice/one.scope" and
 * "0::/user.slice/one.scope"; false: there is none. */
static bool find_group(const char *text, const char *controller, char *group,
                       size_t size)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        const char *list = memchr(text, ':', n), *path;

        list = list ? list + 1 : text + n;
        path = memchr(list, ':', (size_t)(text + n - list));
        if (path && (controller[0] || path == list) &&
            has_word(list, (size_t)(path - list), controller)) {
            snprintf(group, size, "%.*s", (int)(text + n - path - 1), path + 1);
            return true;
        }
        text += n + (text[n] == '\n');
    }
    return false;
}

void sd_machine_limits(const char *root, struct sd_machine_limits *l)
{
    char path[PATH_MAX_HERE], group[1024], *text;
    size_t n;

    *l = (struct sd_machine_limits){ 0 };
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    if (access(path, R_OK) != 0 || sd_read_file(path, 1u << 16, &text, &n) < 0)
        return;
    for (size_t i = 0; i < sizeof hierarchies / sizeof *hierarchies; i++) {
        const struct hierarchy *h = &hierarchies[i];

        if (!find_group(text, h->controller, group, sizeof group))
            continue;
        for (char *slash = group; slash;) {
            snprintf(path, sizeof path, "%s%s%s", root, h->mount, group);
            h->look(path, l);
            slash = strrchr(group, '/');
            if (slash)
                *slash = 0;
        }
    }
    sd_free(text);
}
