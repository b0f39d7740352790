/* SPDX-License-Identifier: MIT */
#include "profile/call_tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/sum.h"
#include "profile/decode.h"
#include "profile/profile_define.h"
#include "profile/samples.h"

enum { NONE = UINT32_MAX };

_Static_assert(sizeof(struct sd_call_root) == sizeof(struct sd_call_cell),
               "the root is a cell");
_Static_assert((int)SD_CALLS_METRICS <= (int)SD_SAMPLE_METRICS,
               "totals have a column for each");

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
    sd_assert(t->cap >= t->n + more && t->cap_pieces > t->n_pieces);
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

static int reserve_pairs(struct sd_call_tables *t, size_t more)
{
    struct sd_pair_cell *pairs =
        sd_grow_array(t->pairs, &t->cap_pairs, t->n_pairs + more, sizeof *pairs);
    uint32_t *numbers;

    if (!pairs)
        return sd_no_memory();
    t->pairs = pairs;
    numbers = sd_grow_array(t->pair_numbers, &t->cap_numbers, t->n_pairs + more,
                            sizeof *numbers);
    if (!numbers)
        return sd_no_memory();
    t->pair_numbers = numbers;
    sd_assert(t->cap_pairs >= t->n_pairs + more && t->cap_numbers >= t->n_pairs + more);
    return 0;
}

static bool is_of_wholes(const struct sd_pair_cell *pair)
{
    return pair->callee.next == SD_PAIR_OF_WHOLES;
}

/* Pairs refer to no cell, so their numbers tell only whether a chunk came twice. */
static int add_pairs(struct sd_call_tables *t, const struct sd_cells_view *view)
{
    struct sd_pair_cell *pairs;
    int rc = reserve(t, 1);

    if (rc < 0)
        return rc;
    if (view->cell_bytes < sizeof *pairs || view->first < t->end_of_pairs ||
        view->first > UINT32_MAX - view->n) {
        t->n_refused++;
        return 0;
    }
    rc = reserve_pairs(t, view->n);
    if (rc < 0)
        return rc;
    make_root(t);
    for (uint32_t i = 0; i < view->n; i++) {
        struct sd_pair_cell *pair = &t->pairs[t->n_pairs];

        t->pair_numbers[t->n_pairs] = (uint32_t)view->first + i;
        memcpy(pair, view->cells + (size_t)i * view->cell_bytes, sizeof *pair);
        if (is_of_wholes(pair)) /* these are the sums over the signatures */
            pair->callee.calls = pair->callee.resumes = pair->own_ticks =
                pair->own_cpu_ns = 0;
        if (pair->callee.site != 0)
            t->n_pairs++;
        else
            t->n_lost = sd_sum_u64(t->n_lost, pair->callee.calls);
    }
    t->end_of_pairs = view->first + view->n;
    return 0;
}

int sd_call_tables_add(struct sd_call_tables *t, const struct sd_cells_view *view)
{
    const struct sd_call_piece *last = t->n_pieces ? &t->pieces[t->n_pieces - 1] : NULL;
    uint32_t i = 0;
    int rc;

    if (view->n == 0)
        return 0;
    if (view->kind == SD_CELLS_PAIRS)
        return add_pairs(t, view);
    if (view->kind == SD_CELLS_OPEN) {
        rc = sd_open_pairs_add(&t->open, view);
        t->n_refused += rc == 0;
        return rc < 0 ? rc : 0;
    }
    if (view->kind != SD_CELLS_CALLS)
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
    sd_assert(t->n <= t->cap);
    return 0;
}

