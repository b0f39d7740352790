/* SPDX-License-Identifier: MIT */
#include "ext/enabled.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

struct sd_enabled_thread *sd_enabled_threads_find(const struct sd_enabled_threads *e,
                                                  uint64_t thread)
{
    for (size_t i = 0; i < e->n; i++)
        if (e->threads[i].thread == thread)
            return &e->threads[i];
    return NULL;
}

struct sd_enabled_thread *sd_enabled_threads_make(struct sd_enabled_threads *e,
                                                  uint64_t thread)
{
    struct sd_enabled_thread *t = sd_enabled_threads_find(e, thread);

    if (t)
        return t;
    t = sd_grow_array(e->threads, &e->cap, e->n + 1, sizeof *t);
    if (!t)
        return NULL;
    e->threads = t;
    e->threads[e->n] = (struct sd_enabled_thread){ .thread = thread };
    return &e->threads[e->n++];
}

static void forget_if_through(struct sd_enabled_threads *e, struct sd_enabled_thread *t)
{
    if (!t->is_on && t->count == 0)
        *t = e->threads[--e->n];
}

int sd_enabled_threads_set(struct sd_enabled_threads *e, uint64_t thread, bool is_on)
{
    struct sd_enabled_thread *t =
        is_on ? sd_enabled_threads_make(e, thread) : sd_enabled_threads_find(e, thread);

    if (!t)
        return is_on ? sd_no_memory() : 0;
    e->n_on += (size_t)is_on;
    e->n_on -= (size_t)t->is_on;
    t->is_on = is_on;
    forget_if_through(e, t);
    return 0;
}

int sd_enabled_threads_set_count(struct sd_enabled_threads *e, uint64_t thread,
                                 long count)
{
    struct sd_enabled_thread *t = sd_enabled_threads_make(e, thread);

    if (!t)
        return sd_no_memory();
    t->count = count > 0 ? count : 0;
    forget_if_through(e, t);
    return 0;
}

void sd_enabled_threads_keep_only(struct sd_enabled_threads *e, uint64_t thread)
{
    const struct sd_enabled_thread *t = sd_enabled_threads_find(e, thread);

    e->n = e->n_on = 0;
    if (!t)
        return;
    e->n_on = t->is_on;
    e->threads[e->n++] = *t;
}

void sd_enabled_threads_release(struct sd_enabled_threads *e)
{
    sd_free(e->threads);
    memset(e, 0, sizeof *e);
}
