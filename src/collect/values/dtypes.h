/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_VALUES_DTYPES_H
#define SD_COLLECT_VALUES_DTYPES_H
/* dtypes: numpy's type numbers, and which of them have more to tell.
 *
 * One function says what the second word of a dtype is, to who reads a dtype and to who
 * writes it: were they of two minds, a size would be taken for an address.  Numbers are
 * foreign.  Those from 256 on are of types that the program registered; kinds of types
 * made by numpy's newer interface all have -1, which as an unsigned number is one of
 * these, and has its scalar type as they have. */
#include <stdint.h>

enum {
    SD_DTYPE_OBJECT = 17,
    SD_DTYPE_BYTES,
    SD_DTYPE_TEXT,
    SD_DTYPE_VOID,
    SD_DTYPE_DATETIME,
    SD_DTYPE_TIMEDELTA,
    SD_DTYPE_HALF,
    SD_DTYPE_STRINGS = 2056,
};

enum sd_dtype_more {
    SD_DTYPE_ALONE,      /* its number is all */
    SD_DTYPE_HAS_LENGTH, /* bytes of an element */
    SD_DTYPE_HAS_UNIT,   /* of time */
    SD_DTYPE_HAS_SCALAR, /* the type of an element, which must be held */
};

static inline enum sd_dtype_more sd_dtype_more(uint32_t number)
{
    if (number < SD_DTYPE_BYTES || number == SD_DTYPE_HALF)
        return SD_DTYPE_ALONE;
    if (number <= SD_DTYPE_VOID)
        return SD_DTYPE_HAS_LENGTH;
    return number <= SD_DTYPE_TIMEDELTA ? SD_DTYPE_HAS_UNIT : SD_DTYPE_HAS_SCALAR;
}
#endif
