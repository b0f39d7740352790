/* SPDX-License-Identifier: MIT */
#include "collect/calls/sessions.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/log.h"
#include "capture/writer.h"
#include "collect/calls/pairs.h"
#include "collect/session.h"
#include "collect/shared/source_name.h"
#include "collect/shared/thread_cpu.h"

enum { MISSING_MOST = 16 }; /* threads that are named one by one */

struct thread {
    uint64_t number;           /* never used twice, unlike the system's */
    unsigned seen;             /* the generation that its list is of */
    bool is_in_timer;          /* a user's clock runs: its own calls are not followed */
    bool is_stale;             /* look again at the next event */
    bool is_missing;           /* it found no room for a tree, and is counted as such */
    uint64_t scope_state;      /* of the scopes, when the list was made */
    struct sd_call_tree *sole; /* what sd_calls_only would be if there was no scope */
    struct sd_call_tree **only;  /* where its sd_calls_only is */
    struct sd_call_tree **trees; /* those that follow it; owned, the trees are not */
    size_t n, cap;
    struct sd_thread_cpu *cpu; /* owned; NULL until it is wanted */
    struct thread *next;
};

/* What a process has only one of.  The list of active sessions is read with the
 * interpreter's lock alone, and changed with both. */
static struct {
    pthread_mutex_t lock; /* over the lists and what hangs on them */
    struct sd_calls_session *active;
    struct thread *threads;
    unsigned generation;          /* of the active sessions */
    uint64_t n_threads, n_scopes; /* that there were */
    unsigned n_scoped;            /* active sessions with a scope */
    struct sd_scope scope;        /* of one of them, whose state is that of all */
    struct sd_ticks_pair first;
    uint64_t cpu_at_fork; /* ns of the thread that forks */
    pthread_key_t at_end;
    bool is_ready;
    uint32_t missing[MISSING_MOST]; /* threads without a tree: the first ones */
    size_t n_missing;               /* all of them, that nobody was told of yet */
} calls = { .lock = PTHREAD_MUTEX_INITIALIZER };

_Thread_local
    __attribute__((tls_model("initial-exec"))) struct sd_call_tree *sd_calls_only;
static _Thread_local __attribute__((tls_model("initial-exec"))) struct thread *here;
static _Thread_local __attribute__((tls_model("initial-exec"))) struct sd_scope limit;

/* --- Threads --------------------------------------------------------------------- */

/* The thread is gone, and the clock of its CPU time goes with it.  A tree whose clock
 * is the user's cannot be ended here: that is Python code. */
static void end_of_tree(struct sd_calls_session *s, size_t at)
{
    struct sd_call_tree *t;

    sd_assert(at < s->n_trees);
    t = s->trees[at];
    if (!t->timer)
        sd_call_tree_end(t);
    t->cpu = NULL;
    if (t->timer)
        return;
    if (s->request.in_capture) { /* the capture has it; threads come and go */
        sd_call_tree_free(t);
        s->trees[at] = s->trees[--s->n_trees];
    }
}

static void forget_thread(struct thread *th)
{
    sd_free(th->trees);
    sd_thread_cpu_free(th->cpu);
    sd_free(th);
}

/* Without the interpreter's lock: the thread is past all Python. */
static void at_thread_end(void *of)
{
    struct thread *th = of, **link;

    pthread_mutex_lock(&calls.lock);
    for (link = &calls.threads; *link && *link != th;)
        link = &(*link)->next;
    if (*link)
        *link = th->next;
    for (struct sd_calls_session *s = calls.active; s; s = s->next)
        for (size_t i = s->n_trees; i-- > 0;)
            if (s->trees[i]->thread == th->number)
                end_of_tree(s, i);
    pthread_mutex_unlock(&calls.lock);
    sd_calls_only = NULL;
    here = NULL;
    forget_thread(th);
}

static void before_fork(void)
{
    pthread_mutex_lock(&calls.lock);
    calls.cpu_at_fork = here && here->cpu ? sd_thread_cpu_ns(here->cpu) : 0;
}

static void after_fork_in_parent(void) { pthread_mutex_unlock(&calls.lock); }

