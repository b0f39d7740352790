/* SPDX-License-Identifier: MIT */
/* shot_walk: follows the chain of frames in what a shot has read. */
#include "base/error.h"
#include "base/mem.h"
#include "collect/sample/shot_parts.h"

enum {
    N_ROOT_TRUST = 64, /* uses of the outermost mark before it is read again */
    N_SPOTS_MAX = SD_STACK_MAX + 1024,
};

/* --- Getting hold of a frame */

/* A frame in the second look: what came before and after the words of the thread. */
static void use_second(struct sd_shot_walk *w, uint64_t at)
{
    const struct sd_shot *s = w->s;

    w->a = s->copy + s->earlier_at + (at - s->again_from);
    w->b = s->copy + s->again_at + (at - s->again_from);
    if (s->has_third)
        w->c = s->copy + s->third_at + (at - s->again_from);
}

/* In which chunk, from that of the last frame on: callers lie below. */
static bool find_in_chunks(struct sd_shot_walk *w, uint64_t at)
{
    struct sd_shot *s = w->s;
    size_t i;

    for (i = w->chunk; i < s->n_chunks; i++) {
        const struct sd_shot_chunk *c = &s->chunks[i];

        if (at < c->address + w->l->chunk_data ||
            at + w->l->frame_size > c->address + c->n_used)
            continue;
        w->a = s->copy + c->at + (at - c->address);
        w->b = w->c = NULL;
        if (i == 0 && at >= s->again_from && at + w->l->frame_size <= s->again_to)
            use_second(w, at);
        w->chunk = i;
        return true;
    }
    return false;
}

static bool find_in_spots(struct sd_shot_walk *w, uint64_t at)
{
    const struct sd_shot_spots *spots = &w->s->spots;
    size_t i = w->spot;

    if (i >= spots->n || spots->items[i].address != at)
        for (i = 0; i < spots->n && spots->items[i].address != at; i++)
            ;
    if (i == spots->n)
        return false;
    w->a = w->s->copy + spots->items[i].at;
    w->b = spots->items[i].again_at == SIZE_MAX ? NULL
                                                : w->s->copy + spots->items[i].again_at;
    w->c = NULL;
    w->spot = i + 1;
    return true;
}

static int read_late(struct sd_shot_walk *w, uint64_t at)
{
    if (w->l->frame_size > sizeof w->late)
        return SD_EFORMAT;
    w->s->n_calls++;
    w->n_missing++;
    w->a = w->late;
    w->b = w->c = NULL;
    return sd_remote_read(w->of->remote, at, w->late, w->l->frame_size);
}

static int remember_spot(struct sd_shot *s, uint64_t at)
{
    struct sd_shot_spots *seen = &s->seen;
    struct sd_shot_spot *items;

    if (seen->n >= N_SPOTS_MAX)
        return SD_ETORN;
    items = sd_grow_array(seen->items, &seen->cap, seen->n + 1, sizeof *items);
    if (!items)
        return SD_ENOMEM;
    seen->items = items;
    items[seen->n++] = (struct sd_shot_spot){ .address = at };
    return 0;
}

/* Gets hold of the frame at `at`, wherever it lies. */
static int hold(struct sd_shot_walk *w, uint64_t at)
{
    int rc;

    if (at % 8)
        return SD_ETORN;
    w->is_in_chunk = find_in_chunks(w, at);
    if (w->is_in_chunk)
        return 0;
    rc = remember_spot(w->s, at);
    if (rc == 0 && !find_in_spots(w, at))
        rc = read_late(w, at);
    return rc;
}

static const struct sd_code *code_at(struct sd_shot_walk *w, uint64_t address)
{
    const struct sd_code *code = sd_codes_find(w->of->codes, address);

    if (!code)
        w->s->n_calls++;
    if (code ||
        sd_codes_get(w->of->codes, w->of->remote, w->of->rt, address, &code) == 0)
        return code;
    return NULL;
}

/* Frames in a chunk lie one upon the other without a gap: where one ends the next
 * begins. What generators and C functions stand between them does not matter. */
