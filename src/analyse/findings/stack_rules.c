/* SPDX-License-Identifier: MIT */
/* stack_rules: where the time goes: functions, waiting, the interpreter's lock,
 * imports. */
#include <string.h>

#include "analyse/findings/findings.h"
#include "analyse/processes.h"
#include "analyse/stacks/flametree.h"
#include "base/mem.h"
#include "base/sum.h"

enum { NONE = UINT32_MAX };

/* In percent: what is below is not worth a sentence. */
#define HOT_PERCENT 5
#define LIBRARIES_PERCENT 25
#define WAITING_PERCENT 20
#define GIL_WAIT_PERCENT 10
#define GIL_HELD_PERCENT 80
#define IMPORTS_PERCENT 10

static const struct sd_site *site_of(const struct sd_calltree *t, uint32_t callee)
{
    return &t->p->sites[t->callees[callee].site.at];
}

static const int64_t *self_of(const struct sd_calltree *t, uint32_t callee)
{
    return t->callee_self + (size_t)callee * t->n_metrics;
}

/* The callee with most time of its own among those of a kind; NONE: there is none. */
static uint32_t hottest(const struct sd_calltree *t,
                        bool (*is_one)(const struct sd_calltree *t, uint32_t callee))
{
    uint32_t best = NONE;

    for (uint32_t i = 0; i < t->n_callees && t->n_metrics > 0; i++)
        if (is_one(t, i) &&
            (best == NONE || self_of(t, i)[t->metric] > self_of(t, best)[t->metric]))
            best = i;
    return best;
}

static double share_of_all(const struct sd_calltree *t,
                           bool (*is_one)(const struct sd_calltree *t, uint32_t callee))
{
    double sum = 0;

    for (uint32_t i = 0; i < t->n_callees; i++)
        if (is_one(t, i))
            sum += sd_calltree_share(t, self_of(t, i));
    return sum;
}

static bool is_import(const struct sd_calltree *t, uint32_t callee)
{
    const char *import = t->callees[callee].import;

    return import && strcmp(import, SD_IMPORT_START) != 0;
}

static bool is_library(const struct sd_calltree *t, uint32_t callee)
{
    return !t->callees[callee].import && sd_site_is_library(site_of(t, callee));
}

static bool is_own(const struct sd_calltree *t, uint32_t callee)
{
    return !t->callees[callee].import &&
           sd_flametree_kind_of(site_of(t, callee)) == SD_FLAME_OWN;
}

static int link_function(struct sd_finding_case *c, struct sd_profile_finding *out,
                         const struct sd_site *s)
{
    out->view = "functions";
    out->selection.search = sd_finding_search_name(c, s->name);
    return out->selection.search ? 0 : sd_no_memory();
}

/* --- Functions */

/* The function `best` and a share, unless that is too small: "41.2 % of the time", then
 * `words` with its name. */
static int say_function(struct sd_finding_case *c, struct sd_profile_finding *out,
                        uint32_t best, double share, double least, const char *words)
{
    const struct sd_site *site = best == NONE ? NULL : site_of(&c->tree, best);
    const char *name;
    int rc;

    if (!site || share < least)
        return 0;
    name = sd_finding_function(c, site);
    if (!name)
        return sd_no_memory();
    rc = link_function(c, out, site);
    out->value = sd_cell_real(SD_CELL_PERCENT, share);
    return rc < 0 ? rc
                  : sd_finding_say(c, out, "%.1f %% of the %stime is in %s%s", share,
                                   sd_finding_verb(c), words, name);
}

/* The program's own come first: they are what can be changed. */
int sd_finding_of_hottest_function(struct sd_finding_case *c,
                                   struct sd_profile_finding *out)
{
    int rc = sd_finding_tree(c);
    uint32_t best = rc == 1 ? hottest(&c->tree, is_own) : NONE;
    double share =
        best == NONE ? 0 : sd_calltree_share(&c->tree, self_of(&c->tree, best));

    return rc < 0 ? rc : say_function(c, out, best, share, HOT_PERCENT, "");
}

int sd_finding_of_libraries(struct sd_finding_case *c, struct sd_profile_finding *out)
{
    int rc = sd_finding_tree(c);
    uint32_t best = rc == 1 ? hottest(&c->tree, is_library) : NONE;
    double share = best == NONE ? 0 : share_of_all(&c->tree, is_library);

    return rc < 0 ? rc
                  : say_function(c, out, best, share, LIBRARIES_PERCENT,
                                 "functions of libraries, most of it in ");
}

