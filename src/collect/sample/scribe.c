/* SPDX-License-Identifier: MIT */
#include "collect/sample/scribe.h"

#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "collect/sample/metrics.h"
#include "collect/shared/tree_tracks.h"
#include "process/native/unwind.h"

enum {
#ifdef SD_TINY
    N_NODES_MAX = 64,
#else
    N_NODES_MAX = 2 << 20, /* then the tree is begun again */
#endif
    N_DEPTH_MAX = 4000, /* frames of a stack that is written; the outer rest is cut */
    N_TRIES = 3,        /* to get a whole stack into one chunk */
    THREAD_ROOM = SD_ROOM_TRACK + SD_ROOM_STRING(SD_THREAD_NAME),
};
#define IDLE_NS 100000000u /* waiting is written at most this often */
#define RUN_NS 100000u     /* running, where one stack is seen again and again */

/* What is kept of a thread. */
struct step { /* of its last path, outermost first */
    const struct sd_code *code;
    uint64_t at; /* the instruction, by its place in the function */
    uint32_t node;
};
struct sd_scribe_memo {
    struct sd_scribe_memo *prev, *next;
    struct step *steps; /* owned */
    size_t n, cap;
    size_t member; /* who it is, as last told */
    pid_t tid;
    uint64_t start_ticks;
    char name[SD_THREAD_NAME];
    /* Not written yet: */
    uint32_t node;
    unsigned flags;
    uint64_t n_samples, wall_ns, cpu_ns, since_ns, time_ns;
};

/* --- The tree -------------------------------------------------------------------- */

static int add_node(struct sd_scribe *s, uint32_t parent, uint64_t who,
                    const struct sd_shot_frame *f, int32_t line, uint32_t *out)
{
    struct sd_scribe_node *nodes =
        sd_grow_array(s->nodes, &s->cap_nodes, s->n_nodes + 1, sizeof *nodes);

    sd_assert(s->n_nodes == 0 || parent < s->n_nodes); /* parents before children */
    if (!nodes)
        return SD_ENOMEM;
    s->nodes = nodes;
    nodes[s->n_nodes] =
        (struct sd_scribe_node){ .parent = parent,
                                 .line = line,
                                 .who = who,
                                 .code = f ? f->code : NULL,
                                 .native = f && !f->code ? f->native : NULL };
    *out = (uint32_t)s->n_nodes++;
    return 0;
}

/* Finds or makes; 0 when there is no memory. */
static uint32_t node_under(struct sd_scribe *s, uint32_t parent, uint64_t who,
                           const struct sd_shot_frame *f, int32_t line)
{
    uint64_t what[3] = { who, parent, (uint64_t)(uint32_t)line };
    uint64_t key = sd_hash(what, sizeof what, 0x737461636bu), at;
    uint32_t node;

    for (; sd_table_get(&s->by_key, key, &at); key++) {
        const struct sd_scribe_node *n = &s->nodes[at];

        if (n->who == who && n->parent == parent && n->line == line)
            return (uint32_t)at;
    }
    if (add_node(s, parent, who, f, line, &node) < 0)
        return 0;
    return sd_table_put(&s->by_key, key, node) < 0 ? 0 : node;
}

static struct step *steps_for(struct sd_scribe_memo *m, size_t n)
{
    struct step *steps = sd_grow_array(m->steps, &m->cap, n, sizeof *steps);

    if (steps)
        m->steps = steps;
    return steps;
}

#define IS_NATIVE ((uint64_t)1 << 63) /* above the serial, which counts processes */

static uint64_t who_is(const struct sd_thread_sample *t, const struct sd_shot_frame *f)
{
    uint64_t who = (uint64_t)t->serial << 32;

    return f->code ? who | f->code->id : IS_NATIVE | who | f->native->function;
}

/* The instruction by its place in the function: an entry for a code object may be that
 * of another one of the same text, elsewhere (process/python/code.h). */
static uint64_t place_of(const struct sd_shot_frame *f)
{
    return f->code ? f->instr - f->code->bytecode : f->instr;
}

static int32_t line_of(const struct sd_thread_sample *t, const struct sd_shot_frame *f)
{
    int32_t line = f->code ? sd_codes_line(t->codes, f->code, &t->rt->layout, f->instr)
                           : (int32_t)f->native->line;

    return line > 0 ? line : 0;
}

