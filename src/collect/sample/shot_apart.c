/* SPDX-License-Identifier: MIT */
/* shot_apart: reads a stack while its thread runs on another CPU, to which we may not
 * go.
 *
 * Copying frames that are objects takes microseconds, in which a short loop can come
 * round: seen twice in the same place, a frame may have called another function in
 * between.  (One stack in some thousand is such where frames lie together, too.)  Then
 * the read shows the callee of one turn on the line of the other.  At a random moment
 * the caller is on that line with a probability p and the callee lives with at most
 * 1 - p; where the two reads of a look lie half a turn apart, both are found with at
 * most one half.  So looks are taken until all of them together would be wrong once in
 * a million at the worst, at random distances, because a loop has a beat.  What changed
 * in any of them is cut off at the inner end. */
#include "base/assert.h"
#include "base/clock.h"
#include "base/error.h"
#include "collect/sample/shot_parts.h"

enum {
    N_LOOKS = 20,        /* 2 ** -20 is one in a million */
    PAUSE_NS = 4096,     /* the longest pause between two; a power of two */
    N_LONG_NS = 5000000, /* looks that take longer end here: the stack is deep */
};

static const uint8_t *in_chunks(const struct sd_shot *s, const struct sd_layout *l,
                                uint64_t address)
{
    size_t i;

    for (i = 0; i < s->n_chunks; i++) {
        const struct sd_shot_chunk *c = &s->chunks[i];

        if (address >= c->address + l->chunk_data &&
            address + l->frame_size <= c->address + c->n_used)
            return s->copy + c->at + (address - c->address);
    }
    return NULL;
}

/* Frames of the walk and spots of the guess stand in the same order. */
static const uint8_t *in_spots(const struct sd_shot *s, uint64_t address, size_t *hint)
{
    size_t i;

    for (i = *hint; i < s->spots.n; i++)
        if (s->spots.items[i].address == address) {
            *hint = i + 1;
            return s->copy + s->spots.items[i].at;
        }
    return NULL;
}

/* Where frames lie in chunks, marks may stand between a frame and its caller; but what
 * lies above the caller is told by the code there. */
static bool is_called_by(const struct sd_shot *s, const struct sd_layout *l,
                         const uint8_t *p, size_t i)
{
    if (sd_shot_has_chunks(l) || (i + 1 == s->n_frames && s->is_cut))
        return true;
    return sd_shot_word(p + l->frame_previous) ==
           (i + 1 < s->n_frames ? s->frames[i + 1].address : s->outermost_previous);
}

/* A frame object that has returned is kept for the next call, and says still who called
 * it the last time; but it knows that it does not run. */
static bool is_executing(const struct sd_layout *l, const uint8_t *p)
{
    return l->frame_state == SD_NO_OFFSET || p[l->frame_state] == l->frame_executing;
}

size_t sd_shot_n_moved(const struct sd_shot *s, const struct sd_shot_of *of)
{
    const struct sd_layout *l = &of->rt->layout;
    size_t i, hint = 0, n_moved = 0;

    for (i = 0; i < s->n_frames; i++) {
        const struct sd_shot_frame *f = &s->frames[i];
        const uint8_t *p = in_chunks(s, l, f->address);

        if (!p)
            p = in_spots(s, f->address, &hint);
        if (!p ||
            (sd_shot_word(p + l->frame_code) & l->code_mask) != f->code->address ||
            !is_executing(l, p) || !is_called_by(s, l, p, i))
            n_moved = i + 1;
        else if (i > 0 && sd_shot_instr(l, p) != f->instr)
            n_moved = i;
    }
    return n_moved;
}

static void pause_a_little(uint64_t *random)
{
    uint64_t until_ns = sd_clock_ns();

    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    until_ns += *random & (PAUSE_NS - 1);
    while (sd_clock_ns() < until_ns)
        ;
}

/* The outermost frame stays: what was seen of it alone was so at a moment. */
static void cut(struct sd_shot *s, size_t n)
{
    if (n >= s->n_frames)
        n = s->n_frames - 1;
    s->n_frames -= n;
    memmove(s->frames, s->frames + n, s->n_frames * sizeof *s->frames);
}

enum sd_shot_result sd_shot_watch(struct sd_shot *s, const struct sd_shot_of *of,
                                  enum sd_shot_result result)
{
    uint64_t began_ns = sd_clock_ns(), random = began_ns | 1;
    bool is_cut = result == SD_SHOT_PARTIAL;
    int i, rc = 0;

    if (result != SD_SHOT_GOOD && result != SD_SHOT_PARTIAL)
        return result;
    sd_assert(s->n_frames > 0);
    for (i = 0; i < N_LOOKS && s->n_frames > 1; i++) {
        size_t n;

        pause_a_little(&random);
        rc = sd_shot_look_again(s, of);
        if (rc == SD_EGONE || rc == SD_EACCESS)
            return SD_SHOT_GONE;
        n = rc == 0 ? sd_shot_n_moved(s, of) : s->n_frames;
        if (n == 0 && i + 1 < N_LOOKS && sd_clock_ns() - began_ns > N_LONG_NS)
            n = s->n_frames; /* too few looks prove nothing */
        is_cut |= n > 0;
        if (n)
            cut(s, n);
    }
    s->is_plain = false;
    s->n_same = 0;
    return is_cut ? SD_SHOT_PARTIAL : SD_SHOT_GOOD;
}
