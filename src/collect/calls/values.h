/* SPDX-License-Identifier: MIT */
#ifndef SD_CALLS_VALUES_H
#define SD_CALLS_VALUES_H
/* values: what an argument says of itself without being asked.
 *
 * A value is read into words that tell kinds of values apart: its type; of an array or
 * tensor the dtype and the shape; on request the length of a container.  They come from
 * the layout of the object, never from an attribute: `x.shape`, `type(x).__name__` and
 * even `x.__class__` can all be code of the program's.  Text and sizes are made of the
 * words alone, so equal words are the same text.
 *
 * A type that was met is kept alive: another one at its address would be taken for it.
 *
 * Layouts of others: numpy's arrays have been the same since 1.7 (their header calls it
 * a promise), their dtypes in two ways, before and since 2.0, that can be told apart.
 * Of torch see tensors.h; of pandas a table's blocks are looked at, each only if it is
 * what it should be. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "capture/record.h"
#include "collect/calls/tensors.h"
#include "cpython/compat.h"

enum sd_value_detail {
    SD_VALUE_TYPES = 1, /* and shapes */
    SD_VALUE_LENGTHS,   /* of containers, too */
    SD_VALUE_SIZES,     /* and the values of integers from 1 on */
};

struct sd_value_type {
    PyTypeObject *type; /* owned; NULL: a free place */
    unsigned kind;      /* what there is to read; SD_VALUE_PLAIN: the type is all */
};
enum { SD_VALUE_PLAIN };

/* Attributes that are looked at in tables of pandas. */
enum sd_value_field {
    SD_FIELD_MANAGER,
    SD_FIELD_AXES,
    SD_FIELD_BLOCKS,
    SD_FIELD_VALUES,
    SD_FIELD_NDARRAY,
    SD_FIELD_RANGE,
    SD_FIELD_DATA,
    SD_FIELDS
};

struct sd_values {               /* all zero is a released one */
    struct sd_value_type *types; /* owned; open addressing */
    size_t n_types, n_places;    /* n_places is a power of two */
    enum sd_value_detail detail; /* 0: as SD_VALUE_TYPES */
    PyObject *fields[SD_FIELDS]; /* their names; owned */
};

/* Words of a whole signature, one value after the other. */
enum { SD_VALUE_WORDS = 96 };
struct sd_words {
    uint64_t at[SD_VALUE_WORDS];
    uint32_t n;
    bool is_cut;     /* there was more than room for it */
    bool is_rounded; /* sizes to two binary digits behind the first */
};

static inline void sd_words_add(struct sd_words *w, uint64_t word)
{
    if (__builtin_expect(w->n < SD_VALUE_WORDS, 1))
        w->at[w->n++] = word;
    else
        w->is_cut = true;
}

/* Makes room for the first types; false: no memory.  Before anything is read. */
bool sd_values_init(struct sd_values *v, enum sd_value_detail detail);

/* Adds the words of `o` (NULL: nothing there), whatever it is. */
void sd_values_read_any(struct sd_values *v, PyObject *o, struct sd_words *w);
/* The type of it alone. */
void sd_values_read_type(struct sd_values *v, PyObject *o, struct sd_words *w);

/* Where a type is among n places, unless another has the place. */
static inline size_t sd_values_home(const PyTypeObject *type, size_t n)
{
    return ((uintptr_t)type * 0x9E3779B97F4A7C15u >> 32) & (n - 1);
}

/* hot: the same.  Most arguments are of a type that has been met and says no more. */
static inline void sd_values_read(struct sd_values *v, PyObject *o, struct sd_words *w)
{
    const struct sd_value_type *place;

    if (__builtin_expect(o != NULL, 1)) {
        place = &v->types[sd_values_home(Py_TYPE(o), v->n_places)];
        if (place->type == Py_TYPE(o) && place->kind == SD_VALUE_PLAIN) {
            sd_words_add(w, (uintptr_t)Py_TYPE(o));
            return;
        }
    }
    sd_values_read_any(v, o, w);
}

struct sd_value_size {
    enum sd_size_kind kind; /* 0: it has none */
    uint8_t n_dims;
    int64_t dims[SD_DIMS_MAX];
};

/* Writes the value whose words begin at `w`, "ndarray(dtype=float32, shape=(16,))", and
 * gives how many words it has.  `size` may be NULL. */
uint32_t sd_values_put(const struct sd_values *v, const uint64_t *w, bool is_rounded,
                       struct sd_buf *to, struct sd_value_size *size);
/* The name of a type, as `type.__name__` has it. */
void sd_values_put_type(const PyTypeObject *type, struct sd_buf *to);

/* For the collector of cycles: a class that was met may have, far behind it, who holds
 * it here. */
int sd_values_traverse(const struct sd_values *v, visitproc visit, void *arg);
/* Drops all types. */
void sd_values_release(struct sd_values *v);
#endif
