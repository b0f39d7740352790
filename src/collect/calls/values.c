/* SPDX-License-Identifier: MIT */
#include "cpython/compat.h"

#include "collect/calls/values.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "collect/calls/dtypes.h"

/* What is read of a value. */
enum kind {
    KIND_PLAIN = SD_VALUE_PLAIN, /* the type alone */
    KIND_ARRAY,
    KIND_TENSOR,
    KIND_TABLE,    /* a DataFrame */
    KIND_SEQUENCE, /* the length is where every sized object has it */
    KIND_DICT,
    KIND_SET,
    KIND_TEXT,
    KIND_RANGE,
    KIND_INT,
    KIND_UNKNOWN, /* there are too many types: nothing is kept of it */
};

enum { FIRST_PLACES = 64, MOST_TYPES = 65536 };

/* --- numpy's layouts -------------------------------------------------------------- */

struct array {
    PyObject_HEAD char *data;
    int nd;
    Py_ssize_t *dims, *strides;
    PyObject *base;
    struct dtype *dtype;
};

struct dtype { /* the part that all versions share */
    PyObject_HEAD PyTypeObject *scalar;
    char kind, letter, order, flags;
    uint32_t number; /* dtypes.h */
    /* Before 2.0: int elsize, int alignment (never 0).  Since: 64 flags, of which the
     * upper half is not in use, then the size. */
    uint32_t old_elsize, old_alignment;
    int64_t new_elsize;
};

static const struct {
    const char *name;
    int bytes;
} dtypes[] = {
    { "bool", 1 },
    { "int8", 1 },
    { "uint8", 1 },
    { "int16", 2 },
    { "uint16", 2 },
    { "int32", 4 },
    { "uint32", 4 },
    { "int64", 8 },
    { "uint64", 8 },
    { "int64", 8 },
    { "uint64", 8 },
    { "float32", 4 },
    { "float64", 8 },
    { "float128", 16 },
    { "complex64", 8 },
    { "complex128", 16 },
    { "complex256", 32 },
    { "object", 8 },
    { "", 0 },
    { "", 0 },
    { "", 0 },
    { "datetime64", 8 },
    { "timedelta64", 8 },
    { "float16", 2 },
};

static bool is_old(const struct dtype *d) { return d->old_alignment != 0; }

static uint64_t bytes_of(const struct dtype *d)
{
    return is_old(d) ? d->old_elsize : (uint64_t)d->new_elsize;
}

/* Where a dtype of time points to its own data, and where in these the unit and the
 * number of them are: behind four pointers. */
enum { OLD_TIME_AT = 80, NEW_TIME_AT = 112, UNIT_AT = 4 * 8, COUNT_AT = UNIT_AT + 4 };

static uint64_t unit_of(const struct dtype *d)
{
    size_t at = is_old(d) ? OLD_TIME_AT : NEW_TIME_AT;
    const uint8_t *data;
    uint32_t unit, count;

    memcpy(&data, (const uint8_t *)d + at, sizeof data);
    if (!data)
        return UINT64_MAX;
    memcpy(&unit, data + UNIT_AT, sizeof unit);
    memcpy(&count, data + COUNT_AT, sizeof count);
    return (uint64_t)unit << 32 | count;
}

/* --- Types ------------------------------------------------------------------------ */

static bool is_static(const PyTypeObject *type, const char *name)
{
    return !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) && strcmp(type->tp_name, name) == 0;
}

static enum kind kind_by_base(const PyTypeObject *base, const PyObject *table)
{
    if (is_static(base, "numpy.ndarray") &&
        base->tp_basicsize >= (Py_ssize_t)sizeof(struct array))
        return KIND_ARRAY;
    if (is_static(base, "torch._C.TensorBase") ||
        is_static(base, "torch._C._TensorBase"))
        return KIND_TENSOR;
    return (const PyObject *)base == table ? KIND_TABLE : KIND_PLAIN;
}

