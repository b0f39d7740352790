/* SPDX-License-Identifier: MIT */
#include "process/usage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/error.h"

enum {
    PAGE_SHIFT = 12, /* x86-64 */
    READ_MAX = 4096, /* bytes asked of a /proc file at once: what it gives at most */
    NET_READS_MAX = 4096, /* interfaces come in pages of about 30 */
    /* Ours stay out of the way of programs that close 0-2 and count on the lowest free
     * number being the next. */
    FD_LEAST = 64,
    PAGE_MOST = 2 << 20, /* bytes that one fault makes resident at most */
};

/* --- Kept descriptors ------------------------------------------------------------ */

static void forget(struct sd_kept_fd *k) { atomic_store(&k->fd, -1); }

/* The descriptor, if it is still the one we opened, in this process; else -1. */
static int checked(struct sd_kept_fd *k, pid_t me)
{
    int fd = atomic_load_explicit(&k->fd, memory_order_acquire);
    struct stat st;

    if (fd < 0 || atomic_load_explicit(&k->opened_by, memory_order_relaxed) != me ||
        fstat(fd, &st) < 0)
        return -1;
    if (st.st_ino != atomic_load_explicit(&k->ino, memory_order_relaxed) ||
        st.st_dev != atomic_load_explicit(&k->dev, memory_order_relaxed))
        return -1;
    return fd;
}

/* Closes what is ours: in the child of a fork the inherited copy too.  A number that
 * now names something else is the program's, and left alone. */
static void close_if_ours(struct sd_kept_fd *k)
{
    int fd = atomic_load(&k->fd);
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == atomic_load(&k->ino) &&
        st.st_dev == atomic_load(&k->dev))
        close(fd);
    forget(k);
}

static int open_proc(pid_t pid, const char *name, int mode)
{
    char path[64];
    int low, fd;

    if (pid)
        snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    else
        snprintf(path, sizeof path, "/proc/self/%s", name);
    low = open(path, mode | O_CLOEXEC);
    if (low < 0 || low >= FD_LEAST)
        return low;
    fd = fcntl(low, F_DUPFD_CLOEXEC, FD_LEAST);
    if (fd < 0)
        return low; /* a tight limit on descriptors */
    close(low);
    return fd;
}

/* Publishes a freshly opened descriptor; fd last, so that whoever sees it sees its
 * identity. */
static void keep(struct sd_kept_fd *k, int fd, pid_t me)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return;
    atomic_store(&k->dev, st.st_dev);
    atomic_store(&k->ino, st.st_ino);
    atomic_store(&k->opened_by, me);
    atomic_store_explicit(&k->fd, fd, memory_order_release);
}

/* A descriptor to use now.  With *is_kept false the caller closes it after use: another
 * thread was at opening the kept one. */
static int take(struct sd_usage_reader *r, struct sd_kept_fd *k, const char *name,
                int mode, pid_t me, bool *is_kept)
{
    int fd = checked(k, me);
    int32_t holder;

    *is_kept = true;
    if (fd >= 0)
        return fd;
    holder = atomic_load(&k->opening_pid);
    /* A holder of another pid is the process this one was forked from: it is gone from
     * here, and its claim with it. */
    if (holder == me || !atomic_compare_exchange_strong(&k->opening_pid, &holder, me)) {
        *is_kept = false;
        return open_proc(r->pid, name, mode);
    }
    fd = checked(k, me);
    if (fd < 0) {
        close_if_ours(k);
        fd = open_proc(r->pid, name, mode);
        if (fd >= 0)
            keep(k, fd, me);
    }
    atomic_store(&k->opening_pid, 0);
    return fd;
}

/* What our own readings add to the process's I/O counts is not the program's.  The
 * kernel counts a child of fork from 0, and so do we.  Two threads that are both the
 * first may both empty the counts, and what one of them has read in between is then
 * taken for the program's: some hundred bytes, once in a process. */
static void begin_counts(struct sd_usage_reader *r, pid_t me)
{
    if (atomic_load_explicit(&r->counted_in, memory_order_relaxed) == me)
        return;
    atomic_store(&r->own_read, 0);
    atomic_store(&r->own_written, 0);
    atomic_store(&r->rusage_floor, INT64_MAX);
    atomic_store(&r->counted_in, me);
}

