/* SPDX-License-Identifier: MIT */
#ifndef SD_PROCESS_PYTHON_CODE_H
#define SD_PROCESS_PYTHON_CODE_H
/* code: reads code objects of a process, each once, and finds them by address.
 *
 * Addresses are reused: a code object is freed and another one, or something else,
 * takes its place, as happens to the code of every module once it is imported.  So what
 * was read is compared again, as often as its user wants it (code_proof).  Where the
 * fields have changed the entry is retired and the next use of the address reads anew.
 * Retired entries stay until release, so that ids and pointers given out stay good; one
 * is taken again for a code object of the same contents, wherever that lies.  So an id
 * always is the same function with the same lines, and a program that compiles one text
 * for hours has one of it, or as many as live at once. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/intern.h"
#include "base/table.h"
#include "cpython/layout.h"
#include "cpython/line_table.h"
#include "process/python/code_proof.h"
#include "process/python/runtime.h"
#include "process/remote.h"

enum {
    SD_CODE_NAME_MAX = 4096,       /* characters of a name; longer ones are cut */
    SD_CODE_LINES_MAX = 16 << 20,  /* bytes of a line table; longer: no lines */
    SD_CODE_BYTES_MAX = 256 << 20, /* bytes of bytecode; longer: no code object */
#ifdef SD_TINY
    SD_CODES_MAX = 64,
#else
    SD_CODES_MAX = 1 << 20, /* that one process may have; more are not read */
#endif
};

struct sd_code {
    uint64_t address;
    uint64_t bytecode;    /* address of the first instruction */
    uint32_t n_code;      /* bytes of bytecode */
    uint32_t frame_bytes; /* of a frame that runs it; 0 where frames are heap objects */
    uint32_t id;          /* from 0, in the order of reading */
    int32_t first_line;
    uint32_t n_locals,
        n_args;           /* entries of frame_locals; arguments of any kind of them */
    uint64_t local_names; /* address of the tuple of their names */
    const char *name, *qualname, *filename; /* UTF-8; qualname "" where there is none */
    const char *path; /* the file by its absolute path, where that is known */
    bool is_retired;  /* another object has its address now */
    /* sd_codes.now_ns when it was read, and when it was last compared (0: not yet): */
    uint64_t read_ns, checked_ns;
    uint64_t asked_ns; /* the user's own: when it was last to be compared */
    uint64_t retired_ns;

    /* code.c's own, and code_proof.c's: */
    uint64_t stamp[SD_CODE_STAMP];            /* the fields that are compared */
    struct sd_code_part parts[SD_CODE_PARTS]; /* and the contents */
    const uint8_t *table;                     /* the line table as it was read */
    struct sd_line_run *runs; /* decoded at the first question; NULL before */
    uint32_t n_table, n_runs;
    uint64_t contents;            /* a hash of all that the id stands for */
    struct sd_code *next_retired; /* of the same hash */
};

struct sd_code_slot {     /* code.c's own */
    uint64_t address;     /* 0: free */
    struct sd_code *code; /* NULL: the last one of this address is retired */
};

/* Objects lie 16 bytes apart or more, often in rows of equal size. */
static inline size_t sd_codes_place(uint64_t address)
{
    return (size_t)((address >> 4) * 0x9e3779b97f4a7c15u >> 32);
}

struct sd_codes {               /* all zero is a fresh one */
    struct sd_code_slot *slots; /* owned; open addressing by address */
    size_t n_slots, n_used;     /* n_slots is 0 or a power of two */
    struct sd_code **all;       /* owned; by id */
    size_t n, cap;
    struct sd_arena arena; /* everything the codes hold */
    struct sd_intern names;
    const char *file, *file_path; /* the last one that was looked for, in `names` */
    size_t n_retired;             /* so far: those that were taken again, too */
    struct sd_table by_contents;  /* hash to the id of the first retired one */
    struct sd_code_proof proof;   /* of the last sd_codes_verify */
    uint8_t *room;                /* owned; what came for it */
    size_t cap_room;
    uint64_t now_ns; /* set by the user; any clock that only goes forward */
};

/* hot: no system call, no allocation.  NULL when the address is not known yet. */
static inline const struct sd_code *sd_codes_find(const struct sd_codes *c,
                                                  uint64_t address)
{
    size_t at;

    if (!c->n_slots)
        return NULL;
    at = sd_codes_place(address) & (c->n_slots - 1);
    while (c->slots[at].address && c->slots[at].address != address)
        at = (at + 1) & (c->n_slots - 1);
    return c->slots[at].address ? c->slots[at].code : NULL;
}
/* Finds or reads.  SD_EFORMAT or SD_ETORN without a sentence when there is no code
 * object at the address (now), SD_ENOMEM with one. */
int sd_codes_get(struct sd_codes *c, const struct sd_remote *r,
                 const struct sd_runtime *rt, uint64_t address,
                 const struct sd_code **out);
/* Another object has its address now, or none. */
void sd_codes_retire(struct sd_codes *c, const struct sd_code *code);
void sd_codes_release(struct sd_codes *c);

/* hot: whether a frame's raw frame_instr can belong to this code. */
static inline bool sd_code_has_instr(const struct sd_code *c, const struct sd_layout *l,
                                     uint64_t raw)
{
    int64_t offset = sd_layout_instr(l, raw, c->bytecode);

    return offset >= -2 && offset < (int64_t)c->n_code;
}

/* The line that executes, SD_NO_LINE when the instruction has none.  Decodes the table
 * at the first question; later ones are a binary search. */
int32_t sd_codes_line(struct sd_codes *c, const struct sd_code *code,
                      const struct sd_layout *l, uint64_t raw_instr);
#endif
