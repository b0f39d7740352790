/* SPDX-License-Identifier: MIT */
#include "capture/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/owner.h"

#define SECOND_NS 1000000000u
#define STRAGGLERS_NS SECOND_NS
#define STRAGGLERS_MAX_NS ((uint64_t)5 * SECOND_NS)

static const struct sd_capture_options defaults = { .sync = SD_SYNC_EVERY,
                                                    .sync_every_ns = SECOND_NS,
                                                    .zstd_level = 1 };

/* --- Making both */

/* The folder must be there; the file need not. */
static char *absolute(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    char dir[PATH_MAX], real[PATH_MAX];
    char *all;
    size_t n = slash ? (size_t)(slash - path) : 0;

    if (n >= sizeof dir)
        return sd_strdup(path); /* creating it will say what is wrong */
    snprintf(dir, sizeof dir, "%.*s", (int)n, path);
    if (!realpath(slash ? (n ? dir : "/") : ".", real))
        return sd_strdup(path);
    n = strlen(real) + strlen(base) + 2;
    all = sd_alloc(n);
    if (all)
        snprintf(all, n, "%s/%s", strcmp(real, "/") ? real : "", base);
    return all;
}

/* A folder may stand there from a capture whose owner died. */
static int clear_old_folder(struct sd_capture *c, const char *path)
{
    struct sd_bell old;
    struct stat st;

    if (lstat(c->live_dir, &st) < 0)
        return 0;
    if (sd_folder_bell(c->live_dir, &old) == 0 && !old.is_ended) {
        struct sd_who who = { old.owner_pid, old.owner_start, old.owner_pid_ns };

        if (sd_who_may_live(&who))
            return sd_fail(SD_EEXISTS,
                           "%s is being written by process %u; wait for its end, or "
                           "choose another name",
                           path, old.owner_pid);
    }
    if (!(c->options.create & SD_CREATE_OVER))
        return sd_fail(SD_EEXISTS,
                       "%s is left from an earlier capture and may hold its events; to "
                       "keep them choose another name, else remove it",
                       c->live_dir);
    if (!S_ISDIR(st.st_mode) || !sd_folder_remove(c->live_dir))
        return sd_fail(SD_EEXISTS,
                       "cannot remove %s: it holds files that sonde did not make; move "
                       "them away, or choose another name",
                       c->live_dir);
    return 0;
}

