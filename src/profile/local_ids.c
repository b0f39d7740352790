/* SPDX-License-Identifier: MIT */
#include "profile/local_ids.h"

#include <stddef.h>
#include <string.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/mem.h"
#include "profile/profile_define.h"
#include "profile/samples.h"

enum { NONE = UINT32_MAX };

/* --- What stands for a definition that is not there */

int sd_local_lost_site(const struct sd_decoder *d, uint32_t *id)
{
    if (d->grow)
        return sd_define_lost_site(d->grow, id);
    *id = sd_find_lost_site(d->p);
    return 0;
}

int sd_local_lost_track(const struct sd_decoder *d, uint32_t *id)
{
    if (d->grow)
        return sd_define_lost_track(d->grow, id);
    *id = sd_find_lost_track(d->p);
    return 0;
}

int sd_local_lost_stack(const struct sd_decoder *d, uint32_t *id)
{
    if (d->grow)
        return sd_define_lost_stack(d->grow, id);
    *id = sd_find_lost_stack(d->p);
    return 0;
}

/* --- Definitions */

static void set(struct sd_decoder *d, uint32_t id, unsigned kind, uint32_t is)
{
    if (id == 0 || id >= d->n_locals || is == NONE)
        return;
    d->locals[id] = (struct sd_local_id){ d->chunk_no, kind, is, NONE };
}

/* A string's id, or that of "[lost name]" (always 0: profile_define.c) when it dangles.
 */
static uint32_t name_id(const struct sd_decoder *d, uint32_t id)
{
    uint32_t known = sd_local_of(d, id, SD_REC_STRING);

    sd_assert_slow(known == NONE || known < d->p->strings.n);
    return known == NONE ? 0 : known;
}

/* The same where 0 means that there is none. */
static uint32_t optional_name(const struct sd_decoder *d, uint32_t id)
{
    return id == 0 ? NONE : name_id(d, id);
}

static int unify_string(const struct sd_decoder *d, const void *text, size_t n,
                        uint32_t *id)
{
    if (d->grow)
        return sd_define_string(d->grow, text, n, id);
    *id = sd_find_string(d->p, text, n);
    return 0;
}

/* A name may hold a 0, where C's strings end: "a\0b" and "a" would be one.  It is shown
 * by the sign Unicode has for it. */
static int unify_with_zeros(const struct sd_decoder *d, const char *text, size_t n,
                            uint32_t *id)
{
    struct sd_buf shown = { 0 };
    int rc;

    for (size_t i = 0; i < n; i++)
        if (text[i])
            sd_buf_u8(&shown, (uint8_t)text[i]);
        else
            sd_buf_text(&shown, "\u2400");
    rc = shown.bad ? sd_no_memory() : unify_string(d, shown.p, shown.n, id);
    sd_buf_release(&shown);
    return rc;
}

static int take_string(struct sd_decoder *d, const struct sd_rec_string *r)
{
    size_t room = r->head.len - offsetof(struct sd_rec_string, text);
    size_t n = r->n < room ? r->n : room;
    uint32_t id;
    int rc = memchr(r->text, 0, n) ? unify_with_zeros(d, (const char *)r->text, n, &id)
                                   : unify_string(d, r->text, n, &id);

    if (rc == 0)
        set(d, r->id, SD_REC_STRING, id);
    return rc;
}

static int take_site(struct sd_decoder *d, const struct sd_rec_site *r)
{
    struct sd_site_key key = {
        .kind = sd_local_known_kind(r->kind, SD_SITE_LAYER, SD_SITE_SECTION),
        .name = name_id(d, r->name),
        .file = optional_name(d, r->file),
        .line = r->line,
        .parent = sd_local_of(d, r->parent, SD_REC_SITE),
        .label = optional_name(d, r->label),
        .flags = r->flags & (SD_SITE_NATIVE | SD_SITE_BEYOND | SD_SITE_TWINS),
    };
    uint32_t id;
    int rc = 0;

    if (r->parent != 0 && key.parent == NONE)
        rc = sd_local_lost_site(d, &key.parent);
    if (rc < 0 || (r->parent != 0 && key.parent == NONE))
        return rc; /* of what came later: else it would be one without a parent */
    /* A signature goes by all of its text. */
    if (key.kind == SD_SITE_FUNCTION && key.parent != NONE && key.label != NONE)
        key.name = key.label;
    if (d->grow)
        rc = sd_define_site(d->grow, &key, &id);
    else
        id = sd_find_site(d->p, &key);
    if (rc == 0)
        set(d, r->id, SD_REC_SITE, id);
    return rc;
}

/* Its last dimensions are left out where there are more than anyone uses. */
static int take_size(struct sd_decoder *d, const struct sd_rec_size *r)
{
    size_t room = (r->head.len - offsetof(struct sd_rec_size, dims)) / sizeof(int64_t);
    uint32_t site = sd_local_of(d, r->site, SD_REC_SITE);
    struct sd_size size = {
        .argument = r->argument,
        .kind = sd_local_known_kind(r->kind % SD_SIZE_ROUNDED, SD_SIZE_VALUE,
                                    SD_SIZE_LENGTH),
        .is_rounded = r->kind & SD_SIZE_ROUNDED,
        .n_dims = r->n_dims < room ? r->n_dims : (uint32_t)room,
        .dims = r->dims,
    };

    if (!d->grow || site == NONE)
        return 0;
    for (uint32_t i = 0; i < size.n_dims; i++)
        if (r->dims[i] < 0)
            return 0;
    size.name = d->grow->strings.items[name_id(d, r->name)].p;
    return sd_define_size(d->grow, site, &size);
}

