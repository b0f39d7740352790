/* SPDX-License-Identifier: MIT */
#include "cli/record/running_process.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/record/facts.h"
#include "cli/say.h"
#include "process/stat.h"

#define TICK_NS 200000000u     /* between two looks at how far it has come */
#define LONG_NS 3600000000000u /* the same when nobody sees it */
enum { WORDS_MAX = 1 << 20 };

int sd_running_process_hold(struct sd_running_process *r, pid_t pid)
{
    r->pid = pid;
    return sd_watch_begin(&r->watch, pid);
}

void sd_running_process_leave(struct sd_running_process *r) { sd_watch_end(&r->watch); }

/* The words it was started with, as one NULL-ended list in the arena; they may be
 * anything, and none at all. */
static char **words_of(struct sd_arena *a, pid_t pid)
{
    const char *path = sd_arena_printf(a, "/proc/%d/cmdline", (int)pid);
    char **words, *text = NULL;
    size_t n_text = 0, n = 0;

    if (!path || sd_read_file(path, WORDS_MAX, &text, &n_text) < 0)
        n_text = 0;
    words = sd_arena_alloc(a, (n_text + 2) * sizeof *words);
    for (size_t at = 0; words && at < n_text;) {
        size_t length = strnlen(text + at, n_text - at);
        char *word = sd_arena_string(a, text + at, length);

        at += length + 1;
        if (word)
            words[n++] = word;
    }
    sd_free(text);
    return words;
}

static void say_stopped(const struct sd_process_stat *st, pid_t pid)
{
    if (st->state == 'T' || st->state == 't')
        sd_say("process %d (%s) is stopped, so every sample will show the same stacks; "
               "kill -CONT %d resumes it",
               (int)pid, st->name, (int)pid);
}

int sd_running_process_find(struct sd_running_process *r, struct sd_arena *a)
{
    struct sd_process_stat st = { .name = "" };

    sd_process_stat(r->pid, &st);
    say_stopped(&st, r->pid);
    r->target.argv = words_of(a, r->pid);
    r->target.name = sd_arena_printf(a, "%s-%d", st.name, (int)r->pid);
    return r->target.argv && r->target.name ? 0 : sd_no_memory();
}

int sd_running_process_duration(const char *word, uint64_t *ns)
{
    *ns = 0;
    if (strcmp(word, "unlimited") == 0)
        return 0;
    if (!sd_text_parse_duration(word, ns) || *ns == 0)
        return sd_fail(SD_EUSAGE,
                       "--duration takes a time such as 10 or 500ms, or unlimited, not "
                       "\"%s\"",
                       word);
    return 0;
}

int sd_running_process_check(const struct sd_recording *rec, const char *with)
{
    if (!sd_collector_set_needs_inside(&rec->chosen))
        return 0;
    return sd_fail(SD_EUSAGE,
                   "--pid looks from outside: collectors that work inside a program "
                   "must start with it, as in sonde run --with %s",
                   with);
}

static void wait_beside(struct sd_running_process *r, void (*draw)(const void *of),
                        const void *of)
{
    if (r->duration_ns)
        r->watch.until_ns = r->started_ns + r->duration_ns;
    while (sd_watch_wait(&r->watch, draw ? TICK_NS : LONG_NS) == SD_WATCH_GOES_ON)
        if (draw)
            draw(of);
    r->ended_ns = sd_clock_ns();
}

static void put_time(const struct sd_running_process *r, struct sd_recording *rec)
{
    struct sd_log *log = sd_writer_log(rec->writer);
    char started[32], wall[32];

    snprintf(started, sizeof started, "%llu", (unsigned long long)r->started_ns);
    snprintf(wall, sizeof wall, "%llu",
             (unsigned long long)(r->ended_ns - r->started_ns));
    if (!log)
        return;
    sd_log_meta(log, "run.started_ns", started);
    sd_log_meta(log, "run.wall_ns", wall);
}

int sd_running_process_record(struct sd_running_process *r, struct sd_recording *rec,
                              void (*draw)(const void *of), const void *of)
{
    int rc = sd_facts_put_before(rec->capture, &r->target, &rec->chosen);

    r->started_ns = sd_clock_ns();
    if (rc == 0)
        rc = sd_recording_watch(rec, r->pid);
    if (rc < 0)
        return rc;
    if (sd_loudness_of(rec->command) == SD_VERBOSE)
        sd_say("records process %d to %s", (int)r->pid, rec->naming.capture);
    wait_beside(r, draw, of);
    sd_recording_stop(rec);
    put_time(r, rec);
    sd_recording_finish(rec, SD_STATUS_UNKNOWN);
    return 0;
}
