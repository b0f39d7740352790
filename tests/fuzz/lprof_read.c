/* SPDX-License-Identifier: MIT */
/* Files of line_profiler: whatever the bytes say, reading ends within memory bounded by
 * them and runs nothing, and what was read can be written, read again and printed. */
#include <stdint.h>
#include <stdlib.h>

#include "formats/lprof.h"
#include "report/text/line_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input is also the source that is shown: it may be anything. */
struct input {
    const char *p;
    size_t n;
};

static int give(void *context, const char *file, struct sd_code_text *into)
{
    const struct input *i = context;

    if (file[0] == 'g')
        return 0;
    return sd_code_text_take(into, i->p, i->n) < 0 ? -1 : 1;
}

static void check_writing(const struct sd_line_stats *s)
{
    struct sd_line_stats again;
    struct sd_out out;

    sd_line_stats_init(&again);
    sd_out_to_memory(&out);
    if (sd_line_stats_write_lprof(s, &out) < 0 ||
        sd_lprof_read(out.pending.p, out.pending.n, &again) < 0 || again.n != s->n)
        abort();
    sd_out_release(&out);
    sd_line_stats_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = { (const char *)data, size };
    struct sd_line_text_request wish = {
        .source = give, .context = &input, .is_sorted = true, .has_summary = true
    };
    struct sd_line_stats s;
    struct sd_out out;

    sd_line_stats_init(&s);
    sd_out_to_memory(&out);
    if (sd_lprof_read(data, size, &s) == 0) {
        if (s.n > size)
            abort();
        check_writing(&s);
        if (s.n < 4 && sd_report_lines(&s, &wish, &out) < 0)
            abort();
    } else {
        struct sd_code_text source = { 0 };

        if (sd_code_text_take(&source, input.p, size) < 0)
            abort();
        for (uint64_t i = 1; i <= source.n && i < 8; i++)
            if (sd_code_block(&source, i) > source.n - i + 1)
                abort();
        sd_code_text_release(&source);
    }
    sd_out_release(&out);
    sd_line_stats_release(&s);
    return 0;
}
