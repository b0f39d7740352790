/* SPDX-License-Identifier: MIT */
/* live_processes: tracks the processes that have files in the live folder, for the
 * owner. */
#include "capture/owner.h"

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"

static struct sd_live_processes *find(struct sd_capture *c,
                                      const struct sd_live_name *name)
{
    for (struct sd_live_processes *j = c->joined; j; j = j->next)
        if (j->in.name.pid == name->pid && j->in.name.start == name->start &&
            j->in.name.number == name->number && j->in.name.suffix == name->suffix)
            return j;
    return NULL;
}

static void close_files(struct sd_live_processes *j)
{
    sd_live_in_close(&j->in);
    if (j->chunks_fd >= 0)
        close(j->chunks_fd);
    j->chunks_fd = -1;
}

/* With more processes than descriptors all are closed; each is opened again when its
 * turn comes. */
bool sd_live_processes_has_few(struct sd_capture *c,
                               const struct sd_live_processes *but)
{
    if (errno != EMFILE && errno != ENFILE)
        return false;
    for (struct sd_live_processes *j = c->joined; j; j = j->next)
        if (j != but)
            close_files(j);
    return true;
}

static int open_live(struct sd_capture *c, struct sd_live_in *in,
                     const struct sd_live_name *name)
{
    int rc = sd_live_in_open(in, c->live_dir, name, c->salt, true);

    if (rc == SD_EIO && sd_live_processes_has_few(c, NULL))
        rc = sd_live_in_open(in, c->live_dir, name, c->salt, true);
    return rc;
}

/* A file whose head is not sound yet is looked at again the next time. */
static int add_joined(void *capture, const struct sd_live_name *name)
{
    struct sd_capture *c = capture;
    struct sd_live_processes *j;

    if (name->suffix == SD_NAME_CHUNKS || find(c, name))
        return 0;
    j = sd_zalloc(sizeof *j);
    if (!j)
        return 0;
    j->chunks_fd = -1;
    j->starved_ns = UINT64_MAX;
    if (open_live(c, &j->in, name) < 0) {
        sd_free(j);
        return 0;
    }
    j->next = c->joined;
    c->joined = j;
    return 0;
}

struct others {
    struct sd_capture *c;
    int n;
};

static int count_other(void *others, const struct sd_live_name *name)
{
    struct others *o = others;

    o->n += name->suffix == SD_NAME_LIVE && name->pid != o->c->pid && !find(o->c, name);
    return 0;
}

/* Those on the list, and those that the sealing thread has not met yet. */
int sd_capture_n_joined(struct sd_capture *c)
{
    struct others others = { c, 0 };

    pthread_mutex_lock(&c->list_lock);
    for (struct sd_live_processes *j = c->joined; j; j = j->next)
        others.n += j->in.name.suffix == SD_NAME_LIVE && j->in.name.pid != c->pid;
    sd_folder_walk(c->live_dir, count_other, &others);
    pthread_mutex_unlock(&c->list_lock);
    return others.n;
}

void sd_seal_look(struct sd_capture *c)
{
    pthread_mutex_lock(&c->list_lock);
    c->seen_files = atomic_load(&c->bell->n_files);
    c->looked_ns = sd_clock_ns();
    sd_folder_walk(c->live_dir, add_joined, c);
    pthread_mutex_unlock(&c->list_lock);
}

static bool is_open(const struct sd_capture *c, const struct sd_live_processes *j)
{
    return !j->is_done && !j->is_stuck && j->in.name.pid != c->pid;
}

uint32_t sd_seal_n_open(const struct sd_capture *c)
{
    uint32_t n = 0;

    for (const struct sd_live_processes *j = c->joined; j; j = j->next)
        n += is_open(c, j);
    return n;
}

static bool is_daemon(const struct sd_live_processes *j)
{
    struct sd_who who = { j->in.head.pid, j->in.head.start, j->in.head.pid_ns };
    pid_t session = sd_who_lives(&who) ? getsid((pid_t)who.pid) : 0;

    return session > 0 && session != getsid(0);
}

uint32_t sd_seal_n_awaited(const struct sd_capture *c)
{
    uint32_t n = c->bell ? atomic_load(&c->bell->n_coming) : 0;

    for (const struct sd_live_processes *j = c->joined; j; j = j->next)
        n += is_open(c, j) && !is_daemon(j);
    return n;
}

/* A process may have several files: its first in the list counts. */
static bool is_first(const struct sd_capture *c, const struct sd_live_processes *joined)
{
    const struct sd_live_processes *j = c->joined;

    while (j != joined && !(is_open(c, j) && j->in.name.pid == joined->in.name.pid))
        j = j->next;
    return j == joined;
}

