/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_CODE_OBJECTS_H
#define SD_ALLOC_CODE_OBJECTS_H
/* code_objects: the loaded objects with code, by address.
 *
 * A list is made once and then only read, by any thread without a lock; when objects
 * were loaded since, a new one takes its place, and the old one stays. */
#include <stdbool.h>
#include <stdint.h>

#include "collect/alloc/loaded.h"

struct sd_code_object {
    uintptr_t start, end;    /* of its executable segments */
    struct sd_loaded loaded; /* its outline; borrowed from the dynamic linker */
    uintptr_t table;         /* of its unwind tables; 0: it has none */
    bool is_ours;            /* Sonde's own */
};

/* The object with code at this address; NULL: none.  The caller holds no lock of ours:
 * the linker's may be waited for. */
const struct sd_code_object *sd_code_object_at(uintptr_t at);
/* The C++ library's function that writes out names, and the free that goes with its
 * malloc; NULL: it is not loaded.  They are found with the list: who asked the linker
 * for them inside of a hook could wait for a thread that waits for this one. */
struct sd_cxx_names {
    char *(*write_out)(const char *name, char *to, size_t *n, int *status);
    void (*give_back)(void *);
};
struct sd_cxx_names sd_code_objects_cxx(void);
/* Objects that the linker has unloaded so far, as of the list. */
uint64_t sd_code_objects_unloaded(void);
/* Makes the list anew where one of its objects may have been unloaded. */
void sd_code_objects_update(void);
#endif
