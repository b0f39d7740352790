/* SPDX-License-Identifier: MIT */
#include "collect/sample/shot.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "collect/sample/shot_parts.h"

/* A read that takes longer than these together was interrupted; it usually takes a
 * fifth. */
#define QUICK_NS 20000u
#define RANGE_NS 1000u /* for each range; and 1 for each byte */

/* What is known of a code object is believed for this part of the time that it has
 * been true for, and for this long at most. */
#define TRUST_PART 1000u
#define TRUST_NS 10000000u

void sd_shot_init(struct sd_shot *s, const struct sd_python_thread *who)
{
    *s = (struct sd_shot){ .thread = who->state,
                           .ident = who->ident,
                           .native = who->native,
                           .serial = who->serial };
}

void sd_shot_release(struct sd_shot *s)
{
    sd_free(s->frames);
    sd_free(s->chunks);
    sd_free(s->spots.items);
    sd_free(s->seen.items);
    sd_free(s->from);
    sd_free(s->copy);
    sd_free(s->order);
    sd_free(s->doubts);
    *s = (struct sd_shot){ 0 };
}

/* --- Judging */

static bool says(const struct sd_shot *s, const struct sd_layout *l, uint32_t offset,
                 uint64_t word)
{
    return offset == SD_NO_OFFSET || sd_shot_thread_word(s, l, offset) == word;
}

/* A new thread has its maker's ident at first; an ended one leaves its thread state,
 * its ident or both to the next. */
static bool is_same_thread(const struct sd_shot *s, const struct sd_layout *l)
{
    return says(s, l, l->thread_ident, s->ident) &&
           says(s, l, l->thread_native, s->native) &&
           says(s, l, l->thread_serial, s->serial);
}

/* Whether the chunks are still those that were asked for. */
static bool has_these_chunks(const struct sd_shot *s, const struct sd_layout *l,
                             uint64_t chunk, uint64_t top)
{
    size_t i;

    if (!s->n_chunks)
        return chunk == 0;
    if (chunk != s->chunks[0].address || top < chunk ||
        top > chunk + s->chunks[0].n_used)
        return false;
    for (i = 0; i < s->n_chunks; i++) {
        const uint8_t *header = s->copy + s->chunks[i].at;
        uint64_t previous = i + 1 < s->n_chunks ? s->chunks[i + 1].address : 0;

        if (sd_shot_word(header + l->chunk_previous) != previous)
            return false;
        if (i > 0 && l->chunk_data + 8 * sd_shot_word(header + l->chunk_top) !=
                         s->chunks[i].n_used)
            return false;
    }
    return true;
}

/* Whether the second look reached far enough around what turned out to be the top. */
static bool looked_at_top(const struct sd_shot *s, const struct sd_shot_of *of,
                          uint64_t top)
{
    uint64_t low;

    if (of->is_still || of->is_blind || !s->n_chunks)
        return true;
    low = s->chunks[0].address + of->rt->layout.chunk_data;
    return top <= s->again_to &&
           (s->again_from == low || top > s->again_from + SD_SHOT_AROUND / 4);
}

/* The guess is made good with what the thread state said. */
static enum sd_shot_result correct(struct sd_shot *s, const struct sd_shot_of *of,
                                   uint64_t chunk, uint64_t top)
{
    bool is_newest = s->n_chunks && s->chunks[0].address == chunk;
    int rc = 0;

    if (is_newest && top >= chunk && top <= chunk + s->chunks[0].n_bytes &&
        sd_shot_word(s->copy + s->chunks[0].at + of->rt->layout.chunk_previous) ==
            (s->n_chunks > 1 ? s->chunks[1].address : 0))
        s->top = top;
    else
        rc = sd_shot_learn_chunks(s, of, chunk, top);
    if (rc == SD_EGONE)
        return SD_SHOT_GONE;
    if (rc < 0)
        s->is_learnt = false;
    return SD_SHOT_STALE;
}

static uint64_t innermost(const struct sd_shot *s, const struct sd_layout *l)
{
    uint64_t at = sd_shot_thread_word(s, l, l->thread_frame);

    if (l->frames_style == SD_FRAMES_CFRAME && at)
        at = sd_shot_word(s->copy + s->cframe_at);
    return at;
}

static void swap_spots(struct sd_shot *s)
{
    struct sd_shot_spots old = s->spots;

    s->spots = s->seen;
    s->seen = old;
}

