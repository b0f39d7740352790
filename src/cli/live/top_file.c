/* SPDX-License-Identifier: MIT */
/* top_file: adds up what a capture holds so far, as if it had just been sampled. */
#include <string.h>

#include "analyse/analyse.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/record.h"
#include "cli/live/verb_top.h"
#include "cli/read/command_captures.h"
#include "cli/say.h"

/* Of time samples, of memory allocations. */
static const struct sd_stack_totals *totals_of(const struct sd_top *t,
                                               const struct sd_profile *p)
{
    return &p->evidence[t->view.is_of_memory ? SD_ALLOCATIONS : SD_SAMPLES].stacks;
}

static int64_t amount(const struct sd_profile *p, const struct sd_stack_totals *totals,
                      const char *metric, size_t i)
{
    uint32_t at = sd_totals_metric(p, totals, metric);

    return at == UINT32_MAX ? 0 : totals->values[at][i];
}

static void add_time(struct sd_tally_rows *rows, uint32_t at, uint64_t stamp,
                     bool is_own, uint64_t ns)
{
    struct sd_tally_row *row;

    if (at == UINT32_MAX)
        return;
    row = &rows->items[at];
    row->own_ns += is_own ? ns : 0;
    row->total_ns += row->stamp != stamp ? ns : 0;
    row->stamp = stamp;
}

/* An import's row in the place of its functions; returns how many of them there are,
 * innermost first. */
static size_t add_import(struct sd_tally *t, const struct sd_profile *p,
                         const struct sd_import_rows *imports, uint32_t stack,
                         uint64_t ns)
{
    const struct sd_import_row *row;
    const char *file = NULL;
    size_t n = 0;

    if (!imports->row_of || imports->row_of[stack] == UINT32_MAX)
        return 0;
    row = &imports->rows[imports->row_of[stack]];
    if (row->importer.at != UINT32_MAX)
        file = p->sites[row->importer.at].file;
    add_time(&t->functions,
             sd_tally_function(t, row->name, row->name, file ? file : "",
                               (int32_t)row->line),
             t->stamp, true, ns);
    for (uint32_t at = stack; at != imports->importer[stack];
         at = p->stacks[at].parent.at)
        n++;
    return n;
}

/* Memory that no function of Python allocated. */
static void add_nobody(struct sd_tally *t, uint64_t bytes)
{
    static const char name[] = "[no Python frame]";

    if (t->is_of_memory && bytes > 0)
        add_time(&t->functions, sd_tally_function(t, name, name, "", 0), t->stamp, true,
                 bytes);
}

static void add_stack(struct sd_tally *t, const struct sd_profile *p,
                      const struct sd_import_rows *imports, sd_stack_id stack,
                      uint64_t ns)
{
    bool is_own = true;
    size_t n_folded;

    t->stamp++;
    if (stack.at == UINT32_MAX) {
        add_nobody(t, ns);
        return;
    }
    if (imports->is_startup && imports->is_startup[stack.at])
        return;
    n_folded = add_import(t, p, imports, stack.at, ns);
    for (; stack.at != UINT32_MAX; stack = p->stacks[stack.at].parent) {
        const struct sd_stack *s = &p->stacks[stack.at];
        const struct sd_site *site = &p->sites[s->site.at];
        uint32_t row =
            sd_tally_function(t, site->name, site->label ? site->label : site->name,
                              site->file ? site->file : "", (int32_t)site->line);

        if (row != UINT32_MAX) {
            if (n_folded == 0)
                add_time(&t->functions, row, t->stamp, is_own, ns);
            add_time(&t->lines, sd_tally_line(t, row, (int32_t)s->line), t->stamp,
                     is_own, ns);
        }
        is_own = false;
        n_folded -= n_folded > 0;
    }
}

static struct sd_tally_thread *thread_of(struct sd_tally *t, const struct sd_profile *p,
                                         sd_track_id track)
{
    const struct sd_track *from = &p->tracks[track.at];
    sd_track_id process = sd_profile_process_of(p, track);
    pid_t pid = process.at == UINT32_MAX ? 0 : (pid_t)p->tracks[process.at].number;
    struct sd_tally_thread *x, **threads;

    for (size_t i = 0; i < t->n_threads; i++)
        if (t->threads[i]->pid == pid && t->threads[i]->tid == (pid_t)from->number)
            return t->threads[i];
    threads =
        sd_grow_array(t->threads, &t->cap_threads, t->n_threads + 1, sizeof *threads);
    if (threads)
        t->threads = threads;
    x = threads ? sd_zalloc(sizeof *x) : NULL;
    t->has_no_room |= x == NULL;
    if (!x)
        return NULL;
    x->pid = pid;
    x->tid = (pid_t)from->number;
    x->inside = UINT32_MAX;
    if (from->name)
        memcpy(x->name, from->name, strnlen(from->name, sizeof x->name - 1));
    t->threads[t->n_threads++] = x;
    return x;
}

static bool is_wanted(enum sd_tally_wants wants, uint32_t flags)
{
    if (wants == SD_TALLY_GIL)
        return flags & SD_SAMPLE_GIL;
    return wants == SD_TALLY_ALL || !(flags & SD_SAMPLE_IDLE);
}

