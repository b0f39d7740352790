/* SPDX-License-Identifier: MIT */
#include "collect/lines/lines.h"

#include <pthread.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/cells.h"
#include "collect/lines/line_calibration.h"
#include "collect/lines/line_marks.h"
#include "collect/lines/line_memory.h"
#include "collect/session.h"
#include "collect/shared/source_name.h"
#include "cpython/compat.h"

struct thread {
    struct sd_line_stack stack;
    unsigned n_starting; /* calls of link_session under way in it */
    struct thread *next;
};

/* What a process has only one of. */
static struct {
    pthread_mutex_t lock; /* over the list of threads, whose ends have no other */
    struct thread *threads;
    struct sd_line_session *sessions; /* linked */
    size_t n_on;                      /* of them, those that do not rest */
    uint32_t n_for_nobody;            /* events told while all that want them rest */
    bool is_stopping;                 /* those that rest will be stopped */
    struct sd_line_session *captured; /* that has tables in the capture, or NULL */
    PyInterpreterState *interpreter;  /* whose code objects they are ... */
    int64_t interpreter_id; /* ... of which one after another may lie in one place */
    bool cannot_stop;       /* those that rest: pending calls are another one's */
    unsigned n_forks;       /* between the first process and this one */
    struct sd_ticks_pair first;
    enum sd_clock_kind clock;
    pthread_key_t at_end;
    bool is_ready;
} lines = { .lock = PTHREAD_MUTEX_INITIALIZER };

_Thread_local
    __attribute__((tls_model("initial-exec"))) struct sd_line_stack *sd_line_stack_here;

/* --- Threads --------------------------------------------------------------------- */

static struct thread *thread_of(struct sd_line_stack *s)
{
    _Static_assert(offsetof(struct thread, stack) == 0, "a stack is its thread's");
    return (struct thread *)s;
}

static void forget_thread(struct thread *th)
{
    sd_line_stack_release(&th->stack);
    sd_free(th);
}

/* Without the interpreter's lock: the thread is past all Python. */
static void at_thread_end(void *of)
{
    struct thread *th = of, **link;

    pthread_mutex_lock(&lines.lock);
    for (link = &lines.threads; *link && *link != th;)
        link = &(*link)->next;
    if (*link)
        *link = th->next;
    pthread_mutex_unlock(&lines.lock);
    sd_line_stack_here = NULL;
    forget_thread(th);
}

/* Under the lock: a thread may end meanwhile, and its stack with it. */
static void grew_elsewhere(const struct sd_line_stack *s,
                           const struct sd_line_growth *g)
{
    pthread_mutex_lock(&lines.lock);
    for (struct thread *th = lines.threads; th; th = th->next)
        if (&th->stack != s && sd_line_stack_grew(&th->stack, g))
            break;
    pthread_mutex_unlock(&lines.lock);
}

struct sd_line_stack *sd_lines_make_stack(void)
{
    struct thread *th = sd_zalloc(sizeof *th);

    if (!th || sd_line_stack_init(&th->stack, lines.clock) < 0) {
        sd_free(th);
        return NULL;
    }
    th->stack.grew_elsewhere = grew_elsewhere;
    if (pthread_setspecific(lines.at_end, th) != 0) {
        forget_thread(th);
        return NULL;
    }
    pthread_mutex_lock(&lines.lock);
    th->next = lines.threads;
    lines.threads = th;
    pthread_mutex_unlock(&lines.lock);
    return sd_line_stack_here = &th->stack;
}

/* --- Fork ------------------------------------------------------------------------ */

static void before_fork(void) { pthread_mutex_lock(&lines.lock); }

static void after_fork_in_parent(void) { pthread_mutex_unlock(&lines.lock); }

/* Only this thread is here, and what is open in it began in the parent. */
static void after_fork_in_child(void)
{
    struct thread *here = sd_line_stack_here ? thread_of(sd_line_stack_here) : NULL;

    for (struct thread *th = lines.threads, *next; th; th = next) {
        next = th->next;
        if (th != here)
            forget_thread(th);
    }
    lines.threads = here;
    if (here)
        here->next = NULL;
    lines.is_stopping = false;
    lines.n_forks++;
    for (struct sd_line_session *s = lines.sessions; s; s = s->next)
        s->turn.last_bytes = 0; /* another process's */
    if (lines.captured) {
        if (here)
            sd_line_stack_abandon(&here->stack, &lines.captured->turn);
        sd_line_page_drop_table(lines.captured);
    }
    pthread_mutex_unlock(&lines.lock);
}

