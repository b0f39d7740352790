/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_CAPTURED_TEST_H
#define SD_COLLECT_CAPTURED_TEST_H
/* captured_test: reads a small capture back, with names in place of ids, for tests. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/record.h"

enum { CAPTURED_VALUES = 16, CAPTURED_EVENTS = 20000 };

struct captured_event {
    int type; /* SD_REC_OPEN, SPAN, POINT or SAMPLE */
    char
        path[512]; /* of a span's site: "outer:inner"; of a stack: "outer:10;inner:3" */
    int track_kind;
    uint64_t number, process; /* of its track, and of the process that belongs to */
    uint64_t parent_process;  /* of that process's track; 0: none */
    char track[64];           /* its name */
    uint64_t from, to, span;
    int flags;
    int n_values;
    const char *metrics[CAPTURED_VALUES]; /* names; good until the capture is freed */
    int64_t values[CAPTURED_VALUES];
};

struct captured {
    struct captured_event *events; /* streams one after the other */
    size_t n;
    char notes[4096]; /* one per line */
    char metas[4096]; /* key=value, one per line */
    bool is_whole;    /* the reader has no complaint */
};

/* Fails the test when it cannot be read. */
struct captured *captured_read(const char *path);
void captured_free(struct captured *c);
size_t captured_count(const struct captured *c, int type, const char *path);
/* The first of this type and path (NULL: any), or NULL. */
const struct captured_event *captured_find(const struct captured *c, int type,
                                           const char *path);
/* SD_VALUE_NONE when it has no such metric. */
int64_t captured_value(const struct captured_event *e, const char *metric);

/* A fresh folder under /tmp and a path in it, both remembered until captured_clean. */
const char *captured_path(void);
void captured_clean(void);
#endif
