/* SPDX-License-Identifier: MIT */
#include "collect/rss/rss_watch.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/table.h"
#include "collect/rss/io.h"
#include "collect/rss/metrics.h"
#include "collect/shared/tree_tracks.h"

enum {
    NAMESPACES_MAX = 64, /* whose network is read; processes of more are not */
};
#define PSS_EVERY_NS 1000000000u
#define NETWORK_EVERY_NS 100000000u
_Static_assert(SD_TREE_ANCESTORS *SD_ROOM_PROCESS + SD_ROOM_SHAPE + 512 <= 16384,
               "all definitions of one reading fit into a small slot");

struct sd_rss_process {
    struct sd_usage_reader reader;
    bool is_kept;        /* its descriptors stay open between readings */
    bool has_begun;      /* its first point is written */
    bool reads_network;  /* for all processes of its namespace */
    uint64_t network_ns; /* inode of its network namespace, or 0 */
    int64_t peak_bytes;  /* largest seen */
    struct sd_io_account io;
    struct sd_tcp_account tcp;
    bool has_told_tcp; /* a point with its TCP bytes is written */
};

/* --- Points ---------------------------------------------------------------------- */

static uint64_t mask_of(const struct sd_rss_watch *w)
{
    uint64_t all = ((uint64_t)1 << SD_RSS_N_METRICS) - 1;

    _Static_assert(SD_RSS_N_METRICS < 64, "a bit for each");
    if (!w->reads_pss)
        all &= ~((uint64_t)1 << SD_RSS_PSS);
    if (!w->reads_tcp)
        all &= ~((uint64_t)1 << SD_RSS_TCP_RECEIVED | (uint64_t)1 << SD_RSS_TCP_SENT);
    return all;
}

static void write_point(const struct sd_rss_watch *w, struct sd_log *l, size_t at,
                        uint64_t time, const int64_t values[SD_RSS_N_METRICS])
{
    uint64_t mask = mask_of(w);
    uint64_t shape_key = sd_hash(&mask, sizeof mask, 0x7273732e7368u);
    size_t n = (size_t)__builtin_popcountll(mask);
    struct sd_rec_point *e;
    size_t len = sizeof *e + n * sizeof e->values[0];
    uint32_t shape, track;
    int64_t *to;
    int i;

    sd_assert(at < w->tree.n);
    if (!sd_log_room(l, len + SD_ROOM_SHAPE + sd_tree_track_room(&w->tree, at)))
        return;
    shape = sd_log_known(l, shape_key);
    if (!shape)
        shape = sd_log_define_shape(l, shape_key, sd_rss_metrics, mask);
    track = sd_tree_track(l, &w->tree, at);
    e = sd_log_put(l, SD_REC_POINT, len);
    e->shape = shape;
    e->track = track;
    e->pad = 0;
    e->time = time;
    for (i = 0, to = e->values; i < SD_RSS_N_METRICS; i++)
        if (mask >> i & 1)
            *to++ = values[i];
    sd_assert((size_t)(to - e->values) == n); /* as many as the shape has */
    sd_log_commit(l, 1, time);
}

static void fill_none(int64_t v[SD_RSS_N_METRICS])
{
    for (int i = 0; i < SD_RSS_N_METRICS; i++)
        v[i] = SD_VALUE_NONE;
}

static int64_t known(int64_t v) { return v < 0 ? SD_VALUE_NONE : v; }

static void fill(int64_t v[SD_RSS_N_METRICS], const struct sd_usage *u)
{
    v[SD_RSS_RSS] = known(u->rss_bytes);
    v[SD_RSS_VMS] = known(u->vms_bytes);
    v[SD_RSS_CPU] = known(u->cpu_ns);
    v[SD_RSS_THREADS] = known(u->n_threads);
    v[SD_RSS_READ] = known(u->read_bytes);
    v[SD_RSS_WRITTEN] = known(u->written_bytes);
    v[SD_RSS_RECEIVED] = known(u->received_bytes);
    v[SD_RSS_SENT] = known(u->sent_bytes);
    v[SD_RSS_PEAK_RSS] = known(u->peak_bytes);
    v[SD_RSS_PSS] = known(u->pss_bytes);
    v[SD_RSS_TCP_RECEIVED] = v[SD_RSS_TCP_SENT] = SD_VALUE_NONE;
}

