/* SPDX-License-Identifier: MIT */
/* py_profile_stats: converts what a Profile has counted to Python objects.
 *
 * Making an object may run a collection of garbage, hence any code, hence calls that
 * are counted while we read.  So the trees are copied first, and the functions held. */
#include "ext/calls/py_profile.h"

#include <string.h>

#include "analyse/stacks/call_stacks.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/memory/memory_capture.h"
#include "collect/calls/pairs.h"
#include "profile/call_nodes.h"

struct numbers {           /* all zero is a released one */
    struct sd_node *nodes; /* of all trees asked for; owned */
    size_t n_nodes;
    struct sd_calls_below *below; /* of those that are beyond a tree; owned */
    uint32_t n_below;
    struct sd_pair *pairs; /* of calls beyond the trees; owned */
    size_t n_pairs;
    PyObject **functions; /* code objects and names; owned, with a reference each */
    PyObject **texts;     /* of those that are signatures, or NULL; owned, as above */
    size_t n_functions, cap, cap_texts;
    struct sd_table by_key; /* a function's number */
    struct sd_calls sums;
    double seconds; /* of a tick */
};

static void release(struct numbers *m)
{
    for (size_t i = 0; i < m->n_functions; i++) {
        Py_XDECREF(m->functions[i]);
        Py_XDECREF(m->texts[i]);
    }
    sd_free(m->functions);
    sd_free(m->texts);
    sd_free(m->nodes);
    sd_free(m->below);
    sd_free(m->pairs);
    sd_table_release(&m->by_key);
    sd_calls_release(&m->sums);
    memset(m, 0, sizeof *m);
}

/* --- Copying the trees ----------------------------------------------------------- */

static PyObject *text_of(uint64_t key)
{
    const struct sd_signature *s = sd_signature_of_key(key);
    PyObject *text = s ? PyUnicode_DecodeUTF8(s->text, s->n_text, "replace") : NULL;

    if (s && !text)
        PyErr_Clear(); /* no memory: it goes by its function */
    return text;
}

static int add_function(struct numbers *m, const struct sd_py_profile *p, uint64_t key)
{
    PyObject **grown =
        sd_grow_array(m->functions, &m->cap, m->n_functions + 1, sizeof *grown);

    if (!grown)
        return sd_no_memory();
    m->functions = grown;
    grown = sd_grow_array(m->texts, &m->cap_texts, m->n_functions + 1, sizeof *grown);
    if (!grown)
        return sd_no_memory();
    m->texts = grown;
    if (sd_table_put(&m->by_key, key, m->n_functions) < 0)
        return sd_no_memory();
    m->functions[m->n_functions] = Py_XNewRef(sd_calls_function(&p->names, key));
    m->texts[m->n_functions++] = text_of(key);
    return 0;
}

static int number_of(struct numbers *m, const struct sd_py_profile *p, uint64_t key,
                     uint32_t *out)
{
    uint64_t known;
    int rc = 0;

    if (!sd_table_get(&m->by_key, key, &known)) {
        known = m->n_functions;
        rc = add_function(m, p, key);
    }
    *out = (uint32_t)known;
    return rc;
}

struct open_calls {
    struct sd_node *nodes; /* of the tree */
    struct sd_pair *pairs; /* beyond it */
    struct sd_calls_below *below;
    const struct sd_call_tree *tree;
    uint64_t callee_ticks; /* of the open call before this one, if this one made it */
    bool is_cpu;
};

static struct sd_call_counts_calls with(struct sd_call_counts_calls a,
                                        struct sd_calls_inside b)
{
    return (struct sd_call_counts_calls){ a.python + b.python, a.c + b.c };
}

/* One call of the function less. */
static struct sd_call_counts_calls without_one(struct sd_call_counts_calls a, bool is_c)
{
    return (struct sd_call_counts_calls){ a.python - (!is_c && a.python),
                                          a.c - (is_c && a.c) };
}