static enum kind kind_by_bases(const PyTypeObject *type)
{
    const PyObject *table = sd_found_in("pandas", "DataFrame");
    PyObject *bases = type->tp_mro;

    for (Py_ssize_t i = 0; bases && i < PyTuple_GET_SIZE(bases); i++) {
        enum kind kind =
            kind_by_base((PyTypeObject *)PyTuple_GET_ITEM(bases, i), table);

        if (kind != KIND_PLAIN)
            return kind;
    }
    return KIND_PLAIN;
}

/* Both have their length where lists have it. */
static bool is_array_or_deque(const PyTypeObject *type)
{
    const PyObject *o = (const PyObject *)type;

    return type->tp_basicsize > (Py_ssize_t)sizeof(PyVarObject) &&
           (o == sd_found_in("array", "array") ||
            o == sd_found_in("collections", "deque"));
}

static enum kind kind_of_container(PyTypeObject *type)
{
    if (type->tp_flags & (Py_TPFLAGS_LIST_SUBCLASS | Py_TPFLAGS_TUPLE_SUBCLASS |
                          Py_TPFLAGS_BYTES_SUBCLASS) ||
        PyType_IsSubtype(type, &PyByteArray_Type) || is_array_or_deque(type))
        return KIND_SEQUENCE;
    if (type->tp_flags & Py_TPFLAGS_DICT_SUBCLASS)
        return KIND_DICT;
    if (type->tp_flags & Py_TPFLAGS_UNICODE_SUBCLASS)
        return KIND_TEXT;
    if (PyType_IsSubtype(type, &PySet_Type) ||
        PyType_IsSubtype(type, &PyFrozenSet_Type))
        return KIND_SET;
    return type == &PyRange_Type ? KIND_RANGE : KIND_PLAIN;
}

static enum kind classify(const struct sd_values *v, PyTypeObject *type)
{
    enum kind kind = kind_by_bases(type);

    if (kind == KIND_PLAIN && v->detail >= SD_VALUE_LENGTHS)
        kind = kind_of_container(type);
    if (kind == KIND_PLAIN && v->detail >= SD_VALUE_SIZES && type == &PyLong_Type)
        kind = KIND_INT;
    return kind;
}

static struct sd_value_type *place_of(struct sd_value_type *types, size_t n,
                                      const PyTypeObject *type)
{
    size_t at = sd_values_home(type, n);

    while (types[at].type && types[at].type != type)
        at = (at + 1) & (n - 1);
    return &types[at];
}

bool sd_values_init(struct sd_values *v, enum sd_value_detail detail)
{
    static const char *const fields[SD_FIELDS] = {
        [SD_FIELD_MANAGER] = "_mgr",     [SD_FIELD_AXES] = "axes",
        [SD_FIELD_BLOCKS] = "blocks",    [SD_FIELD_VALUES] = "values",
        [SD_FIELD_NDARRAY] = "_ndarray", [SD_FIELD_RANGE] = "_range",
        [SD_FIELD_DATA] = "_data",
    };
    bool has_all;

    *v = (struct sd_values){ .detail = detail };
    v->types = sd_zalloc(FIRST_PLACES * sizeof *v->types);
    v->n_places = v->types ? FIRST_PLACES : 0;
    has_all = v->types;
    for (int i = 0; i < SD_FIELDS && has_all; i++)
        has_all = (v->fields[i] = PyUnicode_InternFromString(fields[i]));
    return has_all;
}

static bool make_room(struct sd_values *v)
{
    size_t n = v->n_places * 2;
    struct sd_value_type *grown;

    if (v->n_types < v->n_places / 2)
        return true;
    if (v->n_types >= MOST_TYPES)
        return false;
    grown = sd_zalloc(n * sizeof *grown);
    if (!grown)
        return false;
    for (size_t i = 0; i < v->n_places; i++)
        if (v->types[i].type)
            *place_of(grown, n, v->types[i].type) = v->types[i];
    sd_free(v->types);
    v->types = grown;
    v->n_places = n;
    return true;
}

