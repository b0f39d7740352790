/* SPDX-License-Identifier: MIT */
#ifndef SD_PROCESS_UNWIND_PARTS_H
#define SD_PROCESS_UNWIND_PARTS_H
/* unwind_parts: what the files of unwind share: modules (the mapped files), symbols
 * (names and lines), and unwind itself. */
#ifdef HAVE_DW
#include "base/arena.h"
#include "base/intern.h"
#include "base/table.h"
#include "process/dw.h"
#include "process/elf.h"
#include "process/maps.h"
#include "process/unwind.h"

struct sd_unwind_name {  /* one symbol of a file */
    uint64_t start, end; /* in the process; end == start: it has no size */
    const char *name;    /* in the file */
    unsigned rank;       /* of several names for one place the lowest is taken */
};

struct sd_unwind_module { /* a mapped file with code */
    struct sd_unwinder *of;
    uint64_t start, end;
    uint64_t dev, inode;
    uint64_t bias;
    const char *path;        /* in the unwinder's arena */
    struct sd_mapping first; /* of its mappings */
    struct sd_elf elf;
    void *image; /* owned; a file that is in memory alone (vdso), else NULL */
    size_t n_image;
    Dwfl_Module *dwfl;            /* NULL: the file cannot be read */
    struct sd_unwind_name *names; /* owned; by address; made at the first question */
    size_t n_names;
    bool has_names;
};

struct sd_unwinder {
    struct sd_dw dw;
    const struct sd_remote *remote; /* borrowed */
    struct sd_unwind_lines *lines;  /* borrowed; or NULL */
    sd_symbol_judge judge;
    Dwfl *dwfl; /* NULL: before the first look at the mapped files */
    Dwfl_Callbacks callbacks;
    Dwfl_Thread_Callbacks thread_callbacks;
    struct sd_maps maps;
    struct sd_unwind_module **modules; /* owned; by address */
    size_t n_modules, cap_modules;
    uint64_t looked_ns;          /* at the mapped files, last */
    struct sd_arena arena;       /* symbols, and all they hold */
    struct sd_intern texts;      /* names, paths */
    struct sd_table by_pc;       /* address -> struct sd_symbol */
    struct sd_table by_function; /* start -> struct sd_symbol of its first line */
    uint32_t n_functions;
    /* Of the run in progress: */
    const struct sd_stack_copy *copy;
    struct sd_unwound *frames; /* owned */
    size_t n_frames, cap_frames;
    uint64_t top;           /* end of what was read of the stack */
    bool ran_out;           /* something beyond the copy was asked for */
    bool is_stopped;        /* by us */
    bool has_unknown_place; /* an address in no mapped file that we know */
};

/* Looks at the mapped files when that is due; `must`: something was not found.  After a
 * failure nothing is known and the next call begins anew. */
int sd_unwind_look(struct sd_unwinder *u, uint64_t now_ns, bool must);
void sd_unwind_forget(struct sd_unwinder *u);
/* Callback of elfutils. */
int sd_unwind_find_elf(Dwfl_Module *mod, void **userdata, const char *name,
                       Dwarf_Addr base, char **file_name, Elf **elf);
/* NULL: no file that we know. */
struct sd_unwind_module *sd_unwind_module_at(struct sd_unwinder *u, uint64_t address);

/* Never NULL but without memory.  `address` is inside the instruction. */
const struct sd_symbol *sd_unwind_symbol(struct sd_unwinder *u, uint64_t address);
void sd_unwind_names_release(struct sd_unwind_module *m);
/* The source file and line of an address; NULL: not known.  Borrowed until `l` ends. */
const char *sd_unwind_lines_at(struct sd_unwind_lines *l,
                               const struct sd_unwind_module *m, uint64_t address,
                               uint32_t *line);
#endif
#endif
