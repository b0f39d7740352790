/* SPDX-License-Identifier: MIT */
/* growth_words: puts what is known of growth into a few words. */
#include <math.h>

#include "analyse/growth/growth.h"
#include "base/assert.h"

static const char *const class_words[] = { "constant", "log n", "√n", "n",  "n log n",
                                           "n^1.5",    "n²",    "n³", "n⁴", "2ⁿ" };

static void put_classes(struct sd_buf *to, const struct sd_growth *g)
{
    unsigned first = 0, last = SD_GROWTH_CLASSES - 1;

    _Static_assert(sizeof class_words / sizeof *class_words == SD_GROWTH_CLASSES,
                   "a word for each");
    sd_assert(g->classes && g->classes >> SD_GROWTH_CLASSES == 0);
    while (!(g->classes & 1u << first))
        first++;
    while (!(g->classes & 1u << last))
        last--;
    if (last - first > 2)
        sd_buf_printf(to, "undecided: %s to %s", class_words[first], class_words[last]);
    else if (last != first)
        sd_buf_printf(to, "%s to %s", class_words[first], class_words[last]);
    else if (first == SD_GROWTH_EXPONENTIAL)
        sd_buf_printf(to, "exponential: ×%.3g with each 1", exp(g->curve.k));
    else
        sd_buf_text(to, class_words[first]);
}

void sd_growth_words(struct sd_buf *to, const struct sd_growth *g)
{
    switch (g->answer) {
    case SD_GROWTH_FITTED:
        if (g->classes)
            put_classes(to, g);
        else if (g->is_missed)
            sd_buf_text(to, "undecided: no curve fits");
        else if (sd_growth_is_vague(g))
            sd_buf_text(to, "undecided");
        else if (g->exponent < 0)
            sd_buf_text(to, "falls with n");
        else
            sd_buf_printf(to, "about n^%.1f", g->exponent);
        return;
    case SD_GROWTH_ONE_SIZE:
        sd_buf_text(to, "one size only");
        return;
    case SD_GROWTH_FEW_SIZES:
        sd_buf_printf(to, "%zu sizes are too few", g->n_sizes);
        return;
    case SD_GROWTH_NARROW:
        sd_buf_text(to, "sizes too close together");
        return;
    case SD_GROWTH_SHORT:
        sd_buf_text(to, "calls too short");
        return;
    case SD_GROWTH_LITTLE:
        sd_buf_printf(to, "less than %g %% of the time", 100 * SD_GROWTH_SHARE_MIN);
        return;
    }
}
