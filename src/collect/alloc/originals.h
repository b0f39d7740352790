/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_ORIGINALS_H
#define SD_ALLOC_ORIGINALS_H
/* originals: the functions that calls are taken from, and which object defines each.
 *
 * The first object that defines a function has the one that all others call.  dlsym
 * would be easier and is wrong: in a program that is not position-independent and takes
 * the address of malloc it returns an entry of the program's own PLT, which goes
 * through the very slot that is about to be changed. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Slots of one group are changed together or not at all where an object is bound to
 * other functions: a block goes back to the allocator that it came from. */
enum sd_hook_group { SD_HOOK_HEAP, SD_HOOK_MAPS, SD_HOOK_LOADER, SD_HOOK_THREADS };

enum sd_hook_rule {
    SD_HOOK_ANY,       /* whoever defines it */
    SD_HOOK_ALLOCATOR, /* only as defined by the object that defines malloc: anyone
                          else's ends in calls of malloc, which are seen there */
};

/* A function whose calls are to go elsewhere. */
struct sd_hook {
    const char *name;
    void *replacement;
    enum sd_hook_group group;
    enum sd_hook_rule rule;
    void *original;       /* NULL: no object defines it, and nothing is replaced */
    const void *stand_in; /* what pointers to it hold in such a program: the entry of
                             its PLT; or NULL */
};

struct sd_originals {
    uintptr_t allocator; /* base of an allocator that the program brings, whose calls
                            are its own affair; 0: it is that of the C library, or part
                            of the program itself */
    bool is_foreign;     /* malloc is not that of the C library */
};

/* Fills in `original` and `stand_in` of each, which are NULL before.  SD_EABSENT, with
 * its sentence, when there is no malloc. */
int sd_originals_find(struct sd_originals *o, struct sd_hook *hooks, size_t n);
#endif
