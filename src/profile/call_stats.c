/* SPDX-License-Identifier: MIT */
#include "profile/call_stats.h"

#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"

void sd_call_stats_init(struct sd_call_stats *s)
{
    *s = (struct sd_call_stats){ .sum.whole = SD_WHOLE_OWN | SD_WHOLE_TOTAL };
    s->strings.arena = &s->arena;
}

void sd_call_stats_release(struct sd_call_stats *s)
{
    sd_intern_release(&s->strings);
    sd_arena_release(&s->arena);
    sd_free(s->functions);
    sd_free(s->listed);
    sd_free(s->edges);
    sd_free(s->origins);
    sd_table_release(&s->by_key);
    sd_table_release(&s->by_edge);
    sd_call_stats_init(s);
}

void sd_call_stats_move(struct sd_call_stats *to, struct sd_call_stats *from)
{
    sd_assert(to != from);
    *to = *from;
    to->strings.arena = &to->arena;
    sd_call_stats_init(from);
}

/* --- Functions */

static int add_function(struct sd_call_stats *s, uint64_t key, uint32_t file,
                        int64_t line, uint32_t name)
{
    struct sd_call_function *grown;
    int rc;

    sd_assert(file < s->strings.n && name < s->strings.n);
    if (s->n_functions >= UINT32_MAX)
        return sd_fail(
            SD_EFULL,
            "there are more than 4 billion functions, the most that can be counted");
    grown = sd_grow_array(s->functions, &s->functions_cap, s->n_functions + 1,
                          sizeof *grown);
    if (!grown)
        return sd_no_memory();
    s->functions = grown;
    rc = sd_table_put(&s->by_key, key, s->n_functions);
    if (rc < 0)
        return rc;
    grown[s->n_functions++] = (struct sd_call_function){
        .file = s->strings.items[file],
        .name = s->strings.items[name],
        .file_id = file,
        .name_id = name,
        .line = line,
        .n.whole = SD_WHOLE_OWN | SD_WHOLE_TOTAL,
        .first_caller = SD_NO_EDGE,
        .last_caller = SD_NO_EDGE,
    };
    return 0;
}

/* Two keys may have one hash; the second then stands under the next free number, as in
 * base/intern. */
int sd_call_stats_function_of(struct sd_call_stats *s, uint32_t file, int64_t line,
                              uint32_t name, sd_function_id *id)
{
    uint64_t names = (uint64_t)file << 32 | name, key, at;
    int rc;

    for (key = sd_hash(&line, sizeof line, names); sd_table_get(&s->by_key, key, &at);
         key++)
        if (s->functions[at].line == line && s->functions[at].file_id == file &&
            s->functions[at].name_id == name) {
            id->at = (uint32_t)at;
            return 0;
        }
    rc = add_function(s, key, file, line, name);
    if (rc < 0)
        return rc;
    id->at = (uint32_t)(s->n_functions - 1);
    return 0;
}

int sd_call_stats_function(struct sd_call_stats *s, const char *file, size_t n_file,
                           int64_t line, const char *name, size_t n_name,
                           sd_function_id *id)
{
    uint32_t file_id, name_id;
    int rc = sd_intern(&s->strings, file, n_file, &file_id);

    if (rc == 0)
        rc = sd_intern(&s->strings, name, n_name, &name_id);
    return rc < 0 ? rc : sd_call_stats_function_of(s, file_id, line, name_id, id);
}

/* --- Numbers */

/* Whole stays whole only beside whole, as Python's numbers do. */
static int add_numbers(struct sd_call_numbers *into, const struct sd_call_numbers *n)
{
    if (__builtin_add_overflow(into->calls, n->calls, &into->calls) ||
        __builtin_add_overflow(into->primitive, n->primitive, &into->primitive))
        return sd_fail(SD_EFULL,
                       "the calls add up to more than 64-bit numbers can count");
    into->own += n->own;
    into->total += n->total;
    into->whole &= n->whole;
    return 0;
}

