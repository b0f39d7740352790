/* SPDX-License-Identifier: MIT */
#include "profile/by_time/chunk_times.h"

#include "base/assert.h"
#include "base/mem.h"

/* Places come in order, and some have no event. */
static int reach(struct sd_chunk_times *t, size_t place)
{
    struct sd_chunk_time *items;

    if (place < t->n)
        return 0;
    items = sd_grow_array(t->items, &t->cap, place + 1, sizeof *items);
    if (!items)
        return sd_no_memory();
    t->items = items;
    while (t->n <= place)
        items[t->n++] = (struct sd_chunk_time){ .from_ns = UINT64_MAX };
    sd_assert(place < t->n && t->n <= t->cap);
    return 0;
}

int sd_chunk_times_note(struct sd_chunk_times *t, size_t place,
                        const struct sd_event *e)
{
    int rc = reach(t, place);
    struct sd_chunk_time *one;

    if (rc < 0)
        return rc;
    one = &t->items[place];
    one->from_ns = e->from_ns < one->from_ns ? e->from_ns : one->from_ns;
    one->to_ns = e->to_ns > one->to_ns ? e->to_ns : one->to_ns;
    return 0;
}

int sd_chunk_times_keep(struct sd_chunk_times *t, size_t place)
{
    int rc = reach(t, place);

    if (rc == 0)
        t->items[place].is_lasting = true;
    return rc;
}

static bool is_needed(const struct sd_chunk_time *one, uint64_t from_ns, uint64_t to_ns)
{
    return one->is_lasting || (one->from_ns <= to_ns && one->to_ns >= from_ns &&
                               one->from_ns <= one->to_ns);
}

size_t sd_chunk_times_choose(const struct sd_chunk_times *t, uint64_t from_ns,
                             uint64_t to_ns, uint8_t *chosen, size_t n)
{
    size_t n_chosen = 0;

    sd_assert(from_ns <= to_ns);
    for (size_t i = 0; i < n; i++) {
        chosen[i] = i < t->n && is_needed(&t->items[i], from_ns, to_ns);
        n_chosen += chosen[i];
    }
    return n_chosen;
}

void sd_chunk_times_release(struct sd_chunk_times *t)
{
    sd_free(t->items);
    *t = (struct sd_chunk_times){ 0 };
}
