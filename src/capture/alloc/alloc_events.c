/* SPDX-License-Identifier: MIT */
#include "capture/alloc/alloc_events.h"

#include "capture/alloc/alloc_cell.h"

_Static_assert((int)SD_BY_RESERVED < (int)SD_ALLOCATORS &&
                   (int)SD_ALLOCATORS <= (int)SD_ALLOC_ALLOCATOR,
               "an allocator has its bits in the flags of a cell");

const char *sd_allocator_name(uint32_t by)
{
    switch (by) {
#define ALLOCATOR(id, value, name, layer)                                              \
    case value:                                                                        \
        return name;
#include "capture/alloc/allocators.def"
#undef ALLOCATOR
    }
    return NULL;
}

void sd_alloc_cursor_init(struct sd_alloc_cursor *c, const struct sd_rec_alloc *r)
{
    sd_assert(r->head.len >= sizeof *r); /* whoever made it sound looked at that */
    *c = (struct sd_alloc_cursor){ .at = r->events,
                                   .end = (const uint8_t *)r + r->head.len,
                                   .order = r->order,
                                   .time_ns = r->time_ns };
}

bool sd_alloc_next_other(struct sd_alloc_cursor *c, const uint8_t *p,
                         struct sd_alloc_event *e)
{
    uint64_t a = 0, b = 0;

    sd_assert(p > c->at);
    e->other = (enum sd_alloc_other)(p[-1] >> SD_ALLOC_TAG_BITS);
    switch (e->tag == SD_ALLOC_OTHER ? e->other : (enum sd_alloc_other)UINT8_MAX) {
    case SD_ALLOC_RUN:
        p = sd_alloc_take(p, c->end, &a);
        e->number = c->order += a;
        break;
    case SD_ALLOC_TIME:
        p = sd_alloc_take(p, c->end, &a);
        p = p ? sd_alloc_take(p, c->end, &b) : NULL;
        e->number = c->time_ns += a;
        e->rss = b * 4096;
        break;
    case SD_ALLOC_UNDO:
    case SD_ALLOC_DROP:
        p = sd_alloc_move(c, p, 0, e);
        break;
    case SD_ALLOC_UNMAP:
        p = sd_alloc_move(c, p, 0, e);
        p = p ? sd_alloc_take(p, c->end, &e->size) : NULL;
        break;
    default: /* of a later version, or no tag: nothing behind it can be understood */
        p = NULL;
    }
    c->at = p ? p : c->end;
    return p != NULL;
}

uint32_t sd_alloc_n(const struct sd_rec_alloc *r)
{
    struct sd_alloc_cursor c;
    struct sd_alloc_event e;
    uint32_t n = 0;

    if (r->n)
        return r->n;
    sd_alloc_cursor_init(&c, r);
    while (sd_alloc_next(&c, &e))
        n += e.tag != SD_ALLOC_OTHER;
    return n;
}
