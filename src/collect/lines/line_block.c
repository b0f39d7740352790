/* SPDX-License-Identifier: MIT */
/* line_block: the lines of chosen code in one block of the program (sonde.record), as a
 * session of its own: any number may be active at once. */
#include "collect/lines/line_block.h"

#include "base/error.h"
#include "base/mem.h"
#include "capture/cells.h"
#include "capture/memory/memory_capture.h"
#include "collect/lines/line_calibration.h"
#include "collect/lines/line_chooser.h"
#include "collect/lines/lines.h"
#include "collect/lines/options.h"
#include "cpython/compat.h"

struct line_block {
    struct sd_line_session *session; /* owned */
    struct sd_line_chooser chooser;
};

static void end(void *state)
{
    struct line_block *b = state;

    sd_line_chooser_end(&b->chooser);
    sd_line_session_stop(b->session);
    sd_line_calibrated(b->session);
    sd_line_page_put_clock(b->session);
}

static void free_block(void *state)
{
    struct line_block *b = state;

    sd_line_chooser_end(&b->chooser);
    sd_line_session_free(b->session);
    sd_free(b);
}

static int start(struct line_block *b, const char *only)
{
    int rc = 0;

    if (sd_line_calibrate(b->session) < 0)
        return SD_EGONE;
    b->chooser.session = b->session;
    if (only)
        rc = sd_line_chooser_begin(&b->chooser, only, NULL);
    return rc < 0 ? rc : sd_line_session_start(b->session);
}

/* A debugger in the midst of a block is asked for by `sonde lines` alone. */
static int check(const struct sd_option_value *v)
{
    if (v[SD_LINES_OPT_DEBUG_ABOVE].is_given || v[SD_LINES_OPT_THEN].is_given)
        return sd_fail(SD_EUSAGE, "a recording takes no debug_above and no then; they "
                                  "are for `sonde lines`");
    return 0;
}

static int begin(const struct sd_option_value *v, bool in_capture, void **state)
{
    const struct sd_line_request request = {
        .has_cpu = v[SD_LINES_OPT_CPU].number,
        .has_memory = v[SD_LINES_OPT_MEMORY].number,
        .has_peak = v[SD_LINES_OPT_MEMORY].number,
        .in_capture = in_capture,
    };
    struct line_block *b;
    int rc = check(v);

    *state = NULL;
    if (rc < 0)
        return rc;
    b = sd_zalloc(sizeof *b);
    if (!b)
        return sd_no_memory();
    rc = sd_line_session_new(&request, &b->session);
    if (rc == 0)
        rc = start(b, v[SD_LINES_OPT_ONLY].text);
    if (rc < 0)
        free_block(b);
    else
        *state = b;
    return rc;
}

static int add(void *state, struct sd_making *to)
{
    struct line_block *b = state;

    return b->session->table ? sd_whole_add_tables(to, &b->session->table, 1, 0) : 0;
}

int sd_line_block_choose(void *state, PyCodeObject *code)
{
    struct line_block *b = state;
    int rc = sd_line_session_add(b->session, code);

    return rc < 0 ? rc : 0;
}

const struct sd_inside_block sd_line_block = {
    .begin = begin, .end = end, .add = add, .free = free_block
};
