/* SPDX-License-Identifier: MIT */
#ifndef SD_PROCESS_NATIVE_UNWIND_H
#define SD_PROCESS_NATIVE_UNWIND_H
/* unwind: finds the native functions of a thread from a copy of its registers and
 * stack.
 *
 * The thread stands still only while the copy is made.  Everything slow comes after:
 * elfutils follows the copy by the unwind tables (.eh_frame) of the mapped files, and
 * names what it finds by their symbols and, where they have it, debug information.
 * elfutils never touches the process itself: it asks for memory and registers through
 * callbacks, and gets what was copied or what stands in the files.
 *
 * Code without unwind tables (some hand-written kernels, code made at run time) ends
 * the walk.  Frame pointers are not followed instead: compiled code mostly has none,
 * and a guess would show functions that were never called.  The caller says so in the
 * stack.
 *
 * Files are opened the way the process sees them (elf.h), each when the first address
 * in it is met; symbols of a file are sorted once; what an instruction belongs to is
 * worked out once and remembered, for all processes that have mapped the file.  Debug
 * files are found by build id below /usr/lib/debug; nothing is asked of a network.
 *
 * An unwinder is of one process and one thread of ours. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/remote.h"

enum {
    SD_UNWIND_REGISTERS = 17, /* of x86-64, in DWARF's order; the last is the pc */
    SD_UNWIND_SP = 7,
    SD_UNWIND_PC = 16,
    SD_UNWIND_MAX =
        20000, /* functions of a stack; what is outside of them is not seen */
};

struct sd_stack_copy {
    uint64_t registers[SD_UNWIND_REGISTERS];
    bool has_only_sp; /* of the registers sp and pc alone are known */
    uint64_t from;    /* address of the first byte */
    const uint8_t *p; /* borrowed */
    size_t n;
    bool is_cut; /* there was more of the stack than was copied */
};

/* What one instruction belongs to.  Borrowed, good until the files are freed. */
struct sd_symbol {
    const char *name;   /* of the function, as its programmer wrote it where that can be
                           told: without parameters.  "libx.so+0x1230" without a symbol */
    const char *module; /* path of the mapped file, "" where there is none */
    const char *file;   /* source file where that is known, else as module */
    uint64_t offset;    /* of the function in the module */
    uint32_t line;      /* in `file`; 0: not known */
    uint32_t first_line;
    uint32_t function; /* a number that no other function of these files has; not 0 */
    unsigned role;     /* what the judge said of the name */
    bool is_nameless;  /* it has no symbol */
    bool can_go_on;    /* there is an unwind table for it */
};

struct sd_unwound { /* one call of a function */
    const struct sd_symbol *symbol;
    uint64_t sp; /* where its part of the stack begins, up to that of its caller; 0: not
                    known */
};

/* Says something of a function, once; 0: nothing.  So the room above can mark the names
 * it knows without asking again for each frame. */
typedef unsigned (*sd_symbol_judge)(const char *name);

enum sd_unwind_end {
    SD_UNWIND_DONE,    /* down to the function that the thread began with */
    SD_UNWIND_STOPPED, /* something in it cannot be unwound: inner functions alone */
    SD_UNWIND_SHORT,   /* the same, because more of the stack must be copied */
};

struct sd_unwinder;

/* What stands in files, read once for the unwinders of several processes.  judge may be
 * NULL.  SD_ELACKS, SD_ENOMEM. */
struct sd_unwind_files;
int sd_unwind_files_new(struct sd_unwind_files **out, sd_symbol_judge judge);
void sd_unwind_files_free(struct sd_unwind_files *files); /* free(NULL) is fine */

/* Whether native stacks can be unwound here at all: SD_ELACKS with a sentence. */
int sd_unwind_check(void);

/* On success *out is the caller's; `r` and `files` must live longer. */
int sd_unwinder_new(struct sd_unwinder **out, const struct sd_remote *r,
                    struct sd_unwind_files *files);
void sd_unwinder_free(struct sd_unwinder *u); /* free(NULL) is fine */

/* The functions of a copy, innermost first, in *frames: borrowed until the next call.
 * *top becomes the end of the stack that was needed. */
enum sd_unwind_end sd_unwinder_run(struct sd_unwinder *u,
                                   const struct sd_stack_copy *copy, uint64_t now_ns,
                                   const struct sd_unwound **frames, size_t *n,
                                   uint64_t *top);
#endif