/* Frames at the outer end that need not be compared. */
static size_t n_known(const struct sd_scribe_memo *m, const struct sd_thread_sample *t,
                      size_t n)
{
    size_t known = t->n_same < m->n ? t->n_same : m->n;

    return known < n ? known : n;
}

/* The node of the innermost frame. */
static uint32_t node_of(struct sd_scribe *s, struct sd_scribe_memo *m,
                        const struct sd_thread_sample *t)
{
    size_t n = t->n_frames < N_DEPTH_MAX ? t->n_frames : N_DEPTH_MAX, d;
    bool is_cut = n < t->n_frames || t->is_cut;
    uint32_t node = is_cut ? node_under(s, 0, 0, NULL, 0) : 0;
    bool is_known = !is_cut; /* a cut stack slides: its outermost frame differs */

    if (!steps_for(m, n))
        return 0;
    d = is_cut ? 0 : n_known(m, t, n);
    if (d)
        node = m->steps[d - 1].node;
    for (; d < n; d++) {
        const struct sd_shot_frame *f = &t->frames[n - 1 - d];
        struct step *step = &m->steps[d];

        is_known =
            is_known && d < m->n && step->code == f->code && step->at == place_of(f);
        if (!is_known) {
            node = node_under(s, node, who_is(t, f), f, line_of(t, f));
            if (!node)
                break;
            *step = (struct step){ f->code, place_of(f), node };
        }
        node = step->node;
    }
    m->n = is_cut ? 0 : d;
    sd_assert(m->n <= m->cap);
    return d == n ? node : 0;
}

/* --- Definitions ----------------------------------------------------------------- */

static uint32_t define_text(struct sd_log *l, const char *text)
{
    size_t n = strlen(text);
    uint64_t key = sd_hash(text, n, 0x74657874u);
    uint32_t id = n ? sd_log_known(l, key) : 0;

    return n && !id ? sd_log_define_string(l, key, text, n) : id;
}

static size_t site_room(const struct sd_scribe_node *x)
{
    const struct sd_code *code = x->code;

    if (x->native)
        return SD_ROOM_SITE + SD_ROOM_STRING(strlen(x->native->name)) +
               SD_ROOM_STRING(strlen(x->native->file));
    if (!code)
        return SD_ROOM_SITE + SD_ROOM_STRING(16);
    return SD_ROOM_SITE + SD_ROOM_STRING(strlen(code->name)) +
           SD_ROOM_STRING(strlen(code->qualname)) + SD_ROOM_STRING(strlen(code->path));
}

static uint32_t define_native(struct sd_log *l, uint64_t key,
                              const struct sd_symbol *native)
{
    uint32_t name = define_text(l, native->name), file = define_text(l, native->file);

    return sd_log_define_function(l, key, SD_SITE_NATIVE, name, 0, file,
                                  native->first_line);
}

static uint32_t define_site(struct sd_log *l, const struct sd_scribe_node *x)
{
    uint64_t key = sd_hash(&x->who, sizeof x->who, 0x636f6465u);
    uint32_t id = sd_log_known(l, key), name, label, file;
    const struct sd_code *code = x->code;

    if (id)
        return id;
    if (x->native)
        return define_native(l, key, x->native);
    if (!code)
        return sd_log_define_function(l, key, 0, define_text(l, "[partial]"), 0, 0, 0);
    name = define_text(l, code->name);
    label = define_text(l, code->qualname);
    file = define_text(l, code->path);
    return sd_log_define_function(l, key, 0, name, label, file,
                                  code->first_line > 0 ? (uint32_t)code->first_line
                                                       : 0);
}

static int gather_path(struct sd_scribe *s, const struct sd_log *l, uint32_t node,
                       size_t *n)
{
    for (*n = 0; node && s->nodes[node].chunk != sd_log_chunk(l);
         node = s->nodes[node].parent) {
        uint32_t *path = sd_grow_array(s->path, &s->cap_path, *n + 1, sizeof *path);

        if (!path)
            return SD_ENOMEM;
        s->path = path;
        path[(*n)++] = node;
    }
    return 0;
}

/* Defines the node and its callers in the chunk at hand.  SD_ETORN when a new chunk was
 * begun meanwhile: then all of it must be in that one. */
