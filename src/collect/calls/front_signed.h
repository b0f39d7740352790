/* SPDX-License-Identifier: MIT */
#ifndef SD_CALLS_FRONT_SIGNED_H
#define SD_CALLS_FRONT_SIGNED_H
/* front_signed: finds the key of a call whose arguments are part of it.
 *
 * The node that was called last from here has, mostly, the signature that this call has
 * too: its types are compared where they lie, and nothing is looked up.  What is more
 * than types, or another function, is the store's (signatures.h).
 *
 * Include it behind one of cpython's headers of frames, as compat_args.h. */
#include "cpython/compat_args.h"

#include "collect/calls/front.h"
#include "collect/calls/signatures.h"

/* hot: does the call in `f` have this signature?  A type in it is alive, so no other
 * has its address. */
static inline bool sd_front_signed_is_of(struct sd_call_tree *t,
                                         const struct sd_signature *r,
                                         const PyCodeObject *code,
                                         const sd_args_frame *f)
{
    if (r->code != code || r->n_plain == SD_SIGNATURE_ASK)
        return false;
    if (r->n_plain == SD_SIGNATURE_RICH)
        return sd_signature_matches(t, r, (uintptr_t)f);
    for (uint32_t i = 0; i < r->n_plain; i++)
        if (sd_values_type_word(sd_args_get(f, code, (int)i)) != r->words[1 + i])
            return false;
    return true;
}

/* hot: the key of a function that starts in this tree, whose keys have arguments. */
static inline uint64_t sd_calls_key_at_start(struct sd_call_tree *t,
                                             const PyCodeObject *code,
                                             const sd_args_frame *f)
{
    struct sd_call_cell *cell = t->top->cell;
    const struct sd_signature *r;

    cell = sd_call_tree_cell_at(cell, cell->last_child);
    r = sd_signature_of_key(cell->key);
    if (__builtin_expect(r && sd_front_signed_is_of(t, r, code, f), 1))
        return cell->key;
    cell = sd_call_tree_cell_at(cell, cell->next);
    r = sd_signature_of_key(cell->key);
    if (__builtin_expect(r && sd_front_signed_is_of(t, r, code, f), 1))
        return cell->key;
    return t->names.sign(t, (uintptr_t)code, code, (uintptr_t)f, false);
}
#endif