/* The page `capture`, shared where the file system can, else written. */
static int make_bell(struct sd_capture *c, uint64_t real_ns)
{
    char path[PATH_MAX];
    int fd, rc = 0, why;

    if (snprintf(path, sizeof path, "%s/capture", c->live_dir) >= (int)sizeof path)
        return sd_fail_errno(ENAMETOOLONG, "cannot create %s", c->live_dir);
    rc = sd_file_create(path, SD_CREATE_NEW, &fd);
    if (rc < 0)
        return rc;
    why = sd_live_reserve(fd, 0, SD_PAGE);
    c->bell = why ? NULL : sd_live_map(fd, 0, SD_PAGE, SD_PAGE);
    c->is_bell_mapped = c->bell != NULL;
    if (why == 0 && !c->bell) {
        c->bell = mmap(NULL, SD_PAGE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (c->bell == MAP_FAILED)
            c->bell = NULL, why = ENOMEM;
    }
    if (why == 0) {
        sd_bell_fill(c->bell, c->salt, real_ns, c->created_ns);
        if (!c->is_bell_mapped && pwrite(fd, c->bell, SD_PAGE, 0) < 0)
            why = errno;
    }
    close(fd);
    return why ? sd_fail_errno(why, "cannot create %s", path) : 0;
}

static int make_file(struct sd_capture *c, char *take_path, uint64_t real_ns)
{
    struct sd_preamble preamble;
    int fd, why, rc = sd_file_create(take_path, c->options.create, &fd);

    if (rc < 0) {
        sd_free(take_path);
        return rc;
    }
    sd_guarded_fd_adopt(&c->file, take_path, fd);
    sd_preamble_fill(&preamble, c->salt, real_ns, c->created_ns);
    why = sd_capture_extend(c, &preamble, sizeof preamble, NULL, 0);
    return why ? sd_fail_errno(why, "cannot write %s", c->file.path) : 0;
}

static void free_capture(struct sd_capture *c)
{
    sd_seal_forget(c);
    if (c->bell)
        munmap(c->bell, SD_PAGE);
    sd_guarded_fd_release(&c->file);
    sd_squeezer_release(&c->squeezer);
    sd_free(c->half);
    sd_free(c->live_dir);
    sd_free(c);
}

static uint64_t random_salt(void)
{
    uint64_t salt = 0;

    while (salt == 0)
        if (getrandom(&salt, sizeof salt, 0) != sizeof salt)
            salt = sd_clock_real_ns() ^ sd_clock_ns() << 20 ^ (uint64_t)getpid();
    return salt;
}

static struct sd_capture *new_capture(const struct sd_capture_options *options,
                                      const char *path)
{
    struct sd_capture *c = sd_zalloc(sizeof *c);
    size_t n = strlen(path);

    if (!c)
        return NULL;
    c->options = options ? *options : defaults;
    c->file.fd = -1;
    c->pid = (uint32_t)getpid();
    c->salt = random_salt();
    c->created_ns = sd_clock_ns();
    pthread_mutex_init(&c->file_lock, NULL);
    pthread_mutex_init(&c->list_lock, NULL);
    c->half = sd_alloc(SD_CHUNK_RAW_MAX);
    c->live_dir = sd_alloc(n + sizeof ".live");
    if (!c->half || !c->live_dir) {
        free_capture(c);
        return NULL;
    }
    memcpy(c->live_dir, path, n);
    memcpy(c->live_dir + n, ".live", sizeof ".live");
    return c;
}

/* An old folder goes first, or the new file would be taken for its. */
static int make_both(struct sd_capture *c, char *take_path, const char *path)
{
    uint64_t real_ns = sd_clock_real_ns();
    struct stat st;
    int rc;

    if (!(c->options.create & SD_CREATE_OVER) && lstat(take_path, &st) == 0)
        return make_file(c, take_path, real_ns); /* says that it exists */
    rc = clear_old_folder(c, path);
    if (rc == 0)
        rc = make_file(c, take_path, real_ns);
    else
        sd_free(take_path);
    if (rc == 0 && mkdir(c->live_dir, 0700) < 0)
        rc = sd_fail_errno(errno, "cannot create %s", c->live_dir);
    if (rc == 0)
        rc = make_bell(c, real_ns);
    if (rc == 0)
        rc = sd_capture_append_first(c, real_ns);
    return rc;
}

int sd_capture_create(const char *path, const struct sd_capture_options *options,
                      struct sd_capture **out)
{
    char *all = absolute(path);
    struct sd_capture *c = all ? new_capture(options, all) : NULL;
    int rc;

    *out = NULL;
    if (!c) {
        sd_free(all);
        return sd_no_memory();
    }
    rc = make_both(c, all, path);
    if (rc < 0) {
        if (c->file.path) {
            unlink(c->file.path);
            sd_folder_remove(c->live_dir);
        }
        free_capture(c);
        return rc;
    }
    *out = c;
    return 0;
}

const char *sd_capture_live_dir(const struct sd_capture *c) { return c->live_dir; }

int sd_capture_start(struct sd_capture *c) { return sd_seal_start(c); }

/* --- The end */

static bool is_owner(const struct sd_capture *c)
{
    return c->pid == (uint32_t)getpid();
}

void sd_capture_seal(struct sd_capture *c)
{
    sd_seal_look(c);
    sd_seal_pass(c, true);
}

/* A process that was told to end may need a moment to have its last say.  On a busy
 * machine it is given no CPU for most of that moment; that time does not count. */
static void wait_for_stragglers(struct sd_capture *c)
{
    const struct timespec step = { 0, 5 * 1000 * 1000 };
    uint64_t from = sd_clock_ns(), waited = 0;

    while (sd_seal_n_awaited(c) > 0 && waited < STRAGGLERS_MAX_NS &&
           waited < STRAGGLERS_NS + sd_seal_starved_ns(c)) {
        nanosleep(&step, NULL);
        sd_capture_seal(c);
        waited = sd_clock_ns() - from;
    }
    sd_capture_seal(
        c); /* one that has just ended is waited for no more, and not sealed yet */
}

static int append_end(struct sd_capture *c, int32_t status)
{
    struct sd_end end = { .status = status,
                          .chunks = c->n_chunks,
                          .events = c->counts.events,
                          .lost = c->counts.lost,
                          .mono_ns = sd_clock_ns(),
                          .real_ns = sd_clock_real_ns() };

    return sd_capture_append_own(c, SD_CHUNK_END, &end, sizeof end, 0);
}

/* The status also stands in the folder, in case the disk has no room for END. */
static void mark_ended(struct sd_capture *c, int32_t status, enum sd_bell_end how)
{
    char path[PATH_MAX];
    int fd;

    atomic_store(&c->bell->status, status);
    atomic_store(&c->bell->is_ended, how);
    if (c->is_bell_mapped)
        return;
    snprintf(path, sizeof path, "%s/capture", c->live_dir);
    fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && pwrite(fd, c->bell, SD_PAGE, 0) < 0 && c->counts.write_error == 0)
        c->counts.write_error = errno;
    if (fd >= 0)
        close(fd);
}

