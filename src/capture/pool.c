/* SPDX-License-Identifier: MIT */
#include "capture/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"

enum {
    MAX_FILES = 1 << 14, /* of one process: their number fits a span's (log.h) */
    WRITTEN_HALF = 64 * 1024,
    LEAVE_MS = 100, /* at most, for events that other threads have begun */
    RETRY_NS = 100 * 1000 * 1000, /* after a slot could not be had */
    LOOK_NS = 5 * 1000 * 1000,    /* between two looks at the disk */
    /* What a timeline leaves of the disk to tables: an eighth, or what a full tree of
     * calls needs if that is less. */
    SPARE_SHARE = 8,
    SPARE_MOST = 64 << 20,
};

_Static_assert((uint64_t)MAX_FILES *SD_MAX_SLOTS <= UINT64_C(1) << 24,
               "file and slot stand above 40 bits of a span's number");
_Static_assert((int)WRITTEN_HALF <= (int)SD_CHUNK_RAW_MAX, "a half is one chunk");

/* --- Files */

static char *join_path(const char *dir, const char *name)
{
    size_t n = strlen(dir), m = strlen(name);
    char *path = sd_alloc(n + m + 2);

    if (path) {
        memcpy(path, dir, n);
        path[n] = '/';
        memcpy(path + n + 1, name, m + 1);
    }
    return path;
}

/* The program may change its directory, so names are made absolute at once. */
static char *absolute(const char *path)
{
    char here[PATH_MAX];

    if (path[0] == '/')
        return sd_strdup(path);
    return getcwd(here, sizeof here) ? join_path(here, path) : NULL;
}

static char *file_path(const struct sd_pool *p, uint32_t number,
                       enum sd_live_suffix suffix)
{
    struct sd_live_name name = { p->who.pid, number, p->who.start, suffix };
    char text[SD_LIVE_NAME_MAX];

    return join_path(p->dir, sd_live_name_write(text, &name));
}

static int create_next(struct sd_pool *p, enum sd_live_suffix suffix,
                       struct sd_guarded_fd *file, uint32_t *number)
{
    int why = EEXIST;

    for (uint32_t i = 0; why == EEXIST && i < MAX_FILES; i++) {
        char *path;

        /* Tables come and go, and the owner removes one that it has sealed: its number
         * is not used again, since it is the name of a stream. */
        *number = suffix == SD_NAME_CELLS ? atomic_fetch_add(&p->n_tables, 1) : i;
        path = file_path(p, *number, suffix);
        if (!path)
            return ENOMEM;
        why = sd_guarded_fd_create(file, path, 0);
    }
    return why;
}

/* The head page: shared with the file, or a copy that is written to it. */
static struct sd_live_head *map_head(struct sd_pool *p, int fd)
{
    void *page = sd_live_map(fd, 0, SD_PAGE, SD_PAGE);

    if (page)
        return page;
    p->is_written = true;
    page =
        mmap(NULL, SD_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? NULL : page;
}

void sd_pool_unmap_head(struct sd_live_head *head)
{
    if (head)
        munmap(head, SD_PAGE);
}

static void drop_file(struct sd_guarded_fd *file, struct sd_live_head **head)
{
    unlink(file->path);
    sd_guarded_fd_release(file);
    sd_pool_unmap_head(*head);
    *head = NULL;
}

int sd_pool_make_file(struct sd_pool *p, enum sd_live_kind kind,
                      struct sd_guarded_fd *file, struct sd_live_head **head)
{
    enum sd_live_suffix suffix = kind == SD_LIVE_CELLS ? SD_NAME_CELLS : SD_NAME_LIVE;
    uint32_t number = 0;
    int why = create_next(p, suffix, file, &number);