uint64_t sd_call_tables_count(const struct sd_cells_view *view)
{
    uint64_t sum = 0;

    if ((view->kind != SD_CELLS_CALLS && view->kind != SD_CELLS_PAIRS) ||
        view->cell_bytes < sizeof(struct sd_call_cell))
        return 0;
    for (uint32_t i = view->first == 0; i < view->n; i++)
        sum += cell_in(view, i)->calls;
    return sum;
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

    sd_assert(metrics[m].name && metrics[m].meaning); /* the table has them all */
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
    if (parent == NONE || parent >= i || t->nodes[parent].is_beyond) {
        t->n_refused++;
        t->nodes[i].parent = 0;
        return sd_define_lost_stack(d->grow, &out->at);
    }
    t->nodes[i].parent = parent;
    sd_assert(parent < i && parent < t->n);
    if (parent != 0)
        out->at = t->stacks[parent];
    return 0;
}

static void place_beyond(struct sd_call_tables *t, size_t i, uint32_t n_below)
{
    struct sd_calls_below *below = &t->below[n_below];
    struct sd_beyond_cell cell;
    uint64_t c_calls, *around;

    sd_assert(i < t->n && n_below < t->n);
    memcpy(&cell, &t->cells[i], sizeof cell);
    c_calls = cell.c_calls < cell.calls ? cell.c_calls : cell.calls;
    below->inside = (struct sd_call_counts_calls){ cell.calls - c_calls, c_calls };
    below->around = below->inside;
    around = t->nodes[i].is_c ? &below->around.c : &below->around.python;
    below->first_calls = cell.first_calls < *around ? cell.first_calls : *around;
    *around -= below->first_calls;
    t->nodes[i].is_beyond = true;
    t->nodes[i].function = n_below;
}

static int place_cells(struct sd_call_tables *t, struct sd_decoder *d)
{
    uint32_t n_below = 0;
    int rc = 0;

    t->nodes[0] = (struct sd_node){ .parent = SD_NO_NODE };
    for (size_t i = 1; i < t->n && rc == 0; i++) {
        struct sd_stack stack = { .line = 0 };

        rc = stack_below(t, d, i, &stack.parent);
        if (rc == 0)
            rc = sd_decoder_site(d, t->cells[i].site, &stack.site);
        if (rc == 0)
            rc = sd_define_stack(d->grow, &stack, &t->stacks[i]);
        if (rc < 0)
            break;
        t->nodes[i].is_c = d->grow->sites[stack.site.at].is_native;
        t->nodes[i].calls = t->cells[i].calls;
        if (d->grow->sites[stack.site.at].is_beyond)
            place_beyond(t, i, n_below++);
    }
    return rc;
}

static struct sd_call_counts_calls calls_in(struct sd_calls_inside n)
{
    return (struct sd_call_counts_calls){ n.python, n.c };
}

static void add_calls(struct sd_call_counts_calls *to, struct sd_call_counts_calls n)
{
    to->python = sd_sum_u64(to->python, n.python);
    to->c = sd_sum_u64(to->c, n.c);
}

static struct sd_call_counts_calls of_kind(bool is_c, uint64_t n)
{
    return is_c ? (struct sd_call_counts_calls){ 0, n }
                : (struct sd_call_counts_calls){ n, 0 };
}

/* All of a pair but its times. */
static void count_pair(struct sd_pair *pair, const struct sd_pair_cell *c, bool is_c)
{
    *pair = (struct sd_pair){
        .is_c = is_c,
        .calls = c->callee.calls,
        .primitive = c->primitive,
        .pair_primitive = sd_sum_u64(c->primitive, c->inner_primitive),
        .own_calls = calls_in(c->own_calls),
        .total_around = calls_in(c->inside_calls),
        .pair_around = calls_in(c->inside_calls),
    };
    add_calls(&pair->pair_around, calls_in(c->inner_calls));
    pair->total_inside = pair->total_around;
    pair->pair_inside = pair->pair_around;
    add_calls(&pair->total_inside, of_kind(is_c, pair->primitive));
    add_calls(&pair->pair_inside, of_kind(is_c, pair->pair_primitive));
    sd_assert(pair->pair_primitive >= pair->primitive);
}

