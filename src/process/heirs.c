/* SPDX-License-Identifier: MIT */
#include "process/heirs.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 4096, LONGEST = 8192 }; /* of the entry: a path and its name */

/* Entries end with a 0; one may lie across two pieces, so the end of a piece is kept
 * until the next has come. */
static bool has_entry(int fd, const char *entry)
{
    char text[LONGEST + PIECE];
    size_t n = strlen(entry) + 1, kept = 1;
    ssize_t got;

    if (n + 1 > LONGEST)
        return false;
    text[0] = '\0'; /* before the first entry */
    while ((got = read(fd, text + kept, PIECE)) > 0) {
        size_t all = kept + (size_t)got;

        for (const char *at = text; (size_t)(text + all - at) > n; at++) {
            at = memchr(at, '\0', (size_t)(text + all - at));
            if (!at || (size_t)(text + all - at) <= n)
                break;
            if (memcmp(at + 1, entry, n) == 0)
                return true;
        }
        kept = all < n + 1 ? all : n + 1;
        memmove(text, text + all - kept, kept);
    }
    return false;
}

static bool is_heir(pid_t pid, const char *entry)
{
    char path[64];
    bool is = false;
    int fd;

    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        is = has_entry(fd, entry);
        close(fd);
    }
    return is;
}

unsigned sd_heirs_find(const char *entry, pid_t in_session, struct sd_heir *first)
{
    DIR *all = opendir("/proc");
    const struct dirent *d;
    unsigned n = 0;

    *first = (struct sd_heir){ 0 };
    while (all && (d = readdir(all))) {
        pid_t pid = isdigit((unsigned char)d->d_name[0]) ? (pid_t)atoi(d->d_name) : 0;
        struct sd_process_stat st;

        if (pid <= 0 || pid == getpid() || (in_session && getsid(pid) != in_session) ||
            !is_heir(pid, entry) || sd_process_stat(pid, &st) < 0 || st.state == 'Z')
            continue;
        if (n++ == 0) {
            first->pid = pid;
            memcpy(first->name, st.name, sizeof first->name);
        }
    }
    if (all)
        closedir(all);
    return n;
}
