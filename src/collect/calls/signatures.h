/* SPDX-License-Identifier: MIT */
#ifndef SD_CALLS_SIGNATURES_H
#define SD_CALLS_SIGNATURES_H
/* signatures: distinguishes calls of one function by the types of their arguments.
 *
 * The key of a call is then not its code object but a record of it and of what its
 * arguments were, found by their words (values.h) whenever the function starts.  The
 * record has the text that reports show, complete from the first call on:
 *
 *     dot(a:ndarray(dtype=float32, shape=(16,)), b:ndarray(dtype=float32, shape=(16,)))
 *     Model.predict(batch:list)      the first parameter is `self`
 *     Model(layers:int)              its __init__
 *     apply(f:function, *args:(int, str), **kwargs:(scale:float))
 *
 * A generator that goes on has the signature it began with, although its arguments may
 * be other objects by then; one that began unseen has none, only its function.
 *
 * A function may have 256 signatures; then those with sizes in them (detail LENGTHS and
 * SIZES) are rounded, up to 1024, and all others are one, `f(...)`.  A session may have
 * 65,536 functions with signatures; those that come later have none.
 *
 * Where a call has the signature of one of the last two from the same place, to see
 * that is a part of what a call costs, and as such it is measured (call_calibration.h).
 * All that takes longer is paused (call_tree.h): sd_calls_sign, and to make a node. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/record.h"
#include "collect/values/values.h"
#include "cpython/compat.h"

struct sd_call_tree;

struct sd_signature {
    PyCodeObject *code; /* held by the names */
    /* How many arguments there are to compare, when their types tell all. */
    uint32_t n_plain;
    uint32_t n_words;
    const uint8_t
        *kinds; /* of each named argument (values.h); NULL: as they are read */
    struct sd_signature *next;      /* of the same hash */
    struct sd_signature *older;     /* of the same function, made before */
    const struct sd_signature *key; /* the first that reads the same: types may have one
                                       name, and then a reader sees one signature */
    const char *text;
    uint32_t n_text;
    uint16_t n_sizes;
    bool is_slow; /* to read such arguments takes longer than many a call */
    const struct sd_signature_size *sizes;
    uint64_t words[]; /* the code's address and, where sizes are rounded, 1; then those
                         of values.h, of each argument */
};
#define SD_SIGNATURE_RICH (UINT32_MAX - 1) /* sd_signature_matches can tell */
#define SD_SIGNATURE_ASK UINT32_MAX        /* only sd_calls_sign can */

struct sd_signature_size {
    uint16_t argument; /* its number, and so its name */
    uint8_t kind;      /* enum sd_size_kind, and SD_SIZE_ROUNDED */
    uint8_t n_dims;
    const int64_t *dims;
};

struct sd_signatures; /* what a session knows of them; part of its names */

/* Keys of signatures have this bit, those of code objects none and those of C functions
 * the lowest. */
enum { SD_KEY_SIGNATURE = 2, SD_KEY_TAGS = 3 };

static inline const struct sd_signature *sd_signature_of_key(uint64_t key)
{
    return (key & SD_KEY_TAGS) == SD_KEY_SIGNATURE
               ? (const struct sd_signature *)(uintptr_t)(key - SD_KEY_SIGNATURE)
               : NULL;
}

/* The key of the function: of a signature's its code object. */
static inline uint64_t sd_function_key(uint64_t key)
{
    const struct sd_signature *s = sd_signature_of_key(key);

    return s ? (uint64_t)(uintptr_t)s->code : key;
}

/* The same for struct sd_call_names. */
uint64_t sd_calls_function_key(uint64_t key);

/* hot: for struct sd_call_names, with a struct sd_calls_names as `of`. */
uint64_t sd_calls_sign(struct sd_call_tree *t, uint64_t key, const void *code,
                       uintptr_t frame, bool goes_on);

/* hot: does a call of its function, with these arguments, have this signature, which is
 * SD_SIGNATURE_RICH? */
bool sd_signature_matches(struct sd_call_tree *t, const struct sd_signature *r,
                          uintptr_t frame);

/* The name of a parameter; borrowed. */
PyObject *sd_signature_parameter(const struct sd_signature *s, int argument);

int sd_signatures_traverse(const struct sd_signatures *s, visitproc visit, void *arg);
void sd_signatures_free(struct sd_signatures *s);
#endif
