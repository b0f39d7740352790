/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SAMPLE_SHOT_H
#define SD_COLLECT_SAMPLE_SHOT_H
/* shot: reads the Python stack of a running thread with one system call, and proves
 * that it is consistent.
 *
 * Where things were last time is where they most likely are now.  So all of it is asked
 * for at once: the chunks that hold the frames, frames that lie elsewhere (generators,
 * marks on the C stack; before 3.11 every frame), the words of the thread state that
 * say which frame is the innermost, and then the innermost frames once more.  Ranges
 * are copied in order, so the two copies of the innermost frames stand before and after
 * the words in time.  Where they agree the thread did not leave these frames meanwhile,
 * and what it had called them from cannot have changed either: a lock that the writer
 * need not know of.
 *
 * A loop comes back to where it was.  One that calls two functions in turn, each for a
 * fraction of a microsecond, can be seen calling the one, before and after, from the
 * line of the other.  So of a function that waits for another the whole frame must be
 * the same, with its variables: there turns of a loop differ.  For loops that change
 * none, and are short enough for this to matter, the innermost frames of a thread that
 * was torn lately are copied a third time.
 *
 * The same words say whose thread state it is.  When that has changed since the list of
 * threads was read, the stack is another thread's: the shot is GONE.
 *
 * A frame names its code by an address, and what lies there is read before the frames
 * and compared after them: what is the same then was the one that the frame held.  So a
 * code object seen for the first time costs a second shot.  One that was the same for
 * long is believed to be for a thousandth of that time, at most 10 ms; functions made
 * up anew all the time are compared at every look.
 *
 * Who samples as fast as can be takes several looks by one system call: after the
 * second look at the innermost frames, which is the first of the next, the words and
 * these frames come again, and again.  Each look is proved as a single one is,
 * beginning with the one before it; the outer frames, read once, are believed as long
 * as no look has failed.
 *
 * What does not agree is torn.  A guess that was wrong (another chunk, a frame not
 * asked for) is stale: the guess is corrected and the shot taken again.  From a torn
 * shot the outer frames that both copies agree on can be kept: a partial stack. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "process/python/code.h"
#include "process/python/python_threads.h"
#include "process/python/runtime.h"
#include "process/remote.h"

enum {
    SD_STACK_MAX = 65535
}; /* frames of a stack; deeper ones are cut at the outer end */

/* Whose memory, and how much of a proof is wanted. */
struct sd_shot_of {
    const struct sd_remote *remote;
    const struct sd_runtime *rt;
    struct sd_codes *codes;
    bool is_still;    /* the thread is stopped: frames may be read one by one */
    bool is_blind;    /* take what comes, without a second look */
    bool is_hasty;    /* known codes are left to sd_shot_prove_codes */
    uint32_t n_looks; /* by one system call, at most; 0 is 1.  See sd_shot_judge_next */
};

struct sd_shot_frame {
    const struct sd_code *code; /* good until the codes are released; NULL: native */
    union {
        uint64_t instr;                 /* raw: sd_layout_instr, sd_codes_line */
        const struct sd_symbol *native; /* where code is NULL: see native.h */
    };
    uint64_t address; /* of the frame in the process; 0: a native function */
    uint64_t mark;    /* where C has left a mark on its stack when it called it; or 0 */
    bool is_entry;    /* C has called it: not the function that stands outside of it */
};

enum sd_shot_result {
    SD_SHOT_GOOD,
    SD_SHOT_PARTIAL, /* the inner end is missing */
    SD_SHOT_EMPTY,   /* the thread runs no Python */
    SD_SHOT_STALE,   /* the guess was wrong and is corrected, or of its codes: again */
    SD_SHOT_TORN,    /* it changed while it was read: again, or lost */
    SD_SHOT_GONE,    /* the process, the memory of the thread, or another has it now */
};

struct sd_shot_chunk {
    uint64_t address, n_bytes; /* n_bytes: as its header says */
    uint64_t n_used;           /* read up to here, from its beginning */
    size_t at;                 /* where in `copy` */
};

struct sd_shot_spot { /* a frame outside the chunks */
    uint64_t address;
    size_t at, again_at; /* where in `copy`; again_at SIZE_MAX: read once */
    bool is_mark;        /* between C and Python, not a function */
};

struct sd_shot_spots {
    struct sd_shot_spot *items; /* owned */
    size_t n, cap;
};

