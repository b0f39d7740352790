/* SPDX-License-Identifier: MIT */
#include "analyse/alloc/alloc_words.h"

#include <string.h>

#include "base/sum.h"
#include "base/text.h"
#include "profile/alloc/alloc_evidence.h"
#include "profile/losses.h"

static int64_t bounded(uint64_t n) { return n < INT64_MAX ? (int64_t)n : INT64_MAX; }

/* --- The summary */

static void add_processes(const struct sd_alloc_totals *t, struct sd_alloc_summary *s)
{
    for (size_t i = 0; i < t->n_processes; i++) {
        const struct sd_alloc_process *one = &t->processes[i];

        s->frees = sd_sum_i64(s->frees, bounded(one->frees));
        s->unknown_frees = sd_sum_i64(s->unknown_frees, bounded(one->unknown_frees));
        s->overlaps = sd_sum_i64(s->overlaps, bounded(one->overlaps));
    }
}

static void add_peak(const struct sd_alloc_totals *t, struct sd_alloc_summary *s)
{
    uint32_t largest = sd_alloc_totals_largest(t);
    const struct sd_alloc_process *one;

    s->peak_ns = -1;
    if (largest == UINT32_MAX)
        return;
    one = &t->processes[largest];
    s->peak_bytes = bounded(one->peak_bytes);
    s->peak_ns = one->peak_bytes ? bounded(one->peak_ns) : -1;
    s->has_rss = one->peak_rss > 0;
    s->has_untracked = s->has_rss && !one->is_part;
    s->peak_rss_bytes = bounded(one->peak_rss);
    s->untracked_bytes = s->peak_rss_bytes - bounded(one->rss_live_bytes);
}

void sd_alloc_summarize(const struct sd_profile *p, struct sd_alloc_summary *s)
{
    const struct sd_alloc_totals *t = &p->allocs;
    static const char *const modes[] = { [SD_ALLOCS_FULL] = "full",
                                         [SD_ALLOCS_AGGREGATE] = "aggregate",
                                         [SD_ALLOCS_SAMPLE] = "sample" };

    *s = (struct sd_alloc_summary){
        .mode = t->has_modes ? NULL : modes[t->mode],
        .layer = sd_alloc_evidence_layer(p),
        .allocations = sd_alloc_totals_sum(t, SD_ALLOCS_BLOCKS),
        .bytes = sd_alloc_totals_sum(t, SD_ALLOCS_BYTES),
        .leaked_allocations = sd_alloc_totals_sum(t, SD_ALLOCS_LEAKED_BLOCKS),
        .leaked_bytes = sd_alloc_totals_sum(t, SD_ALLOCS_LEAKED_BYTES),
        .temporary_allocations = sd_alloc_totals_know(t, SD_ALLOCS_TEMPORARIES)
                                     ? sd_alloc_totals_sum(t, SD_ALLOCS_TEMPORARIES)
                                     : -1,
        .lost = bounded(t->lost),
    };
    add_processes(t, s);
    add_peak(t, s);
    /* Most frees are of blocks that were not drawn, or that others allocated. */
    if (t->mode == SD_ALLOCS_SAMPLE || sd_alloc_evidence_is_of_one_thread(p))
        s->unknown_frees = -1;
}

/* --- In words */

/* "peak       ": what a line is about, in a column of its own. */
static void put_label(struct sd_buf *to, const char *label)
{
    sd_buf_printf(to, "%-11s", label);
}

static void put_peak(struct sd_buf *to, const struct sd_alloc_summary *s)
{
    char text[SD_TEXT_MAX];

    put_label(to, "peak");
    sd_buf_text(to, sd_text_bytes(text, s->peak_bytes));
    if (s->peak_ns >= 0)
        sd_buf_printf(to, " at %s", sd_text_duration(text, s->peak_ns));
    sd_buf_text(to, "\n");
}

static const char *blocks(int64_t n) { return n == 1 ? "block" : "blocks"; }

