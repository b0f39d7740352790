/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_RECORDER_H
#define SD_ALLOC_RECORDER_H
/* recorder: what every hook of an allocator calls.
 *
 *     struct sd_alloc_thread *t = sd_alloc_enter();
 *     if (!t)
 *         return original(...);      // inside another hook, or nothing is recorded
 *     p = original(...);
 *     if (p)
 *         sd_alloc_began(t, p, size, SD_BY_MALLOC);
 *     sd_alloc_leave(t);
 *
 * A free is recorded before it is done, and an allocation when it is done: so another
 * thread that gets the same block records that later.  A realloc ends the old block
 * before and begins the new one behind; if it fails, sd_alloc_undo makes the old one
 * live on.
 *
 * Everything here may be called by any thread, with and without the interpreter's lock,
 * and keeps errno.  What it needs in memory comes from mmap. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/alloc/alloc_cell.h"
#include "capture/live.h"
#include "collect/alloc/options.h"
#include "collect/alloc/poisson.h"

struct sd_alloc_code_name;
struct sd_alloc_frame;
struct sd_alloc_thread;
struct sd_log;
struct sd_mixed_stack;
struct sd_rec_alloc;
struct sd_writer;

enum { SD_ALLOC_NAME = 64 }; /* bytes of a thread's name that are kept */

/* What only the interpreter knows that runs in this process. */
struct sd_alloc_language {
    /* hot: the node of what allocates by this allocator here and now; 0: there is no
     * room for it. */
    uint32_t (*walk)(struct sd_alloc_thread *t, enum sd_allocator by);
    /* The node of the thread's newest frame, as one that others stand on; 0: none. */
    uint32_t (*walk_inner)(struct sd_alloc_thread *t);
    /* hot: with --native, puts its frames and the native ones of this stack into one
     * list (native/native_walk.h).  False: none of its frames is there. */
    bool (*merge)(struct sd_mixed_stack *s);
    /* What a new node of a frame is.  False: the interpreter allocates for itself. */
    bool (*describe)(const void *frame, enum sd_allocator by,
                     struct sd_alloc_frame *to);
    /* Copies the name of the thread that runs; 0: it is not known yet.  And of the
     * thread that it is about to start. */
    size_t (*thread_name)(char *to, size_t most);
    size_t (*started_name)(char *to, size_t most);
    /* Looks whether other code took the hooks on its allocators away. */
    void (*look)(struct sd_alloc_thread *t);
    /* Tells what a code object is called; under the lock of the stacks. */
    void (*name_code)(const void *code, struct sd_alloc_code_name *name);
};

/* One frame of the last walk: where it is, where it stood, and its node. */
struct sd_alloc_step {
    const void *frame;
    uint64_t place;
    uint32_t node;
};

/* What Python is to be asked when it may be. */
enum sd_alloc_wants {
    SD_WANTS_NAME = 1, /* the thread's name */
    SD_WANTS_LOOK = 2, /* whether our hooks are in their places */
};

struct sd_alloc_thread {
    bool is_inside;     /* a hook runs in this thread: what it calls is not counted */
    const void *passed; /* what an original is called for; NULL: none is */
    /* The record that is being filled; at == end: there is none. */
    uint8_t *at, *end;
    uint8_t *last;    /* the end may be moved up to here */
    uint64_t address; /* the last one put there */
    uint32_t stack;   /* likewise */
    uint32_t n;       /* allocations and frees in it */
    uint64_t order;   /* number of the run that is ours */
    uint64_t written; /* the run that the record is in */
    uint64_t time_ns; /* the last one in the record */
    uint32_t tick;    /* of the clock word, when it was last looked at */
    struct sd_log *log;
    struct sd_rec_alloc *record;
    uint64_t rss_ns;   /* when memory was read */
    uint64_t retry_ns; /* no room: not before this is more asked for */
    uint32_t n_lost;   /* events since then, not yet told of */
    uint32_t chunk;    /* of the log, when the size of the file was looked at */
    uint8_t wants;     /* enum sd_alloc_wants */
    bool is_asking;    /* Python is asked: what it allocates for that is not the
                          program's, what it frees may be */
    uint8_t n_own;
    const void *own[16], *asked_freed; /* blocks of that; the last that was freed */
    unsigned n_uncounted; /* sd_uncounted_begin without their ends; 0: not inside */
    size_t name_n;        /* bytes of the thread's name in Python; 0: not known */
    char name[SD_ALLOC_NAME];
    /* The last walk, from the outermost frame on. */
    struct sd_alloc_step *steps; /* mapped */
    uint32_t depth, cap;
    uint32_t n_deaths;             /* sd_alloc_stacks.n_deaths, then */
    uint32_t creator;              /* node of who made this thread, or 0 */
    struct sd_mixed_stack *native; /* mapped; NULL: no walk yet with --native */
    int64_t until; /* in the mode sample: bytes to the next that is drawn */
    uint64_t random;
    uint64_t ended, ended_bytes;  /* beside the log: what was freed last */
    int n_rounds;                 /* of destructors, since the thread began to end */
    struct sd_alloc_thread *next; /* of those that no thread has */
};