static void leave_pair_out(struct open_calls *o, struct sd_pair *pair,
                           const struct sd_open_entry *open)
{
    const struct sd_call_entry *e = open->entry;
    int64_t own = (int64_t)(open->ticks - e->open->callee_ticks - o->callee_ticks);
    bool is_outermost = e->open->flags & SD_BEYOND_OUTERMOST;
    bool is_outermost_pair = e->open->flags & (SD_BEYOND_OUTERMOST | SD_BEYOND_INNER);

    pair->calls -= pair->calls > 0;
    pair->primitive -= is_outermost && pair->primitive > 0;
    pair->pair_primitive -= is_outermost_pair && pair->pair_primitive > 0;
    if (is_outermost)
        pair->total_inside = without_one(pair->total_inside, pair->is_c);
    if (is_outermost_pair)
        pair->pair_inside = without_one(pair->pair_inside, pair->is_c);
    if (o->is_cpu || o->tree->timer) /* a user's clock is not asked for it */
        return;
    pair->own += own > 0 ? own : 0;
    pair->own_calls = with(pair->own_calls, e->open->direct);
    if (is_outermost) {
        pair->total += (int64_t)open->ticks;
        pair->total_inside = with(pair->total_inside, open->inside);
        pair->total_around = with(pair->total_around, open->inside);
    }
    if (is_outermost_pair) {
        pair->pair_total += (int64_t)open->ticks;
        pair->pair_inside = with(pair->pair_inside, open->inside);
        pair->pair_around = with(pair->pair_around, open->inside);
    }
}

static void leave_beyond_out(struct open_calls *o, const struct sd_open_entry *open)
{
    bool is_first = open->entry->open->flags & SD_BEYOND_FIRST;
    bool is_c = open->entry->cell->key & 1;
    struct sd_calls_below *below;
    struct sd_node *node;

    if (!(open->entry->open->flags & SD_BEYOND_LOST))
        leave_pair_out(o, &o->pairs[sd_call_pairs_index(o->tree, open->entry->cell)],
                       open);
    o->callee_ticks = is_first ? 0 : open->ticks;
    if (!is_first || o->is_cpu || o->tree->timer)
        return;
    node = &o->nodes[sd_cells_index(o->tree->table, open->exit)];
    below = &o->below[node->function];
    node->inclusive += (int64_t)open->ticks;
    below->first_calls++;
    below->around = with(below->around, open->inside);
    below->inside = with(below->inside, open->inside);
    below->inside.python += !is_c;
    below->inside.c += is_c;
}

/* What runs is not counted yet, but the time so far is: its callees' is. */
static void leave_out(void *of, const struct sd_open_entry *open)
{
    struct open_calls *o = of;
    struct sd_node *node;

    if (sd_call_entry_is_beyond(open->entry)) {
        leave_beyond_out(o, open);
        return;
    }
    node = &o->nodes[sd_cells_index(o->tree->table, open->entry->cell)];
    node->calls -= node->calls > 0;
    node->inclusive += o->is_cpu ? 0 : (int64_t)open->ticks;
}

static struct sd_call_counts_calls calls_in(struct sd_calls_inside n)
{
    return (struct sd_call_counts_calls){ n.python, n.c };
}

static struct sd_call_counts_calls and_calls(struct sd_call_counts_calls a, bool is_c,
                                             uint64_t n)
{
    return (struct sd_call_counts_calls){ a.python + (is_c ? 0 : n),
                                          a.c + (is_c ? n : 0) };
}

/* The functions of a pair go by their sites in the tree, of which each has a number. */
static int copy_pairs(struct numbers *m, const struct sd_py_profile *p,
                      const struct sd_call_tree *t, bool is_cpu)
{
    uint32_t n = sd_call_pairs_n(t);
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        const struct sd_pair_cell *c = sd_call_pairs_at(t, i);
        uint64_t caller, callee;
        struct sd_pair *pair = &m->pairs[m->n_pairs + i];

        if (sd_pair_cell_is_of_wholes(c)) { /* stands for no calls of its own */
            *pair = (struct sd_pair){ .caller = SD_NO_NODE };
            rc = number_of(m, p, c->callee.key, &pair->function);
            continue;
        }
        sd_call_pairs_keys(t, i, &caller, &callee);
        *pair = (struct sd_pair){
            .caller = SD_NO_NODE,
            .is_c = callee & 1,
            .calls = c->callee.calls,
            .primitive = c->primitive,
            .pair_primitive = c->primitive + c->inner_primitive,
            .own = (int64_t)(is_cpu ? c->own_cpu_ns : c->own_ticks),
            .total = (int64_t)(is_cpu ? c->callee.cpu_ns : c->callee.ticks),
            .pair_total = (int64_t)(is_cpu ? c->callee.cpu_ns + c->inner_cpu_ns
                                           : c->callee.ticks + c->inner_ticks),
            .own_calls = calls_in(c->own_calls),
            .total_around = calls_in(c->inside_calls),
            .pair_around = with(calls_in(c->inside_calls), c->inner_calls),
        };
        pair->total_inside = and_calls(pair->total_around, pair->is_c, pair->primitive);
        pair->pair_inside =
            and_calls(pair->pair_around, pair->is_c, pair->pair_primitive);
        rc = number_of(m, p, callee, &pair->function);
        if (rc == 0 && caller)
            rc = number_of(m, p, caller, &pair->caller);
    }
    return rc;
}

