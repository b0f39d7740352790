/* SPDX-License-Identifier: MIT */
#include "ext/call_tables.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "formats/pstats.h"

enum { READ_STEP = 1 << 20 };

static struct sd_call_tables *tables_of(PyObject *self)
{
    return (struct sd_call_tables *)self;
}

/* Searching for expressions makes objects, and so may run anybody's code, and another
 * thread's: any number may read at once, and nobody changes what is being read. */
static bool is_busy(PyObject *self)
{
    if (tables_of(self)->n_readers > 0)
        PyErr_SetString(PyExc_RuntimeError, "changed while it is being read");
    return tables_of(self)->n_readers > 0;
}

static void forget_order(struct sd_call_tables *t)
{
    sd_pstats_order_release(&t->order);
    t->is_sorted = false;
}

/* None, or what the core or Python says. */
static PyObject *done(int rc)
{
    if (rc < 0)
        return PyErr_Occurred() ? NULL : sd_ext_raise(rc);
    Py_RETURN_NONE;
}

/* --- Life */

static PyObject *make(PyTypeObject *type)
{
    PyObject *self = type->tp_alloc(type, 0);

    if (self)
        sd_call_stats_init(&tables_of(self)->stats);
    return self;
}

static PyObject *tables_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { NULL };

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, ":CallStats", names))
        return NULL;
    return make(type);
}

PyObject *sd_call_tables_new(struct sd_ext *ext, struct sd_call_stats *take_stats)
{
    PyObject *self = sd_ext_is_gone(ext) ? NULL : make(ext->call_tables);

    if (self)
        sd_call_stats_move(&tables_of(self)->stats, take_stats);
    else
        sd_call_stats_release(take_stats);
    return self;
}

static void tables_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    forget_order(tables_of(self));
    sd_call_stats_release(&tables_of(self)->stats);
    type->tp_free(self);
    Py_DECREF(type);
}

static Py_ssize_t tables_length(PyObject *self)
{
    return (Py_ssize_t)tables_of(self)->stats.n_listed;
}

/* --- In */

/* A device or a pipe is read, too, as Python would. */
static int read_whole(const char *path, struct sd_buf *bytes, struct stat *st)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), kept;
    ssize_t got = fd < 0 || fstat(fd, st) < 0 ? -1 : 1;

    while (got > 0) {
        uint8_t *room = sd_buf_room(bytes, READ_STEP);

        got = room ? read(fd, room, READ_STEP) : -1;
        if (room && got < 0 && errno == EINTR)
            got = 1;
        else if (got > 0)
            bytes->n += (size_t)got;
    }
    kept = bytes->bad ? ENOMEM : errno;
    if (fd >= 0)
        close(fd);
    errno = kept;
    return got < 0 ? -1 : 0;
}

static int add_origin(struct sd_call_stats *s, PyObject *name, time_t changed)
{
    struct sd_buf line = { 0 };
    PyObject *owner;
    size_t n;
    const char *text = sd_call_text(name, &owner, &n);
    int rc = -1;

    if (text) {
        sd_pstats_origin(&line, changed, text, n);
        rc = line.bad ? sd_no_memory()
                      : sd_call_stats_add_origin(s, (char *)line.p, line.n);
        if (rc < 0)
            sd_ext_raise(rc);
    }
    Py_XDECREF(owner);
    sd_buf_release(&line);
    return rc;
}

static int load(struct sd_call_stats *s, PyObject *name, const char *path)
{
    struct sd_buf bytes = { 0 };
    struct stat st;
    int rc;

    Py_BEGIN_ALLOW_THREADS /* the disk may take its time */
        rc = read_whole(path, &bytes, &st);
    Py_END_ALLOW_THREADS if (rc < 0)
        PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, name);
    if (rc == 0) {
        rc = sd_pstats_read(bytes.p, bytes.n, s);
        if (rc < 0)
            sd_ext_raise(sd_fail_in(rc, "%s", path));
    }
    if (rc == 0)
        rc = add_origin(s, name, st.st_mtime);
    sd_buf_release(&bytes);
    return rc;
}

