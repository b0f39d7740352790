/* SPDX-License-Identifier: MIT */
#include "report/picture/axis.h"

#include <math.h>
#include <stdio.h>

#include "base/text.h"

/* The smallest of 1, 2, 5, 10, 20, … times a power of ten that is not below `least`. */
static double nice(double least)
{
    double power = pow(10, floor(log10(least)));

    for (int i = 0; i < 4; i++) {
        static const double parts[] = { 1, 2, 5, 10 };

        if (parts[i] * power >= least * (1 - 1e-9))
            return parts[i] * power;
    }
    return 10 * power;
}

static int decimals_of(double step)
{
    int n = 0;

    while (n < 9 && fabs(step - round(step)) > 1e-6 * step) {
        step *= 10;
        n++;
    }
    return n;
}

static void set_unit(struct sd_axis *a, enum sd_cell_kind kind, double most)
{
    static const struct {
        double scale;
        const char *unit;
    } sizes[] = { { 0x1p40, "TiB" },
                  { 0x1p30, "GiB" },
                  { 0x1p20, "MiB" },
                  { 0x1p10, "KiB" },
                  { 1, "bytes" } };

    a->scale = 1;
    a->unit = "";
    if (kind == SD_CELL_PERCENT)
        a->unit = "%";
    if (kind == SD_CELL_NS) {
        a->scale = 1e9;
        a->unit = "s";
    }
    /* 1.5 GiB reads better than 1,536 MiB, but 900 MiB better than 0.9 GiB. */
    for (size_t i = 0; kind == SD_CELL_BYTES && i < 5; i++)
        if (most >= sizes[i].scale * (i == 4 ? 0 : 1)) {
            a->scale = sizes[i].scale;
            a->unit = sizes[i].unit;
            break;
        }
}

struct sd_axis sd_axis_of_values(enum sd_cell_kind kind, double most, int n_ticks)
{
    struct sd_axis a = { 0 };
    double shown;

    if (!(most > 0) || !isfinite(most))
        most = 1;
    set_unit(&a, kind, most);
    shown = most / a.scale;
    a.step = nice(shown / n_ticks);
    if (kind == SD_CELL_COUNT && a.step < 1)
        a.step = 1;
    a.decimals = decimals_of(a.step);
    /* Room above the peak for its label. */
    a.to = ceil(shown * 1.08 / a.step) * a.step * a.scale;
    return a;
}

struct sd_axis sd_axis_of_time(double from, double to, int n_ticks)
{
    struct sd_axis a = { .from = from, .to = to, .scale = 1, .unit = "s" };

    if (!(to > from) || !isfinite(to))
        a.to = to = from + 1e-3;
    if (to - from < 0.1) {
        a.scale = 1e-3;
        a.unit = "ms";
    } else if (to - from > 3 * 3600) {
        a.scale = 3600;
        a.unit = "h";
    } else if (to - from > 600) {
        a.scale = 60;
        a.unit = "min";
    }
    a.step = nice((to - from) / a.scale / n_ticks);
    a.decimals = decimals_of(a.step);
    return a;
}

bool sd_axis_tick(const struct sd_axis *a, int i, double *at)
{
    double first = ceil(a->from / a->scale / a->step - 1e-9);

    *at = (first + i) * a->step * a->scale;
    return *at <= a->to + 1e-9 * (a->to - a->from);
}

void sd_axis_text(const struct sd_axis *a, double at, char *out, size_t n)
{
    double shown = at / a->scale;
    char count[SD_TEXT_MAX];

    if (a->decimals == 0 && fabs(shown) < 1e15)
        snprintf(out, n, "%s", sd_text_count(count, (int64_t)llround(shown)));
    else
        snprintf(out, n, "%.*f", a->decimals, shown);
}
