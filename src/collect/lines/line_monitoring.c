/* SPDX-License-Identifier: MIT */
/* line_monitoring: counts lines through sys.monitoring (3.12 and later).
 *
 * Events are asked for of chosen code objects alone, so all other code runs as it does
 * without us.  Before 3.15 what an exception does to a frame cannot be asked for of one
 * code object, and is heard of all, which costs exceptions alone.
 *
 * The tool id is Sonde's one (tool.h), which calls uses too: whoever follows both gets
 * events of code that was not chosen, and those are passed by.
 *
 * A function that begins on the line of its own def, and a lambda, are not told of by
 * LINE on 3.13: there the start is the first line's, too. */
#include "cpython/compat_frame.h"

#include <string.h>

#include "base/error.h"
#include "collect/lines/lines.h"
#include "collect/lines/line_memory.h"
#include "collect/shared/tool.h"

#if SD_HAS_MONITORING

/* What the interpreter has only one of. */
static struct {
    PyInterpreterState *interpreter; /* that is listened to, all in place; NULL: none */
    long local;                      /* events of chosen code objects */
    bool has_disabled;               /* places were left out */
} front;

static struct sd_tool_user user; /* of the tool id */

/* --- Events ---------------------------------------------------------------------- */

#define ARGS PyObject *self, PyObject *const *args, size_t n_args, PyObject *names
#define UNUSED (void)self, (void)n_args, (void)names
#define RARE __attribute__((noinline, cold)) static PyObject *

/* What --debug-above asks for ended in an exception. */
RARE hand_on_raised(void)
{
    sd_line_alarm_raised = false;
    return PyErr_Occurred() ? NULL : Py_None;
}

RARE line_slowly(PyObject *code, uintptr_t frame, uint32_t line, uint64_t now)
{
    struct sd_line_stack *s = sd_line_stack();
    struct sd_line_target *c = sd_line_chosen_of((PyCodeObject *)code);

    if (!c)
        sd_line_told_for_nobody((PyCodeObject *)code);
    else if (s)
        sd_line_stack_line_slowly(s, frame, &c->core, line, now);
    return sd_line_alarm_raised ? hand_on_raised() : Py_None;
}

/* A number of more than one digit is a line that nobody has: it finds no cell. */
static inline uint32_t line_of(PyObject *number)
{
    const PyLongObject *n = (PyLongObject *)number;

    return __builtin_expect(PyUnstable_Long_IsCompact(n), 1)
               ? (uint32_t)PyUnstable_Long_CompactValue(n)
               : UINT32_MAX;
}

/* hot: every line of chosen code. */
static PyObject *on_line(ARGS)
{
    uint64_t now = sd_tsc();
    struct sd_line_stack *s = sd_line_stack_here;
    uintptr_t frame = (uintptr_t)sd_frame_now();
    uint32_t line = line_of(args[1]);

    UNUSED;
    if (__builtin_expect(!s || s->clock != SD_CLOCK_TSC, 0))
        now = s ? sd_line_now(s) : now;
    if (__builtin_expect(!s || s->top->frame != frame, 0))
        return line_slowly(args[0], frame, line, now);
    sd_line_stack_line(s, line, now);
    if (__builtin_expect(sd_line_alarm_raised, 0))
        return hand_on_raised();
    return Py_None; /* immortal where there is monitoring */
}

/* Bytes into the code of the instruction that an event tells of. */
static int offset_of(PyObject *event_offset)
{
    return (int)PyUnstable_Long_CompactValue((PyLongObject *)event_offset);
}

/* The line behind the start, if it is that of the start itself. */
static void find_start_line(struct sd_line_target *c, int offset)
{
    int at = PyCode_Addr2Line(c->code, offset);

    if (at > 0 && at == PyCode_Addr2Line(c->code, offset + (int)sizeof(_Py_CODEUNIT)))
        c->start_line = (uint32_t)at;
    c->is_start_known = true;
}

/* Shown to the one who seeks, or not wanted: it is not heard of again.  Who chose it
 * and rests will want to. */
RARE start_of_other(PyCodeObject *code)
{
    if (sd_line_told_for_nobody(code))
        return Py_None;
    sd_line_left_out(code);
    front.has_disabled = true;
    return sd_tool_disable();
}

static PyObject *on_start(ARGS)
{
    PyCodeObject *code = (PyCodeObject *)args[0];
    struct sd_line_stack *s = sd_line_stack();
    struct sd_line_target *c = sd_line_chosen_of(code);

    UNUSED;
    if (sd_line_is_unseen(code))
        c = sd_line_show(code, sd_frame_now()->f_globals);
    if (!c)
        return start_of_other(code);
    if (!s)
        return Py_None;
    if (!c->is_start_known)
        find_start_line(c, offset_of(args[1]));
    sd_line_stack_enter(s, (uintptr_t)sd_frame_now(), &c->core, 0);
    if (c->start_line && s->top->frame == (uintptr_t)sd_frame_now()) /* had memory */
        sd_line_stack_line(s, c->start_line, sd_line_now(s));
    return Py_None;
}