/* A copy of a thread's tree that nobody writes here: its clock is the parent's. */
static void leave_behind(struct sd_call_tree *t)
{
    t->cpu = NULL;
    t->extra = 0; /* nor is its timeline ended here */
    sd_timeline_after_fork(&t->timeline);
    if (!t->timer)
        sd_call_tree_end(t);
}

/* In memory this thread goes on, with a CPU clock that begins at 0. */
static void go_on_in_child(struct sd_calls_session *s)
{
    for (size_t i = 0; i < s->n_trees; i++)
        if (here && s->trees[i]->thread == here->number) {
            sd_call_tree_cpu_begins_anew(s->trees[i], calls.cpu_at_fork);
            sd_timeline_after_fork(&s->trees[i]->timeline);
        } else {
            leave_behind(s->trees[i]);
        }
}

/* Only this thread is here.  Tables of a capture are the parent's: nothing may be
 * counted in them from here on. */
static void after_fork_in_child(void)
{
    for (struct sd_calls_session *s = calls.active; s; s = s->next)
        if (!s->request.in_capture)
            go_on_in_child(s);
    for (struct thread *th = calls.threads, *next; th; th = next) {
        next = th->next;
        if (th != here)
            forget_thread(th);
    }
    calls.threads = here;
    if (here)
        here->next = NULL;
    for (struct sd_calls_session *s = calls.active; s; s = s->next)
        while (s->request.in_capture && s->n_trees)
            sd_call_tree_free(s->trees[--s->n_trees]);
    sd_calls_only = NULL;
    calls.n_missing = 0; /* the parent tells of them */
    if (here)
        here->is_missing = false;
    calls.generation++;
    pthread_mutex_unlock(&calls.lock);
}

static int make_ready(void)
{
    if (calls.is_ready)
        return 0;
    sd_session_watch_forks();
    sd_source_name_begins();
    if (pthread_key_create(&calls.at_end, at_thread_end) != 0)
        return sd_fail(
            SD_ELACKS,
            "the program uses every key of thread-local storage (pthread_key_create), "
            "and Sonde needs one to trace calls; `sonde record` samples the program "
            "from outside and needs none");
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    calls.first = sd_ticks_pair(sd_ticks_kind());
    calls.is_ready = true;
    return 0;
}

struct sd_ticks_pair sd_calls_sessions_first_pair(void)
{
    make_ready();
    return calls.first;
}

static struct thread *thread_here(void)
{
    struct thread *th = here;

    if (th)
        return th;
    th = sd_zalloc(sizeof *th);
    if (!th || pthread_setspecific(calls.at_end, th) != 0) {
        sd_free(th);
        return NULL;
    }
    th->only = &sd_calls_only;
    pthread_mutex_lock(&calls.lock);
    th->number = ++calls.n_threads;
    th->seen = calls.generation - 1;
    th->next = calls.threads;
    calls.threads = th;
    pthread_mutex_unlock(&calls.lock);
    return here = th;
}

/* --- Trees of a thread ----------------------------------------------------------- */

static struct sd_call_tree *tree_of(const struct sd_calls_session *s,
                                    const struct thread *th)
{
    for (size_t i = 0; i < s->n_trees; i++)
        if (s->trees[i]->thread == th->number)
            return s->trees[i];
    return NULL;
}

static uint16_t whole_ticks(uint32_t x1024)
{
    return x1024 / 1024 < UINT16_MAX ? (uint16_t)(x1024 / 1024) : UINT16_MAX;
}

static void put_costs(struct sd_call_root *root, const struct sd_call_costs *c)
{
    root->python_inside = c->python_inside;
    root->python_outside = c->python_outside;
    root->python_plain = whole_ticks(c->python_plain);
    root->c_inside = c->c_inside;
    root->c_outside = c->c_outside;
    root->c_plain = whole_ticks(c->c_plain);
    root->error = c->error;
}

static void fill_root(struct sd_call_tree *t, const struct sd_calls_session *s)
{
    struct sd_call_root *root = sd_call_tree_root(t);

    root->track = sd_session_define_in_table(t->table, NULL, 0);
    put_costs(root, &s->costs);
}

