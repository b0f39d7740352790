/* SPDX-License-Identifier: MIT */
#include "base/mark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/test.h"

TEST(mark_knows_the_bytes_of_a_file_and_not_its_time)
{
    char path[] = "/tmp/sonde-mark-XXXXXX", one[SD_MARK_MAX], other[SD_MARK_MAX];
    int fd = mkstemp(path);

    CHECK(fd >= 0 && sd_mark_of(path, one) && strcmp(one, "0 00000000") == 0);
    CHECK(sd_write_all(fd, "123456789", 9) == 0);
    CHECK(sd_mark_of(path, one) && strcmp(one, "9 e3069283") == 0);
    CHECK(futimens(fd, NULL) == 0 && sd_mark_of(path, other) && !strcmp(one, other));
    CHECK(pwrite(fd, "x", 1, 4) == 1 && sd_mark_of(path, other) && strcmp(one, other));
    close(fd);
    unlink(path);
    CHECK(!sd_mark_of(path, one) && !sd_mark_of("/", one));
}