/* Where calls are traced, imports have a table of their own. */
int sd_finding_of_imports(struct sd_finding_case *c, struct sd_profile_finding *out)
{
    int rc = sd_finding_tree(c);
    uint32_t best = rc == 1 ? hottest(&c->tree, is_import) : NONE;
    const char *name;
    double share;

    if (best == NONE)
        return rc < 0 ? rc : 0;
    share = share_of_all(&c->tree, is_import);
    if (share < IMPORTS_PERCENT)
        return 0;
    name = c->tree.callees[best].import; /* of the tree, which does not stay */
    out->selection.search = sd_finding_search(c, name);
    if (!out->selection.search)
        return sd_no_memory();
    out->view = "functions";
    out->value = sd_cell_real(SD_CELL_PERCENT, share);
    return sd_finding_say(c, out, "%.1f %% of the %stime is imports, most of it %s",
                          share, sd_finding_verb(c), name);
}

/* --- Threads */

/* Sums of samples of a thread, as the table of threads has them. */
struct thread_sums {
    int64_t all, idle, waits;
};

static struct thread_sums *sum_threads(const struct sd_profile *p)
{
    const struct sd_stack_totals *t = &p->evidence[SD_SAMPLES].stacks;
    uint32_t column = sd_profile_sample_metric(p, "samples");
    struct thread_sums *sums = sd_zalloc((p->n_tracks + 1) * sizeof *sums);

    for (size_t i = 0; sums && column != NONE && i < t->n; i++) {
        struct thread_sums *s = &sums[t->items[i].track.at];
        int64_t n = t->values[column][i];

        s->all = sd_sum_i64(s->all, n);
        if (t->items[i].flags & SD_SAMPLE_IDLE)
            s->idle = sd_sum_i64(s->idle, n);
        if (t->items[i].flags & SD_SAMPLE_WAITS_GIL)
            s->waits = sd_sum_i64(s->waits, n);
    }
    return sums;
}

/* The main thread that was sampled most: workers wait for work, and nobody minds. */
static uint32_t main_thread(const struct sd_profile *p, const struct thread_sums *sums)
{
    uint32_t best = NONE;

    for (uint32_t i = 0; i < p->n_tracks; i++) {
        sd_track_id process = sd_profile_process_of(p, (sd_track_id){ i });

        if (sums[i].all > 0 && process.at != NONE &&
            p->tracks[i].number == p->tracks[process.at].number &&
            (best == NONE || sums[i].all > sums[best].all))
            best = i;
    }
    return best;
}

/* The innermost function of the program's own, else the innermost of all. */
static const struct sd_site *waiting_function(const struct sd_profile *p,
                                              sd_stack_id stack)
{
    for (uint32_t at = stack.at; at != NONE; at = p->stacks[at].parent.at)
        if (sd_flametree_kind_of(&p->sites[p->stacks[at].site.at]) == SD_FLAME_OWN)
            return &p->sites[p->stacks[at].site.at];
    return stack.at == NONE ? NULL : &p->sites[p->stacks[stack.at].site.at];
}

/* In which function a thread waits most: *out, NULL where no frame was read. */
static int most_waited(const struct sd_profile *p, uint32_t track,
                       const struct sd_site **out)
{
    const struct sd_stack_totals *t = &p->evidence[SD_SAMPLES].stacks;
    uint32_t column = sd_profile_sample_metric(p, "samples");
    int64_t *by_site = sd_zalloc((p->n_sites + 1) * sizeof *by_site), most = 0;

    *out = NULL;
    if (!by_site)
        return sd_no_memory();
    for (size_t i = 0; i < t->n; i++) {
        const struct sd_site *s;

        if (t->items[i].track.at != track || !(t->items[i].flags & SD_SAMPLE_IDLE))
            continue;
        s = waiting_function(p, t->items[i].stack);
        if (!s)
            continue;
        by_site[s - p->sites] += t->values[column][i];
        if (by_site[s - p->sites] > most) {
            most = by_site[s - p->sites];
            *out = s;
        }
    }
    sd_free(by_site);
    return 0;
}

static int link_thread(struct sd_finding_case *c, struct sd_profile_finding *out,
                       uint32_t track)
{
    out->view = "threads";
    out->selection.thread = sd_finding_thread(c, (sd_track_id){ track });
    return out->selection.thread ? 0 : sd_no_memory();
}