/* A user's clock is Python code, whose own calls are not followed. */
static uint64_t ask_timer(void *of)
{
    const struct sd_calls_session *s = of;
    bool was_in_timer = here && here->is_in_timer;
    uint64_t now;

    if (here)
        here->is_in_timer = true;
    now = s->request.timer(s->request.of);
    if (here)
        here->is_in_timer = was_in_timer;
    return now;
}

/* Those that may be others at the next start. */
static void set_requests(struct sd_call_tree *t, const struct sd_calls_session *s)
{
    t->sees_c = s->request.events & SD_CALLS_C;
    t->names.sign = s->request.events & SD_CALLS_SIGNED ? s->request.names.sign : NULL;
    t->has_more = t->extra || t->names.sign;
    t->is_logged = t->extra == SD_EXTRA_TIMELINE && !t->names.sign;
}

static int make_tree(struct sd_calls_session *s, struct thread *th,
                     struct sd_call_tree **out)
{
    struct sd_call_tree_how how = { .names = s->request.names,
                                    .timer = s->request.timer ? ask_timer : NULL,
                                    .timer_of = s,
                                    .n_max = s->request.n_max,
                                    .clock = s->clock,
                                    .first = calls.first,
                                    .has_timeline = s->request.has_timeline,
                                    .is_trial = s->request.is_trial };
    struct sd_call_tree **grown =
        sd_grow_array(s->trees, &s->cap_trees, s->n_trees + 1, sizeof *grown);
    int rc;

    if (!grown)
        return sd_no_memory();
    s->trees = grown;
    if (s->request.in_capture && !(how.writer = sd_session_writer()))
        return sd_fail(
            SD_EGONE,
            "this process has left the capture, so nothing more of it can be recorded");
    if (s->request.has_cpu && !th->cpu)
        th->cpu = sd_thread_cpu_new();
    how.cpu = s->request.has_cpu ? th->cpu : NULL;
    rc = sd_call_tree_new(&how, out);
    if (rc < 0)
        return rc;
    (*out)->thread = th->number;
    (*out)->tid = sd_thread_self()->tid;
    (*out)->ident = (uint64_t)pthread_self();
    (*out)->waits = s->is_waiting;
    set_requests(*out, s);
    fill_root(*out, s);
    sd_assert(s->n_trees < s->cap_trees);
    s->trees[s->n_trees++] = *out;
    return 0;
}

/* A thread that finds no room (a full disk, a limit on files) is missing as a whole.
 * It has no log either, so the capture counts it, and who it was is told at the end by
 * the thread that is there then (sd_calls_sessions_tell_unfollowed). */
static void note_missing(const struct sd_calls_session *s, struct thread *th)
{
    struct sd_writer *w = s->request.in_capture ? sd_session_writer() : NULL;

    if (!w || th->is_missing)
        return;
    th->is_missing = true;
    sd_writer_lose_table(w);
    if (calls.n_missing < MISSING_MOST)
        calls.missing[calls.n_missing] = sd_thread_self()->tid;
    calls.n_missing++;
}

void sd_calls_sessions_tell_unfollowed(void)
{
    struct sd_log *log = calls.n_missing ? sd_session_log() : NULL;
    size_t n = calls.n_missing < MISSING_MOST ? calls.n_missing : MISSING_MOST;
    char text[512];
    int at;

    if (!log)
        return;
    at = snprintf(text, sizeof text, "process %d: no calls were traced in thread%s",
                  (int)getpid(), calls.n_missing == 1 ? "" : "s");
    for (size_t i = 0; i < n; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%s %u", i ? "," : "",
                       calls.missing[i]);
    if (calls.n_missing > n)
        snprintf(text + at, sizeof text - (size_t)at, " and %zu more",
                 calls.n_missing - n);
    _Static_assert(sizeof text > 64 + MISSING_MOST * 12 + 32, "all numbers fit");
    sd_log_note(log, SD_NOTE_INFO, text); /* sd_writer_lose_table counts the loss */
    calls.n_missing = 0;
}

static bool is_out_of_scope(const struct sd_calls_session *s)
{
    return s->request.scope.id && !s->request.scope.is_here(&s->request.scope);
}

/* Does the session follow the calling thread, which did not start it?  A scope may be
 * entered in any. */
