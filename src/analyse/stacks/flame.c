/* SPDX-License-Identifier: MIT */
/* flame: lays the samples out as a flame graph. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/stacks/flametree.h"
#include "analyse/stacks/call_counts.h"
#include "base/assert.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/text.h"

enum { NONE = UINT32_MAX };

struct maker {
    const struct sd_flametree *t;
    struct sd_arena *arena; /* the caller's */
    struct sd_view_flame *view;
    size_t cap_boxes;
    struct sd_flame_box *boxes; /* owned until it is copied into the arena */
    int64_t least;              /* boxes of less are folded */
    double least_percent;       /* the same as a share */
    uint32_t *depths;           /* owned; by node; the whole is 0 */
    uint32_t *order;            /* owned; drawn nodes, sisters together, widest first */
    size_t n_order;
    uint32_t *first_in_order; /* owned; by node + 1 (0: the whole): its first child */
    int64_t *folded;          /* owned; by node + 1: amount of its children not drawn */
    uint32_t *n_folded;       /* owned; and how many they are */
    size_t n_left_out;        /* nodes that no box stands for */
};

/* --- Which are drawn */

static bool is_drawn(const struct maker *m, size_t node)
{
    return m->t->total[node] >= m->least && m->t->total[node] > 0 &&
           m->depths[node] < SD_FLAME_LEVELS;
}

/* Doubles the least share until a browser can carry the boxes. */
static void choose_least(struct maker *m, double percent)
{
    size_t n;

    for (;; percent *= 2) {
        m->least_percent = percent;
        m->least = (int64_t)(percent / 100 * (double)m->t->all);
        n = 0;
        for (size_t i = 0; i < m->t->nodes.n; i++)
            n += is_drawn(m, i);
        if (n <= SD_FLAME_BOXES || percent > 50)
            return;
    }
}

static void find_depths(struct maker *m)
{
    for (size_t i = 0; i < m->t->nodes.n; i++) {
        uint32_t parent = m->t->nodes.items[i].a;
        sd_assert(parent == NONE || parent < i);

        m->depths[i] = parent == NONE ? 1 : m->depths[parent] + 1;
    }
}

static int by_place(const void *a, const void *b, void *of)
{
    const struct sd_flametree *t = of;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    uint32_t p = t->nodes.items[x].a + 1, q = t->nodes.items[y].a + 1;

    if (p != q)
        return p < q ? -1 : 1;
    if (t->total[x] != t->total[y])
        return t->total[x] > t->total[y] ? -1 : 1;
    return x < y ? -1 : 1; /* the order of first appearance */
}

/* Places of nodes count from 1 here, so that 0 is the whole (NONE + 1). */
static int put_in_order(struct maker *m)
{
    const struct sd_flametree *t = m->t;
    size_t n = t->nodes.n + 1;

    m->order = sd_alloc(n * sizeof *m->order);
    m->first_in_order = sd_alloc(n * sizeof *m->first_in_order);
    m->folded = sd_zalloc(n * sizeof *m->folded);
    m->n_folded = sd_zalloc(n * sizeof *m->n_folded);
    if (!m->order || !m->first_in_order || !m->folded || !m->n_folded)
        return sd_no_memory();
    memset(m->first_in_order, 0xff, n * sizeof *m->first_in_order);
    for (uint32_t i = 0; i < t->nodes.n; i++) {
        uint32_t parent = t->nodes.items[i].a;

        if (is_drawn(m, i)) {
            m->order[m->n_order++] = i;
        } else if (parent == NONE || is_drawn(m, parent)) {
            m->folded[parent + 1] = sd_sum_i64(m->folded[parent + 1], t->total[i]);
            m->n_folded[parent + 1]++;
        } else {
            m->n_left_out++;
        }
    }
    sd_assert(m->n_order <= t->nodes.n);
    qsort_r(m->order, m->n_order, sizeof *m->order, by_place, (void *)t);
    for (uint32_t i = (uint32_t)m->n_order; i-- > 0;)
        m->first_in_order[t->nodes.items[m->order[i]].a + 1] = i;
    return 0;
}

/* --- Words */

static const char *track_words(struct maker *m, uint32_t track)
{
    const struct sd_track *t = &m->t->p->tracks[track];
    const char *name = t->name ? t->name : "";

    if (t->command)
        return sd_arena_printf(m->arena, "process %" PRIu64 ":\"%s\"", t->number,
                               t->command);
    return sd_arena_printf(m->arena, "%s %" PRIu64 "%s%s",
                           t->kind == SD_TRACK_PROCESS ? "process" : "thread",
                           t->number, *name ? " " : "", name);
}

