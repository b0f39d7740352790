/* SPDX-License-Identifier: MIT */
#include "profile/time/timings.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

static const char *copy(struct sd_timings *t, const char *text)
{
    return sd_arena_string(&t->arena, text ? text : "", text ? strlen(text) : 0);
}

int sd_timings_add_side(struct sd_timings *t, const struct sd_timing_side *side)
{
    struct sd_timing_side *grown =
        sd_grow_array(t->sides, &t->cap_sides, t->n_sides + 1, sizeof *grown);
    struct sd_timing_side made = *side;

    if (!grown)
        return sd_no_memory();
    t->sides = grown;
    made.statement = copy(t, side->statement);
    made.setup = copy(t, side->setup);
    made.python = copy(t, side->python);
    if (!made.statement || !made.setup || !made.python)
        return sd_no_memory();
    t->sides[t->n_sides++] = made;
    return 0;
}

int sd_timings_add_process(struct sd_timings *t, uint64_t pid, uint64_t start_ticks,
                           uint32_t set)
{
    struct sd_timing_process *grown = sd_grow_array(t->processes, &t->cap_processes,
                                                    t->n_processes + 1, sizeof *grown);

    if (!grown)
        return sd_no_memory();
    t->processes = grown;
    t->processes[t->n_processes++] =
        (struct sd_timing_process){ pid, start_ticks, set, t->n_batches, 0 };
    return 0;
}

int sd_timings_add_batch(struct sd_timings *t, const struct sd_time_batch *b)
{
    struct sd_time_batch *grown =
        sd_grow_array(t->batches, &t->cap_batches, t->n_batches + 1, sizeof *grown);

    if (!grown)
        return sd_no_memory();
    sd_assert(t->n_processes > 0);
    sd_assert(b->loops > 0 && b->side >= 0);
    t->batches = grown;
    t->batches[t->n_batches++] = *b;
    t->processes[t->n_processes - 1].n++;
    return 0;
}

void sd_timings_drop_unknown(struct sd_timings *t)
{
    size_t n = 0;

    for (size_t i = 0; i < t->n_processes; i++) {
        struct sd_timing_process *p = &t->processes[i];
        size_t from = p->first, to = p->first + p->n;

        p->first = n;
        for (; from < to; from++)
            if ((size_t)t->batches[from].side < t->n_sides)
                t->batches[n++] = t->batches[from];
        p->n = n - p->first;
    }
    t->n_batches = n;
    sd_assert(n <= t->cap_batches);
}

void sd_timings_release(struct sd_timings *t)
{
    sd_arena_release(&t->arena);
    sd_free(t->sides);
    sd_free(t->processes);
    sd_free(t->batches);
    *t = (struct sd_timings){ 0 };
}
