/* SPDX-License-Identifier: MIT */
/* top_shown: copies what top shows, sorts and filters it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "capture/record.h"
#include "cli/live/verb_top.h"
#include "cli/record/attach.h"
#include "cli/say.h"

/* --- Taking a copy */

static int copy_array(void *to, size_t *n_to, const void *from, size_t n, size_t size)
{
    void *copy = sd_alloc(n * size + 1);

    *n_to = 0;
    sd_free(*(void **)to);
    *(void **)to = copy;
    if (!copy)
        return sd_no_memory();
    if (n)
        memcpy(copy, from, n * size);
    *n_to = n;
    return 0;
}

static int copy_threads(struct sd_top_state *s, const struct sd_tally *from)
{
    struct sd_tally_thread *copy = sd_alloc((from->n_threads + 1) * sizeof *copy);

    sd_free(s->threads);
    s->threads = copy;
    s->n_threads = 0;
    if (!copy)
        return sd_no_memory();
    for (size_t i = 0; i < from->n_threads; i++)
        copy[s->n_threads++] = *from->threads[i];
    return 0;
}

static int copy_tally(struct sd_top_state *s, const struct sd_tally *t)
{
    int rc = copy_array(&s->functions, &s->n_functions, t->functions.items,
                        t->functions.n, sizeof *s->functions);

    if (rc == 0)
        rc = copy_array(&s->lines, &s->n_lines, t->lines.items, t->lines.n,
                        sizeof *s->lines);
    if (rc == 0)
        rc = copy_threads(s, t);
    s->gil_percent = t->gil_percent;
    s->active_percent = t->active_percent;
    s->elapsed_ns = t->elapsed_ns;
    return t->has_no_room ? sd_no_memory() : rc;
}

int sd_top_take(struct sd_top *t)
{
    struct sd_top_state *s = &t->shown;
    struct sd_rounds *r = t->rounds;
    int rc;

    if (!r) {
        rc = sd_top_take_file(t);
        return rc < 0 ? rc : copy_tally(s, &s->of_file);
    }
    pthread_mutex_lock(&r->lock);
    if (!r->has_ended || r->sampled_ns) /* the last picture stays */
        sd_rounds_turn(r);
    rc = copy_tally(s, &r->tally);
    s->counts = r->counts;
    s->n_processes = r->n_processes;
    s->rate = 1000000000u / r->period_ns;
    s->has_ended = r->has_ended;
    s->is_paused = r->is_paused;
    memcpy(s->python, r->version, sizeof s->python);
    s->version = s->python;
    pthread_mutex_unlock(&r->lock);
    return rc;
}

void sd_top_release(struct sd_top_state *s)
{
    sd_free(s->functions);
    sd_free(s->lines);
    sd_free(s->threads);
    sd_free(s->order);
    sd_tally_release(&s->of_file);
    *s = (struct sd_top_state){ 0 };
}

/* --- Choosing and sorting */

static const struct sd_tally_row *rows_of(const struct sd_top_state *s,
                                          const struct sd_top_view *view, size_t *n)
{
    *n = view->is_by_line ? s->n_lines : s->n_functions;
    return view->is_by_line ? s->lines : s->functions;
}

const struct sd_tally_row *sd_top_row(const struct sd_top_state *s,
                                      const struct sd_top_view *view, size_t i)
{
    return &(view->is_by_line ? s->lines : s->functions)[s->order[i]];
}

struct sorting {
    const struct sd_top_state *shown;
    const struct sd_top_view *view;
};

static double key_of(const struct sd_tally_row *r, enum sd_top_sort sort)
{
    switch (sort) {
    case SD_TOP_OWN_PERCENT:
        return r->own_percent;
    case SD_TOP_TOTAL_PERCENT:
        return r->total_percent;
    case SD_TOP_OWN_TIME:
        return (double)r->own_ns;
    case SD_TOP_TOTAL_TIME:
    case SD_TOP_SORTS:
        break;
    }
    return (double)r->total_ns;
}