__attribute__((noinline)) static enum kind meet(struct sd_values *v, PyTypeObject *type)
{
    struct sd_raised raised;
    enum kind kind;

    if (!make_room(v))
        return KIND_UNKNOWN;
    raised = sd_raised_take();
    kind = classify(v, type);
    sd_raised_give_back(raised);
    *place_of(v->types, v->n_places, type) = (struct sd_value_type){ type, kind };
    Py_INCREF(type);
    v->n_types++;
    return kind;
}

static inline enum kind kind_of(struct sd_values *v, PyTypeObject *type)
{
    const struct sd_value_type *place = place_of(v->types, v->n_places, type);

    return __builtin_expect(place->type != NULL, 1) ? place->kind : meet(v, type);
}

static enum kind known_kind(const struct sd_values *v, const PyTypeObject *type)
{
    const struct sd_value_type *place = place_of(v->types, v->n_places, type);

    return place->type ? place->kind : KIND_PLAIN;
}

int sd_values_traverse(const struct sd_values *v, visitproc visit, void *arg)
{
    for (size_t i = 0; i < v->n_places; i++)
        Py_VISIT(v->types[i].type);
    return 0;
}

void sd_values_release(struct sd_values *v)
{
    for (int i = 0; i < SD_FIELDS; i++)
        Py_XDECREF(v->fields[i]);
    for (size_t i = 0; i < v->n_places; i++)
        Py_XDECREF(v->types[i].type);
    sd_free(v->types);
    memset(v, 0, sizeof *v);
}

/* --- Reading ---------------------------------------------------------------------- */

/* The first binary digit and two more. */
static uint64_t rounded(uint64_t n)
{
    int shift = n < 8 ? 0 : 61 - __builtin_clzll(n);
    uint64_t step = UINT64_C(1) << shift;

    return (n + step / 2) / step * step;
}

static inline void add_size(struct sd_words *w, uint64_t n)
{
    sd_words_add(w, __builtin_expect(w->is_rounded, 0) ? rounded(n) : n);
}

/* The second word of a dtype, where it has one. */
static inline void read_more(struct sd_values *v, const struct dtype *d,
                             struct sd_words *w)
{
    switch (sd_dtype_more(d->number)) {
    case SD_DTYPE_ALONE:
        return;
    case SD_DTYPE_HAS_LENGTH:
        sd_words_add(w, bytes_of(d));
        return;
    case SD_DTYPE_HAS_UNIT:
        sd_words_add(w, unit_of(d));
        return;
    case SD_DTYPE_HAS_SCALAR:
        if (d->scalar && kind_of(v, d->scalar) != KIND_UNKNOWN) /* it is held now */
            sd_words_add(w, (uintptr_t)d->scalar);
        else
            w->is_cut = true;
        return;
    }
}

static inline void read_array(struct sd_values *v, PyObject *o, struct sd_words *w)
{
    const struct array *a = (const struct array *)o;
    const struct dtype *d = a->dtype;
    int nd = a->nd < SD_DIMS_MAX ? a->nd : SD_DIMS_MAX;
    uint64_t word;

    /* Letters, order and number are eight bytes; the flags among them give their place
     * to the number of dimensions. */
    memcpy(&word, &d->kind, sizeof word);
    word = (word & ~UINT64_C(0xff000000)) | (uint64_t)nd << 24;
    sd_words_add(w, word);
    read_more(v, d, w);
    for (int i = 0; i < nd; i++)
        add_size(w, (uint64_t)a->dims[i]);
}

static void read_tensor(PyObject *o, struct sd_words *w)
{
    struct sd_tensor t;

    if (!sd_tensor_read(o, &t)) {
        sd_words_add(w, UINT64_MAX);
        return;
    }
    sd_words_add(w, (uint64_t)t.n_dims | (uint64_t)t.dtype << 8 |
                        (uint64_t)t.device << 24 | (uint64_t)t.device_index << 32);
    for (unsigned i = 0; i < t.n_dims; i++)
        add_size(w, (uint64_t)t.dims[i]);
}