static int define_node(struct sd_scribe *s, struct sd_log *l, uint32_t node)
{
    uint32_t chunk = sd_log_chunk(l);
    size_t n;
    int rc = gather_path(s, l, node, &n);

    while (rc == 0 && n > 0) {
        struct sd_scribe_node *x = &s->nodes[s->path[--n]];

        if (!sd_log_room(l, SD_ROOM_STACK + site_room(x)))
            return SD_EFULL;
        if (sd_log_chunk(l) == chunk) {
            uint32_t site = define_site(l, x);
            sd_assert(x->parent == 0 || s->nodes[x->parent].chunk == chunk);

            x->id = sd_log_define_stack(l, x->parent ? s->nodes[x->parent].id : 0, site,
                                        (uint32_t)x->line);
            x->chunk = chunk;
        } else {
            rc = SD_ETORN;
        }
        sd_log_commit(l, 0, 0);
    }
    return rc;
}

static uint32_t define_thread(const struct sd_scribe *s, struct sd_log *l,
                              const struct sd_scribe_memo *m)
{
    sd_assert(m->member < s->tree->n);
    /* With its process as that is called now: it has another name after an exec. */
    const uint64_t who[4] = { m->member, (uint64_t)m->tid, m->start_ticks,
                              sd_tree_track_key(&s->tree->members[m->member]) };
    uint64_t key =
        sd_hash(m->name, strlen(m->name), sd_hash(who, sizeof who, 0x746872u));
    uint32_t id = sd_log_known(l, key), process;

    if (id)
        return id;
    process = sd_tree_track(l, s->tree, m->member);
    return sd_log_define_track(l, key, SD_TRACK_THREAD, process, (uint64_t)m->tid,
                               m->start_ticks, define_text(l, m->name));
}

/* --- Samples --------------------------------------------------------------------- */

static uint32_t define_shape(struct sd_log *l)
{
    uint64_t key = (uint64_t)(uintptr_t)sd_sample_metrics;
    uint32_t id = sd_log_known(l, key);

    return id ? id
              : sd_log_define_shape(l, key, sd_sample_metrics,
                                    ((uint64_t)1 << SD_SAMPLE_N_METRICS) - 1);
}

static void put_sample(const struct sd_scribe *s, struct sd_log *l,
                       const struct sd_scribe_memo *m)
{
    uint32_t shape = define_shape(l), track = define_thread(s, l, m);
    struct sd_rec_sample *e = sd_log_put(
        l, SD_REC_SAMPLE, sizeof *e + SD_SAMPLE_N_METRICS * sizeof e->values[0]);

    sd_assert(s->nodes[m->node].chunk == sd_log_chunk(l));
    _Static_assert(SD_SAMPLE_METRIC_CPU < SD_SAMPLE_N_METRICS, "each has its place");
    e->track = track;
    e->stack = s->nodes[m->node].id;
    e->shape = (uint16_t)shape;
    e->flags = (uint16_t)m->flags;
    e->time = m->time_ns;
    e->values[SD_SAMPLE_METRIC_SAMPLES] = (int64_t)m->n_samples;
    e->values[SD_SAMPLE_METRIC_WALL] = (int64_t)m->wall_ns;
    e->values[SD_SAMPLE_METRIC_CPU] = (int64_t)m->cpu_ns;
}

static bool write_sample(struct sd_scribe *s, struct sd_log *l,
                         const struct sd_scribe_memo *m)
{
    const size_t room = sizeof(struct sd_rec_sample) + 64 + SD_ROOM_SHAPE +
                        THREAD_ROOM + sd_tree_track_room(s->tree, m->member);
    int i;

    for (i = 0; i < N_TRIES; i++) {
        int rc = define_node(s, l, m->node);
        bool is_here;

        if (rc == SD_ETORN)
            continue;
        if (rc < 0 || !sd_log_room(l, room))
            return false;
        is_here = s->nodes[m->node].chunk == sd_log_chunk(l);
        if (is_here)
            put_sample(s, l, m);
        sd_log_commit(l, is_here, m->time_ns);
        if (is_here)
            return true;
    }
    return false;
}

static void flush(struct sd_scribe *s, struct sd_scribe_memo *m)
{
    struct sd_log *l;

    if (!m->n_samples)
        return;
    l = sd_writer_log(s->writer);
    if (!l || !write_sample(s, l, m))
        s->n_unwritten += m->n_samples;
    m->n_samples = m->wall_ns = m->cpu_ns = 0;
}

