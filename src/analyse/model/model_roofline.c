/* SPDX-License-Identifier: MIT */
/* model_roofline: puts layers into the roofline of a machine.
 *
 * A layer that does few operations with each byte it moves waits for memory, whatever
 * the processor can do; one that does many is held by the processor.  Where it stands
 * tells which, and how far it is below what the machine allows. */
#include <string.h>

#include "analyse/model/model_view.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

static bool has_place(const struct sd_model_sum *s)
{
    return s->work > 0 && sd_plus(s->read_bytes, s->written_bytes) > 0;
}

/* Whole numbers are no floating-point ones. */
static const char *operations(const char *dtype)
{
    return strstr(dtype, "int") ? "OP" : "FLOP";
}

static int add_words(const struct sd_model_costs *c, const char *dtype,
                     struct sd_arena *a, struct sd_view_roofline *out)
{
    char peak[SD_TEXT_MAX], bytes[SD_TEXT_MAX];

    out->title = sd_arena_printf(a, "%s: layers in the roofline of this machine",
                                 sd_model_words_title(c->model));
    out->subtitle = sd_arena_printf(
        a, "peak %s%s/s (%s), memory %sB/s; a dot's size is its share of all FLOPs",
        sd_text_scaled(peak, out->peak), operations(dtype), dtype,
        sd_text_scaled(bytes, out->bandwidth));
    if (!out->title || !out->subtitle)
        return sd_no_memory();
    if (c->total.time_ns < 0)
        out->note = sd_model_knows_training(c->model) /* it is a program's */
                        ? "Not timed: layers stand at the roof, the most they could "
                          "reach.  --runtime runs the model."
                        : "Not timed: layers stand at the roof, the most they could "
                          "reach.  Sonde reads a file and does not run it.";
    return 0;
}

int sd_model_roofline(const struct sd_model_costs *c, const struct sd_view_request *r,
                      struct sd_arena *a, struct sd_view_roofline *out)
{
    *out =
        (struct sd_view_roofline){ .peak = r->peak_flops, .bandwidth = r->bandwidth };
    if (r->peak_flops <= 0 || r->bandwidth <= 0)
        return sd_fail(
            SD_EABSENT,
            "the highest speed of this machine (FLOP/s and memory bandwidth) is not "
            "known; to measure it: sonde info --machine --fresh");
    out->points = sd_arena_alloc(a, (c->n_rows + 1) * sizeof *out->points);
    if (!out->points)
        return sd_no_memory();
    for (size_t i = 0; i < c->n_rows; i++) {
        const struct sd_model_sum *s = &c->rows[i].sum;
        double bytes = (double)s->read_bytes + (double)s->written_bytes;

        if (!has_place(s))
            continue;
        out->points[out->n_points++] = (struct sd_roofline_point){
            .name = sd_model_words_layer(c->model, c->rows[i].layer),
            .intensity = (double)s->work / bytes,
            .rate = sd_model_column_rate(s),
            .share = (double)s->work / (double)c->total.work, /* it has some itself */
        };
    }
    if (out->n_points == 0)
        return sd_fail(SD_EABSENT, "no layer of this model is known to do arithmetic%s",
                       sd_model_knows_operators(c->model)
                           ? ""
                           : ": a file of weights holds no operators");
    return add_words(c, r->peak_of, a, out);
}
