/* SPDX-License-Identifier: MIT */
#include "capture/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/capture.h"
#include "capture/cells_in.h"
#include "capture/gather.h"

static struct sd_reader *new_reader(void)
{
    struct sd_reader *r = sd_zalloc(sizeof *r);

    if (!r)
        return NULL;
    r->health.status = SD_STATUS_UNKNOWN;
    r->file.fd = r->spilled.fd = -1;
    r->raw = sd_alloc(SD_CHUNK_RAW_MAX);
    if (!r->raw) {
        sd_reader_free(r);
        return NULL;
    }
    return r;
}

static int is_a_folder(const char *path)
{
    static const char live[] = ".live";
    size_t n = strlen(path), k = sizeof live - 1;

    while (n > 1 && path[n - 1] == '/')
        n--;
    if (n > k && memcmp(path + n - k, live, k) == 0)
        return sd_fail(SD_EFORMAT,
                       "%s is the folder beside a capture; name the capture, and both "
                       "are read: %.*s",
                       path, (int)(n - k), path);
    return sd_fail(SD_EFORMAT, "%s is a directory, not a capture", path);
}

static int open_regular(const char *path, int *fd)
{
    struct stat st;

    /* Without O_NONBLOCK a pipe would wait for its writer. */
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (*fd < 0)
        return sd_fail_errno(errno, "cannot open %s", path);
    if (fstat(*fd, &st) == 0 && S_ISREG(st.st_mode))
        return 0;
    close(*fd);
    if (S_ISDIR(st.st_mode))
        return is_a_folder(path);
    return sd_fail(SD_EFORMAT, "%s is not a regular file", path);
}

/* The folder's name, by the name that the file really has: a link may lead to it. */
static char *folder_beside(const char *path)
{
    char real[PATH_MAX], *dir;
    size_t n;

    if (!realpath(path, real))
        return sd_strdup(""); /* gone meanwhile: no folder */
    n = strlen(real) + sizeof ".live";
    dir = sd_alloc(n);
    if (dir)
        snprintf(dir, n, "%s.live", real);
    return dir;
}

static int finish_opening(struct sd_reader *r, int rc, struct sd_reader **out)
{
    if (rc == 0)
        rc = sd_gather(r);
    if (rc < 0) {
        sd_reader_free(r);
        return rc;
    }
    sd_complain(r);
    *out = r;
    return 0;
}

int sd_reader_open(const char *path, struct sd_reader **out)
{
    return sd_reader_open_at(path, 0, out);
}

uint64_t sd_reader_next_at(const struct sd_reader *r)
{
    return r->next_at ? r->file.base + r->next_at : 0;
}

int sd_reader_open_at(const char *path, uint64_t at, struct sd_reader **out)
{
    struct sd_reader *r;
    struct stat st;
    uint64_t size;
    int fd, rc = open_regular(path, &fd);

    *out = NULL;
    if (rc < 0)
        return rc;
    r = new_reader();
    if (!r) {
        close(fd);
        return sd_no_memory();
    }
    size = fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
    sd_source_of_fd(&r->file, fd, at, size > at ? size - at : 0);
    r->dir = folder_beside(path);
    rc = r->dir ? 0 : sd_no_memory();
    rc = finish_opening(r, rc, out);
    return rc < 0 && rc != SD_ENOMEM ? sd_fail_in(rc, "%s", path) : rc;
}

int sd_reader_open_bytes(const void *p, size_t n, struct sd_reader **out)
{
    struct sd_reader *r = new_reader();

    *out = NULL;
    if (!r)
        return sd_no_memory();
    sd_source_of_bytes(&r->file, n ? p : "", n);
    return finish_opening(r, 0, out);
}

const struct sd_health *sd_reader_health(const struct sd_reader *r)
{
    return &r->health;
}

/* --- One chunk after the other */

static int load_chunk(struct sd_reader *r, struct sd_source *source,
                      const struct sd_ref *ref)
{
    size_t n = SD_CHUNK_HEAD + (size_t)ref->head.stored_len;
    const uint8_t *p = sd_source_at(source, ref->at, n);

    if (!p || memcmp(p, &ref->head, SD_CHUNK_HEAD) != 0)
        return SD_EFORMAT;
    return sd_expand(&r->squeezer, &ref->head, p + SD_CHUNK_HEAD, r->raw);
}

static int load_spilled(struct sd_reader *r, const struct sd_ref *ref)
{
    return sd_gather_spilled(r, ref->file) ? load_chunk(r, &r->spilled, ref)
                                           : SD_EFORMAT;
}

static int load_live(struct sd_reader *r, const struct sd_ref *ref)
{
    struct sd_chunk_head head;
    struct sd_live_in in;
    struct sd_slot slot;
    uint32_t bad, i = (uint32_t)(ref->at / 2);
    int rc = sd_live_in_open(&in, r->dir, &r->files[ref->file], r->salt, false);

    sd_assert(ref->file < r->n_files);
    if (rc < 0)
        return SD_EFORMAT;
    rc = SD_EFORMAT;
    if (in.head.kind == SD_LIVE_CELLS) {
        if (sd_cells_in_segment(&in, (uint32_t)ref->at, r->raw, &head))
            rc = 0;
    } else if (sd_live_in_slot(&in, i, &slot) &&
               sd_live_in_half(&in, i, &slot, (int)(ref->at % 2), r->raw, &head,
                               &bad) == 1) {
        rc = 0;
    }
    sd_live_in_close(&in);
    return rc == 0 && head.stream == ref->head.stream && head.seq == ref->head.seq &&
                   head.raw_len >= ref->head.raw_len
               ? 0
               : SD_EFORMAT;
}

