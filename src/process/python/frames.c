/* SPDX-License-Identifier: MIT */
#include "process/python/frames.h"

#include <string.h>

#include "base/error.h"

enum { N_FRAME = 512 }; /* frame_size of every version is at most this */

int sd_frames_top(const struct sd_remote *r, const struct sd_layout *l, uint64_t thread,
                  uint64_t *top)
{
    int rc = sd_remote_u64(r, thread + l->thread_frame, top);

    if (rc < 0 || l->frames_style != SD_FRAMES_CFRAME || !*top)
        return rc;
    return sd_remote_u64(r, *top + l->cframe_frame, top);
}

static uint64_t word(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

static uint64_t instr_of(const struct sd_layout *l, const uint8_t *p)
{
    uint32_t half;

    switch (l->instr_style) {
    case SD_INSTR_BYTES:
    case SD_INSTR_UNITS:
        memcpy(&half, p + l->frame_instr, sizeof half);
        return half;
    case SD_INSTR_PREVIOUS:
    case SD_INSTR_CURRENT:
        break;
    }
    return word(p + l->frame_instr);
}

/* Where frames are objects each of them has a C function of its own. */
static bool is_entry_of(const struct sd_layout *l, const uint8_t *p)
{
    if (l->frames_style == SD_FRAMES_OBJECTS)
        return true;
    return l->frame_is_entry != SD_NO_OFFSET && p[l->frame_is_entry];
}

int sd_frames_walk(const struct sd_remote *r, const struct sd_layout *l,
                   uint64_t thread, struct sd_frame *out, size_t cap, size_t *n)
{
    uint8_t p[N_FRAME];
    uint64_t at;
    size_t steps;
    int rc = sd_frames_top(r, l, thread, &at);

    *n = 0;
    for (steps = 0; rc == 0 && at && *n < cap && steps < 2 * SD_FRAMES_MAX; steps++) {
        uint8_t owner = 0;
        uint64_t previous;

        if (at % 8 || l->frame_size > sizeof p)
            return SD_ETORN;
        rc = sd_remote_read(r, at, p, l->frame_size);
        if (rc < 0)
            return rc;
        previous = word(p + l->frame_previous);
        if (l->frame_owner != SD_NO_OFFSET)
            owner = p[l->frame_owner];
        if (previous == at || owner > l->owner_last)
            return SD_ETORN;
        if (l->frame_owner == SD_NO_OFFSET || owner < l->owner_shim)
            out[(*n)++] = (struct sd_frame){ at, word(p + l->frame_code) & l->code_mask,
                                             instr_of(l, p), is_entry_of(l, p) };
        else if (*n > 0)
            out[*n - 1].is_entry = true; /* a mark where C called Python */
        at = previous;
    }
    return rc;
}