/* A process born while we watch has used all that it ever used under our eyes, also
 * before its first reading: its counters begin at 0, when it began. */
static void write_birth(const struct sd_rss_watch *w, struct sd_log *l, size_t at,
                        uint64_t now)
{
    uint64_t born = sd_process_start_ns(w->tree.members[at].start_ticks);
    int64_t v[SD_RSS_N_METRICS];

    if (at == 0)
        return; /* the root may be older than we are */
    fill_none(v);
    v[SD_RSS_CPU] = v[SD_RSS_READ] = v[SD_RSS_WRITTEN] = 0;
    born = born < w->started_ns ? w->started_ns : born;
    write_point(w, l, at, born > now ? now : born, v);
}

/* The same for its connections, which are looked at less often, and not of every
 * process. */
static void write_first_tcp(const struct sd_rss_watch *w, struct sd_log *l, size_t at)
{
    int64_t v[SD_RSS_N_METRICS];

    if (at == 0)
        return;
    fill_none(v);
    v[SD_RSS_TCP_RECEIVED] = v[SD_RSS_TCP_SENT] = 0;
    write_point(w, l, at, sd_clock_ns(), v);
}

/* Between two looks there is nothing to say. */
static void fill_tcp(const struct sd_rss_watch *w, struct sd_log *l, size_t at,
                     int64_t v[SD_RSS_N_METRICS])
{
    struct sd_rss_process *p = w->tree.members[at].of_user;

    if (!p->tcp.has_news)
        return;
    p->tcp.has_news = false;
    if (!p->has_told_tcp)
        write_first_tcp(w, l, at);
    p->has_told_tcp = true;
    v[SD_RSS_TCP_RECEIVED] = p->tcp.received_bytes;
    v[SD_RSS_TCP_SENT] = p->tcp.sent_bytes;
}

/* --- One process ----------------------------------------------------------------- */

static struct sd_rss_process *watched(struct sd_rss_watch *w, size_t at)
{
    struct sd_tree_member *m = &w->tree.members[at];
    struct sd_rss_process *p = m->of_user;

    if (p)
        return p;
    p = sd_zalloc(sizeof *p);
    if (!p)
        return NULL; /* not read this time */
    sd_usage_init(&p->reader, m->pid);
    p->network_ns = sd_tcp_namespace(m->pid);
    p->is_kept = w->n_kept < SD_WATCH_KEPT_MAX;
    w->n_kept += p->is_kept;
    w->has_changed = true;
    m->of_user = p;
    return p;
}

static void let_go(struct sd_rss_watch *w, size_t at)
{
    struct sd_rss_process *p = w->tree.members[at].of_user;
    size_t parent = w->tree.members[at].parent;

    sd_assert(parent == SIZE_MAX || parent < at); /* parents before children */
    sd_tree_set_gone(&w->tree, at);
    w->tree.members[at].of_user = NULL;
    if (!p)
        return;
    if (parent != SIZE_MAX && w->tree.members[parent].of_user)
        sd_io_child_ended(
            &((struct sd_rss_process *)w->tree.members[parent].of_user)->io, &p->io);
    sd_connections_leave(&w->connections, &p->tcp);
    sd_assert(w->n_kept >= p->is_kept);
    w->n_kept -= p->is_kept;
    w->has_changed = true;
    sd_usage_release(&p->reader);
    sd_free(p);
}

/* The larger of the kernel's mark and what the process's own sections folded away
 * before they set that mark back. */
static int64_t peak_of(const struct sd_rss_watch *w, struct sd_rss_process *p,
                       const struct sd_usage *u)
{
    const struct sd_collect *how = w->how;
    uint64_t folded = how->folded_peak ? how->folded_peak(how->of, p->reader.pid) : 0;

    if (u->peak_bytes > p->peak_bytes)
        p->peak_bytes = u->peak_bytes;
    if (u->rss_bytes > p->peak_bytes) /* the mark lags by some pages (peak.h) */
        p->peak_bytes = u->rss_bytes;
    if (folded <= INT64_MAX && (int64_t)folded > p->peak_bytes)
        p->peak_bytes = (int64_t)folded;
    return p->peak_bytes > 0 ? p->peak_bytes : -1;
}

