/* SPDX-License-Identifier: MIT */
/* onnx_layers: finds the layer of a node from its name and metadata. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "formats/onnx/onnx_parts.h"

enum { NAME_MAX_BYTES = 1024, LEVELS_MAX = 32 };

/* A layer of the model, made where it is missing.  Layers have operators, so a few for
 * each operator is all that is made, as of weights (weights.c): *layer is then the one
 * that would hold it. */
static int find_layer(struct sd_onnx *x, const char *name, size_t n, const char *type,
                      uint32_t parent, uint32_t *layer)
{
    enum { LAYERS_FREE = 1024, LAYERS_EACH = 2 };
    const struct sd_model *m = x->m;

    if (m->n_layers >= LAYERS_FREE + LAYERS_EACH * m->n_ops &&
        sd_model_find_layer(m, name, n) == UINT32_MAX) {
        *layer = parent;
        return 0;
    }
    return sd_model_layer(x->m, name, n, type, parent, layer);
}

/* --- What torch's newer exporter writes: two Python lists as text,
 *     ['', 'layer1', 'layer1.0', 'layer1.0.conv1', 'conv2d_3']
 *     ['m.Net', 'torch.nn.modules.container.Sequential', 'm.Block', '...Conv2d', ...]
 * the last of each being the operator itself. */

static bool next_item(struct sd_onnx_text *list, struct sd_onnx_text *item)
{
    const char *end = list->p + list->n, *p = list->p, *quote;

    while (p < end && *p != '\'' && *p != '"')
        p++;
    if (p == end)
        return false;
    quote = memchr(p + 1, *p, (size_t)(end - p - 1));
    if (!quote)
        return false;
    *item = (struct sd_onnx_text){ p + 1, (size_t)(quote - p - 1) };
    *list = (struct sd_onnx_text){ quote + 1, (size_t)(end - quote - 1) };
    return true;
}

/* "torch.nn.modules.conv.Conv2d" is a Conv2d. */
static const char *short_class(struct sd_onnx_text c, char out[128])
{
    for (size_t i = c.n; i > 0; i--) {
        if (c.p[i - 1] != '.')
            continue;
        c.p += i;
        c.n -= i;
        break;
    }
    c.n = c.n < 127 ? c.n : 127;
    memcpy(out, c.p, c.n);
    out[c.n] = 0;
    return out;
}

/* A convolution into which its batch norm was folded stands under the norm's name; its
 * weight has kept its own. */
static void unfold(const struct sd_onnx_node *node, struct sd_onnx_text *scope,
                   char type[128])
{
    static const char suffix[] = ".weight";
    size_t n = sizeof suffix - 1;

    if (strncmp(type, "BatchNorm", 9) != 0 || node->n_in < 2 || node->in[1].n <= n ||
        sd_onnx_text_is(node->op, "BatchNormalization") ||
        memcmp(node->in[1].p + node->in[1].n - n, suffix, n) != 0)
        return;
    *scope = (struct sd_onnx_text){ node->in[1].p, node->in[1].n - n };
    short_class(node->op, type);
}

static int layer_of_scopes(struct sd_onnx *x, const struct sd_onnx_node *node,
                           uint32_t *layer)
{
    struct sd_onnx_text scopes = node->scopes, classes = node->classes;
    struct sd_onnx_text scope, class, next;
    char type[128];
    int rc = 0;

    *layer = SD_MODEL_ROOT;
    if (!next_item(&scopes, &next))
        return 0;
    for (int level = 0; level < LEVELS_MAX && rc == 0; level++) {
        scope = next;
        if (!next_item(&scopes, &next)) /* the operator itself */
            break;
        if (!next_item(&classes, &class))
            class = (struct sd_onnx_text){ "", 0 };
        short_class(class, type);
        unfold(node, &scope, type);
        if (scope.n > NAME_MAX_BYTES)
            break;
        if (scope.n == 0) {
            uint32_t id;

            rc = sd_model_word(x->m, type, &id);
            if (rc == 0 && *type)
                sd_model_set_type(x->m, SD_MODEL_ROOT, id);
            continue;
        }
        rc = find_layer(x, scope.p, scope.n, type, *layer, layer);
    }
    return rc;
}

