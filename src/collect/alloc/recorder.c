/* SPDX-License-Identifier: MIT */
#include "collect/alloc/recorder.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"
#include "capture/alloc/alloc_events.h"
#include "collect/alloc/blocks.h"
#include "collect/alloc/native/code_places.h"
#include "collect/alloc/native/native_walk.h"
#include "collect/alloc/stacks.h"
#include "collect/alloc/thread_log.h"
#include "collect/session.h"
#include "collect/shared/uncounted.h"

_Thread_local
    __attribute__((tls_model("initial-exec"))) struct sd_alloc_thread *sd_alloc_self;
struct sd_alloc_recorder sd_alloc_recorder;
struct sd_alloc_here sd_alloc_here;

/* Part of the one recorder of this process. */
static struct {
    pthread_mutex_t lock;         /* over the list */
    struct sd_alloc_thread *idle; /* of threads that have ended */
    pthread_key_t key;
    bool has_key;
    bool is_inherited; /* after a fork: the stacks are the parent's */
} threads = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* --- Whether it records ----------------------------------------------------------- */

/* Is this the child of a fork that no handler has told of, or not yet? */
static bool is_untold_child(void)
{
    return sd_alloc_recorder.is_on && !sd_alloc_is_on(&sd_alloc_here);
}

void sd_alloc_recorder_go(void)
{
    sd_alloc_recorder.is_on = true;
    atomic_store(&sd_alloc_here.is_on, 1);
}

/* Threads that are in a hook look once more, before their next event. */
void sd_alloc_recorder_stop(void)
{
    if (is_untold_child())
        sd_alloc_recorder_after_fork();
    sd_alloc_recorder.is_on = false;
    atomic_store(&sd_alloc_here.is_on, 0);
    atomic_fetch_add(&sd_alloc_recorder.order, 1);
}

/* --- Threads --------------------------------------------------------------------- */

/* What a thread has that makes or loses its own: its hooks pass everything on. */
static struct sd_alloc_thread nobody = { .is_inside = true };

/* The other destructors of the thread free memory, too: ours waits for the last round
 * of them. */
static void end_thread(void *state)
{
    struct sd_alloc_thread *t = state;

    if (t != sd_alloc_self || is_untold_child())
        return; /* of the parent, before a fork */
    t->is_inside = true;
    sd_thread_log_give(t);
    t->is_inside = false;
    if (++t->n_rounds < PTHREAD_DESTRUCTOR_ITERATIONS &&
        pthread_setspecific(threads.key, t) == 0)
        return;
    sd_alloc_self = &nobody;
    pthread_mutex_lock(&threads.lock);
    t->next = threads.idle;
    threads.idle = t;
    pthread_mutex_unlock(&threads.lock);
}

static struct sd_alloc_thread *map_thread(void)
{
    struct sd_alloc_thread *t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return t == MAP_FAILED ? NULL : t;
}

/* One that has ended leaves its memory to the next. */
static struct sd_alloc_thread *new_thread(void)
{
    struct sd_alloc_thread *t;

    pthread_mutex_lock(&threads.lock);
    t = threads.idle;
    if (t)
        threads.idle = t->next;
    pthread_mutex_unlock(&threads.lock);
    if (!t)
        t = map_thread();
    else
        *t = (struct sd_alloc_thread){ .steps = t->steps,
                                       .cap = t->cap,
                                       .native = t->native };
    if (t && pthread_setspecific(threads.key, t) != 0)
        t->n_rounds = PTHREAD_DESTRUCTOR_ITERATIONS; /* nobody will tell of its end */
    return t;
}

static int begin_tables(struct sd_writer *w)
{
    int rc = sd_alloc_stacks_begin(w);

    if (rc == 0)
        sd_session_define_process_in_table(sd_alloc_stacks_cells());
    if (rc == 0 && sd_alloc_recorder.mode == SD_ALLOC_AGGREGATE)
        rc = sd_blocks_begin();
    else if (rc == 0 && sd_alloc_recorder.mode == SD_ALLOC_SAMPLED)
        rc = sd_poisson_begin();
    return rc;
}

/* The child of a fork records into a file of its own, from its first event on. */
static bool is_ready(void)
{
    struct sd_writer *w;
    bool is;

    if (!threads.is_inherited)
        return true;
    pthread_mutex_lock(&threads.lock);
    w = threads.is_inherited ? sd_session_writer() : NULL;
    if (w && begin_tables(w) == 0) {
        sd_alloc_recorder.writer = w;
        sd_alloc_recorder.tick = sd_session_ticks();
        threads.is_inherited = false;
    } else if (threads.is_inherited) {
        sd_alloc_recorder_stop();
    }
    is = !threads.is_inherited;
    pthread_mutex_unlock(&threads.lock);
    return is;
}