/* --- pandas ----------------------------------------------------------------------- */

/* Is it a field that a class of pandas has in C?  Its getter is pandas' own then. */
static bool is_field_of_pandas(PyObject *descriptor)
{
    static const char prefix[] = "pandas._libs.";

    return (Py_TYPE(descriptor) == &PyGetSetDescr_Type ||
            Py_TYPE(descriptor) == &PyMemberDescr_Type) &&
           strncmp(PyDescr_TYPE(descriptor)->tp_name, prefix, sizeof prefix - 1) == 0;
}

/* A field of the object: its own attribute, or one that pandas has in C.  Whatever else
 * a class has under this name may be the program's, and is left alone.  A new
 * reference. */
static PyObject *field(const struct sd_values *v, PyObject *o,
                       enum sd_value_field which)
{
    PyObject *name = v->fields[which], *found = _PyType_Lookup(Py_TYPE(o), name);

    if (!found)
        return _PyObject_GenericGetAttrWithDict(o, name, NULL, 1);
    if (is_field_of_pandas(found))
        return Py_TYPE(found)->tp_descr_get(found, o, (PyObject *)Py_TYPE(o));
    return NULL;
}

static bool is_ndarray(const PyObject *o)
{
    return o && is_static(Py_TYPE(o), "numpy.ndarray");
}

/* The shape of an array, be it numpy's or pandas' around one of numpy's.  Columns are
 * the first of two dimensions; an array without any that we know is one column. */
static void shape_of_values(const struct sd_values *v, PyObject *o, int64_t *rows,
                            int64_t *columns)
{
    PyObject *inner =
        o && !is_ndarray(o) ? field(v, o, SD_FIELD_NDARRAY) : Py_XNewRef(o);
    const struct array *a = is_ndarray(inner) ? (const struct array *)inner : NULL;

    *columns = a && a->nd == 2 ? a->dims[0] : 1;
    if (a && (a->nd == 1 || a->nd == 2))
        *rows = a->dims[a->nd - 1];
    Py_XDECREF(inner);
}

/* The length of an index: of a range, or of an array; -1: something else. */
static int64_t length_of_index(const struct sd_values *v, PyObject *index)
{
    PyObject *data = field(v, index, SD_FIELD_RANGE);
    int64_t n = -1, columns;

    if (data && Py_TYPE(data) == &PyRange_Type) {
        n = PyObject_Size(data);
    } else {
        Py_XDECREF(data);
        data = field(v, index, SD_FIELD_DATA);
        shape_of_values(v, data, &n, &columns);
    }
    Py_XDECREF(data);
    return n;
}

/* Columns and rows by the blocks of values, each of which has some of the columns. */
static void count_blocks(const struct sd_values *v, PyObject *blocks, int64_t *rows,
                         int64_t *columns)
{
    *columns = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(blocks); i++) {
        PyObject *values = field(v, PyTuple_GET_ITEM(blocks, i), SD_FIELD_VALUES);
        int64_t n;

        shape_of_values(v, values, rows, &n);
        *columns += n;
        Py_XDECREF(values);
    }
}

/* Where an axis is of a kind that does not tell its length: there may be thousands of
 * blocks, so they are asked only then. */
static bool shape_of_blocks(const struct sd_values *v, PyObject *manager, int64_t *rows,
                            int64_t *columns)
{
    PyObject *blocks = field(v, manager, SD_FIELD_BLOCKS);
    int64_t n_rows = -1, n_columns = 0;

    if (blocks && PyTuple_CheckExact(blocks)) {
        count_blocks(v, blocks, &n_rows, &n_columns);
        *rows = *rows < 0 ? n_rows : *rows;
        *columns = *columns < 0 ? n_columns : *columns;
    }
    Py_XDECREF(blocks);
    return *rows >= 0 && *columns >= 0;
}

