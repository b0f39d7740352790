/* SPDX-License-Identifier: MIT */
#include "collect/sections/store.h"

#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"

/* Which measure brings which fields.  Time is read always, and kept when asked for. */
static const struct {
    unsigned measure;
    enum sd_field first, last;
} groups[] = {
    { SD_MEASURE_TIME, SD_FIELD_START, SD_FIELD_END },
    { SD_MEASURE_MEMORY, SD_FIELD_START_VMS, SD_FIELD_END_RSS },
    { SD_MEASURE_PEAK, SD_FIELD_PEAK, SD_FIELD_PEAK },
    { SD_MEASURE_PSS, SD_FIELD_PSS, SD_FIELD_PSS },
    { SD_MEASURE_IO, SD_FIELD_READ, SD_FIELD_WRITTEN },
    { SD_MEASURE_NETWORK, SD_FIELD_RECEIVED, SD_FIELD_SENT },
};

void sd_store_init(struct sd_store *s, unsigned measure)
{
    int8_t n = 0;

    memset(s, 0, sizeof *s);
    memset(s->at, -1, sizeof s->at);
    s->measure = measure;
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        if (!(measure & groups[g].measure))
            continue;
        for (unsigned f = groups[g].first; f <= groups[g].last; f++)
            s->at[f] = n++;
    }
    sd_assert((size_t)n <= sizeof s->at);
    s->row_bytes = (uint32_t)(sizeof(struct sd_row) + (size_t)n * sizeof(int64_t));
}

void sd_store_release(struct sd_store *s)
{
    for (int i = 0; i < SD_STORE_SEGMENTS; i++)
        sd_free(s->segments[i]);
    sd_arena_release(&s->arena);
    sd_table_release(&s->steps);
    sd_table_release(&s->by_path);
    sd_free(s->entries);
    sd_store_init(s, s->measure);
}

/* --- Names */

uint32_t sd_store_find(const struct sd_store *s, const char *path, size_t n)
{
    uint64_t key = sd_hash(path, n, 0), at;

    /* Two paths may have one hash: the second then stands under the next number. */
    for (; sd_table_get(&s->by_path, key, &at); key++) {
        const struct sd_entry *e = &s->entries[at];

        if (e->n == n && !memcmp(e->path, path, n))
            return (uint32_t)at;
    }
    return SD_STORE_NONE;
}

/* `path` is in the arena already. */
static int add_entry(struct sd_store *s, const char *path, uint32_t n, uint32_t *entry)
{
    uint64_t key = sd_hash(path, n, 0), taken;
    struct sd_entry *grown;

    while (sd_table_get(&s->by_path, key, &taken))
        key++;
    grown = sd_grow_array(s->entries, &s->cap_entries, s->n_entries + 1, sizeof *grown);
    if (!grown)
        return sd_no_memory();
    s->entries = grown;
    if (sd_table_put(&s->by_path, key, s->n_entries) < 0)
        return SD_ENOMEM;
    grown[s->n_entries] = (struct sd_entry){ path, n, SD_STORE_NONE, 0 };
    *entry = (uint32_t)s->n_entries++;
    return 0;
}

int sd_store_entry(struct sd_store *s, const char *path, size_t n, uint32_t *entry)
{
    char *copy;

    *entry = sd_store_find(s, path, n);
    if (*entry != SD_STORE_NONE)
        return 0;
    if (n > INT32_MAX)
        return sd_fail(SD_EUSAGE, "a section's name is longer than 2 GiB");
    copy = sd_arena_string(&s->arena, path, n);
    return copy ? add_entry(s, copy, (uint32_t)n, entry) : sd_no_memory();
}

