/* SPDX-License-Identifier: MIT */
#include "process/python/runtime.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "cpython/debug_offsets.h"
#include "process/maps.h"
#include "process/native/elf.h"
#include "process/python/runtime_verify.h"
#include "process/stat.h"

enum {
    N_FILES_MAX = 8192, /* mapped files that are asked */
    FIRST_PAUSE_NS =
        500000, /* between two tries of sd_runtime_wait, doubled each time */
    LAST_PAUSE_NS = 20000000,
    N_AUXV = 64,    /* entries of an auxiliary vector; the kernel writes some 20 */
    N_VERSION = 12, /* longest version string in a file: "3.10.12rc1+" */
};

struct found {          /* what a file told */
    uint64_t address;   /* of _PyRuntime, in the process; 0: it has none */
    uint64_t code_type; /* the same of PyCode_Type, or 0 */
    uint32_t version;   /* or 0 */
    bool is_old;        /* it is a CPython, but from before there was a _PyRuntime */
    const struct sd_mapping *in;
};

/* --- Asking one file ------------------------------------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* "libpython3.9.so.1.0", "python3.9": 3.9; else 0. */
static uint32_t version_of_name(const char *path)
{
    const char *at = strstr(base_name(path), "python"), *end;

    if (!at)
        return 0;
    at += strlen("python");
    end = at;
    while ((*end >= '0' && *end <= '9') || *end == '.')
        end++;
    while (end > at) { /* of "3.9.so" only "3.9" is a version */
        uint32_t v = sd_version_parse(at, (size_t)(end - at));

        if (v)
            return v;
        end--;
    }
    return 0;
}

static bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }

/* The version as a string of its own among the constants: versions before 3.11 say it
 * in no other way.  Strings that end alike share their bytes, so it may have something
 * before it. */
static uint32_t version_in(const uint8_t *p, size_t n)
{
    size_t i;

    for (i = 1; i + N_VERSION < n; i++) {
        size_t length;
        uint32_t v;

        if (p[i] != '3' || p[i + 1] != '.' || is_digit(p[i - 1]) || p[i - 1] == '.')
            continue;
        length = strnlen((const char *)p + i, N_VERSION);
        v = sd_version_parse((const char *)p + i, length);
        if (v && memchr(p + i + 2, '.', length - 2) && sd_layout_of_version(v))
            return v;
    }
    return 0;
}

static uint32_t version_in_constants(const struct sd_elf *e)
{
    struct sd_elf_place rodata;
    const uint8_t *p;

    if (!sd_elf_section(e, ".rodata", &rodata))
        return 0;
    p = sd_elf_bytes(e, rodata.address, rodata.size);
    return p ? version_in(p, rodata.size) : 0;
}

static void ask_file(struct found *f, const struct sd_elf *e, const struct sd_remote *r,
                     uint64_t bias)
{
    struct sd_elf_place at;
    uint64_t version = 0;

    if (!sd_elf_symbol(e, "_PyRuntime", &at) && !sd_elf_section(e, ".PyRuntime", &at)) {
        f->is_old = sd_elf_symbol(e, "PyEval_EvalCodeEx", &at);
        return;
    }
    f->address = bias + at.address;
    if (sd_elf_symbol(e, "PyCode_Type", &at))
        f->code_type = bias + at.address;
    if (sd_elf_symbol(e, "Py_Version", &at) &&
        sd_remote_u64(r, bias + at.address, &version) == 0)
        f->version = (uint32_t)version;
    if (!f->version)
        f->version = version_in_constants(e);
}

/* The file is gone and cannot be reached: ask its copy in the process. */
static void ask_memory(struct found *f, const struct sd_remote *r, uint64_t base)
{
    struct sd_elf_place at;
    uint64_t version = 0;

    if (!sd_elf_symbol_in(r, base, "_PyRuntime", &at))
        return;
    f->address = at.address;
    if (sd_elf_symbol_in(r, base, "PyCode_Type", &at))
        f->code_type = at.address;
    if (sd_elf_symbol_in(r, base, "Py_Version", &at) &&
        sd_remote_u64(r, at.address, &version) == 0)
        f->version = (uint32_t)version;
}