static int name_box(struct maker *m, const struct sd_flame_label *label,
                    struct sd_flame_box *box)
{
    box->kind = label->kind;
    if (!label->name) {
        box->name = track_words(m, label->line);
        return box->name ? 0 : sd_no_memory();
    }
    box->name = sd_arena_string(m->arena, label->name, strlen(label->name));
    if (!box->name)
        return sd_no_memory();
    if (!label->file)
        return 0;
    box->where = label->line
                     ? sd_arena_printf(m->arena, "%s:%u", label->file, label->line)
                     : sd_arena_string(m->arena, label->file, strlen(label->file));
    return box->where ? 0 : sd_no_memory();
}

static const char *folded_words(struct maker *m, uint32_t n, uint32_t depth)
{
    const char *what = n == 1 ? "function" : "functions";

    if (depth >= SD_FLAME_LEVELS)
        return sd_arena_printf(m->arena, "… %u %s deeper than %d calls", n, what,
                               SD_FLAME_LEVELS);
    return sd_arena_printf(m->arena, "… %u %s below %.3g %%", n, what,
                           m->least_percent);
}

/* --- Boxes */

static int add_box(struct maker *m, const struct sd_flame_box *box)
{
    struct sd_flame_box *boxes =
        sd_grow_array(m->boxes, &m->cap_boxes, m->view->n_boxes + 1, sizeof *boxes);

    if (!boxes)
        return sd_no_memory();
    m->boxes = boxes;
    boxes[m->view->n_boxes++] = *box;
    if (box->depth >= m->view->n_levels)
        m->view->n_levels = box->depth + 1;
    return 0;
}

static int add_node(struct maker *m, uint32_t node, uint32_t parent, int64_t from)
{
    const struct sd_flametree *t = m->t;
    struct sd_flame_box box = { .parent = parent,
                                .depth = m->depths[node],
                                .from = from,
                                .total = t->total[node],
                                .self = t->self[node],
                                .idle = t->idle[node],
                                .waited = t->waited[node] };
    int rc = name_box(m, &t->labels[t->nodes.items[node].b], &box);

    sd_assert(node < t->nodes.n);
    return rc < 0 ? rc : add_box(m, &box);
}

/* What a parent's small children come to together is drawn when that is not small. */
static int add_folded(struct maker *m, uint32_t node, uint32_t parent, int64_t from)
{
    uint32_t at = node + 1;
    struct sd_flame_box box = { .parent = parent,
                                .kind = SD_FLAME_FOLDED,
                                .depth = m->boxes[parent].depth + 1,
                                .from = from,
                                .total = m->folded[at] };

    sd_assert(parent < m->view->n_boxes);
    if (m->folded[at] == 0 || m->folded[at] < m->least) {
        m->n_left_out += m->n_folded[at];
        return 0;
    }
    box.name = folded_words(m, m->n_folded[at], box.depth);
    return box.name ? add_box(m, &box) : sd_no_memory();
}

struct step {                 /* a node whose children are being drawn */
    uint32_t node, box, next; /* next: of its children in the order */
    int64_t from;             /* where that one begins */
};

/* Depth first, without recursion: stacks come from strangers.  `steps` has room for
 * one more than the levels. */
static int draw_tree(struct maker *m, struct step *steps)
{
    const struct sd_flametree *t = m->t;
    size_t n = 1;
    int rc = 0;

    steps[0] = (struct step){ NONE, 0, m->first_in_order[0], 0 };
    while (n > 0 && rc == 0) {
        struct step *s = &steps[n - 1];
        uint32_t child = s->next < m->n_order ? m->order[s->next] : NONE;

        if (child == NONE || t->nodes.items[child].a != s->node) {
            rc = add_folded(m, s->node, s->box, s->from);
            n--;
            continue;
        }
        rc = add_node(m, child, s->box, s->from);
        steps[n] = (struct step){ child, (uint32_t)m->view->n_boxes - 1,
                                  m->first_in_order[child + 1], s->from };
        s->from = sd_sum_i64(s->from, t->total[child]);
        s->next++;
        n++;
    }
    return rc;
}

