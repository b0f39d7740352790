/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_ENCODING_ZIP_H
#define SD_BASE_ENCODING_ZIP_H
/* zip: reads one file out of a zip archive.
 *
 * Archives are read where they are: only their list and the one file are taken into
 * memory.  Something may stand before the archive, as the first line of a zipapp does.
 * Archives of more than 4 GiB, in several parts or with a password are not read. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sd_zip {
    /* Exactly n bytes from `at` on, which are within the archive; false: not read. */
    bool (*read)(const struct sd_zip *z, uint64_t at, void *to, size_t n);
    const void *bytes; /* for who reads from memory */
    int fd;            /* for who reads a file */
    uint64_t n;        /* bytes of the archive */
};

/* 1: *p is the file of that name (the last of several) and the caller's, to be freed
 * with sd_free, ended by a 0 that is not in *n; 0: there is none that could be read, or
 * it has more than `most` bytes; SD_ENOMEM. */
int sd_zip_read(const struct sd_zip *z, const char *name, size_t most, char **p,
                size_t *n);

/* The same of "/there/app.zip/pkg/mod.py": the archive is the part of the path that is
 * a file. */
int sd_zip_read_path(const char *path, size_t most, char **p, size_t *n);
#endif