static double thread_key(const struct sd_tally_thread *x, enum sd_top_sort sort)
{
    switch (sort) {
    case SD_TOP_OWN_PERCENT:
        return x->active_percent;
    case SD_TOP_TOTAL_PERCENT:
        return x->gil_percent;
    case SD_TOP_OWN_TIME:
        return x->cpu_percent;
    case SD_TOP_TOTAL_TIME:
    case SD_TOP_SORTS:
        break;
    }
    return (double)x->active_ns;
}

/* Largest first; equal ones by time, then as they came. */
static int compare(const void *a, const void *b, void *of)
{
    const struct sorting *how = of;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    double x, y, x2 = 0, y2 = 0;

    if (how->view->has_threads) {
        x = thread_key(&how->shown->threads[i], how->view->sort);
        y = thread_key(&how->shown->threads[k], how->view->sort);
    } else {
        size_t n;
        const struct sd_tally_row *rows = rows_of(how->shown, how->view, &n);

        x = key_of(&rows[i], how->view->sort);
        y = key_of(&rows[k], how->view->sort);
        x2 = (double)rows[i].total_ns;
        y2 = (double)rows[k].total_ns;
    }
    if (x != y)
        return x > y ? -1 : 1;
    if (x2 != y2)
        return x2 > y2 ? -1 : 1;
    return i < k ? -1 : i > k;
}

static bool has_text(const char *in, const char *part)
{
    return strcasestr(in, part) != NULL;
}

static bool is_shown(const struct sd_top_state *s, const struct sd_top_view *view,
                     const struct sd_tally_row *rows, size_t i)
{
    if (view->has_threads) {
        const struct sd_tally_thread *x = &s->threads[i];

        return has_text(x->name, view->filter) ||
               (x->inside < s->n_functions &&
                has_text(s->functions[x->inside].name, view->filter));
    }
    return rows[i].total_ns > 0 && (has_text(rows[i].qualname, view->filter) ||
                                    has_text(rows[i].file, view->filter));
}

int sd_top_arrange(struct sd_top_state *s, const struct sd_top_view *view)
{
    struct sorting how = { s, view };
    size_t n;
    const struct sd_tally_row *rows = rows_of(s, view, &n);
    uint32_t *order;

    if (view->has_threads)
        n = s->n_threads;
    order = sd_grow_array(s->order, &s->cap_order, n + 1, sizeof *order);
    if (!order)
        return sd_no_memory();
    s->order = order;
    s->n_order = 0;
    for (size_t i = 0; i < n; i++)
        if (is_shown(s, view, rows, i))
            order[s->n_order++] = (uint32_t)i;
    qsort_r(order, s->n_order, sizeof *order, compare, &how);
    return 0;
}

/* --- Lines of text */

/* Adds `text`, made fit to be seen, cut to the columns that are left. */
static void put_fitting(struct sd_buf *to, const char *text, size_t width)
{
    size_t used = sd_text_width((const char *)to->p, to->n), n;
    struct sd_buf shown = { 0 };

    sd_text_escape(&shown, text, strlen(text));
    if (!sd_speaks_utf8())
        for (size_t i = 0; i < shown.n; i++)
            if (shown.p[i] >= 0x80)
                shown.p[i] = '?';
    n = shown.n;
    if (width)
        n = used < width ? sd_text_fit((const char *)shown.p, n, width - used) : 0;
    sd_buf_add(to, shown.p, n);
    to->bad |= shown.bad;
    sd_buf_release(&shown);
}

/* Of the threads that live, all are: by job control or a debugger. */
bool sd_top_is_stopped(const struct sd_top_state *s)
{
    size_t n_living = 0;

    if (s->is_file || s->has_ended)
        return false;
    for (size_t i = 0; i < s->n_threads; i++) {
        const struct sd_tally_thread *x = &s->threads[i];

        if (!x->has_ended && !(x->flags & SD_SAMPLE_STOPPED))
            return false;
        n_living += !x->has_ended;
    }
    return n_living > 0;
}