static int draw(struct maker *m)
{
    const struct sd_flametree *t = m->t;
    struct sd_flame_box whole = {
        .name = "all", .kind = SD_FLAME_ALL, .parent = NONE, .total = t->all
    };
    struct step *steps = sd_alloc((SD_FLAME_LEVELS + 1) * sizeof *steps);
    int64_t known = 0;
    int rc = steps ? 0 : sd_no_memory();

    for (size_t i = 0; i < t->nodes.n; i++)
        if (t->nodes.items[i].a == NONE) {
            known = sd_sum_i64(known, t->total[i]);
            whole.idle = sd_sum_i64(whole.idle, t->idle[i]);
        }
    whole.self = t->all - known;
    if (rc == 0)
        rc = add_box(m, &whole);
    if (rc == 0)
        rc = draw_tree(m, steps);
    sd_free(steps);
    if (rc < 0)
        return rc;
    m->view->boxes =
        sd_arena_copy(m->arena, m->boxes, m->view->n_boxes * sizeof *m->boxes);
    return m->view->boxes ? 0 : sd_no_memory();
}

/* --- What was recorded */

/* UINT64_MAX: not said. */
static uint64_t said(const struct sd_profile *p, const char *key)
{
    const char *text = sd_profile_meta(p, key);
    uint64_t n;

    return text && sd_text_parse_number(text, &n) ? n : UINT64_MAX;
}

static void put_count(struct sd_buf *to, const char *before, uint64_t n,
                      const char *after)
{
    char number[SD_TEXT_MAX];

    sd_buf_printf(to, "%s%s%s", before, sd_text_count(number, (int64_t)n), after);
}

static void put_rate(struct sd_buf *to, const struct sd_profile *p)
{
    uint64_t asked = said(p, "sample.asked_per_s");
    uint64_t rounds = said(p, "sample.rounds");
    uint64_t elapsed = said(p, "sample.elapsed_ns");

    if (asked == UINT64_MAX || rounds == UINT64_MAX || elapsed == UINT64_MAX ||
        elapsed == 0)
        return;
    if (p->window.is_set)
        return; /* they count for the whole run */
    sd_buf_printf(to, ", %.4g per second", (double)rounds * 1e9 / (double)elapsed);
}

static void put_losses(struct sd_buf *to, const struct sd_profile *p)
{
    struct sd_sample_account a;
    bool is_settled = sd_account_of(p, &a);
    const struct {
        const char *key, *word;
        uint64_t n;
    } all[] = { { "sample.missed", " missed", a.missed },
                { "sample.lost", " lost", a.lost },
                { "sample.partial", " partial", a.partial },
                { "sample.idle", " idle", a.idle } };
    const char *before = p->window.is_set ? "; in the whole run " : "; ";

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        uint64_t n = said(p, all[i].key);

        if (n == UINT64_MAX)
            continue;
        put_count(to, before, is_settled ? all[i].n : n, all[i].word);
        before = ", ";
    }
}

/* "406.8 ms traced: time of all calls; 30 us of tracing subtracted", "12.5 MiB live at
 * the peak" */
static void put_totals(struct sd_buf *to, const struct sd_flametree *t)
{
    const struct sd_evidence_about *e = &sd_evidence[t->evidence];
    const struct sd_metric *m = &t->p->metrics[t->totals->metrics[t->metric].at];
    struct sd_buf remarks = { 0 };
    char text[SD_TEXT_MAX];

    if (m->unit == SD_UNIT_NANOSECONDS)
        sd_buf_printf(to, "%s %s: %s of all %s", sd_text_duration(text, t->all),
                      e->verb, m->name, e->name);
    else if (m->unit == SD_UNIT_BYTES)
        sd_buf_printf(to, "%s %s", sd_text_bytes(text, t->all), m->meaning);
    else if (t->evidence == SD_ALLOCATIONS)
        sd_buf_printf(to, "%s %s", sd_text_count(text, t->all), m->meaning);
    else
        sd_buf_printf(to, "%s %s %s", sd_text_count(text, t->all), m->name, e->verb);
    if (t->evidence == SD_CALLS)
        sd_call_counts_caption(&remarks, t->p, t->request->stacks.is_raw);
    if (remarks.n > 0)
        sd_buf_printf(to, "; %s", sd_buf_string(&remarks));
    to->bad |= remarks.bad;
    sd_buf_release(&remarks);
}

