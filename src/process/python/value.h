/* SPDX-License-Identifier: MIT */
#ifndef SD_PROCESS_PYTHON_VALUE_H
#define SD_PROCESS_PYTHON_VALUE_H
/* value: prints local variables of a frame, and Python values, as short text.
 *
 * As Python's repr() writes them, as far as that needs no code to run: None, bool, int,
 * float, str, bytes, list, tuple, dict and what is made of these; anything else is
 * <TYPE at 0xADDRESS>.  Long ones are cut with "...".  The process runs on while it is
 * read, so a value can be one that never was; frames of a thread that stands still are
 * right. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "process/python/code.h"
#include "process/python/frames.h"
#include "process/python/runtime.h"
#include "process/remote.h"

enum {
    SD_VALUE_BYTES =
        256, /* about how long a text becomes at most, unless told otherwise */
    SD_VALUE_DEPTH = 4,   /* lists in lists; deeper ones are [...] */
    SD_LOCAL_NAME = 128,  /* bytes with the 0; longer names are cut */
    SD_LOCALS_MAX = 4096, /* of one frame; more are not read */
};

/* Adds the text of the object at `at`; about `most` bytes (0: SD_VALUE_BYTES).  What
 * cannot be read is <unreadable>.  Only SD_ENOMEM and SD_EGONE are failures. */
int sd_value_text(struct sd_buf *to, const struct sd_remote *r,
                  const struct sd_layout *l, uint64_t at, size_t most);

struct sd_local {
    char name[SD_LOCAL_NAME];
    uint64_t value;   /* address of the object */
    bool is_argument; /* *args and **kwargs, too */
};

struct sd_locals {          /* all zero is a fresh one */
    struct sd_local *items; /* owned */
    size_t n, cap;
};

/* The variables of a frame that have a value, in the order of the code object.
 * SD_ETORN, without a sentence, when they cannot be read. */
int sd_locals_read(struct sd_locals *locals, const struct sd_remote *r,
                   const struct sd_runtime *rt, const struct sd_frame *frame,
                   const struct sd_code *code);
void sd_locals_release(struct sd_locals *locals);
#endif
