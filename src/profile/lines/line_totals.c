/* SPDX-License-Identifier: MIT */
#include "profile/lines/line_totals.h"

#include <string.h>

#include "base/mem.h"
#include "capture/record.h"

_Static_assert(SD_LINE_NONE == SD_VALUE_NONE, "one word for what is not known");

static int64_t sum(int64_t a, int64_t b)
{
    int64_t result;

    if (a == SD_VALUE_NONE || b == SD_VALUE_NONE)
        return a == SD_VALUE_NONE ? b : a;
    if (__builtin_add_overflow(a, b, &result))
        return b > 0 ? INT64_MAX : -INT64_MAX;
    return result;
}

static int64_t largest(int64_t a, int64_t b) { return a > b ? a : b; }

static int64_t smallest(int64_t a, int64_t b)
{
    if (a == SD_VALUE_NONE || b == SD_VALUE_NONE)
        return a == SD_VALUE_NONE ? b : a;
    return a < b ? a : b;
}

static void add_values(int64_t *to, const int64_t *from)
{
    for (int i = 0; i < SD_LINE_VALUES; i++)
        switch ((enum sd_line_value)i) {
        case SD_LINE_MIN:
        case SD_LINE_TOLD_MIN:
            to[i] = smallest(to[i], from[i]);
            break;
        case SD_LINE_MAX:
        case SD_LINE_TOLD_MAX:
        case SD_LINE_MEMORY:
        case SD_LINE_PEAK: /* what was not measured is below all */
            to[i] = largest(to[i], from[i]);
            break;
        case SD_LINE_HITS:
        case SD_LINE_TIME:
        case SD_LINE_CHILD_TIME:
        case SD_LINE_TRACING:
        case SD_LINE_CPU_TIME:
        case SD_LINE_READ:
        case SD_LINE_INCREMENT:
        case SD_LINE_TOLD_TIME:
        case SD_LINE_TOLD_CHILD_TIME:
        case SD_LINE_TOLD_CPU_TIME:
        case SD_LINE_VALUES:
            to[i] = sum(to[i], from[i]);
        }
}

int sd_line_totals_add(struct sd_line_totals *t, const struct sd_line_total *one)
{
    uint64_t key = (uint64_t)one->site << 32 | one->line, at;
    struct sd_line_total *items;

    if (sd_table_get(&t->index, key, &at)) {
        add_values(t->items[at].values, one->values);
        return 0;
    }
    items = sd_grow_array(t->items, &t->cap, t->n + 1, sizeof *items);
    if (!items)
        return sd_no_memory();
    t->items = items;
    items[t->n] = *one;
    return sd_table_put(&t->index, key, t->n++);
}

void sd_line_totals_release(struct sd_line_totals *t)
{
    sd_free(t->items);
    sd_table_release(&t->index);
    memset(t, 0, sizeof *t);
}
