/* SPDX-License-Identifier: MIT */
#include "report/svg/graph_look.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* --- Colours */

struct hsl {
    double hue, saturation, lightness; /* 0 to 1 */
};

struct sd_graph_theme {
    const char *name;
    struct hsl least, most; /* of weights 0 and 1 */
    double gamma;
    double least_font, most_font; /* points */
    double least_pen, most_pen;
    bool is_filled; /* boxes are; else their frame is coloured, and the text is black */
};

static const struct sd_graph_theme themes[] = {
    { "color", { 2.0 / 3, 0.8, 0.25 }, { 0, 1, 0.5 }, 1, 10, 10, 0.5, 4, true },
    { "pink", { 0, 1, 0.9 }, { 0, 1, 0.5 }, 2.2, 10, 10, 0.5, 4, true },
    { "gray", { 0, 0, 0.85 }, { 0, 0, 0 }, 2.2, 10, 10, 0.5, 4, true },
    { "bw", { 0, 0, 0 }, { 0, 0, 0 }, 2.2, 8, 24, 0.1, 8, true },
    { "print", { 0, 0, 0 }, { 0, 0, 0 }, 2.2, 18, 30, 0.1, 8, false },
};

const struct sd_graph_theme *sd_graph_theme_named(const char *name)
{
    for (size_t i = 0; i < sizeof themes / sizeof *themes; i++)
        if (strcmp(themes[i].name, name) == 0)
            return &themes[i];
    return NULL;
}

static double clamp(double v) { return v > 1 ? 1 : v > 0 ? v : 0; }

/* Part of one channel, whose place on the circle of hues is `at`. */
static double channel(double low, double high, double at)
{
    at -= floor(at);
    if (at < 1.0 / 6)
        return low + (high - low) * at * 6;
    if (at < 1.0 / 2)
        return high;
    return at < 2.0 / 3 ? low + (high - low) * (2.0 / 3 - at) * 6 : low;
}

static unsigned byte_of(double v, double gamma)
{
    return (unsigned)(255 * clamp(pow(clamp(v), gamma)) + 0.5);
}

static void write_colour(const struct hsl *c, double gamma, char out[8])
{
    double high = c->lightness <= 0.5
                      ? c->lightness * (1 + c->saturation)
                      : c->lightness + c->saturation - c->lightness * c->saturation;
    double low = 2 * c->lightness - high;

    snprintf(out, 8, "#%02x%02x%02x",
             byte_of(channel(low, high, c->hue + 1.0 / 3), gamma),
             byte_of(channel(low, high, c->hue), gamma),
             byte_of(channel(low, high, c->hue - 1.0 / 3), gamma));
}

/* Where between the two ends a weight lies: exponentially where that is wanted. */
static double bend(double weight, double skew)
{
    weight = clamp(weight);
    return skew == 1 || skew <= 0 ? weight : (pow(skew, weight) - 1) / (skew - 1);
}

void sd_graph_colour(const struct sd_graph_look *look, double weight, char out[8])
{
    const struct sd_graph_theme *t = look->theme;
    double at = bend(weight, look->skew);
    struct hsl c = {
        t->least.hue + at * (t->most.hue - t->least.hue),
        clamp(t->least.saturation + at * (t->most.saturation - t->least.saturation)),
        clamp(t->least.lightness + at * (t->most.lightness - t->least.lightness)),
    };

    write_colour(&c, t->gamma, out);
}

bool sd_graph_is_filled(const struct sd_graph_look *look)
{
    return look->theme->is_filled;
}

void sd_graph_text_colour(const struct sd_graph_look *look, double weight, char out[8])
{
    if (look->theme->is_filled)
        snprintf(out, 8, "#ffffff");
    else
        sd_graph_colour(look, weight, out);
}

double sd_graph_font_size(const struct sd_graph_look *look, double weight)
{
    return fmax(weight * weight * look->theme->most_font, look->theme->least_font);
}

double sd_graph_pen_width(const struct sd_graph_look *look, double weight)
{
    return fmax(weight * look->theme->most_pen, look->theme->least_pen);
}

/* --- Looks */

