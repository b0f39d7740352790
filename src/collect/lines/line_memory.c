/* SPDX-License-Identifier: MIT */
#include "collect/lines/line_memory.h"

#include "base/mem.h"
#include "collect/lines/line_stack.h"
#include "collect/peak.h"
#include "process/usage.h"

struct sd_line_peak {
    struct sd_peak_region region;
    bool is_open;
    bool is_fresh; /* opened for a line that has not begun yet */
};

static struct {    /* what --debug-above asks for */
    int64_t bytes; /* 0: none, or it has rung */
    sd_line_alarm *ring;
    struct sd_line_culprit blamed; /* that passed it */
} limit;

bool sd_line_alarm_raised;

void sd_line_memory_limit(uint64_t bytes, sd_line_alarm *alarm)
{
    limit.bytes = bytes < INT64_MAX ? (int64_t)bytes : INT64_MAX;
    limit.ring = alarm;
}

bool sd_line_memory_has_limit(void) { return limit.bytes > 0; }

bool sd_line_memory_is_above(const struct sd_line_reading *r)
{
    return limit.bytes > 0 && r->rss_bytes > limit.bytes;
}

void sd_line_memory_ring(const struct sd_line_reading *r, const void *thread)
{
    if (limit.bytes == 0)
        return;
    limit.bytes = 0;
    limit.ring(r->rss_bytes, &limit.blamed,
               limit.blamed.by && limit.blamed.thread != thread);
}

void sd_line_memory_blame(const struct sd_line_reading *r,
                          const struct sd_line_culprit *blamed)
{
    if (limit.bytes == 0 || r->rss_bytes < 0)
        return;
    if (r->rss_bytes <= limit.bytes) {
        limit.blamed.by = NULL;
    } else if (!limit.blamed.by) {
        limit.blamed = *blamed;
    }
}

void sd_line_memory_acquit(const struct sd_line_code *code)
{
    if (limit.blamed.by == code)
        limit.blamed.by = NULL;
}

static int64_t end_of(struct sd_line_peak *peak, int64_t rss_bytes, bool goes_on)
{
    if (!peak || !peak->is_open)
        return -1;
    peak->is_open = peak->is_fresh = goes_on;
    return goes_on ? sd_peak_next(&peak->region, rss_bytes)
                   : sd_peak_close_at_least(&peak->region, rss_bytes);
}

struct sd_line_reading sd_line_memory_at_end(struct sd_line_peak *peak, bool goes_on)
{
    struct sd_line_reading r = sd_line_memory_look();

    r.peak_bytes = end_of(peak, r.rss_bytes, goes_on);
    return r;
}

struct sd_line_reading sd_line_memory_look(void)
{
    struct sd_line_reading r = { .rss_bytes = -1, .peak_bytes = -1 };
    struct sd_usage usage;

    sd_usage_read(sd_peak_usage_reader(), SD_USAGE_MEMORY, &usage);
    r.rss_bytes = usage.rss_bytes;
    return r;
}

struct sd_line_growth sd_line_memory_grew(struct sd_line_turn *turn,
                                          const struct sd_line_reading *r)
{
    struct sd_line_growth g = { .turn = turn, .read = r };

    if (r->rss_bytes < 0)
        return g;
    g.bytes = turn->last_bytes ? r->rss_bytes - turn->last_bytes : 0;
    turn->last_bytes = r->rss_bytes;
    return g;
}

void sd_line_peak_begin(struct sd_line_peak **peak)
{
    if (!*peak)
        *peak = sd_zalloc(sizeof **peak);
    if (!*peak)
        return;
    if ((*peak)->is_open && (*peak)->is_fresh) {
        (*peak)->is_fresh = false;
        return;
    }
    sd_line_peak_leave(*peak);
    sd_peak_open(&(*peak)->region);
    (*peak)->is_open = true;
}

void sd_line_peak_leave(struct sd_line_peak *peak)
{
    if (peak && peak->is_open)
        sd_peak_close(&peak->region);
    if (peak)
        peak->is_open = false;
}

void sd_line_peak_free(struct sd_line_peak *peak)
{
    sd_line_peak_leave(peak);
    sd_free(peak);
}

void sd_line_memory_book(struct sd_line_cell *cell, const struct sd_line_reading *r,
                         int64_t grew_bytes)
{
    if (r->rss_bytes < 0)
        return;
    cell->n_read++;
    cell->grew_bytes += grew_bytes;
    if (r->rss_bytes > cell->after_bytes)
        cell->after_bytes = r->rss_bytes;
    if (r->peak_bytes > cell->peak_bytes)
        cell->peak_bytes = r->peak_bytes;
}

void sd_line_memory_book_entry(struct sd_line_cell *cell,
                               const struct sd_line_reading *r)
{
    if (r->rss_bytes < 0)
        return;
    cell->n_read++;
    if (r->rss_bytes > cell->after_bytes)
        cell->after_bytes = r->rss_bytes;
}
