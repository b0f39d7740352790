/* SPDX-License-Identifier: MIT */
#include "ext/sections/arrow.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/mem.h"

/* All pieces of one schema or array lie in one arena.  A consumer may take a child out
 * and release the rest, so every piece holds the arena, from whatever thread. */
struct shared {
    _Atomic int n_holders;
    struct sd_arena arena;
};

enum { NAME_COLUMN = 0, MAX_CHILDREN = 1 + SD_N_COLUMNS, NULLABLE = 2 };

static struct shared *shared_new(void)
{
    struct shared *s = sd_zalloc(sizeof *s);

    if (s)
        atomic_init(&s->n_holders, 1);
    return s;
}

static void shared_drop(struct shared *s)
{
    if (atomic_fetch_sub(&s->n_holders, 1) != 1)
        return;
    sd_arena_release(&s->arena);
    sd_free(s);
}

static struct shared *shared_hold(struct shared *s)
{
    atomic_fetch_add(&s->n_holders, 1);
    return s;
}

/* --- Schema */

static void release_schema(struct ArrowSchema *schema)
{
    struct shared *held = schema->private_data;

    for (int64_t i = 0; i < schema->n_children; i++) {
        if (schema->children[i]->release)
            schema->children[i]->release(schema->children[i]);
    }
    if (schema->dictionary && schema->dictionary->release)
        schema->dictionary->release(schema->dictionary);
    schema->release = NULL;
    shared_drop(held);
}

static void fill_schema(struct ArrowSchema *s, struct shared *held, const char *format,
                        const char *name, int64_t flags)
{
    *s = (struct ArrowSchema){ .format = format,
                               .name = name,
                               .flags = flags,
                               .release = release_schema,
                               .private_data = shared_hold(held) };
}

/* A column of words: 32-bit numbers into a dictionary of strings. */
static bool fill_words_schema(struct ArrowSchema *s, struct shared *held,
                              const char *name, int64_t flags)
{
    struct ArrowSchema *words = sd_arena_alloc(&held->arena, sizeof *words);

    if (!words)
        return false;
    fill_schema(words, held, "u", "", 0);
    fill_schema(s, held, "i", name, flags);
    s->dictionary = words;
    return true;
}

static bool fill_column_schema(struct ArrowSchema *s, struct shared *held,
                               enum sd_interval_column c)
{
    const char *name = sd_columns[c].name;

    switch (sd_columns[c].kind) {
    case SD_FIGURE_REAL:
        fill_schema(s, held, "g", name, NULLABLE);
        return true;
    case SD_FIGURE_COUNT:
        fill_schema(s, held, "l", name, NULLABLE);
        return true;
    case SD_FIGURE_WORD:
        return fill_words_schema(s, held, name, NULLABLE);
    case SD_FIGURE_NONE:
        break;
    }
    return false;
}

static bool fill_root_schema(struct ArrowSchema *out, struct shared *held,
                             const bool shown[SD_N_COLUMNS])
{
    struct sd_arena *arena = &held->arena;
    struct ArrowSchema **children =
        sd_arena_alloc(arena, MAX_CHILDREN * sizeof(*children));
    struct ArrowSchema *all = sd_arena_alloc(arena, MAX_CHILDREN * sizeof *all);
    int64_t n = 1;

    if (!children || !all)
        return false;
    fill_schema(out, held, "+s", "", 0);
    out->children = children;
    children[NAME_COLUMN] = &all[NAME_COLUMN];
    if (!fill_words_schema(&all[NAME_COLUMN], held, "name", 0))
        return false;
    out->n_children = 1;
    for (int c = 0; c < SD_N_COLUMNS; c++) {
        if (!shown[c])
            continue;
        if (!fill_column_schema(&all[n], held, (enum sd_interval_column)c))
            return false;
        children[n] = &all[n];
        out->n_children = ++n;
    }
    return true;
}

static int make_schema(const bool shown[SD_N_COLUMNS], struct ArrowSchema *out)
{
    struct shared *held = shared_new();
    bool is_whole;

    memset(out, 0, sizeof *out);
    if (!held)
        return sd_no_memory();
    is_whole = fill_root_schema(out, held, shown);
    if (!is_whole && out->release)
        out->release(out);
    shared_drop(held); /* ours; what was filled holds its own */
    return is_whole ? 0 : sd_no_memory();
}

