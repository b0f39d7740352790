/* SPDX-License-Identifier: MIT */
#include "process/python/runtime_verify.h"

#include <dirent.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/table.h"
#include "cpython/str_object.h"
#include "process/python/code.h"
#include "process/python/frames.h"
#include "process/python/objects.h"
#include "process/python/python_threads.h"
#include "process/stat.h"

enum {
    N_TRIES = 60,       /* each takes some ten microseconds */
    N_QUICK_TRIES = 20, /* a stack that moves is mostly right the next time */
    PAUSE_NS = 500000,  /* between them, so that the process gets elsewhere */
    N_THREADS = 16,     /* looked at; one that fits is enough */
    N_FRAMES = 64,      /* of each, innermost first */
    N_PTHREAD = 1024,   /* bytes of struct pthread that are searched for the tid */
    GLIBC_TID = 0x2d0,  /* where glibc has kept it on x86-64 so far: tried first */
    N_TASKS_MAX = 1 << 16,
};

/* --- The tid in struct pthread --------------------------------------------------- */

/* The tids of the process as it counts them itself. */
static int read_tasks(struct sd_table *tids, pid_t pid)
{
    bool is_container = sd_remote_inner_pid(pid) != pid;
    char path[64];
    struct dirent *entry;
    size_t n = 0;
    int rc = 0;
    DIR *tasks;

    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    tasks = opendir(path);
    if (!tasks)
        return SD_EGONE;
    while (rc == 0 && n++ < N_TASKS_MAX && (entry = readdir(tasks)) != NULL) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

        if (tid > 0 && is_container)
            tid = sd_remote_inner_pid(tid);
        if (tid > 0)
            rc = sd_table_put(tids, (uint64_t)tid, 0);
    }
    closedir(tasks);
    return rc;
}

struct pthread_copy {
    uint64_t ident;
    uint8_t bytes[N_PTHREAD];
};

/* Whether every thread has a tid at this offset of its struct pthread, each another
 * one. */
static bool has_tids_at(const struct sd_table *tids, const struct pthread_copy *copies,
                        size_t n, size_t offset)
{
    uint32_t seen[N_THREADS];
    uint64_t unused;
    size_t i, k;

    for (i = 0; i < n; i++) {
        memcpy(&seen[i], copies[i].bytes + offset, sizeof *seen);
        if (!sd_table_get(tids, seen[i], &unused))
            return false;
        for (k = 0; k < i; k++)
            if (seen[k] == seen[i])
                return false;
    }
    return true;
}

/* A thread has a thread state for each interpreter it has been in, but one struct
 * pthread. */
static size_t copy_pthreads(struct pthread_copy *copies, const struct sd_remote *r,
                            const struct sd_python_threads *t)
{
    size_t n = 0, i, k;

    for (i = 0; i < t->n && n < N_THREADS; i++) {
        copies[n].ident = t->items[i].ident;
        for (k = 0; k < n && copies[k].ident != copies[n].ident; k++)
            ;
        if (k == n &&
            sd_remote_read(r, copies[n].ident, copies[n].bytes, N_PTHREAD) == 0)
            n++;
    }
    return n;
}

static void learn_tid_offset(struct sd_runtime *rt, const struct sd_remote *r,
                             const struct sd_python_threads *t,
                             const struct sd_table *tids)
{
    struct pthread_copy copies[N_THREADS];
    size_t n = copy_pthreads(copies, r, t), offset;

    if (n > 0 && has_tids_at(tids, copies, n, GLIBC_TID)) {
        rt->tid_offset = GLIBC_TID;
        return;
    }
    for (offset = 0; n > 0 && offset + 4 <= N_PTHREAD; offset += 4) {
        if (has_tids_at(tids, copies, n, offset)) {
            rt->tid_offset = offset;
            return;
        }
    }
}

/* --- Code and frames ------------------------------------------------------------- */

