/* SPDX-License-Identifier: MIT */
/* complaint: says in one sentence what is missing from a capture. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "capture/gather.h"

static void add(struct sd_reader *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void add(struct sd_reader *r, const char *fmt, ...)
{
    size_t n = strlen(r->complaint);
    va_list args;

    if (n > 0)
        n += (size_t)snprintf(r->complaint + n, sizeof r->complaint - n, "; ");
    if (n >= sizeof r->complaint)
        return;
    va_start(args, fmt);
    vsnprintf(r->complaint + n, sizeof r->complaint - n, fmt, args);
    va_end(args);
}

static void add_missing(struct sd_reader *r, uint64_t missing)
{
    uint64_t all = r->health.chunks + missing;
    char n[SD_TEXT_MAX], of[SD_TEXT_MAX];

    add(r, "%s of %s chunks (%.1f %%) %s missing", sd_text_count(n, (int64_t)missing),
        sd_text_count(of, (int64_t)all), 100.0 * (double)missing / (double)all,
        missing == 1 ? "is" : "are");
}

void sd_complain(struct sd_reader *r)
{
    const struct sd_health *h = &r->health;
    uint64_t missing = h->missing_chunks;
    char n[SD_TEXT_MAX];

    r->complaint[0] = 0;
    if (missing < h->bad_chunks)
        missing = h->bad_chunks;
    if (r->is_preamble_bad)
        add(r, "its first 64 bytes are damaged");
    /* While it is being written the last chunk may be on its way, and what is in it
     * still stands in the live folder. */
    if (h->is_cut && !h->is_running)
        add(r, "truncated inside a chunk");
    if (missing)
        add_missing(r, missing);
    if (h->bad_bytes && !h->is_cut)
        add(r, "%s are damaged", sd_text_bytes(n, (int64_t)h->bad_bytes));
    if (!h->is_ended && !h->is_running)
        add(r, "it has no end: the process that wrote it was killed, or the file was "
               "truncated");
    if (!h->is_ended && h->is_running && h->is_orphan)
        add(r, "the process that wrote it was killed, and the program still runs: the "
               "recording ends here");
    if (r->n_parts_gone)
        add(r,
            "%u of the captures that were merged into this file %s missing at its end",
            r->n_parts_gone, r->n_parts_gone == 1 ? "is" : "are");
    if (r->is_folder_foreign)
        add(r, "the live folder beside it belongs to another capture, so sonde did not "
               "read it");
    memcpy(r->damage, r->complaint, sizeof r->damage);
    if (h->lost_events)
        add(r, "%s events were dropped while recording",
            sd_text_count(n, (int64_t)h->lost_events));
}
