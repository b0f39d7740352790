/* SPDX-License-Identifier: MIT */
#ifndef SD_CPYTHON_LAYOUT_H
#define SD_CPYTHON_LAYOUT_H
/* layout: describes as data where a CPython keeps what Sonde reads from outside.
 *
 * A layout is offsets and styles.  Whoever reads a process asks for a style and never
 * for a version, so that a new CPython is one table (3.8 to 3.12: generated from its
 * own headers, layouts/cp3XX.c) or one struct definition (3.13 and later tell most
 * offsets themselves at the start of _PyRuntime, debug_offsets.h).
 *
 * Only x86-64 builds without Py_DEBUG are described: a debug build of 3.8 to 3.12 has
 * other offsets and is refused at attach, because nothing in it tells them. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SD_NO_OFFSET UINT32_MAX /* this version has no such field */

/* How to get from a thread state to its innermost frame. */
enum sd_frames_style {
    SD_FRAMES_OBJECTS, /* thread_frame points to a PyFrameObject on the heap (3.8-3.10)
                        */
    SD_FRAMES_CFRAME, /* thread_frame points to a cframe on the C stack, cframe_frame of
                         which points to the frame (3.11, 3.12) */
    SD_FRAMES_DIRECT, /* thread_frame points to the frame (3.13 on) */
};

/* What frame_instr holds. */
enum sd_instr_style {
    SD_INSTR_BYTES,    /* i32, offset of the last instruction in bytes; -1: none yet */
    SD_INSTR_UNITS,    /* i32, the same in instructions of 2 bytes */
    SD_INSTR_PREVIOUS, /* address of the last instruction; one before the first: none
                          yet */
    SD_INSTR_CURRENT,  /* address of the running instruction, in callers too */
};

enum sd_lines_style {
    SD_LINES_LNOTAB,    /* pairs (bytes, signed lines), 3.8 and 3.9 */
    SD_LINES_RANGES,    /* the same with ranges without a line, 3.10 */
    SD_LINES_LOCATIONS, /* the location table with columns, 3.11 on */
};

enum sd_bytecode_style {
    SD_BYTECODE_OBJECT, /* code_bytes points to a bytes object */
    SD_BYTECODE_INLINE, /* at code_bytecode, inside the code object */
};

enum sd_gil_style {
    SD_GIL_RUNTIME,     /* one for all: runtime_holder */
    SD_GIL_INTERPRETER, /* interp_gil points to one; gil_holder counts while gil_locked
                         */
    SD_GIL_NONE,        /* free-threaded */
};

enum sd_long_style {
    SD_LONG_SIZE, /* long_tag is an i64: number of digits, below 0 for a negative number
                   */
    SD_LONG_TAG,  /* long_tag is a u64: digits << 3, low bits 2 for a negative number */
};

enum sd_keys_style {
    SD_KEYS_LOOKUP, /* size as a number; every entry has a hash (3.8-3.10) */
    SD_KEYS_LOG2,   /* sizes as powers of two; entries of str keys have no hash */
};

/* Where an instance of a class keeps its attributes. */
enum sd_instance_style {
    SD_INSTANCE_OFFSET, /* a dict at type_dict_offset (3.8-3.10) */
    SD_INSTANCE_BEFORE, /* values 4 words before the object, or a dict 3 before (3.11)
                         */
    SD_INSTANCE_TAGGED, /* 3 words before: values when bit 0 is set, else a dict (3.12)
                         */
    SD_INSTANCE_INLINE, /* a dict 3 words before, else values behind the object (3.13)
                         */
};

struct sd_layout {
    uint32_t version;      /* as PY_VERSION_HEX, for people; nobody else tests it */
    bool is_free_threaded; /* built without the GIL */
    enum sd_frames_style frames_style;
    enum sd_instr_style instr_style;
    enum sd_lines_style lines_style;
    enum sd_bytecode_style bytecode_style;
    enum sd_gil_style gil_style;
    enum sd_long_style long_style;
    enum sd_keys_style keys_style;
    enum sd_instance_style instance_style;

