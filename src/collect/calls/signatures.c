/* SPDX-License-Identifier: MIT */
#include "cpython/compat_args.h"

#include "collect/calls/signatures.h"

#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/table.h"
#include "collect/calls/names.h"

enum {
    MOST_EXACT = 256,    /* signatures of a function ... */
    MOST_ROUNDED = 1024, /* ... and with the rounded ones */
    N_RECENT = 512,      /* a power of two */
    MOST_SHOWN = 8,      /* of *args and of **kwargs */
    MOST_SIZES = 16,
    MOST_FUNCTIONS = 65536,
    MOST_NAMES = 16384, /* of keywords, that are no names of the program's own text */
    MOST_ALIKE = 8,     /* names of one hash */
};

struct function { /* of a code object */
    uint32_t n;
    struct sd_signature *other; /* NULL: not needed yet */
};

/* The last two of a code object, or of several that share the place: where most are
 * found, without a hash of all words. */
struct recent {
    struct sd_signature *last, *before;
};

struct sd_signatures {
    struct sd_values values;
    struct recent recent[N_RECENT];
    struct sd_table by_hash;   /* to the first of it */
    struct sd_table functions; /* code to struct function */
    struct sd_table begun;     /* frame of a generator to its signature */
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
    return sd_code_parameter(s->code, argument);
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
    struct sd_raised raised = sd_raised_take();
    PyObject *own =
        s->by_text.n < MOST_NAMES
            ? PyUnicode_FromKindAndData((int)PyUnicode_KIND(name), PyUnicode_DATA(name),
                                        PyUnicode_GET_LENGTH(name))
            : NULL;

    if (own)
        PyUnicode_InternInPlace(&own);
    PyErr_Clear();
    sd_raised_give_back(raised);
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
    return code->co_argcount > 0 && sd_code_parameter(code, 0) == s->self_name;
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
    int n = sd_code_n_named(code), i = 0;

    w->n = 0;
    sd_words_add(w, (uintptr_t)code | w->is_rounded);
    if (has_self(s, code))
        sd_values_read_type(&s->values, sd_args_get(f, code, i++), w);
    for (; i < n; i++)
        sd_values_read(&s->values, sd_args_get(f, code, i), w);
    if (sd_code_has_rest(code))
        read_rest(s, sd_args_get(f, code, n++), w);
    if (sd_code_has_keywords(code))
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

    if (!r || r->n_words != w->n)
        return false;
    while (i < w->n && r->words[i] == w->at[i])
        i++;
    return i == w->n;
}

/* --- Text and sizes --------------------------------------------------------------- */

struct writer {
    const struct sd_signatures *s;
    const PyCodeObject *code;
    const uint64_t *at; /* the next word */
    bool is_rounded;
    struct sd_buf text;
    struct sd_signature_size sizes[MOST_SIZES];
    uint32_t n_sizes;
    struct sd_arena *arena;
};

static void put_name(struct sd_buf *to, PyObject *name)
{
    Py_ssize_t n;
    const char *text = PyUnicode_AsUTF8AndSize(name, &n);

    if (text)
        sd_buf_add(to, text, (size_t)n);
    else
        PyErr_Clear();
}

static void keep_size(struct writer *w, int argument, const struct sd_value_size *size)
{
    struct sd_signature_size *kept = &w->sizes[w->n_sizes];

    if (!size->kind || w->n_sizes >= MOST_SIZES || argument > UINT16_MAX)
        return;
    kept->argument = (uint16_t)argument;
    kept->kind = (uint8_t)(size->kind | (w->is_rounded ? SD_SIZE_ROUNDED : 0));
    kept->n_dims = size->n_dims;
    kept->dims =
        sd_arena_copy(w->arena, size->dims, (size->n_dims + 1u) * sizeof *size->dims);
    w->n_sizes += kept->dims != NULL;
}

static void put_value(struct writer *w, struct sd_value_size *size)
{
    w->at += sd_values_put(&w->s->values, w->at, w->is_rounded, &w->text, size);
}

static void put_argument(struct writer *w, int i)
{
    struct sd_value_size size = { .kind = 0 };

    put_name(&w->text, sd_code_parameter(w->code, i));
    sd_buf_u8(&w->text, ':');
    put_value(w, &size);
    keep_size(w, i, &size);
}

/* "*args:(int, str)", "**kwargs:(scale:float, ...)" */
static void put_rest(struct writer *w, int i, bool has_names)
{
    uint64_t n = *w->at >> 1;
    bool is_more = *w->at++ & 1;

    sd_buf_text(&w->text, has_names ? "**" : "*");
    put_name(&w->text, sd_code_parameter(w->code, i));
    sd_buf_text(&w->text, ":(");
    for (uint64_t k = 0; k < n; k++) {
        sd_buf_text(&w->text, k ? ", " : "");
        if (has_names) {
            put_name(&w->text, (PyObject *)(uintptr_t)*w->at++);
            sd_buf_u8(&w->text, ':');
        }
        put_value(w, NULL);
    }
    sd_buf_text(&w->text, is_more ? ", ...)" : ")");
}

