/* SPDX-License-Identifier: MIT */
#include "analyse/stacks/calltree.h"

#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"
#include "profile/triples.h"

enum { NONE = UINT32_MAX };
enum { ITSELF = 1, BELOW = 2 }; /* a stack, or what stands on it, was counted */

enum sd_evidence sd_sample_choice_evidence(const struct sd_profile *p,
                                           const struct sd_sample_choice *choice)
{
    if (!choice->evidence)
        return sd_profile_evidence(p, choice->metric);
    sd_assert(choice->evidence->shape == SD_OF_STACKS);
    return (enum sd_evidence)(choice->evidence - sd_evidence);
}

bool sd_sample_choice_takes(const struct sd_sample_choice *choice,
                            const struct sd_sample_total *t)
{
    if ((t->flags & SD_SAMPLE_IDLE) && !choice->has_idle)
        return false;
    if (choice->is_gil_only && !(t->flags & SD_SAMPLE_GIL))
        return false;
    return !choice->has_track || t->track.at == choice->track.at;
}

/* --- Functions */

/* Texts of a profile are interned: equal ones are the same pointer. */
struct function_key {
    const char *name, *file;
    uint64_t line; /* and which of several twins, in the upper half */
};

struct maker {
    struct sd_calltree *t;
    const struct sd_profile *p;
    enum sd_calls_by by;
    struct sd_arena arena;
    struct sd_intern functions; /* function_key */
    uint32_t *function_of;      /* by site; the place of its function, from 1 on; 0:
                                   not asked for yet */
    struct sd_triples callees;  /* function, line, 0 */
    struct sd_triples nodes;    /* parent, callee, 0 */
    uint32_t *node_of;          /* by stack */
    bool *is_part;              /* by stack: of its caller's node */
    bool is_mine, has_twins;
    size_t cap_callees;
};

/* C functions are not told apart by where they stand; what stands for lost names is. */
static const char *module_of_fileless(const struct sd_site *s)
{
    return s->is_native && !s->is_beyond ? "built-in" : s->name;
}

/* A signature is its function's. */
static uint16_t twin_of(const struct sd_profile *p, uint32_t site)
{
    return p->sites[sd_profile_function_of(p, (sd_site_id){ site }).at].twin;
}

/* Only those that are in a stack that counts are asked for. */
static int function_of(struct maker *m, uint32_t site, uint32_t *id)
{
    const struct sd_site *s = &m->p->sites[site];
    struct function_key key = { s->name, s->file, s->line };
    int rc = 0;

    sd_assert(site < m->p->n_sites);
    if (m->has_twins)
        key.line |= (uint64_t)twin_of(m->p, site) << 32;
    if (m->by == SD_CALLS_BY_MODULE)
        key =
            (struct function_key){ s->file ? NULL : module_of_fileless(s), s->file, 0 };
    if (m->function_of[site] == 0) {
        rc = sd_intern(&m->functions, &key, sizeof key, id);
        m->function_of[site] = *id + 1;
    }
    *id = m->function_of[site] - 1;
    return rc;
}

static int add_callee(struct maker *m, struct sd_triple key, struct sd_callee callee,
                      uint32_t *id)
{
    struct sd_callee *callees;
    int rc = sd_triples_add(&m->callees, key, id);

    if (rc < 0 || *id < m->t->n_callees)
        return rc;
    callees =
        sd_grow_array(m->t->callees, &m->cap_callees, (size_t)*id + 1, sizeof *callees);
    if (!callees)
        return sd_no_memory();
    m->t->callees = callees;
    sd_assert(*id == m->t->n_callees);
    callees[m->t->n_callees++] = callee;
    return 0;
}

static int callee_of(struct maker *m, const struct sd_stack *s, uint32_t *id)
{
    uint32_t line = m->by == SD_CALLS_BY_LINE ? s->line : 0;
    struct sd_triple key = { 0, line, 0 };
    int rc = function_of(m, s->site.at, &key.a);

    return rc < 0 ? rc
                  : add_callee(m, key,
                               (struct sd_callee){ .site = s->site, .line = line }, id);
}

/* --- Nodes */

/* Sonde's own start is nothing that the program did. */
static bool is_startup(const struct maker *m, uint32_t stack)
{
    return stack != NONE && m->t->imports.is_startup && m->t->imports.is_startup[stack];
}

