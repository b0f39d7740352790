/* SPDX-License-Identifier: MIT */
/* call_block: the calls of one block of the program (sonde.record), as a session of its
 * own: any number may be active at once. */
#include "cpython/compat.h"

#include "base/error.h"
#include "base/mem.h"
#include "capture/memory/memory_capture.h"
#include "collect/calls/call_calibration.h"
#include "collect/calls/names.h"
#include "collect/calls/options.h"
#include "collect/calls/sessions.h"
#include "collect/inside.h"

extern const struct sd_inside_block sd_call_block;
extern const struct sd_collector_about sd_about_calls;

struct call_block {
    struct sd_calls_session *session; /* owned */
    struct sd_calls_names names;
    uint64_t newest; /* number of a thread, when it began */
};

/* The largest number of a thread so far: those that begin meanwhile have larger ones,
 * whoever starts them: who that was is not known. */
static uint64_t newest_thread(void)
{
    PyThreadState *ts = PyInterpreterState_ThreadHead(sd_compat_interpreter());
    uint64_t newest = 0;

    for (; ts; ts = PyThreadState_Next(ts)) {
        uint64_t number = sd_compat_number_of_thread_state(ts);

        newest = number > newest ? number : newest;
    }
    return newest;
}

/* Did it begin after the block? */
static bool is_new_thread(const void *of)
{
    const struct call_block *b = of;

    return sd_compat_thread_state_number() > b->newest;
}

static unsigned events_of(const struct sd_option_value *v, int detail)
{
    bool is_bounded = v[SD_CALLS_OPT_BOUNDED].number && SD_HAS_MONITORING;

    return SD_CALLS_PYTHON | (v[SD_CALLS_OPT_BUILTINS].number ? SD_CALLS_C : 0) |
           (v[SD_CALLS_OPT_THREADS].number ? SD_CALLS_ALL : 0) |
           (is_bounded ? SD_CALLS_BOUNDED : 0) | (detail > 0 ? SD_CALLS_SIGNED : 0);
}

static int make_session(struct call_block *b, const struct sd_option_value *v,
                        bool in_capture)
{
    int detail = sd_calls_signatures_of(&v[SD_CALLS_OPT_SIGNATURES]);
    const struct sd_calls_request request = {
        .events = events_of(v, detail),
        .has_cpu = v[SD_CALLS_OPT_CPU].number,
        .has_timeline = v[SD_CALLS_OPT_TIMELINE].number,
        .in_capture = in_capture,
        .n_max = (uint32_t)v[SD_CALLS_OPT_NODES].number,
        .follows = v[SD_CALLS_OPT_THREADS].is_given ? NULL : is_new_thread,
        .threads = b,
        .names = { sd_calls_define, &b->names, sd_calls_sign, sd_calls_function_key },
    };

    b->newest = newest_thread();
    b->names.detail = (enum sd_value_detail)(detail > 0 ? detail : 0);
    if (detail > 0)
        sd_tensors_look();
    return sd_calls_session_new(&request, &b->session);
}

static void end(void *state)
{
    struct call_block *b = state;

    sd_calls_session_stop(b->session);
    sd_calls_calibrated(b->session);
    sd_calls_listen(sd_calls_sessions_want());
}

static void free_block(void *state)
{
    struct call_block *b = state;

    sd_calls_session_free(b->session);
    sd_calls_names_release(&b->names);
    sd_free(b);
}

/* A signal's handler that raises while the cost is measured ends this, too; an audit
 * hook may stop what has just started. */
static int start(struct call_block *b)
{
    int rc;

    if (sd_calls_calibrate(b->session) < 0)
        return SD_EGONE;
    rc = sd_calls_session_start(b->session);
    return rc < 0 ? rc : sd_calls_listen(sd_calls_sessions_want());
}

static int begin(const struct sd_option_value *given, bool in_capture, void **state)
{
    struct sd_option_value values[SD_CALLS_N_OPTIONS];
    struct call_block *b = sd_zalloc(sizeof *b);
    int rc;

    *state = NULL;
    if (!b)
        return sd_no_memory();
    memcpy(values, given, sizeof values);
    sd_calls_imply(values);
    rc = make_session(b, values, in_capture);
    if (rc == 0) {
        rc = start(b);
        if (rc < 0) {
            sd_calls_session_stop(b->session);
            sd_calls_listen(sd_calls_sessions_want());
        }
    }
    if (rc < 0)
        free_block(b);
    else
        *state = b;
    return rc;
}

static int add(void *state, struct sd_making *to)
{
    struct call_block *b = state;
    size_t n = b->session->n_trees;
    struct sd_cells **tables = sd_alloc((n + 1) * sizeof *tables);
    int rc;

    if (!tables)
        return sd_no_memory();
    for (size_t i = 0; i < n; i++)
        tables[i] = b->session->trees[i]->table;
    rc = sd_whole_add_tables(to, tables, n, 0);
    sd_free(tables);
    return rc;
}

/* Moments are too many to keep them in memory. */
static bool needs_capture(const struct sd_option_value *values)
{
    return values[SD_CALLS_OPT_TIMELINE].number;
}

const struct sd_inside_block sd_call_block = {
    .begin = begin,
    .end = end,
    .add = add,
    .free = free_block,
    .needs_capture = needs_capture,
};