/* A thread's; NULL: none yet. */
extern _Thread_local
    __attribute__((tls_model("initial-exec"))) struct sd_alloc_thread *sd_alloc_self;

/* Does this process record?  On a page that a fork empties: in the child hooks record
 * nothing until the handler has run that begins a record of its own.  Handlers that run
 * before it allocate, too, and _Fork runs none. */
struct sd_alloc_here {
    _Alignas(SD_PAGE) _Atomic uint32_t is_on;
    char rest[SD_PAGE - sizeof(uint32_t)];
};
extern struct sd_alloc_here sd_alloc_here;

/* What else hooks look at; recorder.c writes it. */
struct sd_alloc_recorder {
    bool is_on; /* as sd_alloc_here says, or as it said before a fork */
    enum sd_alloc_mode mode;
    unsigned layers; /* enum sd_alloc_layer */
    struct sd_writer *writer;
    _Atomic uint32_t *tick; /* changes when it is time to look at the clock */
    uint64_t sample_bytes;
    uint64_t max_file; /* bytes, or 0 */
    uint32_t only_tid; /* what other threads allocate is not recorded; 0: all is */
    bool is_plain;     /* every allocation of every thread, into a log */
    bool has_natives;  /* stacks have native functions */
    /* NULL: none, so that an allocation has no frames. */
    _Atomic(const struct sd_alloc_language *) language;
    /* On a cache line of its own: the number of the newest run. */
    _Alignas(64) _Atomic uint64_t order;
};
extern struct sd_alloc_recorder sd_alloc_recorder;

struct sd_alloc_thread *sd_alloc_enter_slowly(void);

static inline bool sd_alloc_is_on(const struct sd_alloc_here *h)
{
    return atomic_load_explicit(&h->is_on, memory_order_relaxed) != 0;
}

/* hot: this thread's, until sd_alloc_leave; NULL: nothing is to be recorded. */
static inline struct sd_alloc_thread *sd_alloc_enter(void)
{
    struct sd_alloc_thread *t = sd_alloc_self;

    if (__builtin_expect(!t || !sd_alloc_is_on(&sd_alloc_here), 0))
        return sd_alloc_enter_slowly();
    if (__builtin_expect(t->is_inside, 0))
        return NULL;
    t->is_inside = true;
    return t;
}

/* Inside of a hook blocks come and go uncounted, but while Python is asked. */
void sd_alloc_asked_began(struct sd_alloc_thread *t, const void *p);
void sd_alloc_asked_ends(struct sd_alloc_thread *t, const void *p);
/* A collector makes Python allocate for itself (collect/shared/uncounted.h). */
void sd_alloc_hear_uncounted(bool begins);

static inline void sd_alloc_leave(struct sd_alloc_thread *t) { t->is_inside = false; }

/* hot: between these an original runs for the block at p, or a new one (NULL).  Hooks
 * inside of it have the same block, or others: a tool that wraps one allocator and not
 * the one below it frees its own there. */
static inline void sd_alloc_pass(struct sd_alloc_thread *t, const void *p)
{
    t->passed = p ? p : t;
}
static inline void sd_alloc_passed(struct sd_alloc_thread *t) { t->passed = NULL; }
static inline bool sd_alloc_is_another(const struct sd_alloc_thread *t, const void *p)
{
    return t && t->passed && p && t->passed != p;
}
/* Such a block is about to be freed, if it is one that is recorded. */
void sd_alloc_drop(struct sd_alloc_thread *t, const void *p);