static void copy_beyond(struct numbers *m, struct sd_node *node,
                        const struct sd_call_cell *cell)
{
    const struct sd_beyond_cell *beyond = (const void *)cell;

    struct sd_calls_below *below = &m->below[m->n_below];
    uint64_t *around;

    *below = (struct sd_calls_below){ .inside = { beyond->calls - beyond->c_calls,
                                                  beyond->c_calls } };
    below->around = below->inside;
    around = node->is_c ? &below->around.c : &below->around.python;
    /* A lost call may have made them, of whatever kind they are. */
    below->first_calls = beyond->first_calls < *around ? beyond->first_calls : *around;
    *around -= below->first_calls;
    node->is_beyond = true;
    node->function = m->n_below++;
}

static int copy_tree(struct numbers *m, const struct sd_py_profile *p,
                     const struct sd_call_tree *t, bool is_cpu)
{
    uint32_t n = sd_cells_n(t->table), first = (uint32_t)m->n_nodes;
    struct open_calls open = { .nodes = m->nodes + first,
                               .pairs = m->pairs + m->n_pairs,
                               .below = m->below,
                               .tree = t,
                               .is_cpu = is_cpu };
    int rc = 0;

    m->nodes[first] = (struct sd_node){ .parent = SD_NO_NODE };
    for (uint32_t i = 1; rc == 0 && i < n; i++) {
        const struct sd_call_cell *c = sd_cells_at(t->table, i);
        struct sd_node *node = &m->nodes[first + i];

        *node = (struct sd_node){ .parent = first + c->parent,
                                  .calls = c->calls,
                                  .inclusive = (int64_t)(is_cpu ? c->cpu_ns : c->ticks),
                                  .is_c = c->key & 1 };
        if (sd_call_key_is_beyond(c->key))
            copy_beyond(m, node, c);
        else
            rc = number_of(m, p, c->key, &node->function);
    }
    m->n_nodes += n;
    if (rc == 0)
        rc = copy_pairs(m, p, t, is_cpu);
    m->n_pairs += sd_call_pairs_n(t);
    if (rc == 0)
        sd_call_tree_each_open(t, leave_out, &open);
    return rc;
}

static int copy_trees(struct numbers *m, const struct sd_py_profile *p,
                      const struct sd_profile_look *look)
{
    const struct sd_calls_session *s = p->session;
    size_t n = 0, n_pairs = 0;
    int rc = 0;

    for (size_t i = 0; i < s->n_trees; i++) {
        n += sd_cells_n(s->trees[i]->table);
        n_pairs += sd_call_pairs_n(s->trees[i]);
    }
    m->nodes = sd_alloc((n + 1) * sizeof *m->nodes);
    m->pairs = sd_alloc((n_pairs + 1) * sizeof *m->pairs);
    m->below = sd_alloc((n + 1) * sizeof *m->below);
    if (!m->nodes || !m->pairs || !m->below)
        return sd_no_memory();
    for (size_t i = 0; rc == 0 && i < s->n_trees; i++)
        if (look->thread < 0 || (size_t)look->thread == i)
            rc = copy_tree(m, p, s->trees[i], look->is_cpu);
    return rc;
}

/* --- From nodes to numbers ------------------------------------------------------- */

static double seconds_of_tick(const struct sd_py_profile *p)
{
    struct sd_ticks_pair first = sd_calls_sessions_first_pair(),
                         now = sd_ticks_pair(p->session->clock);

    if (p->timer)
        return p->timeunit > 0 ? p->timeunit : 1e-9;
    return sd_ticks_ns(p->session->clock, &first, &now) * 1e-9;
}

#define MOST_BIAS 4e18 /* below 2^62 */

static uint64_t scaled(uint32_t ticks, double scale)
{
    return (uint64_t)((double)ticks * scale);
}