static bool ask(struct found *f, const struct sd_remote *r, const struct sd_mapping *m)
{
    struct sd_elf e;
    uint64_t bias;
    int rc = sd_elf_open(&e, r, m);

    *f = (struct found){ .in = m };
    if (rc == 0 && sd_elf_bias(&e, m, &bias))
        ask_file(f, &e, r, bias);
    else if (rc == SD_EABSENT)
        ask_memory(f, r, m->start);
    sd_elf_close(&e);
    if (f->address && !f->version)
        f->version = version_of_name(m->path);
    return f->address != 0;
}

/* --- Asking all ------------------------------------------------------------------ */

static bool is_first_of_file(const struct sd_maps *maps, size_t i)
{
    const struct sd_mapping *m = &maps->items[i];

    if (m->path[0] != '/' || m->inode == 0 || m->offset != 0)
        return false;
    return i == 0 || maps->items[i - 1].inode != m->inode ||
           strcmp(maps->items[i - 1].path, m->path) != 0;
}

static bool is_python_name(const char *path)
{
    return strstr(base_name(path), "python");
}

/* In which order files are asked: the program or its libpython, then what only has
 * python in its name (extension modules have: cpython-311), then the rest. */
static int rank_of(const char *path)
{
    const char *base = base_name(path);

    if (strncmp(base, "python", 6) == 0 || strncmp(base, "libpython", 9) == 0)
        return 0;
    return is_python_name(path) ? 1 : 2;
}

/* Old: the newest file name of a CPython without a _PyRuntime, for the sentence. */
static bool search(struct found *f, const struct sd_remote *r,
                   const struct sd_maps *maps, const char *only, struct found *old)
{
    size_t n = 0, i;
    int pass;

    *old = (struct found){ 0 };
    for (pass = 0; pass < 3; pass++) {
        for (i = 0; i < maps->n && n < N_FILES_MAX; i++) {
            const struct sd_mapping *m = &maps->items[i];

            if (!is_first_of_file(maps, i) || rank_of(m->path) != pass ||
                (only && strcmp(m->path, only) != 0))
                continue;
            n++;
            if (ask(f, r, m))
                return true;
            if (f->is_old)
                *old = *f;
        }
    }
    return false;
}

/* Of one this old only the name of its file tells, which has no third number. */
static int say_too_old(pid_t pid, const char *name, uint32_t version)
{
    char text[SD_VERSION_TEXT] = "before 3.7";

    if (version)
        snprintf(text, sizeof text, "%u.%u", version >> 24, version >> 16 & 255);
    return sd_fail(SD_EFORMAT,
                   "process %d (%s) runs CPython %s, which is too old: sonde reads %s",
                   (int)pid, name, text, sd_layout_supported());
}

static int say_absent(const struct sd_remote *r, const struct sd_maps *maps,
                      const struct found *old, const char *only)
{
    struct sd_process_stat st;
    size_t i;

    if (sd_process_stat(r->pid, &st) < 0)
        return sd_fail(SD_EGONE, "process %d has ended", (int)r->pid);
    for (i = 0; i < maps->n; i++)
        if (strstr(base_name(maps->items[i].path), "pypy"))
            return sd_fail(SD_EFORMAT,
                           "process %d (%s) runs PyPy; sonde reads CPython %s",
                           (int)r->pid, st.name, sd_layout_supported());
    if (old->in)
        return say_too_old(r->pid, st.name, version_of_name(old->in->path));
    if (only)
        return sd_fail(
            SD_EABSENT,
            "process %d (%s) does not run CPython: it has mapped no CPython from %s",
            (int)r->pid, st.name, only);
    return sd_fail(SD_EABSENT,
                   "process %d (%s) is not a Python process: none of its mapped files "
                   "is a CPython; check the pid",
                   (int)r->pid, st.name);
}

/* --- The layout ------------------------------------------------------------------ */