static int say_waiting(struct sd_finding_case *c, struct sd_profile_finding *out,
                       uint32_t track, double percent)
{
    const struct sd_site *where;
    const char *name = NULL;
    int rc = most_waited(c->p, track, &where);

    if (rc == 0)
        rc = link_thread(c, out, track);
    if (rc == 0 && where && !(name = sd_finding_function(c, where)))
        rc = sd_no_memory();
    if (rc < 0)
        return rc;
    out->value = sd_cell_real(SD_CELL_PERCENT, percent);
    return sd_finding_say(c, out, "The main thread waits %.1f %% of the time%s%s",
                          percent, name ? ", most of it in " : "", name ? name : "");
}

int sd_finding_of_waiting(struct sd_finding_case *c, struct sd_profile_finding *out)
{
    struct thread_sums *sums = sum_threads(c->p);
    uint32_t track = sums ? main_thread(c->p, sums) : NONE;
    double percent = 0;

    if (track != NONE)
        percent = 100.0 * (double)sums[track].idle / (double)sums[track].all;
    sd_free(sums);
    if (!sums)
        return sd_no_memory();
    return percent < WAITING_PERCENT ? 0 : say_waiting(c, out, track, percent);
}

/* --- The interpreter's lock */

/* The thread that waits for it most. */
int sd_finding_of_gil_wait(struct sd_finding_case *c, struct sd_profile_finding *out)
{
    struct thread_sums *sums = sum_threads(c->p);
    uint32_t best = NONE;
    double percent = 0;
    int rc;

    if (!sums)
        return sd_no_memory();
    for (uint32_t i = 0; i < c->p->n_tracks; i++)
        if (sums[i].waits > 0 && (best == NONE || sums[i].waits > sums[best].waits))
            best = i;
    if (best != NONE)
        percent = 100.0 * (double)sums[best].waits / (double)sums[best].all;
    sd_free(sums);
    if (percent < GIL_WAIT_PERCENT)
        return 0;
    rc = link_thread(c, out, best);
    out->value = sd_cell_real(SD_CELL_PERCENT, percent);
    return rc < 0 ? rc
                  : sd_finding_say(c, out,
                                   "Thread %s waits for the interpreter's lock %.1f %% "
                                   "of the time",
                                   c->p->tracks[best].name ? c->p->tracks[best].name
                                                           : out->selection.thread,
                                   percent);
}

/* How long threads of a process held the lock, and how many of them did something. */
struct holding {
    int64_t held_ns;
    uint32_t n_threads;
};

static int sum_processes(const struct sd_profile *p, struct holding **out)
{
    const struct sd_stack_totals *t = &p->evidence[SD_SAMPLES].stacks;
    uint32_t wall = sd_profile_sample_metric(p, "wall");
    struct holding *sums = sd_zalloc((p->n_tracks + 1) * sizeof *sums);
    bool *is_active = sd_zalloc(p->n_tracks + 1);

    for (size_t i = 0; sums && is_active && wall != NONE && i < t->n; i++) {
        uint32_t track = t->items[i].track.at;
        uint32_t process = sd_profile_process_of(p, t->items[i].track).at;

        if (process == NONE || t->items[i].flags & SD_SAMPLE_IDLE)
            continue;
        sums[process].n_threads += !is_active[track];
        is_active[track] = true;
        if (t->items[i].flags & SD_SAMPLE_GIL)
            sums[process].held_ns =
                sd_sum_i64(sums[process].held_ns, t->values[wall][i]);
    }
    if (!is_active) {
        sd_free(sums);
        sums = NULL;
    }
    sd_free(is_active);
    *out = sums;
    return sums ? 0 : sd_no_memory();
}

/* Of the whole run: how long a part of it took is not known of every selection. */
int sd_finding_of_gil_held(struct sd_finding_case *c, struct sd_profile_finding *out)
{
    double run_ns = (double)sd_run_wall_ns(c->p), percent = 0;
    struct holding *sums;
    uint32_t best = NONE;
    int rc = c->p->is_part || run_ns <= 0 ? 1 : sum_processes(c->p, &sums);

    if (rc != 0)
        return rc < 0 ? rc : 0;
    for (uint32_t i = 0; i < c->p->n_tracks; i++)
        if (sums[i].n_threads > 1 &&
            (best == NONE || sums[i].held_ns > sums[best].held_ns))
            best = i;
    if (best != NONE)
        percent = 100.0 * (double)sums[best].held_ns / run_ns;
    sd_free(sums);
    if (percent < GIL_HELD_PERCENT)
        return 0;
    rc = link_thread(c, out, best);
    percent = percent < 100 ? percent : 100;
    out->value = sd_cell_real(SD_CELL_PERCENT, percent);
    return rc < 0 ? rc
                  : sd_finding_say(c, out,
                                   "The interpreter's lock is held %.1f %% of the run: "
                                   "more threads would not make it faster",
                                   percent);
}