static bool is_counted(const struct maker *m, const struct sd_sample_choice *choice,
                       const struct sd_sample_total *t)
{
    return sd_sample_choice_takes(choice, t) && !is_startup(m, t->stack.at);
}

/* Only stacks under a chosen sample get a node: marked from leaves to roots. */
static uint8_t *mark_stacks(const struct maker *m,
                            const struct sd_sample_choice *choice)
{
    const struct sd_profile *p = m->p;
    const struct sd_stack_totals *t = m->t->totals;
    uint8_t *is_in = sd_zalloc(p->n_stacks + 1);

    for (size_t i = 0; is_in && i < t->n; i++)
        if (t->items[i].stack.at != NONE && is_counted(m, choice, &t->items[i]))
            is_in[t->items[i].stack.at] = ITSELF;
    for (size_t i = p->n_stacks; is_in && i-- > 0;)
        if (is_in[i] && p->stacks[i].parent.at != NONE)
            is_in[p->stacks[i].parent.at] |= BELOW;
    return is_in;
}

/* All frames of an import are one node below its importer's; of them only the module's
 * body counts as a call. */
static int find_import(struct maker *m, size_t i)
{
    const struct sd_import_rows *imports = &m->t->imports;
    const struct sd_import_row *row = &imports->rows[imports->row_of[i]];
    uint32_t importer = imports->importer[i];
    struct sd_triple key = { importer == NONE ? NONE : m->node_of[importer], 0, 0 };
    int rc =
        add_callee(m, (struct sd_triple){ imports->row_of[i], 0, 1 },
                   (struct sd_callee){ row->importer, row->line, row->name }, &key.b);

    sd_assert(imports->row_of[i] < imports->n && (importer == NONE || importer < i));
    m->is_part[i] = !imports->is_body[i];
    return rc < 0 ? rc : sd_triples_add(&m->nodes, key, &m->node_of[i]);
}

/* A frame that is folded is no node of its own, but part of the one that called it. */
static int find_node(struct maker *m, size_t i)
{
    const struct sd_stack *s = &m->p->stacks[i];
    struct sd_triple key = { NONE, 0, 0 };
    int rc = 0;

    sd_assert(s->parent.at == NONE || s->parent.at < i); /* it has its node */
    if (s->parent.at != NONE)
        key.a = m->node_of[s->parent.at];
    m->is_part[i] =
        key.a != NONE && (is_startup(m, (uint32_t)i) ||
                          (m->is_mine && sd_site_is_library(&m->p->sites[s->site.at])));
    if (!m->is_part[i])
        rc = callee_of(m, s, &key.b);
    if (rc < 0)
        return rc;
    if (key.a != NONE && m->by == SD_CALLS_BY_MODULE)
        m->is_part[i] |= m->nodes.items[key.a].b == key.b;
    if (!m->is_part[i])
        return sd_triples_add(&m->nodes, key, &m->node_of[i]);
    m->node_of[i] = key.a;
    return 0;
}

static int find_nodes(struct maker *m, const uint8_t *is_in)
{
    const struct sd_profile *p = m->p;
    int rc = 0;

    m->node_of = sd_alloc((p->n_stacks + 1) * sizeof *m->node_of);
    m->is_part = sd_zalloc(p->n_stacks + 1);
    if (!m->node_of || !m->is_part)
        return sd_no_memory();
    for (size_t i = 0; i < p->n_stacks && rc == 0; i++) {
        m->node_of[i] = NONE;
        if (m->t->imports.row_of && m->t->imports.row_of[i] != NONE)
            rc = is_in[i] & ITSELF ? find_import(m, i) : 0;
        else if (is_in[i])
            rc = find_node(m, i);
    }
    return rc;
}

/* --- Pairs */

static int find_pair(struct maker *m, const struct sd_pair_total *total,
                     struct sd_callee_pair *pair)
{
    struct sd_stack frame = { .parent = SD_NO_STACK, .site = { total->callee } };
    int rc = callee_of(m, &frame, &pair->callee);

    pair->caller = NONE;
    pair->total = total;
    if (rc < 0 || total->caller == NONE)
        return rc;
    frame.site.at = total->caller;
    return callee_of(m, &frame, &pair->caller);
}

/* The same of a pair, whose path is not known: a function of Sonde's own, or what one
 * calls itself. */
