/* SPDX-License-Identifier: MIT */
/* top_plain: prints top without a terminal: a table, or a line of JSON, each time. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/encoding/json.h"
#include "base/error.h"
#include "capture/record.h"
#include "cli/live/verb_top.h"
#include "cli/record/attach.h"
#include "cli/say.h"

/* --- Waiting */

static void read_signal(struct sd_top *t)
{
    struct signalfd_siginfo info;

    if (read(t->signals, &info, sizeof info) != sizeof info)
        return;
    if (info.ssi_signo == SIGCHLD)
        sd_top_child_reap(t->child);
    else if (info.ssi_signo == SIGTSTP)
        kill(getpid(), SIGSTOP);
    else if (info.ssi_signo != SIGWINCH)
        t->ended_by = (int)info.ssi_signo;
}

bool sd_top_wait(struct sd_top *t, uint64_t until_ns)
{
    uint64_t now;

    while (!t->ended_by && (now = sd_clock_ns()) < until_ns) {
        struct pollfd p = { t->signals, POLLIN, 0 };

        if (poll(&p, 1, (int)((until_ns - now) / 1000000u) + 1) > 0)
            read_signal(t);
    }
    return t->ended_by != 0;
}

/* --- The table */

static void put_line(struct sd_out *out, struct sd_buf *line)
{
    sd_out_text(out, sd_made(out, line));
    sd_out_text(out, "\n");
    sd_buf_clear(line);
}

static void put_table(struct sd_out *out, const struct sd_top *t)
{
    size_t n = t->shown.n_order;
    struct sd_buf line = { 0 };

    for (int i = 0; i < SD_TOP_HEAD; i++) {
        sd_top_put_head(&line, &t->shown, &t->view, i, 0);
        put_line(out, &line);
    }
    sd_out_text(out, "\n");
    sd_top_put_heading(&line, &t->view, 0);
    put_line(out, &line);
    if (t->limit && n > t->limit)
        n = t->limit;
    for (size_t i = 0; i < n; i++) {
        sd_top_put_row(&line, &t->shown, &t->view, i, 0);
        put_line(out, &line);
    }
    if (n < t->shown.n_order)
        sd_out_printf(out, "%zu more\n", t->shown.n_order - n);
    sd_out_text(out, "\n");
    sd_buf_release(&line);
}

/* --- JSON */

static void put_amounts(struct sd_json *j, const struct sd_tally_row *r,
                        bool is_of_memory)
{
    sd_json_key_real(j, "own_percent", r->own_percent);
    sd_json_key_real(j, "total_percent", r->total_percent);
    sd_json_key_uint(j, is_of_memory ? "own_bytes" : "own_ns", r->own_ns);
    sd_json_key_uint(j, is_of_memory ? "total_bytes" : "total_ns", r->total_ns);
}

static void put_rows(struct sd_json *j, const struct sd_top *t)
{
    sd_json_key_array(j, t->view.is_by_line ? "lines" : "functions");
    for (size_t i = 0; i < t->shown.n_order; i++) {
        const struct sd_tally_row *r = sd_top_row(&t->shown, &t->view, i);

        sd_json_object(j);
        sd_json_key_string(j, "name", r->name);
        sd_json_key_string(j, "qualname", r->qualname);
        sd_json_key_string(j, "file", r->file);
        sd_json_key_uint(j, "line", r->line > 0 ? (uint64_t)r->line : 0);
        put_amounts(j, r, t->view.is_of_memory);
        sd_json_end(j);
    }
    sd_json_end(j);
}

static void put_threads(struct sd_json *j, const struct sd_top_state *s)
{
    sd_json_key_array(j, "threads");
    for (size_t i = 0; i < s->n_threads; i++) {
        const struct sd_tally_thread *x = &s->threads[i];

        sd_json_object(j);
        sd_json_key_uint(j, "pid", (uint64_t)x->pid);
        sd_json_key_uint(j, "tid", (uint64_t)x->tid);
        sd_json_key_string(j, "name", x->name);
        sd_json_key_real(j, "active_percent", x->active_percent);
        sd_json_key_real(j, "gil_percent", x->gil_percent);
        sd_json_key_real(j, "cpu_percent", x->cpu_percent);
        sd_json_key_uint(j, "active_ns", x->active_ns);
        sd_json_key_string(j, "function",
                           x->inside < s->n_functions ? s->functions[x->inside].name
                                                      : NULL);
        sd_json_key_bool(j, "ended", x->has_ended);
        sd_json_key_bool(j, "stopped", !x->has_ended && x->flags & SD_SAMPLE_STOPPED);
        sd_json_end(j);
    }
    sd_json_end(j);
}

static void put_known(struct sd_json *j, const char *key, int64_t value, bool is_known)
{
    sd_json_key(j, key);
    if (is_known)
        sd_json_int(j, value);
    else
        sd_json_null(j);
}