static void shown_columns(const struct sd_store *s, bool shown[SD_N_COLUMNS])
{
    for (int c = 0; c < SD_N_COLUMNS; c++)
        shown[c] = sd_column_is_shown(s, (enum sd_interval_column)c);
}

int sd_arrow_schema(const struct sd_store *s, struct ArrowSchema *out)
{
    bool shown[SD_N_COLUMNS];

    shown_columns(s, shown);
    return make_schema(shown, out);
}

/* --- Arrays */

static void release_array(struct ArrowArray *array)
{
    struct shared *held = array->private_data;

    for (int64_t i = 0; i < array->n_children; i++) {
        if (array->children[i]->release)
            array->children[i]->release(array->children[i]);
    }
    if (array->dictionary && array->dictionary->release)
        array->dictionary->release(array->dictionary);
    array->release = NULL;
    shared_drop(held);
}

/* An array with room for its buffers' addresses; false without memory. */
static bool fill_array(struct ArrowArray *a, struct shared *held, int64_t length,
                       int64_t n_buffers)
{
    const void **buffers =
        sd_arena_alloc(&held->arena, (size_t)n_buffers * sizeof(*buffers));

    if (!buffers)
        return false;
    *a = (struct ArrowArray){ .length = length,
                              .n_buffers = n_buffers,
                              .buffers = buffers,
                              .release = release_array,
                              .private_data = shared_hold(held) };
    return true;
}

struct text {
    const char *p;
    uint32_t n;
};

/* Arrow's strings are UTF-8 without surrogates; Python's may have lone ones, which are
 * three bytes here (ED A0..BF xx): each becomes U+FFFD, three bytes as well. */
static void copy_utf8(char *to, const char *from, size_t n)
{
    memcpy(to, from, n);
    for (size_t i = 0; i + 2 < n; i++) {
        if ((uint8_t)to[i] == 0xED && (uint8_t)to[i + 1] >= 0xA0)
            memcpy(to + i, "\xEF\xBF\xBD", 3);
    }
}

static struct ArrowArray *make_dictionary(struct shared *held, const struct text *texts,
                                          size_t n)
{
    struct ArrowArray *a = sd_arena_alloc(&held->arena, sizeof *a);
    int32_t *offsets = sd_arena_alloc(&held->arena, (n + 1) * sizeof *offsets);
    size_t total = 0;
    char *bytes;

    for (size_t i = 0; i < n; i++)
        total += texts[i].n;
    if (total > INT32_MAX) {
        sd_fail(SD_EUSAGE, "the names of all rows together are longer than 2 GiB, the "
                           "most that an Arrow column holds");
        return NULL;
    }
    bytes = sd_arena_alloc(&held->arena, total + 1);
    if (!a || !offsets || !bytes || !fill_array(a, held, (int64_t)n, 3)) {
        sd_no_memory();
        return NULL;
    }
    offsets[0] = 0;
    for (size_t i = 0; i < n; i++) {
        copy_utf8(bytes + offsets[i], texts[i].p, texts[i].n);
        offsets[i + 1] = offsets[i] + (int32_t)texts[i].n;
    }
    a->buffers[1] = offsets;
    a->buffers[2] = bytes;
    return a;
}

static bool make_names(struct ArrowArray *a, struct shared *held,
                       const struct sd_store *s)
{
    struct text *texts =
        sd_arena_alloc(&held->arena, (s->n_entries + 1) * sizeof *texts);
    int32_t *which = sd_arena_alloc(&held->arena, (s->n_rows + 1u) * sizeof *which);

    if (!texts || !which || !fill_array(a, held, s->n_rows, 2)) {
        sd_no_memory();
        return false;
    }
    a->buffers[1] = which;
    for (size_t i = 0; i < s->n_entries; i++)
        texts[i] = (struct text){ s->entries[i].path, s->entries[i].n };
    for (uint32_t i = 0; i < s->n_rows; i++)
        which[i] = (int32_t)sd_store_row(s, i)->entry;
    a->dictionary = make_dictionary(held, texts, s->n_entries);
    return a->dictionary != NULL;
}

/* The values of one column, and which of them are there. */
static void fill_values(struct ArrowArray *a, const struct sd_store *s,
                        enum sd_interval_column c, void *values, uint8_t *there)
{
    double *reals = values;
    int64_t *counts = values;
    int32_t *words = values;

