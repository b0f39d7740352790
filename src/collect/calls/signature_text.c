/* SPDX-License-Identifier: MIT */
#include "cpython/compat_args.h"

#include "collect/calls/signature_text.h"

static void keep_size(struct sd_signature_writer *w, int argument,
                      const struct sd_value_size *size)
{
    struct sd_signature_size *kept = &w->sizes[w->n_sizes];

    if (!size->kind || w->n_sizes >= SD_SIGNATURE_SIZES || argument > UINT16_MAX)
        return;
    kept->argument = (uint16_t)argument;
    kept->kind = (uint8_t)(size->kind | (w->is_rounded ? SD_SIZE_ROUNDED : 0));
    kept->n_dims = size->n_dims;
    kept->dims =
        sd_arena_copy(w->arena, size->dims, (size->n_dims + 1u) * sizeof *size->dims);
    w->n_sizes += kept->dims != NULL;
}

static void put_value(struct sd_signature_writer *w, struct sd_value_size *size)
{
    w->at += sd_values_put(w->values, w->at, w->is_rounded, &w->text, size);
}

static void put_argument(struct sd_signature_writer *w, int i)
{
    struct sd_value_size size = { .kind = 0 };

    w->kinds[i] = sd_values_kind(w->values, *w->at);
    w->is_rich |= w->kinds[i] != SD_VALUE_PLAIN;
    w->is_slow |= w->kinds[i] == SD_VALUE_TABLE;
    sd_values_put_name(sd_args_parameter(w->code, i), &w->text);
    sd_buf_u8(&w->text, ':');
    put_value(w, &size);
    keep_size(w, i, &size);
}

/* "*args:(int, str)", "**kwargs:(scale:float, ...)" */
static void put_rest(struct sd_signature_writer *w, int i, bool has_names)
{
    uint64_t n = *w->at >> 1;
    bool is_more = *w->at++ & 1;

    sd_buf_text(&w->text, has_names ? "**" : "*");
    sd_values_put_name(sd_args_parameter(w->code, i), &w->text);
    sd_buf_text(&w->text, ":(");
    for (uint64_t k = 0; k < n; k++) {
        sd_buf_text(&w->text, k ? ", " : "");
        if (has_names) {
            sd_values_put_name((PyObject *)(uintptr_t)*w->at++, &w->text);
            sd_buf_u8(&w->text, ':');
        }
        put_value(w, NULL);
    }
    sd_buf_text(&w->text, is_more ? ", ...)" : ")");
}

/* "Model.predict", "Model" for its __init__, "dot". */
static int put_function(struct sd_signature_writer *w)
{
    PyObject *name = w->code->co_name;

    if (!w->has_self) {
        sd_values_put_name(name, &w->text);
        return 0;
    }
    if (*w->at)
        sd_values_put_type((const PyTypeObject *)(uintptr_t)*w->at, &w->text);
    else
        sd_buf_text(&w->text, "<unknown>");
    w->at++;
    if (PyUnicode_CompareWithASCIIString(name, "__init__") != 0) {
        sd_buf_u8(&w->text, '.');
        sd_values_put_name(name, &w->text);
    }
    return 1;
}

static void put_comma(struct sd_signature_writer *w)
{
    if (w->n_put++ > 0)
        sd_buf_text(&w->text, ", ");
}

static void put_arguments(struct sd_signature_writer *w, int from, int to)
{
    for (int i = from; i < to; i++) {
        put_comma(w);
        put_argument(w, i);
    }
}

/* "*args" stands before the parameters that are given by name alone; in frames, and so
 * in words, it comes behind them. */
static void put_rest_first(struct sd_signature_writer *w, int from, int n)
{
    struct sd_buf before = w->text, behind;

    w->text = (struct sd_buf){ 0 };
    for (int i = from; i < n; i++) {
        sd_buf_text(&w->text, ", ");
        put_argument(w, i);
    }
    behind = w->text;
    w->text = before;
    put_comma(w);
    put_rest(w, n, false);
    sd_buf_add(&w->text, behind.p, behind.n);
    w->text.bad |= behind.bad;
    sd_buf_release(&behind);
}

void sd_signature_write(struct sd_signature_writer *w)
{
    int n = sd_args_n_named(w->code), first = put_function(w);
    int by_place = w->code->co_argcount > first ? w->code->co_argcount : first;

    sd_buf_u8(&w->text, '(');
    put_arguments(w, first, by_place);
    if (sd_args_has_rest(w->code))
        put_rest_first(w, by_place, n++);
    else
        put_arguments(w, by_place, n);
    if (sd_args_has_keywords(w->code)) {
        put_comma(w);
        put_rest(w, n, true);
    }
    sd_buf_u8(&w->text, ')');
}
