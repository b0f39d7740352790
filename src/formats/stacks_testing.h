/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_STACKS_TESTING_H
#define SD_FORMATS_STACKS_TESTING_H
/* stacks_testing: one small capture with samples, and what a format makes of it. */
#include "formats/output.h"
#include "profile/profile_testing.h"

extern const struct sd_output sd_output_chrometrace, sd_output_collapsed,
    sd_output_firefox, sd_output_pprof, sd_output_speedscope;

#define SD_HOSTILE "a;b\n\033[2J<x>\xff"

/* MainThread: 3 samples in f called from line 3, 1 from line 4 of <module>; 10 idle
 * ones; one without frames.  Worker, in a child process: 2 in a function with a hostile
 * name. */
static inline void sd_maker_stacks(struct sd_maker *m)
{
    uint32_t process, child, main, worker, shape, module, f, hostile, in_module, stack;

    sd_maker_begin(m);
    sd_maker_chunk(m, 1, 1);
    process = sd_maker_track(m, SD_TRACK_PROCESS, 0, 7, "python");
    child = sd_maker_track(m, SD_TRACK_PROCESS, process, 9, "python");
    main = sd_maker_track(m, SD_TRACK_THREAD, process, 7, "MainThread");
    worker = sd_maker_track(m, SD_TRACK_THREAD, child, 10, SD_HOSTILE);
    shape = sd_maker_sample_shape(m);
    module = sd_maker_function(m, "<module>", "/x/app.py", 1);
    f = sd_maker_function(m, "f", "/x/app.py", 10);
    hostile = sd_maker_function(m, SD_HOSTILE, SD_HOSTILE, 2);
    in_module = sd_maker_stack(m, 0, module, 3);
    stack = sd_maker_stack(m, in_module, f, 12);
    sd_maker_sample(m, main, stack, SD_SAMPLE_GIL, 10000000, shape, 1);
    sd_maker_sample(m, main, stack, 0, 20000000, shape, 2);
    stack = sd_maker_stack(m, sd_maker_stack(m, 0, module, 4), f, 12);
    sd_maker_sample(m, main, stack, SD_SAMPLE_GIL, 30000000, shape, 1);
    sd_maker_sample(m, main, in_module, SD_SAMPLE_IDLE, 130000000, shape, 10);
    sd_maker_sample(m, main, 0, 0, 140000000, shape, 1);
    sd_maker_sample(m, worker, sd_maker_stack(m, 0, hostile, 5), SD_SAMPLE_GIL,
                    15000000, shape, 2);
    sd_maker_end(m, 0);
}

/* What the format writes, as text in `out`, which the caller releases. */
static inline const char *sd_maker_written(const struct sd_output *o,
                                           const struct sd_stack_style *style,
                                           struct sd_out *out)
{
    struct sd_maker m;
    struct sd_profile *p;

    sd_maker_stacks(&m);
    p = sd_maker_load(&m, NULL);
    sd_out_to_memory(out);
    CHECK(o->write(&(struct sd_output_job){ .from = sd_maker_save(&m),
                                            .profile = p,
                                            .style = style },
                   out) == 0);
    sd_profile_free(p);
    sd_maker_release(&m);
    return sd_buf_string(&out->pending);
}
#endif
