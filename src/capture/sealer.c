/* SPDX-License-Identifier: MIT */
/* sealer: moves events from the live folder into x.sonde.
 *
 * The order of each step is what makes a death harmless: a half is given back, and a
 * file removed, only after its chunk stands in x.sonde.  A death in between leaves the
 * same chunk in both places, and readers take it once.
 *
 * The chunks of a stream go into the file in the order of their numbers: what a file
 * was cut to is then the beginning of each stream, and the names that the first chunks
 * of a timeline have for all of it are there.  A producer that finds its other half
 * FULL still goes on in .chunks, so later chunks may wait there while an earlier one
 * waits in its half, and the other way round: before either is sealed the other place
 * is looked at. */
#include "base/assert.h"
#include "capture/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "capture/source.h"

#define MS_NS ((uint64_t)1000000)

enum {
    HURRY_BYTES = 64 << 20,
    CALM_BYTES = 8 << 20,
    PUNCH_BYTES = 16 << 20, /* give the disk back in steps of this */
    TICK_MS = 10,           /* of the bell's ticks */
    WAKE_MS = 50,           /* after the bell has rung, at the latest */
    REST_MS = 250,          /* when it has not for a while: half a dozen system calls */
    LOOK_MS = 1000,         /* into the folder, when the bell's count says nothing */
    CHECK_MS = 250,         /* which processes are gone */
    SETTLE_S = 10,          /* a capture this old is worth flushing to disk */
};

/* --- Halves */

/* A producer that died right after its write(2) has the same chunk in its half still. A
 * smaller number says nothing: the other half waits for us while chunks pass it by. */
static bool was_drained(const struct sd_live_processes *j,
                        const struct sd_chunk_head *head)
{
    uint64_t seq;

    return sd_table_get(&j->last_seq, head->stream, &seq) && seq == head->seq;
}

/* One half, if it is FULL; or, of a process that is gone, whatever it holds. */
static int seal_half(struct sd_capture *c, struct sd_live_processes *j, uint32_t i,
                     const struct sd_slot *slot, int half, bool is_final)
{
    struct sd_chunk_head head;
    uint32_t bad;
    int why, rc;

    if (slot->halves[half].state != SD_HALF_FULL && !is_final)
        return 0;
    rc = sd_live_in_half(&j->in, i, slot, half, c->half, &head, &bad);
    if (rc == SD_EIO) /* it stays where it is: tried again, and left to readers */
        return EIO;
    if (rc == 1 && (head.raw_len > 0 || head.lost_before > 0) &&
        !was_drained(j, &head)) {
        why = sd_capture_append(c, &head, c->half);
        if (why)
            return why;
    }
    return sd_live_in_free_half(&j->in, i, slot, half) < 0 ? EIO : 0;
}

/* --- .chunks */

/* 0, with or without such a file, or an errno. */
static int open_chunks(struct sd_capture *c, struct sd_live_processes *j)
{
    struct sd_live_name name = j->in.name;
    int why = 0;

    name.suffix = SD_NAME_CHUNKS;
    if (j->chunks_fd >= 0 || j->in.name.suffix != SD_NAME_LIVE)
        return 0;
    pthread_mutex_lock(&c->list_lock); /* others' files may be closed to make room */
    j->chunks_fd = sd_folder_open(c->live_dir, &name, true);
    if (j->chunks_fd < 0 && sd_live_processes_has_few(c, j))
        j->chunks_fd = sd_folder_open(c->live_dir, &name, true);
    if (j->chunks_fd < 0 && errno != ENOENT)
        why = errno;
    pthread_mutex_unlock(&c->list_lock);
    return why;
}

/* The space goes back to the disk; the words say from where to read on. */
static void set_drained(struct sd_live_processes *j, uint64_t to)
{
    off_t at = offsetof(struct sd_live_head, drained);

    sd_assert(to >= j->drained);
    j->drained = to;
    if (pwrite(j->in.fd, &to, sizeof to, at) == sizeof to)
        fallocate(j->chunks_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                  (off_t)to);
}

/* The slot that a stream of the process is of. */
static bool find_slot(const struct sd_live_in *in, uint64_t stream, uint32_t *i)
{
    struct sd_who who = { in->head.pid, in->head.start, in->head.pid_ns };

    for (*i = 0; *i < in->head.max_slots; ++*i)
        if (sd_live_stream_of(&who, in->head.number, *i) == stream)
            return true;
    return false;
}

