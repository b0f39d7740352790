/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_MODEL_MODEL_SOURCE_H
#define SD_CLI_MODEL_MODEL_SOURCE_H
/* model_source: gets a model from a file, a capture, or a function of a Python program,
 * which that program's own Python then calls. */
#include "cli/verb.h"
#include "profile/model/model.h"

/* Of a model that was timed: the processor of the machine it ran on
 * (sd_machine_processor).  Without it that is not known. */
#define SD_MODEL_FACT_CPU "cpu"

struct sd_model_target {
    const char *target;        /* a file, a folder, or "pkg.mod:factory" */
    const char *const *inputs; /* "[NAME=]1,3,224,224[:DTYPE]"; ended by NULL */
    const char *python;        /* the interpreter, or NULL */
    bool has_backward, has_runtime, has_memory, is_training; /* of a program's model */
    /* Said, not only implied by another request: a file has none of it. */
    bool needs_memory, needs_training;
};

/* Fills fresh memory.  After a failure the sentence is there, unless *status is not 0:
 * then it was said already, and that is the exit status. */
int sd_model_get(const struct sd_command *c, const struct sd_model_target *asked,
                 struct sd_model *m, int *status);
#endif