/* What is subtracted: the cost of tracing, or what the user says. */
static bool cost_of(const struct sd_py_profile *p, const struct sd_profile_look *look,
                    double seconds, struct sd_trace_cost *cost)
{
    const struct sd_call_costs *known = &p->session->costs;
    double scale = look->is_cpu ? seconds * 1e9 : 1; /* CPU time is in nanoseconds */
    uint64_t bias;

    if (look->has_bias) {
        double ticks = seconds > 0 ? look->bias / seconds * 1024 : 0;

        bias = ticks > 0 ? (uint64_t)(ticks < MOST_BIAS ? ticks : MOST_BIAS) : 0;
        *cost = (struct sd_trace_cost){ bias, bias, bias, bias, 0, 0, true };
        return true;
    }
    *cost = (struct sd_trace_cost){
        .python_inside = scaled(known->python_inside, scale),
        .python_outside = scaled(known->python_outside, scale),
        .c_inside = scaled(known->c_inside, scale),
        .c_outside = scaled(known->c_outside, scale),
        .python_plain = scaled(known->python_plain, scale),
        .c_plain = scaled(known->c_plain, scale),
    };
    return !p->timer && !p->is_raw;
}

static int derive(struct sd_py_profile *p, const struct sd_profile_look *look,
                  struct numbers *m)
{
    struct sd_trace_cost cost;
    struct sd_call_forest forest;
    int rc;

    memset(m, 0, sizeof *m);
    m->seconds = seconds_of_tick(p);
    rc = copy_trees(m, p, look);
    forest =
        (struct sd_call_forest){ m->nodes, m->n_nodes, m->below, m->pairs, m->n_pairs };
    if (rc == 0)
        rc = sd_forest_settle(&forest,
                              cost_of(p, look, m->seconds, &cost) ? &cost : NULL, NULL);
    if (rc == 0)
        rc = sd_calls_derive(&forest, m->n_functions, &m->sums);
    if (look->is_cpu)
        m->seconds = 1e-9;
    if (rc < 0) {
        release(m);
        sd_ext_raise(rc);
    }
    return rc < 0 ? -1 : 0;
}

/* --- getstats -------------------------------------------------------------------- */

static PyStructSequence_Field entry_fields[] = {
    { "code", "code object or built-in function name" },
    { "callcount", "how many times this was called" },
    { "reccallcount", "how many times called recursively" },
    { "totaltime", "total time in this entry" },
    { "inlinetime", "inline time in this entry (not in subcalls)" },
    { "calls", "details of the calls" },
    { NULL, NULL },
};

static PyStructSequence_Field subentry_fields[] = {
    { "code", "called code object or built-in function name" },
    { "callcount", "how many times this is called" },
    { "reccallcount", "how many times this is called recursively" },
    { "totaltime", "total time spent in this call" },
    { "inlinetime", "inline time (not in further subcalls)" },
    { NULL, NULL },
};

/* As much of a code object as tables ask for, with the signature as its name. */
static PyStructSequence_Field signature_fields[] = {
    { "co_filename", "the file of the function" },
    { "co_firstlineno", "its first line" },
    { "co_name", "the signature" },
    { "code", "the function's code object" },
    { NULL, NULL },
};

int sd_py_profile_make_entries(struct sd_ext *ext)
{
    /* 3.8 does not survive a type without a docstring. */
    static PyStructSequence_Desc entry = { "_lsprof.profiler_entry",
                                           "A function that was called.", entry_fields,
                                           6 };
    static PyStructSequence_Desc subentry = { "_lsprof.profiler_subentry",
                                              "A function as another called it.",
                                              subentry_fields, 5 };

    static PyStructSequence_Desc signature = {
        "sonde.signature",
        "A function that was called with arguments of certain types.", signature_fields,
        4
    };

    ext->entry = PyStructSequence_NewType(&entry);
    ext->subentry = PyStructSequence_NewType(&subentry);
    ext->signature = PyStructSequence_NewType(&signature);
    return ext->entry && ext->subentry && ext->signature ? 0 : -1;
}

/* A function without an object is one whose name found no memory. */
static PyObject *shown(const struct numbers *m, uint32_t function)
{
    PyObject *o = m->functions[function];

    return o ? Py_NewRef(o) : PyUnicode_FromString("[lost name]");
}