/* Seals the half that was handed over before this chunk of its stream was appended.
 * Where that cannot be done the chunk goes in all the same: to be kept is more than to
 * be in order. */
static void seal_older_half(struct sd_capture *c, struct sd_live_processes *j,
                            const struct sd_chunk_head *head)
{
    struct sd_slot slot;
    uint32_t i;

    if (!find_slot(&j->in, head->stream, &i) || !sd_live_in_slot(&j->in, i, &slot))
        return;
    for (int half = 0; half < 2; half++)
        if (slot.halves[half].state == SD_HALF_FULL &&
            slot.halves[half].seq < head->seq)
            seal_half(c, j, i, &slot, half, false);
}

static int seal_chunk(struct sd_capture *c, struct sd_live_processes *j,
                      struct sd_source_chunk *f)
{
    struct sd_chunk_head head = f->head;

    if (head.flags & SD_CHUNK_ZSTD) /* producers do not compress: not theirs */
        return 0;
    head.flags = 0;
    seal_older_half(c, j, &head);
    /* Without memory a chunk may be sealed twice; readers take it once. */
    sd_table_put(&j->last_seq, head.stream, head.seq);
    return sd_capture_append(c, &head, f->payload);
}

static uint64_t backlog(const struct sd_live_processes *j)
{
    struct stat st;

    if (j->chunks_fd < 0 || fstat(j->chunks_fd, &st) < 0 ||
        (uint64_t)st.st_size <= j->drained)
        return 0;
    return (uint64_t)st.st_size - j->drained;
}

/* Producers may write faster than one thread compresses.  Copying keeps up with them,
 * so that the backlog, and with it the disk, holds every byte once and not twice. */
static void decide_hurry(struct sd_capture *c)
{
    uint64_t behind = 0;

    for (const struct sd_live_processes *j = c->joined; j; j = j->next)
        behind += j->is_done ? 0 : backlog(j);
    c->is_hurried = behind > (c->is_hurried ? CALM_BYTES : HURRY_BYTES);
}

/* Of a process that lives, up to the first chunk that is not whole: it may be in the
 * middle of its write.  Of one that is gone, over any damage. */
static int drain_chunks(struct sd_capture *c, struct sd_live_processes *j,
                        bool is_final)
{
    struct sd_source source;
    struct sd_scan scan;
    struct sd_source_chunk found;
    struct stat st;
    uint64_t done = j->drained;
    int why = open_chunks(c, j);

    if (why || j->chunks_fd < 0)
        return why;
    if (fstat(j->chunks_fd, &st) < 0)
        return errno;
    if ((uint64_t)st.st_size <= j->drained)
        return 0;
    sd_source_of_fd(&source, j->chunks_fd, 0, (uint64_t)st.st_size);
    sd_scan_init(&scan, &source, c->salt, j->drained);
    while (why == 0 &&
           (is_final ? sd_scan_next(&scan, &found) : sd_scan_here(&scan, &found))) {
        why = seal_chunk(c, j, &found);
        if (why == 0)
            done = scan.at;
        sd_assert(done >= j->drained && done <= (uint64_t)st.st_size);
        if (done - j->drained >= PUNCH_BYTES)
            set_drained(j, done);
    }
    if (why == 0)
        why = source.error;
    source.fd = -1; /* the descriptor is ours */
    sd_source_release(&source);
    if (done > j->drained)
        set_drained(j, done);
    return why;
}

/* --- Slots */

static bool is_full(const struct sd_slot *slot, int half)
{
    return slot->halves[half].state == SD_HALF_FULL;
}

/* Of a process that goes on.  One half at most is FULL: a thread hands one over when
 * the other was given back, and goes on in that.  What it appended to .chunks before it
 * handed the half over is in that file by the time the half is seen to be FULL, and
 * goes first.  A half that is FULL only when it is looked at again waits for the next
 * pass, since chunks may have been appended before it meanwhile. */
static int seal_full_halves(struct sd_capture *c, struct sd_live_processes *j,
                            uint32_t i)
{
    struct sd_slot was, slot;
    int why = 0;

    if (!sd_live_in_slot(&j->in, i, &was) || (!is_full(&was, 0) && !is_full(&was, 1)))
        return 0;
    why = drain_chunks(c, j, false);
    if (why || !sd_live_in_slot(&j->in, i, &slot))
        return why;
    for (int half = 0; half < 2 && why == 0; half++)
        if (is_full(&was, half) && slot.halves[half].seq == was.halves[half].seq)
            why = seal_half(c, j, i, &slot, half, false);
    return why;
}

