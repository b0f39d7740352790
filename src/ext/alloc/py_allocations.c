/* SPDX-License-Identifier: MIT */
#include "ext/alloc/py_allocations.h"

#include <string.h>

#include "analyse/alloc/alloc_request.h"
#include "analyse/alloc/alloc_words.h"
#include "analyse/views.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/reader.h"
#include "outputs/alloc_json.h"
#include "outputs/tables.h"
#include "profile/profile.h"

/* --- What is asked */

struct question {
    struct sd_view_request request;
    struct sd_profile *own; /* read for this question alone; or NULL */
    const struct sd_profile *p;
    struct sd_view view;
};

static void release(struct question *q)
{
    sd_view_release(&q->view);
    sd_profile_free(q->own);
}

static const char *const views[] = {
    [SD_WHICH_PEAK] = "peak",           [SD_WHICH_LEAKS] = "leaks",
    [SD_WHICH_TEMPORARY] = "temporary", [SD_WHICH_TOTAL] = "total",
    [SD_WHICH_LIVE] = "live",           [SD_WHICH_GROWING] = "growing",
};
static const char *const ways[] = {
    [SD_ROWS_BY_LINE] = "line",           [SD_ROWS_BY_FUNCTION] = "function",
    [SD_ROWS_BY_FILE] = "file",           [SD_ROWS_BY_STACK] = "stack",
    [SD_ROWS_BY_THREAD] = "thread",       [SD_ROWS_BY_PROCESS] = "process",
    [SD_ROWS_BY_ALLOCATOR] = "allocator", [SD_ROWS_BY_SIZE] = "size",
};

static bool find(const char *const *words, size_t n, const char *what, const char *word,
                 size_t *at)
{
    for (*at = 0; *at < n; ++*at)
        if (strcmp(words[*at], word) == 0)
            return true;
    PyErr_Format(PyExc_ValueError, "%s must be one of %s, %s, %s, ..., not '%s'", what,
                 words[0], words[1], words[2], word);
    return false;
}

/* The arguments of rows() and text(): what they share. */
static bool read_question(PyObject *args, struct question *q)
{
    struct sd_alloc_choice *choice = &q->request.selection.alloc;
    const char *view, *by;
    PyObject *at, *between, *n;
    size_t which, way;
    int is_mine;

    if (!PyArg_ParseTuple(args, "sspOOO", &view, &by, &is_mine, &between, &at, &n) ||
        !find(views, sizeof views / sizeof *views, "view", view, &which) ||
        !find(ways, sizeof ways / sizeof *ways, "by", by, &way))
        return false;
    q->request.alloc.which = (enum sd_alloc_which)which;
    q->request.alloc.by = (enum sd_alloc_by)way;
    q->request.stacks.choice.is_mine = is_mine;
    choice->has_sizes = way == SD_ROWS_BY_SIZE;
    choice->has_growth = which == SD_WHICH_GROWING;
    choice->has_between = between != Py_None;
    choice->has_at = at != Py_None;
    if (choice->has_between)
        choice->n_between = PyLong_AsUnsignedLongLong(between);
    if (choice->has_at && !PyErr_Occurred())
        choice->at_ns = PyLong_AsUnsignedLongLong(at);
    if (n != Py_None && !PyErr_Occurred())
        q->request.limit = PyLong_AsSize_t(n);
    if (!PyErr_Occurred() && choice->has_at != (which == SD_WHICH_LIVE))
        PyErr_SetString(PyExc_ValueError,
                        "view='live' needs at=, the time at which blocks were live, "
                        "and no other view takes at=");
    return !PyErr_Occurred();
}

static bool is_usual(const struct sd_alloc_choice *c)
{
    return !c->has_at && !c->has_sizes && !c->has_growth && !c->has_between;
}

/* --- Reading */

static const char *name_of(const struct sd_py_allocations *a)
{
    return a->path && !a->is_nameless ? PyBytes_AS_STRING(a->path) : "this recording";
}

static int load(const struct sd_py_allocations *a, const struct sd_filter *filter,
                struct sd_profile **out)
{
    struct sd_reader *reader = NULL;
    int rc = a->path
                 ? sd_reader_open(PyBytes_AS_STRING(a->path), &reader)
                 : sd_reader_open_bytes(PyBytes_AS_STRING(a->content),
                                        (size_t)PyBytes_GET_SIZE(a->content), &reader);