static bool is_any_stuck(const struct sd_capture *c)
{
    for (const struct sd_live_processes *j = c->joined; j; j = j->next)
        if (j->is_stuck)
            return true;
    return false;
}

/* Would another slot of a thread have made a file too large?  A process that was
 * refused it only counts what it lost. */
static bool is_at_limit(const struct sd_capture *c)
{
    const uint64_t step = sd_slot_offset(SD_BIG_SLOTS, 1);
    uint64_t most = c->size > c->largest_bytes ? c->size : c->largest_bytes;

    return sd_live_size_allowed(most + step) != 0;
}

int sd_capture_finish(struct sd_capture *c, int32_t status,
                      struct sd_capture_counts *counts)
{
    int why, rc = 0;

    if (counts)
        *counts = (struct sd_capture_counts){ 0 };
    if (!is_owner(c))
        return sd_fail(SD_EUSAGE, "a forked child cannot finish its parent's capture; "
                                  "finish it in the parent");
    sd_seal_stop(c);
    sd_capture_seal(c);
    wait_for_stragglers(c);
    mark_ended(c, status, SD_BELL_CLOSING);
    sd_capture_seal(c);
    why = append_end(c, status);
    sd_seal_sync(c);
    if (why == 0 && sd_seal_is_empty(c))
        sd_folder_remove(c->live_dir);
    else
        mark_ended(c, status, SD_BELL_ENDED);
    if (why || is_any_stuck(c))
        rc = sd_fail_errno(why                     ? why
                           : c->counts.write_error ? c->counts.write_error
                                                   : EIO,
                           "could not finish writing %s; the rest is still in %s",
                           c->file.path, c->live_dir);
    if (counts) {
        *counts = c->counts;
        counts->lost += sd_seal_unsealed_losses(c);
        counts->is_at_limit = is_at_limit(c);
        counts->n_running = sd_seal_n_running(c, &counts->running_pid);
    }
    free_capture(c);
    return rc;
}

void sd_capture_abandon(struct sd_capture *c)
{
    if (!c || !is_owner(c))
        return;
    sd_seal_stop(c);
    unlink(c->file.path);
    sd_folder_remove(c->live_dir);
    free_capture(c);
}