static bool shape_of_manager(const struct sd_values *v, PyObject *manager,
                             int64_t *rows, int64_t *columns)
{
    PyObject *axes = field(v, manager, SD_FIELD_AXES);
    bool has_axes = axes && PyList_CheckExact(axes) && PyList_GET_SIZE(axes) == 2;

    if (has_axes) {
        *rows = length_of_index(v, PyList_GET_ITEM(axes, 1));
        *columns = length_of_index(v, PyList_GET_ITEM(axes, 0));
    }
    Py_XDECREF(axes);
    if (!has_axes)
        return false;
    return (*rows >= 0 && *columns >= 0) || shape_of_blocks(v, manager, rows, columns);
}

static void read_table(const struct sd_values *v, PyObject *o, struct sd_words *w)
{
    struct sd_raised raised = sd_raised_take();
    PyObject *manager = field(v, o, SD_FIELD_MANAGER);
    int64_t rows, columns;

    if (manager && shape_of_manager(v, manager, &rows, &columns)) {
        sd_words_add(w, 1);
        add_size(w, (uint64_t)rows);
        add_size(w, (uint64_t)columns);
    } else {
        sd_words_add(w, 0);
    }
    Py_XDECREF(manager);
    PyErr_Clear();
    sd_raised_give_back(raised);
}

/* --- Everything else -------------------------------------------------------------- */

/* One that is longer than any list could be has none. */
static int64_t length_of_range(PyObject *o)
{
    struct sd_raised raised = sd_raised_take();
    int64_t n = PyObject_Size(o);

    PyErr_Clear();
    sd_raised_give_back(raised);
    return n < 0 ? 0 : n;
}

static int64_t length_of(PyObject *o, enum kind kind)
{
    switch (kind) {
    case KIND_DICT:
        return PyDict_GET_SIZE(o);
    case KIND_SET:
        return PySet_GET_SIZE(o);
    case KIND_TEXT:
        return ((PyASCIIObject *)o)->length;
    case KIND_SEQUENCE:
        return Py_SIZE(o);
    case KIND_RANGE:
        return length_of_range(o);
    case KIND_PLAIN:
    case KIND_ARRAY:
    case KIND_TENSOR:
    case KIND_TABLE:
    case KIND_INT:
    case KIND_UNKNOWN:
        break;
    }
    return 0;
}

/* Those that are no number of things are integers like others: 0 words it. */
static uint64_t value_of_int(PyObject *o)
{
    int overflow;
    long long n = PyLong_AsLongLongAndOverflow(o, &overflow);

    return overflow || n < 1 || n > 1LL << 48 ? 0 : (uint64_t)n;
}

void sd_values_read_type(struct sd_values *v, PyObject *o, struct sd_words *w)
{
    if (!o)
        sd_words_add(w, 0);
    else if (kind_of(v, Py_TYPE(o)) == KIND_UNKNOWN)
        w->is_cut = true;
    else
        sd_words_add(w, (uintptr_t)Py_TYPE(o));
}

void sd_values_read_any(struct sd_values *v, PyObject *o, struct sd_words *w)
{
    enum kind kind;

    if (__builtin_expect(!o, 0)) {
        sd_words_add(w, 0);
        return;
    }
    kind = kind_of(v, Py_TYPE(o));
    sd_words_add(w, (uintptr_t)Py_TYPE(o));
    switch (kind) {
    case KIND_PLAIN:
        return;
    case KIND_ARRAY:
        read_array(v, o, w);
        return;
    case KIND_TENSOR:
        read_tensor(o, w);
        return;
    case KIND_TABLE:
        read_table(v, o, w);
        return;
    case KIND_INT:
        add_size(w, value_of_int(o));
        return;
    case KIND_SEQUENCE:
    case KIND_DICT:
    case KIND_SET:
    case KIND_TEXT:
    case KIND_RANGE:
        add_size(w, (uint64_t)length_of(o, kind));
        return;
    case KIND_UNKNOWN:
        w->is_cut = true;
        return;
    }
}

