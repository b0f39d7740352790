/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_CALL_FRAMES_H
#define SD_ALLOC_CALL_FRAMES_H
/* call_frames: reads the unwind tables (.eh_frame, by the search table of
 * .eh_frame_hdr) of a loaded object: how to get from a place in a function to the
 * function that called it.
 *
 * Only what compilers write for x86-64 is understood: the caller's frame begins at a
 * distance from rsp or rbp, or at an address that stands at a distance from rbp; the
 * return address is right below it.  Everything else is no rule.  The tables are a
 * stranger's: nothing outside of the object's readable segments is read. */
#include <stdbool.h>
#include <stdint.h>

#include "collect/alloc/loaded.h"

enum sd_frame_base {
    SD_FRAME_NONE, /* there is no rule */
    SD_FRAME_RSP,
    SD_FRAME_RBP,
    SD_FRAME_AT_RBP,    /* the address that stands there */
    SD_FRAME_OUTERMOST, /* nobody called this function */
};
enum sd_saved_rbp { SD_RBP_SAME, SD_RBP_AT_FRAME, SD_RBP_AT_RBP };

struct sd_frame_rule {
    uint8_t base; /* enum sd_frame_base: of the caller's frame */
    uint8_t rbp;  /* enum sd_saved_rbp: where the caller's rbp is */
    int32_t base_offset, rbp_offset;
    uintptr_t start; /* of the function, as far as the table knows; 0: not known */
};

/* Where the object's search table is; 0: it has none. */
uintptr_t sd_call_frames_table(const struct sd_loaded *o);
/* The rule at this address.  False: the table has none; rule->start may be known. */
bool sd_call_frames_find(const struct sd_loaded *o, uintptr_t table, uintptr_t at,
                         struct sd_frame_rule *rule);
#endif
