/* SPDX-License-Identifier: MIT */
#ifndef SD_CALLS_NAMES_H
#define SD_CALLS_NAMES_H
/* names: keeps and names the functions that a session has met.
 *
 * A key is an address, so what it is the address of must live as long as the key is
 * used: a code object is held.  A C function is known by its PyMethodDef, which says
 * too little; its name is made when it is first met, the same that cProfile gives it,
 * and without running any code of the program's. */
#include "cpython/compat.h"

#include "base/table.h"
#include "collect/calls/signatures.h"
#include "collect/calls/call_tree.h"

struct sd_calls_names {    /* all zero is a fresh one */
    struct sd_table known; /* key to what stands for it; the references are owned */
    enum sd_value_detail detail;      /* that signatures have, where they are wanted */
    struct sd_signatures *signatures; /* owned; NULL: none yet */
    /* Of code objects of one name, file and line: how many were met (by a hash of the
     * three), and which of them a key is, where it is not the first. */
    struct sd_table n_alike, twins;
};

/* For sd_calls_request, with the struct above as `of`. */
uint32_t sd_calls_define(void *names, struct sd_call_tree *t, uint64_t key,
                         const void *what);

/* The code object (of a signature, too), or the name of the C function; borrowed. NULL:
 * nothing such, as of "[other]". */
PyObject *sd_calls_function(const struct sd_calls_names *names, uint64_t key);

/* What stands for the key, held from now on; NULL: it cannot be. */
PyObject *sd_calls_hold(struct sd_calls_names *names, uint64_t key, const void *what);

/* For the collector of cycles: what is held and can be part of one. */
int sd_calls_names_traverse(const struct sd_calls_names *names, visitproc visit,
                            void *arg);

/* Drops all but what is wanted of signatures.  The trees that use the keys are gone, or
 * ask no more. */
void sd_calls_names_release(struct sd_calls_names *names);
#endif