static int take_interpreter(void)
{
    PyInterpreterState *now = sd_compat_interpreter();
    int64_t id = PyInterpreterState_GetID(now);

    if (lines.interpreter == now && lines.interpreter_id == id)
        return 0;
    if (lines.interpreter && lines.interpreter != now &&
        sd_compat_interpreter_lives(lines.interpreter))
        return sd_fail(SD_ELACKS, "another interpreter in this process is already "
                                  "counting lines; stop its profiler first");
    sd_line_extra = sd_compat_code_extra_index();
    if (sd_line_extra < 0)
        return sd_fail(SD_ELACKS, "other tools use all co_extra slots of code objects; "
                                  "run the program without one of them");
    lines.interpreter = now;
    lines.interpreter_id = id;
    lines.cannot_stop = false;
    return 0;
}

static int make_ready(void)
{
    if (lines.is_ready)
        return take_interpreter();
    sd_session_watch_forks();
    if (pthread_key_create(&lines.at_end, at_thread_end) != 0)
        return sd_fail(
            SD_ELACKS,
            "the program uses every key of thread-local storage (pthread_key_create), "
            "and Sonde needs one to count lines; `sonde record` samples the program "
            "from outside and needs none");
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    lines.clock = sd_ticks_kind();
    lines.first = sd_ticks_pair(lines.clock);
    sd_line_marks_begin();
    sd_source_name_begins();
    lines.is_ready = true;
    return take_interpreter();
}

enum sd_clock_kind sd_line_clock(void) { return lines.clock; }

struct sd_ticks_pair sd_line_first_ticks(void) { return lines.first; }

unsigned sd_line_forks(void) { return lines.n_forks; }

double sd_line_ns_per_tick(void)
{
    struct sd_ticks_pair now = sd_ticks_pair(lines.clock);

    return sd_ticks_ns(lines.clock, &lines.first, &now);
}

/* --- Sessions -------------------------------------------------------------------- */

int sd_line_session_new(const struct sd_line_request *request,
                        struct sd_line_session **out)
{
    int rc = make_ready();
    struct sd_line_session *s;

    *out = NULL;
    if (rc < 0)
        return rc;
    s = sd_zalloc(sizeof *s);
    if (!s)
        return sd_no_memory();
    s->request = *request;
    if (request->in_capture)
        lines.captured = s;
    *out = s;
    return 0;
}

struct sd_line_page *sd_line_session_page(const struct sd_line_session *s,
                                          PyCodeObject *code)
{
    const struct sd_line_target *c = sd_line_known(code);

    for (size_t i = 0; c && i < s->n_pages; i++)
        if (s->pages[i]->chosen == c)
            return s->pages[i];
    return NULL;
}

static struct sd_line_page *make_page(struct sd_line_session *s, PyCodeObject *code)
{
    struct sd_line_page **grown =
        sd_grow_array(s->pages, &s->cap_pages, s->n_pages + 1, sizeof *grown);
    struct sd_line_page *p;

    if (!grown)
        return NULL;
    s->pages = grown;
    p = sd_line_page_new(s, code);
    if (p)
        s->pages[s->n_pages++] = p;
    return p;
}

static void drop_entries(void)
{
    for (struct thread *th = lines.threads; th; th = th->next)
        sd_line_stack_drop(&th->stack);
}

/* The last page, which could not be opened: another try begins as the first did. */
static void take_back(struct sd_line_session *s)
{
    struct sd_line_page *p = s->pages[--s->n_pages];

    pthread_mutex_lock(&lines.lock);
    sd_line_page_close(p);
    drop_entries();
    pthread_mutex_unlock(&lines.lock);
    sd_line_page_free(p);
}

/* A comprehension that counts with its function, and not by itself too. */
static bool is_owned(const PyCodeObject *code)
{
    const struct sd_line_target *c = sd_line_known(code);

    return c && c->owner;
}

