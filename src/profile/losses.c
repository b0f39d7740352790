/* SPDX-License-Identifier: MIT */
#include "profile/losses.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/sum.h"
#include "base/text.h"
#include "capture/call_cell.h"
#include "profile/call_tables.h"
#include "profile/profile_define.h"

enum { TOLD_MOST = 3 }; /* notes of losses that are said one by one */

static const char *count_text(char to[SD_TEXT_MAX], uint64_t n)
{
    return sd_text_count(to, n < INT64_MAX ? (int64_t)n : INT64_MAX);
}

/* "3 threads", "1 thread" */
static void put_count(struct sd_buf *to, uint64_t n, const char *what)
{
    char text[SD_TEXT_MAX];

    sd_buf_printf(to, "%s %s%s", count_text(text, n), what, n == 1 ? "" : "s");
}

/* A count among the facts of the capture. */
static uint64_t fact(const struct sd_profile *p, const char *key)
{
    const char *text = sd_profile_meta(p, key);
    uint64_t n;

    return text && sd_text_parse_number(text, &n) ? n : 0;
}

/* --- The file --------------------------------------------------------------------- */

static uint64_t count_damage(const struct sd_profile *p) { return p->damage != NULL; }

static void put_damage(struct sd_buf *to, const struct sd_profile *p)
{
    sd_buf_text(to, p->damage);
}

static uint64_t count_events(const struct sd_profile *p)
{
    return p->health.lost_events;
}

static void put_events(struct sd_buf *to, const struct sd_profile *p)
{
    uint64_t n = count_events(p);

    put_count(to, n, "event");
    sd_buf_printf(to, " %s dropped while recording", n == 1 ? "was" : "were");
}

static uint64_t count_threads(const struct sd_profile *p)
{
    return p->health.lost_tables;
}

static const char *why_no_room(int why)
{
    switch (why) {
    case EFBIG:
        return "the program's files may not become larger (RLIMIT_FSIZE, ulimit -f)";
    case ENOSPC:
    case EDQUOT:
        return "there was no room for them on the disk";
    case EMFILE:
    case ENFILE:
        return "the program had no file descriptor left for them";
    }
    return "there was no room for them on the disk or in memory";
}

static void put_threads(struct sd_buf *to, const struct sd_profile *p)
{
    sd_buf_text(to, "all calls of ");
    put_count(to, count_threads(p), "thread");
    sd_buf_printf(to, " are missing: %s", why_no_room(p->health.lost_tables_why));
}

/* --- Calls ------------------------------------------------------------------------ */

/* Calls whose pair of caller and callee found no room either. */
static uint64_t count_pairs(const struct sd_profile *p)
{
    return fact(p, "calls.lost");
}

static void put_threads_of(struct sd_buf *to, uint64_t n)
{
    sd_buf_text(to, " of ");
    put_count(to, n, "thread");
}

static void put_pairs(struct sd_buf *to, const struct sd_profile *p)
{
    const char *thread = sd_profile_meta(p, SD_CALLS_LOST_IN);
    uint64_t n = count_pairs(p), n_threads = 0;

    for (size_t i = 0; i < p->n_metas; i++)
        n_threads += strcmp(p->metas[i].key, SD_CALLS_LOST_IN) == 0;
    put_count(to, n, "call");
    if (n_threads == 1 && strcmp(thread, "0") == 0)
        sd_buf_text(to, " of one thread"); /* its number found no room, either */
    else if (n_threads == 1)
        sd_buf_printf(to, " of thread %s", thread);
    else if (n_threads > 1)
        put_threads_of(to, n_threads);
    sd_buf_printf(to, " %s missing: %s", n == 1 ? "is" : "are",
                  p->health.lost_tables_why ? why_no_room(p->health.lost_tables_why)
                                            : "there was no room to count them");
}

/* Older captures have such a function for calls that found no place in a full tree. */
#define OTHER "[other]"

static bool is_other(const struct sd_profile *p, uint32_t stack)
{
    const struct sd_site *site =
        stack == UINT32_MAX ? NULL : &p->sites[p->stacks[stack].site.at];

    return site && strcmp(site->name, OTHER) == 0 && site->line == 0;
}