struct sd_shot {
    uint64_t thread;                /* address of the thread state */
    uint64_t ident, native, serial; /* what it says while it is this thread's */
    /* The result: */
    struct sd_shot_frame *frames; /* owned; innermost first */
    size_t n_frames, cap_frames;
    bool is_cut;      /* there are more than SD_STACK_MAX */
    uint32_t n_calls; /* system calls of the last take */
    uint32_t n_torn;  /* torn shots of the last take */
    uint32_t n_stale; /* wrong guesses in a row */
    size_t n_same;    /* so many outer frames are those of the take before */
    /* The stack as it was, which is looked for first: */
    bool is_plain; /* `frames` are a whole stack that lies in the chunks */
    uint64_t outermost_previous; /* what its outermost frame points to */
    uint64_t believed_until_ns;  /* its codes need not be compared before */
    size_t n_retired;            /* codes that were, then */
    /* The guess: */
    bool is_learnt;
    uint64_t top, cframe;
    struct sd_shot_chunk *chunks; /* owned; newest first */
    size_t n_chunks, cap_chunks;
    struct sd_shot_spots spots; /* in the order of the chain */
    struct sd_shot_spots seen;  /* of the walk in progress: the next guess */
    uint64_t root_mark;         /* a mark known to be the last of the chain, or 0 */
    uint32_t n_root_trusted;    /* times it was not read */
    /* What was asked for, and came: */
    struct iovec *from; /* owned */
    size_t n_from, cap_from;
    uint8_t *copy; /* owned; all ranges one after the other */
    size_t n_copy, cap_copy;
    uint32_t n_looks; /* in the copy; n_look bytes from one to the next */
    uint32_t look;    /* that is judged, from 0 */
    size_t n_look;
    uint64_t came_ns; /* when it had come: all of it was read before */
    uint64_t took_ns; /* of the system call */
    bool was_quick;   /* not so long that we were put off the CPU in between */
    size_t thread_at, cframe_at, again_at; /* where in `copy` */
    size_t earlier_at; /* the first copy of what again_at is the second of */
    uint64_t again_from, again_to; /* addresses of the second look, and the third */
    uint32_t n_restless;           /* shots to come that are looked at three times */
    bool has_third;
    size_t third_at; /* where in `copy` */
    uint32_t *order; /* owned; spots by address, to read neighbours at once */
    size_t cap_order;
    const struct sd_code **doubts; /* owned; codes that must be compared again */
    size_t cap_doubts;
};

void sd_shot_init(struct sd_shot *s, const struct sd_python_thread *who);
void sd_shot_release(struct sd_shot *s);

/* Takes it, with `n_retries` more tries after a torn one; the last may be PARTIAL.
 * Never STALE. */
enum sd_shot_result sd_shot_take(struct sd_shot *s, const struct sd_shot_of *of,
                                 unsigned n_retries);

/* The two halves of it, for those who read several threads by one system call: fills
 * from[0..n_from) and makes room in `copy` for n_copy bytes; who has read them says
 * when the system call began and ended, and how much it was to do; then it is judged.
 * is_last: a torn shot may be given as PARTIAL. */
int sd_shot_plan(struct sd_shot *s, const struct sd_shot_of *of);
void sd_shot_came(struct sd_shot *s, uint64_t began_ns, uint64_t ended_ns,
                  size_t n_ranges, size_t n_bytes);
enum sd_shot_result sd_shot_judge(struct sd_shot *s, const struct sd_shot_of *of,
                                  bool is_last);
/* After a GOOD look: the next of n_looks.  What is not GOOD is the last of them; its
 * frames mean nothing. */
enum sd_shot_result sd_shot_judge_next(struct sd_shot *s, const struct sd_shot_of *of);

/* After a hasty take with that result: whether the codes are those that we know. STALE:
 * take it again; is_last: a part of it may be given as PARTIAL instead. */
enum sd_shot_result sd_shot_prove_codes(struct sd_shot *s, const struct sd_shot_of *of,
                                        enum sd_shot_result result, bool is_last);

/* Where the thread runs on a CPU on which we may not: more looks at a stack just taken,
 * with that result; PARTIAL when some of it has changed.  See shot_apart.c.
 * sd_shot_n_moved: how many inner frames what was read last does not confirm. */
enum sd_shot_result sd_shot_watch(struct sd_shot *s, const struct sd_shot_of *of,
                                  enum sd_shot_result result);
size_t sd_shot_n_moved(const struct sd_shot *s, const struct sd_shot_of *of);
#endif