/* `calls` becomes the entry's; NULL: a subentry. */
static PyObject *make_entry(PyTypeObject *type, const struct numbers *m,
                            uint32_t function, const struct sd_calls_sum *sum,
                            PyObject *calls)
{
    PyObject *entry = PyStructSequence_New(type);
    PyObject *items[] = {
        shown(m, function),
        PyLong_FromUnsignedLongLong(sum->calls),
        PyLong_FromUnsignedLongLong(sum->calls - sum->primitive),
        PyFloat_FromDouble((double)sum->total * m->seconds),
        PyFloat_FromDouble((double)sum->own * m->seconds),
        calls,
    };
    int n = calls ? 6 : 5;
    bool is_whole = entry != NULL;

    for (int i = 0; i < n; i++)
        is_whole = is_whole && items[i];
    for (int i = 0; i < n; i++)
        if (is_whole)
            PyStructSequence_SetItem(entry, i, items[i]);
        else
            Py_XDECREF(items[i]);
    if (!is_whole)
        Py_CLEAR(entry);
    return entry;
}

static int append(PyObject *list, PyObject *item)
{
    int rc = item ? PyList_Append(list, item) : -1;

    Py_XDECREF(item);
    return rc;
}

/* The lists of what each function called: one for each, or NULL. */
static int list_callees(struct sd_ext *ext, const struct numbers *m, PyObject **lists)
{
    for (size_t i = 0; i < m->sums.n_edges; i++) {
        const struct sd_calls_edge *e = &m->sums.edges[i];

        if (e->sum.calls == 0)
            continue;
        if (!lists[e->caller])
            lists[e->caller] = PyList_New(0);
        if (!lists[e->caller] ||
            append(lists[e->caller],
                   make_entry(ext->subentry, m, e->callee, &e->sum, NULL)) < 0)
            return -1;
    }
    return 0;
}

static PyObject *list_entries(struct sd_ext *ext, const struct numbers *m,
                              PyObject **callees)
{
    PyObject *entries = PyList_New(0);

    for (uint32_t i = 0; entries && i < m->n_functions; i++) {
        PyObject *calls;

        if (m->sums.functions[i].calls == 0)
            continue;
        calls = callees[i] ? callees[i] : Py_NewRef(Py_None);
        callees[i] = NULL;
        if (append(entries,
                   make_entry(ext->entry, m, i, &m->sums.functions[i], calls)) < 0)
            Py_CLEAR(entries);
    }
    return entries;
}

static PyObject *make_signature(struct sd_ext *ext, PyObject *function, PyObject *text)
{
    PyCodeObject *code = (PyCodeObject *)function;
    PyObject *made = PyStructSequence_New(ext->signature);
    PyObject *line = PyLong_FromLong(code->co_firstlineno);

    if (!made || !line) {
        Py_XDECREF(made);
        Py_XDECREF(line);
        return NULL;
    }
    PyStructSequence_SetItem(made, 0, Py_NewRef(code->co_filename));
    PyStructSequence_SetItem(made, 1, line);
    PyStructSequence_SetItem(made, 2, Py_NewRef(text));
    PyStructSequence_SetItem(made, 3, Py_NewRef(function));
    return made;
}

/* What stands for a signature takes the place of its code: one object wherever it is.
 */
static int make_signatures(struct sd_ext *ext, struct numbers *m)
{
    for (size_t i = 0; i < m->n_functions; i++) {
        PyObject *made;

        if (!m->texts[i] || !m->functions[i])
            continue;
        made = make_signature(ext, m->functions[i], m->texts[i]);
        if (!made)
            return -1;
        Py_SETREF(m->functions[i], made);
    }
    return 0;
}

PyObject *sd_py_profile_getstats(struct sd_py_profile *p,
                                 const struct sd_profile_look *look)
{
    struct sd_ext *ext = sd_ext_of(Py_TYPE(p));
    PyObject *entries = NULL, **callees;
    struct numbers m;

    if (!ext || derive(p, look, &m) < 0)
        return NULL;
    callees = sd_zalloc((m.n_functions + 1) * sizeof *callees);
    if (!callees)
        PyErr_NoMemory();
    else if (make_signatures(ext, &m) == 0 && (!(p->switches & SD_PROFILE_SUBCALLS) ||
                                               list_callees(ext, &m, callees) == 0))
        entries = list_entries(ext, &m, callees);
    for (size_t i = 0; callees && i < m.n_functions; i++)
        Py_XDECREF(callees[i]);
    sd_free(callees);
    release(&m);
    return entries;
}

/* --- stats ----------------------------------------------------------------------- */

