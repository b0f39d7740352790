/* SPDX-License-Identifier: MIT */
#ifndef SD_PROCESS_RUNTIME_H
#define SD_PROCESS_RUNTIME_H
/* runtime: which CPython runs in a process, where its _PyRuntime lies, and the layout
 * to read it with.
 *
 * The mapped files are asked one after the other, those with python in their name
 * first: the section .PyRuntime (3.10 on, also in stripped files), else the symbol
 * _PyRuntime. The version comes from the symbol Py_Version, the debug offsets, or the
 * version string in the file's read-only data.  What is found is then checked against
 * the process itself before anybody builds on it: the main thread must have a frame
 * chain of real code objects, with lines, and a tid of this process.  A process that
 * cannot be read so is refused with a sentence that says why, never sampled on trust.
 */
#include <stdbool.h>
#include <stdint.h>

#include "cpython/layout.h"
#include "process/remote.h"

struct sd_runtime_hints { /* all zero: find it yourself */
    uint32_t version;     /* PY_VERSION_HEX, from sd_version_parse */
    uint64_t address;     /* of _PyRuntime in the process */
    const char *file;     /* the mapped file that holds it */
};

struct sd_runtime {
    struct sd_layout layout;
    uint64_t address; /* of _PyRuntime */
    uint64_t
        code_type; /* address of the type of code objects; every frame's code has it */
    uint64_t
        tid_offset; /* where struct pthread keeps the tid; 0: the thread state has it */
    char version[SD_VERSION_TEXT];
    char
        file[256]; /* the file it was found in, as the process sees it; cut when long */
};

/* SD_EABSENT: no CPython here (yet: a process just started loads it within
 * milliseconds, sd_runtime_wait tries again); SD_EFORMAT: there is one, but not one
 * that can be read; SD_EGONE. */
int sd_runtime_find(struct sd_runtime *rt, const struct sd_remote *r,
                    const struct sd_runtime_hints *hints);
/* The same, tried again for up to timeout_ns while it is not there or not initialised.
 */
int sd_runtime_wait(struct sd_runtime *rt, const struct sd_remote *r,
                    const struct sd_runtime_hints *hints, uint64_t timeout_ns);

/* Whether the process is one that could hold a CPython: false for shells and others, so
 * that children that are not Python are left alone without a message. */
bool sd_runtime_is_likely(pid_t pid);

/* hot: one small read.  0, SD_EABSENT without a sentence when the runtime is not
 * initialised, is finalizing, or is no longer the one found (the process exec'ed): find
 * it again; or the code of a failed read. */
int sd_runtime_check(const struct sd_runtime *rt, const struct sd_remote *r);
#endif
