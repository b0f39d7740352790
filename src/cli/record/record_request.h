/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_RECORD_RECORD_REQUEST_H
#define SD_CLI_RECORD_RECORD_REQUEST_H
/* record_request: reads the options of `record`.
 *
 * The words are py-spy's, and mean what they mean there.  Which stacks are written, and
 * how, is left to the file that is made in the end: the capture always has idle threads
 * and every line, so that it can be asked again. */
#include <stdint.h>

#include "cli/record/output_names.h"
#include "cli/verb.h"
#include "collect/sample/metrics.h"
#include "formats/stack_style.h"

enum sd_record_option {
    SD_RECORD_PID,
    SD_RECORD_OUTPUT,
    SD_RECORD_FORMAT,
    SD_RECORD_DURATION,
    SD_RECORD_RATE,
    SD_RECORD_SUBPROCESSES,
    SD_RECORD_THREADS,
    SD_RECORD_GIL,
    SD_RECORD_IDLE,
    SD_RECORD_FUNCTION,
    SD_RECORD_NOLINENO,
    SD_RECORD_FULL_FILENAMES,
    SD_RECORD_QUALIFIED,
    SD_RECORD_NATIVE,
    SD_RECORD_NONBLOCKING,
    SD_RECORD_BLOCKING,
    SD_RECORD_CONSISTENCY,
    SD_RECORD_MODE,
    SD_RECORD_WITH,
    SD_RECORD_CAPTURE,
    SD_RECORD_FORCE,
    SD_RECORD_PYTHON,
    SD_RECORD_SYNC,
    SD_RECORD_SOURCE,
    SD_RECORD_SHARE,
};
extern const struct sd_option sd_record_options[];

enum { SD_RECORD_SPOKEN = SD_SAMPLE_WITH_NATIVE + 1 };

struct sd_record_request {
    pid_t pid;            /* 0: a program is to be started */
    uint64_t duration_ns; /* 0: until it ends */
    const char *format;   /* as sd_export takes it; NULL: by the suffix */
    const char *with;     /* collectors, `sample` first; in the arena */
    struct sd_stack_style style;
    unsigned privacy; /* of a page: enum sd_page_privacy */
    struct sd_option_value spoken[SD_RECORD_SPOKEN]; /* the options of sample */
};

/* SD_EUSAGE with a sentence. */
int sd_record_request_read(struct sd_arena *a, const struct sd_command *c,
                           struct sd_record_request *out);

/* Where to record to, and what to make of it; called after `name` when no file was
 * given. */
int sd_record_request_names(struct sd_arena *a, const struct sd_command *c,
                            const struct sd_record_request *request, const char *name,
                            enum sd_create_flags create, struct sd_naming *out);
#endif
