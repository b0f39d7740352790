/* SPDX-License-Identifier: MIT */
/* py_call_tables_print: prints the tables of pstats; writes pstats and callgrind files.
 */
#include "base/error.h"
#include "base/mem.h"
#include "ext/calls/py_call_tables.h"
#include "formats/callgrind.h"
#include "formats/pstats.h"

/* --- Restrictions: Python's own regular expressions */

struct limits {
    struct sd_pstats_limit *items; /* owned */
    PyObject **shown;              /* owned: what each is called */
    PyObject **owners;             /* owned: of its bytes, where it needs one */
    PyObject **patterns;           /* owned: compiled */
    size_t n;
};

static void limits_release(struct limits *l)
{
    for (size_t i = 0; i < l->n && l->shown && l->owners && l->patterns; i++) {
        Py_XDECREF(l->shown[i]);
        Py_XDECREF(l->owners[i]);
        Py_XDECREF(l->patterns[i]);
    }
    sd_free(l->items);
    sd_free(l->shown);
    sd_free(l->owners);
    sd_free(l->patterns);
}

static int find(void *pattern, const char *label, size_t n)
{
    PyObject *text = sd_py_call_text_object(label, n);
    PyObject *found =
        text ? PyObject_CallMethod((PyObject *)pattern, "search", "O", text) : NULL;
    int rc = found ? found != Py_None : SD_EUSAGE;

    Py_XDECREF(text);
    Py_XDECREF(found);
    return rc;
}

/* Compiles it; what is no expression stays without, and is told in the table. */
static int read_pattern(struct limits *l, size_t i, PyObject *text)
{
    PyObject *re = PyImport_ImportModule("re");
    PyObject *error = re ? PyObject_GetAttrString(re, "error") : NULL;
    int rc = error ? 0 : -1;

    if (rc == 0) {
        l->patterns[i] = PyObject_CallMethod(re, "compile", "O", text);
        l->items[i].kind = l->patterns[i] ? SD_LIMIT_MATCH : SD_LIMIT_INVALID;
        l->items[i].matches = find;
        l->items[i].context = l->patterns[i];
        if (!l->patterns[i] && PyErr_ExceptionMatches(error))
            PyErr_Clear();
        rc = PyErr_Occurred() ? -1 : 0;
    }
    Py_XDECREF(error);
    Py_XDECREF(re);
    return rc;
}

/* Anything but these three kinds restricts nothing, as in pstats. */
static int read_limit(struct limits *l, size_t i, PyObject *given)
{
    struct sd_pstats_limit *limit = &l->items[i];
    int overflow = 0;

    l->shown[i] = PyObject_Repr(given);
    limit->shown = l->shown[i]
                       ? sd_py_call_text(l->shown[i], &l->owners[i], &limit->n_shown)
                       : NULL;
    if (!limit->shown)
        return -1;
    limit->kind = SD_LIMIT_COUNT;
    limit->count = -1;
    if (PyUnicode_Check(given))
        return read_pattern(l, i, given);
    if (PyFloat_Check(given)) {
        limit->kind = SD_LIMIT_FRACTION;
        limit->fraction = PyFloat_AS_DOUBLE(given);
    } else if (PyLong_Check(given)) {
        limit->count = PyLong_AsLongLongAndOverflow(given, &overflow);
    }
    return PyErr_Occurred() ? -1 : 0;
}

static int read_limits(struct limits *l, PyObject *given)
{
    int rc = 0;

    l->n = (size_t)PyTuple_GET_SIZE(given);
    l->items = sd_zalloc((l->n + 1) * sizeof *l->items);
    l->shown = sd_zalloc((l->n + 1) * sizeof *l->shown);
    l->owners = sd_zalloc((l->n + 1) * sizeof *l->owners);
    l->patterns = sd_zalloc((l->n + 1) * sizeof *l->patterns);
    if (!l->items || !l->shown || !l->owners || !l->patterns)
        return sd_no_memory();
    for (size_t i = 0; i < l->n && rc == 0; i++)
        rc = read_limit(l, i, PyTuple_GET_ITEM(given, (Py_ssize_t)i));
    return rc;
}

/* --- Out */

static struct sd_pstats_view view_of(const struct sd_py_call_tables *t,
                                     const struct limits *l)
{
    return (struct sd_pstats_view){
        .order = t->is_sorted ? &t->order : NULL,
        .limits = l->items,
        .n_limits = l->n,
        .widest = t->widest,
    };
}

static int write_text(PyObject *write, const uint8_t *p, size_t n)
{
    PyObject *text =
        n ? sd_py_call_text_object((const char *)p, n) : Py_NewRef(Py_None);
    PyObject *written = NULL;

    if (text == Py_None)
        written = Py_NewRef(Py_None);
    else if (text)
        written = PyObject_CallFunctionObjArgs(write, text, NULL);
    Py_XDECREF(text);
    Py_XDECREF(written);
    return written ? 0 : -1;
}

/* The text is made first and written when it is whole, so that write() may do with the
 * stats what it likes. */
