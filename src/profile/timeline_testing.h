/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_TIMELINE_TESTING_H
#define SD_PROFILE_TIMELINE_TESTING_H
/* timeline_testing: timelines of traced calls in captures made by hand. */
#include <stdio.h>
#include <string.h>

#include "profile/calls_testing.h"

enum {
    SD_TIMELINE_TABLE = 900,
    SD_TIMELINE_F = 7,
    SD_TIMELINE_G = 10
}; /* the ids that sd_timeline_names gives to functions */

/* A record with definitions of the table: its thread, f and g. */
static inline void sd_timeline_names(struct sd_maker *m, uint64_t table, uint64_t tid)
{
    struct sd_buf kept = m->records;
    struct sd_rec_names *r;
    uint32_t process;
    struct sd_buf inside;

    m->records = (struct sd_buf){ 0 };
    m->next_id = 1;
    process = sd_maker_track(m, SD_TRACK_PROCESS, 0, 7, "python");
    CHECK(sd_maker_track(m, SD_TRACK_THREAD, process, tid, "Worker") == 4);
    CHECK(sd_maker_function(m, "f", "/app/a.py", 1) == SD_TIMELINE_F);
    CHECK(sd_maker_function(m, "g\"", "/app/a.py", 5) == SD_TIMELINE_G);
    inside = m->records;
    m->records = kept;
    r = sd_maker_record(m, SD_REC_NAMES, sizeof *r + inside.n);
    r->table = table;
    memcpy(r->records, inside.p, inside.n);
    sd_buf_release(&inside);
}

static inline struct sd_rec_calls_from *sd_timeline_from(struct sd_maker *m,
                                                         uint64_t table,
                                                         uint64_t number,
                                                         uint32_t depth, uint32_t n)
{
    struct sd_rec_calls_from *r = sd_maker_record(
        m, SD_REC_CALLS_FROM, sizeof *r + n * sizeof(struct sd_open_call));

    r->track = 4;
    r->table = table;
    r->number = number;
    r->clock = SD_CLOCK_MONOTONIC;
    r->depth = depth;
    r->n = n;
    return r;
}

/* The event in the form that a writer gives it; what follows it. */
static inline uint32_t *sd_timeline_event(uint32_t *at, enum sd_call_event event,
                                          uint32_t site, uint32_t since)
{
    enum sd_calls_form form = event == SD_CALL_BEGINS ? SD_CALL_SHORT_BEGINS
                              : event == SD_CALL_ENDS ? SD_CALL_SHORT_ENDS
                                                      : SD_CALL_LONG;
    uint64_t both = sd_record_call_long(event, site, since);

    if (form != SD_CALL_LONG &&
        (sd_record_call_short(form, site) | since) >> SD_CALL_SHORT_BITS == 0) {
        *at = sd_record_call_short(form, site) | since << SD_CALL_SHORT_BITS;
        return at + 1;
    }
    memcpy(at, &both, sizeof both);
    return at + 2;
}

/* "f10 g20 .30 .40": f begins at 10, g at 20, ends at 30 and 40; ~ pauses, ^f goes on,
 * ! never was; of room for `room` events. */
static inline void sd_timeline_run(struct sd_maker *m, uint64_t table, uint64_t number,
                                   const char *words, uint32_t room)
{
    struct sd_rec_calls *r = sd_maker_record(m, SD_REC_CALLS, sizeof *r + 8 * room);
    uint32_t n = 0, *unit = r->units;
    unsigned last = 0;

    r->table = table;
    r->base = SD_MAKER_MONO;
    r->number = number;
    m->head.count += room - 1;
    for (const char *at = words; *at && n < room; n++) {
        enum sd_call_event event = *at == '.'   ? SD_CALL_ENDS
                                   : *at == '~' ? SD_CALL_PAUSES
                                   : *at == '^' ? SD_CALL_GOES_ON
                                   : *at == '!' ? SD_CALL_NEVER_WAS
                                                : SD_CALL_BEGINS;
        uint32_t site;
        int read = 0;
        unsigned time;

        at += event == SD_CALL_GOES_ON;
        site = event == SD_CALL_BEGINS || event == SD_CALL_GOES_ON
                   ? (*at == 'f'   ? SD_TIMELINE_F
                      : *at == 'g' ? SD_TIMELINE_G
                                   : 4000)
                   : 0;
        CHECK(sscanf(at + 1, "%u %n", &time, &read) == 1);
        at += 1 + read;
        unit = sd_timeline_event(unit, event, site, time - last);
        last = time;
    }
}
#endif
