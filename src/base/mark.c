/* SPDX-License-Identifier: MIT */
#include "base/mark.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/encoding/crc.h"

enum { STEP = 4096, MOST = 64 << 20 };

_Static_assert(SD_MARK_MAX > 20 + 1 + 8, "a length, a blank and a checksum");

static bool sum_up(int fd, uint32_t *crc, size_t *n)
{
    uint8_t part[STEP];
    ssize_t got;

    *crc = 0;
    *n = 0;
    do {
        got = read(fd, part, sizeof part);
        if (got < 0 && errno != EINTR)
            return false;
        if (got > 0) {
            *crc = sd_crc32c(*crc, part, (size_t)got);
            *n += (size_t)got;
        }
    } while (got != 0 && *n <= MOST);
    return *n <= MOST;
}

bool sd_mark_of(const char *path, char to[SD_MARK_MAX])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    uint32_t crc;
    size_t n;
    bool is_read;

    if (fd < 0)
        return false;
    is_read = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && sum_up(fd, &crc, &n);
    close(fd);
    if (is_read)
        snprintf(to, SD_MARK_MAX, "%zu %08x", n, crc);
    return is_read;
}
