/* SPDX-License-Identifier: MIT */
#include "capture/gather.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/cells_in.h"

/* --- Chunks of a file */

static void read_end(struct sd_reader *r, const struct sd_source_chunk *found)
{
    if (found->head.stored_len < sizeof r->end || found->head.flags & SD_CHUNK_ZSTD)
        return;
    memcpy(&r->end, found->payload, sizeof r->end);
    r->health.is_ended = true;
    r->health.status = r->end.status;
}

static int add_chunk(struct sd_reader *r, enum sd_place place,
                     const struct sd_source_chunk *found)
{
    struct sd_ref ref = { .head = found->head, .place = place, .at = found->at };

    if (place == SD_IN_FILE && found->head.type == SD_CHUNK_END) {
        read_end(r, found);
        return 0;
    }
    if (place == SD_IN_FILE)
        r->n_sealed++;
    else
        ref.file = (uint32_t)r->n_files - 1;
    return sd_refs_add(&r->refs, &ref);
}

static int scan(struct sd_reader *r, enum sd_place place, uint64_t from)
{
    struct sd_source *source = place == SD_IN_FILE ? &r->file : &r->spilled;
    struct sd_scan scan;
    struct sd_source_chunk found;
    int rc = 0;

    sd_scan_init(&scan, source, r->salt, from);
    while (rc == 0 && sd_scan_next(&scan, &found))
        rc = add_chunk(r, place, &found);
    r->health.bad_chunks += scan.bad_chunks;
    r->health.bad_bytes += scan.bad_bytes;
    r->health.is_cut |= scan.is_cut;
    if (place == SD_IN_FILE)
        r->scanned = scan.at;
    if (rc == 0 && source->error)
        rc = sd_fail_errno(source->error, "cannot be read");
    return rc;
}

/* --- The preamble */

/* The captures of a merged file stand one behind the other: this one ends after n
 * bytes. 0: it is the only one. */
static void bound_part(struct sd_reader *r, uint64_t n)
{
    r->is_part = n != 0 || r->file.base != 0;
    if (n < sizeof(struct sd_preamble) || n >= r->file.n)
        return;
    r->next_at = n;
    r->file.n = n;
}

static bool is_preamble_at(struct sd_reader *r, uint64_t at)
{
    const uint8_t *p = sd_source_at(&r->file, at, sizeof(struct sd_preamble));
    struct sd_preamble preamble;

    if (!p || memcmp(p, SD_PREAMBLE_MAGIC, sizeof preamble.magic) != 0)
        return false;
    memcpy(&preamble, p, sizeof preamble);
    return sd_preamble_is_sound(&preamble);
}

/* How long a part is whose own preamble cannot say: up to the next one; 0: there is
 * none. */
static uint64_t find_preamble(struct sd_reader *r)
{
    enum { STEP = 4096 };
    uint64_t at = 1;

    while (at < r->file.n) {
        size_t n = r->file.n - at < STEP + 8 ? (size_t)(r->file.n - at) : STEP + 8;
        const uint8_t *p = sd_source_at(&r->file, at, n);
        const uint8_t *found = p ? memmem(p, n, SD_PREAMBLE_MAGIC, 8) : NULL;

        if (!found) {
            at += STEP;
            continue;
        }
        /* Asking for it may move the window: only the offset is kept. */
        at += (uint64_t)(found - p);
        if (is_preamble_at(r, at))
            return at;
        at++; /* a damaged one: a whole one may stand close behind it */
    }
    return 0;
}

/* Damage there costs nothing but two dates: the salt stands in every chunk, and in the
 * folder.  A newer version is refused only when the preamble is whole. */