/* What was loaded goes into what is there; into nothing it goes as it is. */
static int take(struct sd_call_tables *t, struct sd_call_stats *take_loaded)
{
    int rc = 0;

    if (is_busy((PyObject *)t)) { /* only now: loading lets others run */
        sd_call_stats_release(take_loaded);
        return -1;
    }
    forget_order(t);
    if (t->stats.n_functions == 0 && t->stats.n_origins == 0) {
        sd_call_stats_release(&t->stats);
        sd_call_stats_move(&t->stats, take_loaded);
    } else {
        rc = sd_call_stats_add(&t->stats, take_loaded);
    }
    sd_call_stats_release(take_loaded);
    return rc;
}

static PyObject *tables_load(PyObject *self, PyObject *name)
{
    struct sd_call_stats loaded;
    PyObject *path;
    int rc;

    if (!PyUnicode_Check(name))
        return PyErr_Format(PyExc_TypeError, "a name of a file is a str, not %.100s",
                            Py_TYPE(name)->tp_name);
    if (!PyUnicode_FSConverter(name, &path))
        return NULL;
    sd_call_stats_init(&loaded);
    rc = load(&loaded, name, PyBytes_AS_STRING(path));
    if (rc == 0)
        rc = take(tables_of(self), &loaded);
    else
        sd_call_stats_release(&loaded);
    Py_DECREF(path);
    return done(rc);
}

static PyObject *tables_load_dict(PyObject *self, PyObject *dict)
{
    struct sd_call_stats loaded;
    int rc;

    if (!PyDict_Check(dict))
        return PyErr_Format(PyExc_TypeError, "stats are a dict, not %.100s",
                            Py_TYPE(dict)->tp_name);
    sd_call_stats_init(&loaded);
    rc = sd_call_dict_read(&loaded, dict);
    if (rc == 0)
        rc = take(tables_of(self), &loaded);
    else
        sd_call_stats_release(&loaded);
    return done(rc);
}

static PyObject *tables_add(PyObject *self, PyObject *other)
{
    if (is_busy(self))
        return NULL;
    if (Py_TYPE(other) != Py_TYPE(self))
        return PyErr_Format(PyExc_TypeError, "a CallStats is added, not %.100s",
                            Py_TYPE(other)->tp_name);
    forget_order(tables_of(self));
    return done(sd_call_stats_add(&tables_of(self)->stats, &tables_of(other)->stats));
}

static PyObject *tables_copy(PyObject *self, PyObject *unused)
{
    PyObject *copy = make(Py_TYPE(self));
    int rc;

    (void)unused;
    if (!copy)
        return NULL;
    rc = sd_call_stats_add(&tables_of(copy)->stats, &tables_of(self)->stats);
    if (rc < 0) {
        Py_DECREF(copy);
        return sd_ext_raise(rc);
    }
    tables_of(copy)->widest = tables_of(self)->widest;
    return copy;
}

static PyObject *tables_strip_dirs(PyObject *self, PyObject *unused)
{
    (void)unused;
    if (is_busy(self))
        return NULL;
    forget_order(tables_of(self));
    tables_of(self)->widest = 0;
    return done(sd_call_stats_strip_dirs(&tables_of(self)->stats));
}

/* --- Order */

/* sort(("time", "name")) */
static PyObject *tables_sort(PyObject *self, PyObject *words)
{
    struct sd_call_tables *t = tables_of(self);
    size_t unknown = 0, n;
    const char **texts;
    PyObject *result = NULL;
    int rc = 0;

    if (is_busy(self))
        return NULL;
    if (!PyTuple_Check(words))
        return PyErr_Format(PyExc_TypeError, "words to sort by stand in a tuple");
    n = (size_t)PyTuple_GET_SIZE(words);
    texts = sd_alloc((n + 1) * sizeof *texts);
    if (!texts)
        return PyErr_NoMemory();
    for (size_t i = 0; i < n && rc == 0; i++) {
        texts[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(words, i));
        rc = texts[i] ? 0 : -1;
    }
    if (rc == 0) {
        forget_order(t);
        rc = sd_pstats_sort(&t->stats, texts, n, &t->order, &unknown);
        t->is_sorted = rc == 0;
        if (rc == SD_EUSAGE)
            PyErr_SetObject(PyExc_KeyError, PyTuple_GET_ITEM(words, unknown));
    }
    result = done(rc);
    sd_free(texts);
    return result;
}