/* Whoever is made here makes no event: what it needs is not the program's. */
struct sd_alloc_thread *sd_alloc_enter_slowly(void)
{
    struct sd_alloc_thread *t = sd_alloc_self;
    int saved = errno;

    if (!sd_alloc_is_on(&sd_alloc_here) || t)
        return NULL;
    sd_alloc_self = &nobody;
    if (is_ready())
        t = new_thread();
    sd_alloc_self = t;
    errno = saved;
    if (t)
        t->is_inside = true;
    return t;
}

static size_t ask(struct sd_alloc_thread *t, size_t find(char *to, size_t most),
                  char *to, size_t most);

void sd_alloc_creator(struct sd_alloc_thread *t, struct sd_alloc_birth *out)
{
    const struct sd_alloc_language *l = sd_alloc_language_now();
    int saved = errno;

    *out = (struct sd_alloc_birth){ 0 };
    if (t) {
        if (sd_alloc_recorder.has_natives)
            out->stack = sd_native_walk(t, SD_BY_NONE);
        else
            out->stack = l ? l->walk_inner(t) : t->creator;
        if (l && sd_alloc_recorder.mode != SD_ALLOC_AGGREGATE)
            out->name_n = ask(t, l->started_name, out->name, sizeof out->name);
    }
    errno = saved;
}

void sd_alloc_created_by(const struct sd_alloc_birth *birth)
{
    struct sd_alloc_thread *t = sd_alloc_enter();

    if (!t)
        return;
    t->creator = birth->stack;
    t->name_n = birth->name_n;
    memcpy(t->name, birth->name, birth->name_n);
    sd_alloc_leave(t);
}

/* --- Events ---------------------------------------------------------------------- */

/* Room for an event in the record, in the newest run and with the time known; false:
 * there is none, and the event is lost. */
static inline bool has_way(struct sd_alloc_thread *t)
{
    const struct sd_alloc_recorder *r = &sd_alloc_recorder;

    if (__builtin_expect(
            t->end - t->at >= SD_ALLOC_EVENT_MAX &&
                atomic_load_explicit(&r->order, memory_order_relaxed) == t->order &&
                atomic_load_explicit(r->tick, memory_order_relaxed) == t->tick,
            1))
        return true;
    return sd_thread_log_make_way(t);
}

/* hot: puts the distance to this address; the tag's bit says in which unit. */
static inline uint8_t *put_address(struct sd_alloc_thread *t, uint8_t *p,
                                   uint64_t address, uint8_t *tag)
{
    int64_t by = (int64_t)(address - t->address);

    t->address = address;
    if (__builtin_expect(by & 15, 0))
        *tag |= SD_ALLOC_FINE;
    else
        by >>= 4;
    return sd_alloc_put(p, sd_zigzag(by));
}

/* A death leaves a whole event, or none: the tag is the last that is stored. */
static inline void finish(struct sd_alloc_thread *t, uint8_t *behind, uint8_t tag)
{
    sd_assert_slow(tag != SD_ALLOC_NONE && behind > t->at && behind <= t->end);
    __atomic_store_n(t->at, tag, __ATOMIC_RELEASE);
    t->at = behind;
    t->n++;
}

static inline void put_began(struct sd_alloc_thread *t, const void *p, size_t size,
                             uint32_t stack)
{
    uint8_t tag = SD_ALLOC_BEGAN, *to;

    if (!has_way(t))
        return;
    to = put_address(t, t->at + 1, (uint64_t)(uintptr_t)p, &tag);
    to = sd_alloc_put(to, size);
    if (stack == t->stack)
        tag |= SD_ALLOC_SAME;
    else
        to = sd_alloc_put(to, sd_zigzag((int32_t)(stack - t->stack)));
    t->stack = stack;
    finish(t, to, tag);
}

static inline void put_ends(struct sd_alloc_thread *t, const void *p)
{
    uint8_t tag = SD_ALLOC_ENDS, *to;

    if (!has_way(t))
        return;
    to = put_address(t, t->at + 1, (uint64_t)(uintptr_t)p, &tag);
    finish(t, to, tag);
}

/* --- The thread's name ----------------------------------------------------------- */

/* A hook may lead to another one with the same block, as of pymalloc to malloc. */
void sd_alloc_asked_began(struct sd_alloc_thread *t, const void *p)
{
    t->asked_freed = p == t->asked_freed ? NULL : t->asked_freed;
    if ((t->n_own == 0 || t->own[t->n_own - 1] != p) &&
        t->n_own < sizeof t->own / sizeof t->own[0])
        t->own[t->n_own++] = p;
}