static const char *const words[SD_GRAPH_WORDS] = {
    [SD_GRAPH_SELF_TIME] = "self-time",
    [SD_GRAPH_SELF_PERCENT] = "self-time-percentage",
    [SD_GRAPH_TOTAL_TIME] = "total-time",
    [SD_GRAPH_TOTAL_PERCENT] = "total-time-percentage",
};

bool sd_graph_word_named(const char *name, enum sd_graph_word *word)
{
    for (unsigned i = 0; i < SD_GRAPH_WORDS; i++)
        if (strcmp(words[i], name) == 0) {
            *word = (enum sd_graph_word)i;
            return true;
        }
    return false;
}

struct sd_graph_look sd_graph_look_default(void)
{
    return (struct sd_graph_look){
        .theme = &themes[0],
        .skew = 1,
        .words = { SD_GRAPH_TOTAL_PERCENT, SD_GRAPH_SELF_PERCENT },
        .n_words = 2,
        .tolerance = 0.001,
    };
}

/* What the other graph lacks is nothing there. */
static double difference(const struct sd_graph_node *n)
{
    return fabs(n->other_total - n->total) * 100;
}

void sd_graph_look_measure(struct sd_graph_look *look, const struct sd_view_graph *g)
{
    look->least_difference = look->most_difference = 0;
    for (size_t i = 0; i < g->n_nodes; i++) {
        double d = difference(&g->nodes[i]);

        if (i == 0 || d < look->least_difference)
            look->least_difference = d;
        if (d > look->most_difference)
            look->most_difference = d;
    }
}

enum sd_graph_change sd_graph_change_of(const struct sd_graph_look *look,
                                        const struct sd_view_graph *g,
                                        const struct sd_graph_node *n)
{
    if (!g->is_compared || difference(n) < look->tolerance)
        return SD_GRAPH_SAME;
    if (n->other_total > n->total)
        return look->is_only_faster ? SD_GRAPH_SAME : SD_GRAPH_SLOWER;
    return look->is_only_slower || n->other_total == n->total ? SD_GRAPH_SAME
                                                              : SD_GRAPH_FASTER;
}

double sd_graph_node_weight(const struct sd_graph_look *look,
                            const struct sd_view_graph *g,
                            const struct sd_graph_node *n)
{
    double span = look->most_difference - look->least_difference;

    if (!look->is_coloured_by_difference)
        return n->weight;
    if (sd_graph_change_of(look, g, n) == SD_GRAPH_SAME || span <= 0)
        return 0;
    return (difference(n) - look->least_difference) / span;
}

double sd_graph_edge_weight(const struct sd_graph_look *look,
                            const struct sd_graph_edge *e)
{
    return look->is_coloured_by_difference ? 0 : e->total;
}

/* --- Words */

enum { WRAP_FROM = 32 }; /* columns of a name */

void sd_graph_put_fixed(struct sd_buf *to, double v, int decimals)
{
    sd_buf_printf(to, "%.*f", decimals, v);
}

void sd_graph_put_percent(struct sd_buf *to, double share)
{
    sd_graph_put_fixed(to, share * 100, 2);
    sd_buf_text(to, "%");
}

/* Without what stands in parentheses, whatever is nested in them: the arguments of a
 * signature.  What is never closed stays: where each "(" began is kept, and what closes
 * it takes back all that was written since. */
static void put_stripped(struct sd_buf *to, const char *name)
{
    struct sd_buf open = { 0 };
    size_t at;

    for (; *name; name++) {
        if (*name == '(')
            sd_buf_add(&open, &to->n, sizeof to->n);
        if (*name == ')' && open.n > 0) {
            open.n -= sizeof at;
            memcpy(&at, open.p + open.n, sizeof at);
            to->n = at;
        } else {
            sd_buf_u8(to, (uint8_t)*name);
        }
    }
    to->bad |= open.bad;
    sd_buf_release(&open);
}

static void put_wrapped(struct sd_buf *to, const char *s)
{
    size_t n = strlen(s), fits;

    while ((fits = sd_text_fit(s, n, WRAP_FROM)) < n) {
        size_t at = fits;

        while (at > 0 && !strchr(" ,.:(", s[at - 1]))
            at--;
        at = at > 0 ? at : fits;
        if (at == 0)
            break;
        sd_buf_add(to, s, at);
        sd_buf_text(to, "\n");
        s += at;
        n -= at;
    }
    sd_buf_add(to, s, n);
}

