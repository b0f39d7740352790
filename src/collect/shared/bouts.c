/* SPDX-License-Identifier: MIT */
#include "collect/shared/bouts.h"

#include <math.h>
#include <stddef.h>

#include "base/assert.h"
#include "collect/shared/speed.h"
#include "collect/shared/ticks.h"

enum {
    FIRST_BOUTS = 6, /* at the first session of a kind; later one at a time */
    FEW_BOUTS = 3,   /* less tell nothing: any one may have been interrupted */
    GOOD_BOUTS = 4,  /* at the speed of the moment; more are done until so many are */
    SOON_BITS =
        24, /* ticks from one bout to the next (5 ms): 2 to this, and then ... */
    RARE_BITS = 31,  /* ... to this (0.7 s) */
    SHORT_BITS = 26, /* of a session that is short (20 ms) ... */
    SPAN_BITS = 30,  /* ... and of which the shortest loop is remembered (0.3 s) */
};

#define STEADY 1.2 /* slowest by quickest loop of a bout that kept its speed */
#define ALIKE 1.12 /* by how much two speeds differ that are taken for the same */

_Static_assert((int)FEW_BOUTS <= (int)GOOD_BOUTS &&
                   (int)GOOD_BOUTS <= (int)FIRST_BOUTS &&
                   (int)FIRST_BOUTS <= (int)SD_BOUTS_KEPT,
               "as many as are asked for are kept");

/* The loop of speed.h, in ticks; 0: it was never read. */
static struct {
    double quickest;     /* of all */
    double recent, last; /* of this span of time, and the one before */
    uint64_t span;       /* number of this one */
} speed;
static const struct sd_bouts_machine *machine; /* a test's, or NULL */

/* --- The speed -------------------------------------------------------------------- */

static uint64_t now(void) { return machine ? machine->now() : sd_tsc(); }
static double time_loop(void)
{
    return (double)(machine ? machine->loop() : sd_speed_loop());
}

void sd_bouts_run_on(const struct sd_bouts_machine *m)
{
    machine = m;
    speed.quickest = speed.recent = speed.last = 0;
}

static double shorter(double a, double b) { return a > 0 && a < b ? a : b; }

/* Nobody halves a core more than once: what is slower was interrupted. */
static double at_most_halved(double loop)
{
    return speed.quickest > 0 && loop > 2 * speed.quickest ? 2 * speed.quickest : loop;
}

static double read_loop(void)
{
    double loop = time_loop();
    uint64_t span = now() >> SPAN_BITS;

    speed.quickest = shorter(speed.quickest, loop);
    if (span != speed.span) {
        speed.last = span == speed.span + 1 ? speed.recent : 0;
        speed.recent = 0;
        speed.span = span;
    }
    speed.recent = shorter(speed.recent, loop);
    return at_most_halved(loop);
}

static void add_look(struct sd_bouts_looks *l, double loop)
{
    l->sum += loop;
    l->least = l->n ? shorter(loop, l->least) : loop;
    l->most = loop > l->most ? loop : l->most;
    l->n++;
}

void sd_bouts_looks_take(struct sd_bouts_looks *l)
{
    add_look(l, at_most_halved(time_loop()));
}

void sd_bouts_looks_add(struct sd_bouts_looks *to, const struct sd_bouts_looks *more)
{
    if (more->n == 0)
        return;
    to->sum += more->sum;
    to->least = to->n ? shorter(more->least, to->least) : more->least;
    to->most = more->most > to->most ? more->most : to->most;
    to->n += more->n;
}

/* The loop of a session whose readings these were, and how wrong that may be.  Of a
 * short session both may have been slow and the session not: the shortest reading of
 * the last moments is taken then, because too little taken off is better than too much,
 * and who compares short runs looks at the quickest. */
static double loop_of(const struct sd_bouts_looks *l, uint64_t ticks, double *error)
{
    double mean = l->sum / l->n, least;

    sd_assert(l->n > 0 && l->least <= l->most);
    if (ticks >> SHORT_BITS) {
        *error = (l->most - l->least) / 2 / sqrt(l->n / 2.0);
        return mean;
    }
    least = shorter(speed.last, shorter(speed.recent, l->least));
    *error = mean - least;
    return least;
}

double sd_bouts_pace_start(struct sd_bouts_pace *p)
{
    p->loop = read_loop();
    p->since = now();
    return p->weight > 0 ? p->sum / p->weight : p->loop;
}

double sd_bouts_pace_stop(struct sd_bouts_pace *p, const struct sd_bouts_looks *between)
{
    uint64_t ticks = now() - p->since;
    struct sd_bouts_looks looks = { 0 };
    double loop = read_loop(), error;

    sd_assert(p->since != 0);
    add_look(&looks, p->loop);
    add_look(&looks, loop);
    if (between)
        sd_bouts_looks_add(&looks, between);
    p->sum += (double)ticks * loop_of(&looks, ticks, &error);
    p->error += (double)ticks * error;
    p->weight += (double)ticks;
    p->since += ticks;
    p->loop = loop;
    return p->sum / p->weight;
}