static bool follows_here(const struct sd_calls_session *s)
{
    return s->request.events & SD_CALLS_ALL &&
           (s->request.scope.id || !s->request.follows ||
            s->request.follows(s->request.threads));
}

/* The session's tree of this thread, made when it is wanted; NULL when it is not, or
 * cannot be. */
static struct sd_call_tree *wanted_tree(struct sd_calls_session *s, struct thread *th,
                                        bool *is_new)
{
    struct sd_call_tree *t;

    *is_new = false;
    if (is_out_of_scope(s))
        return NULL;
    t = tree_of(s, th);
    if (!t && follows_here(s) && make_tree(s, th, &t) < 0)
        note_missing(s, th);
    if (t && !t->is_followed && s->request.events & SD_CALLS_ALL)
        *is_new = true;
    return t && (t->is_followed || *is_new) ? t : NULL;
}

static bool add_tree(struct thread *th, struct sd_call_tree *t)
{
    struct sd_call_tree **grown =
        sd_grow_array(th->trees, &th->cap, th->n + 1, sizeof *grown);

    if (!grown)
        return false;
    th->trees = grown;
    grown[th->n++] = t;
    return true;
}

static bool is_plain(const struct sd_call_tree *t)
{
    return !t->waits && t->clock == SD_CLOCK_TSC && !t->timer;
}

/* Sessions came or went, or the context did: finds this thread's trees anew.  A clock
 * of the user's is Python code and is read without the lock.  It may clear or end other
 * sessions, whose trees are gone then: the list is left empty, and the next event looks
 * again. */
static void refresh(struct thread *th)
{
    size_t n_new = 0;
    int saved = errno;

    pthread_mutex_lock(&calls.lock);
    th->n = 0;
    th->sole = NULL;
    th->is_stale = false;
    th->seen = calls.generation;
    for (struct sd_calls_session *s = calls.active; s; s = s->next) {
        bool is_new;
        struct sd_call_tree *t = wanted_tree(s, th, &is_new);

        if (t && add_tree(th, t))
            n_new += is_new;
    }
    th->scope_state = calls.n_scoped ? calls.scope.state(&calls.scope) : 0;
    sd_assert(th->n <= th->cap);
    pthread_mutex_unlock(&calls.lock);
    for (size_t i = 0; n_new && i < th->n && th->seen == calls.generation; i++)
        if (!th->trees[i]->is_followed)
            sd_call_tree_begin(th->trees[i]);
    if (th->seen != calls.generation)
        th->n = 0;
    if (th->n == 1 && is_plain(th->trees[0]))
        *(calls.n_scoped ? &th->sole : &sd_calls_only) = th->trees[0];
    errno = saved;
}

/* hot, where a session has a scope: may the thread be in others than its list is of? */
static inline bool has_moved(const struct thread *th)
{
    return calls.n_scoped && calls.scope.state(&calls.scope) != th->scope_state;
}

/* The calling thread, its list up to date; NULL when nothing follows it. */
static struct thread *followed_thread(void)
{
    struct thread *th;

    if (!calls.active)
        return NULL;
    th = thread_here();
    if (!th || th->is_in_timer)
        return NULL;
    if (th->seen != calls.generation || th->is_stale || has_moved(th))
        refresh(th);
    return th->n ? th : NULL;
}

bool sd_calls_follows(void) { return sd_calls_only || followed_thread(); }

static bool has_open_c(const struct sd_call_tree *t, uintptr_t frame)
{
    for (const struct sd_call_entry *e = t->top; e > t->stack; e--)
        if (e->frame & SD_FRAME_C && (e->frame & ~(uintptr_t)SD_FRAME_TAGS) == frame)
            return true;
    return false;
}

bool sd_calls_is_in_c(uintptr_t frame)
{
    const struct thread *th = followed_thread();

    for (size_t i = 0; th && i < th->n; i++)
        if (has_open_c(th->trees[i], frame))
            return true;
    return false;
}

bool sd_calls_stands_apart(uintptr_t frame)
{
    const struct thread *th = followed_thread();

    for (size_t i = 0; th && i < th->n; i++)
        if (th->trees[i]->top > th->trees[i]->stack &&
            !sd_call_tree_is_on_top(th->trees[i], frame))
            return true;
    return false;
}