static void put_name(const struct sd_graph_look *look, const char *name,
                     struct sd_buf *to)
{
    struct sd_buf stripped = { 0 };

    if (look->strips) {
        put_stripped(&stripped, name);
        name = sd_buf_string(&stripped);
    }
    if (look->wraps)
        put_wrapped(to, name);
    else
        sd_buf_text(to, name);
    to->bad |= stripped.bad;
    sd_buf_release(&stripped);
}

static void put_amount(struct sd_buf *to, const struct sd_view_graph *g, double amount)
{
    sd_buf_printf(to, "%.7g", amount);
    if (strcmp(g->unit, "s") != 0)
        sd_buf_printf(to, " %s", g->unit);
}

/* " + 1.25%": how much more, or less, it is in the other graph.  Decimals are those of
 * the tolerance. */
static void put_difference(const struct sd_graph_look *look, double ours, double theirs,
                           struct sd_buf *to)
{
    double percent = fabs(ours - theirs) * 100;
    int decimals = look->tolerance > 0 ? (int)-floor(log10(look->tolerance)) : 3;

    if (percent < look->tolerance || ours == theirs)
        return;
    sd_buf_text(to, theirs > ours ? " + " : " - ");
    sd_graph_put_fixed(to, percent, decimals < 0 ? 0 : decimals > 9 ? 9 : decimals);
    sd_buf_text(to, "%");
}

static void put_word(const struct sd_graph_look *look, const struct sd_view_graph *g,
                     const struct sd_graph_node *n, enum sd_graph_word word,
                     struct sd_buf *to)
{
    bool is_self = word == SD_GRAPH_SELF_TIME || word == SD_GRAPH_SELF_PERCENT;

    sd_buf_text(to, is_self ? "\n(" : "\n");
    if (word == SD_GRAPH_SELF_TIME || word == SD_GRAPH_TOTAL_TIME)
        put_amount(to, g, is_self ? n->self_amount : n->total_amount);
    else
        sd_graph_put_percent(to, is_self ? n->self : n->total);
    sd_buf_text(to, is_self ? ")" : "");
    if (!g->is_compared)
        return;
    if (word == SD_GRAPH_SELF_PERCENT)
        put_difference(look, n->self, n->other_self, to);
    else if (word == SD_GRAPH_TOTAL_PERCENT &&
             sd_graph_change_of(look, g, n) != SD_GRAPH_SAME)
        put_difference(look, n->total, n->other_total, to);
}

/* gprof2dot puts a multiplication sign behind the number. */
static void put_calls(struct sd_buf *to, int64_t calls)
{
    sd_buf_printf(to, "%" PRId64 "\u00d7", calls);
}

void sd_graph_node_label(const struct sd_graph_look *look,
                         const struct sd_view_graph *g, const struct sd_graph_node *n,
                         struct sd_buf *to)
{
    if (n->label) {
        sd_buf_text(to, n->label);
        return;
    }
    put_name(look, n->name, to);
    for (size_t i = 0; i < look->n_words; i++)
        put_word(look, g, n, look->words[i], to);
    if (!g->has_calls)
        return;
    sd_buf_text(to, "\n");
    put_calls(to, n->calls);
    if (g->is_compared) {
        sd_buf_text(to, " / ");
        put_calls(to, n->other_calls);
    }
}

void sd_graph_edge_label(const struct sd_view_graph *g, const struct sd_graph_edge *e,
                         struct sd_buf *to)
{
    if (e->label) {
        sd_buf_text(to, e->label);
        return;
    }
    sd_graph_put_percent(to, e->total);
    if (g->is_compared) {
        sd_buf_text(to, " / ");
        sd_graph_put_percent(to, e->other_total);
    }
    if (!g->has_calls)
        return;
    sd_buf_text(to, "\n");
    put_calls(to, e->calls);
    if (g->is_compared) {
        sd_buf_text(to, " / ");
        put_calls(to, e->other_calls);
    }
}