static PyObject *tables_sort_clear(PyObject *self, PyObject *unused)
{
    (void)unused;
    if (is_busy(self))
        return NULL;
    forget_order(tables_of(self));
    Py_RETURN_NONE;
}

static PyObject *tables_reverse(PyObject *self, PyObject *unused)
{
    (void)unused;
    if (is_busy(self))
        return NULL;
    sd_pstats_order_reverse(&tables_of(self)->order);
    Py_RETURN_NONE;
}

static int read_order(struct sd_call_tables *t, PyObject *fast)
{
    size_t n = (size_t)PySequence_Fast_GET_SIZE(fast);

    t->order.ids = sd_alloc((n + 1) * sizeof *t->order.ids);
    if (!t->order.ids)
        return sd_no_memory();
    for (; t->order.n < n; t->order.n++) {
        PyObject *key = PySequence_Fast_GET_ITEM(fast, (Py_ssize_t)t->order.n);
        sd_function_id id;

        if (sd_call_key_read(&t->stats, key, &id) < 0)
            return -1;
        if (!sd_call_stats_at(&t->stats, id)->is_listed) {
            PyErr_SetObject(PyExc_KeyError, key);
            return -1;
        }
        t->order.ids[t->order.n] = id;
    }
    return 0;
}

/* set_order(keys or None, sort_type): an order that Python has made or changed. */
static PyObject *tables_set_order(PyObject *self, PyObject *args)
{
    struct sd_call_tables *t = tables_of(self);
    PyObject *keys, *fast = NULL;
    const char *by;
    int rc;

    if (!PyArg_ParseTuple(args, "Os:set_order", &keys, &by))
        return NULL;
    if (keys != Py_None) { /* first: it may run code that sorts */
        fast = PySequence_Fast(keys, "an order is a list of (file, line, name)");
        if (!fast)
            return NULL;
    }
    if (is_busy(self)) {
        Py_XDECREF(fast);
        return NULL;
    }
    forget_order(t);
    if (!fast)
        Py_RETURN_NONE;
    rc = read_order(t, fast);
    Py_DECREF(fast);
    sd_buf_text(&t->order.by, by);
    if (rc == 0 && t->order.by.bad)
        rc = sd_no_memory();
    t->is_sorted = rc == 0;
    if (rc < 0)
        forget_order(t);
    return done(rc);
}

static PyObject *tables_fcn_list(PyObject *self, PyObject *unused)
{
    struct sd_call_tables *t = tables_of(self);
    PyObject *list;

    (void)unused;
    if (!t->is_sorted)
        Py_RETURN_NONE;
    t->n_readers++;
    list = sd_call_keys_object(&t->stats, t->order.ids, t->order.n);
    t->n_readers--;
    return list;
}

static PyObject *tables_keys(PyObject *self, PyObject *unused)
{
    struct sd_call_tables *t = tables_of(self);
    PyObject *list;

    (void)unused;
    t->n_readers++;
    list = sd_call_keys_object(&t->stats, t->stats.listed, t->stats.n_listed);
    t->n_readers--;
    return list;
}

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
    PyObject *text = sd_call_text_object(label, n);
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
    limit->shown =
        l->shown[i] ? sd_call_text(l->shown[i], &l->owners[i], &limit->n_shown) : NULL;
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