/* Ends are matched to begins within a process; a track without one is its own. */
static void set_track(struct sd_decoder *d, uint32_t local_at, uint32_t id)
{
    struct sd_local_id *l;

    sd_assert(id == NONE || id < d->p->n_tracks);
    set(d, local_at, SD_REC_TRACK, id);
    l = sd_local_find(d, local_at, SD_REC_TRACK);
    if (!l)
        return;
    l->process = sd_profile_process_of(d->p, (sd_track_id){ id }).at;
    if (l->process == NONE)
        l->process = id;
}

static int take_track(struct sd_decoder *d, const struct sd_rec_track *r)
{
    struct sd_track_definition def = {
        .key = { .kind = sd_local_known_kind(r->kind, SD_TRACK_DEVICE, SD_TRACK_THREAD),
                 .number = r->number,
                 .start = r->start,
                 .host = d->host },
        .parent = sd_local_of(d, r->parent, SD_REC_TRACK),
        .name = optional_name(d, r->name),
        .command = optional_name(d, r->command),
        .time_ns = sd_decoder_moment(d, d->view.t0),
    };
    uint32_t id;
    int rc = 0;

    if (d->grow)
        rc = sd_define_track(d->grow, &def, &id);
    else
        id = sd_find_track(d->p, &def);
    if (rc == 0)
        set_track(d, r->id, id);
    return rc;
}

static int take_metric(struct sd_decoder *d, const struct sd_rec_metric *r)
{
    struct sd_metric_key key = {
        .name = name_id(d, r->name),
        .unit = sd_local_known_kind(r->unit, SD_UNIT_BYTES, SD_UNIT_COUNT),
        .adds = sd_local_known_kind(r->adds, SD_ADDS_PEAK, SD_ADDS_LEVEL),
    };
    uint32_t id;
    int rc = 0;

    if (d->grow)
        rc = sd_define_metric(d->grow, &key, optional_name(d, r->meaning), &id);
    else
        id = sd_find_metric(d->p, &key);
    if (rc == 0)
        set(d, r->id, SD_REC_METRIC, id);
    return rc;
}

/* A shape ends at the first metric that dangles: the values before it are still sure.
 */
static int take_shape(struct sd_decoder *d, const struct sd_rec_shape *r)
{
    size_t room = (r->head.len - offsetof(struct sd_rec_shape, metrics)) / 4;
    uint32_t metrics[SD_METRICS_MAX], n = 0, id;
    int rc = 0;

    for (; n < r->n && n < room && n < SD_METRICS_MAX; n++) {
        metrics[n] = sd_local_of(d, r->metrics[n], SD_REC_METRIC);
        if (metrics[n] == NONE)
            break;
    }
    sd_assert(n <= SD_METRICS_MAX && n <= room);
    if (d->grow)
        rc = sd_define_shape(d->grow, metrics, n, &id);
    else
        id = sd_find_shape(d->p, metrics, n);
    if (rc == 0)
        set(d, r->id, SD_REC_SHAPE, id);
    return rc;
}

static int take_stack(struct sd_decoder *d, const struct sd_rec_stack *r)
{
    struct sd_stack key = {
        .parent = { sd_local_of(d, r->parent, SD_REC_STACK) },
        .site = { sd_local_of(d, r->site, SD_REC_SITE) },
        .line = r->line,
    };
    uint32_t id;
    int rc = 0;

    if (r->parent != 0 && key.parent.at == NONE)
        rc = sd_local_lost_stack(d, &key.parent.at);
    if (rc == 0 && key.site.at == NONE)
        rc = sd_local_lost_site(d, &key.site.at);
    if (rc < 0 || (r->parent != 0 && key.parent.at == NONE) || key.site.at == NONE)
        return rc; /* of what came later, as above */
    if (d->grow)
        rc = sd_define_stack(d->grow, &key, &id);
    else
        id = sd_find_stack(d->p, &key);
    if (rc == 0)
        set(d, r->id, SD_REC_STACK, id);
    return rc;
}

int sd_local_define(struct sd_decoder *d, const struct sd_record *rec)
{
    const void *r = rec;

    switch (rec->type) {
    case SD_REC_STACK:
        return take_stack(d, r);
    case SD_REC_STRING:
        return take_string(d, r);
    case SD_REC_SITE:
        return take_site(d, r);
    case SD_REC_SIZE:
        return take_size(d, r);
    case SD_REC_TRACK:
        return take_track(d, r);
    case SD_REC_METRIC:
        return take_metric(d, r);
    case SD_REC_SHAPE:
        return take_shape(d, r);
    default:
        return 0;
    }
}

/* A definition has at least 16 bytes and ids are numbered from 1, so this is room for
 * all of them. */
int sd_local_make_room(struct sd_decoder *d, uint64_t defs_bytes)
{
    size_t need = (size_t)(defs_bytes / 16) + 2, cap = d->n_locals;
    struct sd_local_id *locals;

    if (need <= cap)
        return 0;
    locals = sd_grow_array(d->locals, &cap, need, sizeof *locals);
    if (!locals)
        return sd_no_memory();
    memset(locals + d->n_locals, 0, (cap - d->n_locals) * sizeof *locals);
    d->locals = locals;
    d->n_locals = cap;
    sd_assert(d->n_locals >= need);
    return 0;
}
