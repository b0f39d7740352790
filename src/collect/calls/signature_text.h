/* SPDX-License-Identifier: MIT */
#ifndef SD_CALLS_SIGNATURE_TEXT_H
#define SD_CALLS_SIGNATURE_TEXT_H
/* signature_text: prints a signature for people, and extracts its sizes.
 *
 * Written once, when the signature is new. */
#include "base/arena.h"
#include "collect/calls/signatures.h"

enum { SD_SIGNATURE_SIZES = 16 }; /* that are kept of one */

struct sd_signature_writer { /* the first six are given, with all else 0 */
    const struct sd_values *values;
    const PyCodeObject *code;
    const uint64_t *at; /* the next word; at first that behind the code's */
    struct sd_arena *arena;
    bool has_self; /* the first parameter is told as the class */
    bool is_rounded;
    struct sd_buf text; /* released by who gave the rest */
    uint32_t n_put;     /* arguments in it */
    struct sd_signature_size sizes[SD_SIGNATURE_SIZES];
    uint32_t n_sizes;
    uint8_t kinds[SD_VALUE_WORDS]; /* of the named arguments; PLAIN, of self */
    bool is_rich;                  /* some have more than their type */
    bool is_slow;                  /* some are tables */
};

/* Where there is no memory the text is bad. */
void sd_signature_write(struct sd_signature_writer *w);
#endif