static struct sd_pstats_view view_of(const struct sd_call_tables *t,
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
    PyObject *text = n ? sd_call_text_object((const char *)p, n) : Py_NewRef(Py_None);
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
    struct sd_call_tables *t = tables_of(self);
    struct limits limits = { 0 };
    struct sd_pstats_view view;
    PyObject *write, *given;
    struct sd_out out;
    unsigned digits = SD_PSTATS_DIGITS;
    int rc;

    if (!PyArg_ParseTuple(args, "OO!|I:print", &write, &PyTuple_Type, &given, &digits))
        return NULL;
    if (digits < 1 || digits > SD_PSTATS_DIGITS_MAX)
        return PyErr_Format(PyExc_ValueError, "digits go from 1 to %d",
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
    return done(rc);
}

static PyObject *tables_print_stats(PyObject *self, PyObject *args)
{
    return print_table(self, args, SD_PSTATS_STATS);
}

static PyObject *tables_print_callers(PyObject *self, PyObject *args)
{
    return print_table(self, args, SD_PSTATS_CALLERS);
}

static PyObject *tables_print_callees(PyObject *self, PyObject *args)
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
static PyObject *tables_print_list(PyObject *self, PyObject *args)
{
    struct sd_call_tables *t = tables_of(self);
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
            keys = sd_call_keys_object(&t->stats, choice.ids, choice.n);
        t->n_readers--;
    }
    result = rc == 0 ? give_choice(&choice, keys, write) : done(rc);
    sd_pstats_choice_release(&choice);
    limits_release(&limits);
    return result;
}

/* What `put` makes of the numbers, which do not change meanwhile. */
static PyObject *made_of(PyObject *self, PyObject *(*put)(const struct sd_call_stats *))
{
    struct sd_call_tables *t = tables_of(self);
    PyObject *made;

    t->n_readers++;
    made = put(&t->stats);
    t->n_readers--;
    return made;
}

static PyObject *tables_as_dict(PyObject *self, PyObject *unused)
{
    (void)unused;
    return made_of(self, sd_call_dict);
}

static PyObject *tables_callees(PyObject *self, PyObject *unused)
{
    (void)unused;
    return made_of(self, sd_call_callees);
}

static PyObject *tables_dumps(PyObject *self, PyObject *unused)
{
    struct sd_out out;
    PyObject *bytes = NULL;
    int rc;

    (void)unused;
    sd_out_to_memory(&out);
    rc = sd_call_stats_write_pstats(&tables_of(self)->stats, &out);
    if (rc == 0 && out.pending.bad)
        rc = sd_no_memory();
    bytes = rc < 0 ? sd_ext_raise(rc)
                   : PyBytes_FromStringAndSize((char *)out.pending.p,
                                               (Py_ssize_t)out.pending.n);
    sd_out_release(&out);
    return bytes;
}

/* --- Attributes */

static bool may_set(PyObject *self, const PyObject *value)
{
    if (!value)
        PyErr_SetString(PyExc_AttributeError, "it can be set, not deleted");
    return value && !is_busy(self);
}

static PyObject *get_files(PyObject *self, void *unused)
{
    const struct sd_call_stats *s = &tables_of(self)->stats;
    PyObject *list = PyList_New((Py_ssize_t)s->n_origins);

    (void)unused;
    for (size_t i = 0; list && i < s->n_origins; i++) {
        PyObject *line = sd_call_text_object(s->origins[i].p, s->origins[i].n);

        if (line)
            PyList_SET_ITEM(list, (Py_ssize_t)i, line);
        else
            Py_CLEAR(list);
    }
    return list;
}

static int set_files(PyObject *self, PyObject *value, void *unused)
{
    struct sd_call_stats *s = &tables_of(self)->stats;
    PyObject *fast = value ? PySequence_Fast(value, "files are a list of str") : NULL;
    int rc = 0;

    (void)unused;
    if (value && !fast)
        return -1;
    if (!may_set(self, value)) {
        Py_XDECREF(fast);
        return -1;
    }
    s->n_origins = 0;
    for (Py_ssize_t i = 0; rc == 0 && i < PySequence_Fast_GET_SIZE(fast); i++) {
        PyObject *owner;
        size_t n;
        const char *text = sd_call_text(PySequence_Fast_GET_ITEM(fast, i), &owner, &n);

        rc = text ? sd_call_stats_add_origin(s, text, n) : -1;
        if (text && rc < 0)
            sd_ext_raise(rc);
        Py_XDECREF(owner);
    }
    Py_XDECREF(fast);
    return rc < 0 ? -1 : 0;
}

