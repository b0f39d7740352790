/* SPDX-License-Identifier: MIT */
/* sonde: loading and recording of <sonde.h>.
 *
 * A guest in someone's process: it joins the capture it finds when it is loaded, and
 * finishes the one it owns when the program exits.  Without either it does nothing. */
#include "sonde.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"
#include "capture/capture.h"
#include "collect/own.h"
#include "collect/sections/sections.h"
#include "lib/lib.h"

static _Atomic unsigned chosen = SONDE_ALL;
static _Atomic bool finishes_at_exit;

unsigned sd_lib_measure(unsigned asked)
{
    if (asked == SONDE_ALL)
        return atomic_load_explicit(&chosen, memory_order_relaxed);
    return asked & SONDE_ALL;
}

static void finish(int status, void *unused)
{
    (void)unused;
    sd_own_stop(status & 0xff);
}

/* on_exit, unlike atexit, is told the status; the library is never unloaded. */
static void finish_at_exit(void)
{
    if (!atomic_exchange(&finishes_at_exit, true))
        on_exit(finish, NULL);
}

__attribute__((constructor)) static void load(void)
{
    unsigned asked;
    int saved = errno;

    sd_session_be_guest();
    sd_session_join_from_env();
    sd_own_start_from_env();
    if (sd_session_has_capture())
        finish_at_exit();
    if (sd_section_measure_from_env(&asked))
        atomic_store(&chosen, asked);
    errno = saved;
}

const char *sonde_error(void) { return sd_fail_text(); }

const char *sonde_version(void) { return SONDE_VERSION; }

int sonde_start(const char *path)
{
    int rc;

    if (!path || !*path)
        return sd_fail(SD_EUSAGE, "a capture needs a path");
    rc = sd_own_start(path);
    if (rc == 0)
        finish_at_exit();
    return rc;
}

int sonde_stop(void) { return sd_own_stop(SD_STATUS_UNKNOWN); }
