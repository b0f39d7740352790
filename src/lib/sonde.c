/* SPDX-License-Identifier: MIT */
/* sonde: joins, starts and stops a recording for <sonde.h>.
 *
 * A guest in someone's process: it joins the capture it finds when it is loaded, and
 * finishes the one it owns when the program exits.  Without either it does nothing. */
#include "sonde.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "capture/capture.h"
#include "collect/inside.h"
#include "collect/own.h"
#include "collect/sections/sections.h"
#include "lib/lib.h"

#define OUTSIDE(name)
#define INSIDE(name) extern const struct sd_inside sd_inside_##name;
#define PYTHON(name)
#define ASKED(name)
#include "collect/collectors.def"
#undef INSIDE

#define INSIDE(name) &sd_inside_##name,
static const struct sd_inside *const collectors[] = {
#include "collect/collectors.def"
    NULL,
};

static _Atomic bool finishes_at_exit;
static _Atomic int32_t whose_turn; /* at starting or stopping collectors: a pid, or 0 */

unsigned sd_lib_measure(unsigned asked)
{
    if (asked == SONDE_ALL)
        return sd_section_measure_or(SONDE_ALL);
    return asked & SONDE_ALL;
}

/* Threads take turns.  No mutex: a fork could leave it held. */
static void take_turn(void)
{
    int32_t me = getpid(), other = 0;

    while (!atomic_compare_exchange_weak(&whose_turn, &other, me))
        if (other == me) {
            sched_yield();
            other = 0;
        }
}

static void end_turn(void) { atomic_store(&whose_turn, 0); }

static void stop_inside(void)
{
    take_turn();
    sd_inside_stop();
    end_turn();
}

static void finish(int status, void *unused)
{
    (void)unused;
    sd_inside_at_exit();
    sd_own_stop(status & 0xff);
}

/* on_exit, unlike atexit, is told the status; the library is never unloaded. */
static void begin(void)
{
    take_turn();
    sd_inside_start(collectors, NULL);
    end_turn();
    if (!atomic_exchange(&finishes_at_exit, true))
        on_exit(finish, NULL);
}

__attribute__((constructor)) static void load(void)
{
    int saved = errno;

    sd_session_be_guest(NULL); /* sections stop with their log */
    sd_session_join_from_env();
    sd_own_start_from_env();
    if (sd_session_has_capture())
        begin();
    errno = saved;
}

const char *sonde_error(void) { return sd_fail_text(); }

const char *sonde_version(void) { return SONDE_VERSION; }

int sonde_start(const char *path)
{
    int rc;

    if (!path || !*path)
        return sd_fail(SD_EUSAGE, "sonde_start needs the path of the capture to write");
    rc = sd_own_start(path);
    if (rc == 0)
        begin();
    return rc;
}

int sonde_stop(void)
{
    if (sd_own_is_here())
        stop_inside();
    return sd_own_stop(SD_STATUS_UNKNOWN);
}
