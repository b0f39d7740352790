/* SPDX-License-Identifier: MIT */
#include "collect/lines/code_selection.h"

#include "base/assert.h"
#include "base/mem.h"
#include "collect/lines/line_memory.h"
#include "cpython/compat.h"

Py_ssize_t sd_line_extra = -1;
sd_line_seeker *sd_line_seeks;
unsigned sd_line_seekers;

struct sd_line_target *sd_line_known(const PyCodeObject *code)
{
    struct sd_line_target *c = sd_compat_code_extra(code, sd_line_extra);

    return (uintptr_t)c > SD_LINE_UNWANTED ? c : NULL;
}

static struct sd_line_target *make_chosen(PyCodeObject *code)
{
    bool was_unwanted = sd_compat_code_extra(code, sd_line_extra) != NULL;
    struct sd_line_target *c = sd_zalloc(sizeof *c);

    if (!c || sd_compat_code_set_extra(code, sd_line_extra, c) < 0) {
        PyErr_Clear();
        sd_free(c);
        return NULL;
    }
    c->code = (PyCodeObject *)Py_NewRef((PyObject *)code);
    c->was_unwanted = was_unwanted;
    return c;
}

static void free_chosen(struct sd_line_target *c)
{
    PyCodeObject *code = c->code;

    sd_assert(!c->core.books);
    sd_assert(!c->inner);
    sd_line_memory_acquit(&c->core);
    sd_compat_code_set_extra(code, sd_line_extra, NULL);
    sd_table_release(&c->line_at);
    sd_free(c);
    Py_DECREF(code);
}

bool sd_line_is_part(const PyCodeObject *code)
{
    enum { WAITS = CO_COROUTINE | CO_ASYNC_GENERATOR | CO_GENERATOR };

    if (!sd_compat_code_has_comprehensions() || code->co_flags & WAITS)
        return false;
    return PyUnicode_CompareWithASCIIString(code->co_name, "<listcomp>") == 0 ||
           PyUnicode_CompareWithASCIIString(code->co_name, "<setcomp>") == 0 ||
           PyUnicode_CompareWithASCIIString(code->co_name, "<dictcomp>") == 0;
}

/* Comprehensions in this code are told of with the function.  One that finds no memory
 * is not told of by itself. */
static void choose_parts(struct sd_line_target *owner, PyCodeObject *code)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_consts); i++) {
        PyObject *o = PyTuple_GET_ITEM(code->co_consts, i);
        struct sd_line_target *c;

        if (!PyCode_Check(o) || !sd_line_is_part((PyCodeObject *)o) ||
            sd_line_known((PyCodeObject *)o))
            continue;
        c = make_chosen((PyCodeObject *)o);
        if (!c)
            continue;
        c->owner = owner;
        c->next = owner->inner;
        owner->inner = c;
        choose_parts(owner, c->code);
    }
}

struct sd_line_target *sd_line_choose(PyCodeObject *code)
{
    struct sd_line_target *c = sd_line_known(code);

    if (!c) {
        c = make_chosen(code);
        if (c && sd_compat_code_has_comprehensions())
            choose_parts(c, code);
    }
    if (c)
        c->n_sessions++;
    return c;
}

void sd_line_unchoose(struct sd_line_target *c)
{
    sd_assert(c->n_sessions > 0);
    if (--c->n_sessions > 0)
        return;
    while (c->inner) {
        struct sd_line_target *part = c->inner;

        c->inner = part->next;
        free_chosen(part);
    }
    free_chosen(c);
}

static void judge_plain(struct sd_line_target *c)
{
    const struct sd_line_book *b = c->core.books;

    c->core.is_plain = b && !b->next && !b->wants;
}

int sd_line_chosen_open(struct sd_line_target *c, struct sd_line_book *b)
{
    int rc = 0;

    b->next = c->core.books;
    c->core.books = b;
    judge_plain(c);
    if (!c->is_armed)
        rc = sd_lines_arm(c);
    c->is_armed = c->is_armed || rc == 0;
    return rc;
}

void sd_line_chosen_close(struct sd_line_target *c, struct sd_line_book *b)
{
    struct sd_line_book **link = &c->core.books;

    while (*link && *link != b)
        link = &(*link)->next;
    if (*link)
        *link = b->next;
    judge_plain(c);
    if (!c->core.books && c->is_armed) {
        sd_lines_disarm(c);
        c->is_armed = false;
    }
}

uint32_t sd_line_at(struct sd_line_target *c, int offset)
{
    uint64_t line;

    if (sd_table_get(&c->line_at, (uint64_t)(int64_t)offset, &line))
        return (uint32_t)line;
    line = (uint64_t)PyCode_Addr2Line(c->code, offset);
    line = (int64_t)line > 0 ? line : 0;
    sd_table_put(&c->line_at, (uint64_t)(int64_t)offset, line);
    return (uint32_t)line;
}

/* --- Who seeks ------------------------------------------------------------------- */

void sd_line_seek(sd_line_seeker *seeker)
{
    if (seeker)
        sd_line_seekers = sd_line_seekers % SD_LINE_UNWANTED + 1;
    if (seeker && sd_line_seeks)
        sd_lines_hear_again();
    sd_line_seeks = seeker;
}

void sd_line_seen(PyCodeObject *code)
{
    struct sd_line_target *c = sd_line_known(code);

    if (c)
        c->seen = sd_line_seekers;
    else if (sd_line_seekers &&
             sd_compat_code_set_extra(code, sd_line_extra,
                                      (void *)(uintptr_t)sd_line_seekers) < 0)
        PyErr_Clear();
}

void sd_line_left_out(PyCodeObject *code)
{
    struct sd_line_target *c = sd_line_known(code);

    sd_line_seen(code);
    if (c)
        c->was_unwanted = true;
}

struct sd_line_target *sd_line_show(PyCodeObject *code, PyObject *globals)
{
    struct sd_pending_exception raised = sd_pending_exception_take();

    sd_line_seeks(code, globals);
    sd_line_seen(code);
    PyErr_Clear();
    sd_pending_exception_give_back(raised);
    return sd_line_chosen_of(code);
}