/* Calls that found no place of their own in a full tree. */
static uint64_t count_others(const struct sd_profile *p)
{
    const struct sd_stack_totals *calls = &p->evidence[SD_CALLS].stacks;
    uint32_t at = sd_totals_metric(p, calls, "calls");
    int64_t sum = 0;

    for (size_t i = 0; at != UINT32_MAX && i < calls->n; i++)
        if (is_other(p, calls->items[i].stack.at))
            sum = sd_sum_i64(sum, calls->values[at][i]);
    return (uint64_t)sum;
}

/* Calls beyond a full tree: counts and times of functions have them, and whatever needs
 * paths shows them at one place. */
static uint64_t count_beyond(const struct sd_profile *p)
{
    return (uint64_t)sd_pair_totals_sum(&p->pairs, SD_PAIR_CALLS);
}

static double beyond_percent(const struct sd_profile *p)
{
    const struct sd_stack_totals *calls = &p->evidence[SD_CALLS].stacks;
    uint32_t at = sd_totals_metric(p, calls, "time");
    int64_t all = 0, beyond = sd_pair_totals_sum(&p->pairs, SD_PAIR_TIME);

    for (size_t i = 0; at != UINT32_MAX && i < calls->n; i++) {
        uint32_t stack = calls->items[i].stack.at;

        if (stack == UINT32_MAX || !p->sites[p->stacks[stack].site.at].is_beyond)
            all = sd_sum_i64(all, calls->values[at][i]);
    }
    all = sd_sum_i64(all, beyond);
    return all > 0 ? 100.0 * (double)beyond / (double)all : 0;
}

static uint64_t count_paths(const struct sd_profile *p)
{
    return fact(p, "calls.folded") + count_others(p) + count_beyond(p);
}

static void put_paths(struct sd_buf *to, const struct sd_profile *p)
{
    uint64_t folded = fact(p, "calls.folded"), others = count_others(p);
    uint64_t beyond = count_beyond(p);
    char text[SD_TEXT_MAX];

    if (beyond)
        sd_buf_printf(to,
                      "%s calls (%.1f %% of the time) are known by caller and callee "
                      "alone; trees show them as \"" SD_CALLS_BEYOND
                      "\" (sonde calls --nodes N keeps more paths)%s",
                      count_text(text, beyond), beyond_percent(p),
                      folded || others ? "; " : "");
    if (folded)
        sd_buf_printf(
            to,
            "%s calls are counted under an outer call of the same function, because "
            "the tree was full",
            count_text(text, folded));
    if (others)
        sd_buf_printf(to,
                      "%s%s calls are counted under " OTHER
                      ", not under their function, because the tree was full (sonde "
                      "calls --nodes N makes room)",
                      folded ? "; " : "", count_text(text, others));
}

static uint64_t count_timeline(const struct sd_profile *p)
{
    return p->n_timeline_lost;
}

static void put_timeline(struct sd_buf *to, const struct sd_profile *p)
{
    uint64_t n = count_timeline(p);

    put_count(to, n, "call");
    sd_buf_printf(to,
                  " %s missing from the timeline: there was no room to record when "
                  "they were",
                  n == 1 ? "is" : "are");
}

static uint64_t count_untraced(const struct sd_profile *p)
{
    return fact(p, "calls.untraced_ns");
}

static void put_untraced(struct sd_buf *to, const struct sd_profile *p)
{
    uint64_t ns = count_untraced(p);
    char text[SD_TEXT_MAX];

    sd_buf_printf(to,
                  "calls were not traced for %s: another tool had replaced Sonde's "
                  "hook, or a recursion was too deep for the C stack",
                  sd_text_duration(text, ns < INT64_MAX ? (int64_t)ns : INT64_MAX));
}

static uint64_t count_cells(const struct sd_profile *p)
{
    return fact(p, "calls.damaged");
}

static void put_cells(struct sd_buf *to, const struct sd_profile *p)
{
    put_count(to, count_cells(p), "damaged cell");
    sd_buf_text(to, " of calls: who called them is not known");
}

