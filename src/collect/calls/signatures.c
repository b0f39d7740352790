/* SPDX-License-Identifier: MIT */
#include "cpython/compat_args.h"

#include "collect/calls/signatures.h"

#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/table.h"
#include "collect/calls/names.h"
#include "collect/calls/signature_text.h"

enum {
    MOST_EXACT = 256,    /* signatures of a function ... */
    MOST_ROUNDED = 1024, /* ... and with the rounded ones */
    N_RECENT = 512,      /* functions; a power of two */
    N_LATEST = 4,        /* signatures of a function */
    MOST_SHOWN = 8,      /* of *args and of **kwargs */
    MOST_FUNCTIONS = 65536,
    MOST_NAMES = 16384, /* of keywords, that are no names of the program's own text */
    MOST_ALIKE = 8,     /* names of one hash */
};

struct function {
    PyCodeObject *code; /* held by the names */
    uint32_t n;
    bool is_slow; /* some signature is */
    /* Some of the last: one that comes again moves up by one place. */
    struct sd_signature *latest[N_LATEST];
    struct sd_signature *other;  /* NULL: not needed yet */
    struct sd_signature *newest; /* of all but the other */
};

struct sd_signatures {
    struct sd_values values;
    struct function *recent[N_RECENT]; /* those that were called, by their code */
    struct sd_table by_hash;           /* to the first of it */
    struct sd_table functions;         /* code to struct function */
    struct sd_table begun;             /* frame of a generator to its signature */
    struct sd_arena arena;
    struct sd_table names;   /* names of keywords, by address; each holds a reference */
    struct sd_table by_text; /* hash of a text to the one of these that has it */
    PyObject *self_name;     /* "self", of which there is one; owned */
};

static struct sd_signatures *new_signatures(enum sd_value_detail detail)
{
    struct sd_signatures *s = sd_zalloc(sizeof *s);

    if (!s)
        return NULL;
    s->self_name = PyUnicode_InternFromString("self");
    if (!s->self_name || !sd_values_init(&s->values, detail)) {
        PyErr_Clear();
        sd_signatures_free(s);
        return NULL;
    }
    return s;
}

void sd_signatures_free(struct sd_signatures *s)
{
    uint64_t name, unused;
    size_t at = 0;

    if (!s)
        return;
    while (sd_table_next(&s->names, &at, &name, &unused))
        Py_DECREF((PyObject *)(uintptr_t)name);
    Py_XDECREF(s->self_name);
    sd_values_release(&s->values);
    sd_table_release(&s->names);
    sd_table_release(&s->by_text);
    sd_table_release(&s->by_hash);
    sd_table_release(&s->functions);
    sd_table_release(&s->begun);
    sd_arena_release(&s->arena);
    sd_free(s);
}

int sd_signatures_traverse(const struct sd_signatures *s, visitproc visit, void *arg)
{
    return sd_values_traverse(&s->values, visit, arg);
}

PyObject *sd_signature_parameter(const struct sd_signature *s, int argument)
{
    return sd_args_parameter(s->code, argument);
}

/* --- Names of keywords ------------------------------------------------------------ */

/* A name is told by its address.  Those of the program's text are all interned, so
 * there is one of each; those that it makes (of a line of JSON, of a row of a table)
 * are other objects at every call, and the interned one stands for them.  Nothing here
 * runs code of the program's: strings are compared as they lie in memory. */

static bool hold_name(struct sd_signatures *s, PyObject *name)
{
    uint64_t unused;

    if (sd_table_get(&s->names, (uintptr_t)name, &unused))
        return true;
    if (sd_table_put(&s->names, (uintptr_t)name, 0) < 0)
        return false;
    Py_INCREF(name);
    return true;
}

static uint64_t hash_name(PyObject *name)
{
    return sd_hash(PyUnicode_DATA(name),
                   (size_t)PyUnicode_GET_LENGTH(name) * PyUnicode_KIND(name), 0);
}

static bool is_same_name(PyObject *a, PyObject *b)
{
    return PyUnicode_KIND(a) == PyUnicode_KIND(b) &&
           PyUnicode_GET_LENGTH(a) == PyUnicode_GET_LENGTH(b) &&
           memcmp(PyUnicode_DATA(a), PyUnicode_DATA(b),
                  (size_t)PyUnicode_GET_LENGTH(a) * PyUnicode_KIND(a)) == 0;
}