static int load(struct sd_reader *r, const struct sd_ref *ref)
{
    const struct sd_ref *late;
    int rc;

    sd_assert(ref->head.raw_len <= SD_CHUNK_RAW_MAX);
    if (ref->copy) {
        memcpy(r->raw, ref->copy, ref->head.raw_len);
        return 0;
    }
    if (ref->place == SD_IN_FILE)
        return load_chunk(r, &r->file, ref);
    rc = ref->place == SD_IN_LIVE ? load_live(r, ref) : load_spilled(r, ref);
    if (rc != SD_EFORMAT)
        return rc;
    /* It was there when we opened; the owner has sealed it since. */
    late = sd_gather_late(r, ref);
    return late && late->head.raw_len >= ref->head.raw_len
               ? load_chunk(r, &r->file, late)
               : SD_EFORMAT;
}

static bool is_for_callers(uint16_t type)
{
    return type == SD_CHUNK_EVENTS || type == SD_CHUNK_META || type == SD_CHUNK_DEFS ||
           type == SD_CHUNK_CELLS || type == SD_CHUNK_ALLOC;
}

static bool is_handed_out(const struct sd_reader *r, const struct sd_ref *ref)
{
    return is_for_callers(ref->head.type) && ref->head.type != r->left_out &&
           (!r->chosen || r->chosen[ref - r->refs.at]);
}

static void fill_view(struct sd_chunk_view *view, const struct sd_reader *r,
                      const struct sd_ref *ref)
{
    *view = (struct sd_chunk_view){ .stream = ref->head.stream,
                                    .seq = ref->head.seq,
                                    .type = ref->head.type,
                                    .is_live = ref->place != SD_IN_FILE,
                                    .is_first_of_stream = ref->is_first,
                                    .is_last_of_stream = ref->is_last,
                                    .is_after_gap = ref->is_after_gap,
                                    .count = ref->head.count,
                                    .lost_before = ref->head.lost_before,
                                    .t0 = ref->head.t0,
                                    .t1 = ref->head.t1,
                                    .p = r->raw,
                                    .n = ref->head.raw_len };
}

/* The events of a chunk that cannot be opened after all are taken back. */
static void count_bad(struct sd_reader *r, struct sd_ref *ref)
{
    sd_assert(r->health.events >= ref->head.count);
    r->health.bad_chunks++;
    r->health.events -= ref->head.count;
    if (ref->place != SD_IN_FILE)
        r->health.live_events -= ref->head.count;
    ref->head.count = 0;
    ref->head.type = 0; /* counted once, however often it is read */
    sd_complain(r);
}

int sd_reader_next(struct sd_reader *r, struct sd_chunk_view *view)
{
    while (r->at < r->refs.n) {
        struct sd_ref *ref = &r->refs.at[r->at++];
        int rc;

        atomic_fetch_add_explicit(&r->n_read, 1, memory_order_relaxed);
        if (!is_handed_out(r, ref))
            continue;
        rc = load(r, ref);
        if (rc == 0) {
            fill_view(view, r, ref);
            return 1;
        }
        if (rc == SD_ENOMEM)
            return rc;
        count_bad(r, ref);
    }
    return 0;
}

void sd_reader_leave_out(struct sd_reader *r, enum sd_chunk_type type)
{
    r->left_out = (uint16_t)type;
}

size_t sd_reader_n_chunks(const struct sd_reader *r) { return r->refs.n; }

const struct sd_chunk_head *sd_reader_head(const struct sd_reader *r, size_t i)
{
    sd_assert(i < r->refs.n);
    return &r->refs.at[i].head;
}

int sd_reader_load(struct sd_reader *r, size_t i, struct sd_chunk_view *view)
{
    int rc;

    sd_assert(i < r->refs.n && is_for_callers(r->refs.at[i].head.type));
    rc = load(r, &r->refs.at[i]);
    if (rc == 0)
        fill_view(view, r, &r->refs.at[i]);
    else if (rc != SD_ENOMEM)
        count_bad(r, &r->refs.at[i]);
    return rc;
}

uint64_t sd_reader_n_read(const struct sd_reader *r)
{
    return atomic_load_explicit(&r->n_read, memory_order_relaxed);
}

void sd_reader_rewind(struct sd_reader *r)
{
    r->at = 0;
    atomic_store_explicit(&r->n_read, 0, memory_order_relaxed);
}

void sd_reader_choose(struct sd_reader *r, const uint8_t *chosen)
{
    r->chosen = chosen;
}

size_t sd_reader_place(const struct sd_reader *r)
{
    sd_assert(r->at > 0 && r->at <= r->refs.n);
    return r->at - 1;
}

const char *sd_reader_complaint(const struct sd_reader *r)
{
    return r->complaint[0] ? r->complaint : NULL;
}

const char *sd_reader_damage(const struct sd_reader *r)
{
    return r->damage[0] ? r->damage : NULL;
}

void sd_reader_free(struct sd_reader *r)
{
    if (!r)
        return;
    sd_source_release(&r->file);
    sd_source_release(&r->spilled);
    sd_free(r->files);
    sd_refs_release(&r->refs);
    sd_refs_release(&r->late);
    sd_squeezer_release(&r->squeezer);
    sd_free(r->raw);
    sd_free(r->dir);
    sd_free(r);
}

const struct sd_record *sd_chunk_view_next(const struct sd_chunk_view *view,
                                           uint32_t *at)
{
    if (view->type == SD_CHUNK_CELLS)
        return NULL;
    sd_assert(*at <= view->n);
    while (view->n - *at >= 8) {
        const struct sd_record *r = (const void *)(view->p + *at);

        if (r->len < 8 || r->len % 8 || r->len > view->n - *at || r->type == 0)
            return NULL;
        *at += r->len;
        if (sd_record_is_sound(r))
            return r;
    }
    return NULL;
}