/* --- Reading ---------------------------------------------------------------------- */

static uint64_t count_memory(const struct sd_profile *p)
{
    return p->index->n_refused + p->index->n_cells_refused;
}

static void put_memory(struct sd_buf *to, const struct sd_profile *p)
{
    uint64_t calls = p->index->n_calls_refused;
    char text[SD_TEXT_MAX];

    put_count(to, count_memory(p), "name");
    sd_buf_text(to, " did not fit into memory; their events are under \"" SD_TOO_MANY
                    "\" or left out");
    if (calls)
        sd_buf_printf(to, ", with %s traced calls", count_text(text, calls));
}

static uint64_t count_opens(const struct sd_profile *p)
{
    return p->index->n_opens_refused;
}

static void put_opens(struct sd_buf *to, const struct sd_profile *p)
{
    put_count(to, count_opens(p), "unfinished section");
    sd_buf_printf(to, " %s not shown: too many were open at once",
                  count_opens(p) == 1 ? "is" : "are");
}

static uint64_t count_models(const struct sd_profile *p)
{
    return p->index->n_models_cut;
}

static void put_models(struct sd_buf *to, const struct sd_profile *p)
{
    put_count(to, count_models(p), "model");
    sd_buf_printf(to, " %s not whole and not shown",
                  count_models(p) == 1 ? "is" : "are");
}

static uint64_t count_cut_notes(const struct sd_profile *p)
{
    return p->index->n_notes_cut;
}

static void put_cut_notes(struct sd_buf *to, const struct sd_profile *p)
{
    put_count(to, count_cut_notes(p), "more note");
    sd_buf_printf(to, " %s not shown", count_cut_notes(p) == 1 ? "is" : "are");
}

/* --- What collectors wrote down themselves ---------------------------------------- */

static bool is_told(const struct sd_note *n) { return n->kind == SD_NOTE_LOSS; }

static uint64_t count_told(const struct sd_profile *p)
{
    uint64_t n = 0;

    for (size_t i = 0; i < p->n_notes; i++)
        n += is_told(&p->notes[i]);
    return n;
}

static void put_told(struct sd_buf *to, const struct sd_profile *p)
{
    uint64_t n = 0;
    char text[SD_TEXT_MAX];

    for (size_t i = 0; i < p->n_notes; i++)
        if (is_told(&p->notes[i]) && n++ < TOLD_MOST)
            sd_buf_printf(to, "%s%s", n > 1 ? "; " : "", p->notes[i].text);
    if (n > TOLD_MOST)
        sd_buf_printf(to, "; %s more such notes, which sonde info lists",
                      count_text(text, n - TOLD_MOST));
}

/* --- All of them ------------------------------------------------------------------ */

static const struct {
    const char *word;
    uint64_t (*count)(const struct sd_profile *p);
    void (*put)(struct sd_buf *to, const struct sd_profile *p);
} losses[SD_LOSS_KINDS] = {
#define LOSS(kind, word, count, put) [SD_LOSS_##kind] = { word, count, put },
#include "profile/losses.def"
#undef LOSS
};

uint64_t sd_loss_amount(const struct sd_profile *p, enum sd_loss_kind kind)
{
    sd_assert(kind < SD_LOSS_KINDS);
    return losses[kind].count(p);
}

void sd_loss_put(struct sd_buf *to, const struct sd_profile *p, enum sd_loss_kind kind)
{
    sd_assert(losses[kind].count(p) > 0);
    losses[kind].put(to, p);
}

const char *sd_loss_word(enum sd_loss_kind kind) { return losses[kind].word; }

void sd_losses_put(struct sd_buf *to, const struct sd_profile *p, unsigned kinds)
{
    bool is_first = true;

    _Static_assert(SD_LOSS_KINDS < 32, "a bit for each");
    for (unsigned i = 0; i < SD_LOSS_KINDS; i++) {
        if (!(kinds >> i & 1) || losses[i].count(p) == 0)
            continue;
        sd_buf_text(to, is_first ? "" : "; ");
        losses[i].put(to, p);
        is_first = false;
    }
}
