/* SPDX-License-Identifier: MIT */
#include "ext/record/recording_options.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "collect/with.h"

enum { NAME_MAX_BYTES = 64 };

/* --- Sentences ------------------------------------------------------------------- */

/* Options are keywords here: "--debug-above" of the core's sentence is debug_above. */
static void raise_in_python(void)
{
    char said[600], *to = said;
    const char *from = sd_fail_text();
    bool is_name = false;

    while (*from && to < said + sizeof said - 1) {
        bool is_first = to == said || strchr(" (;", to[-1]);

        if (is_first && strncmp(from, "--", 2) == 0) {
            is_name = true;
            from += 2;
            continue;
        }
        is_name = is_name && *from && !strchr(" =:;,.)", *from);
        *to++ = is_name && *from == '-' ? '_' : *from;
        from++;
    }
    *to = '\0';
    PyErr_SetString(PyExc_ValueError, said);
}

static int fail_in_python(int rc)
{
    if (rc == SD_EUSAGE)
        raise_in_python();
    else
        sd_ext_raise(rc);
    return -1;
}

static void name_unknown(const char *typed)
{
    const char *names[SD_RECORDING_MAX + 1];
    struct sd_buf all = { 0 };
    const char *near;
    size_t n = 0;

    for (; sd_abouts[n] && n < SD_RECORDING_MAX; n++) {
        names[n] = sd_abouts[n]->name;
        sd_buf_printf(&all, "%s%s", n ? ", " : "", names[n]);
    }
    names[n] = NULL;
    near = sd_nearest(typed, names);
    if (near)
        PyErr_Format(PyExc_ValueError, "no collector %s; did you mean %s?", typed,
                     near);
    else
        PyErr_Format(PyExc_ValueError, "no collector %s; there are %s", typed,
                     sd_buf_string(&all));
    sd_buf_release(&all);
}

/* --- Collectors ------------------------------------------------------------------ */

static int add_collector(PyObject *name, struct sd_recording_plan *out)
{
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    const struct sd_collector_about *about = text ? sd_collectors_find(text) : NULL;
    struct sd_recording_choice *c = &out->all[out->n];
    size_t n;

    if (!text && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "collectors are named by strings, not %.100s",
                     Py_TYPE(name)->tp_name);
    if (!text)
        return -1;
    for (size_t i = 0; about && i < out->n; i++)
        if (out->all[i].about == about) {
            PyErr_Format(PyExc_ValueError, "%s is named twice", text);
            return -1;
        }
    if (!about) {
        name_unknown(text);
        return -1;
    }
    sd_assert(out->n < SD_RECORDING_MAX); /* there are fewer, each named once */
    n = sd_options_count(about->options);
    c->about = about;
    c->values = sd_arena_alloc(&out->keep, (n + 1) * sizeof *c->values);
    if (!c->values)
        return fail_in_python(sd_no_memory());
    sd_options_fall_back(about->options, c->values);
    out->n++;
    return 0;
}

/* --- Values ---------------------------------------------------------------------- */

static char *keep_text(struct sd_recording_plan *out, PyObject *text)
{
    Py_ssize_t n;
    const char *p = text ? PyUnicode_AsUTF8AndSize(text, &n) : NULL;
    char *kept;

    if (!p)
        return NULL;
    if (strlen(p) != (size_t)n) {
        PyErr_SetString(PyExc_ValueError, "an option has no NUL characters in it");
        return NULL;
    }
    kept = sd_arena_string(&out->keep, p, (size_t)n);
    if (!kept)
        PyErr_NoMemory();
    return kept;
}

/* What was meant by a value, as one would type it. */
static PyObject *typed_of(const char *key, PyObject *value)
{
    if (PyUnicode_Check(value))
        return Py_NewRef(value);
    if (PyLong_Check(value) || PyFloat_Check(value))
        return PyObject_Str(value);
    if (PyList_Check(value) || PyTuple_Check(value)) {
        PyObject *comma = PyUnicode_FromString(",");
        PyObject *all = comma ? PyUnicode_Join(comma, value) : NULL;

        Py_XDECREF(comma);
        return all;
    }
    PyErr_Format(PyExc_TypeError,
                 "%s takes text, a number, True, False or None, not %.100s", key,
                 Py_TYPE(value)->tp_name);
    return NULL;
}

static int set_truth(const struct sd_option *o, bool is_true,
                     struct sd_option_value *value)
{
    if (o->kind == SD_FLAG)
        *value = (struct sd_option_value){ .number = is_true,
                                           .text = is_true ? "1" : "0",
                                           .is_given = true };
    else if (o->kind != SD_OPTIONAL)
        return sd_fail(SD_EUSAGE, "%s takes a value, not %s", o->name,
                       is_true ? "True" : "False");
    else if (is_true)
        *value = (struct sd_option_value){ .text = "", .is_given = true };
    return 0;
}

/* None leaves an option as it is when nobody names it. */
static int set_value(struct sd_recording_plan *out, const char *key,
                     const struct sd_option *o, PyObject *given,
                     struct sd_option_value *value)
{
    PyObject *text;
    char *typed;
    int rc;

