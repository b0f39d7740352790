/* SPDX-License-Identifier: MIT */
/* front_trace: counts lines of CPython 3.8 to 3.11 through a trace function that is set
 * for chosen frames alone.
 *
 * A trace function makes all code slow that runs while it is set.  So the eval-frame
 * function (PEP 523), which sees every frame before it runs, sets ours for a chosen
 * frame and takes it away for whatever that calls; other code pays for the look.  A
 * frame that ran already when it was chosen has no hook around it: the trace function
 * is set for this thread then, adopts the frame at its next line, and sees its return.
 *
 * The trace function is the program's: a debugger or coverage may have set one, and
 * sys.gettrace() must show that one.  The interpreter keeps a C function and an object;
 * ours stands in the place of the function alone, the object stays the program's, and
 * every event is handed on to the function that stood there.  One that the program sets
 * while a chosen frame runs wins until that frame ends, since nobody asks us then.
 *
 * The hook stands in a chain (calls has one of its own): it calls who was there before,
 * and is taken out only from the top; else it hands calls on. */
#include "cpython/compat.h"
#include "cpython/compat_eval.h"

#if !SD_HAS_MONITORING
#include <string.h>

#include "base/error.h"
#include "collect/lines/lines.h"
#include "collect/lines/line_memory.h"
#include "collect/shared/c_stack.h"

/* The interpreter's one place for a hook, and ours in it. */
static struct {
    PyInterpreterState *interp;  /* whose; NULL: never put in */
    _PyFrameEvalFunction *slot;  /* where it keeps its hook */
    _PyFrameEvalFunction before; /* what stood there when we came, which we call */
    bool is_in;     /* put in, and not taken out again by us: someone may call it */
    bool is_wanted; /* some session is on */
    bool is_lifted; /* by a thread whose stack is short, until its frame returns */
} home;

/* The program's trace function, while ours is in its place in this thread. */
static _Thread_local __attribute__((tls_model("initial-exec"))) Py_tracefunc foreign;

static PyObject *hook(SD_EVAL_PARAMETERS);
static void disarm(PyThreadState *ts);

/* --- The trace function ---------------------------------------------------------- */

/* A frame that ran before it was chosen comes to a line; any other than chosen ones
 * that are told of meanwhile are passed by. */
__attribute__((noinline)) static void adopt(PyFrameObject *f, uint64_t now)
{
    sd_eval_frame *live = sd_eval_profiled_live(f);
    struct sd_line_target *c = sd_line_chosen_of(sd_eval_code(live));
    struct sd_line_stack *s = c ? sd_line_stack() : NULL;

    if (!home.is_wanted)
        disarm(PyThreadState_Get()); /* another thread has stopped it */
    else if (s && f->f_lineno > 0)
        sd_line_stack_line_slowly(s, (uintptr_t)live, &c->core, (uint32_t)f->f_lineno,
                                  now);
}

/* hot: every line of a chosen frame. */
static void on_line(PyFrameObject *f)
{
    struct sd_line_stack *s = sd_line_stack_here;
    uint64_t now = s ? sd_line_now(s) : 0;
    uintptr_t frame = sd_eval_profiled_frame(f);

    if (__builtin_expect(s && s->top->frame == frame && f->f_lineno > 0, 1))
        sd_line_stack_line(s, (uint32_t)f->f_lineno, now);
    else
        adopt(f, now);
}

/* A frame that ran when ours was set has no hook around it that would see its end. */
static void on_return(PyFrameObject *f);

static int trace(PyObject *object, PyFrameObject *f, int what, PyObject *arg)
{
    Py_tracefunc next = foreign;

    if (what == PyTrace_LINE)
        on_line(f);
    else if (what == PyTrace_RETURN)
        on_return(f);
    if (__builtin_expect(sd_line_alarm_raised, 0)) {
        sd_line_alarm_raised = false;
        return PyErr_Occurred() ? -1 : 0;
    }
    return next ? next(object, f, what, arg) : 0;
}

static void arm(PyThreadState *ts)
{
    foreign = ts->c_tracefunc;
    sd_eval_put_trace(ts, trace);
}

static void disarm(PyThreadState *ts) { sd_eval_put_trace(ts, foreign); }

enum { FRAMES_MAX = 1000 }; /* that are looked at: deeper ones are not adopted */

