/* SPDX-License-Identifier: MIT */
#include "profile/profile_define.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/memory_left.h"
#include "base/text.h"

/* The first strings of every profile. */
enum { STRING_LOST, STRING_TOO_MANY, STRING_PARTIAL };

/* --- Limits */

/* What an interned key takes beside its own bytes: its item and its share of a hash
 * table that is never fuller than three quarters and just doubled. */
enum { INTERNED_BYTES = 64, TRIPLE_BYTES = 24 };

static size_t totals_bytes(const struct sd_stack_totals *t)
{
    return t->cap *
           (sizeof *t->items + TRIPLE_BYTES + t->n_metrics * sizeof **t->values);
}

static size_t evidence_bytes(const struct sd_profile *p)
{
    const struct sd_line_totals *lines = &p->evidence[SD_LINES].lines;
    size_t sum = lines->cap * (sizeof *lines->items + INTERNED_BYTES) +
                 p->allocs.cap * sizeof *p->allocs.items +
                 p->allocs.cap_moments * sizeof *p->allocs.moments;

    for (enum sd_evidence e = 0; e < SD_EVIDENCES; e++)
        if (sd_evidence_has_stacks(e))
            sum += totals_bytes(&p->evidence[e].stacks);
    return sum;
}

static size_t used_bytes(const struct sd_profile *p)
{
    const struct sd_profile_index *ix = p->index;

    return p->arena.used_bytes +
           (p->strings.n + p->n_sites + p->n_tracks + ix->shapes.n) * INTERNED_BYTES +
           p->cap_sites * sizeof *p->sites + p->cap_tracks * sizeof *p->tracks +
           p->cap_spans * (sizeof *p->spans + INTERNED_BYTES) +
           p->n_spans * 2 * sizeof(struct sd_interval) +
           p->cap_series * (sizeof *p->series + INTERNED_BYTES) +
           p->n_series * sizeof(struct sd_series_bucket) +
           p->cap_stacks * (sizeof *p->stacks + TRIPLE_BYTES) + evidence_bytes(p) +
           (p->pairs.cap + p->whole_pairs.cap) *
               (sizeof *p->pairs.items + TRIPLE_BYTES) +
           ix->n_rows * ix->stride * sizeof(struct sd_sum) + ix->gathered_bytes;
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Memory that the profile has taken already is not left any more: it is added to the
 * half of what is. */
void sd_profile_bound(struct sd_profile *p, uint64_t stored_bytes)
{
    uint64_t used = used_bytes(p), left = sd_memory_left("") / 2, by_input;

    stored_bytes = least(stored_bytes, UINT64_MAX / (4 * SD_PROFILE_TIMES));
    by_input = p->index->limit_bytes + stored_bytes * SD_PROFILE_TIMES;
    p->index->limit_bytes = least(by_input, used + least(left, UINT64_MAX / 2));
}

bool sd_profile_has_room(struct sd_profile *p, size_t n)
{
    if (used_bytes(p) + n <= p->index->limit_bytes)
        return true;
    p->index->n_refused++;
    return false;
}

uint32_t sd_profile_bucket_limit(const struct sd_profile *p)
{
    return p->n_series <= 1024 ? SD_SERIES_BUCKETS : p->n_series <= 16384 ? 256 : 16;
}

uint32_t sd_profile_interval_limit(const struct sd_profile *p)
{
    return p->n_spans <= 2048 ? SD_SPAN_INTERVALS : p->n_spans <= 32768 ? 32 : 2;
}

/* --- Strings */

uint32_t sd_find_string(const struct sd_profile *p, const void *s, size_t n)
{
    uint32_t id = sd_intern_find(&p->strings, s, n);

    return id != UINT32_MAX ? id : STRING_TOO_MANY;
}

int sd_define_string(struct sd_profile *p, const void *s, size_t n, uint32_t *id)
{
    uint32_t known = sd_intern_find(&p->strings, s, n);

    if (known != UINT32_MAX) {
        *id = known;
        return 0;
    }
    if (!sd_profile_has_room(p, n)) {
        *id = STRING_TOO_MANY;
        return 0;
    }
    return sd_intern(&p->strings, s, n, id);
}

static const char *text_of(const struct sd_profile *p, uint32_t string)
{
    sd_assert_slow(string == UINT32_MAX || string < p->strings.n);
    return string == UINT32_MAX ? NULL : p->strings.items[string].p;
}

/* --- Sites */

/* A lying file can nest without end; then the path keeps its last part. */
static const char *path_of(struct sd_profile *p, const struct sd_site_key *key)
{
    const struct sd_intern_string *name = &p->strings.items[key->name];
    const char *above = key->parent == UINT32_MAX ? NULL : p->sites[key->parent].path;

    if (!above || key->kind == SD_SITE_FUNCTION) /* of a signature the name is all */
        return name->p;
    if (strlen(above) + name->n + 2 <= SD_PATH_MAX)
        return sd_arena_printf(&p->arena, "%s:%s", above, name->p);
    return sd_arena_printf(&p->arena, "…:%.*s", SD_PATH_MAX / 2, name->p);
}

static int new_site(struct sd_profile *p, const struct sd_site_key *key, uint32_t *id)
{
    struct sd_site *sites =
        sd_grow_array(p->sites, &p->cap_sites, p->n_sites + 1, sizeof *sites);
    const char *path;
    int rc;

    sd_assert(key->name < p->strings.n);
    sd_assert(key->parent == UINT32_MAX || key->parent < p->n_sites); /* no rings */
    if (!sites)
        return sd_no_memory();
    p->sites = sites;
    path = path_of(p, key);
    if (!path)
        return sd_no_memory();
    rc = sd_intern(&p->index->sites, key, sizeof *key, id);
    if (rc < 0)
        return rc;
    sd_assert(*id == p->n_sites); /* the place in both tables */
    p->sites[p->n_sites++] = (struct sd_site){
        .kind = (enum sd_site_kind)key->kind,
        .name = text_of(p, key->name),
        .path = path,
        .file = text_of(p, key->file),
        .line = key->line,
        .parent = { key->parent },
        .label = text_of(p, key->label),
        .is_native = key->flags & SD_SITE_NATIVE,
        .is_beyond = key->flags & SD_SITE_BEYOND,
        .twin = (uint16_t)((key->flags & SD_SITE_TWINS) / SD_SITE_TWIN),
    };
    return 0;
}

static struct sd_site_key special_site(uint32_t name)
{
    return (struct sd_site_key){ SD_SITE_SECTION, name,       UINT32_MAX, 0,
                                 UINT32_MAX,      UINT32_MAX, 0 };
}

uint32_t sd_find_site(const struct sd_profile *p, const struct sd_site_key *key)
{
    const struct sd_site_key other = special_site(STRING_TOO_MANY);
    uint32_t id = sd_intern_find(&p->index->sites, key, sizeof *key);

    return id != UINT32_MAX ? id
                            : sd_intern_find(&p->index->sites, &other, sizeof other);
}

uint32_t sd_find_too_many_site(const struct sd_profile *p)
{
    const struct sd_site_key other = special_site(STRING_TOO_MANY);

    return sd_find_site(p, &other);
}

int sd_define_too_many_site(struct sd_profile *p, uint32_t *id)
{
    const struct sd_site_key other = special_site(STRING_TOO_MANY);

    return sd_define_site(p, &other, id);
}

int sd_define_site(struct sd_profile *p, const struct sd_site_key *key, uint32_t *id)
{
    const struct sd_site_key other = special_site(STRING_TOO_MANY);

    *id = sd_intern_find(&p->index->sites, key, sizeof *key);
    if (*id != UINT32_MAX)
        return 0;
    if (sd_profile_has_room(p, sizeof *key + sizeof *p->sites))
        return new_site(p, key, id);
    *id = sd_intern_find(&p->index->sites, &other, sizeof other);
    return *id != UINT32_MAX ? 0 : new_site(p, &other, id);
}

static bool has_size(const struct sd_site *s, uint32_t argument)
{
    uint32_t i = 0;

    while (i < s->n_sizes && s->sizes[i].argument != argument)
        i++;
    return i < s->n_sizes;
}

/* They come one by one and are few, so the older ones are simply copied. */
int sd_define_size(struct sd_profile *p, uint32_t site, const struct sd_size *size)
{
    struct sd_site *s = &p->sites[site];
    size_t n = (s->n_sizes + 1) * sizeof *size, n_dims = size->n_dims * sizeof(int64_t);
    struct sd_size *sizes;

    sd_assert(site < p->n_sites && size->n_dims <= UINT8_MAX);
    if (!sd_site_is_signature(s) || has_size(s, size->argument) ||
        s->n_sizes >= SD_SIZES_MAX || !sd_profile_has_room(p, n + n_dims))
        return 0;
    sizes = sd_arena_alloc(&p->arena, n);
    if (!sizes)
        return sd_no_memory();
    if (s->n_sizes)
        memcpy(sizes, s->sizes, n - sizeof *size);
    sizes[s->n_sizes] = *size;
    sizes[s->n_sizes].dims = sd_arena_copy(&p->arena, size->dims, n_dims);
    if (!sizes[s->n_sizes].dims)
        return sd_no_memory();
    s->sizes = sizes;
    s->n_sizes++;
    return 0;
}

int sd_define_lost_site(struct sd_profile *p, uint32_t *id)
{
    const struct sd_site_key lost = special_site(STRING_LOST);

    return sd_define_site(p, &lost, id);
}

uint32_t sd_find_lost_site(const struct sd_profile *p)
{
    const struct sd_site_key lost = special_site(STRING_LOST);

    return sd_find_site(p, &lost);
}

/* It stands on stacks, so it is a function like the others there. */
static struct sd_site_key partial_site(void)
{
    struct sd_site_key key = special_site(STRING_PARTIAL);

    key.kind = SD_SITE_FUNCTION;
    return key;
}

int sd_define_partial_site(struct sd_profile *p, uint32_t *id)
{
    const struct sd_site_key partial = partial_site();

    return sd_define_site(p, &partial, id);
}

uint32_t sd_find_partial_site(const struct sd_profile *p)
{
    const struct sd_site_key partial = partial_site();

    return sd_find_site(p, &partial);
}

/* --- Tracks */

sd_track_id sd_profile_process_of(const struct sd_profile *p, sd_track_id t)
{
    for (int depth = 0; t.at != UINT32_MAX && depth < SD_TRACK_DEPTH; depth++) {
        if (p->tracks[t.at].kind == SD_TRACK_PROCESS)
            return t;
        t = p->tracks[t.at].parent;
    }
    return SD_NO_TRACK;
}

sd_track_id sd_profile_thread_of(const struct sd_profile *p, sd_track_id t)
{
    sd_track_id up = t;

    for (int depth = 0; up.at != UINT32_MAX && depth < SD_TRACK_DEPTH; depth++) {
        if (p->tracks[up.at].kind != SD_TRACK_TASK)
            return up;
        up = p->tracks[up.at].parent;
    }
    return t;
}

static struct sd_track_key key_of(const struct sd_profile *p,
                                  const struct sd_track_definition *d)
{
    struct sd_track_key key = d->key;

    key.owner = UINT32_MAX;
    if (key.kind != SD_TRACK_PROCESS)
        key.owner = sd_profile_process_of(p, (sd_track_id){ d->parent }).at;
    return key;
}

/* A process may be known before its parent is.  The parent is then filled in, unless
 * that would make a ring. */
static void adopt(struct sd_profile *p, uint32_t track, uint32_t parent)
{
    sd_track_id up = { parent };

    sd_assert(track < p->n_tracks && (parent == UINT32_MAX || parent < p->n_tracks));
    if (parent == UINT32_MAX || p->tracks[track].parent.at != UINT32_MAX)
        return;
    for (int depth = 0; up.at != UINT32_MAX; depth++) {
        if (up.at == track || depth == SD_TRACK_DEPTH)
            return;
        up = p->tracks[up.at].parent;
    }
    p->tracks[track].parent = (sd_track_id){ parent };
}

static void name_track(struct sd_profile *p, uint32_t track,
                       const struct sd_track_definition *d)
{
    if (d->name == UINT32_MAX || p->strings.items[d->name].n == 0)
        return;
    if (p->tracks[track].name && p->index->named_at[track] > d->time_ns)
        return;
    p->tracks[track].name = text_of(p, d->name);
    p->index->named_at[track] = d->time_ns;
    if (d->command != UINT32_MAX) /* not everybody who names a process knows it */
        p->tracks[track].command = text_of(p, d->command);
}

static int new_track(struct sd_profile *p, const struct sd_track_key *key, uint32_t *id)
{
    struct sd_profile_index *ix = p->index;
    struct sd_track *tracks =
        sd_grow_array(p->tracks, &p->cap_tracks, p->n_tracks + 1, sizeof *tracks);
    uint64_t *named;
    int rc;

    if (!tracks)
        return sd_no_memory();
    p->tracks = tracks;
    named = sd_grow_array(ix->named_at, &ix->cap_named, p->n_tracks + 1, sizeof *named);
    if (!named)
        return sd_no_memory();
    ix->named_at = named;
    rc = sd_intern(&ix->tracks, key, sizeof *key, id);
    if (rc < 0)
        return rc;
    sd_assert(*id == p->n_tracks && p->n_tracks < ix->cap_named);
    ix->named_at[p->n_tracks] = 0;
    p->tracks[p->n_tracks++] = (struct sd_track){
        .kind = (enum sd_track_kind)key->kind,
        .parent = SD_NO_TRACK,
        .number = key->number,
        .start = key->start,
        .host = ix->has_hosts ? text_of(p, key->host) : NULL,
        .first_ns = UINT64_MAX,
        .status = SD_STATUS_UNKNOWN,
    };
    ix->n_tasks += key->kind == SD_TRACK_TASK;
    return 0;
}

static struct sd_track_key special_track(uint32_t name)
{
    return (struct sd_track_key){
        .kind = SD_TRACK_PROCESS,
        .owner = UINT32_MAX,
        .start = name == STRING_LOST ? UINT64_MAX : UINT64_MAX - 1,
    };
}

static int define_special_track(struct sd_profile *p, uint32_t name, uint32_t *id)
{
    const struct sd_track_key key = special_track(name);
    int rc;

    *id = sd_intern_find(&p->index->tracks, &key, sizeof key);
    if (*id != UINT32_MAX)
        return 0;
    rc = new_track(p, &key, id);
    if (rc == 0)
        p->tracks[*id].name = text_of(p, name);
    return rc;
}

/* A server may run a million tasks; their threads are enough to tell them apart. */
static bool is_booked_on_parent(const struct sd_profile *p,
                                const struct sd_track_definition *d)
{
    return d->key.kind == SD_TRACK_TASK && d->parent != UINT32_MAX &&
           p->index->n_tasks >= SD_TASKS_MAX;
}

int sd_define_track(struct sd_profile *p, const struct sd_track_definition *d,
                    uint32_t *id)
{
    const struct sd_track_key key = key_of(p, d);
    int rc;

    *id = sd_intern_find(&p->index->tracks, &key, sizeof key);
    if (*id == UINT32_MAX) {
        if (is_booked_on_parent(p, d)) {
            *id = d->parent;
            return 0;
        }
        if (!sd_profile_has_room(p, sizeof key + sizeof *p->tracks))
            return define_special_track(p, STRING_TOO_MANY, id);
        rc = new_track(p, &key, id);
        if (rc < 0)
            return rc;
    }
    adopt(p, *id, d->parent);
    name_track(p, *id, d);
    return 0;
}

uint32_t sd_find_track(const struct sd_profile *p, const struct sd_track_definition *d)
{
    const struct sd_track_key key = key_of(p, d);
    const struct sd_track_key other = special_track(STRING_TOO_MANY);
    uint32_t id = sd_intern_find(&p->index->tracks, &key, sizeof key);

    if (id != UINT32_MAX)
        return id;
    if (is_booked_on_parent(p, d))
        return d->parent;
    return sd_intern_find(&p->index->tracks, &other, sizeof other);
}

int sd_define_lost_track(struct sd_profile *p, uint32_t *id)
{
    return define_special_track(p, STRING_LOST, id);
}

uint32_t sd_find_lost_track(const struct sd_profile *p)
{
    const struct sd_track_key lost = special_track(STRING_LOST);

    return sd_intern_find(&p->index->tracks, &lost, sizeof lost);
}

/* --- Metrics and shapes */

enum { MORE_METRICS = 8 }; /* that a row has room for each time it is widened */

/* Makes every row of sums wide enough for one metric more. */
static int widen(struct sd_profile *p)
{
    struct sd_profile_index *ix = p->index;
    size_t stride = ix->stride + MORE_METRICS;
    size_t n_rows = ix->n_rows ? ix->n_rows : 16;
    struct sd_sum *wide;

    if (p->n_metrics < ix->stride)
        return 0;
    wide = sd_zalloc(n_rows * stride * sizeof *wide);
    if (!wide)
        return sd_no_memory();
    for (size_t row = 0; row < p->n_spans && ix->sums; row++)
        memcpy(wide + row * stride, ix->sums + row * ix->stride,
               p->n_metrics * sizeof *wide);
    sd_free(ix->sums);
    ix->sums = wide;
    ix->stride = stride;
    ix->n_rows = n_rows;
    sd_assert(p->n_metrics < ix->stride && p->n_spans <= ix->n_rows);
    return 0;
}

static bool has_room_for_metric(struct sd_profile *p)
{
    size_t more = p->n_metrics < p->index->stride
                      ? 0
                      : p->index->n_rows * MORE_METRICS * sizeof(struct sd_sum);

    if (p->n_metrics < SD_METRICS_MAX)
        return sd_profile_has_room(p, more);
    p->index->n_refused++;
    return false;
}

uint32_t sd_find_metric(const struct sd_profile *p, const struct sd_metric_key *key)
{
    return sd_intern_find(&p->index->metrics, key, sizeof *key);
}

int sd_define_metric(struct sd_profile *p, const struct sd_metric_key *key,
                     uint32_t meaning, uint32_t *id)
{
    struct sd_metric *metrics;
    int rc;

    *id = sd_find_metric(p, key);
    if (*id != UINT32_MAX || !has_room_for_metric(p))
        return 0;
    metrics =
        sd_grow_array(p->metrics, &p->cap_metrics, p->n_metrics + 1, sizeof *metrics);
    if (!metrics)
        return sd_no_memory();
    p->metrics = metrics;
    rc = widen(p);
    if (rc < 0)
        return rc;
    rc = sd_intern(&p->index->metrics, key, sizeof *key, id);
    if (rc < 0)
        return rc;
    sd_assert(*id == p->n_metrics && p->n_metrics < SD_METRICS_MAX);
    p->metrics[p->n_metrics++] = (struct sd_metric){
        .name = text_of(p, key->name),
        .unit = (enum sd_unit)key->unit,
        .adds = (enum sd_adds)key->adds,
        .meaning = text_of(p, meaning),
    };
    return 0;
}

uint32_t sd_find_shape(const struct sd_profile *p, const uint32_t *metrics, uint32_t n)
{
    return sd_intern_find(&p->index->shapes, metrics, n * sizeof *metrics);
}

int sd_define_shape(struct sd_profile *p, const uint32_t *metrics, uint32_t n,
                    uint32_t *id)
{
    struct sd_profile_index *ix = p->index;
    struct sd_metric_set *shapes;
    sd_metric_id *copy;
    int rc;

    *id = sd_find_shape(p, metrics, n);
    if (*id != UINT32_MAX ||
        !sd_profile_has_room(p, 2 * n * sizeof *metrics + sizeof *shapes))
        return 0;
    shapes =
        sd_grow_array(ix->shapes_of, &ix->cap_shapes, ix->shapes.n + 1, sizeof *shapes);
    if (!shapes)
        return sd_no_memory();
    ix->shapes_of = shapes;
    copy = sd_arena_alloc(&p->arena, (n ? n : 1) * sizeof *copy);
    if (!copy)
        return sd_no_memory();
    for (uint32_t i = 0; i < n; i++)
        copy[i].at = metrics[i];
    rc = sd_intern(&ix->shapes, metrics, n * sizeof *metrics, id);
    if (rc < 0)
        return rc;
    sd_assert(*id < ix->cap_shapes && *id + 1 == ix->shapes.n);
    ix->shapes_of[*id] = (struct sd_metric_set){ copy, n };
    return 0;
}

/* --- Aggregates */

static int grow_rows(struct sd_profile *p)
{
    struct sd_profile_index *ix = p->index;
    size_t n_rows = ix->n_rows ? ix->n_rows * 2 : 16;
    struct sd_sum *sums;

    if (p->n_spans < ix->n_rows)
        return 0;
    if (ix->stride > 0) { /* else there is no metric yet, and widen makes the rows */
        sums = sd_regrow(ix->sums, n_rows * ix->stride * sizeof *sums);
        if (!sums)
            return sd_no_memory();
        memset(sums + ix->n_rows * ix->stride, 0,
               (n_rows - ix->n_rows) * ix->stride * sizeof *sums);
        ix->sums = sums;
    }
    ix->n_rows = n_rows;
    sd_assert(p->n_spans < ix->n_rows);
    return 0;
}

static int new_total(struct sd_profile *p, uint32_t site, uint32_t track, size_t *at)
{
    struct sd_span_total *spans =
        sd_grow_array(p->spans, &p->cap_spans, p->n_spans + 1, sizeof *spans);
    int rc;

    sd_assert(site < p->n_sites && track < p->n_tracks);
    if (!spans)
        return sd_no_memory();
    p->spans = spans;
    rc = grow_rows(p);
    if (rc < 0)
        return rc;
    rc = sd_table_put(&p->index->totals, (uint64_t)site << 32 | track, p->n_spans);
    if (rc < 0)
        return rc;
    *at = p->n_spans++;
    p->spans[*at] = (struct sd_span_total){
        .site = { site },
        .track = { track },
        .first_ns = UINT64_MAX,
    };
    return 0;
}

int sd_profile_total(struct sd_profile *p, uint32_t site, uint32_t track, size_t *at)
{
    const struct sd_site_key other = special_site(STRING_TOO_MANY);
    uint64_t known;
    int rc;

    if (sd_table_get(&p->index->totals, (uint64_t)site << 32 | track, &known)) {
        *at = (size_t)known;
        return 0;
    }
    if (sd_profile_has_room(p, sizeof *p->spans +
                                   p->index->stride * sizeof(struct sd_sum)))
        return new_total(p, site, track, at);
    rc = define_special_track(p, STRING_TOO_MANY, &track);
    if (rc < 0)
        return rc;
    rc = sd_define_site(p, &other, &site);
    if (rc < 0)
        return rc;
    if (sd_table_get(&p->index->totals, (uint64_t)site << 32 | track, &known)) {
        *at = (size_t)known;
        return 0;
    }
    return new_total(p, site, track, at);
}

int sd_profile_readings(struct sd_profile *p, uint32_t track, uint32_t metric,
                        size_t *at)
{
    uint64_t key = (uint64_t)track << 32 | metric, known;
    struct sd_series *series;
    int rc;

    sd_assert(track < p->n_tracks && metric < p->n_metrics);
    *at = SIZE_MAX;
    if (sd_table_get(&p->index->series, key, &known)) {
        *at = (size_t)known;
        return 0;
    }
    if (!sd_profile_has_room(p, sizeof *series))
        return 0;
    series = sd_grow_array(p->series, &p->cap_series, p->n_series + 1, sizeof *series);
    if (!series)
        return sd_no_memory();
    p->series = series;
    rc = sd_table_put(&p->index->series, key, p->n_series);
    if (rc < 0)
        return rc;
    *at = p->n_series++;
    p->series[*at] = (struct sd_series){ .track = { track }, .metric = { metric } };
    return 0;
}

void sd_profile_settle(struct sd_profile *p)
{
    sd_assert(!p->index->sums || p->n_spans <= p->index->n_rows);
    for (size_t i = 0; i < p->n_spans; i++)
        p->spans[i].values =
            p->index->sums ? p->index->sums + i * p->index->stride : NULL;
}

/* --- Notes and facts */

int sd_profile_add_note(struct sd_profile *p, enum sd_note_kind kind, uint64_t time_ns,
                        uint32_t track, const char *text, size_t n)
{
    struct sd_note *notes;
    const char *copy;

    sd_assert(track == UINT32_MAX || track < p->n_tracks);
    if (p->n_notes >= SD_NOTES_MAX) {
        p->index->n_notes_cut++;
        return 0;
    }
    notes = sd_grow_array(p->notes, &p->cap_notes, p->n_notes + 1, sizeof *notes);
    if (!notes)
        return sd_no_memory();
    p->notes = notes;
    /* Not interned: a note must get through when there is no room for names. */
    copy = sd_arena_string(&p->arena, text, n < SD_NOTE_BYTES ? n : SD_NOTE_BYTES);
    if (!copy)
        return sd_no_memory();
    p->notes[p->n_notes++] = (struct sd_note){ kind, time_ns, copy, { track } };
    return 0;
}

static bool has_meta(const struct sd_profile *p, const char *key, const char *value)
{
    for (size_t i = 0; i < p->n_metas; i++)
        if (p->metas[i].key == key && p->metas[i].value == value)
            return true;
    return false;
}

/* Counts of the sampler and of trees of calls: those of several captures are one sum.
 * What was asked for and the longest of something are no counts. */
static bool is_count(const char *key)
{
    if (strncmp(key, "calls.", 6) == 0)
        return true;
    return strncmp(key, "sample.", 7) == 0 && strcmp(key, "sample.asked_per_s") != 0 &&
           strcmp(key, "sample.still_most_ns") != 0;
}

/* 1 when there is a count of this key, which has grown by `value`. */
static int add_count(struct sd_profile *p, const char *key, const char *value)
{
    uint64_t before, more;
    char text[32];
    uint32_t sum;

    if (!is_count(key) || !sd_text_parse_number(value, &more))
        return 0;
    for (size_t i = 0; i < p->n_metas; i++) {
        int n, rc;

        if (p->metas[i].key != key || !sd_text_parse_number(p->metas[i].value, &before))
            continue;
        n = snprintf(text, sizeof text, "%" PRIu64, before + more);
        sd_assert(n > 0 && (size_t)n < sizeof text);
        rc = sd_define_string(p, text, (size_t)n, &sum);
        if (rc < 0)
            return rc;
        p->metas[i].value = text_of(p, sum);
        return 1;
    }
    return 0;
}

int sd_profile_add_meta(struct sd_profile *p, const char *key, size_t key_n,
                        const char *value, size_t value_n)
{
    struct sd_meta *metas;
    uint32_t k, v;
    int rc;

    rc = sd_define_string(p, key, key_n, &k);
    if (rc < 0)
        return rc;
    rc = sd_define_string(p, value, value_n, &v);
    if (rc < 0)
        return rc;
    rc = add_count(p, text_of(p, k), text_of(p, v));
    if (rc != 0)
        return rc < 0 ? rc : 0;
    if (p->n_metas >= SD_METAS_MAX || has_meta(p, text_of(p, k), text_of(p, v)))
        return 0; /* interned, so the same text is the same pointer */
    metas = sd_grow_array(p->metas, &p->cap_metas, p->n_metas + 1, sizeof *metas);
    if (!metas)
        return sd_no_memory();
    p->metas = metas;
    p->metas[p->n_metas++] = (struct sd_meta){ text_of(p, k), text_of(p, v) };
    return 0;
}

/* --- The profile itself */

struct sd_profile *sd_profile_new(void)
{
    struct sd_profile *p = sd_zalloc(sizeof *p);
    uint32_t id;

    if (!p)
        goto none;
    p->index = sd_zalloc(sizeof *p->index);
    if (!p->index)
        goto none;
    p->index->limit_bytes = SD_PROFILE_LEAST_BYTES;
    p->strings.arena = &p->arena;
    p->index->sites.arena = &p->arena;
    p->index->tracks.arena = &p->arena;
    p->index->metrics.arena = &p->arena;
    p->index->shapes.arena = &p->arena;
    if (sd_intern(&p->strings, SD_LOST_NAME, strlen(SD_LOST_NAME), &id) < 0 ||
        sd_intern(&p->strings, SD_TOO_MANY, strlen(SD_TOO_MANY), &id) < 0 ||
        sd_intern(&p->strings, SD_PARTIAL, strlen(SD_PARTIAL), &id) < 0)
        goto none;
    sd_assert(id == STRING_PARTIAL && p->strings.n == STRING_PARTIAL + 1);
    return p;
none:
    sd_profile_free(p);
    sd_no_memory();
    return NULL;
}
