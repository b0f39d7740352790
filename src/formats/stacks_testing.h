/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_STACKS_TESTING_H
#define SD_FORMATS_STACKS_TESTING_H
/* stacks_testing: one small capture with samples, and what a format makes of it. */
#include "formats/format.h"
#include "profile/profile_testing.h"

#define SD_HOSTILE "a;b\n\033[2J<x>\xff"

/* MainThread: 3 samples in f called from line 3, 1 from line 4 of <module>; 10 idle
 * ones; one without frames.  Worker, in a child process: 2 in a function with a hostile
 * name. */
static inline void sd_made_stacks(struct sd_made *m)
{
    uint32_t process, child, main, worker, shape, module, f, hostile, in_module, stack;

    sd_made_begin(m);
    sd_made_chunk(m, 1, 1);
    process = sd_made_track(m, SD_TRACK_PROCESS, 0, 7, "python");
    child = sd_made_track(m, SD_TRACK_PROCESS, process, 9, "python");
    main = sd_made_track(m, SD_TRACK_THREAD, process, 7, "MainThread");
    worker = sd_made_track(m, SD_TRACK_THREAD, child, 10, SD_HOSTILE);
    shape = sd_made_sample_shape(m);
    module = sd_made_function(m, "<module>", "/x/app.py", 1);
    f = sd_made_function(m, "f", "/x/app.py", 10);
    hostile = sd_made_function(m, SD_HOSTILE, SD_HOSTILE, 2);
    in_module = sd_made_stack(m, 0, module, 3);
    stack = sd_made_stack(m, in_module, f, 12);
    sd_made_sample(m, main, stack, SD_SAMPLE_GIL, 10000000, shape, 1);
    sd_made_sample(m, main, stack, 0, 20000000, shape, 2);
    stack = sd_made_stack(m, sd_made_stack(m, 0, module, 4), f, 12);
    sd_made_sample(m, main, stack, SD_SAMPLE_GIL, 30000000, shape, 1);
    sd_made_sample(m, main, in_module, SD_SAMPLE_IDLE, 130000000, shape, 10);
    sd_made_sample(m, main, 0, 0, 140000000, shape, 1);
    sd_made_sample(m, worker, sd_made_stack(m, 0, hostile, 5), SD_SAMPLE_GIL, 15000000,
                   shape, 2);
    sd_made_end(m, 0);
}

/* What the format writes, as text in `out`, which the caller releases. */
static inline const char *sd_made_written(const char *format,
                                          const struct sd_stack_style *style,
                                          struct sd_out *out)
{
    const struct sd_format *f = sd_format_named(format);
    struct sd_made m;
    struct sd_profile *p;

    sd_made_stacks(&m);
    p = sd_made_load(&m, NULL);
    sd_out_to_memory(out);
    CHECK(f && f->write_stacks(p, sd_made_save(&m), NULL, style, out) == 0);
    sd_profile_free(p);
    sd_made_release(&m);
    return sd_buf_string(&out->pending);
}
#endif