/* The interpreter's caches may drop what is the program's. */
void sd_alloc_asked_ends(struct sd_alloc_thread *t, const void *p)
{
    if (p == t->asked_freed)
        return;
    t->asked_freed = p;
    for (unsigned i = 0; i < t->n_own; i++)
        if (t->own[i] == p) {
            t->own[i] = t->own[--t->n_own];
            return;
        }
    sd_alloc_ends(t, p);
}

static void begin_asking(struct sd_alloc_thread *t)
{
    t->n_own = 0;
    t->asked_freed = NULL;
    t->is_asking = true;
}

static size_t ask(struct sd_alloc_thread *t, size_t find(char *to, size_t most),
                  char *to, size_t most)
{
    int saved = errno;
    size_t n;

    if (t->is_asking)
        return 0;
    begin_asking(t);
    n = find(to, most);
    t->is_asking = false;
    errno = saved;
    return n;
}

/* Inside of a hook nothing is counted anyway. */
void sd_alloc_hear_uncounted(bool begins)
{
    struct sd_alloc_thread *t = begins ? sd_alloc_enter() : NULL, *self = sd_alloc_self;

    if (t) {
        begin_asking(t);
        t->n_uncounted = 1;
    } else if (self && self->n_uncounted && begins) {
        self->n_uncounted++;
    } else if (self && self->n_uncounted && --self->n_uncounted == 0) {
        self->is_asking = false;
        sd_alloc_leave(self);
    }
}

/* Under its name the thread begins a record anew. */
static void ask_name(struct sd_alloc_thread *t)
{
    const struct sd_alloc_language *l = sd_alloc_language_now();

    if (l)
        t->name_n = ask(t, l->thread_name, t->name, sizeof t->name);
    if (t->name_n)
        t->last = t->end = t->at;
}

static void look(struct sd_alloc_thread *t)
{
    const struct sd_alloc_language *l = sd_alloc_language_now();

    if (!l || t->is_asking)
        return;
    begin_asking(t);
    l->look(t);
    t->is_asking = false;
}

void sd_alloc_ask(struct sd_alloc_thread *t)
{
    unsigned wants = t->wants;
    int saved = errno;

    t->wants = 0;
    if (wants & SD_WANTS_NAME)
        ask_name(t);
    if (wants & SD_WANTS_LOOK)
        look(t);
    errno = saved;
}

/* The rare ones: an address in bytes, and a length where there is one. */
static void put_other(struct sd_alloc_thread *t, enum sd_alloc_other what,
                      const void *p, const size_t *length)
{
    uint64_t address = (uint64_t)(uintptr_t)p;
    uint8_t *to;

    if (!has_way(t))
        return;
    to = sd_alloc_put(t->at + 1, sd_zigzag((int64_t)(address - t->address)));
    t->address = address;
    if (length)
        to = sd_alloc_put(to, *length);
    __atomic_store_n(t->at,
                     (uint8_t)(SD_ALLOC_OTHER | (unsigned)what << SD_ALLOC_TAG_BITS),
                     __ATOMIC_RELEASE);
    t->at = to;
}

/* hot: the node of the stack that runs. */
static inline uint32_t walk(struct sd_alloc_thread *t, enum sd_allocator by)
{
    const struct sd_alloc_language *l = sd_alloc_language_now();

    if (__builtin_expect(sd_alloc_recorder.has_natives, 0))
        return sd_native_walk(t, by);
    return __builtin_expect(l != NULL, 1) ? l->walk(t, by)
                                          : sd_alloc_no_frame(t->creator, by);
}

/* Not inlined: what the other modes do costs more than a call. */
static __attribute__((noinline)) void began_otherwise(struct sd_alloc_thread *t,
                                                      const void *p, size_t size,
                                                      enum sd_allocator by)
{
    const struct sd_alloc_recorder *r = &sd_alloc_recorder;

    if (r->only_tid && sd_thread_self()->tid != r->only_tid)
        return;
    if (r->mode == SD_ALLOC_AGGREGATE)
        sd_blocks_add(t, p, size, walk(t, by), by);
    else if (r->mode == SD_ALLOC_FULL || sd_poisson_draw(t, p, size))
        put_began(t, p, size, walk(t, by));
}

void sd_alloc_put_began(struct sd_alloc_thread *t, const void *p, size_t size,
                        enum sd_allocator by)
{
    if (__builtin_expect(sd_alloc_recorder.is_plain, 1))
        put_began(t, p, size, walk(t, by));
    else
        began_otherwise(t, p, size, by);
}

void sd_alloc_put_ends(struct sd_alloc_thread *t, const void *p)
{
    if (__builtin_expect(sd_alloc_recorder.mode == SD_ALLOC_FULL, 1))
        put_ends(t, p);
    else if (sd_alloc_recorder.mode == SD_ALLOC_AGGREGATE)
        sd_blocks_remove(t, p);
    else if (sd_poisson_drop(t, p))
        put_ends(t, p);
}

