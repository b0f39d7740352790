/* SPDX-License-Identifier: MIT */
#include "cpython/compat.h"

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

/* Among the module's variables of this thread the only one that has this value.  The
 * interpreter has just read it from one of them, and so it is that one. */
static uint64_t find_among(const struct dl_phdr_info *module, size_t bytes,
                           const PyThreadState *state)
{
    const char *block = module->dlpi_tls_data;
    uint64_t found = UNKNOWN;

    if (!block || !module->dlpi_tls_modid || module->dlpi_tls_modid > UINT32_MAX)
        return UNKNOWN;
    for (uint32_t at = 0; at + sizeof state <= bytes; at += sizeof state) {
        if (*(const PyThreadState *const *)(const void *)(block + at) != state)
            continue;
        if (found != UNKNOWN)
            return UNKNOWN;
        found = (uint64_t)module->dlpi_tls_modid << 32 | at;
    }
    return found;
}

struct search {
    const PyThreadState *state;
    uint64_t found;
};

static int look_into(struct dl_phdr_info *module, size_t n, void *of)
{
    struct search *s = of;

    if (n < sizeof *module || !is_interpreter(module))
        return 0;
    for (int i = 0; i < module->dlpi_phnum; i++)
        if (module->dlpi_phdr[i].p_type == PT_TLS)
            s->found = find_among(module, module->dlpi_phdr[i].p_memsz, s->state);
    return 1;
}

static uint64_t find(const PyThreadState *state)
{
    struct search s = { state, UNKNOWN };

    dl_iterate_phdr(look_into, &s);
    return s.found;
}

/* Not hot: once in each thread, unless it is hidden. */
PyThreadState *sd_state_slowly(void)
{
    PyThreadState *state = ask(), **place;
    uint64_t v;

    if (!state || is_hidden)
        return state;
    v = atomic_load_explicit(&variable, memory_order_relaxed);
    if (v == 0) {
        v = find(state);
        atomic_store_explicit(&variable, v, memory_order_relaxed);
    }
    if (v != UNKNOWN) {
        place =
            __tls_get_addr(&(struct index){ (unsigned long)(v >> 32), (uint32_t)v });
        if (*place == state)
            sd_state_place = place;
    }
    is_hidden = sd_state_place == NULL;
    return state;
}
#endif
