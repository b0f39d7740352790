/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_VALUES_VALUES_H
#define SD_COLLECT_VALUES_VALUES_H
/* values: reads an argument's type, shape and size from memory; none of its code runs.
 *
 * A value is read into words that tell kinds of values apart: its type; of an array or
 * tensor the dtype and the shape; on request the length of a container.  They come from
 * the layout of the object, never from an attribute: `x.shape`, `type(x).__name__` and
 * even `x.__class__` can all be code of the program's.  Text and sizes are made of the
 * words alone, so equal words are the same text.
 *
 * A type that was met is kept alive: another one at its address would be taken for it.
 * Where no new signature is made any more, no type is met either.
 *
 * Layouts of others: of numpy see arrays.h, of torch tensors.h; of pandas a table's
 * blocks are looked at, each only if it is what it should be. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "capture/record.h"
#include "collect/values/arrays.h"
#include "collect/values/tensors.h"
#include "cpython/compat.h"

enum sd_value_detail {
    SD_VALUE_TYPES = 1, /* and shapes */
    SD_VALUE_LENGTHS,   /* of containers, too */
    SD_VALUE_SIZES,     /* and the values of integers from 1 on */
};

/* What is read of a value. */
enum sd_value_kind {
    SD_VALUE_PLAIN, /* the type alone */
    SD_VALUE_ARRAY,
    SD_VALUE_TENSOR,
    SD_VALUE_TABLE,    /* a DataFrame */
    SD_VALUE_SEQUENCE, /* the length is where every sized object has it */
    SD_VALUE_DICT,
    SD_VALUE_SET,
    SD_VALUE_TEXT,
    SD_VALUE_RANGE,
    SD_VALUE_INT,
    SD_VALUE_UNKNOWN, /* not met, for there are too many: nothing is kept of it */
};

struct sd_value_type {
    PyTypeObject *type; /* owned; NULL: a free place */
    enum sd_value_kind kind;
};

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
    bool is_closed; /* types that were not met are SD_VALUE_UNKNOWN from now on */
    PyObject *fields[SD_FIELDS]; /* their names; owned */
};

/* The word of a length that nobody could count. */
#define SD_NO_LENGTH UINT64_MAX

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

/* What there is to read of a value whose words begin so; the type has been met. */
uint8_t sd_values_kind(const struct sd_values *v, uint64_t word);
static inline uint64_t sd_values_type_word(PyObject *o)
{
    return __builtin_expect(o != NULL, 1) ? (uintptr_t)Py_TYPE(o) : 0;
}

/* As below, of a value of this type, whatever there is to read of it. */
uint32_t sd_values_match_any(struct sd_values *v, PyObject *o, uint8_t kind,
                             const uint64_t *w);

/* hot: how many of the words at `w` tell `o` as well; 0: it is another kind of value.
 * Cheaper than to read it: a value is mostly of the kind that was there last, which is
 * `kind`. */
static inline uint32_t sd_values_match(struct sd_values *v, PyObject *o, uint8_t kind,
                                       const uint64_t *w)
{
    uint32_t n;

    if (sd_values_type_word(o) != w[0])
        return 0;
    if (kind == SD_VALUE_PLAIN)
        return 1;
    n = kind == SD_VALUE_ARRAY ? sd_array_match((const struct sd_array *)o, w + 1) : 0;
    return __builtin_expect(n > 0, 1) ? n + 1 : sd_values_match_any(v, o, kind, w);
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
/* Text of the program's, in UTF-8 and in one line, whatever is in it. */
void sd_values_put_name(PyObject *name, struct sd_buf *to);
/* The name of a type, as `type.__name__` has it. */
void sd_values_put_type(const PyTypeObject *type, struct sd_buf *to);

/* For the collector of cycles: a class that was met may have, far behind it, who holds
 * it here. */
int sd_values_traverse(const struct sd_values *v, visitproc visit, void *arg);
/* Drops all types. */
void sd_values_release(struct sd_values *v);
#endif
