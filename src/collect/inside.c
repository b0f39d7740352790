/* SPDX-License-Identifier: MIT */
#include "collect/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"
#include "capture/writer.h"
#include "collect/session.h"
#include "collect/with.h"

enum {
    N_INSIDE = 0
#define OUTSIDE(name)
#define INSIDE(name) +1
#define PYTHON(name) +1
#define ASKED(name)
#include "collect/collectors.def"
#undef OUTSIDE
#undef INSIDE
#undef PYTHON
#undef ASKED
};

struct started {
    const struct sd_inside *collector;
    struct sd_arena keep; /* its options */
    bool runs;            /* false: it could not */
};

/* Part of the one session of this process. */
static struct {
    struct started all[N_INSIDE]; /* in the order in which they were started */
    size_t n;
    unsigned n_stops; /* so far */
} inside;

static bool is_started(const struct sd_inside *c)
{
    for (size_t i = 0; i < inside.n; i++)
        if (inside.all[i].collector == c)
            return true;
    return false;
}

static void note_refusal(const struct sd_inside *c)
{
    struct sd_log *l = sd_session_log();
    char text[600];

    snprintf(text, sizeof text, "the collector %s does not run in process %d: %s",
             c->about->name, (int)getpid(), sd_fail_text());
    if (l)
        sd_log_note(l, SD_NOTE_REFUSAL, text);
}

/* The program stopped all of them while this one started: an audit hook can. */
static void undo(const struct sd_inside *c, bool runs, struct sd_arena *keep)
{
    if (runs && c->stop && !is_started(c))
        c->stop();
    sd_arena_release(keep);
}

int sd_inside_start_one(const struct sd_inside *c, const char *with)
{
    struct started *s = &inside.all[inside.n];
    unsigned n_stops = inside.n_stops;
    struct sd_arena keep = { 0 };
    struct sd_option_value *values;
    int rc;

    sd_assert(inside.n < N_INSIDE && c->about->place != SD_OUTSIDE);
    memset(s, 0, sizeof *s);
    s->collector = c; /* before it starts: another thread may come here meanwhile */
    inside.n++;
    rc = sd_with_read(with, c->about, &keep, &values);
    if (rc >= 0)
        rc = c->start(values);
    if (inside.n_stops != n_stops) {
        undo(c, rc >= 0, &keep);
        return rc < 0 ? rc : sd_fail(SD_EGONE, "the recording was stopped meanwhile");
    }
    s->keep = keep;
    s->runs = rc >= 0;
    return rc < 0 ? rc : 0;
}

size_t sd_inside_start(const struct sd_inside *const *all,
                       bool (*may)(const struct sd_inside *))
{
    const char *with = secure_getenv("SONDE_WITH");
    size_t n = 0;

    for (; *all && sd_session_has_capture(); all++)
        if (sd_with_has(with, (*all)->about->name) && !is_started(*all) &&
            (!may || may(*all))) {
            int rc = sd_inside_start_one(*all, with);

            if (rc < 0)
                note_refusal(*all);
            n += rc == 0;
        }
    return n;
}

void sd_inside_at_exit(void)
{
    for (size_t i = inside.n; i-- > 0;)
        if (inside.all[i].runs && inside.all[i].collector->at_exit)
            inside.all[i].collector->at_exit();
    sd_session_tell_stopped();
}

void sd_inside_stop(void)
{
    inside.n_stops++;
    while (inside.n > 0) {
        struct started *s = &inside.all[--inside.n];

        if (s->runs && s->collector->stop)
            s->collector->stop();
        sd_arena_release(&s->keep);
    }
}

bool sd_inside_follows_forks(void)
{
    for (size_t i = 0; i < inside.n; i++)
        if (inside.all[i].runs && inside.all[i].collector->after_fork)
            return true;
    return false;
}

/* A child that is expected has a file in the capture from its beginning: one that makes
 * its first event when the program has ended is known by then, and goes on recording.
 */
void sd_inside_before_fork(void)
{
    if (sd_inside_follows_forks() && sd_session_writer())
        sd_writer_expect_child(sd_session_writer());
}

void sd_inside_after_fork(void)
{
    if (!sd_inside_follows_forks())
        return;
    for (size_t i = inside.n; i-- > 0;)
        if (inside.all[i].runs && inside.all[i].collector->after_fork)
            inside.all[i].collector->after_fork();
    if (sd_session_writer())
        sd_writer_child_is_here(sd_session_writer());
}
