/* SPDX-License-Identifier: MIT */
#include "machine/machine_speed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "machine/machine.h"

enum { TEXT_MAX = 256, PATH_MAX_HERE = 4096 };

static bool find_path(bool make, char *path)
{
    struct sd_machine here;

    sd_machine_identify(&here);
    return sd_machine_cache_path(&here, "speed", make, path, PATH_MAX_HERE);
}

int64_t sd_machine_speed_load(void)
{
    char path[PATH_MAX_HERE], *text;
    long long ticks = 0;
    size_t n;

    if (!find_path(false, path) || !sd_machine_cache_has(path) ||
        sd_read_file(path, TEXT_MAX, &text, &n) < 0)
        return 0;
    if (sscanf(text, "sonde speed 1\nticks %lld\n", &ticks) != 1 || ticks < 0)
        ticks = 0;
    sd_free(text);
    return ticks;
}

void sd_machine_speed_keep(int64_t ticks)
{
    int64_t known = sd_machine_speed_load();
    char path[PATH_MAX_HERE], text[TEXT_MAX], *beside = NULL;
    int fd, n;

    if (ticks <= 0 || (known > 0 && known <= ticks) || !find_path(true, path) ||
        sd_file_create_beside(path, SD_CREATE_OVER, &beside, &fd) < 0)
        return;
    n = snprintf(text, sizeof text, "sonde speed 1\nticks %lld\n", (long long)ticks);
    if (sd_write_all(fd, text, (size_t)n) < 0 ||
        sd_file_place(path, beside, SD_CREATE_OVER) < 0)
        unlink(beside);
    close(fd);
    sd_free(beside);
}
