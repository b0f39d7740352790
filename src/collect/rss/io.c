/* SPDX-License-Identifier: MIT */
#include "collect/rss/io.h"

void sd_io_child_ended(struct sd_io_account *parent, const struct sd_io_account *child)
{
    if (!child->n_readings || child->last.read < 0)
        return;
    parent->ended.read += child->last.read;
    parent->ended.written += child->last.written;
}

/* Risen since the reading before the last: a child may have been waited for in the last
 * round, between its own reading and its parent's. */
static void settle(struct sd_io_account *a, struct sd_io now)
{
    if (now.read - a->before_last.read >= a->ended.read &&
        now.written - a->before_last.written >= a->ended.written) {
        a->taken_off.read += a->ended.read;
        a->taken_off.written += a->ended.written;
    }
    a->ended = (struct sd_io){ 0, 0 };
}

static int64_t at_least_none(int64_t bytes) { return bytes > 0 ? bytes : 0; }

struct sd_io sd_io_own(struct sd_io_account *a, struct sd_io now, struct sd_io sondes)
{
    if (now.read < 0 || now.written < 0)
        return (struct sd_io){ -1, -1 };
    if (a->n_readings)
        settle(a, now);
    a->before_last = a->n_readings++ ? a->last : now;
    a->last = now;
    return (struct sd_io){
        at_least_none(now.read - a->taken_off.read - sondes.read),
        at_least_none(now.written - a->taken_off.written - sondes.written),
    };
}
