/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_ALLOC_TRANSFORM_H
#define SD_EXT_ALLOC_TRANSFORM_H
/* alloc_transform: rows of allocations in the forms that `memray transform` writes, and
 * by function as `memray summary` shows them. */
#include <stddef.h>

#include "base/out.h"
#include "ext/memray/alloc_record.h"

typedef void sd_alloc_transform(struct sd_out *out, const struct sd_py_alloc_source *s,
                                const struct sd_py_alloc_row *rows, size_t n);

sd_alloc_transform sd_alloc_transform_csv, sd_alloc_transform_gprof2dot,
    sd_alloc_transform_speedscope;

/* What a function allocated itself, and with all that it called. */
struct sd_alloc_function {
    const char *name, *file;
    uint64_t own_bytes, total_bytes, blocks;
};

/* Those of the rows' stacks; *out is the caller's.  0 or SD_ENOMEM. */
int sd_alloc_transform_functions(const struct sd_py_alloc_source *s,
                                 const struct sd_py_alloc_row *rows, size_t n,
                                 struct sd_alloc_function **out, size_t *n_out);
#endif
