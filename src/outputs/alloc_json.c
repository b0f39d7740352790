/* SPDX-License-Identifier: MIT */
#include "outputs/alloc_json.h"

#include "analyse/alloc/alloc_words.h"

static void put(struct sd_json *j, const char *key, int64_t value, bool is_known)
{
    sd_json_key(j, key);
    if (is_known)
        sd_json_int(j, value);
    else
        sd_json_null(j);
}

static void put_known(struct sd_json *j, const char *key, int64_t value)
{
    put(j, key, value, value >= 0);
}

void sd_alloc_json(struct sd_json *j, const struct sd_profile *p)
{
    struct sd_alloc_summary s;

    if (!p->allocs.is_recorded)
        return;
    sd_alloc_summarize(p, &s);
    sd_json_key_object(j, "alloc");
    sd_json_key_string(j, "mode", s.mode);
    sd_json_key_string(j, "layer", s.layer);
    put_known(j, "allocations", s.allocations);
    put_known(j, "bytes", s.bytes);
    put_known(j, "frees", s.frees);
    put_known(j, "unknown_frees", s.unknown_frees);
    put_known(j, "overlaps", s.overlaps);
    put_known(j, "lost", s.lost);
    put_known(j, "peak_bytes", s.peak_bytes);
    put_known(j, "peak_ns", s.peak_ns);
    put_known(j, "leaked_allocations", s.leaked_allocations);
    put_known(j, "leaked_bytes", s.leaked_bytes);
    put_known(j, "temporary_allocations", s.temporary_allocations);
    put(j, "peak_rss_bytes", s.peak_rss_bytes, s.has_rss);
    put(j, "untracked_bytes", s.untracked_bytes, s.has_untracked);
    sd_json_end(j);
}
