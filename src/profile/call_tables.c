/* SPDX-License-Identifier: MIT */
#include "profile/call_tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "profile/decode.h"
#include "profile/define.h"
#include "profile/samples.h"

enum { NONE = UINT32_MAX };

/* --- Gathering */

static int reserve(struct sd_call_tables *t, size_t more)
{
    struct sd_call_cell *cells =
        sd_grow_array(t->cells, &t->cap, t->n + more, sizeof *cells);
    struct sd_call_piece *pieces;

    if (!cells)
        return sd_no_memory();
    t->cells = cells;
    pieces = sd_grow_array(t->pieces, &t->cap_pieces, t->n_pieces + 1, sizeof *pieces);
    if (!pieces)
        return sd_no_memory();
    t->pieces = pieces;
    return 0;
}

/* The root has a place of its own, whether its chunk is there or not. */
static void make_root(struct sd_call_tables *t)
{
    if (t->n == 0)
        t->cells[t->n++] = (struct sd_call_cell){ 0 };
}

static const struct sd_call_cell *cell_in(const struct sd_cells_view *view, uint32_t i)
{
    return (const void *)(view->cells + (size_t)i * view->cell_bytes);
}

int sd_call_tables_add(struct sd_call_tables *t, const struct sd_cells_view *view)
{
    const struct sd_call_piece *last = t->n_pieces ? &t->pieces[t->n_pieces - 1] : NULL;
    uint32_t i = 0;
    int rc;

    if (view->kind != SD_CELLS_CALLS || view->n == 0)
        return 0;
    if (view->cell_bytes < sizeof *t->cells || view->first > UINT32_MAX - view->n ||
        (last && view->first < last->first + last->n)) {
        t->n_refused++;
        return 0;
    }
    rc = reserve(t, (size_t)view->n + 1);
    if (rc < 0)
        return rc;
    make_root(t);
    if (view->first == 0)
        t->cells[0] = *cell_in(view, i++);
    t->pieces[t->n_pieces++] =
        (struct sd_call_piece){ view->first + i, t->n, view->n - i };
    for (; i < view->n; i++)
        t->cells[t->n++] = *cell_in(view, i);
    return 0;
}

/* Where the cell of this number is; NONE: it is not there. */
static uint32_t place_of(const struct sd_call_tables *t, uint32_t number)
{
    size_t low = 0, high = t->n_pieces;

    if (number == 0)
        return 0;
    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (t->pieces[mid].first <= number)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == 0 || number - t->pieces[low - 1].first >= t->pieces[low - 1].n)
        return NONE;
    return (uint32_t)(t->pieces[low - 1].at + (number - t->pieces[low - 1].first));
}

/* --- Metrics */

static const struct {
    const char *name;
    enum sd_unit unit;
    const char *meaning;
} metrics[SD_CALLS_METRICS] = {
    [SD_CALLS_CALLS] = { "calls", SD_UNIT_COUNT,
                         "calls traced: starts, and resumes of generators and "
                         "coroutines" },
    [SD_CALLS_STARTS] = { "starts", SD_UNIT_COUNT, "calls that began the function" },
    [SD_CALLS_TIME] = { "time", SD_UNIT_NANOSECONDS,
                        "time in the function while it ran, without the cost of "
                        "tracing" },
    [SD_CALLS_TRACING] = { "tracing", SD_UNIT_NANOSECONDS,
                           "cost of tracing that was subtracted" },
    [SD_CALLS_CPU_TIME] = { "cpu_time", SD_UNIT_NANOSECONDS,
                            "CPU time of the thread in the function" },
    [SD_CALLS_AWAITED] = { "awaited", SD_UNIT_NANOSECONDS,
                           "time that coroutines of the function were suspended" },
};

static int define_metric(struct sd_profile *p, enum sd_call_metric m, sd_metric_id *id)
{
    struct sd_metric_key key = { .unit = metrics[m].unit, .adds = SD_ADDS_SUM };
    uint32_t meaning;
    int rc = sd_define_string(p, metrics[m].name, strlen(metrics[m].name), &key.name);

    if (rc == 0)
        rc = sd_define_string(p, metrics[m].meaning, strlen(metrics[m].meaning),
                              &meaning);
    if (rc == 0)
        rc = sd_define_metric(p, &key, meaning, &id->at);
    return rc;
}

static int define_metrics(struct sd_call_tables *t, struct sd_profile *p)
{
    int rc = 0;

    for (int m = 0; m < SD_CALLS_METRICS && rc == 0 && !t->has_metrics; m++)
        rc = define_metric(p, (enum sd_call_metric)m, &t->metrics[m]);
    t->has_metrics = rc == 0;
    return rc;
}

