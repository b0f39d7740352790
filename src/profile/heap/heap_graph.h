/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_HEAP_HEAP_GRAPH_H
#define SD_PROFILE_HEAP_HEAP_GRAPH_H
/* heap_graph: the objects of a Python heap and who refers to whom, as arrays.
 *
 * Objects are numbered in the order in which they were met, so that the references of
 * all of them, one object after the other, are one array in order.  What few objects
 * have (a size of 4 GiB, values kept beside them) stands in pairs that are sorted by
 * object, not in a column.
 *
 * The name of a reference is known by the kind of the object that holds it: an item of
 * a list or tuple has its place, counted over the references without a name; keys,
 * attributes and variables have a label, which is a kind and a text.  Objects whose
 * references have the same labels in the same order share them. */
#include <stdbool.h>
#include <stdint.h>

#include "base/pages.h"
#include "profile/heap/heap_texts.h"

#define SD_HEAP_NONE UINT32_MAX     /* no object */
#define SD_HEAP_IMMORTAL UINT32_MAX /* a count of references that is not counted */
enum { SD_HEAP_OBJECTS_MAX = UINT32_MAX - 2 };

/* How the references of an object without labels are ordered. */
enum sd_heap_items {
    SD_HEAP_NO_ITEMS,
    SD_HEAP_ITEMS,          /* the first one first (deque) */
    SD_HEAP_ITEMS_REVERSED, /* the last one first (list, tuple) */
};

struct sd_heap_type {
    uint64_t address;
    uint32_t name;   /* text: module.qualname, builtins bare */
    uint32_t module; /* text */
    uint32_t object; /* its number; SD_HEAP_NONE: it was not met */
    uint32_t n_told; /* references to it that its instances hold without visiting it */
    uint8_t items;   /* enum sd_heap_items */
    bool is_dict, is_module, is_type; /* its instances are such */
};

/* What a label's text is. */
enum sd_heap_step {
    SD_HEAP_STEP_NONE,
    SD_HEAP_STEP_ATTRIBUTE, /* x */
    SD_HEAP_STEP_KEY_TEXT,  /* ['x'] */
    SD_HEAP_STEP_KEY,       /* [x]: a number, or another key as it is shown */
    SD_HEAP_STEP_IS_KEY,    /* the object is a key itself */
    SD_HEAP_STEP_LOCAL,     /* "x in function" */
    SD_HEAP_STEP_CLOSURE,   /* names of the variables of the closure's cells, "a,b" */
    SD_HEAP_STEP_DEFAULTS,  /* names of the parameters that have defaults, "a,b" */
    SD_HEAP_N_STEPS,
};
#define SD_HEAP_LABEL(step, text) ((uint32_t)(step) << 28 | (text))
#define SD_HEAP_LABEL_STEP(label) ((enum sd_heap_step)((label) >> 28))
#define SD_HEAP_LABEL_TEXT(label) ((label)&0xfffffff)
enum { SD_HEAP_TEXTS_MAX = 1 << 28 };

enum sd_heap_root_kind {
    SD_HEAP_ROOT_MODULE,      /* in sys.modules */
    SD_HEAP_ROOT_THREAD,      /* a variable of a function that runs */
    SD_HEAP_ROOT_TYPE,        /* a type that C defines */
    SD_HEAP_ROOT_INTERPRETER, /* held by the interpreter; immortal */
    SD_HEAP_ROOT_C,           /* more references than were found */
    SD_HEAP_N_ROOT_KINDS,
};
const char *sd_heap_root_kind_name(enum sd_heap_root_kind kind);

struct sd_heap_root { /* one that the walk knows by name */
    uint32_t object;
    uint32_t text; /* the module's name; "x in f, thread 7" */
    uint8_t kind;
    bool needs_excess; /* a root only if it has more references than were found */
};

struct sd_heap_pair { /* of a column that few objects have */
    uint32_t object;
    uint64_t bytes;
};

struct sd_heap_labelled {
    uint32_t object, labels; /* where its labels begin, one for each reference */
};

struct sd_heap_graph { /* all zero is an empty one */
    uint32_t n;        /* objects */
    uint32_t n_edges;
    uint32_t n_types, n_large, n_held, n_labelled, n_labels, n_roots;
    bool has_edges;             /* else types and sizes alone: no counts, no roots */
    uint64_t bytes, held;       /* sums */
    struct sd_pages addresses;  /* uint64_t[n] */
    struct sd_pages types;      /* uint32_t[n], into type_list */
    struct sd_pages sizes;      /* uint32_t[n]; UINT32_MAX: see `large` */
    struct sd_pages counts;     /* uint32_t[n]: references; SD_HEAP_IMMORTAL */
    struct sd_pages first;      /* uint32_t[n + 1]: where its references begin */
    struct sd_pages edges;      /* uint32_t[n_edges]: objects */
    struct sd_pages by_address; /* uint32_t[n]: objects, lowest address first */
    struct sd_pages type_list;  /* struct sd_heap_type[n_types] */
    struct sd_pages large, held_list; /* struct sd_heap_pair[] */
    struct sd_pages labelled;         /* struct sd_heap_labelled[] */
    struct sd_pages labels;           /* uint32_t[n_labels]; 0: none */
    struct sd_pages roots;            /* struct sd_heap_root[] */
    struct sd_heap_texts texts;
    /* About the whole. */
    int64_t pid;
    uint64_t taken_ns; /* CLOCK_MONOTONIC */
    uint64_t rss_bytes;
    uint32_t n_other_interpreters;
};

void sd_heap_graph_release(struct sd_heap_graph *g);

/* hot */
static inline uint64_t sd_heap_address(const struct sd_heap_graph *g, uint32_t object)
{
    return ((const uint64_t *)g->addresses.p)[object];
}

static inline uint32_t sd_heap_type_of(const struct sd_heap_graph *g, uint32_t object)
{
    return ((const uint32_t *)g->types.p)[object];
}

static inline const struct sd_heap_type *sd_heap_type_at(const struct sd_heap_graph *g,
                                                         uint32_t type)
{
    return (const struct sd_heap_type *)g->type_list.p + type;
}

static inline const uint32_t *sd_heap_edges(const struct sd_heap_graph *g,
                                            uint32_t object, uint32_t *n)
{
    const uint32_t *first = (const uint32_t *)g->first.p + object;

    *n = first[1] - first[0];
    return (const uint32_t *)g->edges.p + first[0];
}

uint64_t sd_heap_size(const struct sd_heap_graph *g, uint32_t object);
uint64_t sd_heap_held(const struct sd_heap_graph *g, uint32_t object);
const char *sd_heap_type_name(const struct sd_heap_graph *g, uint32_t object);
const char *sd_heap_name(const struct sd_heap_graph *g, uint32_t text);
/* The object at this address; SD_HEAP_NONE: there is none. */
uint32_t sd_heap_find(const struct sd_heap_graph *g, uint64_t address);

/* The labels of an object's references, in order; NULL: none has one. */
const uint32_t *sd_heap_labels(const struct sd_heap_graph *g, uint32_t object);
/* The place of reference `i` of an object among those without a label, counted as the
 * object's items are; -1: it has a label, or the object has no items. */
int64_t sd_heap_item(const struct sd_heap_graph *g, uint32_t object, uint32_t i);

/* For who fills one: adds to the array that holds *n things of `size` bytes. */
int sd_heap_add(struct sd_pages *array, uint32_t *n, const void *thing, size_t size);
/* Fills by_address by sorting; for who has no better way. */
int sd_heap_sort_addresses(struct sd_heap_graph *g);
#endif
