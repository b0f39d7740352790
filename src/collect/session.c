/* SPDX-License-Identifier: MIT */
#include "collect/session.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/table.h"
#include "capture/cells.h"
#include "capture/writer.h"
#include "process/usage.h"

struct identity { /* what a process's track says */
    pid_t pid;    /* 0: not known */
    uint64_t start_ticks;
    char name[SD_PROCESS_NAME];
};

enum why_state { WHY_NONE, WHY_IS_WRITTEN, WHY_WAITS, WHY_TOLD };

/* The one mutable global (beside peak.c's mark): a process has one session. */
static struct {
    pthread_mutex_t lock; /* over joining, leaving and the first event after a fork */
    _Atomic(struct sd_writer *) writer;    /* this process's, ready; or NULL */
    _Atomic(struct sd_writer *) inherited; /* after fork, until the first event */
    _Atomic unsigned n_forks;
    _Atomic bool is_stopped; /* an assert broke: nothing more is written ... */
    _Atomic int why_state;   /* ... but the reason: enum why_state */
    char why[512];
    sd_session_stopped *at_stop; /* or NULL */
    _Atomic bool has_asked_env;
    _Atomic bool watches_forks;
    struct identity self, parent;      /* parent: only one that is in the capture too */
    _Atomic uint32_t own_ticks;        /* where nobody outside advances any */
    _Atomic(_Atomic uint32_t *) ticks; /* NULL: nobody has asked for them */
} session = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Small, and never first touched inside a signal handler's or allocator's hook by way
 * of malloc: initial-exec keeps it in the block each thread has from its start. */
static _Thread_local __attribute__((tls_model("initial-exec"))) struct {
    unsigned known_in; /* sd_session_forks() + 1 when it was filled */
    struct sd_thread self;
} thread;

/* --- Fork ------------------------------------------------------------------------ */

static void before_fork(void)
{
    pthread_mutex_lock(&session.lock);
    sd_peak_pause();
}

static void after_fork_in_parent(void)
{
    sd_peak_resume(false);
    pthread_mutex_unlock(&session.lock);
}

/* Nothing is opened here: most children only exec. */
static void after_fork_in_child(void)
{
    struct sd_writer *w = atomic_exchange(&session.writer, NULL);

    atomic_fetch_add(&session.n_forks, 1);
    if (w) {
        atomic_store(&session.inherited, w);
        session.parent = session.self;
    }
    atomic_store(&session.ticks, NULL);
    sd_peak_resume(true);
    pthread_mutex_unlock(&session.lock);
}

