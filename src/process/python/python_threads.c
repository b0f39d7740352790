/* SPDX-License-Identifier: MIT */
#include "process/python/python_threads.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "process/python/objects.h"

enum {
    N_TRIES = 5,           /* the list changes rarely, and a walk takes microseconds */
    N_TASKS_MAX = 1 << 20, /* threads of the system that are looked at */
    N_NAMES_MAX = 65536,   /* entries of threading._active */
    N_NAME_CHARACTERS = SD_THREAD_NAME, /* each is a byte at least */
};

/* --- Threads of a container ------------------------------------------------------ */

/* A thread of a container has one tid inside and another outside; the kernel tells both
 * for each task. */
static int learn_tids(struct sd_python_threads *t, pid_t pid)
{
    char path[64];
    struct dirent *entry;
    size_t n = 0;
    int rc = 0;
    DIR *tasks;

    sd_table_clear(&t->outer);
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    tasks = opendir(path);
    if (!tasks)
        return SD_EGONE;
    while (rc == 0 && n++ < N_TASKS_MAX && (entry = readdir(tasks)) != NULL) {
        pid_t outer = (pid_t)strtol(entry->d_name, NULL, 10);
        pid_t inner = outer > 0 ? sd_remote_inner_pid(outer) : 0;

        if (inner > 0)
            rc = sd_table_put(&t->outer, (uint64_t)inner, (uint64_t)outer);
    }
    closedir(tasks);
    return rc;
}

/* The tid as we count it; 0 when there is no such thread. */
static pid_t outer_tid(struct sd_python_threads *t, pid_t pid, uint64_t inner,
                       bool *has_looked)
{
    uint64_t outer = 0;

    if (t->inner_pid == pid || inner == 0)
        return (pid_t)inner;
    if (sd_table_get(&t->outer, inner, &outer) || *has_looked)
        return (pid_t)outer;
    *has_looked = true; /* a new thread: look again, but once in a walk */
    if (learn_tids(t, pid) < 0)
        return 0;
    sd_table_get(&t->outer, inner, &outer);
    return (pid_t)outer;
}

/* --- The list -------------------------------------------------------------------- */

struct field {
    uint32_t offset;
    uint64_t *to;
};

/* Some fields of a structure, by one system call.  An absent one is 0. */
static int read_fields(const struct sd_remote *r, uint64_t at,
                       const struct field *fields, size_t n_fields)
{
    struct iovec to[8], from[8];
    size_t n = 0, i;

    for (i = 0; i < n_fields; i++) {
        *fields[i].to = 0;
        if (fields[i].offset == SD_NO_OFFSET)
            continue;
        to[n] = (struct iovec){ fields[i].to, 8 };
        from[n++] = (struct iovec){ (void *)(uintptr_t)(at + fields[i].offset), 8 };
    }
    return sd_remote_readv(r, to, n, from, n);
}

static int inner_tid(const struct sd_remote *r, const struct sd_runtime *rt,
                     uint64_t ident, uint64_t *native)
{
    uint32_t tid = 0;
    int rc;

    if (rt->layout.thread_native != SD_NO_OFFSET || !rt->tid_offset)
        return 0;
    rc = sd_remote_read(r, ident + rt->tid_offset, &tid, sizeof tid);
    *native = tid;
    return rc;
}

static int add(struct sd_python_threads *t, const struct sd_python_thread *thread)
{
    struct sd_python_thread *items =
        sd_grow_array(t->items, &t->cap, t->n + 1, sizeof *items);

    if (!items)
        return sd_no_memory();
    t->items = items;
    t->items[t->n++] = *thread;
    return 0;
}

/* A word of the thread state that is 0 until the thread has its first frame. */
static uint32_t first_use(const struct sd_layout *l)
{
    return l->frames_style == SD_FRAMES_OBJECTS ? l->thread_frame : l->thread_chunk;
}

/* A thread without frames may run C and have an ident of its own.  Only one that names
 * an older thread, or none, is not there yet. */
static bool is_claimed(const struct sd_python_threads *t, size_t i)
{
    const struct sd_python_thread *x = &t->items[i];
    size_t k;

    if (!x->ident)
        return true;
    for (k = i + 1; k < t->n; k++) /* newest first: these are older */
        if (t->items[k].interpreter == x->interpreter && x->tid &&
            t->items[k].tid == x->tid)
            return true;
    return false;
}

