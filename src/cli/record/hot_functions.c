/* SPDX-License-Identifier: MIT */
#include "cli/record/hot_functions.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* Own time (or samples) of every site. */
static void add_up(const struct sd_profile *p, int64_t *sums)
{
    enum sd_evidence evidence = sd_profile_evidence(p, NULL);
    const struct sd_stack_totals *t = &p->evidence[evidence].stacks;
    uint32_t metric = sd_totals_metric(p, t, sd_evidence_metric(p, evidence));

    for (size_t i = 0; metric != UINT32_MAX && i < t->n; i++) {
        sd_stack_id stack = t->items[i].stack;

        if (stack.at != UINT32_MAX && !(t->items[i].flags & SD_SAMPLE_IDLE))
            sums[sd_profile_function_of(p, p->stacks[stack.at].site).at] +=
                t->values[metric][i];
    }
}

static bool can_be_said(const struct sd_site *s)
{
    return s->kind == SD_SITE_FUNCTION && !s->is_native && s->file && s->line > 0 &&
           *s->file == '/';
}

/* As --only reads it: a comma would end the name, and the others stand for more than
 * themselves. */
static void put_place(struct sd_buf *to, const struct sd_site *s)
{
    for (const char *at = s->file; *at; at++) {
        if (strchr(",*?[\\", *at))
            sd_buf_u8(to, '\\');
        sd_buf_u8(to, (uint8_t)*at);
    }
    sd_buf_printf(to, ":%" PRIu32, s->line);
}

static size_t largest(const struct sd_profile *p, const int64_t *sums)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < p->n_sites; i++)
        if (sums[i] > 0 && can_be_said(&p->sites[i]) &&
            (best == SIZE_MAX || sums[i] > sums[best]))
            best = i;
    return best;
}

int sd_hot_functions(const struct sd_profile *p, size_t n, struct sd_buf *to)
{
    int64_t *sums = sd_zalloc((p->n_sites + 1) * sizeof *sums);
    char commands[SD_EVIDENCE_TEXT];
    size_t before = to->n;

    if (!sums)
        return sd_no_memory();
    add_up(p, sums);
    for (; n > 0; n--) {
        size_t at = largest(p, sums);

        if (at == SIZE_MAX)
            break;
        sums[at] = 0;
        sd_buf_text(to, to->n > 0 ? "," : "");
        put_place(to, &p->sites[at]);
    }
    sd_free(sums);
    if (to->bad)
        return sd_no_memory();
    return to->n > before
               ? 0
               : sd_fail(
                     SD_EABSENT,
                     "no Python function of a source file took time in the capture, "
                     "so none can be chosen; record another with: %s",
                     sd_evidence_commands(commands));
}