/* The interned one of this text, a copy unless there is one; NULL: there is no memory
 * for it, or there are too many. */
static PyObject *add_name(struct sd_signatures *s, PyObject *name, uint64_t hash)
{
    struct sd_pending_exception raised = sd_pending_exception_take();
    PyObject *own =
        s->by_text.n < MOST_NAMES
            ? PyUnicode_FromKindAndData((int)PyUnicode_KIND(name), PyUnicode_DATA(name),
                                        PyUnicode_GET_LENGTH(name))
            : NULL;

    if (own)
        PyUnicode_InternInPlace(&own);
    PyErr_Clear();
    sd_pending_exception_give_back(raised);
    if (own && (!hold_name(s, own) || sd_table_put(&s->by_text, hash, (uintptr_t)own)))
        Py_CLEAR(own);
    Py_XDECREF(own); /* it is held */
    return own;
}

__attribute__((noinline)) static PyObject *interned_name(struct sd_signatures *s,
                                                         PyObject *name)
{
    uint64_t hash, found;

    if (!PyUnicode_Check(name) || !PyUnicode_IS_READY(name))
        return NULL;
    hash = hash_name(name);
    for (int i = 0; i < MOST_ALIKE; i++, hash++) {
        if (!sd_table_get(&s->by_text, hash, &found))
            return add_name(s, name, hash);
        if (is_same_name((PyObject *)(uintptr_t)found, name))
            return (PyObject *)(uintptr_t)found;
    }
    return NULL;
}

static inline bool is_interned(PyObject *name)
{
    return PyUnicode_CheckExact(name) && PyUnicode_CHECK_INTERNED(name);
}

/* --- Words ------------------------------------------------------------------------ */

static inline bool has_self(const struct sd_signatures *s, const PyCodeObject *code)
{
    return code->co_argcount > 0 && sd_args_parameter(code, 0) == s->self_name;
}

/* *args: how many, and the first of them. */
static void read_rest(struct sd_signatures *s, PyObject *rest, struct sd_words *w)
{
    Py_ssize_t n = rest && PyTuple_CheckExact(rest) ? PyTuple_GET_SIZE(rest) : 0;
    Py_ssize_t shown = n < MOST_SHOWN ? n : MOST_SHOWN;

    sd_words_add(w, (uint64_t)shown << 1 | (n > shown));
    for (Py_ssize_t i = 0; i < shown; i++)
        sd_values_read(&s->values, PyTuple_GET_ITEM(rest, i), w);
}

/* **kwargs: the same, each behind its name, in the order in which they were given. */
static void read_keywords(struct sd_signatures *s, PyObject *keywords,
                          struct sd_words *w)
{
    Py_ssize_t n = keywords && PyDict_CheckExact(keywords) ? PyDict_GET_SIZE(keywords)
                                                           : 0,
               shown = n < MOST_SHOWN ? n : MOST_SHOWN, at = 0;
    PyObject *name, *value;

    sd_words_add(w, (uint64_t)shown << 1 | (n > shown));
    for (Py_ssize_t i = 0; i < shown && PyDict_Next(keywords, &at, &name, &value);
         i++) {
        if (__builtin_expect(!is_interned(name), 0))
            name = interned_name(s, name);
        w->is_cut |= !name;
        sd_words_add(w, (uintptr_t)name);
        sd_values_read(&s->values, value, w);
    }
}

/* hot: no allocation but for types that are new. */
static void read_arguments(struct sd_signatures *s, const PyCodeObject *code,
                           const sd_args_frame *f, struct sd_words *w)
{
    int n = sd_args_n_named(code), i = 0;

    w->n = 0;
    sd_words_add(w, (uintptr_t)code | w->is_rounded);
    if (has_self(s, code))
        sd_values_read_type(&s->values, sd_args_get(f, code, i++), w);
    for (; i < n; i++)
        sd_values_read(&s->values, sd_args_get(f, code, i), w);
    if (sd_args_has_rest(code))
        read_rest(s, sd_args_get(f, code, n++), w);
    if (sd_args_has_keywords(code))
        read_keywords(s, sd_args_get(f, code, n), w);
}

static inline uint64_t hash_of(const struct sd_words *w)
{
    uint64_t hash = 0;

    for (uint32_t i = 0; i < w->n; i++) {
        hash = (hash ^ w->at[i]) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
    }
    return hash;
}

