/* SPDX-License-Identifier: MIT */
#include "capture/live.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/encoding/crc.h"
#include "capture/chunk.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

uint64_t sd_slot_offset(uint32_t big_slots, uint32_t i)
{
    const uint64_t big = SD_PAGE + 2 * SD_BIG_HALF, small = SD_PAGE + 2 * SD_SMALL_HALF;

    if (i < big_slots)
        return SD_PAGE + i * big;
    return SD_PAGE + big_slots * big + (i - big_slots) * small;
}

uint32_t sd_slot_half_bytes(uint32_t big_slots, uint32_t i)
{
    return i < big_slots ? SD_BIG_HALF : SD_SMALL_HALF;
}

struct stat_line {
    char state;
    uint64_t n_threads, start, cpu_ticks;
};

/* /proc/PID/stat.  The name in field 2 may hold anything, spaces and parentheses too,
 * so counting begins behind its last one. */
static bool read_stat(const char *path, struct stat_line *out)
{
    char text[1024];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;
    char *at;

    *out = (struct stat_line){ 0 };
    if (fd < 0)
        return false;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = 0;
    at = strrchr(text, ')');
    for (int field = 3; at && field <= 22; field++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
        if (at && field == 3)
            out->state = *at;
        if (at && (field == 14 || field == 15)) /* in user mode, in the kernel */
            out->cpu_ticks += strtoull(at, NULL, 10);
        if (at && field == 20)
            out->n_threads = strtoull(at, NULL, 10);
    }
    out->start = at ? strtoull(at, NULL, 10) : 0;
    return at != NULL;
}

static uint64_t own_pid_ns(void)
{
    struct stat st;

    return stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

struct sd_who sd_who_am_i(void)
{
    struct stat_line line;

    read_stat("/proc/self/stat", &line);
    return (struct sd_who){ (uint32_t)getpid(), line.start, own_pid_ns() };
}

/* Does its number mean a process here at all? */
static bool is_of_here(const struct sd_who *who)
{
    return who->pid_ns != 0 && who->pid_ns == own_pid_ns() && who->pid <= INT_MAX;
}

static bool read_stat_of(const struct sd_who *who, struct stat_line *out)
{
    char path[32];

    snprintf(path, sizeof path, "/proc/%u/stat", who->pid);
    return read_stat(path, out);
}

/* A first thread that ended is a zombie while others of the process run on. */
static bool is_it_alive(const struct sd_who *who, const struct stat_line *line)
{
    return line->start == who->start && (line->state != 'Z' || line->n_threads > 1);
}

bool sd_who_may_live(const struct sd_who *who)
{
    struct stat_line line;

    if (!is_of_here(who))
        return true;
    if (kill((pid_t)who->pid, 0) < 0 && errno == ESRCH)
        return false;
    return !read_stat_of(who, &line) || who->start == 0 || is_it_alive(who, &line);
}

bool sd_who_lives(const struct sd_who *who)
{
    struct stat_line line;

    return is_of_here(who) && who->start != 0 && read_stat_of(who, &line) &&
           is_it_alive(who, &line);
}

uint64_t sd_who_cpu_ns(const struct sd_who *who)
{
    struct stat_line line;
    long per_second = sysconf(_SC_CLK_TCK);

    if (!is_of_here(who) || who->start == 0 || !read_stat_of(who, &line) ||
        line.start != who->start || per_second <= 0)
        return 0;
    return line.cpu_ticks * (1000000000u / (uint64_t)per_second);
}

uint32_t sd_boot(void)
{
    char text[64];
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);

    if (fd >= 0)
        close(fd);
    return n > 0 ? sd_crc32c(0, text, (size_t)n) : 0;
}

/* /proc/PID/schedstat: nanoseconds on a CPU, nanoseconds waiting for one, turns. */
uint64_t sd_who_starved_ns(const struct sd_who *who)
{
    char path[40], text[96];
    ssize_t n = -1;
    char *second;
    int fd;

    if (who->pid_ns != own_pid_ns() || who->pid_ns == 0)
        return 0;
    snprintf(path, sizeof path, "/proc/%u/schedstat", who->pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        n = read(fd, text, sizeof text - 1);
        close(fd);
    }
    if (n <= 0)
        return 0;
    text[n] = 0;
    second = strchr(text, ' ');
    return second ? strtoull(second, NULL, 10) : 0;
}

/* Takes one more number into a hash.  What is there is scrambled first: pids and start
 * times both count up, and their plain exclusive-or would often be the same. */
static uint64_t mix(uint64_t hash, uint64_t number)
{
    uint64_t x = hash + 0x9E3779B97F4A7C15u;

    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return (x ^ (x >> 31)) + number;
}

uint64_t sd_live_stream_of(const struct sd_who *who, uint32_t number, uint32_t slot)
{
    uint64_t x = mix(mix(mix(mix(0, who->pid), who->start), who->pid_ns), number);

    x = mix(mix(x, slot), 0);
    return x ? x : 1; /* 0 is the owner's */
}

void sd_live_head_fill(struct sd_live_head *h, enum sd_live_kind kind, uint32_t flags,
                       uint64_t salt, const struct sd_who *who, uint32_t number)
{
    memset(h, 0, offsetof(struct sd_live_head, n_slots));
    memcpy(h->magic, SD_LIVE_MAGIC, sizeof h->magic);
    h->major = SD_FORMAT_MAJOR;
    h->minor = SD_FORMAT_MINOR;
    h->kind = kind;
    h->salt = salt;
    h->start = who->start;
    h->pid_ns = who->pid_ns;
    h->pid = who->pid;
    h->number = number;
    h->big_slots = SD_BIG_SLOTS;
    h->max_slots = SD_MAX_SLOTS;
    h->flags = flags;
    h->crc = sd_crc32c(0, h, offsetof(struct sd_live_head, crc));
}

