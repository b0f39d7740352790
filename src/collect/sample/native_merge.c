/* SPDX-License-Identifier: MIT */
/* native_merge: puts native and Python functions of one stop into one list. */
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "collect/sample/native.h"

const struct sd_symbol sd_native_stopped = {
    .name = "[unwinding stopped]", .module = "", .file = "", .function = UINT32_MAX - 1
};
const struct sd_symbol sd_native_unplaced = { .name = "[native frames not placed]",
                                              .module = "",
                                              .file = "",
                                              .function = UINT32_MAX - 2 };

struct merge {
    struct sd_native_stack *to;
    const struct sd_unwound *natives;
    size_t n_natives, at_native;
    const struct sd_shot_frame *python;
    size_t n_python, at_python;
    int rc;
};

static void put(struct merge *m, struct sd_shot_frame frame)
{
    struct sd_native_stack *s = m->to;
    struct sd_shot_frame *frames;

    if (m->rc < 0)
        return;
    frames = sd_grow_array(s->frames, &s->cap, s->n + 1, sizeof *frames);
    if (!frames) {
        m->rc = SD_ENOMEM;
        return;
    }
    s->frames = frames;
    frames[s->n++] = frame;
}

static void put_native(struct merge *m, const struct sd_symbol *symbol)
{
    put(m, (struct sd_shot_frame){ .native = symbol });
}

static void put_mark(struct merge *m, const struct sd_symbol *symbol)
{
    m->to->is_marked = true;
    put_native(m, symbol);
}

/* What one call of the evaluator runs: up to the function that C has called. */
static void put_group(struct merge *m)
{
    bool is_entry = false;

    sd_assert(m->at_python <= m->n_python);
    while (m->at_python < m->n_python && !is_entry) {
        is_entry = m->python[m->at_python].is_entry;
        put(m, m->python[m->at_python++]);
    }
}

static void put_rest(struct merge *m)
{
    while (m->at_python < m->n_python)
        put(m, m->python[m->at_python++]);
}

static size_t count_natives(const struct merge *m, size_t from, unsigned role)
{
    size_t i, n = 0;

    for (i = from; i < m->n_natives; i++)
        n += m->natives[i].symbol->role == role;
    return n;
}

static size_t count_entries(const struct merge *m)
{
    size_t i, n = 0;

    for (i = 0; i < m->n_python; i++)
        n += m->python[i].is_entry;
    return n;
}

static bool has_names(const struct merge *m)
{
    size_t i;

    for (i = m->at_native; i < m->n_natives; i++)
        if (m->natives[i].symbol->role == SD_NATIVE_PLAIN &&
            !m->natives[i].symbol->is_nameless)
            return true;
    return false;
}

/* Whether all that is left is how the interpreter itself was started, or nothing that
 * would tell anybody anything. */
static bool is_at_start(const struct merge *m, bool is_inner)
{
    return m->n_python && m->at_python == m->n_python &&
           (is_inner || count_natives(m, m->at_native, SD_NATIVE_START) ||
            !has_names(m));
}

/* Each evaluator is replaced by what it runs.  The innermost n_empty of them run
 * nothing: such a one has just been called, or is about to return. */
static void interleave(struct merge *m, size_t n_empty, bool is_inner)
{
    for (; m->at_native < m->n_natives; m->at_native++) {
        const struct sd_symbol *s = m->natives[m->at_native].symbol;

        if (is_at_start(m, is_inner))
            return;
        if (s->role == SD_NATIVE_PLAIN)
            put_native(m, s);
        if (s->role != SD_NATIVE_EVALUATOR)
            continue;
        if (n_empty)
            n_empty--;
        else
            put_group(m);
    }
}

/* Whether everything that C has called tells by a mark where that was. */
static bool has_marks(const struct merge *m)
{
    size_t i;

    for (i = 0; i < m->n_python; i++)
        if (m->python[i].is_entry && !m->python[i].mark)
            return false;
    for (i = 0; i < m->n_natives; i++)
        if (!m->natives[i].sp)
            return false;
    return m->n_python && m->n_natives;
}

/* Whether the next group's mark lies in the part of the stack that is this call's.  Of
 * the last call it is not known how far that goes. */
static bool owns_next(const struct merge *m)
{
    const struct sd_unwound *x = &m->natives[m->at_native];
    size_t i = m->at_python;

    while (i < m->n_python && !m->python[i].is_entry)
        i++;
    return i < m->n_python && m->at_native + 1 < m->n_natives &&
           m->python[i].mark >= x[0].sp && m->python[i].mark < x[1].sp;
}

/* The same by marks instead of names.  False when some are not where they should be:
 * nothing is put then. */
static bool interleave_by_marks(struct merge *m, bool is_whole, bool is_inner)
{
    for (; m->at_native < m->n_natives && !is_at_start(m, is_inner); m->at_native++) {
        const struct sd_symbol *s = m->natives[m->at_native].symbol;

        if (owns_next(m))
            put_group(m);
        else if (s->role == SD_NATIVE_PLAIN)
            put_native(m, s);
    }
    if (!is_whole || m->at_python == m->n_python)
        return true;
    m->at_native = m->at_python = m->to->n = 0;
    return false;
}

/* Only what the innermost Python function has called is certain: the functions inside
 * of the first that belongs to CPython itself. */
static void put_innermost(struct merge *m)
{
    size_t i;

    for (i = 0; i < m->n_natives && m->natives[i].symbol->role == SD_NATIVE_PLAIN; i++)
        ;
    if (i == m->n_natives)
        return;
    for (i = 0; m->natives[i].symbol->role == SD_NATIVE_PLAIN; i++)
        put_native(m, m->natives[i].symbol);
}

int sd_native_merge(struct sd_native_stack *s, const struct sd_unwound *natives,
                    size_t n_natives, enum sd_unwind_end end,
                    const struct sd_shot_frame *python, size_t n_python, bool is_cut,
                    bool is_inner)
{
    struct merge m = { .to = s,
                       .natives = natives,
                       .n_natives = n_natives,
                       .python = python,
                       .n_python = n_python };
    size_t n_evaluators = count_natives(&m, 0, SD_NATIVE_EVALUATOR);
    size_t n_entries = count_entries(&m);
    bool is_whole = end == SD_UNWIND_DONE && !is_cut;

    s->n = 0;
    s->is_marked = false;
    if (has_marks(&m) && interleave_by_marks(&m, is_whole, is_inner)) {
        if (!is_whole)
            put_mark(&m, &sd_native_stopped);
    } else if (is_whole && (n_evaluators < n_entries ||
                            (n_evaluators > n_entries + 1 && !is_inner))) {
        put_innermost(&m);
        put_mark(&m, &sd_native_unplaced);
    } else {
        interleave(&m, is_whole && !is_inner ? n_evaluators - n_entries : 0, is_inner);
        if (!is_whole)
            put_mark(&m, &sd_native_stopped);
    }
    put_rest(&m);
    return m.rc;
}