static bool is_startup_pair(const struct maker *m, const struct sd_pair_total *total)
{
    const uint32_t sites[] = { total->callee, total->caller };

    for (size_t i = 0; m->t->imports.is_startup && i < 2 && sites[i] != NONE; i++) {
        const struct sd_site *s =
            &m->p->sites[sd_profile_function_of(m->p, (sd_site_id){ sites[i] }).at];
        enum sd_import_part part = s->name && !s->is_native
                                       ? sd_import_part_of(s->name, s->file)
                                       : SD_IMPORT_NO_PART;

        if (part == SD_IMPORT_STARTUP)
            return true;
        if (part == SD_IMPORT_BODY)
            return false; /* the sitecustomize that it hid */
    }
    return false;
}

static int find_pairs(struct maker *m, const struct sd_sample_choice *choice)
{
    const struct sd_pair_totals *all = &m->p->pairs;
    struct sd_calltree *t = m->t;
    int rc = 0;

    if (!choice->has_pairs)
        return 0;
    t->pairs = sd_alloc((all->n + 1) * sizeof *t->pairs);
    if (!t->pairs)
        return sd_no_memory();
    for (size_t i = 0; i < all->n && rc == 0; i++)
        if ((!choice->has_track || all->items[i].track == choice->track.at) &&
            !is_startup_pair(m, &all->items[i]))
            rc = find_pair(m, &all->items[i], &t->pairs[t->n_pairs++]);
    sd_assert(t->n_pairs <= all->n);
    return rc;
}

/* Children are linked last first, so that they come out in order of appearance. */
static int link_nodes(struct maker *m)
{
    struct sd_calltree *t = m->t;

    t->n_nodes = m->nodes.n;
    t->first_root = NONE;
    t->nodes = sd_alloc((t->n_nodes + 1) * sizeof *t->nodes);
    if (!t->nodes)
        return sd_no_memory();
    for (size_t i = 0; i < t->n_nodes; i++)
        t->nodes[i] = (struct sd_call_node){ m->nodes.items[i].a, m->nodes.items[i].b,
                                             NONE, NONE };
    for (size_t i = t->n_nodes; i-- > 0;) {
        uint32_t parent = t->nodes[i].parent;
        uint32_t *first =
            parent == NONE ? &t->first_root : &t->nodes[parent].first_child;

        t->nodes[i].next = *first;
        *first = (uint32_t)i;
    }
    return 0;
}

/* --- Amounts */

static void add_row(int64_t *into, const int64_t *row, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        into[k] = sd_sum_i64(into[k], row[k]);
}

static int make_rows(struct sd_calltree *t)
{
    size_t row = (t->n_metrics ? t->n_metrics : 1) * sizeof(int64_t);

    t->self = sd_zalloc((t->n_nodes + 1) * row);
    t->total = sd_zalloc((t->n_nodes + 1) * row);
    t->callee_self = sd_zalloc((t->n_callees + 1) * row);
    t->callee_total = sd_zalloc((t->n_callees + 1) * row);
    return t->self && t->total && t->callee_self && t->callee_total ? 0
                                                                    : sd_no_memory();
}

/* What is folded gives its time to its caller; it is no call of that one. */
static void forget_counts(const struct sd_calltree *t, int64_t *row)
{
    static const char *const counts[] = { "calls", "starts" };

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        uint32_t k = sd_totals_metric(t->p, t->totals, counts[i]);

        if (k != NONE)
            row[k] = 0;
    }
}

static void add_samples(struct maker *m, const struct sd_sample_choice *choice)
{
    struct sd_calltree *t = m->t;

    for (size_t i = 0; i < t->totals->n; i++) {
        const struct sd_sample_total *s = &t->totals->items[i];
        int64_t row[SD_SAMPLE_METRICS];

        if (!sd_sample_choice_takes(choice, s))
            continue;
        for (uint32_t k = 0; k < t->n_metrics; k++)
            row[k] = t->totals->values[k][i];
        if (is_startup(m, s->stack.at)) {
            add_row(t->startup, row, t->n_metrics);
            continue;
        }
        if (s->stack.at != NONE && m->is_part[s->stack.at])
            forget_counts(t, row);
        add_row(t->all, row, t->n_metrics);
        if (s->stack.at != NONE)
            add_row(t->self + (size_t)m->node_of[s->stack.at] * t->n_metrics, row,
                    t->n_metrics);
    }
}

