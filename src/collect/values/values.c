/* SPDX-License-Identifier: MIT */
#include "cpython/compat.h"

#include "collect/values/values.h"

#include <string.h>

#include "base/mem.h"

enum { FIRST_PLACES = 64, MOST_TYPES = 65536 };

/* --- Types ------------------------------------------------------------------------ */

static bool is_static(const PyTypeObject *type, const char *name)
{
    return !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) && strcmp(type->tp_name, name) == 0;
}

static enum sd_value_kind kind_by_base(const PyTypeObject *base, const PyObject *table)
{
    if (is_static(base, "numpy.ndarray") &&
        base->tp_basicsize >= (Py_ssize_t)sizeof(struct sd_array))
        return SD_VALUE_ARRAY;
    if (is_static(base, "torch._C.TensorBase") ||
        is_static(base, "torch._C._TensorBase"))
        return SD_VALUE_TENSOR;
    return (const PyObject *)base == table ? SD_VALUE_TABLE : SD_VALUE_PLAIN;
}

static enum sd_value_kind kind_by_bases(const PyTypeObject *type)
{
    const PyObject *table = sd_found_in("pandas", "DataFrame");
    PyObject *bases = type->tp_mro;

    for (Py_ssize_t i = 0; bases && i < PyTuple_GET_SIZE(bases); i++) {
        enum sd_value_kind kind =
            kind_by_base((PyTypeObject *)PyTuple_GET_ITEM(bases, i), table);

        if (kind != SD_VALUE_PLAIN)
            return kind;
    }
    return SD_VALUE_PLAIN;
}

/* Both have their length where lists have it. */
static bool is_array_or_deque(const PyTypeObject *type)
{
    const PyObject *o = (const PyObject *)type;

    return type->tp_basicsize > (Py_ssize_t)sizeof(PyVarObject) &&
           (o == sd_found_in("array", "array") ||
            o == sd_found_in("collections", "deque"));
}

static enum sd_value_kind kind_of_container(PyTypeObject *type)
{
    if (type->tp_flags & (Py_TPFLAGS_LIST_SUBCLASS | Py_TPFLAGS_TUPLE_SUBCLASS |
                          Py_TPFLAGS_BYTES_SUBCLASS) ||
        PyType_IsSubtype(type, &PyByteArray_Type) || is_array_or_deque(type))
        return SD_VALUE_SEQUENCE;
    if (type->tp_flags & Py_TPFLAGS_DICT_SUBCLASS)
        return SD_VALUE_DICT;
    if (type->tp_flags & Py_TPFLAGS_UNICODE_SUBCLASS)
        return SD_VALUE_TEXT;
    if (PyType_IsSubtype(type, &PySet_Type) ||
        PyType_IsSubtype(type, &PyFrozenSet_Type))
        return SD_VALUE_SET;
    return type == &PyRange_Type ? SD_VALUE_RANGE : SD_VALUE_PLAIN;
}

static enum sd_value_kind classify(const struct sd_values *v, PyTypeObject *type)
{
    enum sd_value_kind kind = kind_by_bases(type);