static PyObject *on_resume(ARGS)
{
    struct sd_line_stack *s = sd_line_stack();
    struct sd_line_target *c = sd_line_chosen_of((PyCodeObject *)args[0]);

    UNUSED;
    if (!c)
        sd_line_told_for_nobody((PyCodeObject *)args[0]);
    else if (s)
        sd_line_stack_enter(s, (uintptr_t)sd_frame_now(), &c->core,
                            sd_line_at(c, offset_of(args[1])));
    return Py_None;
}

/* Into a generator that waits. */
static PyObject *on_throw(ARGS) { return on_resume(self, args, n_args, names); }

static PyObject *leave(PyObject *code, bool is_suspended)
{
    uint64_t now = sd_tsc();
    struct sd_line_stack *s = sd_line_stack_here;
    uintptr_t frame = (uintptr_t)sd_frame_now();

    if (!s || (s->top->frame != frame && !sd_line_chosen_of((PyCodeObject *)code))) {
        sd_line_told_for_nobody((PyCodeObject *)code);
        return Py_None;
    }
    now = s->clock == SD_CLOCK_TSC ? now : sd_line_now(s);
    if (__builtin_expect(sd_line_memory_has_limit(), 0)) {
        sd_line_stack_ends(s, frame, now);
        now = sd_line_now(s);
    }
    sd_line_stack_leave(s, frame, is_suspended, now);
    return sd_line_alarm_raised ? hand_on_raised() : Py_None;
}

static PyObject *on_return(ARGS)
{
    UNUSED;
    return leave(args[0], false);
}

static PyObject *on_yield(ARGS)
{
    UNUSED;
    return leave(args[0], true);
}

/* --- Listening ------------------------------------------------------------------- */

enum reach { LOCAL, GLOBAL, EXCEPTION = SD_HAS_LOCAL_EXCEPTIONS ? LOCAL : GLOBAL };

static const struct event {
    const char *name;
    vectorcallfunc callback;
    enum reach reach;
} heard[] = {
#define EVENT(name, callback, reach) { #name, callback, reach },
#include "collect/lines/line_events.def"
#undef EVENT
};

enum { N_HEARD = sizeof heard / sizeof heard[0] };

/* Audit hooks run in the first loop, and may call this for other sessions: each call
 * registers what is missing and ends with the same numbers.  None runs after the loop.
 */
static int set_listeners(void)
{
    long masks[2] = { 0, 0 }, numbers[N_HEARD];
    int rc = 0;

    for (int i = 0; rc == 0 && i < N_HEARD; i++)
        rc = sd_tool_hear(&user, heard[i].name, heard[i].callback, &numbers[i]);
    for (int i = 0; rc == 0 && i < N_HEARD; i++) {
        masks[heard[i].reach] |= numbers[i];
        if (sd_line_seeks && strcmp(heard[i].name, "PY_START") == 0)
            masks[GLOBAL] |= numbers[i];
    }
    if (rc == 0)
        rc = sd_tool_hear_all(&user, masks[GLOBAL]);
    if (rc != 0)
        return rc;
    front.local = masks[LOCAL];
    front.interpreter = PyInterpreterState_Get();
    return 0;
}

/* Audit hooks run last, and a session that starts in one listens anew. */
static void stop_listening(void)
{
    if (front.has_disabled && sd_tool_restart() < 0)
        PyErr_Clear();
    memset(&front, 0, sizeof front);
    sd_tool_leave(&user);
}

static int start_listening(void)
{
    int rc = sd_tool_join(&user);

    if (rc != 0)
        return rc;
    memset(&front, 0, sizeof front);
    return set_listeners();
}

int sd_lines_listen(bool is_on)
{
    bool is_here = front.interpreter == PyInterpreterState_Get();
    struct sd_pending_exception raised;
    int rc = 0;

    if (is_on ? is_here && !sd_line_seeks : front.interpreter && !is_here)
        return 0;
    raised = sd_pending_exception_take();
    if (is_on)
        rc = sd_tool_said(is_here ? set_listeners() : start_listening(), "lines");
    else
        stop_listening();
    sd_pending_exception_give_back(raised);
    return rc;
}

/* Nothing here is cheap to take back. */
void sd_lines_pause(bool is_on) { (void)is_on; }

static int set_local(PyCodeObject *code, long events)
{
    struct sd_pending_exception raised = sd_pending_exception_take();
    int rc = sd_tool_said(sd_tool_hear_of(code, events), "lines");

    sd_pending_exception_give_back(raised);
    return rc;
}

/* A place that was left out stays so until all are heard again, which costs all code of
 * the program, and other tools; so it is asked for only where it was. */
int sd_lines_arm(struct sd_line_target *c)
{
    int rc = set_local(c->code, front.local);

    if (rc == 0 && front.has_disabled && c->was_unwanted && sd_tool_restart() < 0)
        PyErr_Clear();
    c->was_unwanted = false;
    return rc;
}

void sd_lines_hear_again(void)
{
    struct sd_pending_exception raised = sd_pending_exception_take();

    if (front.has_disabled && sd_tool_restart() < 0)
        PyErr_Clear();
    sd_pending_exception_give_back(raised);
}

/* Frames that run are told of by their next line. */
void sd_lines_adopt(void) {}

void sd_lines_disarm(struct sd_line_target *c)
{
    if (front.interpreter == PyInterpreterState_Get())
        set_local(c->code, 0);
}
#endif
