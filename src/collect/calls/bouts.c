/* SPDX-License-Identifier: MIT */
#include "collect/calls/bouts.h"

#include "base/assert.h"
#include "collect/calls/speed.h"
#include "collect/calls/ticks.h"

enum {
    FIRST_BOUTS = 6, /* at the first session of a kind; later one at a time */
    FEW_BOUTS = 3,   /* less tell nothing: any one may have been interrupted */
    GOOD_BOUTS = 4, /* that fell into a quick moment; more are done until so many did */
    SOON_BITS =
        24, /* ticks from one bout to the next (5 ms): 2 to this, and then ... */
    RARE_BITS = 31,  /* ... to this (0.7 s) */
    SHORT_BITS = 26, /* of a session that is short (20 ms) ... */
    SPAN_BITS = 30,  /* ... and of which the shortest loop is remembered (0.3 s) */
};

/* The loop of speed.h, in ticks; 0: it was never read. */
static struct {
    double quickest;     /* of all */
    double recent, last; /* of this span of time, and the one before */
    uint64_t span;       /* number of this one */
} speed;

/* --- The speed -------------------------------------------------------------------- */

static double shorter(double a, double b) { return a > 0 && a < b ? a : b; }

/* Nobody halves a core more than once: what is slower was interrupted. */
static double read_loop(void)
{
    double loop = (double)sd_speed_loop();
    uint64_t span = sd_tsc() >> SPAN_BITS;

    speed.quickest = shorter(speed.quickest, loop);
    if (span != speed.span) {
        speed.last = span == speed.span + 1 ? speed.recent : 0;
        speed.recent = 0;
        speed.span = span;
    }
    speed.recent = shorter(speed.recent, loop);
    return loop < 2 * speed.quickest ? loop : 2 * speed.quickest;
}

/* The mean of a session, whose reading at the beginning and now these were.  In a short
 * one they may both have been slow and the session not: the shortest reading of the
 * last moments is taken then, because too little taken off is better than too much, and
 * who compares short runs looks at the quickest. */
static double between(double before, double now, uint64_t ticks)
{
    if (ticks >> SHORT_BITS)
        return (before + now) / 2;
    return shorter(speed.last, shorter(speed.recent, now));
}

double sd_pace_start(struct sd_pace *p)
{
    p->loop = read_loop();
    p->since = sd_tsc();
    return p->weight > 0 ? p->sum / p->weight : p->loop;
}

double sd_pace_stop(struct sd_pace *p)
{
    uint64_t ticks = sd_tsc() - p->since;
    double loop = read_loop();

    sd_assert(p->since != 0);
    p->sum += (double)ticks * between(p->loop, loop, ticks);
    p->weight += (double)ticks;
    p->since += ticks;
    p->loop = loop;
    return p->sum / p->weight;
}

/* --- Bouts ------------------------------------------------------------------------ */

struct sd_bout *sd_bout_begin(struct sd_bouts *b)
{
    struct sd_bout *bout = &b->bouts[b->n % SD_BOUTS_KEPT];

    bout->slowest = read_loop();
    return bout;
}

double sd_bout_end(struct sd_bout *bout)
{
    double before = bout->slowest, after = read_loop();

    bout->slowest = before > after ? before : after;
    bout->is_steady = before < 1.1 * after && after < 1.1 * before;
    return bout->slowest;
}

void sd_bouts_keep(struct sd_bouts *b)
{
    b->n++;
    b->last = sd_tsc();
}

/* In a quick moment nobody else has a part of the core. */
static bool is_quick(double loop) { return loop < 1.05 * speed.quickest; }

enum goodness { ANY, STEADY, QUICK };

static enum goodness goodness(const struct sd_bout *b)
{
    if (!b->is_steady)
        return ANY;
    return is_quick(b->slowest) ? QUICK : STEADY;
}

static unsigned n_kept(const struct sd_bouts *b)
{
    return b->n < SD_BOUTS_KEPT ? b->n : SD_BOUTS_KEPT;
}

static unsigned n_good(const struct sd_bouts *b)
{
    unsigned n = 0;

    for (unsigned i = 0; i < n_kept(b); i++)
        n += goodness(&b->bouts[i]) == QUICK;
    return n;
}

bool sd_bouts_are_due(const struct sd_bouts *b, uint64_t now)
{
    int bits = n_good(b) < GOOD_BOUTS ? SOON_BITS : RARE_BITS;

    return b->n == 0 || (now - b->last) >> bits;
}

bool sd_bouts_have_enough(const struct sd_bouts *b, unsigned n, bool are_first)
{
    if (!are_first)
        return n >= 1;
    return n >= SD_BOUTS_KEPT || (n >= FIRST_BOUTS && n_good(b) >= GOOD_BOUTS);
}

/* Copies what bouts that are good enough found of one cost. */
static unsigned gather(const struct sd_bouts *b, int cost, enum goodness least,
                       double *out)
{
    unsigned n = 0;

    for (unsigned i = 0; i < n_kept(b); i++)
        if (goodness(&b->bouts[i]) >= least)
            out[n++] = b->bouts[i].costs[cost];
    return n;
}

static void sort(double *x, unsigned n)
{
    for (unsigned i = 1; i < n; i++)
        for (unsigned k = i; k > 0 && x[k] < x[k - 1]; k--) {
            double swapped = x[k];

            x[k] = x[k - 1];
            x[k - 1] = swapped;
        }
}

/* The middle one of quick moments: some were interrupted.  Where there were few others
 * had a part of the core, and a low one is nearer to the truth. */
double sd_bouts_cost(const struct sd_bouts *b, int cost)
{
    double found[SD_BOUTS_KEPT];
    unsigned n = gather(b, cost, QUICK, found), at = n / 2;

    if (n < FEW_BOUTS)
        at = (n = gather(b, cost, STEADY, found)) / 4;
    if (n < FEW_BOUTS)
        at = (n = gather(b, cost, ANY, found)) / 4;
    sort(found, n);
    return n ? found[at] : 0;
}
