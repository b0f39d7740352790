/* SPDX-License-Identifier: MIT */
#include "collect/heap/object_marks.h"

#include <stddef.h>

enum { ROOTS = 1 << 15, BRANCH = 1 << 12, ADDRESS_BITS = 47 };

static uint32_t *branch_at(const struct sd_marks *m, uint32_t number)
{
    return (uint32_t *)m->branches.p + (size_t)(number - 1) * BRANCH;
}

struct sd_marks_piece *sd_marks_piece(const struct sd_marks *m, uint64_t address)
{
    uint64_t piece = address >> SD_MARKS_PIECE_BITS;
    uint32_t branch, number;

    if (address >> ADDRESS_BITS || !m->roots.p)
        return NULL;
    branch = ((const uint32_t *)m->roots.p)[piece / BRANCH];
    if (!branch)
        return NULL;
    number = branch_at(m, branch)[piece % BRANCH];
    return number ? (struct sd_marks_piece *)m->pieces.p + number - 1 : NULL;
}

struct sd_marks_piece *sd_marks_make(struct sd_marks *m, uint64_t address)
{
    struct sd_marks_piece *there = sd_marks_piece(m, address);
    uint64_t piece = address >> SD_MARKS_PIECE_BITS;
    uint32_t *branch;

    if (there || address >> ADDRESS_BITS)
        return there;
    if (sd_pages_grow(&m->roots, ROOTS * sizeof(uint32_t)) < 0 ||
        sd_pages_grow(&m->pieces, ((size_t)m->n_pieces + 1) * sizeof *there) < 0)
        return NULL;
    branch = (uint32_t *)m->roots.p + piece / BRANCH;
    if (!*branch) {
        size_t bytes = ((size_t)m->n_branches + 1) * BRANCH * sizeof(uint32_t);

        if (sd_pages_grow(&m->branches, bytes) < 0)
            return NULL;
        *branch = ++m->n_branches;
    }
    branch_at(m, *branch)[piece % BRANCH] = ++m->n_pieces;
    return (struct sd_marks_piece *)m->pieces.p + m->n_pieces - 1;
}

static void count_piece(struct sd_marks_piece *p, uint32_t *n)
{
    for (size_t i = 0; i < SD_MARKS_WORDS; i++) {
        p->below[i] = *n;
        *n += (uint32_t)__builtin_popcountll(p->words[i]);
    }
}

void sd_marks_count(struct sd_marks *m)
{
    uint32_t n = 0;

    for (size_t i = 0; m->roots.p && i < ROOTS; i++) {
        uint32_t branch = ((const uint32_t *)m->roots.p)[i];

        for (size_t k = 0; branch && k < BRANCH; k++) {
            uint32_t number = branch_at(m, branch)[k];

            if (number)
                count_piece((struct sd_marks_piece *)m->pieces.p + number - 1, &n);
        }
    }
}

void sd_marks_release(struct sd_marks *m)
{
    sd_pages_release(&m->roots);
    sd_pages_release(&m->branches);
    sd_pages_release(&m->pieces);
    *m = (struct sd_marks){ .n_pieces = 0 };
}