/* pstats' key of a function: file, line, name. */
static PyObject *label(const struct numbers *m, uint32_t function)
{
    PyObject *o = m->functions[function];

    if (o && PyCode_Check(o))
        return Py_BuildValue("OiO", ((PyCodeObject *)o)->co_filename,
                             ((PyCodeObject *)o)->co_firstlineno,
                             m->texts[function] ? m->texts[function]
                                                : ((PyCodeObject *)o)->co_name);
    return Py_BuildValue("siN", "~", 0, shown(m, function));
}

/* What stands under the key already is added to `sum`: functions that are the same to
 * pstats.  `is_caller`: its tuple has the two counts the other way round. */
static int add_known(PyObject *known, bool is_caller, double numbers[4])
{
    for (int i = 0; known && i < 4; i++) {
        int at = is_caller && i < 2 ? 1 - i : i;

        numbers[at] += PyFloat_AsDouble(PyTuple_GET_ITEM(known, i));
    }
    return PyErr_Occurred() ? -1 : 0;
}

static void as_numbers(const struct sd_calls_sum *sum, double seconds, double out[4])
{
    out[0] = (double)sum->primitive;
    out[1] = (double)sum->calls;
    out[2] = (double)sum->own * seconds;
    out[3] = (double)sum->total * seconds;
}

static int put_function(PyObject *stats, PyObject *key, const struct sd_calls_sum *sum,
                        double seconds)
{
    PyObject *known = PyDict_GetItemWithError(stats, key), *callers, *value;
    double n[4];
    int rc;

    as_numbers(sum, seconds, n);
    if (PyErr_Occurred() || add_known(known, false, n) < 0)
        return -1;
    callers = known ? Py_NewRef(PyTuple_GET_ITEM(known, 4)) : PyDict_New();
    value = callers ? Py_BuildValue("LLddN", (long long)n[0], (long long)n[1], n[2],
                                    n[3], callers)
                    : NULL;
    rc = value ? PyDict_SetItem(stats, key, value) : -1;
    Py_XDECREF(value);
    return rc;
}

static int put_caller(PyObject *stats, PyObject *callee, PyObject *caller,
                      const struct sd_calls_sum *sum, double seconds)
{
    PyObject *entry = PyDict_GetItemWithError(stats, callee);
    PyObject *callers = entry ? PyTuple_GET_ITEM(entry, 4) : NULL, *known, *value;
    double n[4];
    int rc;

    if (!callers)
        return PyErr_Occurred() ? -1 : 0;
    known = PyDict_GetItemWithError(callers, caller);
    as_numbers(sum, seconds, n);
    if (PyErr_Occurred() || add_known(known, true, n) < 0)
        return -1;
    value = Py_BuildValue("LLdd", (long long)n[1], (long long)n[0], n[2], n[3]);
    rc = value ? PyDict_SetItem(callers, caller, value) : -1;
    Py_XDECREF(value);
    return rc;
}

static int fill_stats(PyObject *stats, const struct numbers *m, PyObject **keys,
                      bool has_callers)
{
    for (uint32_t i = 0; i < m->n_functions; i++) {
        const struct sd_calls_sum *sum = &m->sums.functions[i];

        keys[i] = label(m, i);
        if (!keys[i] ||
            (sum->calls && put_function(stats, keys[i], sum, m->seconds) < 0))
            return -1;
    }
    for (size_t i = 0; has_callers && i < m->sums.n_edges; i++) {
        const struct sd_calls_edge *e = &m->sums.edges[i];

        if (e->sum.calls && put_caller(stats, keys[e->callee], keys[e->caller], &e->sum,
                                       m->seconds) < 0)
            return -1;
    }
    return 0;
}

PyObject *sd_py_profile_as_stats(struct sd_py_profile *p)
{
    static const struct sd_profile_look all = { .thread = -1 };
    PyObject *stats = PyDict_New(), **keys;
    struct numbers m;

    if (!stats || derive(p, &all, &m) < 0) {
        Py_XDECREF(stats);
        return NULL;
    }
    keys = sd_zalloc((m.n_functions + 1) * sizeof *keys);
    if (!keys)
        PyErr_NoMemory();
    if (!keys || fill_stats(stats, &m, keys, p->switches & SD_PROFILE_SUBCALLS) < 0)
        Py_CLEAR(stats);
    for (size_t i = 0; keys && i < m.n_functions; i++)
        Py_XDECREF(keys[i]);
    sd_free(keys);
    release(&m);
    return stats;
}