static inline bool is_same(const struct sd_signature *r, const struct sd_words *w)
{
    uint32_t i = 0;

    if (r->n_words != w->n)
        return false;
    while (i < w->n && r->words[i] == w->at[i])
        i++;
    return i == w->n;
}

/* --- Records ---------------------------------------------------------------------- */

static struct sd_signature *new_record(struct sd_signatures *s, PyCodeObject *code,
                                       struct sd_signature_writer *w, uint32_t n_words)
{
    struct sd_signature *r = NULL;

    if (!w->text.bad)
        r = sd_arena_alloc(&s->arena, sizeof *r + n_words * sizeof *r->words);
    if (r) {
        r->code = code;
        r->key = r;
        r->n_plain = SD_SIGNATURE_ASK;
        r->is_slow = w->is_slow;
        r->n_text = (uint32_t)w->text.n;
        r->text = sd_arena_string(&s->arena, (const char *)w->text.p, w->text.n);
        r->n_sizes = (uint16_t)w->n_sizes;
        r->sizes =
            sd_arena_copy(&s->arena, w->sizes, (w->n_sizes + 1) * sizeof *w->sizes);
        if (!r->text || !r->sizes)
            r = NULL;
    }
    sd_buf_release(&w->text);
    return r;
}

/* The address of a name must stay its own; those that are not interned have one that
 * stands for them, which is held. */
static bool hold_keywords(struct sd_signatures *s, const PyCodeObject *code,
                          const sd_args_frame *f)
{
    int at = sd_args_n_named(code) + sd_args_has_rest(code);
    PyObject *keywords = sd_args_has_keywords(code) ? sd_args_get(f, code, at) : NULL;
    PyObject *name, *value;
    Py_ssize_t i = 0;

    for (int k = 0; keywords && PyDict_CheckExact(keywords) && k < MOST_SHOWN &&
                    PyDict_Next(keywords, &i, &name, &value);
         k++)
        if (is_interned(name) && !hold_name(s, name))
            return false;
    return true;
}

enum { GOES_ON = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR };

/* How a call is known to have this signature without reading its words, where they are
 * exact and of nothing but named arguments.  A generator's frame has to be remembered
 * at every start, so it is none of the simplest. */
static bool make_quick(struct sd_signatures *s, struct sd_signature *r,
                       const struct sd_signature_writer *w)
{
    unsigned n = (unsigned)sd_args_n_named(r->code);

    if (w->is_rounded || sd_args_has_rest(r->code) || sd_args_has_keywords(r->code))
        return true;
    r->kinds = sd_arena_copy(&s->arena, w->kinds, n + 1);
    if (!(r->code->co_flags & GOES_ON))
        r->n_plain = w->is_rich ? SD_SIGNATURE_RICH : n;
    return r->kinds;
}

static struct sd_signature *make_record(struct sd_signatures *s, PyCodeObject *code,
                                        const struct sd_words *words, uint64_t hash)
{
    struct sd_signature_writer w = { .values = &s->values,
                                     .code = code,
                                     .at = words->at + 1,
                                     .arena = &s->arena,
                                     .has_self = has_self(s, code),
                                     .is_rounded = words->is_rounded };
    struct sd_signature *r;
    uint64_t first = 0;

    sd_signature_write(&w);
    r = new_record(s, code, &w, words->n);
    if (!r || !make_quick(s, r, &w))
        return NULL;
    r->n_words = words->n;
    memcpy(r->words, words->at, words->n * sizeof *words->at);
    if (sd_table_get(&s->by_hash, hash, &first))
        r->next = (struct sd_signature *)(uintptr_t)first;
    return sd_table_put(&s->by_hash, hash, (uintptr_t)r) == 0 ? r : NULL;
}

/* "f(...)": what is one too many. */
static struct sd_signature *other_of(struct sd_signatures *s, struct function *f)
{
    struct sd_signature_writer w = { .code = f->code };

    if (f->other)
        return f->other;
    sd_values_put_name(f->code->co_name, &w.text);
    sd_buf_text(&w.text, "(...)");
    return f->other = new_record(s, f->code, &w, 0);
}

static struct sd_signature *known_record(const struct sd_signatures *s,
                                         const struct sd_words *w, uint64_t hash)
{
    struct sd_signature *r;
    uint64_t first;

    if (!sd_table_get(&s->by_hash, hash, &first))
        return NULL;
    r = (struct sd_signature *)(uintptr_t)first;
    while (r && !is_same(r, w))
        r = r->next;
    return r;
}