int sd_line_session_add(struct sd_line_session *s, PyCodeObject *code)
{
    struct sd_line_page *p;
    int rc;

    if (sd_line_session_page(s, code) || is_owned(code))
        return 0;
    p = make_page(s, code);
    if (!p)
        return sd_no_memory();
    rc = s->is_linked ? sd_line_page_open(p) : 0;
    if (rc < 0)
        take_back(s);
    else if (s->turn.is_on)
        sd_lines_adopt();
    return rc < 0 ? rc : 1;
}

void sd_line_session_set_costs(struct sd_line_session *s,
                               const struct sd_line_costs *costs)
{
    s->costs = *costs;
    sd_line_page_put_costs(s);
}

bool sd_line_is_any_active(void) { return lines.n_on > 0; }

/* --- On, off and between --------------------------------------------------------- */

/* With the lock. */
static void unlink_session(struct sd_line_session *s)
{
    struct sd_line_session **link = &lines.sessions;

    sd_assert(s->is_linked);
    for (size_t i = 0; i < s->n_pages; i++)
        sd_line_page_close(s->pages[i]);
    while (*link && *link != s)
        link = &(*link)->next;
    if (*link)
        *link = s->next;
    s->is_linked = false;
}

/* What is open ends here.  With the lock. */
static void switch_off(struct sd_line_session *s)
{
    uint64_t now = sd_ticks_now(lines.clock);

    if (!s->turn.is_on)
        return;
    for (struct thread *th = lines.threads; th; th = th->next)
        sd_line_stack_close(&th->stack, &s->turn, now);
    s->turn.is_on = false;
    sd_assert(lines.n_on > 0);
    lines.n_on--;
}

static void take_off(struct sd_line_session *s)
{
    pthread_mutex_lock(&lines.lock);
    switch_off(s);
    unlink_session(s);
    drop_entries();
    pthread_mutex_unlock(&lines.lock);
    sd_line_page_put_clock(s);
}

static bool is_any_starting(void)
{
    struct thread *th;

    pthread_mutex_lock(&lines.lock);
    for (th = lines.threads; th && th->n_starting == 0;)
        th = th->next;
    pthread_mutex_unlock(&lines.lock);
    return th != NULL;
}

/* Stops what no session needs any more.  Audit hooks may run, and free any session. */
static void listen_less(void)
{
    if (!lines.sessions && !is_any_starting())
        sd_lines_listen(false);
    else if (lines.n_on == 0)
        sd_lines_pause(true);
}

/* Runs no code of the program. */
static int open_pages(struct sd_line_session *s)
{
    int rc = 0;

    sd_assert(!s->is_linked);
    s->next = lines.sessions;
    lines.sessions = s;
    s->is_linked = true;
    for (size_t i = 0; i < s->n_pages && rc == 0; i++)
        rc = sd_line_page_open(s->pages[i]);
    if (rc < 0)
        take_off(s);
    return rc;
}

/* Audit hooks may run and start or stop any session, this one too: when they return, it
 * may be linked, and even count already. */
static int link_session(struct sd_line_session *s)
{
    struct sd_line_stack *here = sd_line_stack();
    int rc;

    if (!here)
        return sd_no_memory();
    thread_of(here)->n_starting++; /* nobody stops listening meanwhile */
    rc = sd_lines_listen(true);
    sd_assert(thread_of(here)->n_starting > 0);
    thread_of(here)->n_starting--;
    if (rc == 0 && !s->is_linked)
        rc = open_pages(s);
    if (rc < 0)
        listen_less();
    return rc;
}

static void settle_all(uint64_t now)
{
    pthread_mutex_lock(&lines.lock);
    for (struct thread *th = lines.threads; th; th = th->next)
        sd_line_stack_settle(&th->stack, now);
    pthread_mutex_unlock(&lines.lock);
}

/* What is open for others began before: that part is theirs alone. */
int sd_line_session_start(struct sd_line_session *s)
{
    int rc = 0;

    if (s->turn.is_on)
        return 0;
    if (!s->is_linked)
        rc = link_session(s);
    else if (lines.n_on == 0)
        sd_lines_pause(false);
    if (rc < 0 || s->turn.is_on)
        return rc;
    s->turn.since = sd_ticks_now(lines.clock);
    if (lines.n_on > 0)
        settle_all(s->turn.since);
    if (s->request.has_memory)
        s->turn.last_bytes = sd_line_memory_look().rss_bytes;
    s->turn.is_on = s->is_pace_due = true;
    lines.n_on++;
    sd_lines_adopt();
    return 0;
}

