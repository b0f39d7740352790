/* SPDX-License-Identifier: MIT */
#include "profile/time/timings_capture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "capture/memory/memory_capture.h"
#include "profile/events.h"

enum { SIDES_MAX = 4096, FACTS_OF_SIDE = 6, FACTS = 8 };

/* --- Into a capture */

static void tell_process(const void *of, size_t i, uint64_t *pid, uint64_t *start,
                         uint32_t *set, const struct sd_time_batch **batches, size_t *n)
{
    const struct sd_timings *t = of;
    const struct sd_timing_process *p = &t->processes[i];

    *pid = p->pid;
    *start = p->start_ticks;
    *set = p->set;
    *batches = t->batches + p->first;
    *n = p->n;
}

struct fact_list {
    struct sd_arena arena;
    struct sd_whole_fact *items;
    size_t n;
    bool is_bad;
};

/* No value: no fact. */
static void add_fact(struct fact_list *l, const char *key, const char *value)
{
    struct sd_whole_fact f = { sd_arena_string(&l->arena, key, strlen(key)),
                               value ? sd_arena_string(&l->arena, value, strlen(value))
                                     : NULL };

    if (!value)
        return;
    if (!f.key || !f.value)
        l->is_bad = true;
    else
        l->items[l->n++] = f;
}

static void add_number(struct fact_list *l, const char *key, int64_t value)
{
    char text[SD_TEXT_MAX];

    snprintf(text, sizeof text, "%lld", (long long)value);
    add_fact(l, key, value > 0 ? text : NULL);
}

static void add_side_facts(struct fact_list *l, const struct sd_timing_side *s,
                           size_t i)
{
    char key[64], n[SD_TEXT_MAX];

#define KEY(name) (snprintf(key, sizeof key, "time.side.%zu." name, i), key)
    add_fact(l, KEY("statement"), s->statement);
    add_fact(l, KEY("setup"), s->setup);
    add_fact(l, KEY("python"), s->python);
    if (isfinite(s->n))
        add_fact(l, KEY("n"), sd_text_real(n, s->n));
    if (s->allocated_bytes != SD_TIME_UNKNOWN) {
        snprintf(n, sizeof n, "%lld", (long long)s->allocated_bytes);
        add_fact(l, KEY("allocated_bytes"), n);
        snprintf(n, sizeof n, "%lld", (long long)s->peak_bytes);
        add_fact(l, KEY("peak_bytes"), n);
    }
#undef KEY
}

int sd_timings_capture_write(const struct sd_timings *t, const char *command,
                             struct sd_buf *to)
{
    struct fact_list l = { .n = 0 };
    struct sd_whole_times w = { .n_processes = t->n_processes,
                                .of = t,
                                .process = tell_process };
    int rc;

    l.items = sd_alloc((t->n_sides * FACTS_OF_SIDE + FACTS) * sizeof *l.items);
    if (!l.items)
        return sd_no_memory();
    add_number(&l, "time.sides", (int64_t)t->n_sides);
    add_number(&l, "time.as_timeit", t->is_as_timeit);
    add_number(&l, "time.cpu_time", t->is_cpu_time);
    add_number(&l, "time.of_pythons", t->is_of_pythons);
    add_number(&l, "time.best_speed", t->best_speed);
    add_number(&l, "time.budget_ns", (int64_t)t->budget_ns);
    add_fact(&l, "time.size_name", t->size_name);
    for (size_t i = 0; i < t->n_sides; i++)
        add_side_facts(&l, &t->sides[i], i);
    w.facts = l.items;
    w.n_facts = l.n;
    rc = l.is_bad
             ? sd_no_memory()
             : sd_whole_times(&w, &(struct sd_whole_how){ .command = command }, to);
    sd_arena_release(&l.arena);
    sd_free(l.items);
    return rc;
}

/* --- Out of one */

static struct sd_timings *timings_of(struct sd_profile *p)
{
    return &p->evidence[SD_TIMINGS].timings;
}

bool sd_timings_capture_is_batch(const struct sd_profile *p, const struct sd_event *e)
{
    return e->n_values == SD_TIME_VALUES && e->metrics[0].at < p->n_metrics &&
           strcmp(p->metrics[e->metrics[0].at].name, "batch.time") == 0;
}

/* Whatever a file says: what makes no sense is left out. */
static bool is_sound(const struct sd_time_batch *b, int64_t set)
{
    return b->loops > 0 && b->took_ns >= 0 && b->side >= 0 && b->side < SIDES_MAX &&
           b->round >= 0 && b->flags >= 0 && set >= 0 && set <= UINT32_MAX;
}

