/* SPDX-License-Identifier: MIT */
/* read_process PID [VERSION]: one plain look at a Python process, as tests read it.
 *
 *     runtime VERSION FILE
 *     thread TID INTERPRETER HOLDS NAME
 *     frame LINE FIRST ENTRY NAME\tQUALNAME\tFILE     (innermost first)
 *     local IS_ARGUMENT NAME\tVALUE                    (of functions called `with_...`)
 *
 * Each line of input makes it look again, with `again N` in front, where N is the
 * number of code objects that have changed since; 0 and one sentence on stderr when it
 * cannot. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "process/python/code.h"
#include "process/python/frames.h"
#include "process/python/python_threads.h"
#include "process/python/runtime.h"
#include "process/python/value.h"
#include "process/remote.h"

enum { N_TRIES = 200, WAIT_NS = 2000000000 };

static struct sd_remote remote;
static struct sd_runtime runtime;
static struct sd_codes codes;
static struct sd_frame frames[SD_FRAMES_MAX];

static int refuse(void)
{
    fprintf(stderr, "%s\n", sd_fail_text());
    return 1;
}

static void print_locals(const struct sd_frame *f, const struct sd_code *code)
{
    struct sd_locals locals = { 0 };
    struct sd_buf text = { 0 };
    size_t i;

    sd_locals_read(&locals, &remote, &runtime, f, code);
    for (i = 0; i < locals.n; i++) {
        sd_buf_clear(&text);
        sd_value_text(&text, &remote, &runtime.layout, locals.items[i].value, 0);
        printf("local %d %s\t%s\n", locals.items[i].is_argument, locals.items[i].name,
               sd_buf_string(&text));
    }
    sd_buf_release(&text);
    sd_locals_release(&locals);
}

static int print_frame(const struct sd_frame *f)
{
    const struct sd_code *code;

    if (sd_codes_get(&codes, &remote, &runtime, f->code, &code) < 0)
        return -1;
    printf("frame %d %d %d %s\t%s\t%s\n",
           (int)sd_codes_line(&codes, code, &runtime.layout, f->instr),
           (int)code->first_line, f->is_entry, code->name, code->qualname,
           code->filename);
    if (strncmp(code->name, "with_", 5) == 0)
        print_locals(f, code);
    return 0;
}

/* The process runs, so a walk may be torn; one of many is not. */
static void print_frames(uint64_t thread)
{
    size_t n, i, tries;

    for (tries = 0; tries < N_TRIES; tries++)
        if (sd_frames_walk(&remote, &runtime.layout, thread, frames, SD_FRAMES_MAX,
                           &n) == 0)
            break;
    for (i = 0; tries < N_TRIES && i < n; i++)
        if (print_frame(&frames[i]) < 0)
            printf("torn\n");
}

static int look(void)
{
    struct sd_python_threads threads = { 0 };
    struct sd_thread_names names = { 0 };
    size_t i;

    if (sd_python_threads_read(&threads, &remote, &runtime) < 0)
        return 1;
    for (i = 0; i < threads.n; i++) {
        const struct sd_python_thread *t = &threads.items[i];
        const char *name;
        struct sd_gil gil;

        sd_thread_names_read(&names, &remote, &runtime, t->interpreter);
        sd_gil_find(&gil, &remote, &runtime, t->interpreter);
        name = sd_thread_names_find(&names, t->ident);
        printf("thread %d %d %d %s\n", (int)t->tid, (int)t->interpreter_id,
               sd_gil_holder(&gil, &remote) == t->state, name ? name : "");
        print_frames(t->state);
    }
    printf("end\n");
    fflush(stdout);
    sd_python_threads_release(&threads);
    sd_thread_names_release(&names);
    return 0;
}

/* How many of the code objects that were read are others now.  Each by itself: one that
 * cannot be read any more says nothing of the next. */
static size_t verify(void)
{
    size_t n = 0, n_retired;

    for (size_t i = 0; i < codes.n; i++) {
        const struct sd_code *code = codes.all[i];

        n_retired = 0;
        if (!code->is_retired)
            sd_codes_verify(&codes, &remote, &runtime, &code, 1, &n_retired);
        n += n_retired;
    }
    return n;
}

int main(int argc, char **argv)
{
    struct sd_runtime_hints hints = { 0 };
    char line[64];
    int rc;

    if (argc > 2)
        hints.version = sd_version_parse(argv[2], strlen(argv[2]));
    if (sd_remote_open(&remote, atoi(argv[1])) < 0 ||
        sd_runtime_wait(&runtime, &remote, &hints, WAIT_NS) < 0)
        return refuse();
    printf("runtime %s %s\n", runtime.version, runtime.file);
    rc = look();
    while (rc == 0 && fgets(line, sizeof line, stdin)) {
        printf("again %zu\n", verify());
        rc = look();
    }
    sd_codes_release(&codes);
    sd_remote_close(&remote);
    return rc;
}