static void put_subtitle(struct sd_buf *to, const struct sd_flametree *t)
{
    const struct sd_metric *metric;
    char text[SD_TEXT_MAX];
    uint64_t n_idle;

    if (t->metric == NONE) {
        sd_buf_printf(to, "nothing was %s", sd_evidence[t->evidence].verb);
        return;
    }
    if (t->evidence != SD_SAMPLES) {
        put_totals(to, t);
        return;
    }
    metric = &t->p->metrics[t->totals->metrics[t->metric].at];
    if (metric->unit == SD_UNIT_NANOSECONDS)
        sd_buf_printf(to, "%s of %s time", sd_text_duration(text, t->all),
                      metric->name);
    else if (metric->unit == SD_UNIT_BYTES)
        sd_buf_printf(to, "%s of %s", sd_text_bytes(text, t->all), metric->name);
    else
        put_count(to, "", (uint64_t)t->all, " samples");
    if (t->p->run_end_ns)
        sd_buf_printf(to, " in %s",
                      sd_text_duration(text, (int64_t)(t->p->window.is_set
                                                           ? t->p->window.to_ns -
                                                                 t->p->window.from_ns
                                                           : t->p->run_end_ns)));
    put_rate(to, t->p);
    if (t->request->stacks.choice.is_gil_only)
        sd_buf_text(to, ", only those that held the interpreter's lock");
    put_losses(to, t->p);
    n_idle = said(t->p, "sample.idle");
    if (!t->request->stacks.choice.has_idle && n_idle > 0 && n_idle != UINT64_MAX)
        sd_buf_text(to, " (idle ones are not shown)");
}

static const char *in_arena(struct maker *m, struct sd_buf *text)
{
    const char *copy =
        text->bad ? NULL : sd_arena_string(m->arena, sd_buf_string(text), text->n);

    sd_buf_release(text);
    return copy;
}

static int say(struct maker *m)
{
    const struct sd_profile *p = m->t->p;
    const char *command = sd_profile_meta(p, "command");
    struct sd_buf text = { 0 };
    char number[SD_TEXT_MAX];

    if (!command)
        command = "sonde";
    m->view->title = sd_arena_string(m->arena, command, strlen(command));
    put_subtitle(&text, m->t);
    m->view->subtitle = in_arena(m, &text);
    if (m->n_left_out)
        m->view->note = sd_arena_printf(
            m->arena, "%s smaller boxes, each below %.3g %%, are not drawn",
            sd_text_count(number, (int64_t)m->n_left_out), m->least_percent);
    return m->view->title && m->view->subtitle && (!m->n_left_out || m->view->note)
               ? 0
               : sd_no_memory();
}

static void choose_unit(struct maker *m)
{
    const struct sd_profile *p = m->t->p;
    enum sd_unit unit = m->t->metric == NONE
                            ? SD_UNIT_COUNT
                            : p->metrics[m->t->totals->metrics[m->t->metric].at].unit;

    m->view->kind = unit == SD_UNIT_NANOSECONDS ? SD_CELL_NS
                    : unit == SD_UNIT_BYTES     ? SD_CELL_BYTES
                                                : SD_CELL_COUNT;
    m->view->search = m->t->request->search;
    m->view->unit =
        m->view->kind != SD_CELL_COUNT ? NULL : sd_evidence[m->t->evidence].name;
}

int sd_analyse_flame(const struct sd_profile *p, const struct sd_view_request *request,
                     struct sd_arena *a, struct sd_view_flame *out)
{
    struct sd_flametree t;
    struct maker m = { .t = &t, .arena = a, .view = out };
    int rc = sd_flametree_make(p, request, &t);

    *out = (struct sd_view_flame){ 0 };
    if (rc < 0)
        return rc;
    m.depths = sd_alloc((t.nodes.n + 1) * sizeof *m.depths);
    rc = m.depths ? 0 : sd_no_memory();
    if (rc == 0) {
        find_depths(&m);
        choose_unit(&m);
        choose_least(&m, request->least_percent > 0 ? request->least_percent
                                                    : SD_FLAME_LEAST);
        rc = put_in_order(&m);
    }
    if (rc == 0)
        rc = draw(&m);
    if (rc == 0)
        rc = say(&m);
    sd_free(m.boxes);
    sd_free(m.depths);
    sd_free(m.order);
    sd_free(m.first_in_order);
    sd_free(m.folded);
    sd_free(m.n_folded);
    sd_flametree_release(&t);
    return rc;
}