/* --- what is missing -------------------------------------------------------------- */

/* In ticks, whatever clock the user's times are of. */
double sd_py_profile_untraced(const struct sd_py_profile *p)
{
    struct sd_ticks_pair first = sd_calls_sessions_first_pair(),
                         now = sd_ticks_pair(p->session->clock);
    uint64_t ticks = 0;

    for (size_t i = 0; i < p->session->n_trees; i++)
        ticks += sd_call_tree_root(p->session->trees[i])->untraced;
    return (double)ticks * sd_ticks_ns(p->session->clock, &first, &now) * 1e-9;
}

uint64_t sd_py_profile_folded(const struct sd_py_profile *p)
{
    uint64_t n = 0;

    for (size_t i = 0; i < p->session->n_trees; i++)
        n += sd_call_pairs_calls(p->session->trees[i]);
    return n;
}

uint64_t sd_py_profile_lost(const struct sd_py_profile *p)
{
    uint64_t n = 0;

    for (size_t i = 0; i < p->session->n_trees; i++)
        n += sd_call_pairs_lost(p->session->trees[i]);
    return n;
}

/* --- capture --------------------------------------------------------------------- */

/* Readers subtract the cost of tracing that a root names, and of a raw profile there is
 * nothing to subtract.  Trees are followed again later, so it stays with them. */
static int write_capture(struct sd_py_profile *p, const struct sd_whole_how *how,
                         struct sd_cells **tables, struct sd_call_root *roots,
                         struct sd_buf *to)
{
    size_t n = p->session->n_trees;
    int rc;

    for (size_t i = 0; i < n; i++) {
        struct sd_call_root *root = sd_call_tree_root(p->session->trees[i]);

        tables[i] = p->session->trees[i]->table;
        roots[i] = *root;
        if (p->is_raw)
            root->python_inside = root->python_outside = root->c_inside =
                root->c_outside = 0;
    }
    rc = sd_whole_capture(tables, n, how, to);
    for (size_t i = 0; i < n && p->is_raw; i++) {
        struct sd_call_root *root = sd_call_tree_root(p->session->trees[i]);

        root->python_inside = roots[i].python_inside;
        root->python_outside = roots[i].python_outside;
        root->c_inside = roots[i].c_inside;
        root->c_outside = roots[i].c_outside;
    }
    return rc;
}

PyObject *sd_py_profile_as_capture(struct sd_py_profile *p, const char *command)
{
    struct sd_whole_how how = { .command = command };
    struct sd_cells **tables = sd_alloc((p->session->n_trees + 1) * sizeof *tables);
    struct sd_call_root *roots = sd_alloc((p->session->n_trees + 1) * sizeof *roots);
    struct sd_buf bytes = { 0 };
    PyObject *made = NULL;
    int rc = tables && roots ? 0 : sd_no_memory();

    if (p->timer)
        how.ns_per_tick = seconds_of_tick(p) * 1e9;
    if (rc == 0)
        rc = write_capture(p, &how, tables, roots, &bytes);
    if (rc < 0)
        sd_ext_raise(rc);
    else
        made = PyBytes_FromStringAndSize((const char *)bytes.p, (Py_ssize_t)bytes.n);
    sd_free(roots);
    sd_free(tables);
    sd_buf_release(&bytes);
    return made;
}

/* --- threads --------------------------------------------------------------------- */

/* CPU time of what the thread's root called. */
static double cpu_seconds(const struct sd_call_tree *t)
{
    uint64_t sum = 0;

    for (uint32_t i = 1; i < sd_cells_n(t->table); i++) {
        const struct sd_call_cell *c = sd_cells_at(t->table, i);

        if (c->parent == 0)
            sum += c->cpu_ns;
    }
    return (double)sum * 1e-9;
}

PyObject *sd_py_profile_threads(struct sd_py_profile *p)
{
    double seconds = seconds_of_tick(p);
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < p->session->n_trees; i++) {
        struct sd_call_tree *t = p->session->trees[i];
        uint64_t ticks = sd_call_tree_root(t)->traced;

        if (t->is_followed && !t->timer)
            ticks += sd_call_tree_now(t) - t->began;
        if (append(list, Py_BuildValue("KIdd", (unsigned long long)t->ident, t->tid,
                                       (double)ticks * seconds, cpu_seconds(t))) < 0)
            Py_CLEAR(list);
    }
    return list;
}