double sd_bouts_pace_error(const struct sd_bouts_pace *p)
{
    return p->sum > 0 ? p->error / p->sum : 0;
}

/* --- Bouts ------------------------------------------------------------------------ */

struct sd_bout *sd_bout_begin(struct sd_bouts *b)
{
    struct sd_bout *bout = &b->bouts[b->n % SD_BOUTS_KEPT];

    bout->slowest = bout->quickest = read_loop();
    return bout;
}

void sd_bout_look(struct sd_bout *bout)
{
    double loop = read_loop();

    if (loop > bout->slowest)
        bout->slowest = loop;
    if (loop < bout->quickest)
        bout->quickest = loop;
}

static bool is_steady(const struct sd_bout *b)
{
    return b->slowest < STEADY * b->quickest;
}

/* Of looks that are alike the quickest is the least disturbed; of others nobody knows
 * which one the work had. */
double sd_bout_end(struct sd_bout *bout)
{
    sd_bout_look(bout);
    bout->loop = is_steady(bout) ? bout->quickest : bout->slowest;
    sd_assert(bout->quickest <= bout->slowest);
    return bout->loop;
}

void sd_bouts_keep(struct sd_bouts *b)
{
    b->n++;
    b->last = now();
}

/* How well a bout tells the costs where the loop takes so long. */
enum goodness { ANY, KEPT_SPEED, SAME_SPEED };

static enum goodness goodness(const struct sd_bout *b, double loop)
{
    if (!is_steady(b))
        return ANY;
    return b->loop < ALIKE * loop && loop < ALIKE * b->loop ? SAME_SPEED : KEPT_SPEED;
}

static unsigned n_kept(const struct sd_bouts *b)
{
    return b->n < SD_BOUTS_KEPT ? b->n : SD_BOUTS_KEPT;
}

/* Those that tell of the speed of the last moment: it may have changed since the others
 * were. */
static unsigned n_good(const struct sd_bouts *b)
{
    unsigned n = 0;

    for (unsigned i = 0; i < n_kept(b); i++)
        n += goodness(&b->bouts[i], speed.recent) == SAME_SPEED;
    return n;
}

bool sd_bouts_are_due(const struct sd_bouts *b, uint64_t at)
{
    int bits = n_good(b) < GOOD_BOUTS ? SOON_BITS : RARE_BITS;

    return b->n == 0 || (at - b->last) >> bits;
}

bool sd_bouts_have_enough(const struct sd_bouts *b, unsigned n, bool are_first)
{
    if (!are_first)
        return n >= 1;
    return n >= SD_BOUTS_KEPT || (n >= FIRST_BOUTS && n_good(b) >= GOOD_BOUTS);
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

/* What bouts that are good enough found of one cost, the least first, and which of it
 * counts. */
struct found {
    double costs[SD_BOUTS_KEPT]; /* as parts of the plain time, where that is known */
    double plain;                /* a short one of theirs; 1: not known */
    unsigned n, at;
};

static bool gather(const struct sd_bouts *b, int cost, double loop, enum goodness least,
                   struct found *out)
{
    double plain[SD_BOUTS_KEPT];

    sd_assert(cost >= 0 && cost < SD_BOUT_COSTS);
    out->n = 0;
    for (unsigned i = 0; i < n_kept(b); i++)
        if (goodness(&b->bouts[i], loop) >= least) {
            plain[out->n] = b->bouts[i].plain > 0 ? b->bouts[i].plain : 1;
            out->costs[out->n] = b->bouts[i].costs[cost] / plain[out->n];
            out->n++;
        }
    sort(out->costs, out->n);
    sort(plain, out->n);
    out->at = least == SAME_SPEED ? out->n / 2 : out->n / 4;
    out->plain = out->n ? plain[out->n / 8] : 1;
    return out->n >= FEW_BOUTS;
}

/* By the best of them; where these are few, by those of other speeds, too. */
static void find(const struct sd_bouts *b, int cost, double loop, struct found *out)
{
    if (!gather(b, cost, loop, SAME_SPEED, out) &&
        !gather(b, cost, loop, KEPT_SPEED, out))
        gather(b, cost, loop, ANY, out);
}

double sd_bouts_cost(const struct sd_bouts *b, int cost, double loop)
{
    struct found f;

    find(b, cost, loop, &f);
    return f.n ? f.costs[f.at] * f.plain : 0;
}

/* Half of what lies between the quarters. */
double sd_bouts_error(const struct sd_bouts *b, int cost, double loop)
{
    struct found f;

    find(b, cost, loop, &f);
    if (f.n == 0 || f.costs[f.at] <= 0)
        return 0;
    sd_assert(f.n <= SD_BOUTS_KEPT && f.costs[0] <= f.costs[f.n - 1]);
    return (f.costs[f.n - 1 - f.n / 4] - f.costs[f.n / 4]) / 2 / f.costs[f.at];
}
