/* SPDX-License-Identifier: MIT */
#include "analyse/processes.h"

#include <inttypes.h>
#include <string.h>

#include "analyse/analyse.h"
#include "analyse/moments.h"
#include "analyse/views.h"
#include "base/assert.h"
#include "base/mem.h"
#include "profile/series.h"

enum column {
    PID,
    NAME,
    WALL,
    CPU,
    CPU_PERCENT,
    RSS_MAX,
    PEAK_RSS,
    VMS_MAX,
    PSS_MAX,
    THREADS,
    READ,
    WRITTEN,
    RECEIVED,
    SENT,
    TCP_RECEIVED,
    TCP_SENT,
    STATUS,
    HOST,
    N_COLUMNS,
};

static const struct sd_column columns[N_COLUMNS] = {
    [PID] = { "pid", "number of the process", SD_CELL_COUNT, false, 0 },
    [NAME] = { "name", "name of the process", SD_CELL_TEXT, false, 0 },
    [WALL] = { "wall", "from its first event to its last", SD_CELL_NS, false, 1 },
    [CPU] = { "cpu", "CPU time, all its threads", SD_CELL_NS, false, 0 },
    [CPU_PERCENT] = { "cpu_percent", "CPU time as percent of wall: 200 is two cores",
                      SD_CELL_PERCENT, false, 2 },
    [RSS_MAX] = { "rss_max",
                  "largest resident memory among its readings; of all processes: the "
                  "largest sum at one moment",
                  SD_CELL_BYTES, false, 3 },
    [PEAK_RSS] = { "peak_rss",
                   "largest resident memory ever, by the kernel's own mark, which "
                   "misses no peak",
                   SD_CELL_BYTES, false, 0 },
    [VMS_MAX] = { "vms_max", "largest mapped memory; of all processes: at one moment",
                  SD_CELL_BYTES, false, 7 },
    [PSS_MAX] = { "pss_max", "largest proportional memory; of all: at one moment",
                  SD_CELL_BYTES, false, 6 },
    [THREADS] = { "threads", "most at one moment", SD_CELL_COUNT, false, 4 },
    [READ] = { "read", "bytes it read", SD_CELL_BYTES, false, 5 },
    [WRITTEN] = { "written", "bytes it wrote", SD_CELL_BYTES, false, 5 },
    [RECEIVED] = { "received", "network bytes received in its namespace", SD_CELL_BYTES,
                   false, 8 },
    [SENT] = { "sent", "network bytes sent in its namespace", SD_CELL_BYTES, false, 8 },
    [TCP_RECEIVED] = { "tcp_received",
                       "network bytes received over its own TCP connections",
                       SD_CELL_BYTES, false, 7 },
    [TCP_SENT] = { "tcp_sent", "network bytes sent over its own TCP connections",
                   SD_CELL_BYTES, false, 7 },
    [STATUS] = { "status", "exit status, or minus the signal that ended it",
                 SD_CELL_COUNT, false, 6 },
    [HOST] = { "host", "machine it ran on", SD_CELL_TEXT, true, 9 },
};

int64_t sd_process_peak_bytes(const struct sd_profile *p, sd_track_id process)
{
    const struct sd_series *rss = sd_profile_series(p, process, "rss");
    const struct sd_series *peak = sd_profile_series(p, process, "peak_rss");
    int64_t most = -1;

    if (rss)
        most = rss->sum.max;
    if (!p->window.is_set && peak && peak->sum.max > most)
        most = peak->sum.max;
    return most;
}

/* Sums of allocations, and a sample that drew none, have no time. */
static void add_allocating(const struct sd_profile *p, struct sd_process *found)
{
    for (size_t i = 0; i < p->allocs.n_processes; i++) {
        uint32_t track = p->allocs.processes[i].track;
        uint32_t at = track < p->n_tracks
                          ? sd_profile_process_of(p, (sd_track_id){ track }).at
                          : UINT32_MAX;

        if (at != UINT32_MAX)
            found[at].is_one = true;
    }
}

struct sd_process *sd_processes_survey(const struct sd_profile *p)
{
    struct sd_process *found = sd_zalloc((p->n_tracks + 1) * sizeof *found);

    for (size_t i = 0; found && i < p->n_tracks; i++)
        found[i].first_ns = UINT64_MAX;
    for (uint32_t i = 0; found && i < p->n_tracks; i++) {
        const struct sd_track *t = &p->tracks[i];
        uint32_t at = sd_profile_process_of(p, (sd_track_id){ i }).at;
        struct sd_process *one = at == UINT32_MAX ? NULL : &found[at];
        bool has_events = t->first_ns <= t->last_ns;

        if (!one)
            continue;
        one->is_one |= has_events ||
                       (at == i && !p->window.is_set && t->status != SD_STATUS_UNKNOWN);
        one->n_threads += has_events && t->kind == SD_TRACK_THREAD;
        one->first_ns = t->first_ns < one->first_ns ? t->first_ns : one->first_ns;
        one->last_ns = t->last_ns > one->last_ns ? t->last_ns : one->last_ns;
    }
    if (found && !p->window.is_set)
        add_allocating(p, found);
    return found;
}