/* Keeps the frames that may be believed. */
static enum sd_shot_result salvage(struct sd_shot *s, size_t n_cut)
{
    if (n_cut >= s->n_frames)
        return SD_SHOT_TORN;
    s->n_frames -= n_cut;
    sd_assert(s->n_frames > 0);
    memmove(s->frames, s->frames + n_cut, s->n_frames * sizeof *s->frames);
    return SD_SHOT_PARTIAL;
}

/* --- The codes of the frames */

/* What a module runs when it is imported is freed the moment it has run, and nothing is
 * more often put in its place than the code of its functions: no trust at all.  The
 * outermost is the program's own, and stays. */
static bool is_fleeting(const struct sd_shot *s, size_t i)
{
    return i + 1 < s->n_frames && s->frames[i].code->name[0] == '<' &&
           strcmp(s->frames[i].code->name, "<module>") == 0;
}

/* Until when a code object is believed to be the one that it was when it was compared.
 * So a wrong name is told for a thousandth of the time that it was right, at most. */
static uint64_t believed_until(const struct sd_shot *s, size_t i)
{
    const struct sd_code *code = s->frames[i].code;
    uint64_t age_ns =
        code->checked_ns > code->read_ns ? code->checked_ns - code->read_ns : 0;
    uint64_t trust_ns = is_fleeting(s, i) ? 0 : age_ns / TRUST_PART;

    return code->checked_ns + (trust_ns < TRUST_NS ? trust_ns : TRUST_NS);
}

/* Codes of these frames that may be others by now, each once. */
static int gather_doubts(struct sd_shot *s, struct sd_codes *codes, size_t *n)
{
    size_t i;

    for (*n = 0, i = 0; i < s->n_frames; i++) {
        struct sd_code *code = codes->all[s->frames[i].code->id];
        const struct sd_code **doubts;

        if (code->read_ns >= s->came_ns || code->asked_ns >= s->came_ns ||
            believed_until(s, i) >= s->came_ns)
            continue;
        doubts = sd_grow_array(s->doubts, &s->cap_doubts, *n + 1, sizeof *doubts);
        if (!doubts)
            return SD_ENOMEM;
        s->doubts = doubts;
        doubts[(*n)++] = code;
        code->asked_ns = s->came_ns;
    }
    return 0;
}

/* How many of the inner frames must go because the code of the outermost of them is not
 * known to be theirs: it was another's before, or has been read only after the frames.
 * A thread that stands still holds its codes, and the order does not matter. */
static size_t n_unproved(struct sd_shot *s, const struct sd_shot_of *of)
{
    size_t n = 0, i;

    s->believed_until_ns = UINT64_MAX;
    for (i = 0; i < s->n_frames; i++) {
        const struct sd_code *code = s->frames[i].code;
        uint64_t until_ns = believed_until(s, i);
        bool is_late = code->read_ns >= s->came_ns;

        if (code->is_retired || (is_late ? !of->is_still : until_ns < s->came_ns))
            n = i + 1;
        if (until_ns < s->believed_until_ns)
            s->believed_until_ns = until_ns;
    }
    return n;
}

/* What lies there now is read at once, so that the next shot comes after it. */
static void read_anew(const struct sd_shot *s, const struct sd_shot_of *of, size_t n)
{
    const struct sd_code *code;
    size_t i;

    for (i = 0; i < n; i++)
        if (s->doubts[i]->is_retired)
            sd_codes_get(of->codes, of->remote, of->rt, s->doubts[i]->address, &code);
}

/* Whether the codes of the frames are those that we know by their addresses. */
static enum sd_shot_result judge_codes(struct sd_shot *s, const struct sd_shot_of *of,
                                       enum sd_shot_result result, bool is_last)
{
    size_t n, n_retired = 0, n_cut;
    int rc;