int sd_timings_capture_add(struct sd_profile *p, const struct sd_event *e)
{
    struct sd_timings *t = timings_of(p);
    const struct sd_track *track = &p->tracks[e->track.at];
    int64_t set = e->values[SD_TIME_AT_set];
    const struct sd_timing_process *last =
        t->n_processes ? &t->processes[t->n_processes - 1] : NULL;
    struct sd_time_batch b = {
        .at_ns = e->to_ns,
#define SD_TIME_VALUE(field, unit, name, meaning)                                      \
    .field = e->values[SD_TIME_AT_##field],
#include "capture/time_batch.def"
#undef SD_TIME_VALUE
    };
    int rc = 0;

    if (!is_sound(&b, set))
        return 0;
    if (!last || last->pid != track->number || last->set != (uint32_t)set)
        rc = sd_timings_add_process(t, track->number, track->start, (uint32_t)set);
    return rc < 0 ? rc : sd_timings_add_batch(t, &b);
}

static const char *fact(const struct sd_profile *p, size_t side, const char *name)
{
    char key[64];

    snprintf(key, sizeof key, "time.side.%zu.%s", side, name);
    return sd_profile_meta(p, key);
}

static int64_t number(const char *text, int64_t otherwise)
{
    uint64_t n;

    return text && sd_text_parse_number(text, &n) && n <= INT64_MAX ? (int64_t)n
                                                                    : otherwise;
}

static int add_side(struct sd_profile *p, size_t i)
{
    const char *n = fact(p, i, "n");
    const struct sd_timing_side side = {
        .statement = fact(p, i, "statement"),
        .setup = fact(p, i, "setup"),
        .python = fact(p, i, "python"),
        .n = n ? strtod(n, NULL) : NAN,
        .allocated_bytes = number(fact(p, i, "allocated_bytes"), SD_TIME_UNKNOWN),
        .peak_bytes = number(fact(p, i, "peak_bytes"), SD_TIME_UNKNOWN),
    };

    return sd_timings_add_side(timings_of(p), &side);
}

int sd_timings_capture_settle(struct sd_profile *p)
{
    struct sd_timings *t = timings_of(p);
    int64_t n = number(sd_profile_meta(p, "time.sides"), 0);
    const char *name = sd_profile_meta(p, "time.size_name");
    int rc = 0;

    if (t->n_batches == 0)
        return 0;
    n = n > SIDES_MAX ? SIDES_MAX : n;
    for (int64_t i = 0; i < n && rc == 0; i++)
        rc = add_side(p, (size_t)i);
    t->is_as_timeit = number(sd_profile_meta(p, "time.as_timeit"), 0) != 0;
    t->is_cpu_time = number(sd_profile_meta(p, "time.cpu_time"), 0) != 0;
    t->is_of_pythons = number(sd_profile_meta(p, "time.of_pythons"), 0) != 0;
    t->best_speed = number(sd_profile_meta(p, "time.best_speed"), 0);
    t->budget_ns = (uint64_t)number(sd_profile_meta(p, "time.budget_ns"), 0);
    t->size_name = name;
    if (rc == 0)
        sd_timings_drop_unknown(t);
    return rc;
}

/* --- Two captures */

static bool is_same(const struct sd_timing_side *a, const struct sd_timing_side *b)
{
    return strcmp(a->statement, b->statement) == 0 && strcmp(a->setup, b->setup) == 0 &&
           strcmp(a->python, b->python) == 0 &&
           (a->n == b->n || (isnan(a->n) && isnan(b->n)));
}

/* Which of them it is in `into`, where it is added if need be. */
static int map_side(struct sd_timings *into, const struct sd_timing_side *side,
                    int64_t *at)
{
    for (size_t i = 0; i < into->n_sides; i++)
        if (is_same(&into->sides[i], side)) {
            *at = (int64_t)i;
            return 0;
        }
    *at = (int64_t)into->n_sides;
    return sd_timings_add_side(into, side);
}

static int merge_process(struct sd_timings *into, const struct sd_timings *from,
                         const struct sd_timing_process *p, uint32_t first_set,
                         uint64_t later_ns)
{
    int rc = sd_timings_add_process(into, p->pid, p->start_ticks, first_set + p->set);

    for (size_t i = p->first; i < p->first + p->n && rc == 0; i++) {
        struct sd_time_batch b = from->batches[i];

        b.at_ns += later_ns;
        rc = map_side(into, &from->sides[b.side], &b.side);
        if (rc == 0)
            rc = sd_timings_add_batch(into, &b);
    }
    return rc;
}

int sd_timings_capture_merge(struct sd_profile *into, const struct sd_profile *from,
                             uint64_t later_ns)
{
    struct sd_timings *to = timings_of(into);
    const struct sd_timings *t = &from->evidence[SD_TIMINGS].timings;
    uint32_t first_set = 0;
    int rc = 0;

    for (size_t i = 0; i < to->n_processes; i++)
        if (to->processes[i].set >= first_set)
            first_set = to->processes[i].set + 1;
    for (size_t i = 0; i < t->n_processes && rc == 0; i++)
        rc = merge_process(to, t, &t->processes[i], first_set, later_ns);
    if (t->n_batches && to->n_batches == t->n_batches) { /* the first that has any */
        to->is_as_timeit = t->is_as_timeit;
        to->is_cpu_time = t->is_cpu_time;
        to->is_of_pythons = t->is_of_pythons;
        to->best_speed = t->best_speed;
        to->budget_ns = t->budget_ns;
        to->size_name = sd_profile_meta(into, "time.size_name");
    }
    return rc;
}