static int place_pairs(struct sd_call_tables *t, struct sd_decoder *d)
{
    int rc = 0;

    for (size_t i = 0; i < t->n_pairs && rc == 0; i++) {
        struct sd_pair_total *total = &t->totals[i];
        sd_site_id callee, caller = SD_NO_SITE;

        rc = sd_decoder_site(d, t->pairs[i].callee.site, &callee);
        if (rc == 0 && t->pairs[i].callee.parent != 0)
            rc = sd_decoder_site(d, t->pairs[i].callee.parent, &caller);
        if (rc < 0)
            break;
        total->track = t->track;
        total->caller = caller.at;
        total->callee = callee.at;
        count_pair(&t->settled[i], &t->pairs[i], d->grow->sites[callee.at].is_native);
    }
    return rc;
}

/* --- Calls that are open */

static void leave_out_one(struct sd_call_counts_calls *n, bool is_c)
{
    uint64_t *of = is_c ? &n->c : &n->python;

    *of -= *of > 0;
}

/* Where the pair of this number is; NONE: it is not there. */
static uint32_t place_of_pair(const struct sd_call_tables *t, uint32_t number)
{
    size_t low = 0, high = t->n_pairs;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (t->pair_numbers[mid] < number)
            low = mid + 1;
        else
            high = mid;
    }
    return low < t->n_pairs && t->pair_numbers[low] == number ? (uint32_t)low : NONE;
}

/* The call was counted when it began, and its own time is in no number yet, nor is the
 * cost of tracing there. */
static void add_open_to(struct sd_call_tables *t, uint32_t at,
                        const struct sd_open_pair *call, bool is_outermost)
{
    struct sd_pair_cell *cell = &t->pairs[at];
    struct sd_pair *pair = &t->settled[at];

    sd_assert(at < t->n_pairs);
    leave_out_one(&pair->pair_inside, pair->is_c);
    add_calls(&pair->pair_inside, call->inside);
    add_calls(&pair->pair_around, call->around);
    if (!is_outermost) {
        cell->inner_ticks = sd_sum_u64(cell->inner_ticks, call->ticks);
        cell->inner_cpu_ns = sd_sum_u64(cell->inner_cpu_ns, call->cpu_ns);
        return;
    }
    leave_out_one(&pair->total_inside, pair->is_c);
    add_calls(&pair->total_inside, call->inside);
    add_calls(&pair->total_around, call->around);
    cell->callee.ticks = sd_sum_u64(cell->callee.ticks, call->ticks);
    cell->callee.cpu_ns = sd_sum_u64(cell->callee.cpu_ns, call->cpu_ns);
}

/* With signatures it is open as a call of its function, too. */
static void add_open_pair(struct sd_call_tables *t, const struct sd_open_pair *call)
{
    uint32_t at = place_of_pair(t, call->cell.pair), whole;
    unsigned flags = call->cell.flags;

    if (at == NONE)
        return;
    if (flags & (SD_BEYOND_OUTERMOST | SD_BEYOND_INNER))
        add_open_to(t, at, call, flags & SD_BEYOND_OUTERMOST);
    if (!(flags & SD_BEYOND_WHOLE))
        return;
    whole = place_of_pair(t, t->pairs[at].whole);
    if (whole != NONE && is_of_wholes(&t->pairs[whole]))
        add_open_to(t, whole, call, flags & SD_BEYOND_WHOLE_OUTERMOST);
}

/* Where the stack left the tree: all that is open beyond it, and the first of it. */
static void add_open_exit(struct sd_call_tables *t, const struct sd_open_pair *call)
{
    uint32_t at = place_of(t, call->cell.below);
    bool is_lost = call->cell.flags & SD_BEYOND_LOST;
    struct sd_calls_below *below;
    struct sd_call_cell *cell;
    uint64_t n = sd_sum_u64(call->calls.python, call->calls.c);

    if (at == NONE || !t->nodes[at].is_beyond)
        return;
    below = &t->below[t->nodes[at].function];
    cell = &t->cells[at];
    below->first_calls += is_lost ? call->cell.direct.python + call->cell.direct.c : 1;
    add_calls(&below->inside, call->inside);
    add_calls(&below->around, call->around);
    cell->calls = sd_sum_u64(cell->calls, sd_sum_u64(n, !is_lost));
    cell->ticks = sd_sum_u64(cell->ticks, call->ticks);
    cell->cpu_ns = sd_sum_u64(cell->cpu_ns, call->cpu_ns);
    t->nodes[at].calls = cell->calls;
}