static void note_begun(struct sd_python_threads *t)
{
    size_t i;

    for (i = 0; i < t->n; i++)
        if (!t->items[i].has_begun)
            t->items[i].has_begun = !is_claimed(t, i);
}

static int add_interpreter(struct sd_python_threads *t, uint64_t at)
{
    uint64_t *items = sd_grow_array(t->interpreters, &t->cap_interpreters,
                                    t->n_interpreters + 1, sizeof *items);

    if (!items)
        return sd_no_memory();
    t->interpreters = items;
    items[t->n_interpreters++] = at;
    return 0;
}

/* A thread state that says it belongs elsewhere was freed while we came to it. */
static int read_threads(struct sd_python_threads *t, const struct sd_remote *r,
                        const struct sd_runtime *rt, uint64_t interpreter, uint64_t id,
                        uint64_t at, bool *has_looked)
{
    const struct sd_layout *l = &rt->layout;

    while (at && t->n < SD_PYTHON_THREADS_MAX) {
        struct sd_python_thread thread = { .state = at,
                                           .interpreter = interpreter,
                                           .interpreter_id = (int64_t)id };
        uint64_t next, owner, native, used;
        /* In this order: once there were frames, the ident is the thread's own. */
        const struct field fields[] = { { first_use(l), &used },
                                        { l->thread_next, &next },
                                        { l->thread_interp, &owner },
                                        { l->thread_ident, &thread.ident },
                                        { l->thread_native, &thread.native },
                                        { l->thread_serial, &thread.serial } };
        int rc = read_fields(r, at, fields, sizeof fields / sizeof fields[0]);

        if (rc < 0)
            return rc;
        if (owner != interpreter || next == at)
            return SD_ETORN;
        thread.has_begun = used != 0;
        native = thread.native;
        if (inner_tid(r, rt, thread.ident, &native) == 0)
            thread.tid = outer_tid(t, r->pid, native, has_looked);
        rc = add(t, &thread);
        if (rc < 0)
            return rc;
        at = next;
    }
    return 0;
}

static int read_all(struct sd_python_threads *t, const struct sd_remote *r,
                    const struct sd_runtime *rt, bool *has_looked)
{
    const struct sd_layout *l = &rt->layout;
    uint64_t at;
    int rc = sd_remote_u64(r, rt->address + l->runtime_interpreters, &at), n;

    t->n = t->n_interpreters = 0;
    t->main_interpreter = 0;
    for (n = 0; rc == 0 && at && n < SD_INTERPRETERS_MAX; n++) {
        uint64_t next, id, threads;
        const struct field fields[] = { { l->interp_next, &next },
                                        { l->interp_id, &id },
                                        { l->interp_threads, &threads } };

        rc = read_fields(r, at, fields, 3);
        if (rc < 0)
            break;
        if (next == at)
            return SD_ETORN;
        if (id == 0)
            t->main_interpreter = at;
        rc = add_interpreter(t, at);
        if (rc == 0)
            rc = read_threads(t, r, rt, at, id, threads, has_looked);
        at = next;
    }
    return rc;
}

int sd_python_threads_read(struct sd_python_threads *t, const struct sd_remote *r,
                           const struct sd_runtime *rt)
{
    bool has_looked = false;
    int rc = SD_ETORN, i;

    if (!t->inner_pid)
        t->inner_pid = sd_remote_inner_pid(r->pid);
    for (i = 0; i < N_TRIES && rc == SD_ETORN; i++)
        rc = read_all(t, r, rt, &has_looked);
    if (rc < 0)
        t->n = t->n_interpreters = 0;
    note_begun(t);
    return rc;
}

void sd_python_threads_release(struct sd_python_threads *t)
{
    sd_free(t->items);
    sd_free(t->interpreters);
    sd_table_release(&t->outer);
    *t = (struct sd_python_threads){ 0 };
}

/* --- Their names ----------------------------------------------------------------- */

/* The dict that an attribute of a module holds, by way of sys.modules. */
static int module_dict(const struct sd_remote *r, const struct sd_layout *l,
                       uint64_t interpreter, const char *module, const char *attribute,
                       uint64_t *out)
{
    struct sd_dict d = { 0 };
    uint64_t at = 0;
    int rc;

    if (l->interp_modules == SD_NO_OFFSET || l->module_dict == SD_NO_OFFSET)
        return SD_EFORMAT;
    rc = sd_remote_u64(r, interpreter + l->interp_modules, &at);
    if (rc == 0)
        rc = sd_dict_read(&d, r, l, at);
    if (rc == 0)
        rc = sd_dict_find(&d, r, l, module, &at);
    sd_dict_release(&d);
    if (rc == 0)
        rc = sd_remote_u64(r, at + l->module_dict, &at);
    if (rc == 0)
        rc = sd_dict_read(&d, r, l, at);
    if (rc == 0)
        rc = sd_dict_find(&d, r, l, attribute, out);
    sd_dict_release(&d);
    return rc;
}