static void put_memory(struct sd_json *j, const struct sd_top_state *s)
{
    const struct sd_alloc_summary *m = &s->memory;

    put_known(j, "live_bytes", m->leaked_bytes, true);
    put_known(j, "live_blocks", m->leaked_allocations, true);
    put_known(j, "peak_bytes", m->peak_bytes, true);
    put_known(j, "allocations", m->allocations, true);
    put_known(j, "peak_rss_bytes", m->peak_rss_bytes, m->has_rss);
    put_known(j, "untracked_bytes", m->untracked_bytes, m->has_untracked);
    sd_json_key_array(j, "threads");
    for (size_t i = 0; i < s->n_threads; i++) {
        sd_json_object(j);
        sd_json_key_uint(j, "pid", (uint64_t)s->threads[i].pid);
        sd_json_key_uint(j, "tid", (uint64_t)s->threads[i].tid);
        sd_json_key_string(j, "name", s->threads[i].name);
        sd_json_key_uint(j, "live_bytes", s->threads[i].active_ns);
        sd_json_end(j);
    }
    sd_json_end(j);
}

static void put_samples(struct sd_json *j, const struct sd_top_state *s)
{
    sd_json_key_uint(j, "rate", s->rate);
    sd_json_key_uint(j, "rounds", s->counts.rounds);
    sd_json_key_uint(j, "samples", s->counts.samples);
    sd_json_key_uint(j, "missed", s->counts.missed);
    sd_json_key_uint(j, "lost", s->counts.lost);
    sd_json_key_uint(j, "partial", s->counts.partial);
    sd_json_key_uint(j, "idle", s->counts.idle);
    sd_json_key_real(j, "gil_percent", s->gil_percent);
    sd_json_key_real(j, "active_percent", s->active_percent);
    sd_json_key_bool(j, "stopped", sd_top_is_stopped(s));
    put_threads(j, s);
}

static void put_json(struct sd_out *out, const struct sd_top *t)
{
    const struct sd_top_state *s = &t->shown;
    struct sd_json j;

    sd_json_init(&j, out, false);
    sd_json_object(&j);
    sd_json_key_string(&j, "target", s->title);
    sd_json_key_string(&j, "python", s->version && *s->version ? s->version : NULL);
    sd_json_key_uint(&j, "elapsed_ns", s->elapsed_ns);
    sd_json_key_uint(&j, "processes", s->n_processes);
    sd_json_key_bool(&j, "ended", s->has_ended);
    if (t->view.is_of_memory)
        put_memory(&j, s);
    else
        put_samples(&j, s);
    put_rows(&j, t);
    sd_json_end(&j);
    sd_out_text(out, "\n");
}

/* --- Again and again */

static int put_once(struct sd_top *t, bool is_json)
{
    struct sd_out out;
    int rc = sd_top_take(t);

    if (rc == 0)
        rc = sd_top_arrange(&t->shown, &t->view);
    if (rc < 0)
        return rc;
    sd_out_to_fd(&out, STDOUT_FILENO);
    if (is_json)
        put_json(&out, t);
    else
        put_table(&out, t);
    rc = sd_out_flush(&out);
    if (rc < 0 && out.err == EPIPE)
        t->ended_by = SIGPIPE;
    sd_out_release(&out);
    return rc;
}

static bool has_ended(struct sd_top *t)
{
    bool has_ended;

    if (!t->rounds)
        return t->child && !t->child->pid;
    pthread_mutex_lock(&t->rounds->lock);
    has_ended = t->rounds->has_ended;
    pthread_mutex_unlock(&t->rounds->lock);
    return has_ended;
}

/* Until the next refresh, or until there is nothing left to wait for. */
static void wait_for_refresh(struct sd_top *t, uint64_t due_ns)
{
    const uint64_t step = 50000000;

    while (!has_ended(t) && sd_clock_ns() < due_ns) {
        uint64_t next = sd_clock_ns() + step;

        if (sd_top_wait(t, next < due_ns ? next : due_ns))
            return;
    }
}

int sd_top_plain(struct sd_top *t, bool is_json)
{
    uint64_t due = sd_clock_ns();
    int rc = 0;

    while (rc == 0 && !t->ended_by) {
        due += t->delay_ns;
        if (t->until_ns && due > t->until_ns)
            due = t->until_ns;
        if (t->rounds || t->child) /* of a capture there is something at once */
            wait_for_refresh(t, due);
        rc = put_once(t, is_json);
        if (rc < 0 || t->shown.has_ended ||
            (t->until_ns && sd_clock_ns() >= t->until_ns))
            break;
        if (!t->rounds && !t->child)
            wait_for_refresh(t, due);
    }
    return t->ended_by == SIGPIPE ? 0 : rc;
}
