/* SPDX-License-Identifier: MIT */
#include "cpython/compat.h"

#include "collect/model/rules/rules.h"

#include <string.h>

static const struct {
    const char *name;
    sd_rule *rule;
} rules[] = {
#define RULE(name, function) { name, sd_rule_##function },
#include "collect/model/rules/rules.def"
#undef RULE
};

sd_rule *sd_rule_find(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strlen(rules[i].name) == n && memcmp(rules[i].name, name, n) == 0)
            return rules[i].rule;
    return NULL;
}
