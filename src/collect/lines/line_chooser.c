/* SPDX-License-Identifier: MIT */
#include "collect/lines/line_chooser.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/lines/lines.h"
#include "collect/shared/source_name.h"
#include "cpython/compat.h"

enum { TRIES = 8 };

/* Of this process. */
static struct {
    struct sd_line_chooser *first;
    unsigned generation; /* counts those that came or went */
} all;

/* The text of a string, without running anything; "" where it has none. */
static const char *text_of(PyObject *o)
{
    const char *text = o && PyUnicode_Check(o) ? PyUnicode_AsUTF8(o) : NULL;

    PyErr_Clear();
    return text ? text : "";
}

static bool begins_with(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

/* The interpreter's own modules and ours, whose lines nobody means by a star. */
static bool is_not_programs(const char *file, const char *module)
{
    return begins_with(file, "<frozen ") || begins_with(file, "<sonde") ||
           strcmp(module, "sonde") == 0 || begins_with(module, "sonde.") ||
           strstr(file, "/sonde/_bootstrap/") != NULL;
}

/* To choose may run other threads, in which choosers come and go: then all are asked
 * again, and who has chosen it before does so once more, which is nothing. */
static void ask_all(PyCodeObject *code, const struct sd_line_subject *f)
{
    for (unsigned i = 0; i < TRIES; i++) {
        unsigned generation = all.generation;

        for (struct sd_line_chooser *c = all.first; c; c = c->next) {
            if (sd_line_choice_has(&c->choice, f))
                c->session ? sd_line_session_add(c->session, code) : c->choose(code);
            if (all.generation != generation)
                break;
        }
        if (all.generation == generation)
            return;
    }
}

static void judge_one(PyCodeObject *code, const char *module, const char *name)
{
    const char *file = text_of(code->co_filename);
    char whole[PATH_MAX], plain[PATH_MAX];
    const char *name_of_file = sd_source_name_whole(file, whole) ? whole : file;
    const struct sd_line_subject f = {
        .file = sd_source_name_plain(name_of_file, plain) ? plain : name_of_file,
        .module = module,
        .name = name,
        .first = (uint32_t)code->co_firstlineno,
    };

    if (!sd_line_is_part(code) && !is_not_programs(file, module))
        ask_all(code, &f);
    sd_line_seen(code);
}

enum { NAME_MAX_BYTES = 512 };

static void judge_inner(PyCodeObject *code, const char *module, const char *prefix);

static void judge_const(PyObject *o, const char *module, const char *prefix)
{
    PyCodeObject *code = (PyCodeObject *)o;
    char name[NAME_MAX_BYTES], below[NAME_MAX_BYTES + 16];
    bool is_function = code->co_flags & CO_OPTIMIZED;

    snprintf(name, sizeof name, "%s%s", prefix, text_of(code->co_name));
    judge_one(code, module, name);
    snprintf(below, sizeof below, "%s%s", name, is_function ? ".<locals>." : ".");
    judge_inner(code, module, below);
}

/* Before 3.11 a code object does not know its qualified name, so all that a module
 * holds are judged with it, by where they stand. */
static void judge_inner(PyCodeObject *code, const char *module, const char *prefix)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_consts); i++) {
        PyObject *o = PyTuple_GET_ITEM(code->co_consts, i);

        if (PyCode_Check(o))
            judge_const(o, module, prefix);
    }
}

/* The names of code objects are the program's; nothing of it is run. */
static void judge(PyCodeObject *code, PyObject *globals)
{
    PyObject *module = globals && PyDict_CheckExact(globals)
                           ? sd_compat_dict_get(globals, "__name__")
                           : NULL;
    PyObject *qualified = sd_compat_code_qualname(code);

    judge_one(code, text_of(module), text_of(qualified ? qualified : code->co_name));
    if (!qualified && !(code->co_flags & CO_OPTIMIZED))
        judge_inner(code, text_of(module), "");
}

static int read_choice(const char *only, struct sd_line_choice *choice)
{
    const char *from = secure_getenv("SONDE_FROM"); /* a child may be elsewhere */
    char folder[PATH_MAX] = "";

    if (!from && !getcwd(folder, sizeof folder))
        folder[0] = '\0';
    return sd_line_choice_read(only, from ? from : folder, choice);
}

int sd_line_chooser_begin(struct sd_line_chooser *c, const char *only,
                          int (*choose)(PyCodeObject *code))
{
    int rc = read_choice(only, &c->choice);

    if (rc < 0)
        return rc;
    c->choose = choose;
    c->is_on = true;
    c->next = all.first;
    all.first = c;
    all.generation++;
    sd_line_seek(judge);
    return 0;
}

void sd_line_chooser_end(struct sd_line_chooser *c)
{
    struct sd_line_chooser **link = &all.first;

    if (!c->is_on)
        return;
    while (*link && *link != c)
        link = &(*link)->next;
    if (*link)
        *link = c->next;
    all.generation++;
    if (!all.first)
        sd_line_seek(NULL);
    sd_line_choice_release(&c->choice);
    memset(c, 0, sizeof *c);
}