/* --- Stacks */

/* The parent's stack; of one that is lost, that of "[lost name]". */
static int stack_below(struct sd_call_tables *t, struct sd_decoder *d, size_t i,
                       sd_stack_id *out)
{
    uint32_t parent = place_of(t, t->cells[i].parent);

    *out = SD_NO_STACK;
    if (parent == NONE || parent >= i) {
        t->n_refused++;
        t->nodes[i].parent = 0;
        return sd_define_lost_stack(d->grow, &out->at);
    }
    t->nodes[i].parent = parent;
    if (parent != 0)
        out->at = t->stacks[parent];
    return 0;
}

static int place_cells(struct sd_call_tables *t, struct sd_decoder *d)
{
    int rc = 0;

    t->nodes[0] = (struct sd_node){ .parent = SD_NO_NODE };
    for (size_t i = 1; i < t->n && rc == 0; i++) {
        struct sd_stack stack = { .line = 0 };

        rc = stack_below(t, d, i, &stack.parent);
        if (rc == 0)
            rc = sd_decoder_site(d, t->cells[i].site, &stack.site);
        if (rc == 0)
            rc = sd_define_stack(d->grow, &stack, &t->stacks[i]);
        if (rc == 0)
            t->nodes[i].is_c = d->grow->sites[stack.site.at].is_native;
        t->nodes[i].calls = t->cells[i].calls;
    }
    return rc;
}

/* --- Times */

static int64_t bounded(uint64_t n) { return n < INT64_MAX ? (int64_t)n : INT64_MAX; }

static int64_t ns_of(const struct sd_call_tables *t, int64_t ticks)
{
    double ns = (double)ticks * t->ns_per_tick + 0.5;

    return ns < 0x1p62 ? (int64_t)ns : (int64_t)1 << 62;
}

/* Settles the nodes twice: what is missing after the second time was ours. */
static int settle_times(struct sd_call_tables *t, const struct sd_trace_cost *cost)
{
    int rc;

    for (size_t i = 1; i < t->n; i++)
        t->nodes[i].inclusive = bounded(t->cells[i].ticks);
    rc = sd_nodes_settle(t->nodes, t->n, NULL, NULL);
    if (rc < 0)
        return rc;
    for (size_t i = 1; i < t->n; i++)
        t->tracing[i] = t->nodes[i].own;
    rc = sd_nodes_settle(t->nodes, t->n, cost, NULL);
    for (size_t i = 1; i < t->n && rc == 0; i++) {
        t->times[i] = ns_of(t, t->nodes[i].own);
        t->tracing[i] = ns_of(t, t->tracing[i] - t->nodes[i].own);
    }
    return rc;
}

static uint64_t scaled(const struct sd_call_tables *t, uint64_t ticks)
{
    return (uint64_t)ns_of(t, (int64_t)ticks);
}

/* Tracing takes the thread's CPU time too, as much as it takes of the clock: both are
 * read at once, and the cost was measured with both. */
static int settle_cpu_times(struct sd_call_tables *t,
                            const struct sd_trace_cost *in_ticks)
{
    struct sd_trace_cost cost = { .python_inside = scaled(t, in_ticks->python_inside),
                                  .python_outside = scaled(t, in_ticks->python_outside),
                                  .c_inside = scaled(t, in_ticks->c_inside),
                                  .c_outside = scaled(t, in_ticks->c_outside),
                                  .python_plain = scaled(t, in_ticks->python_plain),
                                  .c_plain = scaled(t, in_ticks->c_plain) };
    bool is_measured = false;
    int rc;

    for (size_t i = 1; i < t->n; i++) {
        t->nodes[i].inclusive = bounded(t->cells[i].cpu_ns);
        is_measured |= t->cells[i].cpu_ns != 0;
    }
    rc = sd_nodes_settle(t->nodes, t->n, &cost, NULL);
    for (size_t i = 1; i < t->n && rc == 0; i++)
        t->cpu_times[i] = is_measured ? t->nodes[i].own : SD_VALUE_NONE;
    return rc;
}

/* --- Facts about the whole tree */

static int add_fact(struct sd_profile *p, const char *key, uint64_t n)
{
    char value[24];
    int length = snprintf(value, sizeof value, "%" PRIu64, n);

    if (n == 0)
        return 0;
    return sd_profile_add_meta(p, key, strlen(key), value, (size_t)length);
}