static bool fits_below(const struct sd_shot_walk *w, uint64_t at,
                       const struct sd_code *code, size_t upper_chunk)
{
    const struct sd_shot *s = w->s;
    uint64_t end = at + code->frame_bytes;

    if (!w->upper)
        return w->chunk == 0 ? end <= w->top : true;
    if (upper_chunk == w->chunk)
        return end == w->upper;
    return w->upper == s->chunks[upper_chunk].address + w->l->chunk_data &&
           end == s->chunks[w->chunk].address + s->chunks[w->chunk].n_used;
}

/* Whether another copy of the frame tells the same.  NULL: there is none. */
static bool agrees(const struct sd_shot_walk *w, const uint8_t *other)
{
    const struct sd_layout *l = w->l;

    if (!other)
        return true;
    return ((sd_shot_word(w->a + l->frame_code) ^ sd_shot_word(other + l->frame_code)) &
            l->code_mask) == 0 &&
           sd_shot_word(w->a + l->frame_previous) ==
               sd_shot_word(other + l->frame_previous);
}

/* Whether a function that has called another stood where it was.  While it waits for
 * the other nothing of its frame changes.  In a chunk the whole of it was copied, with
 * its variables, and these tell one turn of a loop from the next, which comes to the
 * same instruction. */
static bool stood(const struct sd_shot_walk *w, const uint8_t *other, uint64_t at,
                  const struct sd_code *code)
{
    if (!other)
        return true;
    if (!w->is_in_chunk || at + code->frame_bytes > w->s->again_to)
        return sd_shot_instr(w->l, w->a) == sd_shot_instr(w->l, other);
    return memcmp(w->a, other, code->frame_bytes) == 0;
}

static int add_frame(struct sd_shot *s, const struct sd_code *code, uint64_t instr,
                     uint64_t address, bool is_entry)
{
    struct sd_shot_frame *frames =
        sd_grow_array(s->frames, &s->cap_frames, s->n_frames + 1, sizeof *frames);

    if (!frames)
        return SD_ENOMEM;
    s->frames = frames;
    frames[s->n_frames++] = (struct sd_shot_frame){
        .code = code, .instr = instr, .address = address, .is_entry = is_entry
    };
    return 0;
}

/* CPython's own trampoline that makes an object and then drops what __init__ returned:
 * it stands in no file and on no line, and no traceback shows it. */
static bool is_trampoline(const struct sd_code *code)
{
    return code->first_line <= 0 && strcmp(code->filename, "__init__") == 0;
}

/* Where frames are objects each of them has a C function of its own. */
static bool is_entry_of(const struct sd_layout *l, const uint8_t *p)
{
    if (l->frames_style == SD_FRAMES_OBJECTS)
        return true;
    return l->frame_is_entry != SD_NO_OFFSET && p[l->frame_is_entry];
}

static bool is_likely(const struct sd_shot_walk *w, uint64_t at, size_t upper_chunk,
                      const struct sd_code *code, uint64_t instr)
{
    return sd_code_has_instr(code, w->l, instr) &&
           (!w->is_in_chunk || fits_below(w, at, code, upper_chunk));
}

/* A frame that does not fit its code object is torn, or another code object has the
 * address by now, as happens all the time to what exec() compiles.  Looked at once a
 * shot: without that every stack of the new function would be cut. */
static const struct sd_code *code_again(struct sd_shot_walk *w,
                                        const struct sd_code *code)
{
    struct sd_codes *codes = w->of->codes;
    size_t n_retired = 0;

    if (code->checked_ns >= codes->now_ns)
        return code;
    w->s->n_calls++;
    if (sd_codes_verify(codes, w->of->remote, w->of->rt, &code, 1, &n_retired) < 0 ||
        n_retired == 0)
        return code;
    return code_at(w, code->address);
}