    if (kind == SD_VALUE_PLAIN && v->detail >= SD_VALUE_LENGTHS)
        kind = kind_of_container(type);
    if (kind == SD_VALUE_PLAIN && v->detail >= SD_VALUE_SIZES && type == &PyLong_Type)
        kind = SD_VALUE_INT;
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

__attribute__((noinline)) static enum sd_value_kind meet(struct sd_values *v,
                                                         PyTypeObject *type)
{
    struct sd_pending_exception raised;
    enum sd_value_kind kind;

    if (v->is_closed || !make_room(v))
        return SD_VALUE_UNKNOWN;
    raised = sd_pending_exception_take();
    kind = classify(v, type);
    sd_pending_exception_give_back(raised);
    *place_of(v->types, v->n_places, type) = (struct sd_value_type){ type, kind };
    Py_INCREF(type);
    v->n_types++;
    return kind;
}

static inline enum sd_value_kind kind_of(struct sd_values *v, PyTypeObject *type)
{
    const struct sd_value_type *place = place_of(v->types, v->n_places, type);

    return __builtin_expect(place->type != NULL, 1) ? place->kind : meet(v, type);
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

static inline void add_size(struct sd_words *w, uint64_t n)
{
    sd_words_add(w, __builtin_expect(w->is_rounded, 0) ? sd_size_rounded(n) : n);
}

/* The second word of a dtype, where it has one. */
static inline void read_more(struct sd_values *v, const struct sd_array_dtype *d,
                             struct sd_words *w)
{
    switch (sd_dtype_more(d->number)) {
    case SD_DTYPE_ALONE:
        return;
    case SD_DTYPE_HAS_LENGTH:
        sd_words_add(w, sd_array_bytes(d));
        return;
    case SD_DTYPE_HAS_UNIT:
        sd_words_add(w, sd_array_unit(d));
        return;
    case SD_DTYPE_HAS_SCALAR:
        if (d->scalar && kind_of(v, d->scalar) != SD_VALUE_UNKNOWN) /* it is held now */
            sd_words_add(w, (uintptr_t)d->scalar);
        else
            w->is_cut = true;
        return;
    }
}

static inline void read_array(struct sd_values *v, PyObject *o, struct sd_words *w)
{
    const struct sd_array *a = (const struct sd_array *)o;
    int nd = sd_array_n_dims(a);

    sd_words_add(w, sd_array_word(a));
    read_more(v, a->dtype, w);
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
                        (uint64_t)t.device << 24 | (uint64_t)t.device_index << 32 |
                        (uint64_t)t.has_device << 40);
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
    const struct sd_array *a =
        is_ndarray(inner) ? (const struct sd_array *)inner : NULL;

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
    struct sd_pending_exception raised = sd_pending_exception_take();
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
    sd_pending_exception_give_back(raised);
}

/* --- Everything else -------------------------------------------------------------- */

/* One that is longer than any list could be has none. */
static void read_range(PyObject *o, struct sd_words *w)
{
    struct sd_pending_exception raised = sd_pending_exception_take();
    int64_t n = PyObject_Size(o);

    PyErr_Clear();
    sd_pending_exception_give_back(raised);
    if (n < 0)
        sd_words_add(w, SD_NO_LENGTH);
    else
        add_size(w, (uint64_t)n);
}

static int64_t length_of(PyObject *o, enum sd_value_kind kind)
{
    switch (kind) {
    case SD_VALUE_DICT:
        return PyDict_GET_SIZE(o);
    case SD_VALUE_SET:
        return PySet_GET_SIZE(o);
    case SD_VALUE_TEXT:
        return ((PyASCIIObject *)o)->length;
    case SD_VALUE_SEQUENCE:
        return Py_SIZE(o);
    case SD_VALUE_RANGE:
    case SD_VALUE_PLAIN:
    case SD_VALUE_ARRAY:
    case SD_VALUE_TENSOR:
    case SD_VALUE_TABLE:
    case SD_VALUE_INT:
    case SD_VALUE_UNKNOWN:
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
    else if (kind_of(v, Py_TYPE(o)) == SD_VALUE_UNKNOWN)
        w->is_cut = true;
    else
        sd_words_add(w, (uintptr_t)Py_TYPE(o));
}

/* What is behind the type. */
static void read_kind(struct sd_values *v, PyObject *o, enum sd_value_kind kind,
                      struct sd_words *w)
{
    switch (kind) {
    case SD_VALUE_PLAIN:
        return;
    case SD_VALUE_ARRAY:
        read_array(v, o, w);
        return;
    case SD_VALUE_TENSOR:
        read_tensor(o, w);
        return;
    case SD_VALUE_TABLE:
        read_table(v, o, w);
        return;
    case SD_VALUE_INT:
        add_size(w, value_of_int(o));
        return;
    case SD_VALUE_SEQUENCE:
    case SD_VALUE_DICT:
    case SD_VALUE_SET:
    case SD_VALUE_TEXT:
        add_size(w, (uint64_t)length_of(o, kind));
        return;
    case SD_VALUE_RANGE:
        read_range(o, w);
        return;
    case SD_VALUE_UNKNOWN:
        w->is_cut = true;
        return;
    }
}

void sd_values_read_any(struct sd_values *v, PyObject *o, struct sd_words *w)
{
    sd_words_add(w, sd_values_type_word(o));
    if (__builtin_expect(o != NULL, 1))
        read_kind(v, o, kind_of(v, Py_TYPE(o)), w);
}

/* --- Matching --------------------------------------------------------------------- */

uint8_t sd_values_kind(const struct sd_values *v, uint64_t word)
{
    const struct sd_value_type *place;

    if (!word)
        return SD_VALUE_PLAIN;
    place = place_of(v->types, v->n_places, (PyTypeObject *)(uintptr_t)word);
    return (uint8_t)(place->type ? place->kind : SD_VALUE_PLAIN);
}

/* Words are compared one after the other: equal ones so far mean that there is a next
 * one in both. */
uint32_t sd_values_match_any(struct sd_values *v, PyObject *o, uint8_t kind,
                             const uint64_t *w)
{
    struct sd_words now;
    uint32_t i = 0;

    if (kind == SD_VALUE_INT)
        return value_of_int(o) == w[1] ? 2 : 0;
    if (kind == SD_VALUE_SEQUENCE || kind == SD_VALUE_TEXT || kind == SD_VALUE_DICT)
        return (uint64_t)length_of(o, (enum sd_value_kind)kind) == w[1] ? 2 : 0;
    now.n = 0;
    now.is_cut = now.is_rounded = false;
    read_kind(v, o, (enum sd_value_kind)kind, &now);
    while (i < now.n && now.at[i] == w[1 + i])
        i++;
    return i == now.n && !now.is_cut ? i + 1 : 0;
}