/* Of one that is gone, whose .chunks are sealed: the older half first. */
static int seal_both_halves(struct sd_capture *c, struct sd_live_processes *j,
                            uint32_t i)
{
    struct sd_slot slot;
    int first, why;

    if (!sd_live_in_slot(&j->in, i, &slot))
        return 0;
    first = slot.halves[1].seq < slot.halves[0].seq;
    why = seal_half(c, j, i, &slot, first, true);
    return why ? why : seal_half(c, j, i, &slot, !first, true);
}

static int seal_slots(struct sd_capture *c, struct sd_live_processes *j, bool is_final)
{
    uint32_t n = j->in.head.n_slots;
    int why = 0;

    for (uint32_t i = 0; i < n && i < j->in.head.max_slots && !why; i++)
        why = is_final ? seal_both_halves(c, j, i) : seal_full_halves(c, j, i);
    return why;
}

/* --- Processes that are gone */

/* Events that found no slot, or were lost behind the last chunk of their stream. */
static uint32_t count_stray_losses(const struct sd_live_processes *j)
{
    uint64_t lost = j->in.head.lost;
    struct sd_slot slot;

    if (j->in.head.kind == SD_LIVE_SLOTS)
        for (uint32_t i = 0; i < j->in.head.n_slots; i++)
            if (sd_live_in_slot(&j->in, i, &slot))
                lost += sd_slot_stray_losses(&slot);
    return lost < UINT32_MAX ? (uint32_t)lost : UINT32_MAX;
}

/* What is not sealed stays in the folder, where readers count these, too. */
uint64_t sd_seal_unsealed_losses(const struct sd_capture *c)
{
    uint64_t lost = 0;

    for (const struct sd_live_processes *j = c->joined; j; j = j->next)
        if (!j->is_done)
            lost += count_stray_losses(j);
    return lost;
}

static void note_size(struct sd_capture *c, int fd)
{
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 && (uint64_t)st.st_size > c->largest_bytes)
        c->largest_bytes = (uint64_t)st.st_size;
}

static void note_sizes(struct sd_capture *c, const struct sd_live_processes *j)
{
    note_size(c, j->in.fd);
    note_size(c, j->chunks_fd);
}

static int seal_gone(struct sd_capture *c, struct sd_live_processes *j)
{
    struct sd_live_name chunks = j->in.name;
    uint32_t lost;
    int why = drain_chunks(c, j, true);

    lost = count_stray_losses(j);
    if (why == 0)
        why = j->in.head.kind == SD_LIVE_CELLS ? sd_seal_cells(c, j)
                                               : seal_slots(c, j, true);
    if (why == 0 && (lost || j->in.head.lost_tables || j->in.head.lost_tables_why))
        why = sd_capture_append_lost(c, lost, j->in.head.lost_tables,
                                     j->in.head.lost_tables_why);
    note_sizes(c, j);
    if (why)
        return why;
    sd_folder_unlink(c->live_dir, &j->in.name);
    chunks.suffix = SD_NAME_CHUNKS;
    if (j->in.name.suffix == SD_NAME_LIVE)
        sd_folder_unlink(c->live_dir, &chunks);
    pthread_mutex_lock(&c->list_lock);
    sd_live_processes_close(j);
    j->is_done = true;
    pthread_mutex_unlock(&c->list_lock);
    return 0;
}

static int seal_joined(struct sd_capture *c, struct sd_live_processes *j,
                       bool must_check)
{
    int why;

    if (!sd_live_processes_refresh(c, j))
        return EIO;
    /* Asked first whether it is gone, then read: what it wrote last is then seen. */
    if ((j->in.head.has_left || must_check) && sd_live_in_is_final(&j->in) &&
        sd_live_processes_refresh(c, j))
        return seal_gone(c, j);
    if (j->in.head.kind != SD_LIVE_SLOTS)
        return 0;
    why = seal_slots(c, j, false);
    if (why == 0)
        why = drain_chunks(c, j, false);
    note_sizes(c, j);
    return why;
}

/* Nobody reports the CPU time of a process that is not waited for, so it is read while
 * the process lives. */
static void look_at_cpu(const struct sd_capture *c, struct sd_live_processes *j)
{
    struct sd_who who = { j->in.head.pid, j->in.head.start, j->in.head.pid_ns };
    uint64_t ns;

    if (j->in.name.suffix != SD_NAME_LIVE || j->in.head.kind != SD_LIVE_SLOTS ||
        j->in.head.number != 0 || j->in.head.pid == c->pid)
        return;
    ns = sd_who_cpu_ns(&who);
    if (ns > j->cpu_ns)
        j->cpu_ns = ns;
}