/* Bytes read at `offset`, or minus errno. */
static ssize_t read_some(struct sd_usage_reader *r, struct sd_kept_fd *k,
                         const char *name, pid_t me, char *buf, off_t offset)
{
    bool is_kept;
    int fd = take(r, k, name, O_RDONLY, me, &is_kept);
    ssize_t n;

    if (fd < 0)
        return -errno;
    n = pread(fd, buf, READ_MAX, offset);
    if (n < 0)
        n = -errno;
    else if (!r->pid)
        atomic_fetch_add_explicit(&r->own_read, (uint64_t)n, memory_order_relaxed);
    if (!is_kept)
        close(fd);
    return n;
}

/* --- Parsing --------------------------------------------------------------------- */

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    return p;
}

/* The number at *p, blanks before it skipped; *p moves behind it.  -1: there is none,
 * or none that can be. */
static int64_t number(const char **p, const char *end)
{
    const char *start = skip_blanks(*p, end);
    const char *at = start;
    uint64_t v = 0;

    while (at < end && *at >= '0' && *at <= '9')
        v = v * 10 + (uint64_t)(*at++ - '0');
    *p = at;
    return at == start || at - start > 18 ? -1 : (int64_t)v;
}

/* The number after "name:" at the start of a line, or -1. */
static int64_t field(const char *p, size_t n, const char *name)
{
    const char *end = p + n;
    size_t len = strlen(name);

    while (p < end) {
        const char *line_end = memchr(p, '\n', (size_t)(end - p));

        if ((size_t)(end - p) > len && memcmp(p, name, len) == 0 && p[len] == ':') {
            p += len + 1;
            return number(&p, end);
        }
        if (!line_end)
            break;
        p = line_end + 1;
    }
    return -1;
}

static int64_t kilobytes(int64_t n)
{
    return n < 0 || n > INT64_MAX / 1024 ? -1 : n * 1024;
}

static int64_t pages(int64_t n)
{
    return n < 0 || n > INT64_MAX >> PAGE_SHIFT ? -1 : n << PAGE_SHIFT;
}

/* --- One file each --------------------------------------------------------------- */

/* Each returns 0, or minus errno when its file could not be read. */
static int read_memory(struct sd_usage_reader *r, pid_t me, struct sd_usage *out)
{
    char buf[READ_MAX];
    ssize_t n = read_some(r, &r->statm, "statm", me, buf, 0);
    const char *p = buf;
    int64_t vms, rss;

    if (n < 0)
        return (int)n;
    vms = number(&p, buf + n);
    rss = number(&p, buf + n);
    if (vms <= 0) /* it has ended: no memory to speak of, which is not "0 bytes" */
        return 0;
    out->vms_bytes = pages(vms);
    out->rss_bytes = pages(rss);
    return 0;
}

static int64_t less_own(int64_t counted, uint64_t own)
{
    return counted < 0 ? -1 : (uint64_t)counted > own ? counted - (int64_t)own : 0;
}

static int read_io(struct sd_usage_reader *r, pid_t me, struct sd_usage *out)
{
    char buf[READ_MAX];
    /* Before the read: the kernel adds its bytes after it made the text. */
    uint64_t own_read = r->pid ? 0 : atomic_load(&r->own_read);
    uint64_t own_written = r->pid ? 0 : atomic_load(&r->own_written);
    ssize_t n = read_some(r, &r->io, "io", me, buf, 0);

    if (n < 0)
        return (int)n;
    out->read_bytes = less_own(field(buf, (size_t)n, "rchar"), own_read);
    out->written_bytes = less_own(field(buf, (size_t)n, "wchar"), own_written);
    return 0;
}

/* Adds "  eth0: <received> 7 more <sent> ..." to the sums; the two lines of headings
 * have no colon. */
static void add_interface(const char *p, const char *end, struct sd_usage *out)
{
    int64_t received, sent;
    int i;

    p = memchr(p, ':', (size_t)(end - p));
    if (!p)
        return;
    p++;
    received = number(&p, end);
    for (i = 0; i < 7; i++)
        number(&p, end);
    sent = number(&p, end);
    if (received < 0 || sent < 0)
        return;
    out->received_bytes += received;
    out->sent_bytes += sent;
}

/* Adds every whole line; returns the bytes they take. */
static size_t add_interfaces(const char *p, size_t n, struct sd_usage *out)
{
    const char *at = p;

    for (;;) {
        const char *line_end = memchr(at, '\n', n - (size_t)(at - p));

        if (!line_end)
            return (size_t)(at - p);
        add_interface(at, line_end, out);
        at = line_end + 1;
    }
}

