/* SPDX-License-Identifier: MIT */
#ifndef SD_PROCESS_NATIVE_UNWIND_PARTS_H
#define SD_PROCESS_NATIVE_UNWIND_PARTS_H
/* unwind_parts: what the files of unwind share: files (what stands in a file, whoever
 * has mapped it), modules (the mapped files of a process), symbols (names and lines),
 * and unwind itself. */
#ifdef HAVE_DW
#include "base/arena.h"
#include "base/intern.h"
#include "base/table.h"
#include "process/maps.h"
#include "process/native/dw.h"
#include "process/native/elf.h"
#include "process/native/unwind.h"

/* Addresses in these are as the file counts. */
struct sd_unwind_name {  /* one symbol of a file */
    uint64_t start, end; /* end == start: it has no size */
    const char *name;    /* in the file */
    unsigned rank;       /* of several names for one place the lowest is taken */
};

struct sd_unwind_names {
    struct sd_unwind_name *items; /* owned; by address; made at the first question */
    size_t n;
    bool is_read;
};

struct sd_unwind_symbols {       /* what was told so far */
    struct sd_table by_address;  /* -> struct sd_symbol */
    struct sd_table by_function; /* its start -> struct sd_symbol of its first line */
};

struct sd_unwind_file { /* for all processes that have mapped it */
    uint64_t dev, inode;
    const char *path; /* in the arena of the files */
    struct sd_elf elf;
    struct sd_unwind_names names;
    struct sd_unwind_symbols symbols;
    struct sd_unwind_files *of;
    uint32_t n_users; /* modules that have it */
    uint64_t left;    /* when the last one went, as `files` counts */
    Dwfl *alone; /* what elfutils knows of it: a process with this file alone ... */
    Dwfl_Module *dwfl; /* ... and the file there; NULL: it cannot be read */
    uint64_t bias;
};

struct sd_unwind_files {
    struct sd_dw dw;
    sd_symbol_judge judge;
    Dwfl_Callbacks callbacks;
    struct sd_unwind_file **items; /* owned */
    size_t n, cap;
    uint64_t n_left;        /* how often a file has lost its last user */
    struct sd_arena arena;  /* symbols, and all they hold */
    struct sd_intern texts; /* names, paths */
    uint32_t n_functions;
};

struct sd_unwind_module { /* a mapped file with code */
    struct sd_unwinder *of;
    uint64_t start, end;
    const char *path;        /* in the arena of the files */
    struct sd_mapping first; /* of its mappings */
    Dwfl_Module *dwfl;       /* NULL: the file cannot be read */
    /* At the first question of it: */
    bool is_reached, is_checked;
    struct sd_unwind_file *file; /* borrowed; NULL: not reached, or in memory alone */
    uint64_t bias;
    void *image; /* owned; a file that is in memory alone (vdso), else NULL */
    size_t n_image;
    struct sd_unwind_names names;     /* of that */
    struct sd_unwind_symbols symbols; /* where there is no file to keep them in */
};

struct sd_unwinder {
    struct sd_unwind_files *files;  /* borrowed */
    const struct sd_dw *dw;         /* theirs */
    const struct sd_remote *remote; /* borrowed */
    Dwfl *dwfl; /* NULL: before the first look at the mapped files */
    Dwfl_Callbacks callbacks;
    Dwfl_Thread_Callbacks thread_callbacks;
    struct sd_maps maps;
    struct sd_unwind_module **modules; /* owned; by address */
    size_t n_modules, cap_modules;
    uint64_t looked_ns;    /* at the mapped files, last */
    struct sd_table by_pc; /* address -> struct sd_symbol */
    /* Of the run in progress: */
    const struct sd_stack_copy *copy;
    struct sd_unwound *frames; /* owned */
    size_t n_frames, cap_frames;
    uint64_t top;           /* end of what was read of the stack */
    bool ran_out;           /* something beyond the copy was asked for */
    bool is_stopped;        /* by us */
    bool has_unknown_place; /* an address in no mapped file that we know */
};

/* --- Files */

/* The file of a mapping that is the first of its file in a process, and of those up to
 * `end`, to be left again; NULL: it cannot be reached. */
struct sd_unwind_file *sd_unwind_file_of(struct sd_unwind_files *files,
                                         const struct sd_remote *r,
                                         const struct sd_mapping *first, uint64_t end);
/* NULL is fine.  A file that nobody has is kept for the next process, but not for ever;
 * its symbols are the files' own, and stay. */
void sd_unwind_file_leave(struct sd_unwind_file *f);
/* The source file and line of an address of it; NULL: not known.  Borrowed until the
 * files end. */
const char *sd_unwind_file_line(const struct sd_unwind_file *f, uint64_t address,
                                uint32_t *line);
/* Kept as long as the files; NULL without memory. */
const char *sd_unwind_text(struct sd_unwind_files *files, const char *s, size_t n);

/* --- Modules */

/* Looks at the mapped files when that is due; `must`: something was not found.  After a
 * failure nothing is known and the next call begins anew. */
int sd_unwind_look(struct sd_unwinder *u, uint64_t now_ns, bool must);
void sd_unwind_forget(struct sd_unwinder *u);
/* Callback of elfutils. */
int sd_unwind_find_elf(Dwfl_Module *mod, void **userdata, const char *name,
                       Dwarf_Addr base, char **file_name, Elf **elf);
/* Its file has been reached, where that is possible.  NULL: no file that we know. */
struct sd_unwind_module *sd_unwind_module_at(struct sd_unwinder *u, uint64_t address);

/* --- Symbols */

/* Never NULL but without memory.  `pc` is inside the instruction. */
const struct sd_symbol *sd_unwind_symbol(struct sd_unwinder *u, uint64_t pc);
void sd_unwind_names_release(struct sd_unwind_names *names);
void sd_unwind_symbols_release(struct sd_unwind_symbols *symbols);
#endif
#endif