static void add_memory(struct sd_top *top, const struct sd_profile *p,
                       const struct sd_import_rows *imports, size_t i)
{
    const struct sd_stack_totals *totals = totals_of(top, p);
    uint64_t bytes = (uint64_t)amount(p, totals, "leaked_bytes", i);
    struct sd_tally *t = &top->shown.of_file;
    struct sd_tally_thread *x = thread_of(t, p, totals->items[i].track);

    if (x)
        x->active_ns += bytes;
    add_stack(t, p, imports, totals->items[i].stack, bytes);
}

static void add_total(struct sd_top *top, const struct sd_profile *p,
                      const struct sd_import_rows *imports, size_t i)
{
    struct sd_tally *t = &top->shown.of_file;
    const struct sd_stack_totals *totals = totals_of(top, p);
    const struct sd_sample_total *s = &totals->items[i];
    struct sd_tally_thread *x = thread_of(t, p, s->track);
    uint64_t ns = (uint64_t)amount(p, totals, "wall", i);
    uint64_t n = (uint64_t)amount(p, totals, "samples", i);

    top->shown.counts.samples += n;
    top->shown.counts.partial += s->flags & SD_SAMPLE_PARTIAL ? n : 0;
    top->shown.counts.idle += s->flags & SD_SAMPLE_IDLE ? n : 0;
    if (x) {
        x->active_ns += s->flags & SD_SAMPLE_IDLE ? 0 : ns;
        x->n_gil += s->flags & SD_SAMPLE_GIL ? ns : 0; /* here in nanoseconds */
        x->cpu_ns += (uint64_t)amount(p, totals, "cpu", i);
    }
    if (is_wanted(top->wants, s->flags))
        add_stack(t, p, imports, s->stack, ns);
}

static double percent(uint64_t ns, uint64_t of)
{
    return of ? 100.0 * (double)ns / (double)of : 0;
}

/* Of the time, or of the live bytes. */
static void make_shares(struct sd_tally *t, uint64_t ns)
{
    struct sd_tally_rows *rows[] = { &t->functions, &t->lines };

    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < rows[k]->n; i++) {
            struct sd_tally_row *r = &rows[k]->items[i];

            r->own_percent = percent(r->own_ns, ns);
            r->total_percent = percent(r->total_ns, ns);
        }
    for (size_t i = 0; i < t->n_threads; i++) {
        struct sd_tally_thread *x = t->threads[i];

        x->active_percent = percent(x->active_ns, ns);
        x->gil_percent = percent(x->n_gil, ns);
        x->cpu_percent = percent(x->cpu_ns, ns);
        t->gil_percent += x->gil_percent;
        if (x->active_percent > t->active_percent) /* at least: they may take turns */
            t->active_percent = x->active_percent;
    }
}

static size_t count_processes(const struct sd_profile *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_tracks; i++)
        n += p->tracks[i].kind == SD_TRACK_PROCESS && p->tracks[i].number != 0;
    return n;
}

static int check_has_some(const struct sd_top *t, const struct sd_profile *p)
{
    if (t->view.is_of_memory && !p->allocs.is_recorded)
        return sd_fail(SD_EABSENT,
                       "%s holds no allocations; record them with: sonde alloc",
                       t->file);
    if (t->view.is_of_memory || sd_profile_has(p, SD_SAMPLES))
        return 0;
    return sd_fail(SD_EABSENT, "%s holds no samples%s", t->file,
                   p->allocs.is_recorded ? "; --alloc shows its allocations" : "");
}

int sd_top_take_file(struct sd_top *t)
{
    struct sd_top_state *s = &t->shown;
    struct sd_profile *p = NULL;
    struct sd_sample_account account;
    const char *version;
    struct sd_import_rows imports = { 0 };
    int rc = sd_load_back(t->command, t->file, &p);

    if (rc == 0)
        rc = sd_import_rows_make(p, t->folds_imports, &imports);
    if (rc < 0) {
        sd_profile_free(p);
        return rc;
    }
    if (!s->is_file) /* it is read again and again */
        sd_remark_losses(&sd_said_remarks, t->file, p, SD_LOSSES_ALL);
    sd_tally_release(&s->of_file);
    s->of_file.is_of_memory = t->view.is_of_memory;
    s->counts = (struct sd_sample_counts){ 0 };
    sd_alloc_summarize(p, &s->memory);
    for (size_t i = 0; i < totals_of(t, p)->n; i++)
        (t->view.is_of_memory ? add_memory : add_total)(t, p, &imports, i);
    sd_import_rows_release(&imports);
    s->of_file.elapsed_ns = p->end_ns;
    make_shares(&s->of_file,
                t->view.is_of_memory ? (uint64_t)s->memory.leaked_bytes : p->end_ns);
    if (sd_account_of(p, &account)) {
        s->counts.missed = account.missed;
        s->counts.lost = account.lost;
    }
    s->n_processes = count_processes(p);
    s->is_file = true;
    s->has_ended = p->health.is_ended || !p->health.is_running;
    version = sd_profile_meta(p, "sample.python");
    s->python[0] = 0;
    if (version)
        strncat(s->python, version, sizeof s->python - 1);
    s->version = s->python;
    s->title = t->file;
    if (s->has_ended)
        rc = check_has_some(t, p);
    sd_profile_free(p);
    return rc;
}