static int refuse(const struct sd_remote *r, uint32_t version)
{
    struct sd_process_stat st;
    char text[SD_VERSION_TEXT];

    if (sd_process_stat(r->pid, &st) < 0)
        return sd_fail(SD_EGONE, "process %d has ended", (int)r->pid);
    if (version < sd_layout_next(NULL)->version)
        return say_too_old(r->pid, st.name, version);
    return sd_fail(
        SD_EFORMAT,
        "process %d (%s) runs CPython %s, which this sonde does not know: it reads %s",
        (int)r->pid, st.name, sd_version_text(text, version, false),
        sd_layout_supported());
}

static int try_layout(struct sd_runtime *rt, const struct sd_remote *r,
                      const struct sd_layout *l, uint32_t version)
{
    rt->layout = *l;
    rt->layout.version = version;
    rt->tid_offset = 0;
    rt->is_checked = false;
    sd_version_text(rt->version, version, l->is_free_threaded);
    return sd_runtime_verify(rt, r);
}

/* Nothing tells the version: the check at the end of each layout tells. */
static int try_all(struct sd_runtime *rt, const struct sd_remote *r)
{
    const struct sd_layout *l;
    int rc = SD_EFORMAT;

    for (l = sd_layout_next(NULL); l; l = sd_layout_next(l)) {
        rc = try_layout(rt, r, l, l->version & 0xffff0000);
        if (rc == 0 && rt->is_checked)
            return 0;
        if (rc == SD_EGONE || rc == SD_ENOMEM)
            return rc;
    }
    return sd_fail(
        SD_EFORMAT,
        "process %d runs CPython, but its version cannot be determined; give "
        "it, for example: --python-version 3.11",
        (int)r->pid);
}

static int choose_layout(struct sd_runtime *rt, const struct sd_remote *r,
                         uint32_t version)
{
    uint8_t head[SD_DEBUG_OFFSETS_BYTES];
    const struct sd_layout *l;
    struct sd_layout told;
    uint32_t v;
    int rc = sd_remote_read(r, rt->address, head, sizeof head);

    if (rc < 0)
        return sd_fail((enum sd_err)(rc == SD_EGONE ? rc : SD_EFORMAT),
                       "the state of the Python in process %d cannot be read",
                       (int)r->pid);
    if (sd_debug_offsets_version(head, sizeof head, &v)) {
        rc = sd_debug_offsets_read(&told, head, sizeof head);
        if (rc < 0)
            return sd_fail_in(rc, "process %d", (int)r->pid);
        if (told.code_copies != SD_NO_OFFSET)
            return sd_fail(
                SD_EFORMAT,
                "process %d runs a free-threaded CPython %s, which keeps its "
                "bytecode once per thread; sonde cannot read that yet",
                (int)r->pid, sd_version_text(rt->version, v, true));
        return try_layout(rt, r, &told, v);
    }
    if (!version)
        return try_all(rt, r);
    l = sd_layout_is_told(version) ? NULL : sd_layout_of_version(version);
    return l ? try_layout(rt, r, l, version) : refuse(r, version);
}

/* The kernel gives each exec 16 random bytes, and says in the auxiliary vector where
 * they are.  Without them (a hidden file) an exec is seen only by what it moves. */