/* Asks what is wanted, inside of a hook: for those of PyMem's domains that need the
 * interpreter's lock.  In others a tool may hold locks that Python's allocators take
 * (tracemalloc does). */
void sd_alloc_ask(struct sd_alloc_thread *t);
/* Is this block one that was allocated while Python is asked, as far as hooks saw? */
static inline bool sd_alloc_asked_has(const struct sd_alloc_thread *t, const void *p)
{
    for (unsigned i = 0; i < t->n_own; i++)
        if (t->own[i] == p)
            return true;
    return false;
}

/* hot: in the mode `sample` nearly all blocks are passed over, so that is found out
 * without a call: those that begin before the next one that is drawn, and those that
 * end and have no hash of a drawn one. */
static inline bool sd_alloc_passes_over(struct sd_alloc_thread *t, size_t size)
{
    return sd_alloc_recorder.mode == SD_ALLOC_SAMPLED &&
           (t->until -= (int64_t)size) >= 0;
}
static inline bool sd_alloc_passed_over(struct sd_alloc_thread *t, const void *p)
{
    if (sd_alloc_recorder.mode != SD_ALLOC_SAMPLED || sd_poisson_may_have(p))
        return false;
    t->ended = 0;
    return true;
}

/* What the two below do with a block that is not passed over. */
void sd_alloc_put_began(struct sd_alloc_thread *t, const void *p, size_t size,
                        enum sd_allocator by);
void sd_alloc_put_ends(struct sd_alloc_thread *t, const void *p);

/* hot: a block of this size was allocated. */
static inline void sd_alloc_began(struct sd_alloc_thread *t, const void *p, size_t size,
                                  enum sd_allocator by)
{
    if (!sd_alloc_passes_over(t, size))
        sd_alloc_put_began(t, p, size, by);
}
/* hot: the block at p is about to be freed. */
static inline void sd_alloc_ends(struct sd_alloc_thread *t, const void *p)
{
    if (!sd_alloc_passed_over(t, p))
        sd_alloc_put_ends(t, p);
}
/* The block at p, which sd_alloc_ends just had, lives on as it was. */
void sd_alloc_undo(struct sd_alloc_thread *t, const void *p);
/* This range of addresses is about to be unmapped, or was, and another mapping is in
 * its place. */
void sd_alloc_unmap(struct sd_alloc_thread *t, const void *p, size_t size);

/* What a thread knows of one that it is about to create. */
struct sd_alloc_birth {
    uint32_t
        stack;     /* of the creator, on which is booked what runs no Python; 0: none */
    size_t name_n; /* bytes of the name that Python has given it; 0: not known */
    char name[SD_ALLOC_NAME];
};
void sd_alloc_creator(struct sd_alloc_thread *t, struct sd_alloc_birth *out);
/* In that thread, before its first hook. */
void sd_alloc_created_by(const struct sd_alloc_birth *birth);

/* Time goes on, and memory is read now: events of all threads that come later are told
 * apart from those before.  For a thread of our own. */
void sd_alloc_note_time(void);

/* For the collector.  Makes ready to record into what this writer writes; 0 or < 0. */
int sd_alloc_recorder_begin(struct sd_writer *w, enum sd_alloc_mode mode,
                            unsigned layers, uint64_t sample_bytes, uint64_t max_file);
/* From the next beginning to its end, allocations of this thread alone; 0: of all.
 * Whoever frees them. */
void sd_alloc_recorder_follow(uint32_t tid);
/* From now on hooks record: while some are not in their places yet, or no longer, a
 * thread could have its allocations recorded and not what it frees. */
void sd_alloc_recorder_go(void);
/* Records no more; what was recorded stays. */
void sd_alloc_recorder_stop(void);
/* Ends what this thread has begun, and records no more: another recording may begin. */
void sd_alloc_recorder_end(void);
/* In the child of a fork: what was the parent's is left alone, and a table of its own
 * begins at the first event. */
void sd_alloc_recorder_after_fork(void);
/* The recorder's, or NULL. */
static inline const struct sd_alloc_language *sd_alloc_language_now(void)
{
    return atomic_load_explicit(&sd_alloc_recorder.language, memory_order_acquire);
}
#endif
