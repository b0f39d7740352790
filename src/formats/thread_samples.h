/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_THREAD_SAMPLES_H
#define SD_FORMATS_THREAD_SAMPLES_H
/* thread_samples: gives the samples of each thread in order of time, for formats that
 * write threads one after the other while a capture has them mixed. 32 bytes a record.
 *
 * Traced calls are added up along their stacks, so when each of them was is not known:
 * they come as samples of their own time one after the other, depth first, as if every
 * function had been called once.  Allocations are no time: whoever can show bytes asks
 * for them, and gets bytes where nanoseconds stand. */
#include "formats/stack_style.h"
#include "profile/events.h"

struct sd_timed_sample {
    uint64_t time_ns; /* when the record was written: the end of what it stands for */
    int64_t wall_ns;  /* how long that was; 0: not known */
    int64_t cpu_ns;
    uint32_t stack; /* UINT32_MAX: no frame */
    uint32_t n;     /* samples it stands for, SD_TAKEN_MOST at most; never 0 */
};
/* More than 100 ms at 100 kHz; what a lying file can make a format repeat. */
enum { SD_TAKEN_MOST = 20000 };

struct sd_samples_of_thread {
    sd_track_id track;
    struct sd_timed_sample *taken; /* owned; in order of time */
    size_t n, cap;
};

struct sd_thread_samples {                /* all zero is a released one */
    struct sd_samples_of_thread *threads; /* owned; in order of first appearance */
    size_t n, cap;
    bool has_wall, has_cpu; /* known of them */
    bool takes_bytes;       /* asked for before they are collected ... */
    bool has_bytes;         /* ... and that is what they are */
};

/* Those that the style wants, with at least one frame.  *out says what it takes. */
int sd_thread_samples_collect(const struct sd_profile *p, const char *path,
                              const struct sd_filter *filter,
                              const struct sd_stack_style *style,
                              struct sd_thread_samples *out);
void sd_thread_samples_release(struct sd_thread_samples *s);

/* By stack: its number in a walk depth first, in which those of traced calls come;
 * freed by the caller, NULL without memory. */
uint64_t *sd_thread_samples_number_stacks(const struct sd_profile *p);
#endif