/* What reads the same has one key. */
static void join_same(struct function *of, struct sd_signature *r)
{
    const struct sd_signature *same = of->newest;

    while (same &&
           (same->n_text != r->n_text || memcmp(same->text, r->text, r->n_text) != 0))
        same = same->older;
    if (same)
        r->key = same->key;
    r->older = of->newest;
    of->newest = r;
}

static struct sd_signature *add_record(struct sd_signatures *s, struct function *of,
                                       const sd_args_frame *f, const struct sd_words *w,
                                       uint64_t hash)
{
    struct sd_pending_exception raised = sd_pending_exception_take();
    struct sd_signature *r = NULL;

    if (hold_keywords(s, of->code, f))
        r = make_record(s, of->code, w, hash);
    sd_pending_exception_give_back(raised);
    if (!r)
        return NULL;
    join_same(of, r);
    of->n++;
    of->is_slow |= r->is_slow;
    return r;
}

/* Too many: once more with sizes rounded, where they are what makes them many. */
static struct sd_signature *find_rounded(struct sd_signatures *s, struct function *of,
                                         const sd_args_frame *f)
{
    struct sd_words w = { .is_rounded = true };
    struct sd_signature *r;
    uint64_t hash;

    if (s->values.detail < SD_VALUE_LENGTHS)
        return NULL;
    read_arguments(s, of->code, f, &w);
    if (w.is_cut)
        return NULL;
    hash = hash_of(&w);
    r = known_record(s, &w, hash);
    return r || of->n >= MOST_ROUNDED ? r : add_record(s, of, f, &w, hash);
}

static void make_latest(struct function *of, struct sd_signature *r)
{
    memmove(of->latest + 1, of->latest, (N_LATEST - 1) * sizeof *of->latest);
    of->latest[0] = r;
}

/* One of many is not kept among the latest: it would help none of the others. */
__attribute__((noinline)) static struct sd_signature *
find_or_add(struct sd_signatures *s, struct function *of, const sd_args_frame *f,
            const struct sd_words *w)
{
    uint64_t hash = hash_of(w);
    struct sd_signature *r = known_record(s, w, hash);

    if (!r && of->n < MOST_EXACT)
        r = add_record(s, of, f, w, hash);
    if (r) {
        make_latest(of, r);
        return r;
    }
    r = find_rounded(s, of, f);
    return r ? r : other_of(s, of);
}

/* Can a function have no more signatures?  Then types that are new to us belong to
 * none, and are not kept alive for it: a program may make classes without end. */
static bool has_all(const struct sd_signatures *s, const struct function *of)
{
    return of->n >= (s->values.detail < SD_VALUE_LENGTHS ? MOST_EXACT : MOST_ROUNDED);
}

/* Where all words have to be read; NULL, too, while Python ends: classes are told by
 * modules that go. */
static struct sd_signature *find_by_words(struct sd_signatures *s, struct function *of,
                                          const sd_args_frame *f)
{
    struct sd_words w;

    if (sd_compat_python_ends())
        return NULL;
    w.is_cut = w.is_rounded = false;
    s->values.is_closed = has_all(s, of);
    read_arguments(s, of->code, f, &w);
    if (__builtin_expect(w.is_cut, 0)) /* too long to be told, or of a new type */
        return other_of(s, of);
    for (int i = 0; i < N_LATEST && of->latest[i]; i++)
        if (is_same(of->latest[i], &w))
            return of->latest[i];
    return find_or_add(s, of, f, &w);
}

/* hot: are the arguments of this kind? */
static inline bool is_match(struct sd_signatures *s, const struct sd_signature *r,
                            const sd_args_frame *f)
{
    const uint64_t *at = r->words + 1;
    int n = sd_args_n_named(r->code);
    uint32_t step;

    for (int i = 0; i < n; i++, at += step) {
        step = sd_values_match(&s->values, sd_args_get(f, r->code, i), r->kinds[i], at);
        if (!step)
            return false;
    }
    return true;
}

bool sd_signature_matches(struct sd_call_tree *t, const struct sd_signature *r,
                          uintptr_t frame)
{
    const struct sd_calls_names *names = t->names.of;
    struct sd_call_pause since;
    bool is;

    if (__builtin_expect(!r->is_slow, 1))
        return is_match(names->signatures, r, (const sd_args_frame *)frame);
    since = sd_call_tree_pause(t);
    is = is_match(names->signatures, r, (const sd_args_frame *)frame);
    sd_call_tree_go_on(t, since);
    return is;
}