static void put_total(struct sd_buf *to, const struct sd_alloc_summary *s)
{
    char text[SD_TEXT_MAX];

    put_label(to, "total");
    sd_buf_printf(to, "%s in ", sd_text_bytes(text, s->bytes));
    sd_buf_printf(to, "%s %s", sd_text_count(text, s->allocations),
                  s->allocations == 1 ? "allocation" : "allocations");
    if (s->temporary_allocations >= 0)
        sd_buf_printf(to, ", %s of them temporary",
                      sd_text_count(text, s->temporary_allocations));
    sd_buf_text(to, "\n");
}

static void put_leaks(struct sd_buf *to, const struct sd_alloc_summary *s)
{
    char text[SD_TEXT_MAX];

    put_label(to, "leaks");
    sd_buf_printf(to, "%s in ", sd_text_bytes(text, s->leaked_bytes));
    sd_buf_printf(to, "%s %s\n", sd_text_count(text, s->leaked_allocations),
                  blocks(s->leaked_allocations));
}

/* Nobody allocated it: code, stacks, pages that an allocator keeps. */
static void put_untracked(struct sd_buf *to, const struct sd_alloc_summary *s)
{
    char text[SD_TEXT_MAX];

    put_label(to, "untracked");
    if (!s->has_untracked) {
        sd_buf_text(to, "not known\n");
        return;
    }
    sd_buf_printf(to, "%s of ",
                  sd_text_bytes(text, s->untracked_bytes > 0 ? s->untracked_bytes : 0));
    sd_buf_printf(to, "%s RSS, its highest", sd_text_bytes(text, s->peak_rss_bytes));
    if (s->untracked_bytes < 0)
        sd_buf_text(to, ": not all that was allocated was in use");
    sd_buf_text(to, "\n");
}

const struct sd_note *sd_alloc_words_refusal(const struct sd_profile *p,
                                             const struct sd_note *last)
{
    for (size_t i = last ? (size_t)(last - p->notes) + 1 : 0; i < p->n_notes; i++)
        if (p->notes[i].kind == SD_NOTE_REFUSAL &&
            strstr(p->notes[i].text, "the collector alloc "))
            return &p->notes[i];
    return NULL;
}

/* What processes said themselves: who stopped recording, and who never began. */
static void put_notes(struct sd_buf *to, const struct sd_profile *p)
{
    const struct sd_note *refusal = sd_alloc_words_refusal(p, NULL);
    size_t n = 0;

    if (sd_loss_amount(p, SD_LOSS_TOLD) > 0) {
        sd_loss_put(to, p, SD_LOSS_TOLD);
        sd_buf_text(to, "\n");
    }
    if (!refusal)
        return;
    sd_buf_printf(to, "%s\n", refusal->text);
    while ((refusal = sd_alloc_words_refusal(p, refusal)))
        n++;
    if (n > 0)
        sd_buf_printf(to, "%zu more such %s, which sonde info lists\n", n,
                      n == 1 ? "note" : "notes");
}

static void put_doubts(struct sd_buf *to, const struct sd_profile *p,
                       const struct sd_alloc_summary *s)
{
    char text[SD_TEXT_MAX];

    if (p->allocs.mode == SD_ALLOCS_SAMPLE)
        sd_buf_text(to, "all amounts are estimated from samples\n");
    if (s->lost > 0)
        sd_buf_printf(to, "%s %s lost: what was live is uncertain\n",
                      sd_text_count(text, s->lost),
                      s->lost == 1 ? "event was" : "events were");
    if (s->overlaps > 0)
        sd_buf_printf(to, "%s blocks began over live ones: frees are missing\n",
                      sd_text_count(text, s->overlaps));
    put_notes(to, p);
}

void sd_alloc_words(struct sd_buf *to, const struct sd_profile *p)
{
    struct sd_alloc_summary s;

    sd_alloc_summarize(p, &s);
    put_peak(to, &s);
    put_total(to, &s);
    put_leaks(to, &s);
    put_untracked(to, &s);
    put_doubts(to, p, &s);
}
