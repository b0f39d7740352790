/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_SECTION_SETS_H
#define SD_PROFILE_SECTION_SETS_H
/* section_sets: tells which sections were open at a moment, as one number.
 *
 * Reports of a section count what happened while it was open on any track of its
 * capture (filter.h).  Who counts everything once, for whatever section is asked for
 * later, gives each event the number of the set of sections that were open.  A set has
 * a number of its own however often its sections are opened, so there are few.
 *
 * Spans come when they end, so they are collected in a pass of their own.  The moments
 * are those of the filter, thinned in the same way. */
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/intern.h"
#include "profile/events.h"

enum {
    SD_NO_SECTIONS = 0, /* the empty set */
#ifdef SD_TINY
    SD_SECTION_SETS_BYTES = 1024,
#else
    SD_SECTION_SETS_BYTES = 16 << 20, /* of all sets, eight for each section of each */
#endif
};

struct sd_section_sets { /* after sd_section_sets_init */
    struct sd_arena arena;
    struct sd_intern paths; /* a section is a path; its number is the place here */
    struct sd_intern sets; /* numbers of sections, ascending, as bytes; by number of the
                              set */
    const uint32_t **members; /* owned; the same as numbers, in the arena */
    size_t cap_members;
    /* While spans are collected: when each section was open in each capture. */
    struct sd_table places; /* capture << 32 | section: place below */
    struct sd_section_times {
        uint32_t capture, section;
        struct sd_intervals when;
    } * times; /* owned */
    size_t n_times, cap_times;
    /* Then: from that moment of that capture on, this set is open.  In order. */
    struct sd_section_moment {
        uint64_t from_ns;
        uint32_t capture, set;
    } * moments; /* owned */
    size_t n_moments, cap_moments;
    bool is_cut; /* there were too many sets: later ones are told as the empty one */
};

void sd_section_sets_init(struct sd_section_sets *s);
/* Takes notice of a span; other events do nothing.  0 or SD_ENOMEM. */
int sd_section_sets_note(struct sd_section_sets *s, const struct sd_profile *p,
                         uint32_t capture, const struct sd_event *e);
/* After the last span. */
int sd_section_sets_settle(struct sd_section_sets *s);
/* The set that was open. */
uint32_t sd_section_sets_at(const struct sd_section_sets *s, uint32_t capture,
                            uint64_t time_ns);
/* The same, and when it changes: UINT64_MAX: never. */
uint32_t sd_section_sets_until(const struct sd_section_sets *s, uint32_t capture,
                               uint64_t time_ns, uint64_t *until_ns);
/* The sections of a set, ascending. */
const uint32_t *sd_section_set(const struct sd_section_sets *s, uint32_t set,
                               size_t *n);
bool sd_section_set_has(const struct sd_section_sets *s, uint32_t set,
                        uint32_t section);
void sd_section_sets_release(struct sd_section_sets *s);
#endif
