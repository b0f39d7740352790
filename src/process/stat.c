/* SPDX-License-Identifier: MIT */
#include "process/stat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

enum { STAT_MAX = 1024 };              /* the line is about 350 bytes */
#define KERNEL_THREAD_FLAG 0x00200000u /* PF_KTHREAD */

/* One number and the blank after it; *p moves on. */
static uint64_t number(const char **p, const char *end)
{
    uint64_t v = 0;

    if (*p < end && **p == '-')
        ++*p; /* no number that we use is ever below 0 */
    while (*p < end && **p >= '0' && **p <= '9')
        v = v * 10 + (uint64_t)(*(*p)++ - '0');
    if (*p < end)
        ++*p;
    return v;
}

static void copy_name(struct sd_process_stat *out, const char *from, const char *to)
{
    size_t n = (size_t)(to - from);

    if (n > sizeof out->name - 1)
        n = sizeof out->name - 1;
    memcpy(out->name, from, n);
    out->name[n] = 0;
}

static void skip(const char **p, const char *end, int n_fields)
{
    while (n_fields-- > 0)
        number(p, end);
}

int sd_process_stat_parse(const char *p, size_t n, struct sd_process_stat *out)
{
    const char *end = p + n;
    const char *open = memchr(p, '(', n);
    const char *at = memrchr(p, ')', n); /* the name may hold brackets itself */

    if (!open || !at || at < open || end - at < 4)
        return SD_EFORMAT;
    copy_name(out, open + 1, at);
    out->state = at[2];
    at += 4;
    out->parent = (pid_t)number(&at, end);
    skip(&at, end, 4); /* fields 5 to 8 */
    out->is_of_kernel = (number(&at, end) & KERNEL_THREAD_FLAG) != 0;
    out->n_faults = number(&at, end);
    skip(&at, end, 1);
    out->n_faults += number(&at, end);
    skip(&at, end, 7);
    out->n_threads = (int64_t)number(&at, end);
    skip(&at, end, 1);
    out->start_ticks = number(&at, end);
    skip(&at, end, 15);
    out->is_thread = at < end && *at == '-'; /* the signal that its end sends: none */
    out->n_bytes = n;
    return out->start_ticks ? 0 : SD_EFORMAT;
}

static int read_stat(const char *path, struct sd_process_stat *out)
{
    char line[STAT_MAX];
    int saved = errno;
    int rc = SD_EGONE;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd >= 0) {
        n = pread(fd, line, sizeof line, 0);
        if (n > 0)
            rc = sd_process_stat_parse(line, (size_t)n, out);
        close(fd);
    }
    errno = saved;
    return rc;
}

int sd_process_stat(pid_t pid, struct sd_process_stat *out)
{
    char path[64];

    if (pid)
        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    else
        snprintf(path, sizeof path, "/proc/self/stat");
    return read_stat(path, out);
}

int sd_process_stat_of_thread(pid_t pid, pid_t tid, struct sd_process_stat *out)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, (int)tid);
    return read_stat(path, out);
}

uint64_t sd_process_start_time(pid_t pid)
{
    struct sd_process_stat st;

    return sd_process_stat(pid, &st) == 0 ? st.start_ticks : 0;
}

uint64_t sd_process_thread_start_time(pid_t pid, pid_t tid)
{
    struct sd_process_stat st;

    return sd_process_stat_of_thread(pid, tid, &st) == 0 ? st.start_ticks : 0;
}

uint64_t sd_process_start_ns(uint64_t start_ticks)
{
    uint64_t per_tick = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
    uint64_t since_boot = start_ticks * per_tick;
    uint64_t boot = sd_clock_read(CLOCK_BOOTTIME);
    uint64_t mono = sd_clock_ns();
    uint64_t ago = boot > since_boot ? boot - since_boot : 0;

    return mono > ago ? mono - ago : 0;
}