/* "outer:inner" in the arena, from the parent's path and the step's own name. */
static char *join(struct sd_store *s, const struct sd_path_step *parent,
                  const char *name, uint32_t n, uint32_t *n_path)
{
    const struct sd_entry *above = parent ? &s->entries[parent->entry] : NULL;
    uint32_t n_above = above ? above->n + 1 : 0;
    char *path = sd_arena_alloc(&s->arena, (size_t)n_above + n + 1);

    sd_assert(!parent || parent->entry < s->n_entries);
    if (!path)
        return NULL;
    if (above) {
        memcpy(path, above->path, above->n);
        path[above->n] = ':';
    }
    memcpy(path + n_above, name, n);
    *n_path = n_above + n;
    return path;
}

static struct sd_path_step *add_step(struct sd_store *s,
                                     const struct sd_path_step *parent,
                                     const char *name, uint32_t n, uint64_t key)
{
    struct sd_path_step *step = sd_arena_alloc(&s->arena, sizeof *step);
    uint32_t n_path;
    char *path = step ? join(s, parent, name, n, &n_path) : NULL;

    if (!path)
        return NULL;
    /* "a:b" may have been opened as one name or as two steps: it is one path. */
    step->entry = sd_store_find(s, path, n_path);
    if (step->entry == SD_STORE_NONE && add_entry(s, path, n_path, &step->entry) < 0)
        return NULL;
    step->parent = parent;
    step->id = s->n_steps + 1;
    sd_section_name_init(&step->name, parent ? &parent->name : NULL, path + n_path - n,
                         n);
    if (sd_table_put(&s->steps, key, (uint64_t)(uintptr_t)step) < 0)
        return NULL;
    s->n_steps++;
    return step;
}

const struct sd_path_step *sd_store_step(struct sd_store *s,
                                         const struct sd_path_step *parent,
                                         const char *name, uint32_t n)
{
    uint64_t key, found;

    while (parent && parent->name.depth >= SD_STORE_DEPTH)
        parent = parent->parent;
    if (n > INT32_MAX / 2 || (parent && s->entries[parent->entry].n > INT32_MAX / 2))
        return NULL;
    key = sd_hash(name, n, parent ? parent->id : 0);
    for (; sd_table_get(&s->steps, key, &found); key++) {
        const struct sd_path_step *step = (const struct sd_path_step *)(uintptr_t)found;

        if (step->parent == parent && step->name.n == n &&
            !memcmp(step->name.name, name, n))
            return step;
    }
    return add_step(s, parent, name, n, key);
}

/* --- Rows */

/* Segment k holds FIRST << k rows and begins at row FIRST * (2^k - 1). */
static unsigned segment_of(uint32_t at, uint32_t *within)
{
    uint32_t q = at / SD_STORE_FIRST + 1;
    unsigned k = 31u - (unsigned)__builtin_clz(q);

    *within = at - SD_STORE_FIRST * ((1u << k) - 1);
    sd_assert_slow(*within < (uint32_t)SD_STORE_FIRST << k);
    return k;
}

struct sd_row *sd_store_row(const struct sd_store *s, uint32_t at)
{
    uint32_t within;
    unsigned k = segment_of(at, &within);

    sd_assert(at < s->n_rows);
    sd_assert_slow(s->segments[k]);
    return (struct sd_row *)(void *)(s->segments[k] + (size_t)within * s->row_bytes);
}

int sd_store_open(struct sd_store *s, uint32_t entry, enum sd_kind kind,
                  enum sd_size_unit unit, uint32_t *at)
{
    struct sd_entry *e = &s->entries[entry];
    uint32_t within;
    unsigned k = segment_of(s->n_rows, &within);
    struct sd_row *row;

    sd_assert(entry < s->n_entries);
    if (k >= SD_STORE_SEGMENTS)
        return sd_no_memory();
    if (!s->segments[k])
        s->segments[k] = sd_alloc(((size_t)SD_STORE_FIRST << k) * s->row_bytes);
    if (!s->segments[k])
        return sd_no_memory();
    *at = s->n_rows++;
    row = sd_store_row(s, *at);
    memset(row, 0, sizeof *row);
    row->entry = entry;
    row->prev = e->last;
    row->kind = (uint8_t)kind;
    row->unit = (uint8_t)unit;
    row->flags = SD_ROW_OPEN;
    for (size_t v = 0; v < (s->row_bytes - sizeof *row) / sizeof(int64_t); v++)
        row->values[v] = SD_VALUE_NONE;
    e->last = *at;
    if (e->count++ == 0)
        s->n_named++;
    return 0;
}

