/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SAMPLE_SHOT_PARTS_H
#define SD_COLLECT_SAMPLE_SHOT_PARTS_H
/* shot_parts: what the files of shot share: guess (what is asked for), walk (the chain
 * of frames in what came), apart (more looks where there is no other proof), and shot
 * itself (whether it can be believed). */
#include <string.h>

#include "collect/sample/shot.h"

enum {
    SD_SHOT_AROUND = 1536,  /* bytes of the second look on both sides of the top */
    SD_SHOT_STALE_MAX = 3,  /* wrong guesses in a row before the shot counts as torn */
    SD_SHOT_RESTLESS = 256, /* good shots after a torn one that get a third look */
};

static inline uint64_t sd_shot_word(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint64_t sd_shot_instr(const struct sd_layout *l, const uint8_t *p)
{
    uint32_t half;

    switch (l->instr_style) {
    case SD_INSTR_BYTES:
    case SD_INSTR_UNITS:
        memcpy(&half, p + l->frame_instr, sizeof half);
        return half;
    case SD_INSTR_PREVIOUS:
    case SD_INSTR_CURRENT:
        break;
    }
    return sd_shot_word(p + l->frame_instr);
}

static inline bool sd_shot_has_chunks(const struct sd_layout *l)
{
    return l->frames_style != SD_FRAMES_OBJECTS;
}

static inline void sd_shot_widen(uint32_t *from, uint32_t *to, uint32_t offset)
{
    if (offset == SD_NO_OFFSET)
        return;
    if (offset < *from)
        *from = offset;
    if (offset + 8 > *to)
        *to = offset + 8;
}

/* The bytes of the thread state from the first to the last word that is needed. */
static inline void sd_shot_slice(const struct sd_layout *l, uint32_t *from,
                                 uint32_t *to)
{
    *from = l->thread_frame;
    *to = l->thread_frame + 8;
    sd_shot_widen(from, to, l->thread_ident);
    sd_shot_widen(from, to, l->thread_native);
    sd_shot_widen(from, to, l->thread_serial);
    sd_shot_widen(from, to, l->thread_base_frame);
    if (!sd_shot_has_chunks(l))
        return;
    sd_shot_widen(from, to, l->thread_chunk);
    sd_shot_widen(from, to, l->thread_top);
}

static inline uint64_t sd_shot_thread_word(const struct sd_shot *s,
                                           const struct sd_layout *l, uint32_t offset)
{
    uint32_t from, to;

    sd_shot_slice(l, &from, &to);
    return sd_shot_word(s->copy + s->thread_at + (offset - from));
}

/* A walk from the innermost frame to the outermost. */
struct sd_shot_walk {
    struct sd_shot *s;
    const struct sd_shot_of *of;
    const struct sd_layout *l;
    const uint8_t *a, *b, *c; /* copies of the frame at hand; b and c may be NULL */
    uint64_t top;             /* of the newest chunk, as the thread state said */
    size_t chunk;             /* where the last frame in a chunk was */
    uint64_t upper;           /* its address; 0: none yet */
    size_t spot;              /* where the next spot most likely is */
    size_t n_cut;             /* frames that must not be believed */
    size_t n_missing;         /* frames that were not asked for */
    bool is_in_chunk;         /* the frame at hand is */
    bool is_generator;        /* the same, where frames are objects */
    uint8_t late[512];        /* a frame read on its own */
};

/* Fills the frames of the shot, and what it has seen outside chunks.  SD_ETORN,
 * SD_EGONE or SD_ENOMEM, without a sentence, when the chain cannot be followed. */
int sd_shot_walk_follow(struct sd_shot_walk *w, uint64_t innermost);
/* Whether it is the stack that the frames are of already, but for the instruction of
 * the innermost, which is brought up to date. */
bool sd_shot_walk_is_same(struct sd_shot_walk *w, uint64_t innermost);
/* After sd_shot_walk_follow: whether the chain has come to its true end. */
bool sd_shot_walk_is_end(const struct sd_shot_walk *w);

/* Reads everything where it was last time, once.  A bare code. */
int sd_shot_look_again(struct sd_shot *s, const struct sd_shot_of *of);

/* Follows the chunks of a thread from the newest on. */
int sd_shot_learn_chunks(struct sd_shot *s, const struct sd_shot_of *of,
                         uint64_t newest, uint64_t top);
#endif