static void share_out_io(const struct sd_rss_watch *w, struct sd_rss_process *p,
                         struct sd_usage *u)
{
    uint64_t read = 0, written = 0;
    struct sd_io own;

    if (w->how->own_io)
        w->how->own_io(w->how->of, p->reader.pid, &read, &written);
    own = sd_io_own(&p->io, (struct sd_io){ u->read_bytes, u->written_bytes },
                    (struct sd_io){ (int64_t)read, (int64_t)written });
    u->read_bytes = own.read;
    u->written_bytes = own.written;
}

/* Is the process in our own network namespace?  Then our own counters have its last
 * bytes, also when it has ended and its files in /proc are gone. */
static bool is_in_own(const struct sd_rss_watch *w, const struct sd_rss_process *p)
{
    return p->network_ns != 0 && p->network_ns == w->own_network;
}

static void read_own_network(struct sd_rss_watch *w, struct sd_usage *u)
{
    struct sd_usage own;

    if (sd_usage_read(&w->own, SD_USAGE_NETWORK, &own) < 0)
        return;
    u->received_bytes = own.received_bytes;
    u->sent_bytes = own.sent_bytes;
}

static unsigned what_of(const struct sd_rss_watch *w, const struct sd_rss_process *p,
                        uint64_t now)
{
    unsigned what = SD_USAGE_MEMORY | SD_USAGE_CPU | SD_USAGE_IO | SD_USAGE_PEAK;

    if (p->reads_network && now >= w->next_network_ns && !is_in_own(w, p))
        what |= SD_USAGE_NETWORK;
    if (w->reads_pss && now >= w->next_pss_ns)
        what |= SD_USAGE_PSS;
    return what;
}

/* What its connections carried up to the end, if that is more than was written: alone,
 * because nothing else of it can be read any more. */
static void write_last(struct sd_rss_watch *w, struct sd_log *l, size_t at)
{
    struct sd_rss_process *p = w->tree.members[at].of_user;
    int64_t values[SD_RSS_N_METRICS];

    if (p->tcp.n_open)
        sd_connections_settle(&w->connections, &p->tcp);
    if (!p->has_begun || !p->tcp.has_news)
        return;
    fill_none(values);
    fill_tcp(w, l, at, values);
    write_point(w, l, at, sd_clock_ns(), values);
}

/* False when it has ended, or the pid is another's by now. */
static bool read_one(struct sd_rss_watch *w, struct sd_log *l, size_t at, uint64_t now)
{
    struct sd_tree_member *m = &w->tree.members[at];
    struct sd_rss_process *p = m->of_user;
    int64_t values[SD_RSS_N_METRICS];
    struct sd_usage u;
    int rc = sd_usage_read(&p->reader, what_of(w, p, now), &u);

    if (!p->is_kept)
        sd_usage_release(&p->reader);
    if (rc < 0 || (u.start_ticks && u.start_ticks != m->start_ticks))
        return false;
    if (u.name[0])
        memcpy(m->name, u.name, sizeof u.name);
    if (p->reads_network && now >= w->next_network_ns && is_in_own(w, p))
        read_own_network(w, &u);
    u.peak_bytes = peak_of(w, p, &u);
    share_out_io(w, p, &u);
    if (!p->has_begun)
        write_birth(w, l, at, now);
    p->has_begun = true;
    if (u.n_threads == 0 && p->tcp.n_open) /* a zombie: its connections are closing */
        sd_connections_settle(&w->connections, &p->tcp);
    fill(values, &u);
    fill_tcp(w, l, at, values);
    write_point(w, l, at, sd_clock_ns(), values);
    return true;
}

/* --- All of them ----------------------------------------------------------------- */

/* Network counters are one namespace's, not one process's: the first process of each
 * namespace reads them for all, so that sums over processes come out right. */
static void share_out_network(struct sd_rss_watch *w)
{
    uint64_t seen[NAMESPACES_MAX];
    size_t n = 0;
    size_t i, k;

    for (i = 0; i < w->tree.n; i++) {
        struct sd_rss_process *p = w->tree.members[i].of_user;

        if (!p)
            continue;
        for (k = 0; k < n && seen[k] != p->network_ns; k++)
            ;
        p->reads_network = k == n && n < NAMESPACES_MAX;
        if (p->reads_network)
            seen[n++] = p->network_ns;
    }
    sd_assert(n <= NAMESPACES_MAX);
    w->has_changed = false;
}