static PyObject *print_table(PyObject *self, PyObject *args, enum sd_pstats_table table)
{
    struct sd_py_call_tables *t = sd_py_call_tables_of(self);
    struct limits limits = { 0 };
    struct sd_pstats_view view;
    PyObject *write, *given;
    struct sd_out out;
    unsigned digits = SD_PSTATS_DIGITS;
    int rc;

    if (!PyArg_ParseTuple(args, "OO!|I:print", &write, &PyTuple_Type, &given, &digits))
        return NULL;
    if (digits < 1 || digits > SD_PSTATS_DIGITS_MAX)
        return PyErr_Format(PyExc_ValueError, "digits must be from 1 to %d",
                            SD_PSTATS_DIGITS_MAX);
    sd_out_to_memory(&out);
    rc = read_limits(&limits, given);
    if (rc == 0) {
        view = view_of(t, &limits);
        view.table = table;
        view.digits = digits;
        t->n_readers++;
        rc = sd_report_pstats(&t->stats, &view, &out);
        t->n_readers--;
    }
    if (rc == 0 && out.pending.bad)
        rc = sd_no_memory();
    if (rc == 0)
        rc = write_text(write, out.pending.p, out.pending.n);
    sd_out_release(&out);
    limits_release(&limits);
    return sd_py_call_tables_done(rc);
}

PyObject *sd_py_call_tables_print_stats(PyObject *self, PyObject *args)
{
    return print_table(self, args, SD_PSTATS_STATS);
}

PyObject *sd_py_call_tables_print_callers(PyObject *self, PyObject *args)
{
    return print_table(self, args, SD_PSTATS_CALLERS);
}

PyObject *sd_py_call_tables_print_callees(PyObject *self, PyObject *args)
{
    return print_table(self, args, SD_PSTATS_CALLEES);
}

static PyObject *give_choice(struct sd_pstats_choice *choice, PyObject *keys,
                             PyObject *write)
{
    if (keys && choice->n > 0) {
        sd_buf_text(&choice->about, "\n");
        if (choice->about.bad)
            PyErr_NoMemory();
        if (choice->about.bad ||
            write_text(write, choice->about.p, choice->about.n) < 0)
            Py_CLEAR(keys);
    }
    return keys ? Py_BuildValue("nN", (Py_ssize_t)choice->width, keys) : NULL;
}

/* get_print_list(write, restrictions): (width, keys); says what was left out. */
PyObject *sd_py_call_tables_print_list(PyObject *self, PyObject *args)
{
    struct sd_py_call_tables *t = sd_py_call_tables_of(self);
    struct sd_pstats_choice choice = { 0 };
    struct limits limits = { 0 };
    struct sd_pstats_view view;
    PyObject *write, *given, *result, *keys = NULL;
    int rc;

    if (!PyArg_ParseTuple(args, "OO!:get_print_list", &write, &PyTuple_Type, &given))
        return NULL;
    rc = read_limits(&limits, given);
    if (rc == 0) {
        view = view_of(t, &limits);
        view.table = SD_PSTATS_CALLERS; /* has a width */
        t->n_readers++;
        rc = sd_pstats_choose(&t->stats, &view, &choice);
        if (rc == 0)
            keys = sd_py_call_keys_object(&t->stats, choice.ids, choice.n);
        t->n_readers--;
    }
    result = rc == 0 ? give_choice(&choice, keys, write) : sd_py_call_tables_done(rc);
    sd_pstats_choice_release(&choice);
    limits_release(&limits);
    return result;
}

/* What `put` makes of the numbers, which do not change meanwhile. */
static PyObject *made_of(PyObject *self, PyObject *(*put)(const struct sd_call_stats *))
{
    struct sd_py_call_tables *t = sd_py_call_tables_of(self);
    PyObject *made;

    t->n_readers++;
    made = put(&t->stats);
    t->n_readers--;
    return made;
}

PyObject *sd_py_call_tables_as_dict(PyObject *self, PyObject *unused)
{
    (void)unused;
    return made_of(self, sd_py_call_dict);
}

PyObject *sd_py_call_tables_callees(PyObject *self, PyObject *unused)
{
    (void)unused;
    return made_of(self, sd_py_call_callees);
}

PyObject *sd_py_call_tables_dumps(PyObject *self, PyObject *unused)
{
    struct sd_out out;

    (void)unused;
    sd_out_to_memory(&out);
    return sd_ext_bytes(
        &out, sd_call_stats_write_pstats(&sd_py_call_tables_of(self)->stats, &out));
}

PyObject *sd_py_call_tables_callgrind(PyObject *self, PyObject *args)
{
    struct sd_callgrind_head head = { .has_names_first = true };
    struct sd_out out;

    if (!PyArg_ParseTuple(args, "ssd", &head.command, &head.event, &head.per_unit))
        return NULL;
    sd_out_to_memory(&out);
    return sd_ext_bytes(&out, sd_call_stats_write_callgrind(
                                  &sd_py_call_tables_of(self)->stats, &head, &out));
}