static int list_function(struct sd_call_stats *s, sd_function_id id)
{
    sd_function_id *grown =
        sd_grow_array(s->listed, &s->listed_cap, s->n_listed + 1, sizeof *grown);

    sd_assert(!s->functions[id.at].is_listed);
    if (!grown)
        return sd_no_memory();
    s->listed = grown;
    grown[s->n_listed++] = id;
    s->functions[id.at].is_listed = true;
    return 0;
}

int sd_call_stats_count(struct sd_call_stats *s, sd_function_id id,
                        const struct sd_call_numbers *n)
{
    int rc = s->functions[id.at].is_listed ? 0 : list_function(s, id);

    sd_assert(id.at < s->n_functions);
    return rc < 0 ? rc : add_numbers(&s->functions[id.at].n, n);
}

/* Most functions have a few callers, which are found faster by looking at each. */
#ifdef SD_TINY
enum { FEW_CALLERS = 1 };
#else
enum { FEW_CALLERS = 12 };
#endif

static uint64_t edge_key(sd_function_id callee, sd_function_id caller)
{
    return (uint64_t)callee.at << 32 | caller.at;
}

/* All edges of a function that has more than a few from now on. */
static int index_edges(struct sd_call_stats *s, sd_function_id callee)
{
    uint32_t e = s->functions[callee.at].first_caller;
    int rc = 0;

    for (; e != SD_NO_EDGE && rc == 0; e = s->edges[e].next)
        rc = sd_table_put(&s->by_edge, edge_key(callee, s->edges[e].caller), e);
    return rc;
}

static uint32_t find_edge(const struct sd_call_stats *s, sd_function_id callee,
                          sd_function_id caller)
{
    const struct sd_call_function *f = &s->functions[callee.at];
    uint32_t e = f->first_caller;
    uint64_t at;

    if (f->n_callers > FEW_CALLERS)
        return sd_table_get(&s->by_edge, edge_key(callee, caller), &at) ? (uint32_t)at
                                                                        : SD_NO_EDGE;
    while (e != SD_NO_EDGE && s->edges[e].caller.at != caller.at)
        e = s->edges[e].next;
    return e;
}

static int add_edge(struct sd_call_stats *s, sd_function_id id,
                    const struct sd_call_edge *edge)
{
    struct sd_call_function *callee = &s->functions[id.at];
    uint32_t at = (uint32_t)s->n_edges;
    struct sd_call_edge *grown;
    int rc = 0;

    sd_assert(edge->next == SD_NO_EDGE && edge->caller.at < s->n_functions);
    sd_assert((callee->last_caller == SD_NO_EDGE) == (callee->n_callers == 0));
    if (s->n_edges >= SD_NO_EDGE)
        return sd_fail(
            SD_EFULL,
            "there are more than 4 billion callers, the most that can be counted");
    grown = sd_grow_array(s->edges, &s->edges_cap, s->n_edges + 1, sizeof *grown);
    if (!grown)
        return sd_no_memory();
    s->edges = grown;
    if (callee->n_callers == FEW_CALLERS)
        rc = index_edges(s, id);
    if (rc == 0 && callee->n_callers >= FEW_CALLERS)
        rc = sd_table_put(&s->by_edge, edge_key(id, edge->caller), at);
    if (rc < 0)
        return rc;
    grown[at] = *edge;
    if (callee->last_caller == SD_NO_EDGE)
        callee->first_caller = at;
    else
        grown[callee->last_caller].next = at;
    callee->last_caller = at;
    callee->n_callers++;
    s->n_edges++;
    return 0;
}

static int count_edge(struct sd_call_stats *s, sd_function_id callee,
                      const struct sd_call_edge *edge)
{
    uint32_t at = find_edge(s, callee, edge->caller);

    sd_assert(callee.at < s->n_functions);
    if (at == SD_NO_EDGE)
        return add_edge(s, callee, edge);
    if (s->edges[at].is_plain != edge->is_plain)
        return sd_fail(SD_EUSAGE,
                       "files of the modules profile and cProfile cannot be added up: "
                       "profile stores only call counts for each caller");
    return add_numbers(&s->edges[at].n, &edge->n);
}

int sd_call_stats_count_calls(struct sd_call_stats *s, sd_function_id caller,
                              sd_function_id callee, const struct sd_call_numbers *n)
{
    return count_edge(
        s, callee,
        &(struct sd_call_edge){ .caller = caller, .next = SD_NO_EDGE, .n = *n });
}