static void sum_up(struct sd_calltree *t)
{
    uint32_t n = t->n_metrics;

    for (size_t i = t->n_nodes; i-- > 0;) {
        const struct sd_call_node *node = &t->nodes[i];
        sd_assert(node->callee < t->n_callees &&
                  (node->parent == NONE || node->parent < i));

        add_row(t->total + i * n, t->self + i * n, n);
        add_row(t->callee_self + (size_t)node->callee * n, t->self + i * n, n);
        if (node->parent != NONE)
            add_row(t->total + (size_t)node->parent * n, t->total + i * n, n);
    }
}

uint32_t sd_calltree_next(const struct sd_calltree *t, uint32_t node, uint32_t *n_left)
{
    sd_assert(node < t->n_nodes);
    *n_left = 0;
    if (t->nodes[node].first_child != NONE)
        return t->nodes[node].first_child;
    while (node != NONE) {
        (*n_left)++;
        if (t->nodes[node].next != NONE)
            return t->nodes[node].next;
        node = t->nodes[node].parent;
    }
    return NONE;
}

/* A function that calls itself has its inner calls in the outer one's total already, so
 * only the outermost of each path counts. */
static int sum_callees(struct sd_calltree *t)
{
    uint32_t *open = sd_zalloc((t->n_callees + 1) * sizeof *open);
    uint32_t at = t->first_root, n_left, next;

    if (!open)
        return sd_no_memory();
    for (; at != NONE; at = next) {
        uint32_t callee = t->nodes[at].callee;

        if (open[callee]++ == 0)
            add_row(t->callee_total + (size_t)callee * t->n_metrics,
                    t->total + (size_t)at * t->n_metrics, t->n_metrics);
        next = sd_calltree_next(t, at, &n_left);
        for (; n_left > 0; n_left--, at = t->nodes[at].parent)
            open[t->nodes[at].callee]--;
    }
    for (size_t i = 0; i < t->n_callees; i++)
        sd_assert_slow(open[i] == 0); /* what was entered was left */
    sd_free(open);
    return 0;
}

void sd_calltree_put_metrics(struct sd_buf *to, const struct sd_profile *p,
                             enum sd_evidence e)
{
    const struct sd_stack_totals *t = &p->evidence[e].stacks;

    for (uint32_t i = 0; i < t->n_metrics; i++)
        sd_buf_printf(to, "%s%s", i ? ", " : "", p->metrics[t->metrics[i].at].name);
}

int sd_calltree_refuse_metric(const struct sd_profile *p, enum sd_evidence e,
                              const char *name)
{
    struct sd_buf words = { 0 };
    int rc;

    sd_calltree_put_metrics(&words, p, e);
    rc = sd_fail(SD_EUSAGE, "%s have no metric \"%s\"; the metrics of %s are %s",
                 sd_evidence[e].name, name, sd_evidence[e].name, sd_buf_string(&words));
    sd_buf_release(&words);
    return rc;
}

static int choose_metric(struct sd_calltree *t, const char *name)
{
    const char *wanted = name ? name : sd_evidence_metric(t->p, t->evidence);
    uint32_t samples = sd_totals_metric(t->p, t->totals, "samples");

    t->metric = sd_totals_metric(t->p, t->totals, wanted);
    if (t->metric == NONE && name && t->n_metrics > 0)
        return sd_calltree_refuse_metric(t->p, t->evidence, name);
    if (t->metric == NONE)
        t->metric = 0;
    t->n_samples = samples == NONE ? 0 : t->all[samples];
    return 0;
}

static int make(struct maker *m, const struct sd_sample_choice *choice)
{
    bool has_imports = choice->folds_imports && !choice->is_mine;
    uint8_t *is_in = NULL;
    int rc = sd_import_rows_make(m->p, has_imports && m->by == SD_CALLS_BY_FUNCTION,
                                 &m->t->imports);

    if (rc < 0)
        return rc;
    is_in = mark_stacks(m, choice);
    m->function_of = sd_zalloc((m->p->n_sites + 1) * sizeof *m->function_of);
    rc = is_in && m->function_of ? find_nodes(m, is_in) : sd_no_memory();
    if (rc == 0)
        rc = find_pairs(m, choice);
    if (rc == 0)
        rc = link_nodes(m);
    if (rc == 0)
        rc = make_rows(m->t);
    if (rc == 0) {
        add_samples(m, choice);
        sum_up(m->t);
        rc = sum_callees(m->t);
    }
    sd_free(is_in);
    return rc;
}