static int read_preamble(struct sd_reader *r)
{
    const uint8_t *p = sd_source_at(&r->file, 0, sizeof(struct sd_preamble));
    struct sd_preamble preamble;

    r->is_preamble_bad = true;
    if (!p)
        return 0;
    memcpy(&preamble, p, sizeof preamble);
    if (!sd_preamble_is_sound(&preamble)) {
        bound_part(r, find_preamble(r));
        return 0;
    }
    if (preamble.major > SD_FORMAT_MAJOR)
        return sd_fail(SD_EFORMAT,
                       "written by a newer Sonde (format %u.%u; this one reads %u.x)",
                       preamble.major, preamble.minor, SD_FORMAT_MAJOR);
    r->is_preamble_bad = false;
    r->salt = preamble.salt;
    r->health.created_real_ns = preamble.created_real_ns;
    r->health.created_mono_ns = preamble.created_mono_ns;
    r->health.major = preamble.major;
    r->health.minor = preamble.minor;
    bound_part(r, preamble.part_bytes);
    if (!r->next_at)
        r->n_parts_gone = preamble.n_after;
    return 0;
}

/* Without a preamble: the salt of the first whole chunk. */
static void learn_salt(struct sd_reader *r)
{
    struct sd_scan scan;
    struct sd_source_chunk found;

    sd_scan_init(&scan, &r->file, 0, 0);
    if (sd_scan_next(&scan, &found))
        r->salt = found.head.salt;
}

/* --- The live folder */

static int add_copy(struct sd_reader *r, struct sd_ref *ref)
{
    int rc;

    sd_assert(ref->head.raw_len <= SD_CHUNK_RAW_MAX);
    ref->copy = sd_alloc(ref->head.raw_len);
    if (!ref->copy)
        return sd_no_memory();
    memcpy(ref->copy, r->raw, ref->head.raw_len);
    rc = sd_refs_add(&r->refs, ref);
    if (rc < 0)
        sd_free(ref->copy);
    return rc;
}

/* A half that is handed on while it is read is tried again a few times; it is then in
 * .chunks or in the file, which are read later. */
static int add_half(struct sd_reader *r, const struct sd_live_in *in, uint32_t i,
                    int half, bool is_alive)
{
    struct sd_ref ref = { .place = SD_IN_LIVE,
                          .file = (uint32_t)r->n_files - 1,
                          .at = (uint64_t)i * 2 + (uint64_t)half };
    struct sd_slot slot;
    uint32_t bad = 0;
    int rc = SD_ETORN;

    for (int tries = 0; tries < 8 && rc == SD_ETORN; tries++) {
        if (!sd_live_in_slot(in, i, &slot))
            return 0;
        rc = sd_live_in_half(in, i, &slot, half, r->raw, &ref.head, &bad);
    }
    r->health.bad_bytes += bad;
    if (rc != 1)
        return 0;
    return is_alive ? add_copy(r, &ref) : sd_refs_add(&r->refs, &ref);
}

static int add_slots(struct sd_reader *r, const struct sd_live_in *in, bool is_alive)
{
    uint32_t n =
        in->head.n_slots < in->head.max_slots ? in->head.n_slots : in->head.max_slots;
    struct sd_slot slot;
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        if (!sd_live_in_slot(in, i, &slot))
            continue;
        r->health.lost_events += sd_slot_stray_losses(&slot);
        rc = add_half(r, in, i, 0, is_alive);
        if (rc == 0)
            rc = add_half(r, in, i, 1, is_alive);
    }
    return rc;
}

static int add_segments(struct sd_reader *r, const struct sd_live_in *in)
{
    struct sd_ref ref = { .place = SD_IN_LIVE, .file = (uint32_t)r->n_files - 1 };
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < in->head.n_slots; i++) {
        ref.at = i;
        if (sd_cells_in_segment(in, i, r->raw, &ref.head))
            rc = sd_refs_add(&r->refs, &ref);
    }
    return rc;
}

bool sd_gather_spilled(struct sd_reader *r, uint32_t i)
{
    struct sd_live_name name = r->files[i];
    struct stat st;
    int fd;

    sd_assert(i < r->n_files && r->dir);
    if (r->spilled.fd >= 0 && r->spilled_i == i)
        return true;
    sd_source_release(&r->spilled);
    name.suffix = SD_NAME_CHUNKS;
    fd = sd_folder_open(r->dir, &name, false);
    if (fd < 0)
        return false;
    sd_source_of_fd(&r->spilled, fd, 0, fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0);
    r->spilled_i = i;
    return true;
}

