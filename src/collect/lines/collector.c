/* SPDX-License-Identifier: MIT */
#include "collect/lines/collector.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/inside.h"
#include "collect/lines/line_calibration.h"
#include "collect/lines/line_chooser.h"
#include "collect/lines/line_marks.h"
#include "collect/lines/line_memory.h"
#include "collect/lines/lines.h"
#include "collect/lines/options.h"
#include "collect/with.h"
#include "cpython/compat.h"

extern const struct sd_collector_about sd_about_lines;
extern const struct sd_inside sd_inside_lines;
extern const struct sd_inside_block sd_line_block;

/* The one session that fills the capture, for as long as the process lives. */
static struct {
    struct sd_line_session *session;
    struct sd_line_chooser chooser; /* by what --only named */
    uint64_t limit_bytes;           /* of --debug-above; 0: none */
    const char *then;               /* of --then; or NULL */
    sd_lines_deed *deed;            /* what is done above it */
} captured;

int sd_lines_choose(PyCodeObject *code)
{
    if (!captured.session)
        return 0;
    sd_line_mark_source(code);
    /* Another thread may have stopped it while the file was read. */
    return captured.session ? sd_line_session_add(captured.session, code) : 0;
}

/* --- Starting and stopping ------------------------------------------------------- */

void sd_lines_above(sd_lines_deed *deed) { captured.deed = deed; }

static void ring(int64_t rss_bytes, const struct sd_line_culprit *blamed,
                 bool is_elsewhere)
{
    const struct sd_lines_alarm passed = {
        .rss_bytes = rss_bytes,
        .limit_bytes = captured.limit_bytes,
        .then = captured.then,
        .by = blamed->by,
        .line = blamed->line,
        .is_elsewhere = is_elsewhere,
    };

    if (captured.deed)
        captured.deed(&passed);
}

static void set_limit(const struct sd_option_value *v)
{
    captured.limit_bytes = v[SD_LINES_OPT_DEBUG_ABOVE].number;
    captured.then = v[SD_LINES_OPT_THEN].text;
    if (captured.limit_bytes)
        sd_line_memory_limit(captured.limit_bytes, ring);
}

/* A Ctrl-C that comes just now is the program's, once it has begun. */
static void calibrate(struct sd_line_session *s)
{
    bool is_interrupt;

    if (sd_line_calibrate(s) == 0)
        return;
    is_interrupt = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);
    PyErr_Clear();
    if (is_interrupt)
        PyErr_SetInterrupt();
}

static int start(const struct sd_option_value *v)
{
    bool has_memory = v[SD_LINES_OPT_MEMORY].number;
    const char *only = v[SD_LINES_OPT_ONLY].text;
    const struct sd_line_request request = {
        .has_cpu = v[SD_LINES_OPT_CPU].number,
        .has_memory = has_memory || v[SD_LINES_OPT_DEBUG_ABOVE].number,
        .has_peak = has_memory,
        .in_capture = true,
    };
    int rc = sd_line_session_new(&request, &captured.session);

    if (rc == 0)
        calibrate(captured.session);
    if (rc == 0 && only)
        rc = sd_line_chooser_begin(&captured.chooser, only, sd_lines_choose);
    if (rc == 0)
        rc = sd_line_session_start(captured.session);
    if (rc == 0)
        set_limit(v);
    if (rc == 0)
        return 0;
    sd_line_chooser_end(&captured.chooser);
    sd_line_session_free(captured.session);
    captured.session = NULL;
    return rc;
}

/* Python is gone: what is left open ends here. */
static void at_exit(void)
{
    sd_line_session_end(captured.session);
    sd_line_calibrated(captured.session);
}

static void stop(void)
{
    struct sd_line_session *s = captured.session;

    captured.session = NULL;
    sd_line_chooser_end(&captured.chooser);
    sd_line_memory_limit(0, NULL);
    sd_line_calibrated(s);
    sd_line_session_free(s);
    captured.then = NULL;
}

const struct sd_inside sd_inside_lines = {
    .about = &sd_about_lines,
    .start = start,
    .at_exit = at_exit,
    .stop = stop,
    .block = &sd_line_block,
};

bool sd_lines_are_asked(void)
{
    return sd_with_has(secure_getenv("SONDE_WITH"), sd_about_lines.name);
}

bool sd_lines_are_asked_for_memory(void)
{
    struct sd_option_value *values;
    struct sd_arena keep = { 0 };
    bool is_asked = sd_with_read(secure_getenv("SONDE_WITH"), &sd_about_lines, &keep,
                                 &values) > 0 &&
                    values[SD_LINES_OPT_MEMORY].number;

    sd_arena_release(&keep);
    return is_asked;
}

struct sd_line_session *sd_lines_captured(void) { return captured.session; }
