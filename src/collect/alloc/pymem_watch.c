/* SPDX-License-Identifier: MIT */
#include "cpython/compat_walk.h"

#include "collect/alloc/pymem_watch.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/log.h"
#include "collect/alloc/alloc_link.h"
#include "collect/alloc/pymem.h"
#include "collect/session.h"

/* Of the one recording of this process; under the interpreter's lock. */
static struct {
    uint64_t began_ns, seen_ns; /* when our hooks were seen last */
    bool is_told;
} watch;

static double seconds(uint64_t ns) { return (double)(ns - watch.began_ns) / 1e9; }

static void tell(uint64_t now_ns)
{
    struct sd_log *l = sd_session_log();
    char text[400];

    watch.is_told = true;
    snprintf(text, sizeof text,
             "other code removed Sonde's hooks from Python's allocators in process %d "
             "(tracemalloc.stop() does), between %.3f s and %.3f s after its recording "
             "began: what Python's allocators have allocated since then is missing",
             (int)getpid(), seconds(watch.seen_ns), seconds(now_ns));
    if (l)
        sd_log_note(l, SD_NOTE_LOSS, text);
}

void sd_pymem_watch_look(struct sd_alloc_thread *t)
{
    uint64_t now_ns = sd_clock_ns();

    if (watch.is_told || !sd_walk_has_lock())
        return;
    if (sd_alloc_pymem_is_gone(t))
        tell(now_ns);
    else
        watch.seen_ns = now_ns;
}

void sd_pymem_watch_begin(void)
{
    watch.began_ns = watch.seen_ns = sd_clock_ns();
    watch.is_told = false;
}

void sd_pymem_watch_end(void)
{
    struct sd_alloc_thread *t = sd_linked_enter();

    if (!t)
        return;
    t->wants |= SD_WANTS_LOOK;
    sd_alloc_link.ask(t);
    sd_alloc_leave(t);
}
