/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_MEMORY_CAPTURE_H
#define SD_CAPTURE_MEMORY_CAPTURE_H
/* memory_capture: makes a capture in memory, of tables that stayed in the process, or
 * of a model.  What a program has measured for itself can so be handed to whoever reads
 * captures. */
#include "base/buf.h"
#include "capture/cells.h"

struct sd_whole_how {
    const char *command; /* the fact "command": what was run; or NULL */
    double ns_per_tick;  /* of the tables' own clock; 0: they say it themselves */
};

/* Adds the bytes of a .sonde file.  0 or SD_ENOMEM. */
int sd_whole_capture(struct sd_cells *const *tables, size_t n,
                     const struct sd_whole_how *how, struct sd_buf *to);
/* The same of a model alone (the bytes that sd_model_write gives); SD_EFULL when they
 * are more than a file's 32 bits can tell. */
int sd_whole_model(const void *model, size_t n, const struct sd_whole_how *how,
                   struct sd_buf *to);
#endif
