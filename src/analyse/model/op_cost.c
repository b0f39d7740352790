/* SPDX-License-Identifier: MIT */
#include "analyse/model/op_cost.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/model/op_rules.h"

struct product {
    const char *name;
    sd_op_rule *rule;
};

#define VIEW(name)
#define FREE(name)
#define PRODUCT(name, rule) { name, sd_op_rule_##rule },
static const struct product products[] = {
#include "analyse/model/ops.def"
};
#undef PRODUCT
#undef VIEW

#define PRODUCT(name, rule)
#define VIEW(name) name,
static const char *const views[] = {
#include "analyse/model/ops.def"
};
#undef VIEW
#undef FREE

#define VIEW(name)
#define FREE(name) name,
static const char *const frees[] = {
#include "analyse/model/ops.def"
};
#undef PRODUCT
#undef VIEW
#undef FREE

#define N(array) (sizeof(array) / sizeof(array)[0])

/* How the table knows a name. */
struct rule {
    enum sd_op_coverage known;
    bool is_view;
    sd_op_rule *count; /* of products */
};

static int by_product(const void *name, const void *one)
{
    return strcmp(name, ((const struct product *)one)->name);
}

static int by_word(const void *name, const void *one)
{
    return strcmp(name, *(const char *const *)one);
}

static struct rule look_up(const char *name)
{
    const struct product *p =
        bsearch(name, products, N(products), sizeof products[0], by_product);

    if (p)
        return (struct rule){ SD_OP_COUNTED, false, p->rule };
    if (bsearch(name, views, N(views), sizeof views[0], by_word))
        return (struct rule){ SD_OP_FREE, true, NULL };
    if (bsearch(name, frees, N(frees), sizeof frees[0], by_word))
        return (struct rule){ SD_OP_FREE, false, NULL };
    return (struct rule){ SD_OP_UNKNOWN, false, NULL };
}

/* "aten::add_" is "aten::add" on the place of its first operand; a longer name than any
 * of the table's is in none. */
static struct rule rule_of(const char *name)
{
    static const char lists[] = "aten::_foreach_";
    struct rule found = look_up(name);
    size_t n = strlen(name);
    char plain[128];

    if (found.known == SD_OP_UNKNOWN && n > 1 && n < sizeof plain &&
        name[n - 1] == '_' && name[n - 2] != '_') {
        memcpy(plain, name, n - 1);
        plain[n - 1] = 0;
        found = look_up(plain);
    }
    if (found.known == SD_OP_UNKNOWN && !strncmp(name, lists, sizeof lists - 1))
        found.known = SD_OP_FREE;
    return found;
}

static int64_t bytes_of(const struct sd_operand *o, size_t n)
{
    int64_t all = 0;

    for (size_t i = 0; i < n; i++)
        all = sd_plus(all, sd_operand_bytes(&o[i]));
    return all;
}

static void set_macs(struct sd_cost *cost, int64_t macs)
{
    cost->known = SD_OP_COUNTED;
    cost->macs = cost->madds = macs;
    cost->flops = sd_times(2, macs);
}

struct sd_cost sd_op_cost(const struct sd_model *m, const struct sd_model_op *op)
{
    struct rule rule = rule_of(sd_model_text(m, op->name));
    struct sd_cost cost = { .known = rule.known };
    int64_t macs;

    if (!rule.is_view) {
        cost.read_bytes = bytes_of(op->in, op->n_in);
        cost.written_bytes = bytes_of(op->out, op->n_out);
    }
    if (op->given_macs < -1) {
        set_macs(&cost, sd_model_given_flops(op->given_macs) / 2);
        cost.flops = sd_model_given_flops(op->given_macs);
        return cost;
    }
    macs = op->given_macs >= 0 ? op->given_macs : rule.count ? rule.count(m, op) : -1;
    if (macs >= 0)
        set_macs(&cost, macs);
    else if (rule.count)
        cost.known = SD_OP_UNKNOWN;
    return cost;
}

enum sd_op_coverage sd_op_known(const char *name) { return rule_of(name).known; }

int sd_op_is_view(const char *name) { return rule_of(name).is_view; }