int sd_rss_watch_init(struct sd_rss_watch *w, const struct sd_collect *how)
{
    struct rusage own;

    memset(w, 0, sizeof *w);
    w->how = how;
    w->follows_children = how->options[SD_RSS_CHILDREN].number != 0;
    w->reads_pss = how->options[SD_RSS_WITH_PSS].number != 0;
    w->reads_tcp = how->options[SD_RSS_WITH_TCP].number != 0;
    w->started_ns = sd_clock_ns();
    w->own_network = sd_tcp_namespace(getpid());
    sd_usage_init(&w->own, 0);
    if (getrusage(RUSAGE_SELF, &own) == 0)
        w->own_floor_bytes = own.ru_maxrss * 1024;
    return sd_tree_init(&w->tree, how->root);
}

static void look_at_connections(struct sd_rss_watch *w, uint64_t now)
{
    size_t i;

    sd_connections_hear(&w->connections);
    if (!sd_connections_are_due(&w->connections, now))
        return;
    sd_connections_begin(&w->connections, now);
    for (i = 0; i < w->tree.n; i++) {
        struct sd_rss_process *p = w->tree.members[i].of_user;

        if (p)
            sd_connections_take(&w->connections, p->reader.pid, &p->tcp);
    }
    sd_connections_finish(&w->connections);
}

bool sd_rss_watch_read(struct sd_rss_watch *w, struct sd_log *l,
                       enum sd_watch_what what)
{
    uint64_t now = sd_clock_ns();
    size_t i;

    if (what == SD_WATCH_ALL)
        w->next_network_ns = now;

    if (w->follows_children)
        sd_tree_look(&w->tree); /* out of memory: tried again at the next reading */
    for (i = 0; i < w->tree.n; i++)
        if (!w->tree.members[i].is_gone)
            watched(w, i);
    if (w->has_changed)
        share_out_network(w);
    if (w->reads_tcp)
        look_at_connections(w, now);
    for (i = w->tree.n; i-- > 0;) /* children before their parents (io.h) */
        if (!w->tree.members[i].is_gone && w->tree.members[i].of_user &&
            !read_one(w, l, i, now)) {
            write_last(w, l, i);
            let_go(w, i);
        }
    if (now >= w->next_pss_ns)
        w->next_pss_ns = now + PSS_EVERY_NS;
    if (now >= w->next_network_ns)
        w->next_network_ns = now + NETWORK_EVERY_NS;
    return w->tree.n_gone < w->tree.n;
}

/* waitid as the kernel has it: libc's leaves out the last argument. */
static bool ended_with(pid_t pid, struct rusage *out)
{
    siginfo_t info = { .si_pid = 0 };

    return syscall(SYS_waitid, P_PID, pid, &info, WEXITED | WNOWAIT | WNOHANG, out) ==
               0 &&
           info.si_pid == pid;
}

/* The mark may have risen after the last reading.  The kernel hands the largest memory
 * of an ended process to its parent; that counts its own ended children too, so it is
 * only believed when there were none, and when it is more than what the process had
 * from us before exec. */
void sd_rss_watch_read_end(struct sd_rss_watch *w, struct sd_log *l)
{
    struct sd_rss_process *root = w->tree.n ? w->tree.members[0].of_user : NULL;
    int64_t v[SD_RSS_N_METRICS];
    struct rusage use;
    int64_t bytes;

    if (!root || w->tree.n > 1 || !ended_with(w->how->root, &use))
        return;
    bytes = (int64_t)use.ru_maxrss * 1024;
    if (bytes <= w->own_floor_bytes || bytes <= root->peak_bytes)
        return;
    fill_none(v);
    v[SD_RSS_PEAK_RSS] = root->peak_bytes = bytes;
    write_point(w, l, 0, sd_clock_ns(), v);
}

void sd_rss_watch_release(struct sd_rss_watch *w)
{
    size_t i;

    for (i = 0; i < w->tree.n; i++)
        if (!w->tree.members[i].is_gone)
            let_go(w, i);
    sd_connections_release(&w->connections);
    sd_usage_release(&w->own);
    sd_assert(w->n_kept == 0);
    sd_tree_release(&w->tree);
}