/* --- Listening ------------------------------------------------------------------- */

static struct sd_scribe_memo *new_memo(struct sd_scribe *s)
{
    struct sd_scribe_memo *m = sd_zalloc(sizeof *m);

    if (!m)
        return NULL;
    m->prev = m->next = m;
    if (s->memos) {
        m->next = s->memos;
        m->prev = s->memos->prev;
        m->prev->next = m->next->prev = m;
    }
    s->memos = m;
    sd_assert(m->prev->next == m && m->next->prev == m);
    return m;
}

static void free_memo(struct sd_scribe *s, struct sd_scribe_memo *m)
{
    sd_assert(m->prev->next == m && m->next->prev == m);
    if (s->memos == m)
        s->memos = m->next == m ? NULL : m->next;
    m->prev->next = m->next;
    m->next->prev = m->prev;
    sd_free(m->steps);
    sd_free(m);
}

/* A program that makes up code without end would make a tree without end: before that
 * all is forgotten and begun again. */
static void begin_again(struct sd_scribe *s)
{
    struct sd_scribe_memo *m = s->memos;

    if (m)
        do {
            flush(s, m);
            m->n = 0;
            m->node = 0;
            m = m->next;
        } while (m != s->memos);
    sd_table_clear(&s->by_key);
    s->n_nodes = 1;
}

static struct sd_scribe_memo *memo_of(struct sd_scribe *s,
                                      const struct sd_thread_sample *t)
{
    struct sd_scribe_memo *m = *t->of_thread;

    if (!m)
        *t->of_thread = m = new_memo(s);
    if (!m)
        return NULL;
    m->member = t->member;
    m->tid = t->tid;
    m->start_ticks = t->thread_start_ticks;
    if (strcmp(m->name, t->name) != 0) {
        strncpy(m->name, t->name, sizeof m->name - 1);
        m->name[sizeof m->name - 1] = 0;
    }
    return m;
}

/* Whether the sample can be added to what waits to be written. */
static bool is_more_of(const struct sd_scribe_memo *m, const struct sd_thread_sample *t,
                       uint32_t node)
{
    bool is_idle = (t->flags & SD_SAMPLE_IDLE) != 0;

    return m->node == node && m->flags == t->flags &&
           t->time_ns - m->since_ns <= (is_idle ? IDLE_NS : RUN_NS);
}

static void hear(void *of, const struct sd_thread_sample *t)
{
    struct sd_scribe *s = of;
    struct sd_scribe_memo *m = memo_of(s, t);
    bool is_idle = (t->flags & SD_SAMPLE_IDLE) != 0;
    uint32_t node;

    if (s->n_nodes > N_NODES_MAX)
        begin_again(s);
    node = m ? (t->is_same && m->node ? m->node : node_of(s, m, t)) : 0;
    if (!node) {
        s->n_unwritten++;
        return;
    }
    if (m->n_samples && !is_more_of(m, t, node))
        flush(s, m);
    if (!m->n_samples)
        m->since_ns = t->time_ns;
    m->node = node;
    m->flags = t->flags;
    m->n_samples++;
    m->wall_ns += t->wall_ns;
    m->cpu_ns += t->cpu_ns;
    m->time_ns = t->time_ns;
    if (!is_idle && t->wall_ns > RUN_NS)
        flush(s, m); /* nobody knows when the next one comes */
}

static void hear_end(void *of, void *of_thread)
{
    struct sd_scribe_memo *m = of_thread;

    flush(of, m);
    free_memo(of, m);
}

int sd_scribe_init(struct sd_scribe *s, struct sd_writer *w, const struct sd_tree *tree)
{
    uint32_t nobody;

    *s = (struct sd_scribe){ .writer = w, .tree = tree };
    return add_node(s, 0, 0, NULL, 0, &nobody) < 0 ? sd_no_memory() : 0;
}

void sd_scribe_release(struct sd_scribe *s)
{
    sd_free(s->nodes);
    sd_free(s->path);
    sd_table_release(&s->by_key);
    *s = (struct sd_scribe){ 0 };
}

struct sd_listener sd_scribe_listener(struct sd_scribe *s)
{
    return (struct sd_listener){ .sample = hear, .thread_ends = hear_end, .of = s };
}