/* The owner gives back to the disk what it has sealed: it says up to where, and then
 * there are zeros.  Who began to read before that takes them for damage; he sees that
 * the word has moved, and reads on from there. */
int sd_gather_chunks(struct sd_reader *r, struct sd_live_in *in)
{
    struct sd_health was = r->health;
    bool has_moved = true;
    int rc = 0;

    for (int tries = 0; tries < 8 && rc == 0 && has_moved; tries++) {
        uint64_t from = in->head.drained;

        r->health = was;
        r->spilled.window_n = 0;
        rc = scan(r, SD_IN_CHUNKS, from);
        has_moved = sd_live_in_refresh(in, r->salt) == 0 && in->head.drained > from;
    }
    if (has_moved)
        r->health = was;
    return rc;
}

static int add_chunks_file(struct sd_reader *r, struct sd_live_in *in)
{
    if (sd_gather_spilled(r, (uint32_t)r->n_files - 1))
        return sd_gather_chunks(r, in);
    if (errno == ENOENT)
        return 0;
    return sd_fail_errno(errno, "the events of process %u in %s cannot be read",
                         in->name.pid, r->dir);
}

static int add_file(struct sd_reader *r, struct sd_live_in *in)
{
    struct sd_live_name *files =
        sd_grow_array(r->files, &r->cap_files, r->n_files + 1, sizeof *files);
    bool is_alive = !sd_live_in_is_final(in);
    int rc;

    if (!files)
        return sd_no_memory();
    r->files = files;
    files[r->n_files++] = in->name;
    r->health.is_running |= is_alive;
    r->health.is_alive |= r->is_boot_ours && sd_live_in_is_alive(in);
    r->health.lost_events += in->head.lost;
    r->health.lost_tables += in->head.lost_tables;
    if (in->head.lost_tables_why)
        r->health.lost_tables_why = in->head.lost_tables_why;
    if (in->head.kind == SD_LIVE_CELLS)
        return add_segments(r, in);
    rc = add_slots(r, in, is_alive);
    return rc < 0 ? rc : add_chunks_file(r, in);
}

static int add_each(void *reader, const struct sd_live_name *name)
{
    struct sd_reader *r = reader;
    struct sd_live_in in;
    int rc;

    if (name->suffix == SD_NAME_CHUNKS)
        return 0;
    rc = sd_live_in_open(&in, r->dir, name, r->salt, false);
    if (rc == SD_EIO)
        return sd_fail_errno(errno, "the file of process %u in %s cannot be read",
                             name->pid, r->dir);
    if (rc < 0) /* sealed and gone meanwhile, or never finished joining */
        return 0;
    rc = add_file(r, &in);
    sd_live_in_close(&in);
    return rc;
}

static int read_folder(struct sd_reader *r)
{
    struct sd_bell bell;
    struct sd_who owner;

    if (!r->dir || sd_folder_bell(r->dir, &bell) < 0)
        return 0;
    if (r->salt && r->salt != bell.salt) {
        r->is_folder_foreign = true;
        return 0;
    }
    r->salt = bell.salt;
    owner = (struct sd_who){ bell.owner_pid, bell.owner_start, bell.owner_pid_ns };
    r->health.has_live = true;
    r->is_boot_ours = bell.boot == sd_boot();
    r->health.is_running = !bell.is_ended && sd_who_may_live(&owner);
    r->health.is_alive = !bell.is_ended && r->is_boot_ours && sd_who_lives(&owner);
    r->health.is_orphan = !bell.is_ended && !r->health.is_running;
    if (bell.is_ended)
        r->health.status = bell.status;
    if (r->is_preamble_bad) {
        r->health.created_real_ns = bell.created_real_ns;
        r->health.created_mono_ns = bell.created_mono_ns;
    }
    return sd_folder_walk(r->dir, add_each, r);
}

