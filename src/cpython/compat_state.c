/* SPDX-License-Identifier: MIT */
#include "cpython/compat.h"

#include "base/assert.h"
#include "cpython/compat_state.h"

#if SD_HAS_MONITORING
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>

_Thread_local __attribute__((tls_model("initial-exec"))) PyThreadState **sd_state_place;
/* It was looked for, and cannot be had in this thread. */
static _Thread_local __attribute__((tls_model("initial-exec"))) bool is_hidden;

/* Of the variable: the loader's number of who has it, and where it lies among his; the
 * same for all threads.  0: not known yet; all ones: it cannot be known. */
static _Atomic uint64_t variable;
#define UNKNOWN UINT64_MAX

/* What the C library finds variables of threads by. */
struct index {
    unsigned long module, offset;
};
extern void *__tls_get_addr(struct index *of);

static PyThreadState *ask(void)
{
#if PY_VERSION_HEX >= 0x030d0000
    return PyThreadState_GetUnchecked();
#else
    return _PyThreadState_UncheckedGet();
#endif
}

/* Is it the interpreter's own?  A text that it keeps itself tells so.  The address of a
 * function would not: in a program that embeds Python it may be one of the program. */
static bool is_interpreter(const struct dl_phdr_info *module)
{
    uintptr_t at = (uintptr_t)Py_GetVersion() - module->dlpi_addr;

    for (int i = 0; i < module->dlpi_phnum; i++)
        if (module->dlpi_phdr[i].p_type == PT_LOAD &&
            at - module->dlpi_phdr[i].p_vaddr < module->dlpi_phdr[i].p_memsz)
            return true;
    return false;
}

enum { MOST_FOUND = 4 };

/* The variables that have the value.  The interpreter has just read it from one. */
struct search {
    const PyThreadState *state;
    size_t n_found; /* more than MOST_FOUND: only so many are kept */
    uint64_t found[MOST_FOUND];
};

static void find_among(struct search *s, const struct dl_phdr_info *module,
                       size_t bytes)
{
    const char *block = module->dlpi_tls_data;

    if (!block || !module->dlpi_tls_modid || module->dlpi_tls_modid > UINT32_MAX)
        return;
    for (uint32_t at = 0; at + sizeof s->state <= bytes; at += sizeof s->state) {
        if (*(const PyThreadState *const *)(const void *)(block + at) != s->state)
            continue;
        if (s->n_found < MOST_FOUND)
            s->found[s->n_found] = (uint64_t)module->dlpi_tls_modid << 32 | at;
        s->n_found++;
    }
}

static int look_into(struct dl_phdr_info *module, size_t n, void *of)
{
    struct search *s = of;

    if (n < sizeof *module || !is_interpreter(module))
        return 0;
    for (int i = 0; i < module->dlpi_phnum; i++)
        if (module->dlpi_phdr[i].p_type == PT_TLS)
            find_among(s, module, module->dlpi_phdr[i].p_memsz);
    return 1;
}

static PyThreadState **place_of(uint64_t v)
{
    return __tls_get_addr(&(struct index){ (unsigned long)(v >> 32), (uint32_t)v });
}

/* The only one of them that is empty while this thread has no state. */
static uint64_t tell_apart(const struct search *s)
{
    PyThreadState *state = PyEval_SaveThread();
    uint64_t which = UNKNOWN;
    size_t n_empty = 0;

    for (size_t i = 0; i < s->n_found; i++)
        if (*place_of(s->found[i]) == NULL) {
            which = s->found[i];
            n_empty++;
        }
    PyEval_RestoreThread(state);
    return n_empty == 1 ? which : UNKNOWN;
}

static uint64_t find(const PyThreadState *state)
{
    struct search s = { .state = state };

    dl_iterate_phdr(look_into, &s);
    if (s.n_found == 1)
        return s.found[0];
    return s.n_found == 0 || s.n_found > MOST_FOUND ? UNKNOWN : tell_apart(&s);
}

void sd_state_learn(void)
{
    if (atomic_load_explicit(&variable, memory_order_relaxed) == 0)
        atomic_store_explicit(&variable, find(ask()), memory_order_relaxed);
}

/* Not hot: once in each thread, unless it is hidden. */
PyThreadState *sd_state_slowly(void)
{
    PyThreadState *state = ask(), **place;
    uint64_t v;

    if (!state || is_hidden)
        return state;
    v = atomic_load_explicit(&variable, memory_order_relaxed);
    sd_assert_slow(v != 0); /* the module learned it when it was loaded */
    if (v != 0 && v != UNKNOWN) {
        place = place_of(v);
        if (*place == state)
            sd_state_place = place;
    }
    is_hidden = sd_state_place == NULL;
    return state;
}
#endif