int sd_calltree_make(const struct sd_profile *p, const struct sd_sample_choice *choice,
                     enum sd_calls_by by, struct sd_calltree *out)
{
    struct maker m = { .t = out, .p = p, .by = by, .is_mine = choice->is_mine };
    enum sd_evidence evidence = sd_sample_choice_evidence(p, choice);
    int rc;

    *out = (struct sd_calltree){
        .p = p, .by = by, .evidence = evidence, .totals = &p->evidence[evidence].stacks
    };
    out->n_metrics = out->totals->n_metrics;
    sd_assert(out->n_metrics <= SD_SAMPLE_METRICS);
    m.functions.arena = &m.arena;
    m.has_twins = choice->has_twins;
    rc = make(&m, choice);
    if (rc == 0)
        rc = choose_metric(out, choice->metric);
    sd_intern_release(&m.functions);
    sd_arena_release(&m.arena);
    sd_free(m.function_of);
    sd_free(m.node_of);
    sd_free(m.is_part);
    sd_triples_release(&m.callees);
    sd_triples_release(&m.nodes);
    if (rc < 0)
        sd_calltree_release(out);
    return rc;
}

/* A file of the standard library or of an installed package is known by its path from
 * there, any other by its last part. */
void sd_callee_module(struct sd_buf *to, const struct sd_site *s)
{
    const char *file = s->file ? sd_site_short_file(s) : module_of_fileless(s);
    size_t n = strlen(file);

    if (s->is_native || *file == '<' || *file == '[') {
        bool is_frozen = n > 9 && strncmp(file, "<frozen ", 8) == 0;

        sd_buf_add(to, is_frozen ? file + 8 : file, is_frozen ? n - 9 : n);
        return;
    }
    if (n > 3 && strcmp(file + n - 3, ".py") == 0)
        n -= 3;
    if (n > 9 && strncmp(file + n - 9, "/__init__", 9) == 0)
        n -= 9;
    for (size_t i = 0; i < n; i++)
        sd_buf_u8(to, file[i] == '/' && i > 0 ? '.' : (uint8_t)file[i]);
}

const char *sd_callee_name(struct sd_arena *a, const struct sd_site *s,
                           enum sd_calls_by by)
{
    struct sd_buf module = { 0 };
    const char *name;

    if (by != SD_CALLS_BY_MODULE)
        return sd_arena_string(a, s->name, strlen(s->name));
    sd_callee_module(&module, s);
    name = module.bad ? NULL : sd_arena_string(a, (const char *)module.p, module.n);
    sd_buf_release(&module);
    return name;
}

int sd_callee_match_site(const struct sd_site *s, const struct sd_matcher *match,
                         struct sd_buf *label)
{
    int rc = sd_matcher_find(match, s->name);

    if (rc != 0 || !s->file)
        return rc;
    sd_buf_clear(label);
    sd_buf_printf(label, "%s:%u(%s)", s->file, s->line, s->name);
    if (label->bad)
        return sd_no_memory();
    rc = sd_matcher_find(match, s->file);
    return rc != 0 ? rc : sd_matcher_find(match, sd_buf_string(label));
}

int sd_callees_match(const struct sd_calltree *t, const struct sd_matcher *match,
                     bool **out)
{
    struct sd_buf label = { 0 };
    int rc = 0;

    *out = match ? sd_zalloc(t->n_callees + 1) : NULL;
    if (match && !*out)
        return sd_no_memory();
    for (size_t i = 0; match && i < t->n_callees && rc >= 0; i++) {
        rc = sd_callee_match_site(&t->p->sites[t->callees[i].site.at], match, &label);
        (*out)[i] = rc > 0;
    }
    sd_buf_release(&label);
    if (rc >= 0)
        return 0;
    sd_free(*out);
    *out = NULL;
    return rc;
}

void sd_calltree_release(struct sd_calltree *t)
{
    sd_free(t->callees);
    sd_free(t->pairs);
    sd_free(t->nodes);
    sd_free(t->self);
    sd_free(t->total);
    sd_free(t->callee_self);
    sd_free(t->callee_total);
    sd_import_rows_release(&t->imports);
    *t = (struct sd_calltree){ 0 };
}

double sd_calltree_share(const struct sd_calltree *t, const int64_t *amounts)
{
    sd_assert(t->n_metrics == 0 || t->metric < t->n_metrics);
    if (t->n_metrics == 0 || t->all[t->metric] <= 0)
        return 0;
    return 100.0 * (double)amounts[t->metric] / (double)t->all[t->metric];
}
