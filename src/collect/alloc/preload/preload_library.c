/* SPDX-License-Identifier: MIT */
/* preload_library: what the library does when a process begins and ends.
 *
 * The process need not be one that is to be recorded: a child may have got LD_PRELOAD
 * with another environment, or the capture may be gone.  Then nothing is done.  In a
 * program that runs with the rights of another (setuid) the environment is not read. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "capture/log.h"
#include "collect/alloc/alloc_link.h"
#include "collect/alloc/options.h"
#include "collect/alloc/preload/private_heap.h"
#include "collect/alloc/process_recording.h"
#include "collect/session.h"
#include "collect/with.h"

extern const struct sd_collector_about sd_about_alloc;

#pragma GCC visibility push(default)
sd_alloc_link_function sonde_alloc_link;
#pragma GCC visibility pop

const struct sd_alloc_link *sonde_alloc_link(void)
{
    return sd_alloc_recorder.is_on ? &sd_alloc_link : NULL;
}

/* As collect/inside.c does. */
static void note_refusal(void)
{
    struct sd_log *l = sd_session_log();
    char text[600];

    snprintf(text, sizeof text, "the collector alloc does not run in process %d: %s",
             (int)getpid(), sd_fail_text());
    if (l)
        sd_log_note(l, SD_NOTE_REFUSAL, text);
}

static void record(const struct sd_option_value *values)
{
    if (!values[SD_ALLOC_OPT_PRELOAD].number || sd_private_heap_watch_forks() != 0)
        return;
    sd_session_be_guest(NULL);
    sd_session_join_from_env();
    if (sd_session_has_capture() && sd_process_recording_begin(values) < 0)
        note_refusal();
}

static __attribute__((constructor)) void begin(void)
{
    const char *with = secure_getenv("SONDE_WITH");
    struct sd_arena keep = { 0 };
    struct sd_option_value *values;
    int saved = errno;

    if (with && sd_with_read(with, &sd_about_alloc, &keep, &values) == 1)
        record(values);
    sd_arena_release(&keep);
    errno = saved;
}

/* The program's code is done, with its atexit handlers and destructors: what is live
 * now is leaked. */
static __attribute__((destructor)) void end(void)
{
    int saved = errno;

    sd_process_recording_end();
    errno = saved;
}