int64_t sd_store_get(const struct sd_store *s, const struct sd_row *row,
                     enum sd_field field)
{
    sd_assert_slow(field < sizeof s->at);
    return s->at[field] < 0 ? SD_VALUE_NONE : row->values[s->at[field]];
}

void sd_store_set(const struct sd_store *s, struct sd_row *row, enum sd_field field,
                  int64_t value)
{
    sd_assert_slow(field < sizeof s->at);
    if (s->at[field] >= 0)
        row->values[s->at[field]] = value;
}

/* --- From a measured section */

/* sections.h marks what could not be read by -1. */
static int64_t known(int64_t v) { return v < 0 ? SD_VALUE_NONE : v; }

static int64_t amount(int64_t before, int64_t after)
{
    return before < 0 || after < 0 ? SD_VALUE_NONE : after - before;
}

static int64_t moment(const struct sd_reading *r, enum sd_kind kind, int64_t epoch_ns)
{
    switch (kind) {
    case SD_KIND_WALL:
        return (int64_t)r->wall_ns + epoch_ns;
    case SD_KIND_CPU:
        return (int64_t)r->thread_cpu_ns;
    case SD_KIND_PROCESS:
        return (int64_t)r->process_cpu_ns;
    case SD_N_KINDS:
        break;
    }
    return SD_VALUE_NONE;
}

void sd_store_begun(const struct sd_store *s, uint32_t at, const struct sd_section *m,
                    int64_t epoch_ns)
{
    struct sd_row *row = sd_store_row(s, at);

    row->tid = sd_thread_self()->tid;
    row->from_ns = moment(&m->start, SD_KIND_WALL, epoch_ns);
    sd_store_set(s, row, SD_FIELD_START, moment(&m->start, row->kind, epoch_ns));
    sd_store_set(s, row, SD_FIELD_START_VMS, known(m->start.vms_bytes));
    sd_store_set(s, row, SD_FIELD_START_RSS, known(m->start.rss_bytes));
}

/* CPU clocks belong to one thread or process: elsewhere they say nothing of the
 * section. */
static bool has_same_clock(const struct sd_section *m, enum sd_kind kind)
{
    if (kind == SD_KIND_CPU)
        return !m->is_moved;
    return kind != SD_KIND_PROCESS || m->forks == sd_session_forks();
}

void sd_store_ended(const struct sd_store *s, uint32_t at, const struct sd_section *m,
                    int64_t epoch_ns, enum sd_row_flags raised)
{
    const struct sd_reading *a = &m->start, *b = &m->end;
    struct sd_row *row = sd_store_row(s, at);

    row->flags = (uint8_t)raised;
    row->to_ns = moment(b, SD_KIND_WALL, epoch_ns);
    if (has_same_clock(m, row->kind))
        sd_store_set(s, row, SD_FIELD_END, moment(b, row->kind, epoch_ns));
    sd_store_set(s, row, SD_FIELD_END_VMS, known(b->vms_bytes));
    sd_store_set(s, row, SD_FIELD_END_RSS, known(b->rss_bytes));
    sd_store_set(s, row, SD_FIELD_PEAK, known(m->peak_bytes));
    sd_store_set(s, row, SD_FIELD_PSS, known(b->pss_bytes));
    sd_store_set(s, row, SD_FIELD_READ, amount(a->read_bytes, b->read_bytes));
    sd_store_set(s, row, SD_FIELD_WRITTEN, amount(a->written_bytes, b->written_bytes));
    sd_store_set(s, row, SD_FIELD_RECEIVED,
                 amount(a->received_bytes, b->received_bytes));
    sd_store_set(s, row, SD_FIELD_SENT, amount(a->sent_bytes, b->sent_bytes));
}