    if (rc == 0)
        rc = sd_profile_load_reader(reader, filter, out);
    sd_reader_free(reader);
    return rc;
}

static bool read_profile(struct sd_py_allocations *a, const struct sd_filter *filter,
                         struct sd_profile **out)
{
    int rc;

    Py_BEGIN_ALLOW_THREADS /* as long as there are events */
        rc = load(a, filter, out);
    Py_END_ALLOW_THREADS if (rc < 0) sd_ext_raise(rc);
    return rc == 0;
}

static const struct sd_profile *usual_profile(struct sd_py_allocations *a)
{
    static const struct sd_filter none;
    struct sd_profile *p = NULL;

    if (a->profile)
        return a->profile;
    if (!read_profile(a, &none, &p))
        return NULL;
    if (a->profile)
        sd_profile_free(p); /* another thread was faster */
    else
        a->profile = p;
    return a->profile;
}

static bool ask(struct sd_py_allocations *a, PyObject *args, struct question *q)
{
    int rc;

    if (!read_question(args, q))
        return false;
    if (is_usual(&q->request.selection.alloc))
        q->p = usual_profile(a);
    else if (read_profile(a, &q->request.selection, &q->own))
        q->p = q->own;
    if (!q->p)
        return false;
    rc = sd_alloc_request_check(q->p, name_of(a), &q->request.alloc,
                                &q->request.selection);
    if (rc == 0)
        rc = sd_alloc_view_allocations(q->p, &q->request, &q->view);
    if (rc == 0)
        rc = sd_view_table_sort(&q->view, &q->view.tables[0], NULL, q->request.limit);
    if (rc < 0)
        sd_ext_raise(rc);
    return rc == 0;
}

/* --- Answers */

static PyObject *text_object(const char *text)
{
    return text
               ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "surrogateescape")
               : Py_NewRef(Py_None);
}

static PyObject *frame_object(const struct sd_cell_frame *f)
{
    return Py_BuildValue("{sNsNsN}", "function", text_object(f->function), "file",
                         text_object(f->file), "line",
                         f->line ? PyLong_FromLong((long)f->line) : Py_NewRef(Py_None));
}

static PyObject *frames_object(const struct sd_cell_frames *f)
{
    PyObject *all = PyList_New((Py_ssize_t)f->n);

    for (size_t i = 0; all && i < f->n; i++) {
        PyObject *one = frame_object(&f->items[i]);

        if (one)
            PyList_SET_ITEM(all, (Py_ssize_t)i, one);
        else
            Py_CLEAR(all);
    }
    return all;
}

static PyObject *cell_object(const struct sd_cell *c)
{
    switch (c->kind) {
    case SD_CELL_TEXT:
        return c->frames ? frames_object(c->frames) : text_object(c->text);
    case SD_CELL_COUNT:
    case SD_CELL_NS:
    case SD_CELL_BYTES:
        return PyLong_FromLongLong(c->number);
    case SD_CELL_PERCENT:
    case SD_CELL_REAL:
        return PyFloat_FromDouble(c->real);
    case SD_CELL_NONE:
        break;
    }
    return Py_NewRef(Py_None);
}

