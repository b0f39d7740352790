/* SPDX-License-Identifier: MIT */
#include "formats/weights/packed.h"

#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

struct packed {
    struct sd_weights *w;
    struct sd_buf name; /* of what is looked for */
    size_t n_counted, n_as_stored;
};

/* The tensor called `stem` (so many bytes of it) and `end`, or NULL. */
static struct sd_model_tensor *beside(struct packed *k, const char *stem, size_t n,
                                      const char *end)
{
    struct sd_model *m = k->w->into;
    size_t place;

    sd_buf_clear(&k->name);
    sd_buf_add(&k->name, stem, n);
    sd_buf_text(&k->name, end);
    if (k->name.bad)
        return NULL;
    place = sd_weights_place(k->w, (const char *)k->name.p, k->name.n);
    return place == SIZE_MAX ? NULL : &m->tensors[place];
}

static void make_buffer(struct sd_model_tensor *t)
{
    if (t)
        t->flags = SD_TENSOR_BUFFER;
}

/* `t` has `times` as many elements along an axis as are stored. */
static int spread(struct packed *k, struct sd_model_tensor *t, uint32_t axis,
                  int64_t times)
{
    int64_t *dims =
        sd_arena_copy(&k->w->into->arena, t->dims.d, t->dims.n * sizeof *dims);
    int64_t bits;

    if (!dims)
        return sd_no_memory();
    t->bytes = sd_model_tensor_bytes(t);
    bits = 8 * sd_dtype_bytes(t->dtype, 1) / times;
    dims[axis] = sd_times(dims[axis], times);
    t->dims.d = dims;
    if (bits == 4)
        t->dtype = SD_DTYPE_U4;
    else if (bits == 8)
        t->dtype = SD_DTYPE_U8;
    k->n_counted++;
    return 0;
}

/* So many elements are in one number of 32 bits as there are scales for one of zero
 * points; gptq has them along the first axis, awq along the second. */
static int count_gptq(struct packed *k, struct sd_model_tensor *t, const char *name,
                      size_t stem)
{
    struct sd_model_tensor *scales = beside(k, name, stem, "scales");
    struct sd_model_tensor *zeros = beside(k, name, stem, "qzeros");
    int64_t times;

    make_buffer(zeros);
    make_buffer(beside(k, name, stem, "g_idx"));
    make_buffer(scales);
    if (!scales || !zeros || t->dims.n != 2 || scales->dims.n != 2 ||
        zeros->dims.n != 2 || t->dtype != SD_DTYPE_I32 || zeros->dims.d[1] == 0) {
        k->n_as_stored++;
        return 0;
    }
    times = scales->dims.d[1] / zeros->dims.d[1];
    if (times < 2 || times > 16) {
        k->n_as_stored++;
        return 0;
    }
    return spread(k, t, t->dims.d[1] == scales->dims.d[1] ? 0 : 1, times);
}

static int count_pairs(struct packed *k, struct sd_model_tensor *t)
{
    if (t->dims.n == 0 || t->dtype != SD_DTYPE_U8) {
        k->n_as_stored++;
        return 0;
    }
    return spread(k, t, t->dims.n - 1, 2);
}

/* All that bitsandbytes writes of a weight is called after it. */
static void drop_states(struct packed *k, const char *name, size_t n)
{
    static const char *const states[] = {
        ".absmax",
        ".quant_map",
        ".nested_absmax",
        ".nested_quant_map",
        ".quant_state.bitsandbytes__nf4",
        ".quant_state.bitsandbytes__fp4",
    };

    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        make_buffer(beside(k, name, n, states[i]));
}

/* Scales of weights that are stored whole, in types of eight bits. */
static void drop_scales(struct packed *k, const char *name, size_t stem)
{
    static const char *const scales[] = { "weight_scale", "weight_scale_inv",
                                          "input_scale",  "weight_zero_point",
                                          "SCB",          "weight_format" };

    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
        make_buffer(beside(k, name, stem, scales[i]));
}

static int count_one(struct packed *k, size_t place)
{
    struct sd_model_tensor *t = &k->w->into->tensors[place];
    const char *name = sd_model_text(k->w->into, t->name);
    size_t n = strlen(name);

    if (sd_text_ends(name, "qweight"))
        return count_gptq(k, t, name, n - strlen("qweight"));
    if (sd_text_ends(name, "weight_packed")) { /* its bits are not in the header */
        make_buffer(beside(k, name, n - strlen("weight_packed"), "weight_scale"));
        make_buffer(beside(k, name, n - strlen("weight_packed"), "weight_zero_point"));
        make_buffer(beside(k, name, n - strlen("weight_packed"), "weight_shape"));
        k->n_as_stored++;
        return 0;
    }
    if (sd_text_ends(name, "_blocks") &&
        beside(k, name, n - strlen("_blocks"), "_scales")) {
        make_buffer(beside(k, name, n - strlen("_blocks"), "_scales"));
        return count_pairs(k, t);
    }
    if (beside(k, name, n, ".absmax")) {
        drop_states(k, name, n);
        return count_pairs(k, t);
    }
    if (sd_text_ends(name, "weight") && sd_dtype_bytes(t->dtype, 1) == 1)
        drop_scales(k, name, n - strlen("weight"));
    return 0;
}

int sd_packed_count(struct sd_weights *w)
{
    struct packed k = { .w = w };
    int rc = 0;

    for (size_t i = 0; i < w->into->n_tensors && rc == 0; i++)
        rc = k.name.bad ? sd_no_memory() : count_one(&k, i);
    if (rc == 0 && k.n_counted)
        rc = sd_model_note(w->into,
                           "%zu tensors pack several elements into one number: "
                           "elements are counted unpacked, bytes as stored, and "
                           "scales and zero points as buffers",
                           k.n_counted);
    if (rc == 0 && k.n_as_stored)
        rc = sd_model_note(w->into,
                           "%zu tensors hold packed weights that are counted as they "
                           "are stored: there are more parameters than that",
                           k.n_as_stored);
    sd_buf_release(&k.name);
    return rc;
}