    if ((result != SD_SHOT_GOOD && result != SD_SHOT_PARTIAL) || of->is_blind)
        return result;
    if (s->n_same && s->came_ns <= s->believed_until_ns)
        return result;
    rc = gather_doubts(s, of->codes, &n);
    if (rc == 0 && n > 0) {
        s->n_calls++;
        rc = sd_codes_verify(of->codes, of->remote, of->rt, s->doubts, n, &n_retired);
    }
    n_cut = n_unproved(s, of); /* before entries are taken again */
    if (n_retired)
        read_anew(s, of, n);
    if (rc == 0 && n_cut == 0)
        return result;
    s->is_plain = false;
    if (rc < 0)
        return rc == SD_EGONE || rc == SD_EACCESS ? SD_SHOT_GONE : SD_SHOT_TORN;
    if (s->n_stale < SD_SHOT_STALE_MAX)
        return SD_SHOT_STALE;
    return is_last ? salvage(s, n_cut) : SD_SHOT_TORN;
}

/* Whether some codes were read after the frames: then the frames must be read again
 * while they stand as they are. */
static bool has_late_codes(const struct sd_shot *s)
{
    size_t i;

    for (i = 0; i < s->n_frames; i++)
        if (s->frames[i].code->read_ns >= s->came_ns)
            return true;
    return false;
}

enum sd_shot_result sd_shot_prove_codes(struct sd_shot *s, const struct sd_shot_of *of,
                                        enum sd_shot_result result, bool is_last)
{
    s->n_stale = is_last ? SD_SHOT_STALE_MAX : 0;
    return judge_codes(s, of, result, is_last);
}

static void note_rest(struct sd_shot *s, enum sd_shot_result result)
{
    if (result == SD_SHOT_TORN || result == SD_SHOT_PARTIAL)
        s->n_restless = SD_SHOT_RESTLESS;
    else if (result == SD_SHOT_GOOD && s->n_restless)
        s->n_restless--;
}

/* Whether the next look can begin with the question if all is as it was. */
static bool is_plain(const struct sd_shot_walk *w)
{
    const struct sd_shot *s = w->s;

    return s->n_frames && s->n_chunks && !s->spots.n && !s->is_cut && !w->n_cut &&
           !w->of->is_still && !w->of->is_blind;
}

static bool has_codes(const struct sd_shot *s)
{
    size_t i;

    for (i = 0; i < s->n_frames; i++)
        if (!s->frames[i].code)
            return false;
    return true;
}

static enum sd_shot_result judge_chain(struct sd_shot_walk *w, uint64_t at,
                                       bool is_last)
{
    struct sd_shot *s = w->s;
    int rc;

    s->n_frames = 0;
    s->seen.n = 0;
    s->is_cut = s->is_plain = false;
    rc = sd_shot_walk_follow(w, at);
    swap_spots(s);
    if (rc == SD_EGONE)
        return SD_SHOT_GONE;
    if (rc < 0)
        return SD_SHOT_TORN;
    if (!w->of->is_still && !w->of->is_blind && !sd_shot_walk_is_end(w))
        return SD_SHOT_TORN;
    if (w->n_missing && !w->of->is_still && !w->of->is_blind &&
        s->n_stale < SD_SHOT_STALE_MAX)
        return SD_SHOT_STALE;
    if (w->n_cut == 0 || (w->of->is_still && has_codes(s))) {
        s->is_plain = is_plain(w);
        s->n_retired = w->of->codes->n_retired;
        return s->n_frames ? SD_SHOT_GOOD : SD_SHOT_EMPTY;
    }
    return is_last ? salvage(s, w->n_cut) : SD_SHOT_TORN;
}

/* A reader that was put off its CPU between the two copies proves nothing: the thread
 * may have gone round a loop and come back to the same place. */
void sd_shot_came(struct sd_shot *s, uint64_t began_ns, uint64_t ended_ns,
                  size_t n_ranges, size_t n_bytes)
{
    sd_assert_slow(ended_ns >= began_ns);
    s->came_ns = ended_ns;
    s->took_ns = ended_ns - began_ns;
    if (s->n_looks > 1) { /* each has its own proof: the pauses between need none */
        n_ranges -= (s->n_looks - 1) * (n_ranges / s->n_looks);
        n_bytes -= (s->n_looks - 1) * s->n_look;
    }
    s->was_quick = s->took_ns < QUICK_NS + n_ranges * RANGE_NS + n_bytes;
}