/* --- All of it */

static void lose_tables(struct sd_health *h, uint64_t n, uint64_t why)
{
    h->lost_tables += n < UINT32_MAX ? n : UINT32_MAX; /* it is what the file says */
    if (n || why)
        h->lost_tables_why = why < INT32_MAX ? (int)why : 0;
}

static void count(struct sd_reader *r)
{
    struct sd_health *h = &r->health;

    for (size_t i = 0; i < r->refs.n; i++) {
        const struct sd_ref *ref = &r->refs.at[i];

        h->events += ref->head.count;
        h->lost_events += ref->head.lost_before;
        h->raw_bytes += ref->head.raw_len;
        h->stored_bytes += ref->head.stored_len;
        if (ref->place != SD_IN_FILE)
            h->live_events += ref->head.count;
        if (ref->head.type == SD_CHUNK_LOST)
            lose_tables(h, ref->head.t0, ref->head.t1);
    }
    h->chunks = r->refs.n;
    sd_assert(h->live_events <= h->events);
    h->missing_chunks = r->refs.missing;
    if (!h->is_ended)
        return;
    if (h->lost_events < r->end.lost)
        h->lost_events = r->end.lost;
    if (r->end.chunks > r->n_sealed && h->missing_chunks < r->end.chunks - r->n_sealed)
        h->missing_chunks = r->end.chunks - r->n_sealed;
}

/* The folder is read before the file, because events only ever move from the halves to
 * .chunks and from there to the file: none can slip by in between. */
int sd_gather(struct sd_reader *r)
{
    struct stat st;
    int rc = read_preamble(r);

    if (rc == 0 && r->is_preamble_bad)
        learn_salt(r);
    if (rc == 0 && r->file.error)
        rc = sd_fail_errno(r->file.error, "cannot be read");
    if (rc == 0 && !r->is_part)
        rc = read_folder(r);
    if (rc < 0)
        return rc;
    if (r->file.fd >= 0 && !r->is_part && fstat(r->file.fd, &st) == 0)
        r->file.n = (uint64_t)st.st_size;
    r->health.file_bytes = r->file.n;
    if (r->salt == 0)
        return sd_fail(SD_EFORMAT, r->file.n ? "not a capture of Sonde"
                                             : "empty, not a capture of Sonde");
    rc = scan(r, SD_IN_FILE, r->is_preamble_bad ? 0 : sizeof(struct sd_preamble));
    if (rc == 0)
        rc = sd_refs_order(&r->refs);
    if (rc == 0)
        count(r);
    return rc;
}

/* --- Chunks that moved on while the capture was read */

/* Adds what was appended to the file since it was last looked at. */
static void scan_on(struct sd_reader *r)
{
    struct sd_scan more;
    struct sd_source_chunk found;
    struct stat st;

    if (r->file.fd < 0 || r->is_part || fstat(r->file.fd, &st) < 0)
        return;
    r->file.n = (uint64_t)st.st_size;
    r->file.window_n = 0; /* what it holds of the old end may be half a chunk */
    sd_scan_init(&more, &r->file, r->salt, r->scanned);
    while (sd_scan_here(&more, &found)) {
        struct sd_ref ref = { .head = found.head, .at = found.at };

        if (sd_refs_add(&r->late, &ref) < 0)
            return;
        r->scanned = more.at;
    }
}

static const struct sd_ref *find_late(const struct sd_reader *r,
                                      const struct sd_chunk_head *head)
{
    for (size_t i = 0; i < r->late.n; i++)
        if (r->late.at[i].head.stream == head->stream &&
            r->late.at[i].head.seq == head->seq)
            return &r->late.at[i];
    return NULL;
}

const struct sd_ref *sd_gather_late(struct sd_reader *r, const struct sd_ref *ref)
{
    const struct sd_ref *late = find_late(r, &ref->head);

    if (late)
        return late;
    scan_on(r);
    return find_late(r, &ref->head);
}