static int read_network(struct sd_usage_reader *r, pid_t me, struct sd_usage *out)
{
    char buf[READ_MAX];
    off_t offset = 0;
    int i;

    for (i = 0; i < NET_READS_MAX; i++) {
        ssize_t n = read_some(r, &r->net, "net/dev", me, buf, offset);
        size_t whole;

        if (n < 0) {
            out->received_bytes = out->sent_bytes = -1;
            return (int)n;
        }
        if (offset == 0)
            out->received_bytes = out->sent_bytes = 0;
        whole = add_interfaces(buf, (size_t)n, out);
        if (whole == 0)
            break;
        offset += (off_t)whole;
        if (n < READ_MAX / 2) /* a short page is the last: saves the read of its end */
            break;
    }
    return 0;
}

/* The CPU clock counts nanoseconds where /proc/PID/stat counts ticks of 10 ms, and
 * needs no permission.  It goes by pid: the kept-open stat, read after it, tells
 * whether that was still our process. */
static int read_cpu(struct sd_usage_reader *r, pid_t me, struct sd_usage *out)
{
    char buf[READ_MAX];
    struct sd_process_stat st;
    clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;
    struct timespec t;
    int64_t cpu_ns = -1;
    ssize_t n;

    if ((!r->pid || clock_getcpuclockid(r->pid, &clock) == 0) &&
        clock_gettime(clock, &t) == 0)
        cpu_ns = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    n = read_some(r, &r->stat, "stat", me, buf, 0);
    if (n < 0)
        return (int)n;
    if (sd_process_stat_parse(buf, (size_t)n, &st) < 0)
        return 0;
    out->cpu_ns = cpu_ns;
    out->n_threads = st.n_threads;
    out->start_ticks = st.start_ticks;
    out->n_faults = st.n_faults;
    memcpy(out->name, st.name, sizeof out->name - 1);
    return 0;
}

static int64_t read_mark(struct sd_usage_reader *r, pid_t me, int *rc)
{
    char buf[READ_MAX];
    ssize_t n = read_some(r, &r->status, "status", me, buf, 0);

    *rc = n < 0 ? (int)n : 0;
    return n < 0 ? -1 : kilobytes(field(buf, (size_t)n, "VmHWM"));
}

/* Another process's mark.  Reading it takes longest (10 us, its memory 2), and mostly
 * it has not changed.  It rises only when more becomes resident than ever was, and
 * nothing becomes resident without a page fault (but by khugepaged, some MiB).  So it
 * is not read again after so few faults that even huge pages would not reach it. */
static int64_t read_others_mark(struct sd_usage_reader *r, pid_t me,
                                const struct sd_usage *now, int *rc)
{
    uint64_t room = r->mark_bytes > r->mark_rss_bytes
                        ? (uint64_t)(r->mark_bytes - r->mark_rss_bytes)
                        : 0;

    *rc = 0;
    if (now->start_ticks && r->mark_bytes > 0 &&
        now->n_faults - r->mark_faults <= room / PAGE_MOST)
        return r->mark_bytes;
    r->mark_bytes = read_mark(r, me, rc);
    r->mark_rss_bytes = now->rss_bytes >= 0 ? now->rss_bytes : r->mark_bytes;
    r->mark_faults = now->n_faults;
    return r->mark_bytes;
}

/* Our own mark from getrusage, a fifteenth of the price of VmHWM, where that is the
 * same.
 *
 * ru_maxrss is the larger of the mark and a floor: what this process's memory was, at
 * most, before exec (after fork and exec by a large parent: the parent's).  The floor
 * never changes and cannot be asked for.  So a reading is taken as the mark only above
 * `rusage_floor`; at or below it VmHWM is read too.  If they agree the floor lies no
 * higher, and the limit sinks below this reading; if VmHWM is lower, the floor has been
 * found. */
static int64_t read_own_mark(struct sd_usage_reader *r, pid_t me, struct sd_usage *out,
                             int *rc)
{
    struct rusage u;
    int64_t fast, exact;

    *rc = 0;
    if (getrusage(RUSAGE_SELF, &u) < 0)
        return read_mark(r, me, rc);
    out->n_faults = (uint64_t)u.ru_minflt + (uint64_t)u.ru_majflt;
    fast = kilobytes(u.ru_maxrss);
    if (fast > atomic_load_explicit(&r->rusage_floor, memory_order_relaxed))
        return fast;
    if (r->mark_bytes > 0 && r->mark_in == me && r->mark_faults == out->n_faults)
        return r->mark_bytes; /* no page was touched: it stands where it was */
    exact = read_mark(r, me, rc);
    r->mark_bytes = exact > 0 ? exact : 0;
    r->mark_faults = out->n_faults;
    r->mark_in = me;
    if (exact >= 0)
        atomic_store(&r->rusage_floor, exact >= fast ? fast - 1 : fast);
    return exact;
}