/* Is one of these frames, from this one out, of chosen code, and has no hook around it?
 */
static bool has_chosen(const sd_eval_frame *f)
{
    const struct sd_line_stack *s = sd_line_stack_here;

    for (int i = 0; f && i < FRAMES_MAX; i++, f = sd_eval_caller(f))
        if (sd_line_chosen_of(sd_eval_code(f)) &&
            !(s && sd_line_stack_follows(s, (uintptr_t)f)))
            return true;
    return false;
}

static void on_return(PyFrameObject *f)
{
    struct sd_line_stack *s = sd_line_stack_here;
    sd_eval_frame *live = sd_eval_profiled_live(f);

    if (s && sd_line_memory_has_limit() && !sd_line_owner_of(sd_eval_code(live)))
        sd_line_stack_ends(s, (uintptr_t)live, sd_line_now(s));
    if (s && sd_line_stack_follows(s, (uintptr_t)live))
        return;
    if (s && s->top->frame == (uintptr_t)live)
        sd_line_stack_leave(s, (uintptr_t)live, false, sd_line_now(s));
    if (PyThreadState_Get()->c_tracefunc == trace && !has_chosen(sd_eval_caller(live)))
        disarm(PyThreadState_Get());
}

/* --- The hook -------------------------------------------------------------------- */

static PyObject *hand_on_lifted(PyThreadState *ts, sd_eval_frame *f, int raises)
{
    PyObject *result;

    (void)ts;
    if (*home.slot != hook)
        return SD_EVAL_CALL(home.before == SD_EVAL_NOBODY ? _PyEval_EvalFrameDefault
                                                          : home.before,
                            ts, f, raises);
    home.is_lifted = true;
    *home.slot = home.before;
    result = SD_EVAL_CALL(home.before == SD_EVAL_NOBODY ? _PyEval_EvalFrameDefault
                                                        : home.before,
                          ts, f, raises);
    home.is_lifted = false;
    if (*home.slot == home.before) {
        home.is_in = home.is_wanted;
        *home.slot = home.is_wanted ? hook : home.before;
    }
    return result;
}

static inline PyObject *hand_on(PyThreadState *ts, sd_eval_frame *f, int raises)
{
    (void)ts;
    if (__builtin_expect(sd_c_stack_is_short(), 0))
        return hand_on_lifted(ts, f, raises);
    if (__builtin_expect(home.before == SD_EVAL_NOBODY, 1))
        return SD_EVAL_CALL(_PyEval_EvalFrameDefault, ts, f, raises);
    return SD_EVAL_CALL(home.before, ts, f, raises);
}

/* The line that a frame goes on with; 0: it starts. */
static uint32_t line_of(struct sd_line_target *c, sd_eval_frame *f)
{
    if (!sd_eval_is_generators(f) || sd_eval_begins(f))
        return 0;
    return sd_line_at(c, sd_eval_offset(f));
}

/* Ours may be gone when the frame has ended: the program has set another inside, which
 * is its own from here on. */
static void arm_again(PyThreadState *ts, bool was_armed)
{
    if (ts->c_tracefunc == trace && !was_armed)
        disarm(ts);
    else if (ts->c_tracefunc != trace && was_armed)
        arm(ts);
    else
        sd_eval_tracing_changed(ts);
}

__attribute__((noinline)) static PyObject *follow(PyThreadState *ts, sd_eval_frame *f,
                                                  int raises, struct sd_line_target *c)
{
    struct sd_line_stack *s = sd_line_stack();
    bool was_armed = ts->c_tracefunc == trace, is_suspended;
    PyObject *result;

    if (!s)
        return hand_on(ts, f, raises);
    if (!was_armed)
        arm(ts);
    sd_line_stack_enter(s, (uintptr_t)f, &c->core, line_of(c, f));
    result = hand_on(ts, f, raises);
    is_suspended = result && sd_eval_is_generators(f) && sd_eval_is_suspended(f);
    sd_line_stack_leave(s, (uintptr_t)f, is_suspended, sd_line_now(s));
    arm_again(ts, was_armed);
    return result;
}

/* A comprehension in the function on top: its lines are that function's, as they are
 * where the interpreter makes no frame of it.  Then that goes on with its own line. */