static void put_title(struct sd_buf *to, const struct sd_top_state *s)
{
    sd_buf_printf(to, "%s '%s'",
                  s->of_file.is_of_memory ? "Memory of"
                  : s->is_file            ? "Samples of"
                  : s->has_ended          ? "Ended:"
                  : s->is_paused          ? "Paused:"
                  : sd_top_is_stopped(s)  ? "Collecting samples from a stopped program:"
                                          : "Collecting samples from",
                  s->title ? s->title : "");
    if (s->version && *s->version)
        sd_buf_printf(to, " (python v%s)", s->version);
}

static void put_counts(struct sd_buf *to, const struct sd_top_state *s)
{
    char n[SD_TEXT_MAX], missed[SD_TEXT_MAX], lost[SD_TEXT_MAX], partial[SD_TEXT_MAX];

    sd_buf_printf(to, "Samples %s (%s missed, %s lost, %s partial)",
                  sd_text_count(n, (int64_t)s->counts.samples),
                  sd_text_count(missed, (int64_t)s->counts.missed),
                  sd_text_count(lost, (int64_t)s->counts.lost),
                  sd_text_count(partial, (int64_t)s->counts.partial));
    sd_buf_printf(to, ", %.1f s", (double)s->elapsed_ns / 1e9);
    if (!s->is_file)
        sd_buf_printf(to, ", %llu Hz", (unsigned long long)s->rate);
}

static void put_memory(struct sd_buf *to, const struct sd_top_state *s)
{
    char text[SD_TEXT_MAX];

    sd_buf_printf(to, "Live %s in ", sd_text_bytes(text, s->memory.leaked_bytes));
    sd_buf_printf(to, "%s blocks", sd_text_count(text, s->memory.leaked_allocations));
    sd_buf_printf(to, ", peak %s", sd_text_bytes(text, s->memory.peak_bytes));
    sd_buf_printf(to, ", %s allocations", sd_text_count(text, s->memory.allocations));
    sd_buf_printf(to, ", %.1f s", (double)s->elapsed_ns / 1e9);
}

static void put_untracked(struct sd_buf *to, const struct sd_top_state *s)
{
    char text[SD_TEXT_MAX];
    int64_t bytes = s->memory.untracked_bytes;

    if (!s->memory.has_untracked)
        return;
    sd_buf_printf(to, "RSS at most %s, ",
                  sd_text_bytes(text, s->memory.peak_rss_bytes));
    sd_buf_printf(to, "untracked %s, ", sd_text_bytes(text, bytes > 0 ? bytes : 0));
}

static size_t n_living(const struct sd_top_state *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n_threads; i++)
        n += !s->threads[i].has_ended;
    return n;
}

static void put_shares(struct sd_buf *to, const struct sd_top_state *s,
                       const struct sd_top_view *view)
{
    if (view->is_of_memory)
        put_untracked(to, s);
    else
        sd_buf_printf(to, "GIL: %.2f%%, Active: %.2f%%, ", s->gil_percent,
                      s->active_percent);
    sd_buf_printf(to, "Threads: %zu, Processes: %zu", n_living(s), s->n_processes);
    if (*view->filter)
        sd_buf_printf(to, ", Search: %s", view->filter);
}

void sd_top_put_head(struct sd_buf *to, const struct sd_top_state *s,
                     const struct sd_top_view *view, int line, size_t width)
{
    struct sd_buf text = { 0 };

    if (line == 0)
        put_title(&text, s);
    else if (line == 1 && view->is_of_memory)
        put_memory(&text, s);
    else if (line == 1)
        put_counts(&text, s);
    else
        put_shares(&text, s, view);
    put_fitting(to, text.bad ? "" : sd_buf_string(&text), width);
    sd_buf_release(&text);
}

void sd_top_put_heading(struct sd_buf *to, const struct sd_top_view *view, size_t width)
{
    static const char *const headings[2][2] = {
        { "   %Own  %Total   OwnTime TotalTime  Function (filename)",
          "%Active    %GIL    %CPU ActiveTime  Thread (in function)" },
        { "   %Own  %Total    OwnLive  TotalLive  Function (filename)",
          "  %Live       Live  Thread" },
    };

    put_fitting(to, headings[view->is_of_memory][view->has_threads], width);
}