/* What would be free if the process ended. */
static int64_t private_bytes(const char *p, size_t n)
{
    static const char *const names[] = { "Private_Clean", "Private_Dirty",
                                         "Private_Hugetlb" };
    int64_t sum = 0, kb;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        kb = field(p, n, names[i]);
        if (kb < 0 && i < 2)
            return -1;
        sum += kb > 0 && kb < INT64_MAX >> 12 ? kb : 0;
    }
    return kilobytes(sum);
}

/* Opened anew each time: this one file holds on to the memory map it was opened with,
 * so after an exec a kept one reads as if the process were gone (and opening is nothing
 * beside the reading itself).  A zombie has none: that is no end of the others. */
static void read_pss(struct sd_usage_reader *r, struct sd_usage *out)
{
    char buf[READ_MAX];
    int fd = open_proc(r->pid, "smaps_rollup", O_RDONLY);
    ssize_t n = fd < 0 ? -1 : pread(fd, buf, sizeof buf, 0);

    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return;
    if (!r->pid)
        atomic_fetch_add_explicit(&r->own_read, (uint64_t)n, memory_order_relaxed);
    out->pss_bytes = kilobytes(field(buf, (size_t)n, "Pss"));
    out->uss_bytes = private_bytes(buf, (size_t)n);
}

/* --- The reader ------------------------------------------------------------------ */

static void all_kept(struct sd_usage_reader *r, void (*each)(struct sd_kept_fd *k))
{
    each(&r->statm);
    each(&r->io);
    each(&r->net);
    each(&r->stat);
    each(&r->status);
    each(&r->clear_refs);
}

void sd_usage_init(struct sd_usage_reader *r, pid_t pid)
{
    sd_assert(pid >= 0);
    memset(r, 0, sizeof *r);
    r->pid = pid;
    atomic_store(&r->rusage_floor, INT64_MAX);
    all_kept(r, forget);
}

static void set_unread(struct sd_usage *out)
{
    memset(out, 0xff, sizeof *out);
    out->start_ticks = out->n_faults = 0;
    memset(out->name, 0, sizeof out->name);
}

static int read_all(struct sd_usage_reader *r, unsigned what, pid_t me,
                    struct sd_usage *out)
{
    int rc = 0; /* the first that was refused */
    int one;

    if (what & SD_USAGE_CPU)
        rc = read_cpu(r, me, out);
    if (what & SD_USAGE_MEMORY && (one = read_memory(r, me, out)) < 0)
        rc = rc ? rc : one;
    if (what & SD_USAGE_PEAK) {
        out->peak_bytes = r->pid ? read_others_mark(r, me, out, &one)
                                 : read_own_mark(r, me, out, &one);
        rc = rc ? rc : one;
    }
    if (what & SD_USAGE_IO && (one = read_io(r, me, out)) < 0)
        rc = rc ? rc : one;
    if (what & SD_USAGE_NETWORK && (one = read_network(r, me, out)) < 0)
        rc = rc ? rc : one;
    if (what & SD_USAGE_PSS)
        read_pss(r, out);
    return rc;
}

int sd_usage_read(struct sd_usage_reader *r, unsigned what, struct sd_usage *out)
{
    int saved = errno;
    pid_t me = getpid();
    int rc;

    if (!r->pid)
        begin_counts(r, me);
    set_unread(out);
    rc = read_all(r, what, me, out);
    errno = saved;
    return r->pid && (rc == -ESRCH || rc == -ENOENT) ? SD_EGONE : 0;
}

int sd_usage_reset_peak(struct sd_usage_reader *r)
{
    int saved = errno;
    pid_t me = getpid();
    bool is_kept;
    ssize_t n = -1;
    int fd;

    sd_assert(r->pid == 0);
    begin_counts(r, me);
    r->mark_bytes = 0;
    fd = take(r, &r->clear_refs, "clear_refs", O_WRONLY, me, &is_kept);
    if (fd >= 0)
        n = pwrite(fd, "5", 1, 0);
    if (n == 1)
        atomic_fetch_add_explicit(&r->own_written, 1, memory_order_relaxed);
    if (fd >= 0 && !is_kept)
        close(fd);
    errno = saved;
    return n == 1 ? 0 : SD_EACCESS;
}

void sd_usage_add_own(struct sd_usage_reader *r, uint64_t read, uint64_t written)
{
    begin_counts(r, getpid());
    atomic_fetch_add_explicit(&r->own_read, read, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->own_written, written, memory_order_relaxed);
}

void sd_usage_release(struct sd_usage_reader *r)
{
    int saved = errno;

    all_kept(r, close_if_ours);
    errno = saved;
}
