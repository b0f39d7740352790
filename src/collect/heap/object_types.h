/* SPDX-License-Identifier: MIT */
#ifndef SD_HEAP_OBJECT_TYPES_H
#define SD_HEAP_OBJECT_TYPES_H
/* object_types: what a walk knows of each type that it met.
 *
 * Looked up once for each object, so it is a hash table from the type's address, with
 * one entry at hand. */
#include "collect/heap/object_size.h"
#include "profile/heap/heap_graph.h"

/* How the references of an object are named, besides its fields. */
enum sd_step_naming {
    SD_NAMING_NONE,
    SD_NAMING_FIELDS, /* instances: fields, slots, attributes */
    SD_NAMING_DICT,
    SD_NAMING_FUNCTION,
    SD_NAMING_CELL,
    SD_NAMING_TYPE,
    SD_NAMING_FRAME, /* frames, generators, coroutines */
};

struct sd_heap_field { /* a place in an object where a reference stands */
    Py_ssize_t offset;
    uint32_t label;
};

struct sd_heap_kind {
    PyTypeObject *type;
    struct sd_size_of_type size;
    enum sd_step_naming naming;
    bool is_gc, is_heap_type, is_managed, has_dict;
    uint32_t first_field, n_fields;
    uint32_t last_labels, n_last_labels; /* those of the last instance; 0: none */
};

struct sd_heap_kinds {
    struct sd_heap_graph *graph; /* whose type_list goes with ours */
    const struct sd_size_names *sizes;
    struct sd_pages kinds;  /* struct sd_heap_kind[graph->n_types] */
    struct sd_pages fields; /* struct sd_heap_field[n_fields] */
    struct sd_pages slots;  /* uint32_t[n_slots]: number of a kind, from 1 on */
    uint32_t n_fields, n_slots;
    uint32_t dict_label, class_label;
    PyTypeObject *last; /* the one at hand */
    uint32_t last_at;
    int rc; /* what went wrong */
};

int sd_heap_kinds_init(struct sd_heap_kinds *k, struct sd_heap_graph *g,
                       const struct sd_size_names *sizes);
void sd_heap_kinds_release(struct sd_heap_kinds *k);
/* Its number, also in the graph's type_list; SD_HEAP_NONE: no memory. */
uint32_t sd_heap_kinds_find(struct sd_heap_kinds *k, PyTypeObject *type);

static inline struct sd_heap_kind *sd_heap_kinds_at(struct sd_heap_kinds *k,
                                                    uint32_t number)
{
    return (struct sd_heap_kind *)k->kinds.p + number;
}

/* A label of this text; 0, and k->rc, when there is no memory. */
uint32_t sd_heap_kinds_label(struct sd_heap_kinds *k, enum sd_heap_step step,
                             const char *text, size_t n);
#endif
