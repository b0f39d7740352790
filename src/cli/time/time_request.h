/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_TIME_TIME_REQUEST_H
#define SD_CLI_TIME_TIME_REQUEST_H
/* time_request: what the command line of `sonde time` asks for. */
#include <stdbool.h>

#include "base/arena.h"
#include "base/file.h"
#include "cli/verb.h"

enum sd_time_option {
    SD_TIME_OPT_NUMBER,
    SD_TIME_OPT_REPEAT,
    SD_TIME_OPT_SETUP,
    SD_TIME_OPT_PROCESS,
    SD_TIME_OPT_UNIT,
    SD_TIME_OPT_HISTOGRAM,
    SD_TIME_OPT_BUDGET,
    SD_TIME_OPT_PROCESSES,
    SD_TIME_OPT_GC,
    SD_TIME_OPT_MEMORY,
    SD_TIME_OPT_AGAINST,
    SD_TIME_OPT_PYTHON,
    SD_TIME_OPT_VARY,
    SD_TIME_OPT_JSON,
    SD_TIME_OPT_OUTPUT,
    SD_TIME_OPT_FORCE,
};
extern const struct sd_option sd_time_request_options[];

enum { SD_TIME_SIDES_MAX = 64 };

struct sd_time_ask {
    struct sd_arena arena;
    const char *statements[SD_TIME_SIDES_MAX]; /* the first, and those it is against */
    size_t n_statements;
    const char *pythons[SD_TIME_SIDES_MAX]; /* as typed; NULL: the usual one */
    size_t n_pythons;
    const char *sizes[SD_TIME_SIDES_MAX]; /* of --vary */
    size_t n_sizes;
    const char *size_name; /* "n", or NULL */
    const char *setup;
    bool is_as_timeit, is_cpu_time, collects_garbage, wants_memory;
    uint64_t loops, repeat; /* 0: to be chosen */
    uint64_t budget_ns;     /* of each statement */
    size_t n_processes;
    bool has_histogram, is_json;
    const char *unit; /* as typed, or NULL */
    const char *to;   /* a file, or NULL */
    enum sd_create_flags create;
};

/* SD_EUSAGE with a sentence.  Released by sd_time_request_release in any case. */
int sd_time_request_read(const struct sd_command *c, struct sd_time_ask *out);
void sd_time_request_release(struct sd_time_ask *ask);
#endif
