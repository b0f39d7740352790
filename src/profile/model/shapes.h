/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_MODEL_SHAPES_H
#define SD_PROFILE_MODEL_SHAPES_H
/* shapes: the arithmetic of tensor shapes.
 *
 * Three places know operators: collect/model works out the outputs of torch's without
 * running them, formats/onnx those of a file, analyse/model how many multiply-adds they
 * have.  What numpy, torch and ONNX agree on stands here once; which argument is which,
 * and what to say when it does not fit, is the callers'.
 *
 * Numbers come from files and from other people's programs, so nothing here runs over:
 * sums and products stop at INT64_MAX, a size that needs more bits is refused.  A
 * function that gives a shape has room for SD_MODEL_DIMS_MAX axes in `out`, and returns
 * false, with nothing promised about `out`, where there is no such shape. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SD_MODEL_DIMS_MAX = 64 }; /* axes of a tensor */

struct sd_dims {
    const int64_t *d; /* none is negative; a 0 is an empty tensor */
    uint32_t n;       /* 0: a single number; at most SD_MODEL_DIMS_MAX */
};

/* --- Numbers */

int64_t sd_times(int64_t a, int64_t b); /* of numbers that are not negative */
int64_t sd_plus(int64_t a, int64_t b);
/* The product of all; -1: one of them is negative, which means unknown. */
int64_t sd_product(const int64_t *v, size_t n);
int64_t sd_dims_elements(struct sd_dims d);

/* --- Axes */

/* Which of n axes is meant; negative numbers count from the end.  False: none is. */
bool sd_shapes_axis_find(int64_t axis, uint32_t n, uint32_t *at);
bool sd_dims_is_same(struct sd_dims a, struct sd_dims b);

/* --- Broadcasting: an axis of 1 is repeated to the length of the other */

bool sd_shapes_axis_broadcast(int64_t a, int64_t b, int64_t *out);
/* Axes are paired from the last one.  `out` may be the axes of a or b. */
bool sd_dims_broadcast(struct sd_dims a, struct sd_dims b, int64_t *out,
                       uint32_t *n_out);
/* Can `a` be repeated to the shape of `whole`? */
bool sd_dims_broadcasts_to(struct sd_dims a, struct sd_dims whole);

/* --- Products of matrices */

enum sd_dims_matmul { SD_MATMUL_TURN_A = 1, SD_MATMUL_TURN_B = 2 };

/* numpy's: (..., m, k) by (..., k, n), leading axes broadcast; a vector on either side
 * loses its axis in the result.  With a flag the last two axes of that side are
 * exchanged, unless it is a vector.  *inner is k: the product has that many
 * multiply-adds for each element of the result. */
bool sd_dims_matmul(struct sd_dims a, struct sd_dims b, unsigned flags, int64_t *out,
                    uint32_t *n_out, int64_t *inner);

/* --- Windows that move over an axis: convolutions, pools */

struct sd_axis_window {
    int64_t kernel, stride, dilation;
    int64_t before, after; /* padding */
};

enum sd_axis_window_end {
    SD_WINDOW_FITS,   /* the last window lies within data and padding */
    SD_WINDOW_HANGS,  /* or begins within data and padding before it: ceil_mode */
    SD_WINDOW_COVERS, /* one for each `stride` of data; the padding is what that takes,
                         whatever `before` and `after` say: SAME */
};

/* How many windows an axis of this length has; -1: not one, or there is no such window
 * (a stride, dilation or kernel below 1, padding below 0). */
int64_t sd_shapes_axis_window_steps(const struct sd_axis_window *w, int64_t length,
                                    enum sd_axis_window_end end);
/* The other way round, for transposed ones: the length that has so many windows, and
 * `more` behind it; -1: there is no such length. */
int64_t sd_shapes_axis_window_spread(const struct sd_axis_window *w, int64_t steps,
                                     int64_t more, enum sd_axis_window_end end);
/* The channels that come out of a convolution of so many; false: the weight is for
 * other channels or groups, or has fewer than two axes. */
bool sd_shapes_conv_channels(struct sd_dims weight, int64_t groups, bool is_transposed,
                             int64_t in, int64_t *out);

/* --- Sums of products that are given as an equation, "bij,bjk->bik" */

enum {
    SD_EINSUM_TERMS_MAX = 32,
    SD_EINSUM_LETTERS = 64,  /* 52 letters; the others are the axes of "..." */
    SD_EINSUM_ELLIPSIS = 52, /* the last of these; those before it follow */
};

struct sd_einsum {
    uint64_t terms[SD_EINSUM_TERMS_MAX]; /* letters of each operand, as bits */
    uint32_t n_terms;
    uint64_t out;                     /* letters of the result */
    uint8_t order[SD_EINSUM_LETTERS]; /* the same, as its axes */
    uint32_t n_out;
    int64_t sizes[SD_EINSUM_LETTERS]; /* 1 of those that no operand has */
};

/* Of `length` characters and n operands.  Without "->" the result has the letters that
 * stand there once, in the order of the alphabet, capitals first, behind "...".  False:
 * it is no equation of so many operands, or their shapes do not fit it. */
bool sd_shapes_einsum_read(const char *equation, size_t length,
                           const struct sd_dims *operands, uint32_t n,
                           struct sd_einsum *e);
#endif