static int take_function(struct sd_shot_walk *w, uint64_t at, size_t upper_chunk)
{
    struct sd_shot *s = w->s;
    const uint8_t *last = w->b ? w->b : w->a;
    uint64_t instr = sd_shot_instr(w->l, last);
    const struct sd_code *code =
        code_at(w, sd_shot_word(last + w->l->frame_code) & w->l->code_mask);
    bool is_innermost = s->n_frames == 0;
    bool is_late = w->a == w->late && !w->of->is_still;

    if (code && !is_likely(w, at, upper_chunk, code, instr))
        code = code_again(w, code);
    if (code && w->is_in_chunk && !fits_below(w, at, code, upper_chunk))
        w->n_cut = s->n_frames; /* this one may be right: those above it are not */
    if (!code || !agrees(w, w->b) || !agrees(w, w->c) || is_late ||
        !sd_code_has_instr(code, w->l, instr))
        w->n_cut = s->n_frames + 1;
    else if (!is_innermost && (!stood(w, w->b, at, code) || !stood(w, w->c, at, code)))
        w->n_cut = s->n_frames;
    if (w->is_in_chunk)
        w->upper = at;
    if (w->l->frame_generator != SD_NO_OFFSET)
        w->is_generator = (sd_shot_word(w->a + w->l->frame_generator) |
                           sd_shot_word(last + w->l->frame_generator)) != 0;
    if (code && is_trampoline(code))
        return 0;
    return add_frame(s, code, instr, at, is_entry_of(w->l, last));
}

/* The outermost function so far was called by C.  Of several marks in a row the first
 * is that of its evaluator; the others are outside of it, as the one that stands in the
 * thread state from 3.15 on. */
static void set_mark(struct sd_shot *s, uint64_t mark)
{
    struct sd_shot_frame *outermost = s->n_frames ? &s->frames[s->n_frames - 1] : NULL;

    if (!outermost)
        return;
    outermost->is_entry = true;
    if (!outermost->mark)
        outermost->mark = mark;
}

/* The end of every chain: nothing, or a frame that is made with the thread state, which
 * points to it. */
static bool is_bottom(const struct sd_shot_walk *w, uint64_t at)
{
    uint32_t base = w->l->thread_base_frame;

    return at == 0 ||
           (base != SD_NO_OFFSET &&
            (at == w->s->thread + base || at == sd_shot_thread_word(w->s, w->l, base)));
}

/* A mark that C called Python here.  The outermost one never changes while its thread
 * lives, so it is believed for a while when a stack stands on it as before. */
static void take_mark(struct sd_shot_walk *w, uint64_t at, uint64_t previous)
{
    set_mark(w->s, at);
    if (!w->is_in_chunk)
        w->s->seen.items[w->s->seen.n - 1].is_mark = true;
    if (!is_bottom(w, previous) || !w->upper)
        return;
    w->s->root_mark = at;
    w->s->n_root_trusted = 0;
    if (!w->is_in_chunk)
        w->s->seen.n--;
}

static bool is_root(struct sd_shot_walk *w, uint64_t at)
{
    const struct sd_shot *s = w->s;
    const struct sd_shot_chunk *oldest;

    if (is_bottom(w, at))
        return true;
    if (at != s->root_mark || s->n_root_trusted >= N_ROOT_TRUST || !s->n_chunks)
        return false;
    oldest = &s->chunks[s->n_chunks - 1];
    if (w->upper > oldest->address + w->l->chunk_data + 8 || w->upper < oldest->address)
        return false;
    w->s->n_root_trusted++;
    return true;
}

/* From the innermost frame to the outermost. */
int sd_shot_walk_follow(struct sd_shot_walk *w, uint64_t at)
{
    const struct sd_layout *l = w->l;
    size_t steps;

    for (steps = 0; !is_root(w, at); steps++) {
        size_t upper_chunk = w->chunk;
        const uint8_t *last;
        uint64_t previous;
        uint8_t owner = 0;
        int rc;

        if (steps > 2 * SD_STACK_MAX)
            return SD_ETORN;
        if (w->s->n_frames == SD_STACK_MAX) {
            w->s->is_cut = true;
            return 0;
        }
        rc = hold(w, at);
        if (rc < 0)
            return rc;
        last = w->b ? w->b : w->a;
        previous = sd_shot_word(last + l->frame_previous);
        if (l->frame_owner != SD_NO_OFFSET)
            owner = last[l->frame_owner];
        if (previous == at || owner > l->owner_last)
            return SD_ETORN;
        if (l->frame_owner != SD_NO_OFFSET && owner >= l->owner_shim)
            take_mark(w, at, previous);
        else
            rc = take_function(w, at, upper_chunk);
        if (rc < 0)
            return rc;
        at = previous;
    }
    w->s->outermost_previous = at;
    /* Its mark may not have been read. */
    set_mark(w->s, at == w->s->root_mark ? at : 0);
    return 0;
}