const char *sd_process_label(const struct sd_profile *p, uint32_t track,
                             struct sd_arena *a)
{
    const struct sd_track *t = &p->tracks[track];

    sd_assert(track < p->n_tracks);
    if (t->number == 0 && t->name)
        return sd_arena_string(a, t->name, strlen(t->name));
    return sd_arena_printf(a, "%" PRIu64 "%s%s", t->number, t->name ? " " : "",
                           t->name ? t->name : "");
}

static struct sd_cell amount(const struct sd_profile *p, sd_track_id t,
                             const char *metric, enum sd_cell_kind kind)
{
    const struct sd_series *s = sd_profile_series(p, t, metric);

    return s ? sd_cell_number(kind, s->sum.total) : (struct sd_cell){ 0 };
}

static struct sd_cell most(const struct sd_profile *p, sd_track_id t,
                           const char *metric, enum sd_cell_kind kind)
{
    const struct sd_series *s = sd_profile_series(p, t, metric);

    return s ? sd_cell_number(kind, s->sum.max) : (struct sd_cell){ 0 };
}

static void set_percent(struct sd_cell *row)
{
    if (row[CPU].kind == SD_CELL_NS && row[WALL].kind == SD_CELL_NS &&
        row[WALL].number > 0)
        row[CPU_PERCENT] =
            sd_cell_real(SD_CELL_PERCENT,
                         100.0 * (double)row[CPU].number / (double)row[WALL].number);
}

/* In a window CPU is known from the first reading in it to the last, so that is the
 * time it is compared with. */
static struct sd_cell wall_of(const struct sd_profile *p, sd_track_id t,
                              const struct sd_process *found)
{
    const struct sd_series *s = sd_profile_series(p, t, "cpu");

    if (p->window.is_set && s && s->sum.n > 1)
        return sd_cell_number(SD_CELL_NS, (int64_t)(s->buckets[s->n_buckets - 1].to_ns -
                                                    s->buckets[0].from_ns));
    if (found->first_ns > found->last_ns)
        return (struct sd_cell){ 0 };
    return sd_cell_number(SD_CELL_NS, (int64_t)(found->last_ns - found->first_ns));
}

static int fill_process(const struct sd_profile *p, uint32_t at,
                        const struct sd_process *found, struct sd_arena *a,
                        struct sd_cell *row)
{
    const struct sd_track *t = &p->tracks[at];
    sd_track_id id = { at };
    int64_t peak = sd_process_peak_bytes(p, id);

    if (t->number != 0) /* whose definitions are lost has none that is known */
        row[PID] = sd_cell_number(SD_CELL_COUNT, (int64_t)t->number);
    if (t->name)
        row[NAME] = sd_cell_text(sd_arena_string(a, t->name, strlen(t->name)));
    if (t->host)
        row[HOST] = sd_cell_text(sd_arena_string(a, t->host, strlen(t->host)));
    if ((t->name && !row[NAME].text) || (t->host && !row[HOST].text))
        return sd_no_memory();
    row[WALL] = wall_of(p, id, found);
    row[CPU] = amount(p, id, "cpu", SD_CELL_NS);
    set_percent(row);
    row[RSS_MAX] = most(p, id, "rss", SD_CELL_BYTES);
    if (peak >= 0 && !p->window.is_set)
        row[PEAK_RSS] = sd_cell_number(SD_CELL_BYTES, peak);
    row[VMS_MAX] = most(p, id, "vms", SD_CELL_BYTES);
    row[PSS_MAX] = most(p, id, "pss", SD_CELL_BYTES);
    row[THREADS] = most(p, id, "threads", SD_CELL_COUNT);
    row[READ] = amount(p, id, "read", SD_CELL_BYTES);
    row[WRITTEN] = amount(p, id, "written", SD_CELL_BYTES);
    row[RECEIVED] = amount(p, id, "received", SD_CELL_BYTES);
    row[SENT] = amount(p, id, "sent", SD_CELL_BYTES);
    row[TCP_RECEIVED] = amount(p, id, "tcp_received", SD_CELL_BYTES);
    row[TCP_SENT] = amount(p, id, "tcp_sent", SD_CELL_BYTES);
    if (t->status != SD_STATUS_UNKNOWN)
        row[STATUS] = sd_cell_number(SD_CELL_COUNT, t->status);
    return 0;
}

/* --- The row of all processes together */

static int set_moment(const struct sd_profile *p, const char *metric,
                      enum sd_cell_kind kind, struct sd_cell *cell)
{
    struct sd_series all;
    int rc = sd_moments_sum_processes(p, metric, &all);

