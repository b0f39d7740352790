/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_MODEL_OP_COST_H
#define SD_ANALYSE_MODEL_OP_COST_H
/* op_cost: works out what one call of an operator costs, from its shapes and
 * attributes.
 *
 * One definition: a multiply-add of a matrix or vector product (convolutions are such)
 * is one MAC and one MAdd, and two FLOPs; nothing else is any.  It gives the published
 * numbers of vision models as integers.  ops.def has one line for each operator; one
 * that stands in no line is UNKNOWN, never silently 0. */
#include <stdint.h>

#include "profile/model/model.h"

enum sd_op_coverage {
    SD_OP_UNKNOWN, /* no rule: to be listed, and lowers the coverage */
    SD_OP_FREE,    /* a rule that says: there is no product in it */
    SD_OP_COUNTED,
};

struct sd_cost {
    int64_t macs, flops, madds;
    int64_t read_bytes, written_bytes; /* of its tensors, each once; 0 of views */
    enum sd_op_coverage known;
};

/* Of one call (op->n_calls is not looked at).  An operator with a formula whose
 * operands do not fit it (a file may say anything) is UNKNOWN too.  MACs, FLOPs and
 * MAdds of an UNKNOWN one are 0; its bytes are known, as those of any other. */
struct sd_cost sd_op_cost(const struct sd_model *m, const struct sd_model_op *op);
/* How the table knows this name, whatever the shapes. */
enum sd_op_coverage sd_op_known(const char *name);
/* A view makes no data: neither bytes nor time of its own. */
int sd_op_is_view(const char *name);
#endif