void sd_line_session_rest(struct sd_line_session *s)
{
    if (!s->turn.is_on)
        return;
    pthread_mutex_lock(&lines.lock);
    switch_off(s);
    drop_entries();
    pthread_mutex_unlock(&lines.lock);
    lines.n_for_nobody = s->n_for_nobody = 0;
    if (lines.n_on == 0)
        sd_lines_pause(true);
}

void sd_line_session_stop(struct sd_line_session *s)
{
    if (!s->is_linked)
        return;
    take_off(s);
    listen_less();
}

void sd_line_session_settle(struct sd_line_session *s)
{
    if (s->turn.is_on)
        settle_all(sd_ticks_now(lines.clock));
}

void sd_line_session_end(struct sd_line_session *s)
{
    if (!s->turn.is_on)
        return;
    pthread_mutex_lock(&lines.lock);
    switch_off(s);
    for (size_t i = 0; i < s->n_pages; i++)
        sd_line_page_put_lost(s->pages[i]);
    s->is_linked = false;
    pthread_mutex_unlock(&lines.lock);
    sd_line_page_put_clock(s);
}

/* The table is dropped before any audit hook runs.  A hook may start the session, and
 * then lines are open in its new table. */
int sd_line_session_clear(struct sd_line_session *s)
{
    bool was_on = s->turn.is_on;

    if (s->is_linked)
        take_off(s);
    sd_line_page_drop_table(s);
    if (was_on)
        return sd_line_session_start(s);
    listen_less();
    return 0;
}

/* As many of these take about as long as to be stopped and started again: so resting
 * never costs more than twice what the better of the two would. */
enum { FOR_NOBODY_MOST = 1024 };

static struct sd_line_session *one_to_stop(void)
{
    struct sd_line_session *s = lines.sessions;

    while (s && (s->turn.is_on || (lines.n_for_nobody < FOR_NOBODY_MOST &&
                                   s->n_for_nobody < FOR_NOBODY_MOST)))
        s = s->next;
    return s;
}

static int stop_those_at_rest(void *unused)
{
    struct sd_line_session *s;

    (void)unused;
    lines.is_stopping = false;
    if (lines.interpreter != sd_compat_interpreter()) {
        lines.cannot_stop = true;
        return 0;
    }
    while ((s = one_to_stop()) != NULL) { /* hooks of audits may free any of them */
        s->n_for_nobody = 0;
        sd_line_calibrated(s);
        sd_line_session_stop(s);
    }
    lines.n_for_nobody = 0;
    return 0;
}

/* Those who chose this and rest are told of it in vain.  Has one of them been often
 * enough? */
static bool count_for_nobody(const struct sd_line_target *c)
{
    bool is_enough = false;

    for (struct sd_line_book *b = c ? c->core.books : NULL; b; b = b->next) {
        struct sd_line_session *s = ((struct sd_line_page *)b)->session;

        is_enough |= ++s->n_for_nobody >= FOR_NOBODY_MOST;
    }
    return is_enough;
}

/* The interpreter is in the middle of telling: it is stopped when that is over. */
bool sd_line_told_for_nobody(const PyCodeObject *code)
{
    const struct sd_line_target *c = sd_line_known(code);
    bool rests = c && c->core.books, is_enough = count_for_nobody(c);

    if (lines.n_on == 0)
        is_enough |= ++lines.n_for_nobody >= FOR_NOBODY_MOST;
    if (is_enough && !lines.is_stopping && !lines.cannot_stop)
        lines.is_stopping = Py_AddPendingCall(stop_those_at_rest, NULL) == 0;
    return rests;
}

void sd_line_session_free(struct sd_line_session *s)
{
    if (!s)
        return;
    sd_line_session_stop(s);
    sd_assert(!s->is_linked && !s->turn.is_on);
    pthread_mutex_lock(&lines.lock); /* a fork beside us must not find what is freed */
    if (lines.captured == s) {
        lines.captured = NULL;
        sd_line_marks_forget();
    }
    pthread_mutex_unlock(&lines.lock);
    for (size_t i = 0; i < s->n_pages; i++)
        sd_line_page_free(s->pages[i]);
    sd_cells_free(s->table);
    sd_table_release(&s->n_alike);
    sd_free(s->pages);
    sd_free(s);
}
