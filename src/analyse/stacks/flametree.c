/* SPDX-License-Identifier: MIT */
#include "analyse/stacks/flametree.h"

#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"

enum { NONE = UINT32_MAX };

/* Needed only while the tree is made. */
struct maker {
    struct sd_flametree *t;
    struct sd_arena arena;
    struct sd_intern keys;    /* label_key */
    struct sd_intern files;   /* short files: ends of interned texts, equal by bytes */
    uint32_t *label_of_stack; /* owned */
    struct sd_triples places; /* first node, stack, 0 */
    uint32_t *node_at;        /* owned; by place */
    size_t cap_places;
    uint32_t *path; /* owned; stacks from the newest out */
    size_t cap_path;
};

/* --- Labels */

struct label_key {
    const char *name, *file;
    uint64_t line, kind;
};

enum sd_flame_kind sd_flametree_kind_of(const struct sd_site *s)
{
    if (s->is_native)
        return SD_FLAME_NATIVE;
    if (!s->file)
        return *s->name == '[' ? SD_FLAME_MARK : SD_FLAME_OWN;
    return sd_site_is_library(s) ? SD_FLAME_LIBRARY : SD_FLAME_OWN;
}

static int label_id(struct maker *m, const struct sd_flame_label *label, uint32_t *id)
{
    struct label_key key = { label->name, label->file, label->line, label->kind };
    struct sd_flame_label *labels;
    uint32_t file;
    int rc = 0;

    if (key.file) {
        rc = sd_intern(&m->files, key.file, strlen(key.file), &file);
        if (rc == 0)
            key.file = m->files.items[file].p;
    }
    if (rc == 0)
        rc = sd_intern(&m->keys, &key, sizeof key, id);
    if (rc < 0 || *id < m->t->n_labels)
        return rc;
    labels = sd_grow_array(m->t->labels, &m->t->cap_labels, m->t->n_labels + 1,
                           sizeof *labels);
    if (!labels)
        return sd_no_memory();
    m->t->labels = labels;
    sd_assert(*id == m->t->n_labels);
    labels[m->t->n_labels++] = *label;
    return 0;
}

static int label_stacks(struct maker *m)
{
    const struct sd_profile *p = m->t->p;
    const struct sd_view_request *request = m->t->request;
    int rc = 0;

    m->label_of_stack = sd_alloc((p->n_stacks + 1) * sizeof *m->label_of_stack);
    if (!m->label_of_stack)
        return sd_no_memory();
    for (size_t i = 0; i < p->n_stacks && rc == 0; i++) {
        const struct sd_stack *s = &p->stacks[i];
        const struct sd_site *site = &p->sites[s->site.at];
        uint32_t line = request->stacks.by == SD_CALLS_BY_LINE ? s->line : site->line;
        struct sd_flame_label label = {
            site->name, request->has_full_files ? site->file : sd_site_short_file(site),
            request->has_no_lines ? 0 : line, sd_flametree_kind_of(site)
        };

        rc = label_id(m, &label, &m->label_of_stack[i]);
    }
    return rc;
}

/* --- Nodes */

static int grow_amounts(struct sd_flametree *t)
{
    int64_t **all[] = { &t->self, &t->total, &t->idle, &t->waited };

    sd_assert(t->nodes.cap >= t->nodes.n && t->nodes.cap > t->cap_amounts);
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        int64_t *grown = sd_regrow(*all[k], t->nodes.cap * sizeof *grown);

        if (!grown)
            return sd_no_memory();
        memset(grown + t->cap_amounts, 0,
               (t->nodes.cap - t->cap_amounts) * sizeof *grown);
        *all[k] = grown;
    }
    t->cap_amounts = t->nodes.cap;
    return 0;
}

static int add_node(struct maker *m, uint32_t parent, uint32_t label, uint32_t *id)
{
    struct sd_triple key = { parent, label, 0 };
    int rc = sd_triples_add(&m->t->nodes, key, id);

    if (rc < 0 || *id < m->t->cap_amounts)
        return rc;
    return grow_amounts(m->t);
}

static int add_track(struct maker *m, sd_track_id track, uint32_t *node)
{
    bool is_process = m->t->p->tracks[track.at].kind == SD_TRACK_PROCESS;
    struct sd_flame_label label = { NULL, NULL, track.at,
                                    is_process ? SD_FLAME_PROCESS : SD_FLAME_THREAD };
    uint32_t id;
    int rc = label_id(m, &label, &id);

    return rc < 0 ? rc : add_node(m, *node, id, node);
}

/* The nodes that stand before the first frame: process, thread. */
static int first_node(struct maker *m, sd_track_id track, uint32_t *node)
{
    const struct sd_view_request *request = m->t->request;
    sd_track_id process = sd_profile_process_of(m->t->p, track);
    bool has_process = request->has_process_boxes && process.at != NONE;
    int rc = 0;

    *node = NONE;
    if (has_process)
        rc = add_track(m, process, node);
    if (rc == 0 && request->has_thread_boxes &&
        !(has_process && process.at == track.at))
        rc = add_track(m, track, node);
    return rc;
}

static int set_place(struct maker *m, uint32_t first, uint32_t stack, uint32_t node)
{
    struct sd_triple key = { first, stack, 0 };
    uint32_t at, *node_at;
    int rc = sd_triples_add(&m->places, key, &at);

    if (rc < 0)
        return rc;
    node_at = sd_grow_array(m->node_at, &m->cap_places, m->places.n, sizeof *node_at);
    if (!node_at)
        return sd_no_memory();
    m->node_at = node_at;
    sd_assert(at < m->cap_places);
    node_at[at] = node;
    return 0;
}

