/* SPDX-License-Identifier: MIT */
/* shot_guess: chooses what a shot reads: everything where it was last time. */
#include <stdlib.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "collect/sample/shot_parts.h"

enum {
    N_THREAD_SLICE = 1024,  /* bytes of a thread state that may be asked for */
    N_CHUNKS_MAX = 4096,    /* of one thread */
    N_CHUNK_MAX = 64 << 20, /* bytes in use of one chunk; more is torn */
    N_AGAIN_SPOTS = 12,     /* innermost spots that get a second look */
    PAGE = 4096,
    AROUND_LOOKS = 512, /* as SD_SHOT_AROUND, above the top, where looks are many */
};

_Static_assert((PAGE & (PAGE - 1)) == 0, "rounded up by a mask");

static uint64_t page_up(uint64_t at) { return (at + PAGE - 1) & ~(uint64_t)(PAGE - 1); }

/* --- Learning where things are */

static int add_chunk(struct sd_shot *s, uint64_t address, uint64_t n_bytes,
                     uint64_t n_used)
{
    struct sd_shot_chunk *chunks =
        sd_grow_array(s->chunks, &s->cap_chunks, s->n_chunks + 1, sizeof *chunks);

    sd_assert(n_used <= n_bytes);
    if (!chunks)
        return SD_ENOMEM;
    s->chunks = chunks;
    chunks[s->n_chunks++] = (struct sd_shot_chunk){ address, n_bytes, n_used, 0 };
    return 0;
}

/* Follows the chunks from the newest on.  An older chunk says itself how much of it is
 * in use; of the newest the thread state does. */
int sd_shot_learn_chunks(struct sd_shot *s, const struct sd_shot_of *of, uint64_t at,
                         uint64_t top)
{
    const struct sd_layout *l = &of->rt->layout;
    uint8_t header[64];
    int rc = 0;

    s->n_chunks = 0;
    s->is_plain = false;
    s->top = top;
    while (at && rc == 0 && s->n_chunks < N_CHUNKS_MAX) {
        uint64_t n_bytes, n_used;

        if (at % 8 || l->chunk_size > sizeof header)
            return SD_ETORN;
        s->n_calls++;
        rc = sd_remote_read(of->remote, at, header, l->chunk_size);
        if (rc < 0)
            break;
        n_bytes = sd_shot_word(header + l->chunk_n_bytes);
        n_used = s->n_chunks ? l->chunk_data + 8 * sd_shot_word(header + l->chunk_top)
                             : top - at;
        if (n_bytes > N_CHUNK_MAX || n_used > n_bytes)
            return SD_ETORN;
        rc = add_chunk(s, at, n_bytes, n_used);
        at = sd_shot_word(header + l->chunk_previous);
    }
    return rc;
}

static int learn(struct sd_shot *s, const struct sd_shot_of *of)
{
    const struct sd_layout *l = &of->rt->layout;
    uint8_t slice[N_THREAD_SLICE];
    uint32_t from, to;
    int rc;

    sd_shot_slice(l, &from, &to);
    if (to - from > sizeof slice)
        return SD_EFORMAT;
    s->n_calls++;
    rc = sd_remote_read(of->remote, s->thread + from, slice, to - from);
    if (rc < 0)
        return rc;
    s->spots.n = 0;
    s->is_plain = false;
    s->root_mark = 0;
    s->cframe = sd_shot_word(slice + l->thread_frame - from);
    if (sd_shot_has_chunks(l))
        rc = sd_shot_learn_chunks(s, of, sd_shot_word(slice + l->thread_chunk - from),
                                  sd_shot_word(slice + l->thread_top - from));
    s->is_learnt = rc == 0;
    return rc;
}

/* --- Asking */

/* Adds a range; *at becomes where in the copy it will be. */
static int want(struct sd_shot *s, uint64_t address, size_t n, size_t *at)
{
    struct iovec *from =
        sd_grow_array(s->from, &s->cap_from, s->n_from + 1, sizeof *from);

    if (!from)
        return SD_ENOMEM;
    s->from = from;
    from[s->n_from++] = (struct iovec){ (void *)(uintptr_t)address, n };
    *at = s->n_copy;
    s->n_copy += n;
    return 0;
}

static int want_chunks(struct sd_shot *s)
{
    size_t i;
    int rc = 0;

    if (s->n_chunks) { /* a little more than was in use: the stack may have grown */
        struct sd_shot_chunk *newest = &s->chunks[0];

        newest->n_used = page_up(s->top + SD_SHOT_AROUND) - newest->address;
        if (newest->n_used > newest->n_bytes)
            newest->n_used = newest->n_bytes;
    }
    for (i = s->n_chunks; rc == 0 && i-- > 0;)
        rc = want(s, s->chunks[i].address, s->chunks[i].n_used, &s->chunks[i].at);
    return rc;
}

struct by_address {
    const struct sd_shot_spot *items;
};

static int compare_spots(const void *a, const void *b, void *of)
{
    const struct by_address *spots = of;
    uint64_t x = spots->items[*(const uint32_t *)a].address;
    uint64_t y = spots->items[*(const uint32_t *)b].address;

    return x < y ? -1 : x > y;
}