/* --- Text ------------------------------------------------------------------------- */

void sd_values_put_type(const PyTypeObject *type, struct sd_buf *to)
{
    const char *name = type->tp_name, *dot;

    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) {
        Py_ssize_t n;
        const char *text =
            PyUnicode_AsUTF8AndSize(((const PyHeapTypeObject *)type)->ht_name, &n);

        if (text)
            sd_buf_add(to, text, (size_t)n);
        else
            PyErr_Clear();
        return;
    }
    dot = strrchr(name, '.');
    sd_buf_text(to, dot ? dot + 1 : name);
}

static void put_shape(struct sd_buf *to, const uint64_t *dims, unsigned n,
                      bool is_rounded)
{
    sd_buf_text(to, "shape=(");
    for (unsigned i = 0; i < n; i++)
        sd_buf_printf(to, "%s%s%" PRIu64, i ? ", " : "", is_rounded ? "~" : "",
                      dims[i]);
    sd_buf_text(to, n == 1 ? ",)" : ")");
}

static void put_unit(struct sd_buf *to, uint64_t unit)
{
    static const char *const units[] = { "Y", "M",  "W",  "B",  "D",  "h",  "m",
                                         "s", "ms", "us", "ns", "ps", "fs", "as" };
    uint64_t which = unit >> 32, count = unit & UINT32_MAX;

    if (which >= sizeof units / sizeof *units)
        return;
    sd_buf_u8(to, '[');
    if (count != 1)
        sd_buf_printf(to, "%" PRIu64, count);
    sd_buf_printf(to, "%s]", units[which]);
}

static void put_with_length(struct sd_buf *to, uint32_t number, char order,
                            uint64_t bytes)
{
    if (number == SD_DTYPE_BYTES)
        sd_buf_printf(to, "|S%" PRIu64, bytes);
    else if (number == SD_DTYPE_TEXT)
        sd_buf_printf(to, "%cU%" PRIu64, order == '>' ? '>' : '<', bytes / 4);
    else
        sd_buf_printf(to, "void%" PRIu64, bytes * 8);
}

static void put_by_number(struct sd_buf *to, uint32_t number, char kind, char order)
{
    if (order == '>')
        sd_buf_printf(to, ">%c%d", kind, dtypes[number].bytes);
    else
        sd_buf_text(to, dtypes[number].name);
}
_Static_assert(sizeof dtypes / sizeof *dtypes == SD_DTYPE_HALF + 1,
               "every number that has no scalar has a name");

/* As str(dtype) writes it; of records, whose str tells every field, dtype.name. */
static void put_dtype(struct sd_buf *to, uint64_t word, uint64_t more)
{
    char kind = (char)word, order = (char)(word >> 16);
    uint32_t number = (uint32_t)(word >> 32);

    switch (sd_dtype_more(number)) {
    case SD_DTYPE_HAS_LENGTH:
        put_with_length(to, number, order, more);
        return;
    case SD_DTYPE_HAS_SCALAR:
        if (number == SD_DTYPE_STRINGS)
            sd_buf_text(to, "StringDType");
        else
            sd_values_put_type((const PyTypeObject *)(uintptr_t)more, to);
        return;
    case SD_DTYPE_ALONE:
        put_by_number(to, number, kind, order);
        return;
    case SD_DTYPE_HAS_UNIT:
        put_by_number(to, number, kind, order);
        put_unit(to, more);
        return;
    }
}

static void tell_size(struct sd_value_size *size, enum sd_size_kind kind,
                      const uint64_t *dims, unsigned n)
{
    if (!size)
        return;
    size->kind = kind;
    size->n_dims = (uint8_t)(n < SD_DIMS_MAX ? n : SD_DIMS_MAX);
    for (unsigned i = 0; i < size->n_dims; i++)
        size->dims[i] = (int64_t)dims[i];
}