/* "Model.predict", "Model" for its __init__, "dot". */
static int put_function(struct writer *w)
{
    PyObject *name = w->code->co_name;

    if (!has_self(w->s, w->code)) {
        put_name(&w->text, name);
        return 0;
    }
    if (*w->at)
        sd_values_put_type((const PyTypeObject *)(uintptr_t)*w->at, &w->text);
    else
        sd_buf_text(&w->text, "<unknown>");
    w->at++;
    if (PyUnicode_CompareWithASCIIString(name, "__init__") != 0) {
        sd_buf_u8(&w->text, '.');
        put_name(&w->text, name);
    }
    return 1;
}

static void put_all(struct writer *w)
{
    int n = sd_code_n_named(w->code), i = put_function(w), first = i;

    sd_buf_u8(&w->text, '(');
    for (; i < n; i++) {
        sd_buf_text(&w->text, i > first ? ", " : "");
        put_argument(w, i);
    }
    if (sd_code_has_rest(w->code)) {
        sd_buf_text(&w->text, i > first ? ", " : "");
        put_rest(w, i++, false);
    }
    if (sd_code_has_keywords(w->code)) {
        sd_buf_text(&w->text, i > first ? ", " : "");
        put_rest(w, i, true);
    }
    sd_buf_u8(&w->text, ')');
}

/* --- Records ---------------------------------------------------------------------- */

static struct sd_signature *new_record(struct sd_signatures *s, PyCodeObject *code,
                                       struct writer *w)
{
    struct sd_signature *r = NULL;

    if (!w->text.bad)
        r = sd_arena_alloc(&s->arena, sizeof *r);
    if (r) {
        r->code = code;
        r->n_text = (uint32_t)w->text.n;
        r->text = sd_arena_string(&s->arena, (const char *)w->text.p, w->text.n);
        r->n_sizes = w->n_sizes;
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
    int at = sd_code_n_named(code) + sd_code_has_rest(code);
    PyObject *keywords = sd_code_has_keywords(code) ? sd_args_get(f, code, at) : NULL;
    PyObject *name, *value;
    Py_ssize_t i = 0;

    for (int k = 0; keywords && PyDict_CheckExact(keywords) && k < MOST_SHOWN &&
                    PyDict_Next(keywords, &i, &name, &value);
         k++)
        if (is_interned(name) && !hold_name(s, name))
            return false;
    return true;
}

static struct sd_signature *make_record(struct sd_signatures *s, PyCodeObject *code,
                                        const struct sd_words *words, uint64_t hash)
{
    struct writer w = { .s = s,
                        .code = code,
                        .at = words->at + 1,
                        .is_rounded = words->is_rounded,
                        .arena = &s->arena };
    struct sd_signature *r;
    uint64_t first = 0;

    put_all(&w);
    r = new_record(s, code, &w);
    if (!r)
        return NULL;
    r->n_words = words->n;
    r->words = sd_arena_copy(&s->arena, words->at, words->n * sizeof *words->at);
    if (sd_table_get(&s->by_hash, hash, &first))
        r->next = (struct sd_signature *)(uintptr_t)first;
    return r->words && sd_table_put(&s->by_hash, hash, (uintptr_t)r) == 0 ? r : NULL;
}

/* "f(...)": what is one too many. */
static struct sd_signature *other_of(struct sd_signatures *s, struct function *f,
                                     PyCodeObject *code)
{
    struct writer w = { .s = s, .code = code, .arena = &s->arena };

    if (f->other)
        return f->other;
    put_name(&w.text, code->co_name);
    sd_buf_text(&w.text, "(...)");
    return f->other = new_record(s, code, &w);
}

/* NULL: there is no memory, or there are too many functions: a program may make them
 * without end, and each is held. */
static struct function *function_of(struct sd_calls_names *names, PyCodeObject *code)
{
    struct sd_signatures *s = names->signatures;
    uint64_t key = (uintptr_t)code, found;
    struct function *f;

