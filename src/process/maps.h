/* SPDX-License-Identifier: MIT */
#ifndef SD_PROCESS_MAPS_H
#define SD_PROCESS_MAPS_H
/* maps: reads what a process has mapped where (/proc/PID/maps). */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { SD_MAPS_MAX_BYTES = 64 << 20 }; /* of the file; 65,530 mappings are about 8 MB */

enum sd_mapping_rights { SD_MAPPING_R = 1, SD_MAPPING_W = 2, SD_MAPPING_X = 4 };

struct sd_mapping {
    uint64_t start, end; /* addresses; `end` is not in it */
    uint64_t offset;     /* in the file */
    uint64_t dev, inode;
    const char *path; /* as the process sees it; "" without a file; "[heap]" and such */
    unsigned rights;
    bool is_deleted; /* the file of that name is gone or another one */
};

struct sd_maps {              /* all zero is a fresh one */
    struct sd_mapping *items; /* owned; by address */
    size_t n, cap;
    char *text; /* owned; the paths */
};

/* SD_EGONE, SD_EACCESS with a sentence.  Reads anew. */
int sd_maps_read(struct sd_maps *m, pid_t pid);
/* The same from text already there, which is changed in place (for tests). */
int sd_maps_parse(struct sd_maps *m, char *text, size_t n);
const struct sd_mapping *sd_maps_find(const struct sd_maps *m, uint64_t address);
void sd_maps_release(struct sd_maps *m);
#endif