    if (rc == 0 && all.n_buckets > 0)
        *cell = sd_cell_number(kind, all.sum.max);
    if (rc == 0)
        sd_series_release(&all);
    return rc;
}

/* Amounts add up.  (Network bytes too: collectors book those of a namespace, and those
 * of a connection, on one process.) */
static void add_amounts(const struct sd_view_table *t, struct sd_cell *row)
{
    static const enum column amounts[] = { CPU,  READ,         WRITTEN, RECEIVED,
                                           SENT, TCP_RECEIVED, TCP_SENT };

    sd_assert(t->n_columns == N_COLUMNS); /* none was dropped yet */
    for (size_t k = 0; k < sizeof amounts / sizeof amounts[0]; k++)
        for (size_t i = 1; i < t->n_rows; i++) {
            const struct sd_cell *c = sd_view_cell(t, i, amounts[k]);

            if (c->kind == SD_CELL_NONE)
                continue;
            row[amounts[k]].kind = c->kind;
            if (__builtin_add_overflow(row[amounts[k]].number, c->number,
                                       &row[amounts[k]].number))
                row[amounts[k]].number = INT64_MAX;
        }
}

/* The first row, from those below it. */
static int fill_all(const struct sd_profile *p, const struct sd_view_table *t)
{
    struct sd_cell *row = sd_view_cell(t, 0, 0);
    struct sd_summary s;
    int rc = sd_analyse_summary(p, &s);

    if (rc < 0)
        return rc;
    row[NAME] = sd_cell_text("all processes");
    row[WALL] = sd_cell_number(SD_CELL_NS, (int64_t)s.wall_ns);
    add_amounts(t, row);
    set_percent(row);
    rc = set_moment(p, "rss", SD_CELL_BYTES, &row[RSS_MAX]);
    if (rc == 0)
        rc = set_moment(p, "vms", SD_CELL_BYTES, &row[VMS_MAX]);
    if (rc == 0)
        rc = set_moment(p, "pss", SD_CELL_BYTES, &row[PSS_MAX]);
    if (rc == 0)
        rc = set_moment(p, "threads", SD_CELL_COUNT, &row[THREADS]);
    return rc;
}

/* What no process has is no column; what is zero everywhere is none on a terminal. */
static void drop_columns(struct sd_view_table *t)
{
    size_t kept = 0;

    for (size_t k = 0; k < t->n_columns; k++) {
        bool is_measured = k <= NAME, has_any = k <= NAME;

        for (size_t i = 0; i < t->n_rows; i++) {
            const struct sd_cell *c = sd_view_cell(t, i, k);

            is_measured |= c->kind != SD_CELL_NONE;
            has_any |= c->kind != SD_CELL_NONE && (c->number || c->real > 0 || c->text);
        }
        if (!is_measured)
            continue;
        t->columns[kept] = t->columns[k];
        t->columns[kept].is_hidden_in_text |= !has_any;
        for (size_t i = 0; i < t->n_rows; i++)
            t->cells[i * t->n_columns + kept] = t->cells[i * t->n_columns + k];
        kept++;
    }
    for (size_t i = 0; i < t->n_rows; i++) /* rows become shorter, in place */
        memmove(t->cells + i * kept, t->cells + i * t->n_columns,
                kept * sizeof *t->cells);
    sd_assert(kept > NAME && kept <= t->n_columns);
    t->n_columns = kept;
}

static int fill_table(const struct sd_profile *p, struct sd_view *v,
                      const struct sd_process *found)
{
    struct sd_view_table *t;
    size_t n = 0, row;
    int rc = 0;

    for (uint32_t i = 0; i < p->n_tracks; i++)
        n += found[i].is_one;
    row = n > 1;
    t = sd_views_add(v, "processes", columns, N_COLUMNS, n > 1 ? n + 1 : n);
    if (!t)
        return sd_no_memory();
    for (uint32_t i = 0; i < p->n_tracks && rc == 0; i++)
        if (found[i].is_one)
            rc = fill_process(p, i, &found[i], &v->arena, sd_view_cell(t, row++, 0));
    sd_assert(rc < 0 || row == t->n_rows);
    if (rc == 0 && n > 1)
        rc = fill_all(p, t);
    if (rc == 0)
        drop_columns(t);
    return rc;
}

/* One row each and one for the tree: wall, cpu, cpu %, peak, rss and vms max, threads,
 * read, written, received, sent, the same over TCP. */
int sd_processes_view(const struct sd_profile *p, const struct sd_view_request *r,
                      struct sd_view *v)
{
    struct sd_process *found = sd_processes_survey(p);
    int rc = found ? fill_table(p, v, found) : sd_no_memory();

    (void)r;
    sd_free(found);
    return rc;
}