    uint64_t code_mask; /* frame_code & this = the address: newer CPythons tag it */
    uint8_t owner_shim; /* frames owned by this or more are marks between C and Python,
                           not Python functions */
    uint8_t owner_last; /* a frame owned by more than this is no frame */
    uint8_t str_kind_bit; /* lowest bit of the kind in str_state */
    uint8_t
        frame_specials; /* words of a frame before frame_locals, where the code has no
                           code_frame_words: their sum is n_locals + n_stack + these */

    uint8_t frame_executing; /* frame_state of a frame that has not returned */

    /* Sizes in bytes of the structures that the offsets lie in. */
    uint32_t runtime_size, interp_size, gil_size, thread_size, cframe_size, chunk_size;
    uint32_t frame_size; /* up to frame_locals: what a walk must read of each frame */
    uint32_t code_size;  /* up to the inline bytecode */
    uint32_t object_size, var_size, type_size, tuple_size, list_size, float_size;
    uint32_t long_size, bytes_size, str_size, dict_size, values_size, module_size,
        keys_size;

#define OFFSET(name, within, meaning) uint32_t name;
#include "cpython/offsets.def"
#undef OFFSET
};

/* The table of this version (PY_VERSION_HEX; its last two bytes do not matter), or
 * NULL. From 3.13 on it lacks what the target tells: see debug_offsets.h. */
const struct sd_layout *sd_layout_of_version(uint32_t version);

/* The tables one after the other, from NULL on, of those that tell nothing: what is
 * left to try when a version cannot be found out. */
const struct sd_layout *sd_layout_next(const struct sd_layout *after);

/* Whether a version tells its offsets itself. */
bool sd_layout_is_told(uint32_t version);

/* "3.8 to 3.15": what a sentence that refuses a version says is supported. */
const char *sd_layout_supported(void);

enum { SD_VERSION_TEXT = 24 };
/* "3.11.7", "3.13.0a4", "3.13.1t" (free-threaded, as its own executable is called) */
char *sd_version_text(char out[SD_VERSION_TEXT], uint32_t version,
                      bool is_free_threaded);
/* The version in the suffix of an extension, ".cpython-316t-x86_64-linux-gnu.so"; 0
 * when there is none. */
uint32_t sd_version_of_suffix(const char *suffix, bool *is_free_threaded);
/* Reads "3.11.7", "3.13.0rc2+", "3.9"; 0 when it is no version. */
uint32_t sd_version_parse(const char *s, size_t n);

/* Offset in bytes, from the first instruction, of what a frame's raw frame_instr says,
 * when the bytecode begins at `bytecode` (not used where the frame has an offset
 * itself). Below 0: before the first instruction.  `raw` is frame_instr as 8 bytes;
 * where it is an i32 only the low half is looked at. */
static inline int64_t sd_layout_instr(const struct sd_layout *l, uint64_t raw,
                                      uint64_t bytecode)
{
    switch (l->instr_style) {
    case SD_INSTR_BYTES:
        return (int32_t)(uint32_t)raw;
    case SD_INSTR_UNITS:
        return 2 * (int64_t)(int32_t)(uint32_t)raw;
    case SD_INSTR_PREVIOUS:
    case SD_INSTR_CURRENT:
        return (int64_t)(raw - bytecode);
    }
    return -1;
}

/* A field of an object whose bytes were copied; 0 where this version has none. */
static inline uint64_t sd_field_word(const uint8_t *copy, uint32_t offset)
{
    uint64_t v = 0;

    if (offset != SD_NO_OFFSET)
        memcpy(&v, copy + offset, sizeof v);
    return v;
}

static inline uint32_t sd_field_half(const uint8_t *copy, uint32_t offset)
{
    uint32_t v = 0;

    if (offset != SD_NO_OFFSET)
        memcpy(&v, copy + offset, sizeof v);
    return v;
}

#endif
