/* SPDX-License-Identifier: MIT */
#ifndef SD_HEAP_STEP_NAMES_H
#define SD_HEAP_STEP_NAMES_H
/* step_names: names the references of an object, by looking where each of them stands.
 *
 * tp_traverse tells what an object refers to and not where.  So the places that have a
 * name (fields, attributes, entries of a dict, variables) are read again and compared
 * with what was told.  A reference that stands in none of them has no name. */
#include "collect/heap/object_types.h"

struct sd_step_names {
    struct sd_heap_kinds *kinds;
    struct sd_pages labels; /* uint32_t[]: of the object at hand */
    struct sd_pages known;  /* labels of keys that were met lately */
    int rc;
};

int sd_step_names_init(struct sd_step_names *s, struct sd_heap_kinds *kinds);
void sd_step_names_release(struct sd_step_names *s);

/* One label for each of the `n` references, or NULL: none has a name.  Good until the
 * next call. */
const uint32_t *sd_step_names_of(struct sd_step_names *s,
                                 const struct sd_heap_kind *kind, PyObject *o,
                                 const uint64_t *edges, uint32_t n);
#endif