/* --- The stack as it was */

/* Whether a frame says what is known of it.  The innermost runs on. */
static bool says_the_same(const struct sd_shot_walk *w, const struct sd_shot_frame *f,
                          uint64_t previous, bool is_innermost, bool is_outermost)
{
    const struct sd_layout *l = w->l;
    const uint8_t *p = w->a;

    return (sd_shot_word(p + l->frame_code) & l->code_mask) == f->code->address &&
           sd_shot_word(p + l->frame_previous) == previous &&
           (is_innermost || sd_shot_instr(l, p) == f->instr) &&
           (l->frame_owner == SD_NO_OFFSET || p[l->frame_owner] < l->owner_shim) &&
           (is_outermost || is_entry_of(l, p) == f->is_entry);
}

static bool is_same_frame(struct sd_shot_walk *w, size_t i)
{
    const struct sd_shot *s = w->s;
    const struct sd_shot_frame *f = &s->frames[i];
    bool is_outermost = i + 1 == s->n_frames;
    uint64_t previous = is_outermost ? s->outermost_previous : f[1].address;

    return says_the_same(w, f, previous, i == 0, is_outermost) && agrees(w, w->b) &&
           agrees(w, w->c) &&
           (i == 0 || (stood(w, w->b, f->address, f->code) &&
                       stood(w, w->c, f->address, f->code)));
}

/* From the innermost frame on.  What a later look has not brought anew was judged with
 * an earlier one. */
static bool are_same_frames(struct sd_shot_walk *w)
{
    const struct sd_shot *s = w->s;
    size_t i;

    for (i = 0; i < s->n_frames; i++) {
        if (!find_in_chunks(w, s->frames[i].address))
            return false;
        w->is_in_chunk = true;
        if (!w->b && s->look > 0)
            return true;
        if (!is_same_frame(w, i))
            return false;
    }
    return true;
}

static bool trusts_root(struct sd_shot *s)
{
    if (!s->root_mark || s->outermost_previous != s->root_mark)
        return true;
    if (s->look == 0)
        s->n_root_trusted++;
    return s->n_root_trusted <= N_ROOT_TRUST;
}

/* The innermost frame: its instruction, and whether it lies below the top. */
static bool move_on(struct sd_shot_walk *w)
{
    struct sd_shot *s = w->s;
    struct sd_shot_frame *f = &s->frames[0];
    uint64_t instr;

    find_in_chunks(w, f->address);
    instr = sd_shot_instr(w->l, w->b ? w->b : w->a);
    if (!sd_code_has_instr(f->code, w->l, instr) ||
        (w->chunk == 0 && f->address + f->code->frame_bytes > w->top))
        return false;
    s->n_same = s->n_frames - (instr != f->instr);
    f->instr = instr;
    return true;
}

/* All that take_function would ask of a frame follows from its address, its code, its
 * caller and its instruction.  Where those are as they were the answers are, too. */
bool sd_shot_walk_is_same(struct sd_shot_walk *w, uint64_t innermost)
{
    struct sd_shot *s = w->s;
    bool is_same = s->frames[0].address == innermost &&
                   s->n_retired == w->of->codes->n_retired && trusts_root(s) &&
                   are_same_frames(w);

    w->chunk = 0;
    is_same = is_same && move_on(w);
    w->chunk = 0;
    return is_same;
}

/* --- The end */

/* Whether the chain has come to its true end.  A generator that is not running has no
 * caller: seen so before and after, and running in between, it looks like the end of
 * the chain.  Where frames lie in chunks the outermost of them is the first in the
 * oldest chunk; where they do not, it is no generator's. */
bool sd_shot_walk_is_end(const struct sd_shot_walk *w)
{
    const struct sd_shot *s = w->s;
    uint64_t first;

    if (s->is_cut || s->n_frames == 0)
        return true;
    if (!s->n_chunks)
        return !w->is_generator;
    first = s->chunks[s->n_chunks - 1].address + w->l->chunk_data + 8;
    return w->upper ? w->upper <= first : w->top <= first;
}
