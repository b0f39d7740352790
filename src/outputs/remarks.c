/* SPDX-License-Identifier: MIT */
#include "outputs/remarks.h"

#include <stdarg.h>

#include "base/assert.h"
#include "base/buf.h"

static const char no_memory[] = "out of memory to say what is missing";

void sd_remark(const struct sd_remarks *r, const char *fmt, ...)
{
    struct sd_buf text = { 0 };
    va_list args;

    if (!r)
        return;
    sd_assert(r->take);
    va_start(args, fmt);
    sd_buf_vprintf(&text, fmt, args);
    va_end(args);
    r->take(r->of, text.bad ? no_memory : sd_buf_string(&text));
    sd_buf_release(&text);
}

void sd_remark_losses(const struct sd_remarks *r, const char *file,
                      const struct sd_profile *p, unsigned kinds)
{
    struct sd_buf words = { 0 };

    sd_losses_put(&words, p, kinds);
    if (words.bad)
        sd_remark(r, "%s", no_memory);
    else if (words.n > 0)
        sd_remark(r, "%s%s%s", file ? file : "", file ? ": " : "",
                  sd_buf_string(&words));
    sd_buf_release(&words);
}