/* Learns the type of code objects and how a str says its kind from the first code
 * object that a frame leads to. */
static int learn_from_code(struct sd_runtime *rt, const struct sd_remote *r,
                           uint64_t code)
{
    uint8_t header[SD_STR_HEADER];
    char name[8];
    uint64_t type, at;

    if (sd_object_type(r, &rt->layout, code, &type) < 0 ||
        sd_type_name(r, &rt->layout, type, name, sizeof name) < 0 ||
        strcmp(name, "code") != 0)
        return SD_ETORN;
    if (sd_remote_u64(r, code + rt->layout.code_name, &at) < 0 ||
        sd_remote_read(r, at, header, rt->layout.str_ascii) < 0 ||
        !sd_str_learn(&rt->layout, header))
        return SD_ETORN;
    rt->code_type = type;
    return 0;
}

/* 0 when every frame of the thread is a code object, at an instruction of its own; *n
 * is how many.  A line table may be made up by a program, but hardly all of them. */
static int check_frames(struct sd_runtime *rt, const struct sd_remote *r,
                        uint64_t thread, size_t *n)
{
    struct sd_frame frames[N_FRAMES];
    struct sd_codes codes = { 0 };
    const struct sd_code *code;
    size_t n_fit = 0, i;
    int rc = sd_frames_walk(r, &rt->layout, thread, frames, N_FRAMES, n);

    for (i = 0; rc == 0 && i < *n; i++) {
        if (!rt->is_checked)
            rc = learn_from_code(rt, r, frames[i].code);
        if (rc == 0)
            rc = sd_codes_get(&codes, r, rt, frames[i].code, &code);
        if (rc < 0)
            break;
        if (code->first_line < 0 || !code->name[0] ||
            !sd_code_has_instr(code, &rt->layout, frames[i].instr))
            rc = SD_ETORN;
        rt->is_checked = rt->is_checked || rc == 0;
        n_fit += sd_line_table_fits(rt->layout.lines_style, code->table, code->n_table,
                                    code->n_code);
    }
    sd_codes_release(&codes);
    return rc == 0 && *n > 0 && n_fit == 0 ? SD_ETORN : rc;
}

/* --- All of it ------------------------------------------------------------------- */

struct look { /* what one look at the process saw */
    size_t n_threads, n_known_tids, n_frames, n_wrong;
    bool has_main; /* the main interpreter is among them */
};

static size_t count_known_tids(const struct sd_python_threads *t, pid_t pid)
{
    size_t n = 0, i;

    for (i = 0; i < t->n && i < N_THREADS; i++)
        if (t->items[i].tid > 0 && sd_process_thread_start_time(pid, t->items[i].tid))
            n++;
    return n;
}

static int look_once(struct sd_runtime *rt, const struct sd_remote *r,
                     struct sd_python_threads *t, struct look *seen)
{
    size_t i, n;
    int rc = sd_python_threads_read(t, r, rt);

    *seen = (struct look){ 0 };
    if (rc < 0)
        return rc;
    if (rt->layout.thread_native == SD_NO_OFFSET && !rt->tid_offset && t->n > 0) {
        struct sd_table tids = { 0 };

        rc = read_tasks(&tids, r->pid);
        if (rc == 0)
            learn_tid_offset(rt, r, t, &tids);
        sd_table_release(&tids);
        if (rc == 0)
            rc = sd_python_threads_read(t, r, rt);
        if (rc < 0)
            return rc;
    }
    seen->n_threads = t->n;
    seen->has_main = t->main_interpreter;
    seen->n_known_tids = count_known_tids(t, r->pid);
    for (i = 0; i < t->n && i < N_THREADS; i++) {
        rc = check_frames(rt, r, t->items[i].state, &n);
        if (rc == SD_EGONE || rc == SD_ENOMEM)
            return rc;
        if (rc < 0)
            seen->n_wrong++;
        else
            seen->n_frames += n;
    }
    return 0;
}