void sd_top_column(const struct sd_top_view *view, int *from, int *width)
{
    static const int columns[2][SD_TOP_SORTS][2] = {
        { { 0, 7 }, { 8, 7 }, { 16, 9 }, { 26, 9 } },
        { { 0, 7 }, { 8, 7 }, { 16, 10 }, { 27, 10 } },
    };

    *from = columns[view->is_of_memory][view->sort][0];
    *width = columns[view->is_of_memory][view->sort][1];
}

static void put_thread_memory(struct sd_buf *to, const struct sd_tally_thread *x,
                              size_t width)
{
    char bytes[SD_TEXT_MAX];
    struct sd_buf text = { 0 };

    sd_buf_printf(to, "%6.2f%% %10s  ", x->active_percent,
                  sd_text_bytes(bytes, (int64_t)x->active_ns));
    sd_buf_printf(&text, "%d \"%s\"", (int)x->tid, x->name);
    put_fitting(to, text.bad ? "" : sd_buf_string(&text), width);
    sd_buf_release(&text);
}

static void put_amounts(struct sd_buf *to, const struct sd_tally_row *r,
                        bool is_of_memory)
{
    char own[SD_TEXT_MAX], total[SD_TEXT_MAX];

    sd_buf_printf(to, "%6.2f%% %6.2f%% ", r->own_percent, r->total_percent);
    if (is_of_memory)
        sd_buf_printf(to, "%10s %10s  ", sd_text_bytes(own, (int64_t)r->own_ns),
                      sd_text_bytes(total, (int64_t)r->total_ns));
    else
        sd_buf_printf(to, "%8.2fs %8.2fs  ", (double)r->own_ns / 1e9,
                      (double)r->total_ns / 1e9);
}

static void put_thread(struct sd_buf *to, const struct sd_top_state *s,
                       const struct sd_tally_thread *x, size_t width)
{
    struct sd_buf text = { 0 };

    sd_buf_printf(to, "%6.2f%% %6.2f%% %6.2f%% %9.2fs  ", x->active_percent,
                  x->gil_percent, x->cpu_percent, (double)x->active_ns / 1e9);
    sd_buf_printf(&text, "%d \"%s\"%s", (int)x->tid, x->name,
                  x->has_ended                     ? " ended"
                  : x->flags & SD_SAMPLE_STOPPED   ? " stopped"
                  : x->flags & SD_SAMPLE_WAITS_GIL ? " waits for gil"
                  : x->flags & SD_SAMPLE_IDLE      ? " idle"
                                                   : "");
    if (x->inside < s->n_functions)
        sd_buf_printf(&text, " (in %s)", s->functions[x->inside].name);
    put_fitting(to, text.bad ? "" : sd_buf_string(&text), width);
    sd_buf_release(&text);
}

void sd_top_put_row(struct sd_buf *to, const struct sd_top_state *s,
                    const struct sd_top_view *view, size_t i, size_t width)
{
    const struct sd_tally_row *r;
    struct sd_buf text = { 0 };

    if (view->has_threads && view->is_of_memory) {
        put_thread_memory(to, &s->threads[s->order[i]], width);
        return;
    }
    if (view->has_threads) {
        put_thread(to, s, &s->threads[s->order[i]], width);
        return;
    }
    r = sd_top_row(s, view, i);
    put_amounts(to, r, view->is_of_memory);
    sd_buf_text(&text, view->is_qualified ? r->qualname : r->name);
    if (*r->file)
        sd_buf_printf(&text, " (%s", sd_attach_file(r->file, view->has_full_files));
    if (*r->file && r->line > 0)
        sd_buf_printf(&text, ":%d", (int)r->line);
    sd_buf_text(&text, *r->file ? ")" : "");
    put_fitting(to, text.bad ? "" : sd_buf_string(&text), width);
    sd_buf_release(&text);
}
