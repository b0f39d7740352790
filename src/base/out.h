/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_OUT_H
#define SD_BASE_OUT_H
/* out: buffered output to a file, a descriptor or memory; the writer need not know
 * which.
 *
 * Buffered; goes bad instead of failing each time (a closed pipe, a full disk),
 * and says at the end what happened.  SIGPIPE is the caller's business: cli
 * ignores it. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct sd_out {
    int fd;  /* -1: everything stays in `pending`, unless it is only counted */
    int err; /* errno of the first write that failed, or 0 */
    struct sd_buf pending;
    bool is_counted;      /* nothing is kept, only how many bytes there were */
    uint64_t n_counted;   /* of those, the ones that are not pending any more */
    uint64_t limit_bytes; /* more than that fails with EFBIG */
};

void sd_out_to_fd(struct sd_out *o, int fd); /* borrowed */
void sd_out_to_memory(struct sd_out *o);     /* read it from o->pending */
/* Keeps nothing: sd_out_counted says how much was written.  Beyond `limit_bytes` it
 * fails, so that whoever writes can stop. */
void sd_out_to_count(struct sd_out *o, uint64_t limit_bytes);
uint64_t sd_out_counted(const struct sd_out *o);
void sd_out_write(struct sd_out *o, const void *p, size_t n);
void sd_out_text(struct sd_out *o, const char *s);
void sd_out_printf(struct sd_out *o, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Writes what is pending; 0, or the first failure with its sentence. */
int sd_out_flush(struct sd_out *o);
void sd_out_release(struct sd_out *o);
#endif
