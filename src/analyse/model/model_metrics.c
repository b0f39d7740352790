/* SPDX-License-Identifier: MIT */
/* model_metrics: the columns of a table of layers, by name and in order. */
#include "analyse/model/model_costs.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"

static const struct {
    const char *word, *title;
    enum sd_model_unit unit;
    size_t at; /* of the field */
} metrics[] = {
#define METRIC(name, word, unit, title, field)                                         \
    { word, title, SD_MODEL_##unit, offsetof(struct sd_model_sum, field) },
#include "analyse/model/model_metrics.def"
#undef METRIC
};

static const char all_words[] = /* each with ", " before it */
#define METRIC(name, word, unit, title, field) ", " word
#include "analyse/model/model_metrics.def"
#undef METRIC
    ;

const char *sd_model_metric_word(enum sd_model_metric k) { return metrics[k].word; }
const char *sd_model_metric_title(enum sd_model_metric k) { return metrics[k].title; }
enum sd_model_unit sd_model_metric_unit(enum sd_model_metric k)
{
    return metrics[k].unit;
}

int sd_model_metric_named(const char *word, enum sd_model_metric *k)
{
    for (size_t i = 0; i < SD_BY_END; i++)
        if (!strcasecmp(metrics[i].word, word)) {
            *k = (enum sd_model_metric)i;
            return 0;
        }
    return sd_fail(SD_EUSAGE, "layers have no metric \"%s\"; the metrics are %s", word,
                   all_words + 2);
}

int64_t sd_model_metric_of(const struct sd_model_sum *s, enum sd_model_metric k)
{
    int64_t v;

    memcpy(&v, (const char *)s + metrics[k].at, sizeof v);
    return v;
}

/* --- Order: equal rows stay as they were. */

struct sorting {
    const struct sd_model_costs *costs;
    enum sd_model_metric by;
    enum sd_model_direction direction;
};

static int compare(const void *p, const void *q, void *sorting)
{
    const struct sorting *s = sorting;
    uint32_t a = *(const uint32_t *)p, b = *(const uint32_t *)q;
    int64_t x = sd_model_metric_of(&s->costs->rows[a].sum, s->by);
    int64_t y = sd_model_metric_of(&s->costs->rows[b].sum, s->by);

    if (x != y)
        return (x < y) == (s->direction == SD_MODEL_SMALLEST_FIRST) ? -1 : 1;
    return a < b ? -1 : a > b;
}

void sd_model_metric_order(const struct sd_model_costs *costs, enum sd_model_metric k,
                           enum sd_model_direction direction, uint32_t *order)
{
    struct sorting s = { costs, k, direction };

    for (uint32_t i = 0; i < costs->n_rows; i++)
        order[i] = i;
    if (costs->n_rows > 1)
        qsort_r(order, costs->n_rows, sizeof *order, compare, &s);
}
