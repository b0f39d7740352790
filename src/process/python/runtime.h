/* SPDX-License-Identifier: MIT */
#ifndef SD_PROCESS_PYTHON_RUNTIME_H
#define SD_PROCESS_PYTHON_RUNTIME_H
/* runtime: finds which CPython a process runs, where its _PyRuntime is, and the layout
 * to read it with.
 *
 * The mapped files are asked one after the other, those with python in their name
 * first, for the symbol _PyRuntime, else the section .PyRuntime (3.10 on, also in
 * stripped files). The version comes from the debug offsets, the symbol Py_Version, or
 * the version string in the file's constants; where none of them tells, every layout is
 * tried.  What is found is then checked against the process itself before anybody
 * builds on it: its threads must be threads of the process, and their frames chains of
 * real code objects with lines.  A process that cannot be read so is refused with a
 * sentence that says why, never sampled on trust. */
#include <stdbool.h>
#include <stdint.h>

#include "cpython/layout.h"
#include "process/remote.h"

struct sd_runtime_hints { /* all zero: find it yourself */
    uint32_t version;     /* PY_VERSION_HEX, from sd_version_parse */
    uint64_t address;     /* of _PyRuntime in the process */
    const char *file;     /* the mapped file that holds it; NULL: any */
};

enum { SD_RUNTIME_FILE = 256 };

struct sd_runtime {
    struct sd_layout layout;
    uint64_t address;   /* of _PyRuntime */
    uint64_t code_type; /* address of the type of code objects; 0: not known yet */
    uint64_t
        tid_offset; /* where struct pthread keeps the tid; 0: the thread state has it */
    bool is_checked; /* frames were seen and are right; false: nothing ran then */
    uint64_t exec_at, exec_id[2]; /* random words that each exec gets anew; 0: none */
    char version[SD_VERSION_TEXT];
    char file[SD_RUNTIME_FILE]; /* where it was found, as the process sees it; may be
                                   cut */
};

/* SD_EABSENT: no CPython here, or it has not begun to run (a process just started needs
 * some milliseconds; sd_runtime_wait tries again); SD_EFORMAT: there is one, but none
 * that can be read; SD_EGONE.  `hints` may be NULL. */
int sd_runtime_find(struct sd_runtime *rt, const struct sd_remote *r,
                    const struct sd_runtime_hints *hints);
/* The same, tried again for up to timeout_ns while it says SD_EABSENT. */
int sd_runtime_wait(struct sd_runtime *rt, const struct sd_remote *r,
                    const struct sd_runtime_hints *hints, uint64_t timeout_ns);

/* Whether the process is one that could hold a CPython: a file with python in its name
 * is mapped.  So children that are shells and the like are left alone without a
 * message. */
bool sd_runtime_is_likely(pid_t pid);

enum { SD_RUNTIME_HEADS = 16 };

/* Where lists of threads begin: asked of these interpreters by the system call of a
 * check. */
struct sd_runtime_heads {
    uint64_t interpreters[SD_RUNTIME_HEADS]; /* in: their addresses */
    size_t n;
    uint64_t newest; /* out: the interpreter at the head of their list */
    uint64_t threads[SD_RUNTIME_HEADS];
    size_t n_read; /* of them; what the next one was is not there any more */
};

/* One small read.  0, or SD_EABSENT without a sentence when the runtime has no
 * interpreter, is finalizing, or is not there any more: find it again; SD_EGONE.  An
 * exec is seen even when the same Python stands at the same addresses after it.  heads
 * may be NULL. */
int sd_runtime_check(const struct sd_runtime *rt, const struct sd_remote *r,
                     struct sd_runtime_heads *heads);
#endif