static PyObject *follow_part(PyThreadState *ts, sd_eval_frame *f, int raises,
                             struct sd_line_stack *s)
{
    uintptr_t whole = s->top->frame;
    uint32_t line = s->top->line;
    bool is_adopted = s->top->is_adopted;
    PyObject *result;

    sd_line_stack_move(s, (uintptr_t)f);
    s->top->is_adopted = false; /* it ends here, and the function does not with it */
    result = hand_on(ts, f, raises);
    if (s->top->frame != (uintptr_t)f)
        return result;
    sd_line_stack_move(s, whole);
    s->top->is_adopted = is_adopted;
    if (line && result)
        sd_line_stack_line(s, line, sd_line_now(s));
    return result;
}

/* Called by a chosen frame, and not chosen: runs as if there were no trace function but
 * the program's. */
__attribute__((noinline)) static PyObject *step_over(PyThreadState *ts,
                                                     sd_eval_frame *f, int raises)
{
    struct sd_line_stack *s = sd_line_stack_here;
    struct sd_line_target *owner = sd_line_owner_of(sd_eval_code(f));
    PyObject *result;

    if (owner && s && s->top->code == &owner->core &&
        s->top->frame == sd_eval_below(ts))
        return follow_part(ts, f, raises, s);
    disarm(ts);
    result = hand_on(ts, f, raises);
    if (ts->c_tracefunc != trace)
        arm(ts);
    return result;
}

/* hot: every frame that the interpreter evaluates.  A trace function that runs just now
 * is not told of what it does itself. */
static PyObject *hook(SD_EVAL_PARAMETERS)
{
    SD_EVAL_THREAD(ts);
    struct sd_line_target *c = sd_line_chosen_of(sd_eval_code(f));

    if (sd_line_is_unseen(sd_eval_code(f)))
        c = sd_line_show(sd_eval_code(f), f->f_globals);
    if (__builtin_expect(c != NULL, 0) && !sd_eval_makes_generator(f) && !ts->tracing)
        return follow(ts, f, raises, c);
    if (__builtin_expect(ts->c_tracefunc == trace, 0) && !ts->tracing)
        return step_over(ts, f, raises);
    return hand_on(ts, f, raises);
}

/* --- Listening ------------------------------------------------------------------- */

/* Every frame is looked at. */
void sd_lines_hear_again(void) {}

static int follow_this_interpreter(void)
{
    PyInterpreterState *interp = sd_eval_interpreter();

    if (home.interp == interp)
        return 0;
    if (home.is_in && sd_compat_interpreter_lives(home.interp))
        return sd_fail(SD_ELACKS, "another interpreter in this process is already "
                                  "counting lines; stop its profiler first");
    memset(&home, 0, sizeof home);
    home.interp = interp;
    home.slot = sd_eval_slot(interp);
    return 0;
}

static void put_in(void)
{
    if (home.is_lifted || (home.is_in && *home.slot != SD_EVAL_NOBODY))
        return; /* it is there, or another stands above it and calls it */
    home.before = *home.slot;
    home.is_in = true;
    *home.slot = hook;
}

static void take_out(void)
{
    if (!home.is_in || *home.slot != hook)
        return;
    *home.slot = home.before;
    home.is_in = false;
}

/* Of frames that were adopted and still run. */
static void let_go(void)
{
    PyThreadState *ts = PyThreadState_Get();

    if (ts->c_tracefunc == trace)
        disarm(ts);
}

void sd_lines_adopt(void)
{
    PyThreadState *ts = PyThreadState_Get();

    if (ts->c_tracefunc != trace && !ts->tracing && has_chosen(sd_eval_top(ts)))
        arm(ts);
}

int sd_lines_listen(bool is_on)
{
    int rc = is_on ? follow_this_interpreter() : 0;

    if (rc < 0)
        return rc;
    home.is_wanted = is_on;
    if (is_on) {
        put_in();
    } else {
        take_out();
        let_go();
    }
    return 0;
}

void sd_lines_pause(bool is_on)
{
    home.is_wanted = !is_on;
    if (is_on) {
        take_out();
        let_go();
    } else {
        put_in();
    }
}

/* The hook sees by itself what is chosen. */
int sd_lines_arm(struct sd_line_target *c)
{
    (void)c;
    return 0;
}

void sd_lines_disarm(struct sd_line_target *c) { (void)c; }
#endif