/* Cut at a whole character: the tail of one would be no UTF-8. */
static void copy_name(char to[SD_THREAD_NAME], const struct sd_buf *b)
{
    size_t n = b->n < SD_THREAD_NAME - 1 ? b->n : SD_THREAD_NAME - 1;

    if (n < b->n)
        while (n > 0 && (b->p[n] & 0xc0) == 0x80)
            n--;
    memcpy(to, b->p, n);
    to[n] = 0;
}

static int read_name(const struct sd_remote *r, const struct sd_layout *l,
                     uint64_t thread, char to[SD_THREAD_NAME])
{
    struct sd_dict attributes;
    struct sd_buf b = { 0 };
    uint64_t name;
    int rc = sd_instance_read(&attributes, r, l, thread);

    if (rc == 0)
        rc = sd_dict_find(&attributes, r, l, "_name", &name);
    sd_dict_release(&attributes);
    if (rc == 0)
        rc = sd_object_str(r, l, name, N_NAME_CHARACTERS, &b);
    if (rc == 0 && b.n > 0)
        copy_name(to, &b);
    else if (rc == 0)
        rc = SD_EABSENT;
    sd_buf_release(&b);
    return rc;
}

int sd_thread_names_read(struct sd_thread_names *names, const struct sd_remote *r,
                         const struct sd_runtime *rt, uint64_t interpreter)
{
    const struct sd_layout *l = &rt->layout;
    struct sd_dict active = { 0 };
    uint64_t at;
    size_t i;
    int rc = module_dict(r, l, interpreter, "threading", "_active", &at);

    names->n = 0;
    if (rc == 0)
        rc = sd_dict_read(&active, r, l, at);
    for (i = 0; rc == 0 && i < active.n && names->n < N_NAMES_MAX; i++) {
        struct sd_thread_name *items, one;

        if (!active.keys[i] || !active.values[i] ||
            sd_object_u64(r, l, active.keys[i], &one.ident) < 0 ||
            read_name(r, l, active.values[i], one.name) < 0)
            continue;
        items = sd_grow_array(names->items, &names->cap, names->n + 1, sizeof *items);
        if (!items) {
            rc = sd_no_memory();
            break;
        }
        names->items = items;
        names->items[names->n++] = one;
    }
    sd_dict_release(&active);
    return rc == SD_ENOMEM || rc == SD_EGONE ? rc : 0;
}

const char *sd_thread_names_find(const struct sd_thread_names *names, uint64_t ident)
{
    size_t i;

    for (i = 0; i < names->n; i++)
        if (names->items[i].ident == ident)
            return names->items[i].name;
    return NULL;
}

void sd_thread_names_release(struct sd_thread_names *names)
{
    sd_free(names->items);
    *names = (struct sd_thread_names){ 0 };
}

/* --- The GIL --------------------------------------------------------------------- */

int sd_gil_find(struct sd_gil *gil, const struct sd_remote *r,
                const struct sd_runtime *rt, uint64_t interpreter)
{
    const struct sd_layout *l = &rt->layout;
    uint64_t at;
    int rc;

    *gil = (struct sd_gil){ 0, 0 };
    switch (l->gil_style) {
    case SD_GIL_NONE:
        return 0;
    case SD_GIL_RUNTIME:
        gil->holder_at = rt->address + l->runtime_holder;
        return 0;
    case SD_GIL_INTERPRETER:
        rc = sd_remote_u64(r, interpreter + l->interp_gil, &at);
        if (rc == 0 && at)
            *gil = (struct sd_gil){ at + l->gil_holder, at + l->gil_locked };
        return rc;
    }
    return SD_EFORMAT;
}

uint64_t sd_gil_holder(const struct sd_gil *gil, const struct sd_remote *r)
{
    uint64_t holder = 0;
    int32_t locked = 1;

    if (!gil->holder_at || sd_remote_u64(r, gil->holder_at, &holder) < 0)
        return 0;
    if (gil->locked_at && sd_remote_read(r, gil->locked_at, &locked, sizeof locked) < 0)
        return 0;
    return locked == 1 ? holder : 0;
}
