/* SPDX-License-Identifier: MIT */
/* quality_rules: what is missing of a recording, or makes its figures uncertain. */
#include <math.h>

#include "analyse/analyse.h"
#include "analyse/findings/findings.h"
#include "base/mem.h"
#include "base/text.h"
#include "profile/losses.h"

#define LOST_SHARE 0.01    /* of all samples */
#define LATE_SHARE 0.05    /* of all rounds, taken or not */
#define PARTIAL_SHARE 0.02 /* of samples */
enum { FEW_SAMPLES = 100 };

static struct sd_cell count(uint64_t n)
{
    return sd_cell_number(SD_CELL_COUNT, n < INT64_MAX ? (int64_t)n : INT64_MAX);
}

static struct sd_cell percent(double share)
{
    return sd_cell_real(SD_CELL_PERCENT, 100 * share);
}

/* What the file lacks, in the words of `complaint`; the figure is that of the first
 * kind of loss. */
int sd_finding_of_damage(struct sd_finding_case *c, struct sd_profile_finding *out)
{
    uint64_t amount = 0;

    if (!c->p->complaint)
        return 0;
    for (enum sd_loss_kind k = 0; k < SD_LOSS_KINDS && amount == 0; k++)
        if (SD_LOSSES_OF_FILE & 1u << k)
            amount = sd_loss_amount(c->p, k);
    out->value = count(amount);
    return sd_finding_say(c, out, "The recording is not whole: %s", c->p->complaint);
}

/* --- Samples */

/* The account is of the whole recording. */
static bool account_of(const struct sd_finding_case *c, struct sd_sample_account *a)
{
    return !c->p->is_part && sd_account_of(c->p, a) && a->samples > 0;
}

int sd_finding_of_lost_samples(struct sd_finding_case *c,
                               struct sd_profile_finding *out)
{
    struct sd_sample_account a;
    char lost[SD_TEXT_MAX], all[SD_TEXT_MAX];
    double share;

    if (!account_of(c, &a))
        return 0;
    share = (double)a.lost / ((double)a.samples + (double)a.lost);
    if (share < LOST_SHARE)
        return 0;
    out->value = percent(share);
    out->view = "threads";
    return sd_finding_say(c, out,
                          "%.1f %% of the samples could not be read or were lost (%s "
                          "of %s)",
                          100 * share, sd_text_count(lost, (int64_t)a.lost),
                          sd_text_count(all, (int64_t)(a.samples + a.lost)));
}

int sd_finding_of_late_rounds(struct sd_finding_case *c, struct sd_profile_finding *out)
{
    struct sd_sample_account a;
    char missed[SD_TEXT_MAX], taken[SD_TEXT_MAX];

    if (!account_of(c, &a) ||
        (double)a.missed < LATE_SHARE * ((double)a.samples + (double)a.missed))
        return 0;
    out->value = count(a.missed);
    out->view = "threads";
    return sd_finding_say(c, out,
                          "%s rounds of sampling came too late and were left out, "
                          "beside %s samples: choose a lower --rate",
                          sd_text_count(missed, (int64_t)a.missed),
                          sd_text_count(taken, (int64_t)a.samples));
}

/* How many there are, and how many of them have all of these flags. */
static int64_t count_samples(const struct sd_profile *p, uint32_t flags)
{
    const struct sd_stack_totals *t = &p->evidence[SD_SAMPLES].stacks;
    uint32_t column = sd_profile_sample_metric(p, "samples");
    int64_t n = 0;

    for (size_t i = 0; column != UINT32_MAX && i < t->n; i++)
        if ((t->items[i].flags & flags) == flags)
            n += t->values[column][i];
    return n;
}

int sd_finding_of_partial_samples(struct sd_finding_case *c,
                                  struct sd_profile_finding *out)
{
    int64_t all = count_samples(c->p, 0);
    int64_t partial = count_samples(c->p, SD_SAMPLE_PARTIAL);
    double share = all > 0 ? (double)partial / (double)all : 0;

    if (share < PARTIAL_SHARE)
        return 0;
    out->value = percent(share);
    out->view = "functions";
    out->selection.search = sd_finding_search(c, "[partial]");
    if (!out->selection.search)
        return sd_no_memory();
    return sd_finding_say(c, out,
                          "The newest frames of %.1f %% of the samples could not "
                          "be read; they end in [partial]",
                          100 * share);
}

int sd_finding_of_few_samples(struct sd_finding_case *c, struct sd_profile_finding *out)
{
    int64_t n = count_samples(c->p, 0);

    if (n <= 0 || n >= FEW_SAMPLES)
        return 0;
    out->value = count((uint64_t)n);
    out->view = "functions";
    return sd_finding_say(c, out,
                          "There %s only %lld sample%s: shares may be off by %.0f %%",
                          n == 1 ? "is" : "are", (long long)n, n == 1 ? "" : "s",
                          n == 1 ? 100.0 : 98 / sqrt((double)n));
}

int sd_finding_of_busy_machine(struct sd_finding_case *c,
                               struct sd_profile_finding *out)
{
    double share;

    if (!sd_profile_has(c->p, SD_SAMPLES) || !sd_analyse_lacks_cpu(c->p, &share))
        return 0;
    out->value = percent(share);
    out->view = "functions";
    out->selection.metric = "cpu";
    return sd_finding_say(c, out,
                          "Threads that could run had a CPU %.0f %% of the time (a "
                          "busy machine, or a limit): shares of CPU time are nearer "
                          "to the truth",
                          100 * share);
}