static int add_open(struct sd_call_tables *t)
{
    int rc = sd_open_pairs_settle(&t->open);

    for (size_t i = 0; i < t->open.n && rc == 0; i++) {
        const struct sd_open_pair *call = &t->open.items[i];

        if (call->cell.flags & SD_BEYOND_OPEN && !(call->cell.flags & SD_BEYOND_LOST))
            add_open_pair(t, call);
        if (call->cell.flags & SD_BEYOND_FIRST)
            add_open_exit(t, call);
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

/* Of a sum that a clock which went back has made less than 0, nothing. */
static int64_t not_negative(uint64_t n) { return (int64_t)n < 0 ? 0 : (int64_t)n; }

static int64_t pair_total(const struct sd_pair_cell *c, bool is_cpu)
{
    return not_negative(is_cpu ? c->callee.cpu_ns + c->inner_cpu_ns
                               : c->callee.ticks + c->inner_ticks);
}

/* What was measured, of the clock or of the processor, in nodes and pairs. */
static void fill_measured(struct sd_call_tables *t, bool is_cpu)
{
    for (size_t i = 1; i < t->n; i++)
        t->nodes[i].inclusive =
            bounded(is_cpu ? t->cells[i].cpu_ns : t->cells[i].ticks);
    for (size_t i = 0; i < t->n_pairs; i++) {
        const struct sd_pair_cell *c = &t->pairs[i];
        struct sd_pair *pair = &t->settled[i];

        pair->own = not_negative(is_cpu ? c->own_cpu_ns : c->own_ticks);
        pair->total = not_negative(is_cpu ? c->callee.cpu_ns : c->callee.ticks);
        pair->pair_total = pair_total(c, is_cpu);
    }
}

static int settle_forest(struct sd_call_tables *t, const struct sd_trace_cost *cost,
                         bool is_cpu)
{
    struct sd_call_forest forest = { t->nodes, t->n, t->below, t->settled, t->n_pairs };

    fill_measured(t, is_cpu);
    return sd_forest_settle(&forest, cost, NULL);
}

static void put_pair_times(struct sd_call_tables *t, size_t i)
{
    const struct sd_pair_cell *c = &t->pairs[i];
    const struct sd_pair *pair = &t->settled[i];
    int64_t *v = t->totals[i].values;

    v[SD_PAIR_TIME] = ns_of(t, pair->own);
    v[SD_PAIR_TOTAL] = ns_of(t, pair->total);
    v[SD_PAIR_PAIR_TOTAL] = ns_of(t, pair->pair_total);
    v[SD_PAIR_TRACING] = ns_of(t, not_negative(c->own_ticks) - pair->own);
    v[SD_PAIR_TOTAL_TRACING] = ns_of(t, not_negative(c->callee.ticks) - pair->total);
    v[SD_PAIR_PAIR_TRACING] = ns_of(t, pair_total(c, false) - pair->pair_total);
}

/* Settles the nodes twice: what is missing after the second time was ours. */
static int settle_times(struct sd_call_tables *t, const struct sd_trace_cost *cost)
{
    int rc = settle_forest(t, NULL, false);

    if (rc < 0)
        return rc;
    for (size_t i = 1; i < t->n; i++)
        t->tracing[i] = t->nodes[i].own;
    rc = settle_forest(t, cost, false);
    for (size_t i = 1; i < t->n && rc == 0; i++) {
        t->times[i] = ns_of(t, t->nodes[i].own);
        t->tracing[i] = ns_of(t, t->tracing[i] - t->nodes[i].own);
    }
    for (size_t i = 0; i < t->n_pairs && rc == 0; i++)
        put_pair_times(t, i);
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

    for (size_t i = 1; i < t->n; i++)
        is_measured |= t->cells[i].cpu_ns != 0;
    for (size_t i = 0; i < t->n_pairs; i++)
        is_measured |= t->pairs[i].own_cpu_ns != 0;
    rc = settle_forest(t, &cost, true);
    for (size_t i = 1; i < t->n && rc == 0; i++)
        t->cpu_times[i] = is_measured ? t->nodes[i].own : SD_VALUE_NONE;
    for (size_t i = 0; i < t->n_pairs && rc == 0; i++) {
        t->totals[i].values[SD_PAIR_CPU] = t->settled[i].own;
        t->totals[i].values[SD_PAIR_CPU_TOTAL] = t->settled[i].total;
        t->totals[i].values[SD_PAIR_CPU_PAIR_TOTAL] = t->settled[i].pair_total;
    }
    return rc;
}

static void count_pairs(struct sd_call_tables *t)
{
    for (size_t i = 0; i < t->n_pairs; i++) {
        const struct sd_pair_cell *c = &t->pairs[i];
        int64_t *v = t->totals[i].values;
        uint64_t calls = c->callee.calls;

        v[SD_PAIR_CALLS] = bounded(calls);
        v[SD_PAIR_STARTS] =
            bounded(calls - (c->callee.resumes < calls ? c->callee.resumes : calls));
        v[SD_PAIR_PRIMITIVE] = bounded(c->primitive);
        v[SD_PAIR_PRIMITIVE_OF_PAIR] =
            bounded(sd_sum_u64(c->primitive, c->inner_primitive));
        v[SD_PAIR_AWAITED] = ns_of(t, bounded(c->callee.awaited));
    }
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

static double all_tracing(const struct sd_call_tables *t)
{
    double all = 0;

    for (size_t i = 1; i < t->n; i++)
        all += (double)t->tracing[i];
    return all;
}

/* By how many nanoseconds what was subtracted may be wrong. */
static uint64_t error_of(const struct sd_call_tables *t,
                         const struct sd_call_root *root)
{
    double all = all_tracing(t);

    return root->error < 4096 ? (uint64_t)(all * (double)root->error / 1024) : 0;
}

/* A thread of which calls are missing, by its number. */
static int name_loser(const struct sd_call_tables *t, struct sd_profile *p)
{
    char number[24];
    int n = snprintf(number, sizeof number, "%" PRIu64, p->tracks[t->track].number);

    return sd_profile_add_meta(p, SD_CALLS_LOST_IN, strlen(SD_CALLS_LOST_IN), number,
                               (size_t)n);
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
        { "calls.lost", t->n_lost },
        { "calls.tracing_error_ns", error_of(t, root) },
        /* It is found at the end: a thread that was killed, or still runs, has none. */
        { "calls.trees_without_error", root->error == 0 && all_tracing(t) > 0 },
        { "calls.untraced_ns", (uint64_t)ns_of(t, bounded(root->untraced)) },
        { "calls.traced_ns", (uint64_t)ns_of(t, bounded(root->traced)) },
        { "calls.resyncs", root->resyncs },
        { "calls.damaged", t->n_refused },
    };
    int rc = 0;

    for (size_t i = 0; i < sizeof facts / sizeof *facts && rc == 0; i++)
        rc = add_fact(p, facts[i].key, facts[i].n);
    return rc == 0 && t->n_lost ? name_loser(t, p) : rc;
}

/* --- All of it */

static void forget(struct sd_call_tables *t)
{
    sd_free(t->nodes);
    sd_free(t->below);
    sd_free(t->settled);
    sd_free(t->totals);
    sd_free(t->times);
    sd_free(t->tracing);
    sd_free(t->cpu_times);
    sd_free(t->stacks);
    t->nodes = NULL;
    t->below = NULL;
    t->settled = NULL;
    t->totals = NULL;
    t->times = t->tracing = t->cpu_times = NULL;
    t->stacks = NULL;
    t->n = t->n_pieces = t->next = 0;
    t->n_pairs = t->next_pair = 0;
    t->end_of_pairs = t->n_lost = 0;
    sd_open_pairs_clear(&t->open);
    t->n_refused = 0;
}

static int take_memory(struct sd_call_tables *t)
{
    t->nodes = sd_zalloc(t->n * sizeof *t->nodes);
    t->times = sd_zalloc(t->n * sizeof *t->times);
    t->tracing = sd_zalloc(t->n * sizeof *t->tracing);
    t->cpu_times = sd_zalloc(t->n * sizeof *t->cpu_times);
    t->stacks = sd_zalloc(t->n * sizeof *t->stacks);
    t->below = sd_zalloc(t->n * sizeof *t->below);
    t->settled = sd_zalloc((t->n_pairs + 1) * sizeof *t->settled);
    t->totals = sd_zalloc((t->n_pairs + 1) * sizeof *t->totals);
    return t->nodes && t->times && t->tracing && t->cpu_times && t->stacks &&
                   t->below && t->settled && t->totals
               ? 0
               : sd_no_memory();
}

static int settle(struct sd_call_tables *t, struct sd_decoder *d)
{
    struct sd_call_root root;
    struct sd_trace_cost cost;
    int rc;

    sd_assert(t->n > 0 && !t->nodes); /* the one before was handed out */
    memcpy(&root, &t->cells[0], sizeof root);
    cost = (struct sd_trace_cost){ .python_inside = root.python_inside,
                                   .python_outside = root.python_outside,
                                   .c_inside = root.c_inside,
                                   .c_outside = root.c_outside,
                                   .python_plain = root.python_plain * UINT64_C(1024),
                                   .c_plain = root.c_plain * UINT64_C(1024) };
    t->n_lost = sd_sum_u64(t->n_lost, root.lost);
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
        rc = place_pairs(t, d);
    if (rc == 0)
        rc = add_open(t);
    if (rc == 0)
        rc = settle_times(t, &cost);
    if (rc == 0)
        rc = settle_cpu_times(t, &cost);
    if (rc == 0)
        count_pairs(t);
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

    sd_assert_slow(i > 0 && i < t->n);
    t->values[SD_CALLS_CALLS] = bounded(c->calls);
    t->values[SD_CALLS_STARTS] = bounded(c->calls - resumes);
    t->values[SD_CALLS_TIME] = t->times[i];
    t->values[SD_CALLS_TRACING] = t->tracing[i];
    t->values[SD_CALLS_CPU_TIME] = t->cpu_times[i];
    t->values[SD_CALLS_AWAITED] =
        c->awaited ? ns_of(t, bounded(c->awaited)) : SD_VALUE_NONE;
    if (t->nodes[i].is_beyond) /* these are told of its pairs */
        t->values[SD_CALLS_STARTS] = t->values[SD_CALLS_AWAITED] = SD_VALUE_NONE;
}

static bool next_pair(struct sd_call_tables *t, struct sd_event *e)
{
    const struct sd_pair_total *total = &t->totals[t->next_pair];

    if (t->next_pair >= t->n_pairs)
        return false;
    *e = (struct sd_event){ .kind = is_of_wholes(&t->pairs[t->next_pair++])
                                        ? SD_EVENT_WHOLE_PAIRS
                                        : SD_EVENT_PAIRS,
                            .track = { total->track },
                            .site = { total->callee },
                            .stack = SD_NO_STACK,
                            .from_ns = t->from_ns,
                            .to_ns = t->to_ns,
                            .flags = total->caller,
                            .values = total->values,
                            .n_values = SD_PAIR_VALUES };
    return true;
}

bool sd_call_tables_next(struct sd_call_tables *t, struct sd_event *e)
{
    size_t i;

    if (t->next == 0)
        return false;
    if (t->next >= t->n) {
        if (next_pair(t, e))
            return true;
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
    sd_free(t->pairs);
    sd_free(t->pair_numbers);
    sd_open_pairs_release(&t->open);
    *t = (struct sd_call_tables){ 0 };
}