int sd_call_stats_count_plain(struct sd_call_stats *s, sd_function_id caller,
                              sd_function_id callee, int64_t calls)
{
    struct sd_call_edge edge = {
        .caller = caller, .next = SD_NO_EDGE, .is_plain = true, .n.calls = calls
    };

    return count_edge(s, callee, &edge);
}

/* Old files have this one among the callers of what the profiler was asked to run. */
static bool is_profiler(const struct sd_call_function *f)
{
    return f->line == 0 && strcmp(f->file.p, "jprofile") == 0 &&
           strcmp(f->name.p, "profiler") == 0;
}

static bool is_called_by_profiler(const struct sd_call_stats *s,
                                  const struct sd_call_function *f)
{
    for (uint32_t e = f->first_caller; e != SD_NO_EDGE; e = s->edges[e].next)
        if (is_profiler(sd_call_stats_at(s, s->edges[e].caller)))
            return true;
    return false;
}

static bool knows_profiler(const struct sd_call_stats *s)
{
    for (size_t i = 0; i < s->n_functions; i++)
        if (is_profiler(&s->functions[i]))
            return true;
    return false;
}

int sd_call_stats_sum(struct sd_call_stats *s)
{
    bool has_tops = knows_profiler(s);
    int rc = 0;

    s->sum = (struct sd_call_numbers){ .whole = SD_WHOLE_OWN | SD_WHOLE_TOTAL };
    for (size_t i = 0; i < s->n_listed && rc == 0; i++) {
        struct sd_call_function *f = sd_call_stats_at(s, s->listed[i]);

        f->is_top = has_tops && is_called_by_profiler(s, f);
        rc = add_numbers(&s->sum, &f->n);
    }
    return rc;
}

int sd_call_stats_add_origin(struct sd_call_stats *s, const char *line, size_t n)
{
    struct sd_intern_string *grown =
        sd_grow_array(s->origins, &s->origins_cap, s->n_origins + 1, sizeof *grown);

    if (!grown)
        return sd_no_memory();
    s->origins = grown;
    grown[s->n_origins].p = sd_arena_string(&s->arena, line, n);
    grown[s->n_origins].n = (uint32_t)n;
    if (!grown[s->n_origins].p)
        return sd_no_memory();
    s->n_origins++;
    return 0;
}

/* --- Two into one */

/* One set of stats goes into another, perhaps under other names of files. */
struct transfer {
    struct sd_call_stats *into;
    const struct sd_call_stats *from;
    bool strips_dirs;
    sd_function_id *known; /* owned; by function of `from`: what it is there, or none */
};
static const sd_function_id none = { UINT32_MAX };

static size_t folder_length(const struct sd_intern_string *file)
{
    const char *slash = memrchr(file->p, '/', file->n);

    return slash ? (size_t)(slash + 1 - file->p) : 0;
}

static int transfer_key(const struct transfer *t, sd_function_id id, sd_function_id *to)
{
    const struct sd_call_function *f = sd_call_stats_at(t->from, id);
    size_t skip = t->strips_dirs ? folder_length(&f->file) : 0;
    int rc = 0;

    if (t->known[id.at].at == none.at)
        rc = sd_call_stats_function(t->into, f->file.p + skip, f->file.n - skip,
                                    f->line, f->name.p, f->name.n, &t->known[id.at]);
    *to = t->known[id.at];
    return rc;
}

static int transfer_edge(const struct transfer *t, const struct sd_call_edge *e,
                         sd_function_id callee)
{
    struct sd_call_edge edge = *e; /* it moves when both are the same stats */
    int rc;

    edge.next = SD_NO_EDGE;
    rc = transfer_key(t, e->caller, &edge.caller);
    return rc < 0 ? rc : count_edge(t->into, callee, &edge);
}