bool sd_calls_is_unheard(uintptr_t frame, uintptr_t caller)
{
    const struct thread *th = followed_thread();

    for (size_t i = 0; th && i < th->n; i++)
        if (sd_call_tree_is_unheard(th->trees[i], frame, caller))
            return true;
    return false;
}

/* --- Events ---------------------------------------------------------------------- */

static bool hears(const struct sd_call_tree *t, uintptr_t frame)
{
    return t->sees_c || !(frame & SD_FRAME_C);
}

/* The first call of the program itself: from here on it is followed. */
static bool begins(struct thread *th, struct sd_call_tree *t, const void *what,
                   uintptr_t frame, uintptr_t below)
{
    if (below || frame & SD_FRAME_C)
        return false;
    for (struct sd_calls_session *s = calls.active; s; s = s->next)
        if (s->is_waiting && tree_of(s, th) == t) {
            if (!s->request.begins(what))
                return false;
            s->is_waiting = false;
        }
    t->waits = false;
    sd_call_tree_begin(t);
    th->is_stale = true; /* it may be the one at hand from the next call on */
    return true;
}

static void enter_one(struct thread *th, struct sd_call_tree *t, uint64_t key,
                      const void *what, uintptr_t frame, uintptr_t below,
                      enum sd_calls_start how)
{
    struct sd_call_entry *e;
    uint64_t now;

    if (t->waits && !begins(th, t, what, frame, below))
        return;
    key = sd_calls_signed(t, key, what, frame, how == SD_CALLS_RESUMES);
    e = sd_call_tree_enter(t, key, what, frame, below);
    if (!e)
        return;
    if (how == SD_CALLS_RESUMES) {
        e->cell->resumes++;
        if (t->waiting.n)
            sd_call_tree_resumed(t, e, sd_call_tree_now(t));
    }
    e->cpu_start = sd_call_tree_cpu(t);
    now = sd_call_tree_now(t);
    /* A user's clock may have ended the session. */
    if (th->seen != calls.generation)
        return;
    e->start = now;
    if (t->extra & SD_EXTRA_TIMELINE)
        sd_timeline_put(t, SD_CALL_BEGINS, e, e->start);
}

/* As in the functions of front.h that are inline. */
static void enter_sole(struct sd_call_tree *t, uint64_t key, const void *what,
                       uintptr_t frame, uintptr_t below, enum sd_calls_start how)
{
    key = sd_calls_signed(t, key, what, frame, how == SD_CALLS_RESUMES);
    if (how == SD_CALLS_RESUMES)
        sd_calls_resume_signed(t, key, what, frame, below);
    else
        sd_calls_enter_signed(t, key, what, frame, below);
}

void sd_calls_enter_slowly(uint64_t key, const void *what, uintptr_t frame,
                           uintptr_t below, enum sd_calls_start how)
{
    struct thread *th = followed_thread();

    if (th && th->sole) {
        if (hears(th->sole, frame))
            enter_sole(th->sole, key, what, frame, below, how);
        return;
    }
    for (size_t i = 0; th && i < th->n && th->seen == calls.generation; i++)
        if (hears(th->trees[i], frame))
            enter_one(th, th->trees[i], key, what, frame, below, how);
}

static void leave_one(struct thread *th, struct sd_call_tree *t, uintptr_t frame,
                      bool is_suspended)
{
    uint64_t now = sd_call_tree_now(t), cpu;

    if (th->seen != calls.generation || t->waits)
        return;
    cpu = sd_call_tree_cpu(t);
    if (is_suspended)
        sd_call_tree_suspended(t, frame, now);
    sd_call_tree_leave_slowly(t, frame, now, cpu);
}

static void leave_all(uintptr_t frame, bool is_suspended)
{
    struct thread *th = followed_thread();

    if (th && th->sole && !is_suspended) {
        if (hears(th->sole, frame))
            sd_call_tree_leave(th->sole, frame, sd_tsc());
        return;
    }
    for (size_t i = 0; th && i < th->n && th->seen == calls.generation; i++)
        if (hears(th->trees[i], frame))
            leave_one(th, th->trees[i], frame, is_suspended);
}

