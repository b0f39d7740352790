/* SPDX-License-Identifier: MIT */
/* What `sonde model` relies on of two rooms that do not know each other. */
#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "formats/onnx/onnx_parts.h"

#define PRODUCT(name, rule) name,
#define VIEW(name) name,
#define FREE(name) name,
static const char *const costs[] = {
#include "analyse/model/ops.def"
};
#undef PRODUCT
#undef VIEW
#undef FREE

/* "onnx::Conv" as a node has it; false: it is of another world. */
static bool node_of(const char *name, struct sd_onnx_node *node)
{
    static const char onnx[] = "onnx::", microsoft[] = "com.microsoft::";

    *node = (struct sd_onnx_node){ 0 };
    if (strncmp(name, onnx, sizeof onnx - 1) == 0)
        name += sizeof onnx - 1;
    else if (strncmp(name, microsoft, sizeof microsoft - 1) == 0) {
        node->domain =
            (struct sd_onnx_text){ "com.microsoft", sizeof "com.microsoft" - 1 };
        name += sizeof microsoft - 1;
    } else
        return false;
    node->op = (struct sd_onnx_text){ name, strlen(name) };
    return true;
}

static bool has_body(const struct sd_onnx_node *node)
{
    return sd_onnx_text_is(node->op, "If") || sd_onnx_text_is(node->op, "Loop") ||
           sd_onnx_text_is(node->op, "Scan");
}

/* Without one nothing behind it is counted, and the rule for its cost is asked in vain.
 */
TEST(every_onnx_operator_with_a_cost_has_a_shape)
{
    sd_onnx_rule shape, fold;
    struct sd_onnx_node node;
    size_t n = 0;

    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        if (!node_of(costs[i], &node) || has_body(&node))
            continue;
        n++;
        if (!sd_onnx_rules(&node, &shape, &fold)) {
            fprintf(stderr, "%s has no shape\n", costs[i]);
            CHECK(false);
        }
    }
    CHECK(n > 200);
}