/* The first n spots.  Those less than a page apart are read as one range: that costs
 * less than a range more, and a gap that small has no page of its own that could be
 * missing. */
static int want_spots(struct sd_shot *s, const struct sd_layout *l, size_t n,
                      bool is_again)
{
    struct by_address by = { s->spots.items };
    uint32_t *order = s->order;
    size_t i, m = 0;
    int rc = 0;

    if (n > s->cap_order) {
        order = sd_grow_array(s->order, &s->cap_order, n, sizeof *order);
        if (!order)
            return SD_ENOMEM;
        s->order = order;
    }
    for (i = 0; i < n; i++) {
        s->spots.items[i].again_at = is_again ? s->spots.items[i].again_at : SIZE_MAX;
        if (!is_again || !s->spots.items[i].is_mark)
            order[m++] = (uint32_t)i;
    }
    sd_assert(m <= n && n <= s->spots.n);
    if (m > 1)
        qsort_r(order, m, sizeof *order, compare_spots, &by);
    for (i = 0; rc == 0 && i < m;) {
        uint64_t first = s->spots.items[order[i]].address, end = first + l->frame_size;
        size_t at = 0, k = i;

        for (; k + 1 < m && s->spots.items[order[k + 1]].address < end + PAGE - 1; k++)
            end = s->spots.items[order[k + 1]].address + l->frame_size;
        rc = want(s, first, end - first, &at);
        for (; i <= k; i++) {
            struct sd_shot_spot *spot = &s->spots.items[order[i]];

            *(is_again ? &spot->again_at : &spot->at) = at + (spot->address - first);
        }
    }
    return rc;
}

/* The innermost frames once more, or twice.  In chunks they end at the top. */
static int want_again(struct sd_shot *s, const struct sd_layout *l)
{
    uint64_t above = s->n_looks > 1 ? AROUND_LOOKS : SD_SHOT_AROUND;
    size_t n = s->spots.n < N_AGAIN_SPOTS ? s->spots.n : N_AGAIN_SPOTS;
    int rc = 0;

    s->again_from = s->again_to = 0;
    if (s->n_chunks) {
        const struct sd_shot_chunk *newest = &s->chunks[0];
        uint64_t low = newest->address + l->chunk_data;

        s->again_to = s->top + above;
        if (s->again_to > newest->address + newest->n_used)
            s->again_to = newest->address + newest->n_used;
        s->again_from = s->top > low + SD_SHOT_AROUND ? s->top - SD_SHOT_AROUND : low;
        sd_assert_slow(s->again_from >= newest->address);
        rc = want(s, s->again_from, s->again_to - s->again_from, &s->again_at);
        s->earlier_at = newest->at + (s->again_from - newest->address);
    }
    if (rc == 0)
        rc = want_spots(s, l, n, true);
    s->has_third = s->n_chunks && s->n_restless;
    if (rc == 0 && s->has_third)
        rc = want(s, s->again_from, s->again_to - s->again_from, &s->third_at);
    return rc;
}

/* At a stack that changes one by one: those after the first that fails are in vain. */
static uint32_t n_looks(const struct sd_shot *s, const struct sd_shot_of *of)
{
    return of->n_looks > 1 && s->is_plain && !s->n_restless && !of->is_still &&
                   !of->is_blind
               ? of->n_looks
               : 1;
}

/* What came from the words of the thread on, again. */
static int want_more_looks(struct sd_shot *s, size_t first)
{
    size_t end = s->n_from, i, at;
    uint32_t look;
    int rc = 0;

    sd_assert(first < end && s->thread_at <= s->n_copy);
    s->n_look = s->n_copy - s->thread_at;
    for (look = 1; look < s->n_looks; look++)
        for (i = first; rc == 0 && i < end; i++)
            rc = want(s, (uintptr_t)s->from[i].iov_base, s->from[i].iov_len, &at);
    return rc;
}

int sd_shot_plan(struct sd_shot *s, const struct sd_shot_of *of)
{
    const struct sd_layout *l = &of->rt->layout;
    uint32_t from, to;
    uint8_t *copy;
    size_t words;
    int rc = s->is_learnt ? 0 : learn(s, of);

    s->n_from = s->n_copy = 0;
    s->n_looks = n_looks(s, of);
    s->look = 0;
    sd_shot_slice(l, &from, &to);
    if (rc == 0)
        rc = want_chunks(s);
    if (rc == 0)
        rc = want_spots(s, l, s->spots.n, false);
    words = s->n_from;
    if (rc == 0)
        rc = want(s, s->thread + from, to - from, &s->thread_at);
    if (rc == 0 && l->frames_style == SD_FRAMES_CFRAME && s->cframe)
        rc = want(s, s->cframe + l->cframe_frame, 8, &s->cframe_at);
    s->again_from = s->again_to = 0;
    s->has_third = false;
    if (rc == 0 && !of->is_still && !of->is_blind)
        rc = want_again(s, l);
    if (rc == 0 && s->n_looks > 1)
        rc = want_more_looks(s, words);
    if (rc < 0)
        return rc;
    copy = sd_grow_array(s->copy, &s->cap_copy, s->n_copy, 1);
    if (!copy)
        return SD_ENOMEM;
    s->copy = copy;
    return 0;
}
