/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_SECTIONS_ARROW_H
#define SD_EXT_SECTIONS_ARROW_H
/* arrow: exports the rows of a store as an Arrow C stream, for polars, pyarrow, DuckDB
 * and pandas.  The three structs are Arrow's own, frozen by its C data interface.
 *
 * A stream is a copy, made at once: the Profiler may go on measuring or go away. */
#include <stdint.h>

#include "ext/sections/columns.h"

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

/* Each fills *out, which the caller releases through its own `release`.  SD_ENOMEM, or
 * SD_EUSAGE when the names are longer than Arrow can number. */
int sd_arrow_stream(const struct sd_store *s, struct ArrowArrayStream *out);
int sd_arrow_schema(const struct sd_store *s, struct ArrowSchema *out);
#endif
