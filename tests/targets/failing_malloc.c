/* SPDX-License-Identifier: MIT */
/* failing_malloc: preloaded, makes the chosen allocations of the program `sonde` fail,
 * and nobody else's (what `sonde run` starts inherits LD_PRELOAD too).
 *
 * FAIL_FROM=N FAIL_TO=M: the Nth up to but not with the Mth request of the process,
 * from 0, gives NULL.  FAIL_COUNT=FILE: at the end the number of requests is written
 * there. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);

static atomic_long asked, first = -1, end = -1;
static int is_sonde;

__attribute__((constructor)) static void begin(void)
{
    const char *from = getenv("FAIL_FROM"), *to = getenv("FAIL_TO");

    is_sonde = strcmp(program_invocation_short_name, "sonde") == 0;
    asked = 0;
    if (is_sonde && from) {
        first = atol(from);
        end = to ? atol(to) : first + 1;
    }
}

__attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("FAIL_COUNT");
    char text[32];
    int fd = path && is_sonde ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;

    if (fd >= 0) {
        int n = snprintf(text, sizeof text, "%ld", atomic_load(&asked));
        if (write(fd, text, (size_t)n) < 0)
            perror("failing_malloc");
        close(fd);
    }
}

static int fails(void)
{
    long n = atomic_fetch_add(&asked, 1);

    if (first < 0 || n < first || n >= end)
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t n) { return fails() ? NULL : __libc_malloc(n); }

void *calloc(size_t n, size_t size) { return fails() ? NULL : __libc_calloc(n, size); }

void *realloc(void *p, size_t n) { return fails() ? NULL : __libc_realloc(p, n); }