    *head = NULL;
    if (why)
        return why;
    why = sd_live_reserve(file->fd, 0, SD_PAGE);
    if (why == 0 && !(*head = map_head(p, file->fd)))
        why = errno;
    if (why) {
        drop_file(file, head);
        return why;
    }
    sd_live_head_fill(*head, kind, p->is_written ? SD_LIVE_WRITTEN : 0, p->salt,
                      &p->who, number);
    if (p->is_written && pwrite(file->fd, *head, SD_PAGE, 0) < 0) {
        why = errno;
        drop_file(file, head);
        return why;
    }
    if (p->bell) {
        atomic_fetch_add(&p->bell->n_files, 1);
        /* The owner first says that it closes and then looks for files; we make one and
         * then look whether it closes.  One of us sees the other. */
        if (atomic_load(&p->bell->is_ended) == SD_BELL_CLOSING) {
            drop_file(file, head);
            return EPIPE;
        }
    }
    sd_bell_ring(p->bell);
    return 0;
}

static void free_out(struct sd_live_out *o)
{
    sd_pool_unmap_head(o->head);
    sd_guarded_fd_release(&o->file);
    sd_spill_release(&o->spill);
    sd_free(o);
}

static int add_out(struct sd_pool *p)
{
    struct sd_live_out *o = sd_zalloc(sizeof *o);
    char *chunks;
    int why;

    if (!o)
        return ENOMEM;
    why = sd_pool_make_file(p, SD_LIVE_SLOTS, &o->file, &o->head);
    if (why) {
        sd_free(o);
        return why;
    }
    pthread_mutex_init(&o->reserving, NULL);
    o->number = o->head->number;
    chunks = file_path(p, o->number, SD_NAME_CHUNKS);
    sd_spill_init(&o->spill, chunks, &o->head->own_written);
    if (!chunks) {
        unlink(o->file.path);
        free_out(o);
        return ENOMEM;
    }
    o->next = p->outs;
    p->outs = o;
    return 0;
}

/* --- Joining */

/* Reads the folder's page, and maps it where that can be done. */
static int open_bell(struct sd_pool *p)
{
    char *path = join_path(p->dir, "capture");
    struct sd_bell seen;
    int fd, rc = 0;

    if (!path)
        return sd_no_memory();
    fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    sd_free(path);
    if (fd < 0)
        return sd_fail_errno(errno, "cannot join a capture at %s", p->dir);
    if (pread(fd, &seen, sizeof seen, 0) != sizeof seen || !sd_bell_is_sound(&seen)) {
        rc = sd_fail(SD_EFORMAT,
                     "%s is not the live folder of a capture, or another version of "
                     "sonde made it",
                     p->dir);
    } else if (p->salt && p->salt != seen.salt) {
        rc = sd_fail(
            SD_EGONE,
            "the capture of the live folder %s has ended, and another has replaced it",
            p->dir);
    } else {
        p->salt = seen.salt;
        p->owner_pid = seen.owner_pid;
        p->bell = sd_live_map(fd, 0, SD_PAGE, SD_PAGE);
        p->is_written = !p->bell;
    }
    close(fd);
    return rc;
}

_Atomic uint32_t *sd_pool_page_emptied_by_fork(void)
{
    void *page =
        mmap(NULL, SD_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED)
        return NULL;
    /* Without this (before Linux 4.14) the session's fork handler alone protects. */
    madvise(page, SD_PAGE, MADV_WIPEONFORK);
    return page;
}

void sd_pool_page_release(_Atomic uint32_t *page)
{
    if (page)
        munmap((void *)page, SD_PAGE);
}

int sd_pool_new(const char *live_dir, uint64_t salt, struct sd_pool **out)
{
    struct sd_pool *p = sd_zalloc(sizeof *p);
    int rc, why;

    *out = NULL;
    if (!p)
        return sd_no_memory();
    pthread_mutex_init(&p->lock, NULL);
    p->who = sd_who_am_i();
    p->salt = salt;
    p->dir = absolute(live_dir);
    p->owner = sd_pool_page_emptied_by_fork();
    rc = p->dir && p->owner ? open_bell(p) : sd_no_memory();
    if (rc == 0 && (why = add_out(p)) == EPIPE)
        rc = sd_fail(
            SD_EGONE,
            "the capture of the live folder %s has ended, so no process can join it",
            p->dir);
    else if (rc == 0 && why != 0)
        rc = sd_fail_errno(why, "cannot create a file in %s", p->dir);
    if (rc < 0) {
        sd_pool_forget(p);
        return rc;
    }
    p->first = p->outs;
    atomic_store(p->owner, 1);
    *out = p;
    return 0;
}

/* --- Logs */

static void begin_stream(struct sd_pool *p, struct sd_log *l, uint32_t i)
{
    struct sd_slot *s = l->slot;

    s->magic = SD_SLOT_MAGIC;
    s->half_bytes = l->half_bytes;
    s->stream = sd_live_stream_of(&p->who, l->out->number, i);
    l->owner = p->owner;
    l->pool = p;
    l->is_written = p->is_written;
    l->next_span = ((uint64_t)l->out->number * SD_MAX_SLOTS + i) << 40;
    l->next_span += l->next_span == 0; /* 0 is no span */
    l->chunk_type = SD_CHUNK_EVENTS;
    sd_log_begin(l, 0, 1);
}

static int reserve(struct sd_live_out *o, uint64_t offset, size_t n)
{
    int fd, why;

    pthread_mutex_lock(&o->reserving);
    fd = sd_guarded_fd_fd(&o->file, 0);
    why = fd < 0 ? errno : sd_live_reserve(fd, offset, n);
    pthread_mutex_unlock(&o->reserving);
    return why;
}

bool sd_pool_reserve(struct sd_log *l, int half, uint32_t from, uint32_t to)
{
    uint64_t offset = l->slot_offset + SD_PAGE + (uint64_t)half * l->half_bytes + from;
    int kept = errno, why = reserve(l->out, offset, to - from);

    sd_assert((half == 0 || half == 1) && from < to && to <= l->half_bytes);
    errno = kept;
    return why == 0 && sd_live_bring(l->halves[half] + from, to - from);
}

/* Tables may double, and one more may grow to a full tree of calls; nobody knows
 * beforehand whether they need more. */
static uint64_t spare_bytes(const struct sd_pool *p, uint64_t disk_bytes)
{
    uint64_t least = disk_bytes / SPARE_SHARE;

    return atomic_load_explicit(&p->table_bytes, memory_order_relaxed) +
           (least < SPARE_MOST ? least : SPARE_MOST);
}

static bool is_short_of_spare(const struct sd_pool *p)
{
    struct statvfs disk;
    int kept = errno, rc = statvfs(p->dir, &disk);

    errno = kept;
    if (rc < 0 || disk.f_blocks == 0)
        return false; /* not known, or without a limit */
    return (uint64_t)disk.f_bavail * disk.f_frsize <
           spare_bytes(p, (uint64_t)disk.f_blocks * disk.f_frsize);
}

bool sd_log_has_spare(const struct sd_log *l, uint64_t now_ns)
{
    struct sd_pool *p = l->pool;
    uint64_t looked = atomic_load_explicit(&p->looked_ns, memory_order_relaxed);

    if (now_ns - looked >= LOOK_NS &&
        atomic_compare_exchange_strong(&p->looked_ns, &looked, now_ns))
        atomic_store(&p->is_short_of_spare, is_short_of_spare(p));
    return !atomic_load_explicit(&p->is_short_of_spare, memory_order_relaxed);
}

/* All of the slot's addresses, and its first page. */
static uint8_t *map_addresses(struct sd_live_out *o, uint64_t offset, size_t n)
{
    uint8_t *p = NULL;
    int fd;

    pthread_mutex_lock(&o->reserving);
    fd = sd_guarded_fd_fd(&o->file, 0);
    if (fd >= 0)
        p = sd_live_map(fd, offset, n, SD_PAGE);
    pthread_mutex_unlock(&o->reserving);
    return p;
}

/* Maps the file's next slot for l.  Only its page of words is reserved now, the halves
 * in steps as they fill (log.c): most slots of a program with many short threads or
 * children never hold more than a step, and a disk that is nearly full keeps what it
 * can.  0 or an errno. */
static int map_slot(struct sd_live_out *o, struct sd_log *l, uint32_t i)
{
    uint32_t half = sd_slot_half_bytes(SD_BIG_SLOTS, i);
    uint64_t offset = sd_slot_offset(SD_BIG_SLOTS, i);
    int why = reserve(o, offset, SD_PAGE);
    uint8_t *p;

    if (why)
        return why;
    p = map_addresses(o, offset, SD_PAGE + 2 * half);
    if (!p)
        return errno;
    l->slot = (void *)p;
    l->slot_offset = offset;
    l->halves[0] = p + SD_PAGE;
    l->halves[1] = p + SD_PAGE + half;
    l->half_bytes = half;
    return 0;
}

/* The same in memory of our own: only one half is used, as nobody can fetch it. */
static int allocate_slot(struct sd_log *l)
{
    l->slot = mmap(NULL, SD_PAGE + WRITTEN_HALF, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (l->slot == MAP_FAILED)
        return l->slot = NULL, ENOMEM;
    l->halves[0] = l->halves[1] = (uint8_t *)l->slot + SD_PAGE;
    l->half_bytes = l->ready[0] = l->ready[1] = WRITTEN_HALF;
    atomic_store(&l->slot->halves[1].state, SD_HALF_FULL); /* never to be taken */
    return 0;
}

static void unmap_slot(struct sd_log *l)
{
    if (l->slot)
        munmap(l->slot, SD_PAGE + (l->is_written ? 1 : 2) * (size_t)l->half_bytes);
}

static int fill_log(struct sd_pool *p, struct sd_log *l)
{
    uint32_t i = atomic_load(&p->outs->head->n_slots);
    int why;

    if (i >= SD_MAX_SLOTS) {
        why = add_out(p);
        if (why)
            return why;
        i = 0;
    }
    sd_assert(i < SD_MAX_SLOTS && p->outs);
    l->out = p->outs;
    why = p->is_written ? allocate_slot(l) : map_slot(p->outs, l, i);
    if (why)
        return why;
    begin_stream(p, l, i);
    atomic_store_explicit(&l->out->head->n_slots, i + 1, memory_order_release);
    return 0;
}

static struct sd_log *new_log(struct sd_pool *p)
{
    struct sd_log *l;
    int why;

    if (p->retry_ns && sd_clock_ns() < p->retry_ns)
        return NULL;
    l = sd_zalloc(sizeof *l);
    why = l ? fill_log(p, l) : ENOMEM;
    if (why) {
        sd_free(l);
        p->retry_ns = sd_clock_ns() + RETRY_NS;
        return NULL;
    }
    l->next = p->logs;
    p->logs = l;
    return l;
}

struct sd_log *sd_pool_take(struct sd_pool *p)
{
    struct sd_log *l = NULL;
    int kept = errno;

    pthread_mutex_lock(&p->lock);
    if (!p->has_left) {
        l = p->idle;
        if (l)
            p->idle = l->next_idle;
        else
            l = new_log(p);
        if (l)
            p->n_taken++;
    }
    pthread_mutex_unlock(&p->lock);
    errno = kept;
    return l;
}

void sd_pool_lose_event(struct sd_pool *p)
{
    pthread_mutex_lock(&p->lock);
    if (!p->has_left)
        atomic_fetch_add(&p->outs->head->lost, 1);
    pthread_mutex_unlock(&p->lock);
}

/* --- Leaving */

/* An event begun before `owner` was cleared is let finish.  A sleep of a millisecond
 * is the barrier between that store and these loads, so that the hot path needs none.
 * False when a thread is still inside of one: it may wait for the disk, or sleep. */
static bool wait_for_events(struct sd_pool *p)
{
    struct timespec step = { 0, 1000 * 1000 };

    for (int round = 0; round < LEAVE_MS; round++) {
        bool is_busy = false;

        nanosleep(&step, NULL);
        for (struct sd_log *l = p->logs; l; l = l->next)
            is_busy |= atomic_load_explicit(&l->is_nested, memory_order_acquire);
        if (!is_busy)
            return true;
    }
    return false;
}

/* Tells the owner that it may seal all there is. */
static void mark_left(struct sd_pool *p)
{
    sd_assert(!p->is_marked);
    for (struct sd_log *l = p->logs; l; l = l->next) {
        if (!l->is_written)
            continue;
        sd_log_flush(l);
        atomic_fetch_add(&l->out->head->lost, atomic_exchange(&l->slot->lost, 0));
    }
    for (struct sd_live_out *o = p->outs; o; o = o->next) {
        atomic_store_explicit(&o->head->has_left, 1, memory_order_release);
        if (p->is_written)
            sd_pool_write_head(&o->file, o->head);
    }
    p->is_marked = true;
    sd_bell_ring(p->bell);
}

void sd_pool_write_head(struct sd_guarded_fd *file, const struct sd_live_head *head)
{
    int fd = sd_guarded_fd_fd(file, 0);

    /* What cannot be written is only figures; the events have their own way. */
    if (fd >= 0 && pwrite(fd, head, SD_PAGE, 0) < 0)
        return;
}

void sd_pool_give_back(struct sd_pool *p, struct sd_log *l)
{
    bool is_last;

    pthread_mutex_lock(&p->lock);
    sd_assert(p->n_taken > 0 && l->pool == p);
    l->writer = NULL;
    l->next_idle = p->idle;
    p->idle = l;
    is_last = --p->n_taken == 0 && p->has_left;
    if (is_last && !p->is_marked)
        mark_left(p);
    pthread_mutex_unlock(&p->lock);
    if (is_last)
        sd_pool_forget(p);
}

/* With a thread still inside an event the files are not marked; the owner takes them
 * for those of a process that goes on writing, and leaves them to readers. */
void sd_pool_leave(struct sd_pool *p)
{
    bool is_last;

    pthread_mutex_lock(&p->lock);
    atomic_store(p->owner, 0);
    if (p->n_taken == 0 || wait_for_events(p))
        mark_left(p);
    p->has_left = true;
    is_last = p->n_taken == 0;
    pthread_mutex_unlock(&p->lock);
    if (is_last)
        sd_pool_forget(p);
}

struct sd_live_head *sd_pool_detach_head(struct sd_pool *p)
{
    struct sd_live_head *head = p->first ? p->first->head : NULL;

    if (!head || p->is_written)
        return NULL;
    p->first->head = NULL;
    return head;
}

void sd_pool_forget(struct sd_pool *p)
{
    while (p->logs) {
        struct sd_log *l = p->logs;

        p->logs = l->next;
        unmap_slot(l);
        sd_free(l);
    }
    while (p->outs) {
        struct sd_live_out *o = p->outs;

        p->outs = o->next;
        free_out(o);
    }
    if (p->bell)
        munmap(p->bell, SD_PAGE);
    sd_pool_page_release(p->owner);
    sd_free(p->dir);
    sd_free(p);
}