static int judge(const struct sd_runtime *rt, const struct look *seen)
{
    if (seen->n_threads == 0)
        return sd_fail(SD_EABSENT, "its Python (%s) has not begun to run; try again",
                       rt->version);
    if (!seen->has_main)
        return sd_fail(
            SD_EFORMAT,
            "its memory does not look like that of CPython %s (no main interpreter), "
            "so it may be a modified build, which Sonde cannot read",
            rt->version);
    if (seen->n_known_tids == 0)
        return sd_fail(SD_EFORMAT,
                       "its memory does not look like that of CPython %s (none of its "
                       "threads belongs to the process), so it may be a modified "
                       "build, which Sonde cannot read",
                       rt->version);
    if (seen->n_frames == 0 && seen->n_wrong > 0)
        return sd_fail(
            SD_EFORMAT,
            "its memory does not look like that of CPython %s (its frames have no "
            "code), so it may be a modified build, which Sonde cannot read",
            rt->version);
    return 0;
}

/* As a process has between vfork and exec. */
static bool has_memory_of_parent(pid_t pid)
{
    struct sd_process_stat st;

    return sd_process_stat(pid, &st) == 0 &&
           syscall(SYS_kcmp, pid, st.parent, KCMP_VM, 0, 0) == 0;
}

/* As the child of a fork has until Python's own handler has run in it. */
static bool has_threads_of_parent(const struct sd_python_threads *t, pid_t pid)
{
    struct sd_process_stat st;

    return sd_process_stat(pid, &st) == 0 && count_known_tids(t, st.parent) > 0;
}

/* What is not there cannot be a GIL: its place differs between patch releases of some
 * versions, and a wrong one would call every thread a waiter. */
static void check_gil(struct sd_runtime *rt, const struct sd_remote *r,
                      const struct sd_python_threads *t)
{
    struct sd_gil gil;
    uint64_t holder;
    size_t i;
    int tries;

    for (tries = 0; tries < N_TRIES; tries++) {
        if (sd_gil_find(&gil, r, rt, t->main_interpreter) < 0)
            break;
        holder = sd_gil_holder(&gil, r);
        if (!holder)
            return;
        for (i = 0; i < t->n; i++)
            if (t->items[i].state == holder)
                return;
    }
    rt->layout.gil_style = SD_GIL_NONE;
}

int sd_runtime_verify(struct sd_runtime *rt, const struct sd_remote *r)
{
    const struct timespec pause = { 0, PAUSE_NS };
    struct sd_python_threads t = { 0 };
    struct look seen = { 0 };
    uint64_t first;
    int rc = 0, tries;

    for (tries = 0; tries < N_TRIES; tries++) {
        rc = look_once(rt, r, &t, &seen);
        if (rc == SD_EGONE || rc == SD_ENOMEM)
            break;
        if (rc < 0)
            seen = (struct look){ .n_threads = 1 }; /* the list itself led nowhere */
        rc = judge(rt, &seen);
        if (rc == 0 || rc == SD_EABSENT)
            break;
        if (tries >= N_QUICK_TRIES)
            nanosleep(&pause, NULL);
    }
    if (rc == 0)
        check_gil(rt, r, &t);
    /* A child of vfork has its parent's Python until its exec, which may come while we
     * look: then nothing is where it was, and that is no fault of the layout. */
    if (rc == SD_EFORMAT &&
        (sd_remote_u64(r, rt->address, &first) < 0 || has_memory_of_parent(r->pid)))
        rc = sd_fail(SD_EABSENT,
                     "process %d has just started another program (exec); try again",
                     (int)r->pid);
    else if (rc == SD_EFORMAT && seen.has_main && seen.n_known_tids == 0 &&
             has_threads_of_parent(&t, r->pid))
        rc = sd_fail(SD_EABSENT,
                     "process %d was just forked and has not begun to run; try again",
                     (int)r->pid);
    sd_python_threads_release(&t);
    return rc;
}
