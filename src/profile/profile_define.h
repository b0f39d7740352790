/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_PROFILE_DEFINE_H
#define SD_PROFILE_PROFILE_DEFINE_H
/* profile_define: gives what many chunks define again one id in the profile.
 *
 * Equal content is the same thing, so each kind is interned by a small key of numbers
 * that already are ids of the profile; the place in the interning table is the id.
 * Parents are ids of what is there already, so no chain of parents can be a ring.
 *
 * A file may lie about how much there is to remember, and a few compressed bytes may
 * stand for very many.  So a profile has a bound: SD_PROFILE_TIMES the bytes of the
 * capture as they lie on disk, and SD_PROFILE_LEAST_BYTES more, but not more than half
 * of the memory that is left; the other half is for whatever is made of the profile.
 * Beyond it new names all become "[too many names]", and the profile says so. */
#include <stdbool.h>
#include <stdint.h>

#include "base/table.h"
#include "profile/profile.h"
#include "profile/triples.h"

enum {
    SD_PROFILE_TIMES = 256,
    SD_PROFILE_LEAST_BYTES = 16 << 20,
    SD_NOTE_BYTES = 4096, /* of one note */
    SD_METRICS_MAX = 256,
    SD_PATH_MAX = 4096,  /* bytes; a longer path keeps its end */
    SD_TASKS_MAX = 4096, /* further tasks are booked on their thread */
    SD_NOTES_MAX = 1024,
    SD_METAS_MAX = 1024,
    SD_TRACK_DEPTH = 64, /* of parents */
};

struct sd_metric_set {
    const sd_metric_id *metrics; /* in the arena */
    uint32_t n;
};

struct sd_profile_index {
    struct sd_intern sites, tracks, metrics, shapes;
    struct sd_metric_set *shapes_of; /* owned; by shape id */
    size_t cap_shapes;
    uint64_t *named_at; /* owned; by track id: when the name it has was given */
    size_t cap_named;
    struct sd_table totals;   /* site << 32 | track: place in spans */
    struct sd_table series;   /* track << 32 | metric: place in series */
    struct sd_triples stacks; /* parent, site, line */
    struct sd_triples
        places[SD_EVIDENCES]; /* of those with stacks: stack, track, flags */
    /* The values of all span totals, row after row, `stride` each: one block, because
     * metrics keep turning up while totals are there already. */
    struct sd_sum *sums; /* owned */
    size_t stride, n_rows;
    size_t n_tasks;
    uint64_t limit_bytes;     /* the bound */
    uint64_t gathered_bytes;  /* of tables that are being read: part of what is used */
    bool has_hosts;           /* track keys hold hosts too: after a merge */
    uint64_t n_refused;       /* definitions that were one too many */
    uint64_t n_cells_refused; /* cells of tables, and ... */
    uint64_t n_calls_refused; /* ... the calls that those of traced calls counted */
    uint64_t n_opens_refused; /* unfinished sections beyond SD_OPENS_MAX */
    uint64_t n_models_cut;    /* models that are not whole */
    uint64_t n_notes_cut;     /* notes beyond SD_NOTES_MAX */
    struct sd_slices *slices; /* owned; of samples, where they were gathered on the way
                                 and nobody has taken them, or NULL */
    struct sd_chunk_times *times; /* owned; of each chunk, where they are wanted, or
                                     NULL */
};

enum { SD_SIZES_MAX = 64 }; /* arguments of a signature whose sizes are kept */

#define SD_LOST_NAME "[lost name]"
#define SD_TOO_MANY "[too many names]"
#define SD_PARTIAL "[partial]"

/* What a definition says, in ids of the profile. */
struct sd_site_key {
    uint32_t kind, name, file, line, parent, label; /* UINT32_MAX: none */
    uint32_t flags;                                 /* enum sd_site_flags */
};
struct sd_track_key {
    uint32_t kind;
    uint32_t owner; /* track: the process of a thread or task; UINT32_MAX: none */
    uint64_t number, start;
    uint32_t host; /* string, once profiles of several hosts meet */
    uint32_t pad;
};
struct sd_metric_key {
    uint32_t name, unit, adds;
};

