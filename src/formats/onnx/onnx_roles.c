/* SPDX-License-Identifier: MIT */
/* onnx_roles: decides which stored tensors are parameters: files do not say it, but
 * what operators do with them does. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "formats/onnx/onnx_parts.h"

struct roles {
    const char *op, *inputs;
};

static const struct roles standard[] = {
#define ONNX_ROLES(name, inputs) { name, inputs },
#define MS_ROLES(name, inputs)
#include "formats/onnx/onnx_roles.def"
#undef ONNX_ROLES
#undef MS_ROLES
};
static const struct roles microsoft[] = {
#define ONNX_ROLES(name, inputs)
#define MS_ROLES(name, inputs) { name, inputs },
#include "formats/onnx/onnx_roles.def"
#undef ONNX_ROLES
#undef MS_ROLES
};

static const char *find(const struct roles *all, size_t n, struct sd_onnx_text op)
{
    for (size_t i = 0; i < n; i++)
        if (sd_onnx_text_is(op, all[i].op))
            return all[i].inputs;
    return "";
}

static const char *roles_of(const struct sd_onnx_node *node)
{
    if (node->domain.n == 0 || sd_onnx_text_is(node->domain, "ai.onnx"))
        return find(standard, sizeof standard / sizeof *standard, node->op);
    if (sd_onnx_text_is(node->domain, "com.microsoft"))
        return find(microsoft, sizeof microsoft / sizeof *microsoft, node->op);
    return "";
}

/* Trained, or it was before it was quantised.  Shapes, indices and single numbers of
 * formulas are constants. */
static bool is_of_weights(const struct sd_onnx_value *v)
{
    switch (v->dtype) {
    case SD_DTYPE_I16:
    case SD_DTYPE_I32:
    case SD_DTYPE_I64:
    case SD_DTYPE_U16:
    case SD_DTYPE_U32:
    case SD_DTYPE_U64:
    case SD_DTYPE_BOOL:
        return false;
    default: /* texts have no size */
        return v->n_dims > 0 && (v->dtype == SD_DTYPE_UNKNOWN ||
                                 sd_dtype_about(v->dtype)->block_bytes > 0);
    }
}

bool sd_onnx_is_parameter(const struct sd_onnx_value *v)
{
    switch (v->role) {
    case 'b':
        return false;
    case 'k':
        return true;
    case 'w':
        return is_of_weights(v) || (v->n_dims > 0 && (v->dtype == SD_DTYPE_I32 ||
                                                      v->dtype == SD_DTYPE_I16));
    default:
        return is_of_weights(v);
    }
}

/* The elements of one that is packed, as a shape of their own. */
static int unpack(struct sd_onnx *x, const struct sd_onnx_node *node,
                  struct sd_onnx_value *v)
{
    int64_t bits = sd_onnx_int(node, "bits", 4);
    int64_t n = sd_onnx_int(node, "N", -1), k = sd_onnx_int(node, "K", -1);
    int64_t *dims;

    if (v->unpacked || v->dtype != SD_DTYPE_U8 || bits < 1 || bits > 8)
        return 0;
    dims = sd_arena_alloc(&x->arena, 2 * sizeof *dims);
    if (!dims)
        return sd_no_memory();
    if (n >= 0 && k >= 0 && n <= SD_ONNX_AXIS_MAX && k <= SD_ONNX_AXIS_MAX) {
        dims[0] = n;
        dims[1] = k;
    } else { /* rows of a table */
        dims[0] = v->n_dims ? v->dims[0] : 1;
        dims[1] = 8 / bits;
        for (uint32_t i = 1; i < v->n_dims; i++)
            dims[1] = sd_times(dims[1], v->dims[i]);
    }
    v->unpacked = dims;
    v->packed_dtype = bits == 4 ? SD_DTYPE_U4 : SD_DTYPE_U8;
    return 0;
}

/* A parameter is stronger than what else it may be: exporters write equal tensors once.
 */
static bool is_stronger(char role, char than)
{
    return than == 0 || (than == 'b' && role != 'b') || role == 'w' || role == 'k';
}

int sd_onnx_take_role(struct sd_onnx *x, const struct sd_onnx_node *node, uint32_t i,
                      struct sd_onnx_value *v, uint32_t layer)
{
    const char *roles = roles_of(node);
    char role = i < strlen(roles) ? roles[i] : '.';
    int rc;

    if (v->from)
        v = v->from;
    if (role == '.' || (!v->is_weight && !v->is_constant))
        return 0;
    if (is_stronger(role, v->role))
        v->role = role;
    if (role == 'k') {
        rc = unpack(x, node, v);
        if (rc < 0)
            return rc;
    }
    if (!v->is_constant || role == 'b' || !sd_onnx_is_parameter(v))
        return 0;
    v->is_constant = false;
    v->is_weight = v->is_placed = true;
    v->layer = layer;
    return sd_onnx_keep_weight(x, v);
}

void sd_onnx_follow(const struct sd_onnx_step *s)
{
    static const char *const moves[] = { "Transpose", "Cast",     "Reshape",
                                         "Flatten",   "Squeeze",  "Unsqueeze",
                                         "Identity",  "CastLike", "DequantizeLinear" };
    struct sd_onnx_value *v;

    if (s->n_in == 0 || s->n_out == 0 || !s->in[0])
        return;
    v = (struct sd_onnx_value *)(uintptr_t)s->in[0];
    if (!v->from && !v->is_weight && !v->is_constant)
        return;
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (sd_onnx_text_is(s->node->op, moves[i]))
            s->out[0]->from = v->from ? v->from : v;
}