enum sd_shot_result sd_shot_judge(struct sd_shot *s, const struct sd_shot_of *of,
                                  bool is_last)
{
    const struct sd_layout *l = &of->rt->layout;
    struct sd_shot_walk w = { .s = s, .of = of, .l = l };
    enum sd_shot_result result;
    uint64_t chunk = 0, at;

    s->n_same = 0;
    of->codes->now_ns = s->came_ns;
    if (!s->was_quick && !of->is_still && !of->is_blind)
        return SD_SHOT_TORN;
    if (!is_same_thread(s, l))
        return SD_SHOT_GONE;
    if (sd_shot_has_chunks(l)) {
        chunk = sd_shot_thread_word(s, l, l->thread_chunk);
        w.top = sd_shot_thread_word(s, l, l->thread_top);
        if (!has_these_chunks(s, l, chunk, w.top) || !looked_at_top(s, of, w.top))
            return correct(s, of, chunk, w.top);
        s->top = w.top;
    }
    if (l->frames_style == SD_FRAMES_CFRAME &&
        sd_shot_thread_word(s, l, l->thread_frame) != s->cframe) {
        s->cframe = sd_shot_thread_word(s, l, l->thread_frame);
        return SD_SHOT_STALE;
    }
    at = innermost(s, l);
    result = s->is_plain && sd_shot_walk_is_same(&w, at) ? SD_SHOT_GOOD
                                                         : judge_chain(&w, at, is_last);
    note_rest(s, result);
    if (of->is_hasty && (result == SD_SHOT_GOOD || result == SD_SHOT_PARTIAL) &&
        !has_late_codes(s))
        return result;
    return judge_codes(s, of, result, is_last);
}

enum sd_shot_result sd_shot_judge_next(struct sd_shot *s, const struct sd_shot_of *of)
{
    enum sd_shot_result result;

    s->look++;
    s->earlier_at = s->again_at;
    s->again_at += s->n_look;
    s->thread_at += s->n_look;
    s->cframe_at += s->n_look;
    result = sd_shot_judge(s, of, false);
    if (result != SD_SHOT_GOOD)
        s->is_plain = false;
    return result;
}

/* --- Taking */

/* In pieces where it is more than one system call can take: the thread state and the
 * second look are in the last. */
static int read_planned(struct sd_shot *s, const struct sd_remote *r)
{
    uint64_t began_ns = sd_clock_ns();
    size_t i, at = 0;

    for (i = 0; i < s->n_from;) {
        size_t n = s->n_from - i < SD_REMOTE_RANGES ? s->n_from - i : SD_REMOTE_RANGES,
               k;
        struct iovec to = { s->copy + at, 0 };
        int rc;

        for (k = 0; k < n; k++)
            to.iov_len += s->from[i + k].iov_len;
        s->n_calls++;
        rc = sd_remote_readv(r, &to, 1, s->from + i, n);
        if (rc < 0)
            return rc;
        at += to.iov_len;
        i += n;
    }
    sd_assert_slow(at <= s->n_copy);
    sd_shot_came(s, began_ns, sd_clock_ns(), s->n_from, s->n_copy);
    return 0;
}

int sd_shot_look_again(struct sd_shot *s, const struct sd_shot_of *of)
{
    struct sd_shot_of once = *of;
    int rc;

    once.is_still = true; /* no second copy */
    rc = sd_shot_plan(s, &once);
    return rc == 0 ? read_planned(s, of->remote) : rc;
}

static enum sd_shot_result take_once(struct sd_shot *s, const struct sd_shot_of *of,
                                     bool is_last)
{
    int rc = sd_shot_plan(s, of);

    if (rc == 0)
        rc = read_planned(s, of->remote);
    if (rc == 0)
        return sd_shot_judge(s, of, is_last);
    s->is_learnt = false;
    s->n_frames = 0;
    if (rc == SD_EGONE || rc == SD_EACCESS)
        return SD_SHOT_GONE;
    return rc == SD_ETORN ? SD_SHOT_STALE : SD_SHOT_TORN;
}

enum sd_shot_result sd_shot_take(struct sd_shot *s, const struct sd_shot_of *of,
                                 unsigned n_retries)
{
    enum sd_shot_result result;

    s->n_calls = s->n_torn = s->n_stale = 0;
    for (;;) {
        bool is_last = s->n_torn >= n_retries;

        result = take_once(s, of, is_last);
        if (result == SD_SHOT_STALE && s->n_stale++ < SD_SHOT_STALE_MAX)
            continue;
        if (result != SD_SHOT_TORN && result != SD_SHOT_STALE)
            return result;
        s->n_stale = 0;
        s->n_torn++;
        if (is_last)
            return SD_SHOT_TORN;
    }
}