static void learn_exec(struct sd_runtime *rt, const struct sd_remote *r)
{
    uint64_t words[2 * N_AUXV];
    char path[64];
    ssize_t got;
    int fd, i;

    snprintf(path, sizeof path, "/proc/%d/auxv", (int)r->pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    got = read(fd, words, sizeof words);
    close(fd);
    for (i = 0; i + 1 < got / 8; i += 2)
        if (words[i] == AT_RANDOM &&
            sd_remote_read(r, words[i + 1], rt->exec_id, sizeof rt->exec_id) == 0)
            rt->exec_at = words[i + 1];
}

/* Whether it has become another program since: then what was read of it is of two, and
 * what it says is no reason for a refusal. */
static bool has_executed(const struct sd_runtime *rt, const struct sd_remote *r)
{
    uint8_t id[sizeof rt->exec_id];

    return rt->exec_at && (sd_remote_read(r, rt->exec_at, id, sizeof id) < 0 ||
                           memcmp(id, rt->exec_id, sizeof id) != 0);
}

static int find(struct sd_runtime *rt, const struct sd_remote *r,
                const struct sd_runtime_hints *hints, struct sd_maps *maps)
{
    struct found f = { 0 }, old;
    int rc;

    rc = sd_maps_read(maps, r->pid);
    if (rc < 0)
        return rc;
    if (hints->address)
        f.address = hints->address;
    else if (!search(&f, r, maps, hints->file, &old))
        return say_absent(r, maps, &old, hints->file);
    rt->address = f.address;
    rt->code_type = f.code_type;
    if (f.in)
        snprintf(rt->file, sizeof rt->file, "%s", f.in->path);
    rc = choose_layout(rt, r, hints->version ? hints->version : f.version);
    return rc;
}

int sd_runtime_find(struct sd_runtime *rt, const struct sd_remote *r,
                    const struct sd_runtime_hints *hints)
{
    static const struct sd_runtime_hints none;
    struct sd_maps maps = { 0 };
    int rc;

    *rt = (struct sd_runtime){ 0 };
    learn_exec(rt, r);
    rc = find(rt, r, hints ? hints : &none, &maps);
    sd_maps_release(&maps);
    if (rc < 0 && !sd_remote_is_alive(r))
        return sd_fail(SD_EGONE, "process %d has ended", (int)r->pid);
    if (rc < 0 && rc != SD_ENOMEM && has_executed(rt, r))
        return sd_fail(SD_EABSENT,
                       "process %d is just starting another program (exec); try again",
                       (int)r->pid);
    return rc;
}

int sd_runtime_wait(struct sd_runtime *rt, const struct sd_remote *r,
                    const struct sd_runtime_hints *hints, uint64_t timeout_ns)
{
    uint64_t end = sd_clock_ns() + timeout_ns;
    struct timespec pause = { 0, FIRST_PAUSE_NS };

    for (;;) {
        int rc = sd_runtime_find(rt, r, hints);

        if (rc != SD_EABSENT || sd_clock_ns() >= end)
            return rc;
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < LAST_PAUSE_NS)
            pause.tv_nsec *= 2;
    }
}

bool sd_runtime_is_likely(pid_t pid)
{
    struct sd_maps maps = { 0 };
    bool is_likely = false;
    size_t i;

    if (sd_maps_read(&maps, pid) == 0)
        for (i = 0; i < maps.n && !is_likely; i++)
            is_likely = is_python_name(maps.items[i].path);
    sd_maps_release(&maps);
    return is_likely;
}

static struct iovec there(uint64_t at, size_t n)
{
    return (struct iovec){ (void *)(uintptr_t)at, n };
}

int sd_runtime_check(const struct sd_runtime *rt, const struct sd_remote *r,
                     struct sd_runtime_heads *heads)
{
    const struct sd_layout *l = &rt->layout;
    uint64_t words[4] = { 0 }; /* the newest interpreter, finalizing, the exec's mark */
    size_t n_words = rt->exec_at ? 4 : 2, n = 0, i;
    struct iovec from[3 + SD_RUNTIME_HEADS], to[2] = { { words, 8 * n_words } };
    ssize_t got;

    from[n++] = there(rt->address + l->runtime_interpreters, 8);
    from[n++] = there(rt->address + l->runtime_finalizing, 8);
    if (rt->exec_at)
        from[n++] = there(rt->exec_at, 16);
    for (i = 0; heads && i < heads->n; i++)
        from[n++] = there(heads->interpreters[i] + l->interp_threads, 8);
    if (heads)
        to[1] = (struct iovec){ heads->threads, 8 * heads->n };
    got = sd_remote_readv_some(r, to, heads && heads->n ? 2 : 1, from, n);
    if (got < 0 && got != SD_ETORN)
        return (int)got;
    if (got < (ssize_t)(8 * n_words) ||
        (rt->exec_at && memcmp(words + 2, rt->exec_id, sizeof rt->exec_id) != 0) ||
        !words[0] || words[1])
        return SD_EABSENT;
    if (heads) {
        heads->newest = words[0];
        heads->n_read = (size_t)got / 8 - n_words;
    }
    return 0;
}