_Static_assert(sizeof(struct sd_site_key) == 7 * sizeof(uint32_t) &&
                   sizeof(struct sd_track_key) == 32 &&
                   sizeof(struct sd_metric_key) == 12,
               "keys are compared as bytes: none of them is padding");

struct sd_profile *sd_profile_new(void); /* or NULL, with its sentence */

/* Bounds it by the size of its input, in bytes as they lie on disk.  A profile that
 * captures are added to later has room for `stored_bytes` more of them. */
void sd_profile_bound(struct sd_profile *p, uint64_t stored_bytes);
/* Is there room for n bytes more?  If not, one more definition is counted as refused.
 */
bool sd_profile_has_room(struct sd_profile *p, size_t n);

/* Each puts the id into *id: the one there is, or a new one.  0 or SD_ENOMEM. */
int sd_define_string(struct sd_profile *p, const void *s, size_t n, uint32_t *id);
int sd_define_site(struct sd_profile *p, const struct sd_site_key *key, uint32_t *id);
int sd_define_metric(struct sd_profile *p, const struct sd_metric_key *key,
                     uint32_t meaning, uint32_t *id);
int sd_define_shape(struct sd_profile *p, const uint32_t *metrics, uint32_t n,
                    uint32_t *id);
/* The size of a signature's argument, copied; the one that it has already stays. */
int sd_define_size(struct sd_profile *p, uint32_t site, const struct sd_size *size);
/* `parent` is a track or UINT32_MAX; `name` a string or UINT32_MAX; the name with the
 * latest time stays. */
struct sd_track_definition {
    struct sd_track_key key;        /* its owner is filled in here */
    uint32_t parent, name, command; /* UINT32_MAX: none */
    uint64_t time_ns;
};
int sd_define_track(struct sd_profile *p, const struct sd_track_definition *d,
                    uint32_t *id);
int sd_define_lost_site(struct sd_profile *p, uint32_t *id);
int sd_define_too_many_site(struct sd_profile *p, uint32_t *id);
int sd_define_partial_site(struct sd_profile *p, uint32_t *id);
int sd_define_lost_track(struct sd_profile *p, uint32_t *id);

/* The same without changing the profile; UINT32_MAX: not there. */
uint32_t sd_find_string(const struct sd_profile *p, const void *s, size_t n);
uint32_t sd_find_site(const struct sd_profile *p, const struct sd_site_key *key);
uint32_t sd_find_metric(const struct sd_profile *p, const struct sd_metric_key *key);
uint32_t sd_find_shape(const struct sd_profile *p, const uint32_t *metrics, uint32_t n);
uint32_t sd_find_track(const struct sd_profile *p, const struct sd_track_definition *d);
uint32_t sd_find_lost_site(const struct sd_profile *p);
uint32_t sd_find_too_many_site(const struct sd_profile *p);
uint32_t sd_find_partial_site(const struct sd_profile *p);
uint32_t sd_find_lost_track(const struct sd_profile *p);

/* The aggregates of one site on one track, or one metric on one track; made when new.
 * *at is its place; SIZE_MAX for readings there is no room for. */
int sd_profile_total(struct sd_profile *p, uint32_t site, uint32_t track, size_t *at);
int sd_profile_readings(struct sd_profile *p, uint32_t track, uint32_t metric,
                        size_t *at);
/* Points `values` of all totals at their rows: after the last change. */
void sd_profile_settle(struct sd_profile *p);
/* How many buckets a series may have now: fewer when there are very many series. */
uint32_t sd_profile_bucket_limit(const struct sd_profile *p);
uint32_t sd_profile_interval_limit(const struct sd_profile *p);

int sd_profile_add_note(struct sd_profile *p, enum sd_note_kind kind, uint64_t time_ns,
                        uint32_t track, const char *text, size_t n);
/* The same fact again is no other one, but counts of the sampler and of traced
 * calls (sample.*, calls.*) add up. */
int sd_profile_add_meta(struct sd_profile *p, const char *key, size_t key_n,
                        const char *value, size_t value_n);
#endif