bool sd_live_head_is_sound(const struct sd_live_head *h, uint64_t salt)
{
    return memcmp(h->magic, SD_LIVE_MAGIC, sizeof h->magic) == 0 &&
           h->major == SD_FORMAT_MAJOR && h->salt == salt &&
           h->crc == sd_crc32c(0, h, offsetof(struct sd_live_head, crc));
}

uint32_t sd_bell_sum(const struct sd_bell *b)
{
    return sd_crc32c(0, b, offsetof(struct sd_bell, crc));
}

bool sd_bell_is_sound(const struct sd_bell *b)
{
    return memcmp(b->magic, SD_BELL_MAGIC, sizeof b->magic) == 0 &&
           b->major == SD_FORMAT_MAJOR && b->crc == sd_bell_sum(b);
}

void sd_bell_fill(struct sd_bell *b, uint64_t salt, uint64_t real_ns, uint64_t mono_ns)
{
    struct sd_who who = sd_who_am_i();

    memset(b, 0, sizeof *b);
    memcpy(b->magic, SD_BELL_MAGIC, sizeof b->magic);
    b->major = SD_FORMAT_MAJOR;
    b->minor = SD_FORMAT_MINOR;
    b->owner_pid = who.pid;
    b->owner_start = who.start;
    b->owner_pid_ns = who.pid_ns;
    b->salt = salt;
    b->created_real_ns = real_ns;
    b->created_mono_ns = mono_ns;
    b->boot = sd_boot();
    b->crc = sd_bell_sum(b);
}

void sd_bell_ring(struct sd_bell *b)
{
    int kept = errno; /* we are a guest: the program's errno stays its own */

    if (!b)
        return;
    atomic_fetch_add(&b->rings, 1);
    syscall(SYS_futex, &b->rings, FUTEX_WAKE, 1, NULL, NULL, 0);
    errno = kept;
}

int sd_live_size_allowed(uint64_t bytes)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return 0;
    return bytes > limit.rlim_cur ? EFBIG : 0;
}

/* Where the file system cannot reserve, zeros are written: they take the place. */
static int write_zeros(int fd, uint64_t offset, size_t n)
{
    static const char zeros[SD_PAGE];

    while (n > 0) {
        size_t step = n < sizeof zeros ? n : sizeof zeros;
        ssize_t done = pwrite(fd, zeros, step, (off_t)offset);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? errno : EIO;
        offset += (uint64_t)done;
        n -= (size_t)done;
    }
    return 0;
}

int sd_live_reserve(int fd, uint64_t offset, size_t n)
{
    int rc = sd_live_size_allowed(offset + n);

    sd_assert(n > 0); /* the kernel refuses to reserve nothing */
    if (rc)
        return rc;
    do
        rc = fallocate(fd, 0, (off_t)offset, (off_t)n) < 0 ? errno : 0;
    while (rc == EINTR);
    return rc == EOPNOTSUPP || rc == ENOSYS ? write_zeros(fd, offset, n) : rc;
}

static _Atomic bool is_forbidden;

void sd_live_forbid_mapping(bool forbidden) { atomic_store(&is_forbidden, forbidden); }
bool sd_live_may_map(void) { return !atomic_load(&is_forbidden); }

bool sd_live_bring(void *p, size_t n)
{
    int kept = errno;
    /* Before Linux 5.14 this is EINVAL, and the pages come at their first use. */
    bool is_there = madvise(p, n, MADV_POPULATE_WRITE) == 0 || errno == EINVAL;

    errno = kept;
    return is_there;
}

void *sd_live_map(int fd, uint64_t offset, size_t n, size_t n_now)
{
    void *p;

    sd_assert(n_now <= n && offset % SD_PAGE == 0);
    if (!sd_live_may_map()) {
        errno = ENODEV; /* what mmap says there */
        return NULL;
    }
    p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
    if (p == MAP_FAILED)
        return NULL;
    if (!sd_live_bring(p, n_now)) {
        munmap(p, n);
        errno = ENOSPC;
        return NULL;
    }
    return p;
}

bool sd_live_name_read(const char *text, struct sd_live_name *name)
{
    static const char *const suffixes[] = { "", ".chunks", ".cells" };
    char suffix[16] = "";
    char again[SD_LIVE_NAME_MAX];

    _Static_assert(sizeof suffixes / sizeof *suffixes == SD_NAME_CELLS + 1,
                   "each has one");
    *name = (struct sd_live_name){ 0 };
    if (sscanf(text, "%u-%lu-%u%15s", &name->pid, &name->start, &name->number, suffix) <
        3)
        return false;
    for (int i = 0; i < 3; i++) {
        if (strcmp(suffix, suffixes[i]) == 0) {
            name->suffix = (enum sd_live_suffix)i;
            /* One spelling only: no signs, spaces or leading zeros. */
            return strcmp(sd_live_name_write(again, name), text) == 0;
        }
    }
    return false;
}

char *sd_live_name_write(char out[SD_LIVE_NAME_MAX], const struct sd_live_name *name)
{
    static const char *const suffixes[] = { "", ".chunks", ".cells" };

    _Static_assert(sizeof suffixes / sizeof *suffixes == SD_NAME_CELLS + 1,
                   "each has one");
    _Static_assert(SD_LIVE_NAME_MAX > 10 + 1 + 20 + 1 + 10 + sizeof ".chunks",
                   "three numbers and a suffix");
    snprintf(out, SD_LIVE_NAME_MAX, "%u-%lu-%u%s", name->pid, name->start, name->number,
             suffixes[name->suffix]);
    return out;
}