static PyObject *row_object(const struct sd_view_table *t, size_t row)
{
    PyObject *dict = PyDict_New();

    for (size_t k = 0; dict && k < t->n_columns; k++) {
        PyObject *value = cell_object(sd_view_cell(t, row, k));

        if (!value || PyDict_SetItemString(dict, t->columns[k].name, value) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

static PyObject *rows_object(const struct sd_view_table *t)
{
    PyObject *all = PyList_New((Py_ssize_t)t->n_rows);

    for (size_t i = 0; all && i < t->n_rows; i++) {
        PyObject *row = row_object(t, i);

        if (row)
            PyList_SET_ITEM(all, (Py_ssize_t)i, row);
        else
            Py_CLEAR(all);
    }
    return all;
}

static PyObject *allocations_rows(PyObject *self, PyObject *args)
{
    struct question q = { .request = { .limit = 0 } };
    PyObject *rows = NULL;

    if (ask((struct sd_py_allocations *)self, args, &q))
        rows = rows_object(&q.view.tables[0]);
    release(&q);
    return rows;
}

/* "x.sonde: 1.2 s wall, ..." and, below, what `report --alloc` has. */
static PyObject *allocations_text(PyObject *self, PyObject *args)
{
    static const struct sd_text_style plain;
    struct sd_py_allocations *a = (struct sd_py_allocations *)self;
    struct question q = { .request = { .is_for_eyes = true } };
    struct sd_buf summary = { 0 }, words = { 0 };
    PyObject *text = NULL;
    struct sd_out out;

    if (ask(a, args, &q)) {
        sd_tables_summary_words(&summary, q.p, true);
        sd_alloc_words(&words, q.p);
        sd_out_to_memory(&out);
        sd_out_printf(&out, "%s: %s\n\n", name_of(a), sd_buf_string(&summary));
        sd_out_printf(&out, "%s\n", sd_buf_string(&words));
        sd_tables_put_text(&out, &q.view, &plain);
        text = sd_ext_text(&out, summary.bad || words.bad ? sd_no_memory() : 0);
    }
    sd_buf_release(&summary);
    sd_buf_release(&words);
    release(&q);
    return text;
}

static PyObject *known(int64_t n, bool is_known)
{
    return is_known ? PyLong_FromLongLong(n) : Py_NewRef(Py_None);
}

/* The keys of alloc_json. */
static PyObject *allocations_summary(PyObject *self, PyObject *unused)
{
    struct sd_py_allocations *a = (struct sd_py_allocations *)self;
    const struct sd_alloc_request request = { .which = SD_WHICH_PEAK };
    const struct sd_profile *p = usual_profile(a);
    const struct sd_filter none = { .from_ns = 0 };
    struct sd_alloc_summary s;
    int rc;

    (void)unused;
    if (!p)
        return NULL;
    rc = sd_alloc_request_check(p, name_of(a), &request, &none);
    if (rc < 0)
        return sd_ext_raise(rc);
    sd_alloc_summarize(p, &s);
#define KNOWN(name) #name, known(s.name, s.name >= 0)
    return Py_BuildValue("{szszsNsNsNsNsNsNsNsNsNsNsNsNsN}", "mode", s.mode, "layer",
                         s.layer, KNOWN(allocations), KNOWN(bytes), KNOWN(frees),
                         KNOWN(unknown_frees), KNOWN(overlaps), KNOWN(lost),
                         KNOWN(peak_bytes), KNOWN(peak_ns), KNOWN(leaked_allocations),
                         KNOWN(leaked_bytes), KNOWN(temporary_allocations),
                         "peak_rss_bytes", known(s.peak_rss_bytes, s.has_rss),
                         "untracked_bytes", known(s.untracked_bytes, s.has_rss));
#undef KNOWN
}

/* --- The type */

static PyObject *allocations_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    struct sd_py_allocations *a;
    int is_nameless = 0;
    PyObject *source;

    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O|p:Allocations", &source, &is_nameless))
        return NULL;
    a = (struct sd_py_allocations *)type->tp_alloc(type, 0);
    if (!a)
        return NULL;
    a->is_nameless = is_nameless;
    if (PyBytes_Check(source))
        a->content = Py_NewRef(source);
    else if (!PyUnicode_FSConverter(source, &a->path))
        Py_CLEAR(a);
    return (PyObject *)a;
}

static void allocations_dealloc(PyObject *self)
{
    struct sd_py_allocations *a = (struct sd_py_allocations *)self;
    PyTypeObject *type = Py_TYPE(self);

    Py_CLEAR(a->content);
    Py_CLEAR(a->path);
    sd_profile_free(a->profile);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    { "rows", allocations_rows, METH_VARARGS,
      "rows(view, by, mine, between, at_ns, n)" },
    { "text", allocations_text, METH_VARARGS,
      "text(view, by, mine, between, at_ns, n)" },
    { "summary", allocations_summary, METH_NOARGS,
      "summary(): the object \"alloc\" of `sonde report --alloc --json`" },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot slots[] = {
    { Py_tp_new, allocations_new },
    { Py_tp_methods, methods },
    { Py_tp_dealloc, allocations_dealloc },
    { 0, NULL },
};

PyType_Spec sd_allocations_spec = {
    .name = "sonde._sonde.Allocations",
    .basicsize = sizeof(struct sd_py_allocations),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
