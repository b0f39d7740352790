/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_FORMAT_FRAMES_H
#define SD_FORMATS_FORMAT_FRAMES_H
/* format_frames: numbers the different frames of a profile as a style shows them.
 *
 * Two frames are one when name, file and shown line are: so stacks that differ only in
 * what is not shown become the same. */
#include "base/buf.h"
#include "formats/stack_style.h"
#include "profile/profile.h"

struct sd_format_frame {
    const char *name;
    const char *file; /* as shown; or NULL */
    uint32_t line;    /* as shown; 0: none */
    sd_site_id site;  /* the first that looks so */
};

struct sd_frames {                 /* all zero is a released one */
    struct sd_format_frame *items; /* owned */
    size_t n, cap;
    uint32_t *of_stack; /* owned; by stack: its newest frame */
};

int sd_format_frames_make(const struct sd_profile *p,
                          const struct sd_stack_style *style, struct sd_frames *out);
void sd_format_frames_release(struct sd_frames *f);

/* Is this total, or event, one that the style wants? */
bool sd_format_frames_wants(const struct sd_stack_style *style, uint32_t flags);
/* 'Thread 8 "MainThread"', with 'Process 7 ' before it when asked; "process 7" for a
 * process.  Escaped for any text. */
void sd_format_frames_thread_name(struct sd_buf *to, const struct sd_profile *p,
                                  sd_track_id t, bool has_process);
#endif
