/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_TRACE_CALLS_H
#define SD_FORMATS_TRACE_CALLS_H
/* trace_calls: writes calls over time as complete events (X) of a Chrome trace.
 *
 * There may be a hundred million of them, of a few thousand functions in a few threads,
 * so all of an event that is always the same is made once: writing one is copying three
 * texts and two numbers. */
#include "base/encoding/json.h"
#include "profile/events.h"

struct sd_trace_text { /* in `texts`; n 0: not made yet */
    size_t at;
    uint32_t n;
    uint32_t
        n_first; /* of a site: what stands before the numbers; its args come last */
};

struct sd_trace_calls {         /* all zero is a fresh one */
    const struct sd_profile *p; /* borrowed */
    struct sd_buf texts;
    struct sd_trace_text *sites, *tracks; /* owned; by id */
};

int sd_trace_calls_init(struct sd_trace_calls *t, const struct sd_profile *p);
/* hot: one event SD_EVENT_CALL, as an item of the array that j is in. */
void sd_trace_calls_put(struct sd_trace_calls *t, struct sd_json *j,
                        const struct sd_event *e);
void sd_trace_calls_release(struct sd_trace_calls *t);
#endif
