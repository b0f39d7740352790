/* SPDX-License-Identifier: MIT */
#include "collect/model/times.h"

#include <string.h>

#include "base/mem.h"

int sd_times_init(struct sd_layer_times *t, uint32_t n_layers, uint32_t n_passes)
{
    size_t bytes = (size_t)n_layers * n_passes * sizeof(uint64_t);

    memset(t, 0, sizeof *t);
    t->n_layers = n_layers;
    t->cap_passes = n_passes;
    t->now_ns = sd_zalloc(n_layers * sizeof(uint64_t));
    t->forward_ns = sd_zalloc(bytes);
    t->backward_ns = sd_zalloc(bytes);
    if (t->now_ns && t->forward_ns && t->backward_ns)
        return 0;
    sd_times_release(t);
    return sd_no_memory();
}

void sd_times_release(struct sd_layer_times *t)
{
    sd_free(t->now_ns);
    sd_free(t->forward_ns);
    sd_free(t->backward_ns);
    memset(t, 0, sizeof *t);
}

void sd_times_begin(struct sd_layer_times *t, uint32_t layer, uint64_t now_ns)
{
    memset(t->now_ns, 0, t->n_layers * sizeof *t->now_ns);
    t->layer = layer;
    t->since_ns = now_ns;
    t->is_running = true;
}

void sd_times_border(struct sd_layer_times *t, uint32_t layer, uint64_t now_ns)
{
    if (!t->is_running)
        return;
    t->now_ns[t->layer] += now_ns - t->since_ns;
    t->layer = layer;
    t->since_ns = now_ns;
}

void sd_times_end(struct sd_layer_times *t, bool is_backward, uint64_t now_ns)
{
    uint64_t *to = is_backward ? t->backward_ns : t->forward_ns;
    uint32_t pass = is_backward && t->n_passes > 0 ? t->n_passes - 1 : t->n_passes;

    sd_times_border(t, t->layer, now_ns);
    t->is_running = false;
    if (pass >= t->cap_passes)
        return;
    memcpy(to + (size_t)pass * t->n_layers, t->now_ns, t->n_layers * sizeof *t->now_ns);
    if (!is_backward)
        t->n_passes++;
}

/* The one with half of the others below it: passes are few, so they are counted
 * instead of sorted. */
uint64_t sd_times_of(const struct sd_layer_times *t, uint32_t layer, bool is_backward)
{
    const uint64_t *all = (is_backward ? t->backward_ns : t->forward_ns) + layer;
    uint32_t n = t->n_passes, half = (n + 1) / 2;

    for (uint32_t i = 0; i < n; i++) {
        uint64_t one = all[(size_t)i * t->n_layers];
        uint32_t below = 0, same = 0;

        for (uint32_t k = 0; k < n; k++) {
            below += all[(size_t)k * t->n_layers] < one;
            same += all[(size_t)k * t->n_layers] == one;
        }
        if (below < half && below + same >= half)
            return one;
    }
    return 0;
}