    if (sd_table_get(&s->functions, key, &found))
        return (struct function *)(uintptr_t)found;
    if (s->functions.n >= MOST_FUNCTIONS || !sd_calls_hold(names, key, code))
        return NULL;
    f = sd_arena_alloc(&s->arena, sizeof *f);
    return f && sd_table_put(&s->functions, key, (uintptr_t)f) == 0 ? f : NULL;
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

static struct sd_signature *add_record(struct sd_calls_names *names, PyCodeObject *code,
                                       const sd_args_frame *f, const struct sd_words *w,
                                       uint64_t hash, struct function *function)
{
    struct sd_signatures *s = names->signatures;
    struct sd_signature *r = NULL;

    if (hold_keywords(s, code, f))
        r = make_record(s, code, w, hash);
    function->n += r != NULL;
    return r;
}

/* Too many: once more with sizes rounded, where they are what makes them many. */
static struct sd_signature *rounded_or_other(struct sd_calls_names *names,
                                             PyCodeObject *code, const sd_args_frame *f,
                                             struct function *function)
{
    struct sd_signatures *s = names->signatures;
    struct sd_words w = { .is_rounded = true };
    struct sd_signature *r;
    uint64_t hash;

    if (s->values.detail < SD_VALUE_LENGTHS)
        return other_of(s, function, code);
    read_arguments(s, code, f, &w);
    if (w.is_cut)
        return other_of(s, function, code);
    hash = hash_of(&w);
    r = known_record(s, &w, hash);
    if (!r && function->n < MOST_ROUNDED)
        r = add_record(names, code, f, &w, hash, function);
    return r ? r : other_of(s, function, code);
}

static struct sd_signature *make(struct sd_calls_names *names, PyCodeObject *code,
                                 const sd_args_frame *f, const struct sd_words *w,
                                 uint64_t hash)
{
    struct sd_signatures *s = names->signatures;
    struct function *function = function_of(names, code);

    sd_tensors_are_near(); /* a program with torch meets new functions before tensors */
    if (!function)
        return NULL;
    if (w->is_cut)
        return other_of(s, function, code);
    if (function->n < MOST_EXACT)
        return add_record(names, code, f, w, hash, function);
    return rounded_or_other(names, code, f, function);
}

static bool is_rounded(const struct sd_signature *r) { return r->words[0] & 1; }

/* Not among the recent ones; w->is_cut: too long to be told. */
__attribute__((noinline)) static struct sd_signature *
find_slowly(struct sd_calls_names *names, PyCodeObject *code, const sd_args_frame *f,
            const struct sd_words *w, struct recent *recent)
{
    uint64_t hash = hash_of(w);
    struct sd_signature *r =
        w->is_cut ? NULL : known_record(names->signatures, w, hash);
    struct sd_raised raised;

    if (!r) {
        raised = sd_raised_take();
        r = make(names, code, f, w, hash);
        sd_raised_give_back(raised);
    }
    /* A rounded one is never the same as what is read: it would only take the place. */
    if (r && r->n_words && !is_rounded(r)) {
        recent->before = recent->last;
        recent->last = r;
    }
    return r;
}

static inline struct recent *recent_of(struct sd_signatures *s, const void *code)
{
    uintptr_t at = (uintptr_t)code;

    return &s->recent[(at >> 5 ^ at >> 14) % N_RECENT];
}

/* hot: the one of these words; NULL: there is no memory for it. */
static inline struct sd_signature *find(struct sd_calls_names *names,
                                        PyCodeObject *code, const sd_args_frame *f,
                                        const struct sd_words *w)
{
    struct recent *recent = recent_of(names->signatures, code);
    struct sd_signature *r = recent->last;

    if (__builtin_expect(is_same(r, w), 1) && !w->is_cut)
        return r;
    if (is_same(recent->before, w) && !w->is_cut) {
        recent->last = recent->before;
        recent->before = r;
        return recent->last;
    }
    return find_slowly(names, code, f, w, recent);
}

/* --- Keys ------------------------------------------------------------------------- */

static inline uint64_t key_of(const struct sd_signature *r)
{
    return (uint64_t)(uintptr_t)r | SD_KEY_SIGNATURE;
}

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

uint64_t sd_calls_sign(void *of, uint64_t key, const void *what, uintptr_t frame,
                       bool goes_on)
{
    enum { GOES_ON = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR };
    struct sd_calls_names *names = of;
    PyCodeObject *code = (PyCodeObject *)what;
    const sd_args_frame *f = (const sd_args_frame *)frame;
    struct sd_signatures *s = names->signatures;
    struct sd_signature *r;
    struct sd_words w;

    /* A C function; the body of a module or class, which is nobody's call. */
    if (frame & SD_FRAME_TAGS || !(code->co_flags & CO_NEWLOCALS))
        return key;
    if (__builtin_expect(!s, 0)) {
        s = names->signatures = new_signatures(names->detail);
        if (!s)
            return key;
    }
    if (goes_on)
        return key_at_start(s, key, frame);
    w.is_cut = w.is_rounded = false;
    read_arguments(s, code, f, &w);
    r = find(names, code, f, &w);
    if (!r)
        return key;
    if (__builtin_expect(code->co_flags & GOES_ON, 0))
        sd_table_put(&s->begun, frame, key_of(r)); /* without memory it has none */
    return key_of(r);
}