    for (uint32_t i = 0; i < s->n_rows; i++) {
        struct sd_figure cell = sd_column_cell(s, sd_store_row(s, i), c);

        switch (cell.kind) {
        case SD_FIGURE_NONE:
            a->null_count++;
            continue;
        case SD_FIGURE_REAL:
            reals[i] = cell.real;
            break;
        case SD_FIGURE_COUNT:
            counts[i] = cell.count;
            break;
        case SD_FIGURE_WORD:
            words[i] = (int32_t)cell.word;
            break;
        }
        there[i / 8] = (uint8_t)(there[i / 8] | 1u << i % 8);
    }
    a->buffers[0] = a->null_count ? there : NULL;
    a->buffers[1] = values;
}

static bool make_column(struct ArrowArray *a, struct shared *held,
                        const struct sd_store *s, enum sd_interval_column c)
{
    struct text texts[SD_N_WORDS];
    void *values = sd_arena_alloc(&held->arena, (s->n_rows + 1u) * sizeof(int64_t));
    uint8_t *there = sd_arena_alloc(&held->arena, s->n_rows / 8 + 1);

    if (!values || !there || !fill_array(a, held, s->n_rows, 2)) {
        sd_no_memory();
        return false;
    }
    fill_values(a, s, c, values, there);
    if (sd_columns[c].kind != SD_FIGURE_WORD)
        return true;
    for (int w = 0; w < SD_N_WORDS; w++)
        texts[w] = (struct text){ sd_words[w], (uint32_t)strlen(sd_words[w]) };
    a->dictionary = make_dictionary(held, texts, SD_N_WORDS);
    return a->dictionary != NULL;
}

static bool fill_root(struct ArrowArray *out, struct shared *held,
                      const struct sd_store *s, const bool shown[SD_N_COLUMNS])
{
    struct sd_arena *arena = &held->arena;
    struct ArrowArray **children =
        sd_arena_alloc(arena, MAX_CHILDREN * sizeof(*children));
    struct ArrowArray *all = sd_arena_alloc(arena, MAX_CHILDREN * sizeof *all);

    if (!children || !all || !fill_array(out, held, s->n_rows, 1)) {
        sd_no_memory();
        return false;
    }
    out->children = children;
    children[NAME_COLUMN] = &all[NAME_COLUMN];
    out->n_children = 1;
    if (!make_names(&all[NAME_COLUMN], held, s))
        return false;
    for (int c = 0; c < SD_N_COLUMNS; c++) {
        int64_t n = out->n_children;

        if (!shown[c])
            continue;
        children[n] = &all[n];
        out->n_children++;
        if (!make_column(&all[n], held, s, (enum sd_interval_column)c))
            return false;
    }
    return true;
}

static int make_batch(const struct sd_store *s, const bool shown[SD_N_COLUMNS],
                      struct ArrowArray *out)
{
    struct shared *held = shared_new();
    bool is_whole;

    memset(out, 0, sizeof *out);
    if (!held)
        return sd_no_memory();
    is_whole = fill_root(out, held, s, shown);
    if (!is_whole && out->release)
        out->release(out);
    shared_drop(held);
    return is_whole ? 0 : SD_ENOMEM;
}

/* --- Stream: one batch, then the end */

struct stream {
    bool shown[SD_N_COLUMNS];
    struct ArrowArray batch; /* released: handed out already */
};

static int stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    return make_schema(((struct stream *)stream->private_data)->shown, out) < 0 ? ENOMEM
                                                                                : 0;
}

static int stream_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct stream *s = stream->private_data;

    *out = s->batch; /* moved: the copy is the consumer's to release */
    s->batch.release = NULL;
    return 0;
}

static const char *stream_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return "out of memory";
}

static void stream_release(struct ArrowArrayStream *stream)
{
    struct stream *s = stream->private_data;

    if (s->batch.release)
        s->batch.release(&s->batch);
    sd_free(s);
    stream->release = NULL;
}

int sd_arrow_stream(const struct sd_store *s, struct ArrowArrayStream *out)
{
    struct stream *made = sd_zalloc(sizeof *made);
    int rc;

    memset(out, 0, sizeof *out);
    if (!made)
        return sd_no_memory();
    shown_columns(s, made->shown);
    rc = make_batch(s, made->shown, &made->batch);
    if (rc < 0) {
        sd_free(made);
        return rc;
    }
    *out = (struct ArrowArrayStream){ stream_schema, stream_next, stream_error,
                                      stream_release, made };
    return 0;
}