void sd_seal_pass(struct sd_capture *c, bool must_check)
{
    decide_hurry(c);
    for (struct sd_live_processes *j = c->joined; j; j = j->next) {
        if (!j->is_done && must_check)
            look_at_cpu(c, j);
        if (!j->is_done)
            j->is_stuck = seal_joined(c, j, must_check) != 0;
    }
}

/* --- To the disk */

/* fdatasync of a live file also writes what the process stored through its mapping. */
void sd_seal_sync(struct sd_capture *c)
{
    uint64_t now = sd_clock_ns();
    int fd = sd_guarded_fd_fd(&c->file, 0);

    if (c->options.sync == SD_SYNC_OFF || fd < 0 ||
        (c->options.sync == SD_SYNC_EVERY &&
         now - c->created_ns < SETTLE_S * 1000 * MS_NS))
        return;
    c->synced_ns = now;
    if (fdatasync(fd) < 0 && c->counts.write_error == 0)
        c->counts.write_error = errno;
    for (struct sd_live_processes *j = c->joined; j; j = j->next) {
        if (j->is_done || j->in.fd < 0)
            continue;
        fdatasync(j->in.fd);
        if (j->chunks_fd >= 0)
            fdatasync(j->chunks_fd);
    }
}

/* --- The thread */

/* False: it has rung since, or it is time to stop. */
static bool wait_once(struct sd_capture *c, uint32_t heard, uint32_t wait_ms)
{
    struct timespec timeout = { 0, (long)(wait_ms * MS_NS) };

    return !atomic_load(&c->must_stop) &&
           syscall(SYS_futex, &c->bell->rings, FUTEX_WAIT, heard, &timeout, NULL, 0) <
               0 &&
           errno == ETIMEDOUT;
}

static void wait_for_bell(struct sd_capture *c, uint32_t heard, uint32_t wait_ms)
{
    if (!atomic_load(&c->bell->wants_ticks)) {
        wait_once(c, heard, wait_ms);
        return;
    }
    for (uint32_t ms = 0; ms < wait_ms; ms += TICK_MS) {
        atomic_fetch_add(&c->bell->ticks, 1);
        if (!wait_once(c, heard, TICK_MS))
            return;
    }
}

static void one_round(struct sd_capture *c)
{
    uint64_t now = sd_clock_ns(), stored = c->counts.bytes_stored;
    bool must_check = now - c->checked_ns >= CHECK_MS * MS_NS;

    if (c->seen_files != atomic_load(&c->bell->n_files) ||
        now - c->looked_ns >= LOOK_MS * MS_NS)
        sd_seal_look(c);
    if (must_check)
        c->checked_ns = now;
    sd_seal_pass(c, must_check);
    if (c->options.sync == SD_SYNC_SEAL
            ? c->counts.bytes_stored != stored
            : now - c->synced_ns >= c->options.sync_every_ns)
        sd_seal_sync(c);
}

static void *seal_until_stopped(void *capture)
{
    struct sd_capture *c = capture;
    uint32_t last_heard = 0, wait_ms = WAKE_MS;

    while (!atomic_load(&c->must_stop)) {
        uint32_t heard = atomic_load(&c->bell->rings);
        uint64_t stored = c->counts.bytes_stored;

        one_round(c);
        wait_ms = wait_ms < REST_MS / 2 ? 2 * wait_ms : REST_MS;
        if (heard != last_heard || stored != c->counts.bytes_stored)
            wait_ms = WAKE_MS;
        last_heard = heard;
        wait_for_bell(c, heard, wait_ms);
    }
    return NULL;
}

int sd_seal_start(struct sd_capture *c)
{
    sigset_t all, was;
    int why;

    sd_assert(!c->has_thread);
    sigfillset(&all); /* signals are for the threads of whoever started us */
    pthread_sigmask(SIG_SETMASK, &all, &was);
    why = pthread_create(&c->thread, NULL, seal_until_stopped, c);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    if (why)
        return sd_fail_errno(why, "cannot start the thread that writes the capture");
    c->has_thread = true;
    return 0;
}

void sd_seal_stop(struct sd_capture *c)
{
    if (!c->has_thread)
        return;
    atomic_store(&c->must_stop, true);
    sd_bell_ring(c->bell);
    pthread_join(c->thread, NULL);
    c->has_thread = false;
}