static uint32_t put_array(const uint64_t *w, bool is_rounded, struct sd_buf *to,
                          struct sd_value_size *size)
{
    unsigned nd = w[0] >> 24 & 0xff;
    uint32_t n = sd_dtype_more((uint32_t)(w[0] >> 32)) == SD_DTYPE_ALONE ? 1 : 2;

    sd_buf_text(to, "(dtype=");
    put_dtype(to, w[0], n == 2 ? w[1] : 0);
    sd_buf_text(to, ", ");
    put_shape(to, w + n, nd, is_rounded);
    sd_buf_u8(to, ')');
    tell_size(size, SD_SIZE_SHAPE, w + n, nd);
    return n + nd;
}

static uint32_t put_tensor(const uint64_t *w, bool is_rounded, struct sd_buf *to,
                           struct sd_value_size *size)
{
    struct sd_tensor t = { .n_dims = w[0] & 0xff,
                           .dtype = (uint16_t)(w[0] >> 8),
                           .device = (uint8_t)(w[0] >> 24),
                           .device_index = (uint8_t)(w[0] >> 32) };

    if (w[0] == UINT64_MAX)
        return 1;
    sd_buf_text(to, "(dtype=");
    sd_tensor_put_dtype(&t, to);
    sd_buf_text(to, ", ");
    put_shape(to, w + 1, t.n_dims, is_rounded);
    sd_buf_text(to, ", device=");
    sd_tensor_put_device(&t, to);
    sd_buf_u8(to, ')');
    tell_size(size, SD_SIZE_SHAPE, w + 1, t.n_dims);
    return 1 + t.n_dims;
}

static uint32_t put_table(const uint64_t *w, bool is_rounded, struct sd_buf *to,
                          struct sd_value_size *size)
{
    if (!w[0])
        return 1;
    sd_buf_u8(to, '(');
    put_shape(to, w + 1, 2, is_rounded);
    sd_buf_u8(to, ')');
    tell_size(size, SD_SIZE_SHAPE, w + 1, 2);
    return 3;
}

static uint32_t put_number(const uint64_t *w, const char *before, bool is_rounded,
                           enum sd_size_kind kind, struct sd_buf *to,
                           struct sd_value_size *size)
{
    if (kind == SD_SIZE_VALUE && w[0] == 0)
        return 1;
    sd_buf_printf(to, "(%s%s%" PRIu64 ")", before, is_rounded ? "~" : "", w[0]);
    tell_size(size, kind, w, 1);
    return 1;
}

uint32_t sd_values_put(const struct sd_values *v, const uint64_t *w, bool is_rounded,
                       struct sd_buf *to, struct sd_value_size *size)
{
    const PyTypeObject *type = (const PyTypeObject *)(uintptr_t)w[0];

    if (!type) {
        sd_buf_text(to, "<unknown>");
        return 1;
    }
    sd_values_put_type(type, to);
    switch (known_kind(v, type)) {
    case KIND_ARRAY:
        return 1 + put_array(w + 1, is_rounded, to, size);
    case KIND_TENSOR:
        return 1 + put_tensor(w + 1, is_rounded, to, size);
    case KIND_TABLE:
        return 1 + put_table(w + 1, is_rounded, to, size);
    case KIND_INT:
        return 1 + put_number(w + 1, "", is_rounded, SD_SIZE_VALUE, to, size);
    case KIND_SEQUENCE:
    case KIND_DICT:
    case KIND_SET:
    case KIND_TEXT:
    case KIND_RANGE:
        return 1 + put_number(w + 1, "len=", is_rounded, SD_SIZE_LENGTH, to, size);
    case KIND_PLAIN:
    case KIND_UNKNOWN:
        break;
    }
    return 1;
}