static bool is_folded(const struct maker *m, uint32_t stack)
{
    const struct sd_profile *p = m->t->p;

    return m->t->request->stacks.choice.is_mine &&
           sd_site_is_library(&p->sites[p->stacks[stack].site.at]);
}

/* Makes the nodes of a stack: out to the first frame that has one, then back in. */
static int place(struct maker *m, uint32_t first, uint32_t stack, uint32_t *node)
{
    size_t depth = 0;
    int rc = 0;

    *node = first;
    for (uint32_t at = stack; at != NONE; at = m->t->p->stacks[at].parent.at) {
        uint32_t known =
            sd_triples_find(&m->places, (struct sd_triple){ first, at, 0 });
        uint32_t *path;

        if (known != NONE) {
            *node = m->node_at[known];
            break;
        }
        path = sd_grow_array(m->path, &m->cap_path, depth + 1, sizeof *path);
        if (!path)
            return sd_no_memory();
        m->path = path;
        path[depth++] = at;
    }
    while (depth-- > 0 && rc == 0) {
        if (*node == first || !is_folded(m, m->path[depth]))
            rc = add_node(m, *node, m->label_of_stack[m->path[depth]], node);
        if (rc == 0)
            rc = set_place(m, first, m->path[depth], *node);
    }
    return rc;
}

static int add_idle(struct maker *m, uint32_t *node)
{
    const struct sd_flame_label label = { "[idle]", NULL, 0, SD_FLAME_IDLE };
    uint32_t id;
    int rc = label_id(m, &label, &id);

    return rc < 0 ? rc : add_node(m, *node, id, node);
}

/* --- Amounts */

static int64_t amount_of(const struct sd_flametree *t, size_t i)
{
    int64_t amount = t->totals->values[t->metric][i];

    return t->tracing == NONE ? amount
                              : sd_sum_i64(amount, t->totals->values[t->tracing][i]);
}

static int add_samples(struct maker *m)
{
    struct sd_flametree *t = m->t;
    int rc = 0;

    for (size_t i = 0; i < t->totals->n && rc == 0; i++) {
        const struct sd_sample_total *s = &t->totals->items[i];
        int64_t amount = amount_of(t, i);
        uint32_t node = NONE, first;

        if (!sd_sample_choice_takes(&t->request->stacks.choice, s))
            continue;
        t->all = sd_sum_i64(t->all, amount);
        rc = first_node(m, s->track, &first);
        if (rc == 0)
            rc = place(m, first, s->stack.at, &node);
        if (rc == 0 && node != NONE && (s->flags & SD_SAMPLE_IDLE)) {
            t->waited[node] = sd_sum_i64(t->waited[node], amount);
            rc = add_idle(m, &node);
        }
        if (rc < 0 || node == NONE)
            continue;
        t->self[node] = sd_sum_i64(t->self[node], amount);
        if (s->flags & SD_SAMPLE_IDLE)
            t->idle[node] = sd_sum_i64(t->idle[node], amount);
    }
    return rc;
}

static void sum_up(struct sd_flametree *t)
{
    for (size_t i = t->nodes.n; i-- > 0;) {
        uint32_t parent = t->nodes.items[i].a;
        sd_assert(parent == NONE || parent < i);

        t->total[i] = sd_sum_i64(t->total[i], t->self[i]);
        if (parent == NONE)
            continue;
        t->total[parent] = sd_sum_i64(t->total[parent], t->total[i]);
        t->idle[parent] = sd_sum_i64(t->idle[parent], t->idle[i]);
    }
}

static int choose_metric(struct sd_flametree *t)
{
    const char *name = t->request->stacks.choice.metric;

    t->evidence = sd_sample_choice_evidence(t->p, &t->request->stacks.choice);
    t->totals = &t->p->evidence[t->evidence].stacks;
    if (!name)
        name = sd_evidence_metric(t->p, t->evidence);
    t->metric = sd_totals_metric(t->p, t->totals, name);
    if (t->metric == NONE && t->totals->n > 0)
        return sd_calltree_refuse_metric(t->p, t->evidence, name);
    sd_assert(t->metric == NONE || t->metric < t->totals->n_metrics);
    t->tracing = NONE;
    if (t->request->stacks.is_raw &&
        (strcmp(name, "time") == 0 || strcmp(name, "cpu_time") == 0))
        t->tracing = sd_totals_metric(t->p, t->totals, "tracing");
    return 0;
}

int sd_flametree_make(const struct sd_profile *p, const struct sd_view_request *request,
                      struct sd_flametree *out)
{
    struct maker m = { .t = out };
    int rc;

    *out = (struct sd_flametree){ .p = p, .request = request };
    m.keys.arena = m.files.arena = &m.arena;
    rc = choose_metric(out);
    if (rc == 0)
        rc = label_stacks(&m);
    if (rc == 0)
        rc = add_samples(&m);
    if (rc == 0)
        sum_up(out);
    sd_intern_release(&m.keys);
    sd_intern_release(&m.files);
    sd_arena_release(&m.arena);
    sd_free(m.label_of_stack);
    sd_triples_release(&m.places);
    sd_free(m.node_at);
    sd_free(m.path);
    if (rc < 0)
        sd_flametree_release(out);
    return rc;
}

void sd_flametree_release(struct sd_flametree *t)
{
    sd_free(t->labels);
    sd_triples_release(&t->nodes);
    sd_free(t->self);
    sd_free(t->total);
    sd_free(t->idle);
    sd_free(t->waited);
    *t = (struct sd_flametree){ 0 };
}