/* hot: the one of these arguments; NULL: there is no memory for it, or Python ends. */
static inline struct sd_signature *find(struct sd_signatures *s, struct function *of,
                                        const sd_args_frame *f)
{
    for (int i = 0; i < N_LATEST; i++) {
        struct sd_signature *r = of->latest[i];

        if (!r || !r->kinds)
            break;
        if (!is_match(s, r, f))
            continue;
        if (i > 0) {
            of->latest[i] = of->latest[i - 1];
            of->latest[i - 1] = r;
        }
        return r;
    }
    return find_by_words(s, of, f);
}

/* --- Functions -------------------------------------------------------------------- */

/* NULL: there is no memory, Python ends, or there are too many functions: a program may
 * make them without end, and each is held. */
static struct function *add_function(struct sd_calls_names *names, PyCodeObject *code)
{
    struct sd_signatures *s = names->signatures;
    struct sd_pending_exception raised;
    struct function *f = NULL;

    if (sd_compat_python_ends())
        return NULL;
    raised = sd_pending_exception_take();
    sd_tensors_are_near(); /* a program with torch meets new functions before tensors */
    if (s->functions.n < MOST_FUNCTIONS && sd_calls_hold(names, (uintptr_t)code, code))
        f = sd_arena_alloc(&s->arena, sizeof *f);
    if (f)
        f->code = code;
    if (f && sd_table_put(&s->functions, (uintptr_t)code, (uintptr_t)f) < 0)
        f = NULL;
    sd_pending_exception_give_back(raised);
    return f;
}

__attribute__((noinline)) static struct function *
function_slowly(struct sd_calls_names *names, PyCodeObject *code,
                struct function **recent)
{
    uint64_t found;
    struct function *f =
        sd_table_get(&names->signatures->functions, (uintptr_t)code, &found)
            ? (struct function *)(uintptr_t)found
            : add_function(names, code);

    if (f)
        *recent = f;
    return f;
}

static inline struct function *function_of(struct sd_calls_names *names,
                                           PyCodeObject *code)
{
    uintptr_t at = (uintptr_t)code;
    struct function **recent =
        &names->signatures->recent[(at >> 5 ^ at >> 14) % N_RECENT];

    if (__builtin_expect(*recent && (*recent)->code == code, 1))
        return *recent;
    return function_slowly(names, code, recent);
}

/* --- Keys ------------------------------------------------------------------------- */

static inline uint64_t key_of(const struct sd_signature *r)
{
    return (uint64_t)(uintptr_t)r->key | SD_KEY_SIGNATURE;
}

uint64_t sd_calls_function_key(uint64_t key) { return sd_function_key(key); }

/* A stale entry (its generator ended unheard, and another is where it was) may be of
 * another function. */
static uint64_t key_at_start(const struct sd_signatures *s, uint64_t key,
                             uintptr_t frame)
{
    uint64_t found;

    if (!sd_table_get(&s->begun, frame, &found))
        return key;
    return sd_function_key(found) == key ? found : key;
}

static uint64_t sign_start(struct sd_calls_names *names, uint64_t key,
                           PyCodeObject *code, uintptr_t frame)
{
    struct function *of = function_of(names, code);
    struct sd_signature *r =
        of ? find(names->signatures, of, (const sd_args_frame *)frame) : NULL;

    if (!r)
        return key;
    if (__builtin_expect(code->co_flags & GOES_ON, 0))
        sd_table_put(&names->signatures->begun, frame,
                     key_of(r)); /* without memory it has none */
    return key_of(r);
}

uint64_t sd_calls_sign(struct sd_call_tree *t, uint64_t key, const void *what,
                       uintptr_t frame, bool goes_on)
{
    struct sd_calls_names *names = t->names.of;
    PyCodeObject *code = (PyCodeObject *)what;
    struct sd_call_pause since;

    /* A C function; the body of a module or class, which is nobody's call. */
    if (frame & SD_FRAME_TAGS || !(code->co_flags & CO_NEWLOCALS))
        return key;
    if (__builtin_expect(!names->signatures, 0)) {
        names->signatures = new_signatures(names->detail);
        if (!names->signatures)
            return key;
    }
    if (goes_on)
        return key_at_start(names->signatures, key, frame);
    since = sd_call_tree_pause(t);
    key = sign_start(names, key, code, frame);
    sd_call_tree_go_on(t, since);
    return key;
}
