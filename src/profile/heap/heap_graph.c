/* SPDX-License-Identifier: MIT */
#include "profile/heap/heap_graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"

const char *sd_heap_root_kind_name(enum sd_heap_root_kind kind)
{
    switch (kind) {
    case SD_HEAP_ROOT_MODULE:
        return "module";
    case SD_HEAP_ROOT_THREAD:
        return "thread";
    case SD_HEAP_ROOT_TYPE:
        return "type";
    case SD_HEAP_ROOT_INTERPRETER:
        return "interpreter";
    case SD_HEAP_ROOT_C:
        return "C";
    case SD_HEAP_N_ROOT_KINDS:
        break;
    }
    return "";
}

void sd_heap_graph_release(struct sd_heap_graph *g)
{
    struct sd_pages *all[] = { &g->addresses,  &g->types,     &g->sizes,
                               &g->counts,     &g->first,     &g->edges,
                               &g->by_address, &g->type_list, &g->large,
                               &g->held_list,  &g->labelled,  &g->labels,
                               &g->roots };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        sd_pages_release(all[i]);
    sd_heap_texts_release(&g->texts);
    memset(g, 0, sizeof *g);
}

/* The number of pairs below `object`. */
static uint32_t pairs_below(const struct sd_pages *list, uint32_t n, uint32_t object)
{
    const struct sd_heap_pair *pairs = list->p;
    uint32_t low = 0;

    while (low < n) {
        uint32_t middle = low + (n - low) / 2;

        if (pairs[middle].object < object)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

static uint64_t pair_of(const struct sd_pages *list, uint32_t n, uint32_t object)
{
    uint32_t at = pairs_below(list, n, object);
    const struct sd_heap_pair *pairs = list->p;

    return at < n && pairs[at].object == object ? pairs[at].bytes : 0;
}

uint64_t sd_heap_size(const struct sd_heap_graph *g, uint32_t object)
{
    uint32_t size = ((const uint32_t *)g->sizes.p)[object];

    return size != UINT32_MAX ? size : pair_of(&g->large, g->n_large, object);
}

uint64_t sd_heap_held(const struct sd_heap_graph *g, uint32_t object)
{
    return pair_of(&g->held_list, g->n_held, object);
}

const char *sd_heap_name(const struct sd_heap_graph *g, uint32_t text)
{
    return sd_heap_texts_get(&g->texts, text);
}

const char *sd_heap_type_name(const struct sd_heap_graph *g, uint32_t object)
{
    return sd_heap_name(g, sd_heap_type_at(g, sd_heap_type_of(g, object))->name);
}

uint32_t sd_heap_find(const struct sd_heap_graph *g, uint64_t address)
{
    const uint32_t *order = g->by_address.p;
    uint32_t low = 0, high = g->n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (sd_heap_address(g, order[middle]) < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < g->n && sd_heap_address(g, order[low]) == address ? order[low]
                                                                   : SD_HEAP_NONE;
}

const uint32_t *sd_heap_labels(const struct sd_heap_graph *g, uint32_t object)
{
    const struct sd_heap_labelled *list = g->labelled.p;
    uint32_t low = 0, high = g->n_labelled;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (list[middle].object < object)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == g->n_labelled || list[low].object != object)
        return NULL;
    return (const uint32_t *)g->labels.p + list[low].labels;
}

int64_t sd_heap_item(const struct sd_heap_graph *g, uint32_t object, uint32_t i)
{
    const struct sd_heap_type *type = sd_heap_type_at(g, sd_heap_type_of(g, object));
    const uint32_t *labels = sd_heap_labels(g, object);
    int64_t before = 0, behind = 0;
    uint32_t n;

    sd_heap_edges(g, object, &n);
    if (i >= n || type->items == SD_HEAP_NO_ITEMS || (labels && labels[i]))
        return -1;
    for (uint32_t k = 0; labels && k < n; k++) {
        before += k < i && !labels[k];
        behind += k > i && !labels[k];
    }
    if (!labels) {
        before = i;
        behind = n - 1 - i;
    }
    return type->items == SD_HEAP_ITEMS ? before : behind;
}

int sd_heap_add(struct sd_pages *array, uint32_t *n, const void *thing, size_t size)
{
    int rc;

    if (*n >= SD_HEAP_OBJECTS_MAX)
        return sd_fail(SD_ENOMEM,
                       "a heap of more than 4,294,967,293 objects or references");
    rc = sd_pages_grow(array, ((size_t)*n + 1) * size);
    if (rc == 0)
        memcpy((char *)array->p + (size_t)(*n)++ * size, thing, size);
    return rc;
}

static int by_address(const void *a, const void *b, void *addresses)
{
    uint64_t x = ((const uint64_t *)addresses)[*(const uint32_t *)a];
    uint64_t y = ((const uint64_t *)addresses)[*(const uint32_t *)b];

    return (x > y) - (x < y);
}

int sd_heap_sort_addresses(struct sd_heap_graph *g)
{
    int rc = sd_pages_grow(&g->by_address, (size_t)g->n * sizeof(uint32_t));
    uint32_t *order = g->by_address.p;

    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < g->n; i++)
        order[i] = i;
    qsort_r(order, g->n, sizeof *order, by_address, g->addresses.p);
    return 0;
}
