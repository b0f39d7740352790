/* SPDX-License-Identifier: MIT */
#include "base/out.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

/* Enough that a long report is few writes, small enough to stay in the cache. */
#ifdef SD_TINY
enum { PENDING_MAX = 16 };
#else
enum { PENDING_MAX = 64 * 1024 };
#endif

void sd_out_to_fd(struct sd_out *o, int fd)
{
    sd_assert(fd >= 0); /* -1 means that all of it is kept */
    *o = (struct sd_out){ .fd = fd };
}

void sd_out_to_memory(struct sd_out *o) { *o = (struct sd_out){ .fd = -1 }; }

void sd_out_to_count(struct sd_out *o, uint64_t limit_bytes)
{
    *o = (struct sd_out){ .fd = -1, .is_counted = true, .limit_bytes = limit_bytes };
}

uint64_t sd_out_counted(const struct sd_out *o)
{
    sd_assert(o->is_counted);
    return o->n_counted + o->pending.n;
}

static bool keeps_all(const struct sd_out *o) { return o->fd < 0 && !o->is_counted; }

static void count(struct sd_out *o, size_t n)
{
    o->n_counted += n;
    if (o->err == 0 && o->n_counted > o->limit_bytes)
        o->err = EFBIG;
}

/* After the first failure nothing more is written: a report with a hole in its
 * middle is worse than one that stops. */
static void put(struct sd_out *o, const void *p, size_t n)
{
    sd_assert(!keeps_all(o));
    if (o->is_counted)
        count(o, n);
    else if (o->err == 0 && sd_write_all(o->fd, p, n) < 0)
        o->err = errno;
}

static void drain(struct sd_out *o)
{
    if (o->pending.bad && o->err == 0)
        o->err = ENOMEM;
    put(o, o->pending.p, o->pending.n);
    sd_buf_clear(&o->pending);
}

static void drain_if_full(struct sd_out *o)
{
    if (!keeps_all(o) && (o->pending.n >= PENDING_MAX || o->pending.bad))
        drain(o);
}

void sd_out_write(struct sd_out *o, const void *p, size_t n)
{
    if (o->err)
        return;
    if (!keeps_all(o) && n >= PENDING_MAX) { /* copying it first would gain nothing */
        drain(o);
        put(o, p, n);
        return;
    }
    sd_buf_add(&o->pending, p, n);
    drain_if_full(o);
}

void sd_out_text(struct sd_out *o, const char *s) { sd_out_write(o, s, strlen(s)); }

void sd_out_printf(struct sd_out *o, const char *fmt, ...)
{
    va_list args;

    if (o->err)
        return;
    va_start(args, fmt);
    sd_buf_vprintf(&o->pending, fmt, args);
    va_end(args);
    drain_if_full(o);
}

int sd_out_flush(struct sd_out *o)
{
    if (keeps_all(o))
        return o->pending.bad ? sd_no_memory() : 0;
    drain(o);
    return o->err ? sd_fail_errno(o->err, "cannot write the output") : 0;
}

void sd_out_release(struct sd_out *o)
{
    sd_buf_release(&o->pending);
    o->err = 0;
}