void sd_session_watch_forks(void)
{
    bool expected = false;

    if (atomic_load_explicit(&session.watches_forks, memory_order_acquire))
        return;
    if (atomic_compare_exchange_strong(&session.watches_forks, &expected, true))
        pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

unsigned sd_session_forks(void)
{
    return atomic_load_explicit(&session.n_forks, memory_order_relaxed);
}

/* --- Joining --------------------------------------------------------------------- */

static void identify(void)
{
    struct sd_process_stat st;

    _Static_assert(sizeof st.name >= sizeof session.self.name, "it is copied whole");
    memset(&session.self, 0, sizeof session.self);
    session.self.pid = getpid();
    if (sd_process_stat(0, &st) < 0)
        return;
    sd_usage_add_own(sd_peak_usage_reader(), st.n_bytes, 0);
    session.self.start_ticks = st.start_ticks;
    memcpy(session.self.name, st.name, sizeof session.self.name);
}

static int join_locked(const char *live_dir)
{
    struct sd_writer *w;
    int rc;

    if (atomic_load(&session.writer) || atomic_load(&session.inherited))
        return sd_fail(
            SD_EEXISTS,
            "this process is already being recorded; stop that recording first");
    rc = sd_writer_join(live_dir, &w);
    if (rc < 0)
        return rc;
    identify();
    memset(&session.parent, 0, sizeof session.parent);
    atomic_store(&session.is_stopped, false);
    atomic_store(&session.why_state, WHY_NONE);
    atomic_store_explicit(&session.writer, w, memory_order_release);
    return 0;
}

int sd_session_join(const char *live_dir)
{
    int rc;

    sd_session_watch_forks();
    pthread_mutex_lock(&session.lock);
    rc = join_locked(live_dir);
    pthread_mutex_unlock(&session.lock);
    return rc;
}

/* A capture that cannot be joined is no reason to trouble the program: it runs on,
 * and the parent sees that nobody came. */
void sd_session_join_from_env(void)
{
    const char *dir;
    int saved = errno;

    if (atomic_exchange_explicit(&session.has_asked_env, true, memory_order_acq_rel))
        return;
    dir = secure_getenv("SONDE_LIVE");
    if (dir && *dir)
        sd_session_join(dir);
    errno = saved;
}

/* Writes the reason into a log of this thread, unless an event is being written there:
 * then it waits for the next who asks for a log, or for the end. */
static void tell_why(struct sd_log *l)
{
    int expected = WHY_WAITS;

    if (l && !atomic_load_explicit(&l->is_nested, memory_order_relaxed) &&
        atomic_compare_exchange_strong(&session.why_state, &expected, WHY_TOLD))
        sd_log_note(l, SD_NOTE_LOSS, session.why);
}

/* Only for those who ask for a log: they hold no lock of the capture. */
static void tell_waiting(struct sd_writer *w)
{
    if (w && atomic_load(&session.why_state) == WHY_WAITS)
        tell_why(sd_writer_log(w));
}

void sd_session_leave(void)
{
    struct sd_writer *w;

    pthread_mutex_lock(&session.lock);
    w = atomic_load(&session.writer);
    if (w) /* its count goes with it */
        sd_usage_add_own(sd_peak_usage_reader(), 0, sd_session_own_written());
    atomic_store(&session.writer, NULL);
    atomic_store(&session.inherited, NULL);
    atomic_store(&session.ticks, NULL);
    sd_peak_pause();
    sd_peak_resume(false);
    pthread_mutex_unlock(&session.lock);
    tell_waiting(w);
    if (w)
        sd_writer_leave(w);
}

bool sd_session_has_capture(void)
{
    return (atomic_load_explicit(&session.writer, memory_order_relaxed) ||
            atomic_load_explicit(&session.inherited, memory_order_relaxed)) &&
           !atomic_load_explicit(&session.is_stopped, memory_order_relaxed);
}

/* The child's first event after a fork: its own live file. */
static struct sd_writer *take_over(void)
{
    struct sd_writer *w;
    int saved = errno;

    pthread_mutex_lock(&session.lock);
    w = atomic_exchange(&session.inherited, NULL);
    if (!w) {
        w = atomic_load(&session.writer); /* another thread was first */
    } else if (sd_writer_after_fork(w) < 0) {
        w = NULL;
    } else {
        identify();
        atomic_store_explicit(&session.writer, w, memory_order_release);
    }
    pthread_mutex_unlock(&session.lock);
    errno = saved;
    return w;
}

struct sd_writer *sd_session_writer(void)
{
    struct sd_writer *w = atomic_load_explicit(&session.writer, memory_order_acquire);

    if (!w) {
        if (!atomic_load_explicit(&session.inherited, memory_order_acquire))
            return NULL;
        w = take_over();
    }
    if (__builtin_expect(
            atomic_load_explicit(&session.is_stopped, memory_order_relaxed), 0)) {
        tell_waiting(w);
        return NULL;
    }
    return w;
}

struct sd_log *sd_session_log(void)
{
    struct sd_writer *w = sd_session_writer();

    return w ? sd_writer_log(w) : NULL;
}

/* peak.c alone asks, with its lock held; sd_session_leave takes that once between the
 * end of the session and the writer's. */
_Atomic uint64_t *sd_session_peak_word(void)
{
    struct sd_writer *w = atomic_load_explicit(&session.writer, memory_order_acquire);

    return w ? sd_writer_peak_bytes(w) : NULL;
}

uint64_t sd_session_own_written(void)
{
    struct sd_writer *w = atomic_load_explicit(&session.writer, memory_order_acquire);
    uint64_t read =
        atomic_load_explicit(&sd_peak_usage_reader()->own_read, memory_order_relaxed);

    return w ? sd_writer_own_io(w, read) : 0;
}

_Atomic uint32_t *sd_session_ticks(void)
{
    struct sd_writer *w = atomic_load_explicit(&session.writer, memory_order_acquire);
    _Atomic uint32_t *word = w ? sd_writer_want_ticks(w) : NULL;

    atomic_store(&session.ticks, word ? word : &session.own_ticks);
    return word ? word : &session.own_ticks;
}

void sd_session_lend_ticks(_Atomic uint32_t *word)
{
    atomic_store(&session.ticks, word);
}

void sd_session_tick(void)
{
    _Atomic uint32_t *word = atomic_load_explicit(&session.ticks, memory_order_relaxed);

    if (__builtin_expect(word != NULL, 0))
        atomic_fetch_add(word, 1);
}

uint32_t sd_session_owner_pid(void)
{
    struct sd_writer *w = atomic_load_explicit(&session.writer, memory_order_acquire);

    return w ? sd_writer_owner_pid(w) : 0;
}

/* --- A guest's manners ----------------------------------------------------------- */

/* True: a note needs neither a new log nor more of this one, which would take locks. */
static bool has_room_for_why(const struct sd_log *l)
{
    return l && l->at + sizeof session.why + sizeof(struct sd_rec_note) + 8 <= l->end;
}

/* An assert may break anywhere: in the middle of an event, or while this thread holds a
 * lock of the capture.  So this takes no lock. */
static void stop_measuring(const char *file, int line, const char *claim)
{
    struct sd_writer *w = atomic_load_explicit(&session.writer, memory_order_acquire);
    struct sd_log *l = w ? sd_writer_own_log(w) : NULL;
    int expected = WHY_NONE, saved = errno;

    atomic_store(&session.is_stopped, true);
    if (!atomic_compare_exchange_strong(&session.why_state, &expected, WHY_IS_WRITTEN))
        return;
    snprintf(session.why, sizeof session.why,
             "measuring stopped in process %d: a check of Sonde's own failed, which is "
             "a fault in Sonde (%s:%d: %s)",
             (int)getpid(), file, line, claim);
    atomic_store(&session.why_state, WHY_WAITS);
    if (session.at_stop)
        session.at_stop();
    if (has_room_for_why(l))
        tell_why(l);
    errno = saved;
}

void sd_session_tell_stopped(void)
{
    tell_waiting(atomic_load_explicit(&session.writer, memory_order_acquire));
}

void sd_session_be_guest(sd_session_stopped *then)
{
    session.at_stop = then;
    sd_assert_set_handler(stop_measuring);
}

/* --- Tracks ---------------------------------------------------------------------- */

static uint64_t track_key(uint64_t kind, uint64_t number)
{
    return sd_hash(&number, sizeof number, 0x747261636b00u + kind);
}

static void identify_thread(struct sd_thread *t)
{
    struct sd_process_stat st;

    t->tid = (uint32_t)syscall(SYS_gettid);
    t->start_ticks = 0;
    t->key = track_key(SD_TRACK_THREAD, t->tid);
    if (sd_process_stat_of_thread(getpid(), (pid_t)t->tid, &st) < 0)
        return;
    sd_usage_add_own(sd_peak_usage_reader(), st.n_bytes, 0);
    t->start_ticks = st.start_ticks;
}

const struct sd_thread *sd_thread_self(void)
{
    unsigned now = sd_session_forks() + 1;

    if (__builtin_expect(thread.known_in != now, 0)) {
        identify_thread(&thread.self);
        thread.known_in = now;
    }
    return &thread.self;
}

static uint32_t define_name(struct sd_log *l, const char *name)
{
    size_t n = strlen(name);
    uint64_t key = sd_hash(name, n, 0x6e616d65u);
    uint32_t id = n ? sd_log_known(l, key) : 0;

    return n && !id ? sd_log_define_string(l, key, name, n) : id;
}

static uint32_t define_process(struct sd_log *l, const struct identity *p,
                               uint32_t parent)
{
    uint64_t key = track_key(SD_TRACK_PROCESS, (uint64_t)p->pid);
    uint32_t id = sd_log_known(l, key);

    if (!id)
        id = sd_log_define_track(l, key, SD_TRACK_PROCESS, parent, (uint64_t)p->pid,
                                 p->start_ticks, define_name(l, p->name));
    return id;
}

static uint32_t define_own_process(struct sd_log *l)
{
    return define_process(l, &session.self,
                          session.parent.pid ? define_process(l, &session.parent, 0)
                                             : 0);
}

uint32_t sd_session_define_named_thread(struct sd_log *l, const struct sd_thread *t,
                                        const char *name, size_t n)
{
    uint64_t key = t->key ^ SD_TRACK_THREAD;
    uint32_t id = sd_log_known(l, key), process = define_own_process(l);
    char kept[SD_THREAD_NAME + 1];

    if (id)
        return id;
    n = n < SD_THREAD_NAME ? n : SD_THREAD_NAME;
    memcpy(kept, name, n);
    kept[n] = '\0';
    return sd_log_define_track(l, key, SD_TRACK_THREAD, process, t->tid, t->start_ticks,
                               define_name(l, kept));
}

uint32_t sd_session_define_thread(struct sd_log *l, const struct sd_thread *t)
{
    char name[SD_PROCESS_NAME] = "";
    uint32_t process = define_own_process(l);

    /* The name of another thread would have to be asked for by a handle that may be
     * stale; its own logs tell it. */
    if (t->tid == sd_thread_self()->tid)
        pthread_getname_np(pthread_self(), name, sizeof name);
    return sd_log_define_track(l, t->key, SD_TRACK_THREAD, process, t->tid,
                               t->start_ticks, define_name(l, name));
}

static uint32_t process_in_table(struct sd_cells *table, const struct identity *p,
                                 uint32_t parent)
{
    uint32_t name = sd_cells_define_string(table, p->name, strlen(p->name));

    return sd_cells_define_track(table, SD_TRACK_PROCESS, parent, (uint64_t)p->pid,
                                 p->start_ticks, name);
}

uint32_t sd_session_define_process_in_table(struct sd_cells *table)
{
    uint32_t parent = 0;

    if (!session.self.pid)
        identify();
    if (session.parent.pid)
        parent = process_in_table(table, &session.parent, 0);
    return process_in_table(table, &session.self, parent);
}

uint32_t sd_session_define_in_table(struct sd_cells *table, const char *name, size_t n)
{
    const struct sd_thread *t = sd_thread_self();
    char kernels[SD_PROCESS_NAME] = "";
    uint32_t process = sd_session_define_process_in_table(table);

    if (!name) {
        pthread_getname_np(pthread_self(), kernels, sizeof kernels);
        name = kernels;
        n = strlen(kernels);
    }
    return sd_cells_define_track(table, SD_TRACK_THREAD, process, t->tid,
                                 t->start_ticks,
                                 sd_cells_define_string(table, name, n));
}
