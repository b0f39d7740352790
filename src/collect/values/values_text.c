/* SPDX-License-Identifier: MIT */
/* values_text: prints the words of a value (values.h) as text and extracts its sizes.
 */
#include "cpython/compat.h"

#include "collect/values/values.h"

#include <inttypes.h>
#include <string.h>

#include "collect/values/dtypes.h"

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

/* What would move a terminal's cursor, or end a line of a table, is written as Python
 * would. */
static void put_printable(struct sd_buf *to, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            sd_buf_printf(to, "\\x%02x", (unsigned char)text[i]);
        else
            sd_buf_u8(to, (uint8_t)text[i]);
}

void sd_values_put_name(PyObject *name, struct sd_buf *to)
{
    /* What is no character goes as "\udc80". */
    PyObject *bytes = PyUnicode_AsEncodedString(name, "utf-8", "backslashreplace");

    if (bytes)
        put_printable(to, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
    else
        PyErr_Clear();
    Py_XDECREF(bytes);
}

void sd_values_put_type(const PyTypeObject *type, struct sd_buf *to)
{
    const char *name = type->tp_name, *dot;

    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) {
        sd_values_put_name(((const PyHeapTypeObject *)type)->ht_name, to);
        return;
    }
    dot = strrchr(name, '.');
    sd_buf_text(to, dot ? dot + 1 : name);
}

static void put_shape(struct sd_buf *to, const uint64_t *dims, unsigned n,
                      bool is_rounded)
{
    sd_buf_text(to, "shape=(");
    for (unsigned i = 0; i < n && i < SD_DIMS_MAX; i++)
        sd_buf_printf(to, "%s%s%" PRIu64, i ? ", " : "", is_rounded ? "~" : "",
                      dims[i]);
    sd_buf_text(to, n == 1 ? ",)" : n > SD_DIMS_MAX ? ", ...)" : ")");
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
    else if (bytes & SD_ARRAY_HAS_FIELDS)
        sd_buf_printf(to, "void%" PRIu64, (bytes & ~SD_ARRAY_HAS_FIELDS) * 8);
    else
        sd_buf_printf(to, "|V%" PRIu64, bytes);
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
            sd_buf_text(to, "StringDType()");
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
    if (!size || n > SD_DIMS_MAX) /* of which not all are known */
        return;
    size->kind = kind;
    size->n_dims = (uint8_t)n;
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
    return n + (nd < SD_DIMS_MAX ? nd : SD_DIMS_MAX);
}

static uint32_t put_tensor(const uint64_t *w, bool is_rounded, struct sd_buf *to,
                           struct sd_value_size *size)
{
    struct sd_tensor t = { .n_dims = w[0] & 0xff,
                           .dtype = (uint16_t)(w[0] >> 8),
                           .device = (uint8_t)(w[0] >> 24),
                           .device_index = (uint8_t)(w[0] >> 32),
                           .has_device = w[0] >> 40 & 1 };

    if (w[0] == UINT64_MAX)
        return 1;
    sd_buf_text(to, "(dtype=");
    sd_tensor_put_dtype(&t, to);
    sd_buf_text(to, ", ");
    put_shape(to, w + 1, t.n_dims, is_rounded);
    if (t.has_device) {
        sd_buf_text(to, ", device=");
        sd_tensor_put_device(&t, to);
    }
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
    if (w[0] == (kind == SD_SIZE_VALUE ? 0 : SD_NO_LENGTH))
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
    switch ((enum sd_value_kind)sd_values_kind(v, w[0])) {
    case SD_VALUE_ARRAY:
        return 1 + put_array(w + 1, is_rounded, to, size);
    case SD_VALUE_TENSOR:
        return 1 + put_tensor(w + 1, is_rounded, to, size);
    case SD_VALUE_TABLE:
        return 1 + put_table(w + 1, is_rounded, to, size);
    case SD_VALUE_INT:
        return 1 + put_number(w + 1, "", is_rounded, SD_SIZE_VALUE, to, size);
    case SD_VALUE_SEQUENCE:
    case SD_VALUE_DICT:
    case SD_VALUE_SET:
    case SD_VALUE_TEXT:
    case SD_VALUE_RANGE:
        return 1 + put_number(w + 1, "len=", is_rounded, SD_SIZE_LENGTH, to, size);
    case SD_VALUE_PLAIN:
    case SD_VALUE_UNKNOWN:
        break;
    }
    return 1;
}