void sd_calls_leave_others(uintptr_t frame) { leave_all(frame, false); }
void sd_calls_suspend(uintptr_t frame) { leave_all(frame, true); }

void sd_calls_never_ran(uintptr_t frame)
{
    struct thread *th = followed_thread();

    for (size_t i = 0; th && i < th->n; i++)
        sd_call_tree_undo(th->trees[i], frame);
}

static void rename_top(struct sd_call_tree *t, uint64_t from, uint64_t to,
                       const void *callable)
{
    struct sd_call_entry was = *t->top, *e;
    uintptr_t frame;

    if (t->top == t->stack || was.cell->key != from)
        return;
    frame = sd_call_entry_frame(t->top);
    sd_call_tree_undo(t, frame);
    e = sd_call_tree_enter(t, to, callable, frame, frame & ~(uintptr_t)SD_FRAME_TAGS);
    if (e) {
        e->start = was.start;
        e->skipped = was.skipped;
        e->cpu_start = was.cpu_start;
        if (t->extra & SD_EXTRA_TIMELINE) /* behind what was told just now */
            sd_timeline_put(t, SD_CALL_BEGINS, e, e->start);
    }
}

void sd_calls_rename_c(const void *from, const void *to, const void *callable)
{
    struct thread *th = followed_thread();

    /* A user's clock may end a session in the midst of this. */
    for (size_t i = 0; th && i < th->n && th->seen == calls.generation; i++)
        rename_top(th->trees[i], sd_calls_c_key(from), sd_calls_c_key(to), callable);
}

void sd_calls_untraced(uint64_t from, uint64_t to)
{
    pthread_mutex_lock(&calls.lock);
    for (struct sd_calls_session *s = calls.active; s; s = s->next)
        for (size_t i = 0; i < s->n_trees; i++)
            if (s->trees[i]->is_followed && !s->trees[i]->timer && to > from)
                sd_call_tree_root(s->trees[i])->untraced += to - from;
    pthread_mutex_unlock(&calls.lock);
}

/* --- Sessions -------------------------------------------------------------------- */

/* Every thread looks again at its next event. */
static void announce(void)
{
    calls.generation++;
    for (struct thread *th = calls.threads; th; th = th->next)
        *th->only = NULL;
}

uint64_t sd_calls_new_scope(void) { return ++calls.n_scopes; }

void sd_calls_scope_changed(void)
{
    if (here)
        here->is_stale = true;
}

struct sd_scope sd_calls_limit(struct sd_scope scope)
{
    struct sd_scope before = limit;

    limit = scope;
    return before;
}

int sd_calls_session_new(const struct sd_calls_request *request,
                         struct sd_calls_session **out)
{
    struct sd_calls_session *s = NULL;
    int rc = make_ready();

    *out = NULL;
    if (rc < 0)
        return rc;
    s = sd_zalloc(sizeof *s);
    if (!s)
        return sd_no_memory();
    s->request = *request;
    if (!request->is_trial) /* which has its own */
        s->request.scope = limit;
    s->is_waiting = request->begins;
    s->clock = sd_ticks_kind();
    *out = s;
    return 0;
}

static void activate(struct sd_calls_session *s)
{
    if (!s->is_active) {
        s->next = calls.active;
        calls.active = s;
        s->is_active = true;
        if (s->request.scope.id) {
            calls.scope = s->request.scope;
            calls.n_scoped++;
        }
    }
    announce();
}

int sd_calls_session_start(struct sd_calls_session *s)
{
    struct thread *th = thread_here();
    struct sd_call_tree *t = NULL;
    int rc = 0;

    if (!th)
        return sd_no_memory();
    pthread_mutex_lock(&calls.lock);
    if (s->request.scope.id)
        s->request.events |= SD_CALLS_ALL; /* wherever it is entered */
    else
        t = tree_of(s, th);
    if (!t && !s->request.scope.id)
        rc = make_tree(s, th, &t);
    for (size_t i = 0; i < s->n_trees; i++) { /* those of other threads, too */
        set_requests(s->trees[i], s);
        sd_call_tree_root(s->trees[i])->error = 0;
    }
    if (rc == 0)
        activate(s);
    pthread_mutex_unlock(&calls.lock);
    if (rc < 0)
        return rc;
    if (t && !t->is_followed)
        sd_call_tree_begin(t);
    return 0;
}

