/* SPDX-License-Identifier: MIT */
#ifndef SD_HEAP_OBJECT_MARKS_H
#define SD_HEAP_OBJECT_MARKS_H
/* object_marks: which addresses were met, and how many of them are below one.
 *
 * A bit for every 8 bytes, in pieces of 1 MiB that are made where there are objects: a
 * fortieth of what a hash table takes, and most of it stays in the cache.  The granule
 * is 8 bytes since texts that the interpreter is compiled with have no better
 * alignment. */
#include <stdbool.h>
#include <stdint.h>

#include "base/pages.h"

enum {
    SD_MARKS_PIECE_BITS = 20,
    SD_MARKS_WORDS = 1 << (SD_MARKS_PIECE_BITS - 3 - 6), /* of 64 bits, in a piece */
};

struct sd_marks_piece {
    uint64_t words[SD_MARKS_WORDS];
    uint32_t below[SD_MARKS_WORDS]; /* marks before this word, once they are counted */
};

struct sd_marks {             /* all zero is a fresh one */
    struct sd_pages roots;    /* uint32_t[1 << 15]: number of a branch, from 1 on */
    struct sd_pages branches; /* uint32_t[n_branches][1 << 12]: number of a piece */
    struct sd_pages pieces;   /* struct sd_marks_piece[n_pieces] */
    uint32_t n_branches, n_pieces;
    uint64_t at;                  /* the piece at hand */
    struct sd_marks_piece *piece; /* NULL: none */
};

/* The piece that this address is in, made if it is not there; NULL: no memory, or no
 * address of a program. */
struct sd_marks_piece *sd_marks_make(struct sd_marks *m, uint64_t address);
struct sd_marks_piece *sd_marks_piece(const struct sd_marks *m, uint64_t address);
/* Counts; then sd_marks_rank answers.  Nothing is marked afterwards. */
void sd_marks_count(struct sd_marks *m);
void sd_marks_release(struct sd_marks *m);

/* hot: 1: it was not marked before; 0: it was; -1: no memory. */
static inline int sd_marks_mark(struct sd_marks *m, uint64_t address)
{
    uint64_t bit = (uint64_t)1 << (address >> 3 & 63);
    uint64_t *word;

    if (__builtin_expect(!m->piece || address >> SD_MARKS_PIECE_BITS != m->at, 0)) {
        m->piece = sd_marks_make(m, address);
        m->at = address >> SD_MARKS_PIECE_BITS;
        if (!m->piece)
            return -1;
    }
    word = &m->piece->words[address >> 9 & (SD_MARKS_WORDS - 1)];
    if (*word & bit)
        return 0;
    *word |= bit;
    return 1;
}

static inline bool sd_marks_has(const struct sd_marks *m, uint64_t address)
{
    const struct sd_marks_piece *p = sd_marks_piece(m, address);

    return p && !(address & 7) &&
           (p->words[address >> 9 & (SD_MARKS_WORDS - 1)] >> (address >> 3 & 63) & 1);
}

/* hot: how many marks are below this address. */
static inline uint32_t sd_marks_rank(const struct sd_marks *m, uint64_t address)
{
    const struct sd_marks_piece *p = sd_marks_piece(m, address);
    uint32_t word = (uint32_t)(address >> 9) & (SD_MARKS_WORDS - 1);
    uint64_t below = ((uint64_t)1 << (address >> 3 & 63)) - 1;

    return p->below[word] + (uint32_t)__builtin_popcountll(p->words[word] & below);
}
#endif
