/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_FILTER_H
#define SD_PROFILE_FILTER_H
/* filter: decides for each event whether a struct sd_filter lets it through.
 *
 * What a filter says of a site or a track is worked out once and remembered.  A
 * section's moments must be known before the first event is judged, so they are
 * collected in a pass of their own (sd_screen_section). */
#include <stdbool.h>

#include "profile/events.h"
#include "profile/intervals.h"
#include "profile/profile.h"

enum { SD_SCREEN_INTERVALS = 1 << 20 }; /* of a section; more are thinned */

struct sd_screen {
    const struct sd_filter *filter; /* borrowed; NULL: everything passes */
    struct sd_intervals open;       /* when the section was open */
    bool has_section;
    bool saw_section; /* a site of that path is known */
    bool saw_track;   /* a track that passes is known */
    uint8_t *sites;   /* owned; by site: 0 not asked yet, 1 passes, 2 does not */
    size_t n_sites;
    uint8_t *tracks; /* owned; the same by track */
    size_t n_tracks;
    uint8_t *stacks; /* owned; the same by stack */
    size_t n_stacks;
};

/* Does `track` of a filter name it? */
bool sd_filter_takes_track(const struct sd_profile *p, sd_track_id t,
                           const char *wanted);
void sd_screen_init(struct sd_screen *s, const struct sd_filter *filter);
/* Takes notice of a span, in the pass before the one that judges. */
int sd_screen_section(struct sd_screen *s, const struct sd_profile *p,
                      const struct sd_event *e);
/* After the last event of that pass: judges all tracks by the names they have now, the
 * last they had. */
int sd_screen_tracks(struct sd_screen *s, const struct sd_profile *p);
/* What the filter leaves of the time, known after the pass before; its end may lie
 * behind the last event. */
struct sd_window sd_screen_window(const struct sd_screen *s);
/* 1: it counts; 0: it does not; < 0: SD_ENOMEM, or what the matcher says. */
int sd_screen_passes(struct sd_screen *s, const struct sd_profile *p,
                     const struct sd_event *e);
/* The same of what a stack on a track did all the time. */
int sd_screen_passes_stack(struct sd_screen *s, const struct sd_profile *p,
                           sd_track_id track, sd_stack_id stack);
/* After the last event: SD_EUSAGE when section or track name nothing there is. */
int sd_screen_check(const struct sd_screen *s, const struct sd_profile *p);
void sd_screen_release(struct sd_screen *s);
#endif
