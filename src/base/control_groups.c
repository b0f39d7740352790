/* SPDX-License-Identifier: MIT */
#include "base/control_groups.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

enum { PATH_MAX_HERE = 2048, GROUP_MAX = 1024 };

void sd_control_groups_read(const char *folder, const char *name,
                            char text[SD_GROUP_TEXT_MAX])
{
    char path[PATH_MAX_HERE], *all;
    size_t n;

    text[0] = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (access(path, R_OK) != 0 || sd_read_file(path, 4096, &all, &n) < 0)
        return;
    snprintf(text, SD_GROUP_TEXT_MAX, "%.*s", (int)strcspn(all, "\n"), all);
    sd_free(all);
}

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
static bool find_group(const char *text, const char *controller, char group[GROUP_MAX])
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        const char *list = memchr(text, ':', n), *path;

        list = list ? list + 1 : text + n;
        path = memchr(list, ':', (size_t)(text + n - list));
        if (path && (controller[0] || path == list) &&
            has_word(list, (size_t)(path - list), controller)) {
            snprintf(group, GROUP_MAX, "%.*s", (int)(text + n - path - 1), path + 1);
            return true;
        }
        text += n + (text[n] == '\n');
    }
    return false;
}

void sd_control_groups(const char *root, const char *controller, const char *mount,
                       sd_group_visit *visit, void *of)
{
    char path[PATH_MAX_HERE], group[GROUP_MAX], *text, *slash = group;
    size_t n;

    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    if (access(path, R_OK) != 0 || sd_read_file(path, 1u << 16, &text, &n) < 0)
        return;
    if (!find_group(text, controller, group))
        slash = NULL;
    while (slash) {
        snprintf(path, sizeof path, "%s%s%s", root, mount, group);
        visit(path, of);
        slash = strrchr(group, '/');
        if (slash)
            *slash = 0;
    }
    sd_free(text);
}