static int64_t *count_of(PyObject *self, const void *is_primitive)
{
    struct sd_call_numbers *sum = &tables_of(self)->stats.sum;

    return is_primitive ? &sum->primitive : &sum->calls;
}

static PyObject *get_count(PyObject *self, void *is_primitive)
{
    return PyLong_FromLongLong(*count_of(self, is_primitive));
}

static int set_count(PyObject *self, PyObject *value, void *is_primitive)
{
    long long count = value ? PyLong_AsLongLong(value) : 0;

    if ((count == -1 && PyErr_Occurred()) || !may_set(self, value))
        return -1;
    *count_of(self, is_primitive) = count;
    return 0;
}

static PyObject *get_total_tt(PyObject *self, void *unused)
{
    const struct sd_call_numbers *sum = &tables_of(self)->stats.sum;

    (void)unused;
    return sd_call_seconds(sum->own, sum->whole & SD_WHOLE_OWN);
}

static int set_total_tt(PyObject *self, PyObject *value, void *unused)
{
    struct sd_call_numbers *sum = &tables_of(self)->stats.sum;
    double seconds = value ? PyFloat_AsDouble(value) : 0;

    (void)unused;
    if ((seconds == -1 && PyErr_Occurred()) || !may_set(self, value))
        return -1;
    sum->own = seconds;
    sum->whole = PyLong_Check(value) ? SD_WHOLE_OWN : 0;
    return 0;
}

static PyObject *get_max_name_len(PyObject *self, void *unused)
{
    const struct sd_call_tables *t = tables_of(self);

    (void)unused;
    return PyLong_FromSize_t(t->widest ? t->widest : sd_pstats_widest(&t->stats));
}

static int set_max_name_len(PyObject *self, PyObject *value, void *unused)
{
    size_t widest = value ? PyLong_AsSize_t(value) : 0;

    (void)unused;
    if ((widest == (size_t)-1 && PyErr_Occurred()) || !may_set(self, value))
        return -1;
    tables_of(self)->widest = widest;
    return 0;
}

static PyObject *get_sort_type(PyObject *self, void *unused)
{
    const struct sd_buf *by = &tables_of(self)->order.by;

    (void)unused;
    return sd_call_text_object((const char *)by->p, by->n);
}

static PyObject *get_top_level(PyObject *self, void *unused)
{
    const struct sd_call_stats *s = &tables_of(self)->stats;
    PyObject *all = PySet_New(NULL);

    (void)unused;
    tables_of(self)->n_readers++;
    for (size_t i = 0; all && i < s->n_listed; i++) {
        const struct sd_call_function *f = sd_call_stats_at(s, s->listed[i]);
        PyObject *key = f->is_top ? sd_call_key_object(f) : Py_NewRef(Py_None);

        if (!key || (key != Py_None && PySet_Add(all, key) < 0))
            Py_CLEAR(all);
        Py_XDECREF(key);
    }
    tables_of(self)->n_readers--;
    return all;
}

static int set_top_level(PyObject *self, PyObject *value, void *unused)
{
    struct sd_call_stats *s = &tables_of(self)->stats;
    PyObject *fast = value ? PySequence_List(value) : NULL;
    int rc = 0;

    (void)unused;
    if (value && !fast)
        return -1;
    if (!may_set(self, value)) {
        Py_XDECREF(fast);
        return -1;
    }
    for (size_t i = 0; rc == 0 && i < s->n_functions; i++)
        s->functions[i].is_top = false;
    for (Py_ssize_t i = 0; rc == 0 && i < PyList_GET_SIZE(fast); i++) {
        sd_function_id id;

        rc = sd_call_key_read(s, PyList_GET_ITEM(fast, i), &id);
        if (rc == 0)
            sd_call_stats_at(s, id)->is_top = true;
    }
    Py_XDECREF(fast);
    return rc;
}

