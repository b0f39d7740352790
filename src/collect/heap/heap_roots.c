/* SPDX-License-Identifier: MIT */
#include "cpython/compat_heap.h"

#include "collect/heap/heap_roots.h"

#include <stdio.h>
#include <string.h>

#include "collect/heap/short_text.h"

enum { FRAMES_MAX = 1 << 20, THREADS_MAX = 1 << 16 };

struct search {
    struct sd_heap_guesses *to;
    struct sd_heap_kinds *kinds;
    bool (*is_met)(const void *of, uint64_t address);
    const void *of;
    char thread[48];
    int rc;
};

static void add(struct search *s, const void *object, enum sd_heap_root_kind kind,
                const char *text, bool needs_excess)
{
    struct sd_heap_guess guess = { (uint64_t)(uintptr_t)object, 0, (uint8_t)kind,
                                   needs_excess };

    if (s->rc < 0 || !s->is_met(s->of, guess.address))
        return;
    s->rc = sd_heap_texts_add(&s->kinds->graph->texts, text, strlen(text), &guess.text);
    if (s->rc == 0)
        s->rc = sd_heap_add(&s->to->list, &s->to->n, &guess, sizeof guess);
}

static void add_modules(struct search *s)
{
    PyObject *modules = sd_compat_modules();
    PyObject *key, *value;
    Py_ssize_t at = 0;

    add(s, modules, SD_HEAP_ROOT_INTERPRETER, "sys.modules", false);
    while (modules && PyDict_Next(modules, &at, &key, &value)) {
        char name[SD_SHORT_TEXT];

        sd_short_text_of_key(key, name);
        if (PyModule_Check(value))
            add(s, value, SD_HEAP_ROOT_MODULE, name, false);
    }
}

static void add_frame(struct search *s, const sd_walked *f)
{
    size_t n_locals = sd_compat_heap_n_locals(f);
    size_t n_stack = sd_compat_heap_n_stack(f);
    char function[SD_SHORT_TEXT], name[SD_SHORT_TEXT];
    char text[2 * SD_SHORT_TEXT + sizeof s->thread + 32];

    sd_short_text_of_str(sd_walk_code(f)->co_name, function);
    for (size_t i = 0; i < n_locals; i++) {
        PyObject *value = sd_compat_heap_local(f, i);

        if (!value)
            continue;
        sd_short_text_of_str(sd_compat_heap_local_name(f, i), name);
        snprintf(text, sizeof text, "%s in %s, %s", name, function, s->thread);
        add(s, value, SD_HEAP_ROOT_THREAD, text, false);
    }
    snprintf(text, sizeof text, "a value that %s works with, %s", function, s->thread);
    for (size_t i = n_locals; i < n_locals + n_stack; i++)
        add(s, sd_compat_heap_local(f, i), SD_HEAP_ROOT_THREAD, text, true);
    snprintf(text, sizeof text, "%s, which runs, %s", function, s->thread);
    add(s, sd_compat_heap_frame_function(f), SD_HEAP_ROOT_THREAD, text, true);
    snprintf(text, sizeof text, "locals of %s, %s", function, s->thread);
    add(s, sd_compat_heap_frame_locals(f), SD_HEAP_ROOT_THREAD, text, true);
}

static void add_words(struct search *s, const void *words, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++)
        add(s, ((void *const *)words)[i], SD_HEAP_ROOT_INTERPRETER, text, true);
}

static void add_thread(struct search *s, PyThreadState *ts, uint32_t n_skipped)
{
    sd_walked *f = sd_walk_visible(sd_compat_heap_top(ts));

    if (sd_compat_heap_is_main_thread(ts))
        strcpy(s->thread, "main thread");
    else
        snprintf(s->thread, sizeof s->thread, "thread %lu", ts->thread_id);
    for (int i = 0; f && i < FRAMES_MAX && s->rc == 0; i++) {
        if (n_skipped > 0)
            n_skipped--;
        else if (sd_compat_heap_is_readable(f))
            add_frame(s, f);
        f = sd_walk_visible(sd_walk_next(f));
    }
    add_words(s, ts, sd_compat_heap_thread_words(), "state of a thread");
}

int sd_heap_roots_find(struct sd_heap_guesses *g, struct sd_heap_kinds *kinds,
                       uint32_t n_skipped,
                       bool (*is_met)(const void *of, uint64_t address), const void *of)
{
    struct search s = { .to = g, .kinds = kinds, .is_met = is_met, .of = of };
    PyInterpreterState *interpreter = sd_compat_interpreter();
    PyThreadState *ts = PyInterpreterState_ThreadHead(interpreter);
    PyThreadState *own = PyThreadState_Get();

    add_modules(&s);
    for (int i = 0; ts && i < THREADS_MAX && s.rc == 0; i++) {
        add_thread(&s, ts, ts == own ? n_skipped : 0);
        ts = PyThreadState_Next(ts);
    }
    if (sd_compat_heap_is_known())
        add_words(&s, interpreter, sd_compat_heap_interpreter_words(), "interpreter");
    return s.rc;
}

void sd_heap_guesses_release(struct sd_heap_guesses *g)
{
    sd_pages_release(&g->list);
    g->n = 0;
}
