/* SPDX-License-Identifier: MIT */
#ifndef SD_PROCESS_PYTHON_CODE_PROOF_H
#define SD_PROCESS_PYTHON_CODE_PROOF_H
/* code_proof: checks whether the code objects are still those that were read.
 *
 * A program that compiles the same kind of text again and again frees and allocates in
 * the same order: then the name, the file name and the tables of the next code object
 * lie where those of the last one lay, and every pointer is the same.  Newer CPythons
 * number their code objects; where there is no number the contents are compared, too.
 *
 * That makes five pieces of memory of each function of a stack, and a range of a system
 * call costs as much as copying a page.  But a file name is shared by all functions of
 * its file, a name is most often its own qualified name, and what was made together
 * lies together.  So the pieces are put in order of their addresses and those that lie
 * near each other are read as one range: for a stack of ten functions of one file a
 * dozen ranges instead of fifty.  What was put in order is kept: the next stack most
 * often has the same functions. */
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "cpython/layout.h"
#include "process/python/runtime.h"
#include "process/remote.h"

enum {
    SD_CODE_STAMP = 7, /* words that tell one code object from another */
    SD_CODE_PARTS = 4, /* what it points to that does, too */
};

struct sd_code;
struct sd_codes;

/* The contents of a str or of bytes: how many there are, and then the data. */
struct sd_code_part {
    uint64_t address;       /* of the object; 0: there is none */
    uint32_t n_at, data_at; /* offsets in it */
    uint32_t n_data;        /* bytes of data that are compared */
    uint32_t crc;           /* of the number and of these */
};

struct sd_code_piece {
    uint64_t address;
    size_t n, at; /* bytes, and where in what comes */
};

struct sd_code_proof {            /* all zero is a fresh one */
    const struct sd_code **codes; /* owned */
    size_t n, cap;
    struct sd_code_piece *pieces; /* owned; each code's, one code after the other */
    size_t n_pieces, cap_pieces;
    uint32_t *order; /* owned; the pieces by address */
    size_t cap_order;
    struct iovec *from; /* owned; what must be read, in this order */
    size_t n_from, cap_from;
    size_t n_bytes;   /* of it */
    size_t n_retired; /* codes that were, then: an entry may have been taken again */
};

/* What tells a code object from the next one at its address: for who reads it. */
void sd_code_take_stamp(const struct sd_layout *l, const uint8_t *header,
                        uint64_t stamp[SD_CODE_STAMP]);
struct sd_code_part sd_code_part_of(uint64_t address, uint32_t n_at, uint64_t n,
                                    uint32_t data_at, const uint8_t *data,
                                    size_t n_data);

/* Fills from[0..n_from) for these codes of c.  SD_ENOMEM. */
int sd_code_proof_plan(struct sd_code_proof *p, const struct sd_codes *c,
                       const struct sd_layout *l, const struct sd_code *const *codes,
                       size_t n);
/* All of it has come: those that are the same are checked now, the others are retired.
 * How many were. */
size_t sd_code_proof_judge(const struct sd_code_proof *p, struct sd_codes *c,
                           const struct sd_layout *l, const uint8_t *came);
void sd_code_proof_release(struct sd_code_proof *p);

/* Reads and judges these, each of them live. */
int sd_codes_verify(struct sd_codes *c, const struct sd_remote *r,
                    const struct sd_runtime *rt, const struct sd_code *const *some,
                    size_t n, size_t *n_retired);
#endif