/* --- What the older one writes: "/layer1/layer1.0/conv1/Conv".  A module in a list or
 * sequence is called after it ("layer1.0"), so a part that begins with the one before
 * it takes its place. */

static int layer_of_path(struct sd_onnx *x, struct sd_onnx_text name, uint32_t *layer)
{
    const char *p = name.p, *end = name.p + name.n, *before = "";
    char path[NAME_MAX_BYTES];
    size_t n = 0, n_before = 0;
    int rc = 0, levels = 0;

    *layer = SD_MODEL_ROOT;
    if (name.n >= sizeof path)
        return 0;
    while (rc == 0 && levels++ < LEVELS_MAX) {
        const char *slash = memchr(p, '/', (size_t)(end - p));
        size_t part;

        if (!slash) /* the operator itself */
            break;
        part = (size_t)(slash - p);
        if (part > 0) {
            if (n_before && part > n_before && p[n_before] == '.' &&
                memcmp(p, before, n_before) == 0)
                n -= n_before;
            else if (n)
                path[n++] = '.';
            memcpy(path + n, p, part);
            n += part;
            before = p;
            n_before = part;
            rc = find_layer(x, path, n, "", *layer, layer);
        }
        p = slash + 1;
    }
    return rc;
}

/* --- Otherwise a node is a layer */

static int layer_of_node(struct sd_onnx *x, const struct sd_onnx_node *node,
                         uint32_t *layer)
{
    struct sd_onnx_text name = node->name.n  ? node->name
                               : node->n_out ? node->out[0]
                                             : node->op;
    char type[128];

    if (name.n == 0 || name.n > NAME_MAX_BYTES)
        name =
            node->op.n <= NAME_MAX_BYTES ? node->op : (struct sd_onnx_text){ "?", 1 };
    return find_layer(x, name.p, name.n, short_class(node->op, type), SD_MODEL_ROOT,
                      layer);
}

static int place(struct sd_onnx *x, const struct sd_onnx_node *node, uint32_t *layer)
{
    while (node->call) /* the operators of a function are those of its call */
        node = node->call->node;
    if (node->scopes.n)
        return layer_of_scopes(x, node, layer);
    if (node->name.n && memchr(node->name.p, '/', node->name.n))
        return layer_of_path(x, node->name, layer);
    return layer_of_node(x, node, layer);
}

int sd_onnx_layer(struct sd_onnx *x, const struct sd_onnx_node *node, uint32_t *layer)
{
    uint64_t known;
    uint32_t op;
    int rc = place(x, node, layer);

    if (rc < 0)
        return rc;
    sd_model_entered(x->m, *layer);
    if (sd_table_get(&x->first_op, *layer, &known))
        return 0;
    rc = sd_model_string(x->m, node->op.p, node->op.n, &op);
    return rc == 0 ? sd_table_put(&x->first_op, *layer, op) : rc;
}

/* A layer without layers in it, whose class nobody wrote down, is what it does first.
 */
int sd_onnx_finish_layers(struct sd_onnx *x)
{
    bool *has_layers = sd_zalloc(x->m->n_layers * sizeof *has_layers);
    uint64_t op;

    if (!has_layers)
        return sd_no_memory();
    for (size_t i = 1; i < x->m->n_layers; i++)
        has_layers[x->m->layers[i].parent] = true;
    for (size_t i = 1; i < x->m->n_layers; i++)
        if (!has_layers[i] && *sd_model_text(x->m, x->m->layers[i].type) == 0 &&
            sd_table_get(&x->first_op, i, &op))
            sd_model_set_type(x->m, (uint32_t)i, (uint32_t)op);
    sd_free(has_layers);
    return 0;
}