static int transfer_function(const struct transfer *t, sd_function_id id)
{
    struct sd_call_function f = *sd_call_stats_at(t->from, id);
    sd_function_id to;
    int rc = transfer_key(t, id, &to);

    if (rc == 0)
        rc = sd_call_stats_count(t->into, to, &f.n);
    if (rc == 0) {
        sd_call_stats_at(t->into, to)->is_top |= f.is_top;
        sd_call_stats_at(t->into, to)->is_own |= f.is_own;
    }
    for (uint32_t e = f.first_caller; rc == 0 && e != SD_NO_EDGE;
         e = t->from->edges[e].next)
        rc = transfer_edge(t, &t->from->edges[e], to);
    return rc;
}

static int transfer_all(struct transfer *t)
{
    size_t n_listed = t->from->n_listed, n_origins = t->from->n_origins;
    size_t n_functions = t->from->n_functions;
    int rc = 0;

    t->known = sd_alloc((n_functions + 1) * sizeof *t->known);
    if (!t->known)
        return sd_no_memory();
    for (size_t i = 0; i < n_functions; i++)
        t->known[i] = none;
    for (size_t i = 0; i < n_origins && rc == 0; i++)
        rc = sd_call_stats_add_origin(t->into, t->from->origins[i].p,
                                      t->from->origins[i].n);
    for (size_t i = 0; i < n_listed && rc == 0; i++)
        rc = transfer_function(t, t->from->listed[i]);
    sd_free(t->known);
    return rc;
}

int sd_call_stats_add(struct sd_call_stats *into, const struct sd_call_stats *from)
{
    struct sd_call_numbers sum = from->sum;
    int rc = transfer_all(&(struct transfer){ .into = into, .from = from });

    return rc < 0 ? rc : add_numbers(&into->sum, &sum);
}

int sd_call_stats_strip_dirs(struct sd_call_stats *s)
{
    struct sd_call_stats stripped;
    int rc;

    sd_call_stats_init(&stripped);
    rc = transfer_all(
        &(struct transfer){ .into = &stripped, .from = s, .strips_dirs = true });
    if (rc < 0) {
        sd_call_stats_release(&stripped);
        return rc;
    }
    stripped.sum = s->sum;
    stripped.is_sampled = s->is_sampled;
    sd_call_stats_release(s);
    sd_call_stats_move(s, &stripped);
    return 0;
}

/* --- Names */

bool sd_call_function_is_builtin(const struct sd_call_function *f)
{
    return f->line == 0 && f->file.n == 1 && f->file.p[0] == '~';
}

void sd_call_function_label(struct sd_buf *to, const struct sd_call_function *f)
{
    const struct sd_intern_string *name = &f->name;

    if (!sd_call_function_is_builtin(f)) {
        sd_buf_add(to, f->file.p, f->file.n);
        sd_buf_printf(to, ":%lld(", (long long)f->line);
        sd_buf_add(to, name->p, name->n);
        sd_buf_u8(to, ')');
    } else if (name->n > 0 && name->p[0] == '<' && name->p[name->n - 1] == '>') {
        sd_buf_u8(to, '{'); /* of "<>" Python, too, has nothing left between them */
        sd_buf_add(to, name->p + 1, name->n > 2 ? name->n - 2 : 0);
        sd_buf_u8(to, '}');
    } else {
        sd_buf_add(to, name->p, name->n);
    }
}

/* UTF-8 has the order of its code points, and so have Python's strings. */
int sd_call_name_compare(const struct sd_intern_string *a,
                         const struct sd_intern_string *b)
{
    int order = memcmp(a->p, b->p, a->n < b->n ? a->n : b->n);

    return order != 0 ? order : (a->n > b->n) - (a->n < b->n);
}

int sd_call_function_compare(const struct sd_call_function *a,
                             const struct sd_call_function *b)
{
    int order = sd_call_name_compare(&a->file, &b->file);

    if (order == 0)
        order = (a->line > b->line) - (a->line < b->line);
    return order != 0 ? order : sd_call_name_compare(&a->name, &b->name);
}

double sd_call_edge_total(const struct sd_call_edge *e,
                          const struct sd_call_function *f)
{
    if (!e->is_plain)
        return e->n.total;
    if (f->n.calls <= 0 || e->n.calls >= f->n.calls)
        return f->n.total;
    return e->n.calls <= 0 ? 0 : f->n.total * (double)e->n.calls / (double)f->n.calls;
}
