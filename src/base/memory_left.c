/* SPDX-License-Identifier: MIT */
#include "base/memory_left.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/control_groups.h"
#include "base/file.h"
#include "base/mem.h"

enum { PATH_MAX_HERE = 2048, FILE_MAX = 1 << 16 };

static _Atomic uint64_t pretended; /* by a test; 0: nothing is */

void sd_memory_left_pretend(uint64_t bytes) { atomic_store(&pretended, bytes); }

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t above(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

/* The number behind a word at the beginning of a line ("MemAvailable:"); `otherwise`
 * when the file or the word is not there. */
static uint64_t number_in(const char *folder, const char *name, const char *word,
                          uint64_t otherwise)
{
    char path[PATH_MAX_HERE], *text;
    const char *at;
    size_t n, length = strlen(word);

    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (access(path, R_OK) != 0 || sd_read_file(path, FILE_MAX, &text, &n) < 0)
        return otherwise;
    for (at = text; at && strncmp(at, word, length) != 0;) {
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    if (at)
        otherwise = strtoull(at + length, NULL, 10);
    sd_free(text);
    return otherwise;
}

static uint64_t of_machine(const char *root)
{
    char folder[PATH_MAX_HERE];
    uint64_t kib;

    snprintf(folder, sizeof folder, "%s/proc", root);
    kib = number_in(folder, "meminfo", "MemAvailable:", UINT64_MAX);
    return kib < UINT64_MAX / 1024 ? kib * 1024 : UINT64_MAX;
}

/* Pages of files that were not used for a while are given up before memory runs out. */
static void lower(const char *folder, const char *limit, const char *usage,
                  const char *cache, uint64_t *left)
{
    char text[SD_GROUP_TEXT_MAX];
    uint64_t most, used;

    sd_control_groups_read(folder, limit, text);
    most = strtoull(text, NULL, 10);
    if (most == 0)
        return; /* there is none: "max", or no such file */
    sd_control_groups_read(folder, usage, text);
    used = above(strtoull(text, NULL, 10), number_in(folder, "memory.stat", cache, 0));
    *left = least(*left, above(most, used));
}

static void visit_2(const char *folder, void *left)
{
    lower(folder, "memory.max", "memory.current", "inactive_file ", left);
}

static void visit_1(const char *folder, void *left)
{
    lower(folder, "memory.limit_in_bytes", "memory.usage_in_bytes",
          "total_inactive_file ", left);
}

static uint64_t of_addresses(const char *root)
{
    struct rlimit limit;
    char folder[PATH_MAX_HERE];
    uint64_t kib;

    if (getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    snprintf(folder, sizeof folder, "%s/proc/self", root);
    kib = number_in(folder, "status", "VmSize:", 0);
    return above(limit.rlim_cur, kib * 1024);
}

uint64_t sd_memory_left(const char *root)
{
    uint64_t left = atomic_load(&pretended);

    if (left)
        return left;
    left = least(of_machine(root), of_addresses(root));
    sd_control_groups(root, "", "/sys/fs/cgroup", visit_2, &left);
    sd_control_groups(root, "memory", "/sys/fs/cgroup/memory", visit_1, &left);
    return left;
}