uint32_t sd_seal_n_running(const struct sd_capture *c, uint32_t *pid)
{
    uint32_t n = 0;

    *pid = 0;
    for (const struct sd_live_processes *j = c->joined; j; j = j->next)
        if (is_open(c, j) && is_first(c, j)) {
            n++;
            *pid = j->in.name.pid;
        }
    return n;
}

uint64_t sd_seal_starved_ns(struct sd_capture *c)
{
    uint64_t most = 0;

    for (struct sd_live_processes *j = c->joined; j; j = j->next) {
        const struct sd_live_head *h = &j->in.head;
        struct sd_who who = { h->pid, h->start, h->pid_ns };
        uint64_t now = is_open(c, j) ? sd_who_starved_ns(&who) : 0;

        if (j->starved_ns == UINT64_MAX)
            j->starved_ns = now;
        if (now > j->starved_ns && now - j->starved_ns > most)
            most = now - j->starved_ns;
    }
    return most;
}

/* A file that is not on the list and whose head is not sound is that of a process that
 * died while it joined, or is about to find that it comes too late. */
static int is_needed(void *capture, const struct sd_live_name *name)
{
    struct sd_capture *c = capture;
    struct sd_live_processes *j = find(c, name);
    struct sd_live_in in;
    int rc;

    if (name->suffix == SD_NAME_CHUNKS)
        return 0;
    if (j)
        return !j->is_done;
    rc = open_live(c, &in, name);
    if (rc == 0)
        sd_live_in_close(&in);
    return rc == 0 || rc == SD_EIO;
}

bool sd_seal_is_empty(struct sd_capture *c)
{
    return sd_folder_walk(c->live_dir, is_needed, c) == 0;
}

void sd_live_processes_close(struct sd_live_processes *j)
{
    close_files(j);
    sd_table_release(&j->last_seq);
}

void sd_seal_forget(struct sd_capture *c)
{
    while (c->joined) {
        struct sd_live_processes *j = c->joined;

        c->joined = j->next;
        sd_live_processes_close(j);
        sd_free(j);
    }
}

bool sd_live_processes_refresh(struct sd_capture *c, struct sd_live_processes *j)
{
    struct sd_live_in again;
    int rc = 0;

    pthread_mutex_lock(&c->list_lock); /* figures_of reads the same words */
    if (j->in.fd < 0) {
        rc = open_live(c, &again, &j->in.name);
        if (rc == 0)
            j->in = again;
    } else {
        rc = sd_live_in_refresh(&j->in, c->salt);
    }
    pthread_mutex_unlock(&c->list_lock);
    return rc == 0;
}

struct figures {
    uint64_t peak_bytes, own_read, own_written;
};

/* Over all files of the latest process of that number. */
static struct figures figures_of(struct sd_capture *c, uint32_t pid)
{
    struct figures f = { 0 };
    uint64_t start = 0;

    if (!c->has_thread) /* which would have looked */
        sd_seal_look(c);
    pthread_mutex_lock(&c->list_lock);
    for (struct sd_live_processes *j = c->joined; j; j = j->next) {
        const struct sd_live_head *head = &j->in.head;

        if (j->in.name.pid != pid || j->in.name.start < start)
            continue;
        if (j->in.name.start > start)
            f = (struct figures){ 0 };
        start = j->in.name.start;
        if (j->in.fd >= 0) /* the lock keeps the sealer from closing it */
            sd_live_in_refresh(&j->in, c->salt);
        if (head->peak_bytes > f.peak_bytes)
            f.peak_bytes = head->peak_bytes;
        f.own_read += head->own_read;
        f.own_written += head->own_written;
    }
    pthread_mutex_unlock(&c->list_lock);
    return f;
}

uint64_t sd_capture_peak_bytes(struct sd_capture *c, uint32_t pid)
{
    return figures_of(c, pid).peak_bytes;
}

void sd_capture_own_io(struct sd_capture *c, uint32_t pid, uint64_t *read,
                       uint64_t *written)
{
    struct figures f = figures_of(c, pid);

    *read = f.own_read;
    *written = f.own_written;
}

uint64_t sd_capture_cpu_ns(struct sd_capture *c)
{
    uint64_t sum = 0;

    pthread_mutex_lock(&c->list_lock);
    for (struct sd_live_processes *j = c->joined; j; j = j->next)
        sum += j->cpu_ns;
    pthread_mutex_unlock(&c->list_lock);
    return sum;
}