static int add_facts(const struct sd_call_tables *t, struct sd_profile *p,
                     const struct sd_call_root *root)
{
    const struct {
        const char *key;
        uint64_t n;
    } facts[] = {
        { "calls.trees", 1 },
        { "calls.folded", root->folded },
        { "calls.untraced_ns", (uint64_t)ns_of(t, bounded(root->untraced)) },
        { "calls.traced_ns", (uint64_t)ns_of(t, bounded(root->traced)) },
        { "calls.resyncs", root->resyncs },
        { "calls.damaged", t->n_refused },
    };
    int rc = 0;

    for (size_t i = 0; i < sizeof facts / sizeof *facts && rc == 0; i++)
        rc = add_fact(p, facts[i].key, facts[i].n);
    return rc;
}

/* --- All of it */

static void forget(struct sd_call_tables *t)
{
    sd_free(t->nodes);
    sd_free(t->times);
    sd_free(t->tracing);
    sd_free(t->cpu_times);
    sd_free(t->stacks);
    t->nodes = NULL;
    t->times = t->tracing = t->cpu_times = NULL;
    t->stacks = NULL;
    t->n = t->n_pieces = t->next = 0;
    t->n_refused = 0;
}

static int take_memory(struct sd_call_tables *t)
{
    t->nodes = sd_zalloc(t->n * sizeof *t->nodes);
    t->times = sd_zalloc(t->n * sizeof *t->times);
    t->tracing = sd_zalloc(t->n * sizeof *t->tracing);
    t->cpu_times = sd_zalloc(t->n * sizeof *t->cpu_times);
    t->stacks = sd_zalloc(t->n * sizeof *t->stacks);
    return t->nodes && t->times && t->tracing && t->cpu_times && t->stacks
               ? 0
               : sd_no_memory();
}

static int settle(struct sd_call_tables *t, struct sd_decoder *d)
{
    struct sd_call_root root;
    struct sd_trace_cost cost;
    int rc;

    memcpy(&root, &t->cells[0], sizeof root);
    cost = (struct sd_trace_cost){ .python_inside = root.python_inside,
                                   .python_outside = root.python_outside,
                                   .c_inside = root.c_inside,
                                   .c_outside = root.c_outside,
                                   .python_plain = root.python_plain * UINT64_C(1024),
                                   .c_plain = root.c_plain * UINT64_C(1024) };
    t->ns_per_tick = sd_decoder_ns_per_tick(d);
    t->to_ns = d->last_clock_ns;
    t->from_ns = d->first_clock_ns < t->to_ns ? d->first_clock_ns : t->to_ns;
    rc = take_memory(t);
    if (rc == 0)
        rc = define_metrics(t, d->grow);
    if (rc == 0)
        rc = sd_decoder_track(d, root.track, &t->track);
    if (rc == 0)
        rc = place_cells(t, d);
    if (rc == 0)
        rc = settle_times(t, &cost);
    if (rc == 0)
        rc = settle_cpu_times(t, &cost);
    return rc < 0 ? rc : add_facts(t, d->grow, &root);
}

int sd_call_tables_settle(struct sd_call_tables *t, struct sd_decoder *d)
{
    int rc;

    if (t->n == 0) {
        forget(t);
        return 0;
    }
    rc = settle(t, d);
    if (rc < 0)
        forget(t);
    else
        t->next = 1;
    return rc;
}

static void fill(struct sd_call_tables *t, size_t i)
{
    const struct sd_call_cell *c = &t->cells[i];
    uint64_t resumes = c->resumes < c->calls ? c->resumes : c->calls;

    t->values[SD_CALLS_CALLS] = bounded(c->calls);
    t->values[SD_CALLS_STARTS] = bounded(c->calls - resumes);
    t->values[SD_CALLS_TIME] = t->times[i];
    t->values[SD_CALLS_TRACING] = t->tracing[i];
    t->values[SD_CALLS_CPU_TIME] = t->cpu_times[i];
    t->values[SD_CALLS_AWAITED] =
        c->awaited ? ns_of(t, bounded(c->awaited)) : SD_VALUE_NONE;
}

bool sd_call_tables_next(struct sd_call_tables *t, struct sd_event *e)
{
    size_t i;

    if (t->next == 0)
        return false;
    if (t->next >= t->n) {
        forget(t);
        return false;
    }
    i = t->next++;
    fill(t, i);
    *e = (struct sd_event){ .kind = SD_EVENT_CALLS,
                            .track = { t->track },
                            .site = SD_NO_SITE,
                            .stack = { t->stacks[i] },
                            .from_ns = t->from_ns,
                            .to_ns = t->to_ns,
                            .metrics = t->metrics,
                            .values = t->values,
                            .n_values = SD_CALLS_METRICS };
    return true;
}

void sd_call_tables_release(struct sd_call_tables *t)
{
    forget(t);
    sd_free(t->cells);
    sd_free(t->pieces);
    *t = (struct sd_call_tables){ 0 };
}