/* The variable of one that has ended may have gone with its interpreter. */
static void choose_scope(void)
{
    calls.scope = (struct sd_scope){ 0 };
    for (struct sd_calls_session *s = calls.active; s; s = s->next)
        if (s->request.scope.id)
            calls.scope = s->request.scope;
    sd_assert(!calls.n_scoped == !calls.scope.id);
}

static void deactivate(struct sd_calls_session *s)
{
    struct sd_calls_session **link = &calls.active;

    while (*link && *link != s)
        link = &(*link)->next;
    if (*link)
        *link = s->next;
    s->is_active = false;
    sd_assert(!s->request.scope.id || calls.n_scoped > 0);
    calls.n_scoped -= s->request.scope.id != 0;
    choose_scope();
    announce();
}

void sd_calls_session_stop(struct sd_calls_session *s)
{
    if (!s->is_active)
        return;
    pthread_mutex_lock(&calls.lock);
    deactivate(s);
    for (size_t i = 0; !s->request.timer && i < s->n_trees; i++)
        sd_call_tree_end(s->trees[i]);
    pthread_mutex_unlock(&calls.lock);
    for (size_t i = 0; s->request.timer && i < s->n_trees; i++)
        sd_call_tree_end(s->trees[i]);
}

static struct sd_calls_session *any_scoped(void)
{
    struct sd_calls_session *s = calls.active;

    while (s && !s->request.scope.id)
        s = s->next;
    return s;
}

/* A user's clock may change the list at each. */
void sd_calls_sessions_end_scoped(void)
{
    for (struct sd_calls_session *s; (s = any_scoped());)
        sd_calls_session_stop(s);
    sd_assert(calls.n_scoped == 0);
}

void sd_calls_session_set_costs(struct sd_calls_session *s,
                                const struct sd_call_costs *costs)
{
    pthread_mutex_lock(&calls.lock);
    s->costs = *costs;
    for (size_t i = 0; i < s->n_trees; i++)
        put_costs(sd_call_tree_root(s->trees[i]), costs);
    pthread_mutex_unlock(&calls.lock);
}

struct sd_bouts_looks sd_calls_session_looks(struct sd_calls_session *s)
{
    struct sd_bouts_looks all = { 0 };

    pthread_mutex_lock(&calls.lock);
    for (size_t i = 0; i < s->n_trees; i++) {
        sd_bouts_looks_add(&all, &s->trees[i]->looks);
        s->trees[i]->looks = (struct sd_bouts_looks){ 0 };
    }
    pthread_mutex_unlock(&calls.lock);
    return all;
}

static void drop_trees(struct sd_calls_session *s)
{
    pthread_mutex_lock(&calls.lock);
    while (s->n_trees)
        sd_call_tree_free(s->trees[--s->n_trees]);
    announce();
    pthread_mutex_unlock(&calls.lock);
}

int sd_calls_session_clear(struct sd_calls_session *s)
{
    drop_trees(s);
    return s->is_active ? sd_calls_session_start(s) : 0;
}

void sd_calls_session_free(struct sd_calls_session *s)
{
    if (!s)
        return;
    sd_calls_session_stop(s);
    sd_assert(!s->is_active);
    drop_trees(s);
    sd_free(s->trees);
    sd_free(s);
}

bool sd_calls_sessions_are_mixed(void)
{
    unsigned all = SD_CALLS_C, any = 0;

    for (struct sd_calls_session *s = calls.active; s; s = s->next) {
        all &= s->request.events;
        any |= s->request.events & SD_CALLS_C;
    }
    return any && !all;
}

unsigned sd_calls_sessions_want(void)
{
    unsigned events = 0;

    for (struct sd_calls_session *s = calls.active; s; s = s->next)
        events |= s->request.events;
    /* What is short and often may be left out only if nobody needs it. */
    for (struct sd_calls_session *s = calls.active; s; s = s->next)
        if (!(s->request.events & SD_CALLS_BOUNDED) || events & SD_CALLS_SIGNED)
            events &= ~(unsigned)SD_CALLS_BOUNDED;
    return events;
}
