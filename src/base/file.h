/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_FILE_H
#define SD_BASE_FILE_H
/* file: maps, reads, creates and writes files; a failure leaves a sentence. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sd_map { /* a file as bytes; all zero is none */
    const uint8_t *p;
    size_t n;
};

/* Maps a regular file to read; an empty one gives n 0.  A directory, a missing or
 * unreadable file fails with its sentence, which names the path. */
int sd_map_file(struct sd_map *m, const char *path);
void sd_map_release(struct sd_map *m);

/* Creates `path` new, 0600, close-on-exec, not following a link at its end.
 * Flags: with SD_CREATE_OVER an existing regular file is replaced; with
 * SD_CREATE_SHOWN, for what is made to be shown around, the mode is what the umask
 * leaves of 0666, or that of the file which is replaced. */
enum sd_create_flags { SD_CREATE_NEW = 0, SD_CREATE_OVER = 1, SD_CREATE_SHOWN = 2 };
int sd_file_create(const char *path, enum sd_create_flags flags, int *fd);
/* The same, but nothing has that name, or what has it stays, until sd_file_place: who
 * is killed while writing leaves no half file that looks like a whole one.  Until then
 * the new one has the name *beside, which the caller frees. */
int sd_file_create_beside(const char *path, enum sd_create_flags flags, char **beside,
                          int *fd);
/* Gives the new file its name; without SD_CREATE_OVER it takes no other file's, also
 * not of one that came meanwhile.  After a failure all is as before. */
int sd_file_place(const char *path, const char *beside, enum sd_create_flags flags);

/* Writes all of it, through EINTR and short writes.  On failure errno is its own. */
int sd_write_all(int fd, const void *p, size_t n);

/* Reads a small file (a /proc file too) whole; ended by a 0 that is not in *n.
 * The caller frees *p with sd_free.  Refuses more than `limit` bytes. */
int sd_read_file(const char *path, size_t limit, char **p, size_t *n);

/* When it was modified (CLOCK_REALTIME); 0 where there is no such file. */
uint64_t sd_file_modified_ns(const char *path);
#endif
