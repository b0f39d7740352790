/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_VALUES_ARRAYS_H
#define SD_COLLECT_VALUES_ARRAYS_H
/* arrays: the memory layout of numpy arrays.
 *
 * Their layout has been the same since 1.7, and numpy's header promises it; that of
 * dtypes is one of two, before and since 2.0, which can be told apart. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "capture/record.h"
#include "collect/values/dtypes.h"
#include "cpython/compat.h"

struct sd_array {
    PyObject_HEAD char *data;
    int nd;
    Py_ssize_t *dims, *strides;
    PyObject *base;
    struct sd_array_dtype *dtype;
};

struct sd_array_dtype { /* the part that all versions share */
    PyObject_HEAD PyTypeObject *scalar;
    char kind, letter, order, flags;
    uint32_t number; /* dtypes.h */
    /* Before 2.0: int elsize, int alignment (never 0).  Since: 64 flags, of which the
     * upper half is not in use, then the size. */
    uint32_t old_elsize, old_alignment;
    int64_t new_elsize;
};

static inline bool sd_array_is_old(const struct sd_array_dtype *d)
{
    return d->old_alignment != 0;
}

/* Where it points to the names of its fields: those of records have some. */
enum { OLD_NAMES_AT = 56, NEW_NAMES_AT = 104 };
#define SD_ARRAY_HAS_FIELDS (UINT64_C(1) << 63)

/* Bytes of an element, and of what has fields that, too. */
static inline uint64_t sd_array_bytes(const struct sd_array_dtype *d)
{
    uint64_t n = sd_array_is_old(d) ? d->old_elsize : (uint64_t)d->new_elsize;
    const void *names = NULL;

    if (d->number == SD_DTYPE_VOID)
        memcpy(&names,
               (const uint8_t *)d + (sd_array_is_old(d) ? OLD_NAMES_AT : NEW_NAMES_AT),
               sizeof names);
    return names ? n | SD_ARRAY_HAS_FIELDS : n;
}

/* Where a dtype of time points to its own data, and where in these the unit and the
 * number of them are: behind four pointers. */
enum { OLD_TIME_AT = 80, NEW_TIME_AT = 112, UNIT_AT = 4 * 8, COUNT_AT = UNIT_AT + 4 };

static inline uint64_t sd_array_unit(const struct sd_array_dtype *d)
{
    size_t at = sd_array_is_old(d) ? OLD_TIME_AT : NEW_TIME_AT;
    const uint8_t *data;
    uint32_t unit, count;

    memcpy(&data, (const uint8_t *)d + at, sizeof data);
    if (!data)
        return UINT64_MAX;
    memcpy(&unit, data + UNIT_AT, sizeof unit);
    memcpy(&count, data + COUNT_AT, sizeof count);
    return (uint64_t)unit << 32 | count;
}

/* Since 2.0 there may be 64 dimensions: those beyond are counted, and no more. */
static inline int sd_array_n_dims(const struct sd_array *a)
{
    return a->nd < SD_DIMS_MAX ? a->nd : SD_DIMS_MAX;
}

/* Letters, order and number of the dtype are eight bytes; the flags among them give
 * their place to the number of dimensions. */
static inline uint64_t sd_array_word(const struct sd_array *a)
{
    uint64_t word;

    memcpy(&word, &a->dtype->kind, sizeof word);
    return (word & ~UINT64_C(0xff000000)) | (uint64_t)(a->nd & 0xff) << 24;
}

/* hot: how many of the words at `w` tell this array, too: its own and its dimensions.
 * 0: it is another, or its dtype has a second word. */
static inline uint32_t sd_array_match(const struct sd_array *a, const uint64_t *w)
{
    int nd = sd_array_n_dims(a);

    if (sd_array_word(a) != w[0] || sd_dtype_more(a->dtype->number) != SD_DTYPE_ALONE)
        return 0;
    for (int i = 0; i < nd; i++)
        if ((uint64_t)a->dims[i] != w[1 + i])
            return 0;
    return 1 + (uint32_t)nd;
}
#endif