static char primitive_calls[] = "primitive"; /* told by its address */

static PyGetSetDef attributes[] = {
    { "files", get_files, set_files, "the lines that say where it came from", NULL },
    { "total_calls", get_count, set_count, "calls of all functions", NULL },
    { "prim_calls", get_count, set_count, "those that were not recursive",
      primitive_calls },
    { "total_tt", get_total_tt, set_total_tt, "seconds in all functions", NULL },
    { "max_name_len", get_max_name_len, set_max_name_len,
      "characters of the longest label", NULL },
    { "sort_type", get_sort_type, NULL, "what it is ordered by, or ''", NULL },
    { "top_level", get_top_level, set_top_level, "what old profilers called", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyMethodDef methods[] = {
    { "load", tables_load, METH_O,
      "load(path)\n--\n\nAdds up what the pstats file of this name holds." },
    { "load_dict", tables_load_dict, METH_O,
      "load_dict(stats)\n--\n\nThe same of a dictionary as pstats.Stats.stats." },
    { "add", tables_add, METH_O, "add(other)\n--\n\nAdds up another CallStats." },
    { "copy", tables_copy, METH_NOARGS, "copy()\n--\n\nThe same numbers, unsorted." },
    { "strip_dirs", tables_strip_dirs, METH_NOARGS,
      "strip_dirs()\n--\n\nTakes the folders from the names of files; what becomes "
      "equal adds up." },
    { "sort", tables_sort, METH_O,
      "sort(words)\n--\n\nOrders by these words of pstats; KeyError names one that is "
      "none." },
    { "sort_clear", tables_sort_clear, METH_NOARGS,
      "sort_clear()\n--\n\nForgets the order." },
    { "reverse", tables_reverse, METH_NOARGS, "reverse()\n--\n\nReverses the order." },
    { "set_order", tables_set_order, METH_VARARGS,
      "set_order(keys, sort_type)\n--\n\nAn order made elsewhere; None is none." },
    { "fcn_list", tables_fcn_list, METH_NOARGS,
      "fcn_list()\n--\n\nThe keys in order; None when there is none." },
    { "keys", tables_keys, METH_NOARGS, "keys()\n--\n\nThe keys as they came." },
    { "print_stats", tables_print_stats, METH_VARARGS,
      "print_stats(write, restrictions, digits=3)\n--\n\nHands write() the table." },
    { "print_callers", tables_print_callers, METH_VARARGS,
      "print_callers(write, restrictions, digits=3)\n--\n\nWho called them." },
    { "print_callees", tables_print_callees, METH_VARARGS,
      "print_callees(write, restrictions, digits=3)\n--\n\nWhom they called." },
    { "get_print_list", tables_print_list, METH_VARARGS,
      "get_print_list(write, restrictions)\n--\n\n(width, keys) that are printed." },
    { "as_dict", tables_as_dict, METH_NOARGS,
      "as_dict()\n--\n\nA new dictionary, as pstats.Stats.stats." },
    { "callees", tables_callees, METH_NOARGS,
      "callees()\n--\n\nA new dictionary, as pstats.Stats.all_callees." },
    { "dumps", tables_dumps, METH_NOARGS,
      "dumps()\n--\n\nThe bytes of a pstats file." },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot slots[] = {
    { Py_tp_doc, "CallStats()\n--\n\nFunctions, their calls and their callers." },
    { Py_tp_new, tables_new },
    { Py_tp_dealloc, tables_dealloc },
    { Py_tp_methods, methods },
    { Py_tp_getset, attributes },
    { Py_sq_length, tables_length },
    { 0, NULL },
};

PyType_Spec sd_call_tables_spec = {
    .name = "_sonde.CallStats",
    .basicsize = sizeof(struct sd_call_tables),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
