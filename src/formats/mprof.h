/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_MPROF_H
#define SD_FORMATS_MPROF_H
/* mprof: the text file (.dat) that memory_profiler's mprof writes and reads, one fact a
 * line:
 *
 *     CMDLINE python train.py
 *     MEM 41.253906 1786000000.1234               MiB, seconds since the epoch
 *     CHLD 4242 12.500000 1786000000.1234         of a child process
 *     FUNC m.f 41.2539 1786000000.1000 50.1000 1786000000.9000 0
 *
 * FUNC is a call of a decorated function: memory and time at its beginning and end, and
 * how many such calls it is in (files of old versions lack that).  Lines of other words
 * are passed over, as mprof does. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* MiB times 1e9, as exact as the file's digits.  Below 0: it could not be read. */
typedef int64_t sd_mprof_nano_mib;

struct sd_mprof_reading {
    uint64_t pid;   /* 0: the process itself */
    uint64_t at_ns; /* since the epoch */
    sd_mprof_nano_mib memory;
};

struct sd_mprof_call {
    const char *name; /* "module.function"; not ended by a 0 */
    uint32_t n_name;
    uint32_t level; /* 0: in none */
    bool has_level; /* files of old versions do not say it */
    uint64_t from_ns, to_ns;
    sd_mprof_nano_mib before, after;
};

struct sd_mprof {
    struct sd_arena arena;             /* command and names */
    const char *command;               /* or NULL */
    struct sd_mprof_reading *readings; /* owned; in the order of the file */
    size_t n_readings, cap_readings;
    struct sd_mprof_call *calls; /* owned; the same */
    size_t n_calls, cap_calls;
    bool has_empty_line; /* what mprof takes for too short a time of sampling */
    bool is_cut;         /* the last line has no end and says nothing: left out */
};
void sd_mprof_init(struct sd_mprof *m);
void sd_mprof_release(struct sd_mprof *m);

/* Do these bytes begin as such a file does? */
bool sd_mprof_is(const void *p, size_t n);

/* Adds what these bytes say.  SD_EFORMAT with one sentence when a line of mprof's own
 * words says something else; memory is bounded by the size of the input. */
int sd_mprof_read(const void *p, size_t n, struct sd_mprof *into);
/* The same of a file, and of the one beside it with "_ts" before its suffix, where old
 * versions put calls. */
int sd_mprof_load(const char *path, struct sd_mprof *into);

/* Writes a MEM line, or a CHLD line of the child `pid`; a number below 0 as 0. */
struct sd_out;
void sd_mprof_put_reading(struct sd_out *out, uint64_t pid, int64_t bytes,
                          uint64_t at_ns);

/* Rounded to bytes; what mprof's six digits say comes back as these six digits. */
int64_t sd_mprof_bytes(sd_mprof_nano_mib memory);
#endif