    if (given == Py_None)
        return 0;
    if (PyBool_Check(given)) {
        rc = set_truth(o, given == Py_True, value);
        return rc < 0 ? fail_in_python(rc) : 0;
    }
    text = typed_of(key, given);
    typed = keep_text(out, text);
    Py_XDECREF(text);
    if (!typed)
        return -1;
    rc = sd_option_read(o, typed, value);
    return rc < 0 ? fail_in_python(rc) : 0;
}

/* Is this keyword the option, by its own name or behind that of its collector? */
static bool is_named(const char *key, const struct sd_collector_about *about,
                     const struct sd_option *o)
{
    char name[NAME_MAX_BYTES];
    size_t n = strlen(about->name);

    snprintf(name, sizeof name, "%s", o->name);
    for (char *c = name; *c; c++)
        *c = *c == '-' ? '_' : *c;
    if (strcmp(key, name) == 0)
        return true;
    return strncmp(key, about->name, n) == 0 && key[n] == '_' &&
           strcmp(key + n + 1, name) == 0;
}

static int fail_unknown(const struct sd_recording_plan *plan, const char *key)
{
    struct sd_buf all = { 0 };

    for (size_t i = 0; i < plan->n; i++)
        for (const struct sd_option *o = plan->all[i].about->options; o->name; o++)
            sd_buf_printf(&all, "%s%s", all.n ? ", " : "", o->name);
    for (size_t i = 0; i < all.n; i++)
        if (all.p[i] == '-')
            all.p[i] = '_';
    PyErr_Format(PyExc_TypeError, "no option %s; there are %s", key,
                 all.n ? sd_buf_string(&all) : "none");
    sd_buf_release(&all);
    return -1;
}

/* An option that several have is meant of all of them. */
static int take_keyword(struct sd_recording_plan *out, PyObject *name, PyObject *value)
{
    const char *key = PyUnicode_AsUTF8(name);
    bool is_known = false;

    if (!key)
        return -1;
    for (size_t i = 0; i < out->n; i++) {
        const struct sd_recording_choice *c = &out->all[i];

        for (size_t k = 0; c->about->options[k].name; k++) {
            if (!is_named(key, c->about, &c->about->options[k]))
                continue;
            is_known = true;
            if (set_value(out, key, &c->about->options[k], value, &c->values[k]) < 0)
                return -1;
        }
    }
    return is_known ? 0 : fail_unknown(out, key);
}

/* --- All ------------------------------------------------------------------------- */

static int finish(struct sd_recording_plan *out)
{
    for (size_t i = 0; i < out->n; i++) {
        const struct sd_recording_choice *c = &out->all[i];
        int rc = c->about->check ? c->about->check(c->values) : 0;

        if (rc < 0)
            return fail_in_python(rc);
        sd_with_put(&out->with, c->about, c->values);
    }
    if (out->n == 0) {
        PyErr_SetString(PyExc_ValueError,
                        "name at least one collector: sonde.record(\"calls\")");
        return -1;
    }
    return out->with.bad ? fail_in_python(sd_no_memory()) : 0;
}

int sd_recording_plan_read(PyObject *names, PyObject *keywords,
                           struct sd_recording_plan *out)
{
    Py_ssize_t n = PySequence_Size(names), at = 0;
    PyObject *key, *value;
    int rc = n < 0 ? -1 : 0;

    memset(out, 0, sizeof *out);
    for (Py_ssize_t i = 0; rc == 0 && i < n; i++) {
        PyObject *name = PySequence_GetItem(names, i);

        rc = name ? add_collector(name, out) : -1;
        Py_XDECREF(name);
    }
    while (rc == 0 && keywords && PyDict_Next(keywords, &at, &key, &value))
        rc = take_keyword(out, key, value);
    if (rc == 0)
        rc = finish(out);
    if (rc < 0)
        sd_recording_plan_release(out);
    return rc;
}

void sd_recording_plan_release(struct sd_recording_plan *plan)
{
    sd_buf_release(&plan->with);
    sd_arena_release(&plan->keep);
    memset(plan, 0, sizeof *plan);
}

static const char *kind_of(const struct sd_option *o)
{
    return o->kind == SD_FLAG ? "flag" : o->kind == SD_OPTIONAL ? "optional" : "value";
}

PyObject *sd_recording_kinds(PyObject *module, PyObject *name)
{
    const char *text = PyUnicode_AsUTF8(name);
    const struct sd_collector_about *about = text ? sd_collectors_find(text) : NULL;
    PyObject *all;

    (void)module;
    if (!about) {
        if (text)
            name_unknown(text);
        return NULL;
    }
    all = PyDict_New();
    for (const struct sd_option *o = about->options; all && o->name; o++) {
        PyObject *kind = PyUnicode_FromString(kind_of(o));

        if (!kind || PyDict_SetItemString(all, o->name, kind) < 0)
            Py_CLEAR(all);
        Py_XDECREF(kind);
    }
    return all;
}