/* A realloc may be under way, and fail: what it has ended stays at hand. */
void sd_alloc_drop(struct sd_alloc_thread *t, const void *p)
{
    uint64_t ended = t->ended;

    if (sd_alloc_recorder.mode == SD_ALLOC_AGGREGATE)
        sd_blocks_drop(t, p);
    else if (sd_alloc_recorder.mode == SD_ALLOC_FULL || sd_poisson_drop(t, p))
        put_other(t, SD_ALLOC_DROP, p, NULL);
    t->ended = ended;
}

void sd_alloc_undo(struct sd_alloc_thread *t, const void *p)
{
    if (sd_alloc_recorder.mode == SD_ALLOC_AGGREGATE)
        sd_blocks_undo(t, p);
    else if (sd_alloc_recorder.mode == SD_ALLOC_FULL || sd_poisson_undo(t, p))
        put_other(t, SD_ALLOC_UNDO, p, NULL);
}

void sd_alloc_unmap(struct sd_alloc_thread *t, const void *p, size_t size)
{
    if (sd_alloc_recorder.mode == SD_ALLOC_AGGREGATE)
        sd_blocks_unmap(p, size);
    else
        put_other(t, SD_ALLOC_UNMAP, p, &size);
}

/* --- Time ------------------------------------------------------------------------ */

void sd_alloc_note_time(void)
{
    struct sd_alloc_thread *t = sd_alloc_enter();

    if (!t)
        return;
    if (sd_alloc_recorder.mode != SD_ALLOC_AGGREGATE) {
        sd_session_tick();
        sd_thread_log_make_way(t);
    }
    sd_alloc_leave(t);
}

/* --- The collector's ------------------------------------------------------------- */

int sd_alloc_recorder_begin(struct sd_writer *w, enum sd_alloc_mode mode,
                            unsigned layers, uint64_t sample_bytes, uint64_t max_file)
{
    struct sd_alloc_recorder *r = &sd_alloc_recorder;
    int rc;

    sd_assert(!r->is_on);
    threads.is_inherited = false;
    if (!threads.has_key && pthread_key_create(&threads.key, end_thread) != 0)
        return sd_fail(
            SD_EFULL,
            "the program uses every key of thread-local storage (pthread_key_create), "
            "and Sonde needs one to record allocations; `sonde rss` reads the "
            "program's memory from outside and needs none");
    threads.has_key = true;
    r->writer = w;
    r->mode = mode;
    r->layers = layers;
    r->sample_bytes = sample_bytes;
    r->max_file = max_file;
    r->is_plain = mode == SD_ALLOC_FULL && !r->only_tid;
    r->tick = sd_session_ticks();
    /* One more than ever: a thread of the last recording looks at its log. */
    atomic_fetch_add(&r->order, 1);
    /* Before Linux 4.14, and with larger pages, the handler alone protects. */
    madvise(&sd_alloc_here, sizeof sd_alloc_here, MADV_WIPEONFORK);
    rc = begin_tables(w);
    sd_uncounted_tell(rc == 0 ? sd_alloc_hear_uncounted : NULL);
    return rc;
}

void sd_alloc_recorder_follow(uint32_t tid)
{
    sd_assert(!sd_alloc_recorder.is_on);
    sd_alloc_recorder.only_tid = tid;
}

/* Of the child of a fork they are the parent's. */
static void end_tables(void)
{
    if (threads.is_inherited)
        return;
    sd_poisson_end();
    sd_blocks_end();
    sd_alloc_stacks_end();
}

void sd_alloc_recorder_end(void)
{
    struct sd_alloc_thread *t;

    sd_uncounted_tell(NULL);
    sd_alloc_recorder_stop();
    t = sd_alloc_self;
    if (t && !t->is_inside) {
        t->is_inside = true;
        sd_thread_log_give(t);
        sd_alloc_leave(t);
    }
    end_tables();
    sd_alloc_recorder.only_tid = 0;
}

/* The other threads are not here: what was theirs is left alone, and so is the parent's
 * record of this one. */
void sd_alloc_recorder_after_fork(void)
{
    struct sd_alloc_recorder *r = &sd_alloc_recorder;

    if (r->is_on && !r->writer) {
        pthread_mutex_init(&threads.lock, NULL);
        sd_alloc_recorder_go();
        return; /* in memory, which is the child's own now */
    }
    sd_alloc_stacks_forget();
    sd_code_places_after_fork();
    if (!r->is_on)
        return;
    if (r->only_tid)
        r->only_tid = (uint32_t)getpid(); /* the thread that forked has this number */
    pthread_mutex_init(&threads.lock, NULL);
    threads.idle = NULL;
    threads.is_inherited = true;
    sd_alloc_self = NULL;
    sd_alloc_recorder_go();
}
