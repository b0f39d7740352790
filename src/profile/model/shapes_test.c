/* SPDX-License-Identifier: MIT */
#include "profile/model/shapes.h"

#include <string.h>

#include "base/test.h"

#define N(...) (sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))
#define DIMS(...)                                                                      \
    ((struct sd_dims){ (const int64_t[]){ __VA_ARGS__ }, (uint32_t)N(__VA_ARGS__) })
#define NO_DIMS ((struct sd_dims){ NULL, 0 })
#define HUGE_AXIS ((int64_t)1 << 62)

/* --- Numbers */

TEST(shapes_stop_at_the_largest_number)
{
    CHECK(sd_times(HUGE_AXIS, 2) == INT64_MAX);
    CHECK(sd_times(HUGE_AXIS, 1) == HUGE_AXIS);
    CHECK(sd_plus(INT64_MAX, 1) == INT64_MAX);
    CHECK(sd_plus(INT64_MAX - 1, 1) == INT64_MAX);
    CHECK(sd_dims_elements(DIMS(HUGE_AXIS, HUGE_AXIS)) == INT64_MAX);
}

TEST(shapes_with_an_axis_of_0_are_empty)
{
    CHECK(sd_dims_elements(DIMS(3, 0, 5)) == 0);
    CHECK(sd_dims_elements(DIMS(HUGE_AXIS, HUGE_AXIS, 0)) == 0);
    CHECK(sd_dims_elements(DIMS(0, HUGE_AXIS, HUGE_AXIS)) == 0);
    CHECK(sd_dims_elements(NO_DIMS) == 1);
    CHECK(sd_dims_elements(DIMS(2, 3, 4)) == 24);
}

TEST(shapes_with_an_unknown_number_have_no_product)
{
    const int64_t unknown[] = { 0, 3, -1 };

    CHECK(sd_product(unknown, 3) == -1);
    CHECK(sd_product(unknown, 2) == 0);
    CHECK(sd_product(NULL, 0) == 1);
}

/* --- Axes */

TEST(shapes_count_axes_from_both_ends)
{
    uint32_t at = 9;

    CHECK(sd_shapes_axis_find(0, 3, &at) && at == 0);
    CHECK(sd_shapes_axis_find(2, 3, &at) && at == 2);
    CHECK(sd_shapes_axis_find(-1, 3, &at) && at == 2);
    CHECK(sd_shapes_axis_find(-3, 3, &at) && at == 0);
    CHECK(!sd_shapes_axis_find(3, 3, &at));
    CHECK(!sd_shapes_axis_find(-4, 3, &at));
    CHECK(!sd_shapes_axis_find(0, 0, &at));
    CHECK(!sd_shapes_axis_find(INT64_MIN, 3, &at));
    CHECK(!sd_shapes_axis_find(INT64_MAX, 3, &at));
}

TEST(shapes_are_the_same_axis_by_axis)
{
    CHECK(sd_dims_is_same(DIMS(2, 3), DIMS(2, 3)));
    CHECK(!sd_dims_is_same(DIMS(2, 3), DIMS(3, 2)));
    CHECK(!sd_dims_is_same(DIMS(2, 3), DIMS(2, 3, 1)));
    CHECK(sd_dims_is_same(NO_DIMS, NO_DIMS));
    CHECK(!sd_dims_is_same(NO_DIMS, DIMS(1)));
}

/* --- Broadcasting */

static bool broadcasts(struct sd_dims a, struct sd_dims b, struct sd_dims wanted)
{
    int64_t out[SD_MODEL_DIMS_MAX];
    uint32_t n;

    return sd_dims_broadcast(a, b, out, &n) &&
           sd_dims_is_same((struct sd_dims){ out, n }, wanted);
}

TEST(shapes_broadcast_from_the_last_axis)
{
    CHECK(broadcasts(DIMS(2, 3, 4), DIMS(3, 1), DIMS(2, 3, 4)));
    CHECK(broadcasts(DIMS(3, 1), DIMS(2, 1, 4), DIMS(2, 3, 4)));
    CHECK(broadcasts(NO_DIMS, DIMS(5), DIMS(5)));
    CHECK(broadcasts(NO_DIMS, NO_DIMS, NO_DIMS));
    CHECK(broadcasts(DIMS(1), DIMS(0), DIMS(0))); /* not 1: numpy's rule */
    CHECK(broadcasts(DIMS(0, 1), DIMS(1, 7), DIMS(0, 7)));
    CHECK(
        broadcasts(DIMS(HUGE_AXIS, 1), DIMS(1, HUGE_AXIS), DIMS(HUGE_AXIS, HUGE_AXIS)));
    CHECK(!broadcasts(DIMS(2, 3), DIMS(2, 4), DIMS(2, 3)));
    CHECK(!broadcasts(DIMS(0), DIMS(2), DIMS(0)));
}

TEST(shapes_broadcast_into_one_of_the_two)
{
    int64_t a[SD_MODEL_DIMS_MAX] = { 3, 1 }, b[SD_MODEL_DIMS_MAX] = { 5 };
    uint32_t n = 2;

    CHECK(sd_dims_broadcast((struct sd_dims){ a, 2 }, DIMS(2, 1, 4), a, &n));
    CHECK(sd_dims_is_same((struct sd_dims){ a, n }, DIMS(2, 3, 4)));
    CHECK(sd_dims_broadcast(DIMS(6, 1), (struct sd_dims){ b, 1 }, b, &n));
    CHECK(sd_dims_is_same((struct sd_dims){ b, n }, DIMS(6, 5)));
}

TEST(shapes_broadcast_to_what_is_not_smaller)
{
    CHECK(sd_dims_broadcasts_to(DIMS(3, 1), DIMS(2, 3, 4)));
    CHECK(sd_dims_broadcasts_to(NO_DIMS, DIMS(0)));
    CHECK(!sd_dims_broadcasts_to(DIMS(2, 3, 4), DIMS(3, 4)));
    CHECK(!sd_dims_broadcasts_to(DIMS(4), DIMS(1)));
}

/* --- Products of matrices */

static bool multiplies(struct sd_dims a, struct sd_dims b, unsigned flags,
                       struct sd_dims wanted, int64_t inner)
{
    int64_t out[SD_MODEL_DIMS_MAX], k = -1;
    uint32_t n;

    return sd_dims_matmul(a, b, flags, out, &n, &k) && k == inner &&
           sd_dims_is_same((struct sd_dims){ out, n }, wanted);
}

TEST(shapes_of_matrices_multiply)
{
    CHECK(multiplies(DIMS(2, 3), DIMS(3, 5), 0, DIMS(2, 5), 3));
    CHECK(multiplies(DIMS(7, 1, 2, 3), DIMS(4, 3, 5), 0, DIMS(7, 4, 2, 5), 3));
    CHECK(multiplies(DIMS(3), DIMS(3), 0, NO_DIMS, 3));
    CHECK(multiplies(DIMS(3), DIMS(4, 3, 5), 0, DIMS(4, 5), 3));
    CHECK(multiplies(DIMS(4, 2, 3), DIMS(3), 0, DIMS(4, 2), 3));
    CHECK(!multiplies(DIMS(2, 3), DIMS(2, 5), 0, DIMS(2, 5), 3));
    CHECK(!multiplies(DIMS(2, 2, 3), DIMS(4, 3, 5), 0, DIMS(2, 2, 5), 3));
    CHECK(!multiplies(NO_DIMS, DIMS(3), 0, NO_DIMS, 3));
}

TEST(shapes_of_matrices_multiply_turned)
{
    CHECK(multiplies(DIMS(3, 2), DIMS(3, 5), SD_MATMUL_TURN_A, DIMS(2, 5), 3));
    CHECK(multiplies(DIMS(2, 3), DIMS(5, 3), SD_MATMUL_TURN_B, DIMS(2, 5), 3));
    CHECK(multiplies(DIMS(9, 3, 2), DIMS(5, 3), SD_MATMUL_TURN_A | SD_MATMUL_TURN_B,
                     DIMS(9, 2, 5), 3));
    CHECK(multiplies(DIMS(3), DIMS(5, 3), SD_MATMUL_TURN_A | SD_MATMUL_TURN_B, DIMS(5),
                     3));
    CHECK(!multiplies(DIMS(2, 3), DIMS(3, 5), SD_MATMUL_TURN_A, DIMS(2, 5), 3));
}

TEST(shapes_of_matrices_multiply_when_they_are_empty_or_huge)
{
    CHECK(multiplies(DIMS(2, 0), DIMS(0, 5), 0, DIMS(2, 5), 0));
    CHECK(multiplies(DIMS(0, 3), DIMS(3, 5), 0, DIMS(0, 5), 3));
    CHECK(multiplies(DIMS(1, 2, 3), DIMS(0, 3, 5), 0, DIMS(0, 2, 5), 3));
    CHECK(multiplies(DIMS(HUGE_AXIS, 3), DIMS(3, HUGE_AXIS), 0,
                     DIMS(HUGE_AXIS, HUGE_AXIS), 3));
}

/* --- Windows */

#define WINDOW(...) (&(const struct sd_axis_window){ __VA_ARGS__ })
#define PLAIN(kernel, stride) WINDOW(kernel, stride, 1, 0, 0)

TEST(shapes_of_windows_are_how_often_they_fit)
{
    CHECK(sd_shapes_axis_window_steps(WINDOW(7, 2, 1, 3, 3), 224, SD_WINDOW_FITS) ==
          112);
    CHECK(sd_shapes_axis_window_steps(PLAIN(3, 1), 5, SD_WINDOW_FITS) == 3);
    CHECK(sd_shapes_axis_window_steps(WINDOW(3, 1, 2, 0, 0), 5, SD_WINDOW_FITS) == 1);
    CHECK(sd_shapes_axis_window_steps(WINDOW(3, 1, 2, 0, 1), 5, SD_WINDOW_FITS) == 2);
    CHECK(sd_shapes_axis_window_steps(PLAIN(2, 2), 5, SD_WINDOW_FITS) == 2);
    CHECK(sd_shapes_axis_window_steps(PLAIN(6, 1), 5, SD_WINDOW_FITS) == -1);
}

TEST(shapes_of_windows_may_hang_over_the_end)
{
    CHECK(sd_shapes_axis_window_steps(PLAIN(2, 2), 5, SD_WINDOW_HANGS) == 3);
    CHECK(sd_shapes_axis_window_steps(PLAIN(2, 2), 4, SD_WINDOW_HANGS) == 2);
    CHECK(sd_shapes_axis_window_steps(WINDOW(3, 2, 1, 1, 1), 112, SD_WINDOW_HANGS) ==
          57);
    /* One that would begin in the padding behind the data is left out. */
    CHECK(sd_shapes_axis_window_steps(WINDOW(1, 3, 1, 0, 2), 4, SD_WINDOW_HANGS) == 2);
    CHECK(sd_shapes_axis_window_steps(WINDOW(2, 3, 1, 1, 1), 2, SD_WINDOW_HANGS) == 1);
    CHECK(sd_shapes_axis_window_steps(PLAIN(6, 2), 5, SD_WINDOW_HANGS) == -1);
}

TEST(shapes_of_windows_may_cover_all_data)
{
    CHECK(sd_shapes_axis_window_steps(PLAIN(3, 2), 5, SD_WINDOW_COVERS) == 3);
    CHECK(sd_shapes_axis_window_steps(PLAIN(9, 2), 4, SD_WINDOW_COVERS) == 2);
    CHECK(sd_shapes_axis_window_steps(PLAIN(3, 2), 0, SD_WINDOW_COVERS) ==
          0); /* not 1 */
    CHECK(sd_shapes_axis_window_spread(PLAIN(3, 2), 5, 0, SD_WINDOW_COVERS) == 10);
}

TEST(shapes_of_windows_spread)
{
    CHECK(sd_shapes_axis_window_spread(PLAIN(2, 2), 3, 0, SD_WINDOW_FITS) == 6);
    CHECK(sd_shapes_axis_window_spread(WINDOW(4, 2, 1, 1, 1), 16, 0, SD_WINDOW_FITS) ==
          32);
    CHECK(sd_shapes_axis_window_spread(WINDOW(3, 2, 1, 1, 1), 16, 1, SD_WINDOW_FITS) ==
          32);
    CHECK(sd_shapes_axis_window_spread(WINDOW(3, 1, 2, 0, 0), 4, 0, SD_WINDOW_FITS) ==
          8);
    CHECK(sd_shapes_axis_window_spread(WINDOW(1, 1, 1, 2, 2), 4, 0, SD_WINDOW_FITS) ==
          0);
    CHECK(sd_shapes_axis_window_spread(WINDOW(1, 1, 1, 2, 3), 4, 0, SD_WINDOW_FITS) ==
          -1);
}

TEST(shapes_of_windows_of_nothing)
{
    CHECK(sd_shapes_axis_window_steps(PLAIN(1, 1), 0, SD_WINDOW_FITS) == -1);
    CHECK(sd_shapes_axis_window_steps(WINDOW(1, 1, 1, 1, 0), 0, SD_WINDOW_FITS) == 1);
    CHECK(sd_shapes_axis_window_spread(PLAIN(3, 2), 0, 0, SD_WINDOW_FITS) == 1);
    CHECK(sd_shapes_axis_window_spread(PLAIN(1, 2), 0, 0, SD_WINDOW_FITS) == -1);
    CHECK(sd_shapes_axis_window_steps(PLAIN(1, 1), -1, SD_WINDOW_COVERS) == -1);
    CHECK(sd_shapes_axis_window_spread(PLAIN(1, 1), -1, 9, SD_WINDOW_FITS) == -1);
}

TEST(shapes_of_windows_that_are_none)
{
    const struct sd_axis_window none[] = {
        { 0, 1, 1, 0, 0 },  { 1, 0, 1, 0, 0 },  { 1, 1, 0, 0, 0 },
        { 1, 1, 1, -1, 0 }, { 1, 1, 1, 0, -1 }, { INT64_MIN, 1, 1, 0, 0 }
    };

    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        CHECK(sd_shapes_axis_window_steps(&none[i], 8, SD_WINDOW_FITS) == -1);
        CHECK(sd_shapes_axis_window_steps(&none[i], 8, SD_WINDOW_COVERS) == -1);
        CHECK(sd_shapes_axis_window_spread(&none[i], 8, 0, SD_WINDOW_FITS) == -1);
    }
    CHECK(sd_shapes_axis_window_spread(PLAIN(1, 1), 8, -1, SD_WINDOW_FITS) == -1);
}

TEST(shapes_of_windows_do_not_run_over)
{
    int64_t most = INT64_MAX;

    CHECK(sd_shapes_axis_window_steps(WINDOW(most, 1, most, 0, 0), most,
                                      SD_WINDOW_FITS) == -1);
    CHECK(sd_shapes_axis_window_steps(WINDOW(1, 1, 1, most, most), most,
                                      SD_WINDOW_FITS) == -1);
    CHECK(sd_shapes_axis_window_steps(WINDOW(1, 1, 1, 0, 0), most, SD_WINDOW_FITS) ==
          most);
    CHECK(sd_shapes_axis_window_steps(WINDOW(1, most, 1, most, most), most,
                                      SD_WINDOW_HANGS) == 3);
    CHECK(sd_shapes_axis_window_spread(WINDOW(most, most, most, 0, 0), most, most,
                                       SD_WINDOW_FITS) == -1);
    CHECK(sd_shapes_axis_window_spread(PLAIN(1, 2), most, 0, SD_WINDOW_COVERS) == -1);
    CHECK(sd_shapes_axis_window_spread(WINDOW(1, 1, 1, most, most), 1, 0,
                                       SD_WINDOW_FITS) == -1);
}

TEST(shapes_of_convolutions_have_the_channels_of_their_weight)
{
    int64_t out = -1;

    CHECK(sd_shapes_conv_channels(DIMS(64, 3, 7, 7), 1, false, 3, &out) && out == 64);
    CHECK(sd_shapes_conv_channels(DIMS(32, 1, 3, 3), 32, false, 32, &out) && out == 32);
    CHECK(sd_shapes_conv_channels(DIMS(8, 4, 3), 2, true, 8, &out) && out == 8);
    CHECK(sd_shapes_conv_channels(DIMS(0, 3, 3), 1, false, 3, &out) && out == 0);
    CHECK(!sd_shapes_conv_channels(DIMS(64, 3, 7, 7), 1, false, 4, &out));
    CHECK(!sd_shapes_conv_channels(DIMS(9, 4, 3), 2, false, 8, &out));
    CHECK(!sd_shapes_conv_channels(DIMS(9, 4, 3), 2, true, 9, &out));
    CHECK(!sd_shapes_conv_channels(DIMS(8, 4, 3), 0, false, 4, &out));
    CHECK(!sd_shapes_conv_channels(DIMS(8, 4, 3), -1, false, 4, &out));
    CHECK(!sd_shapes_conv_channels(DIMS(8), 1, false, 8, &out));
    CHECK(!sd_shapes_conv_channels(DIMS(0, HUGE_AXIS, 3), 2, false, INT64_MAX, &out));
    CHECK(!sd_shapes_conv_channels(DIMS(HUGE_AXIS, 4, 3), HUGE_AXIS, true, HUGE_AXIS,
                                   &out));
}

/* --- Equations */

static bool sums_to(const char *equation, struct sd_dims a, struct sd_dims b,
                    struct sd_dims wanted)
{
    const struct sd_dims both[] = { a, b };
    int64_t out[SD_EINSUM_LETTERS];
    struct sd_einsum e;

    if (!sd_shapes_einsum_read(equation, strlen(equation), both, 2, &e))
        return false;
    for (uint32_t i = 0; i < e.n_out; i++)
        out[i] = e.sizes[e.order[i]];
    return sd_dims_is_same((struct sd_dims){ out, e.n_out }, wanted);
}

TEST(shapes_of_equations_are_those_of_their_letters)
{
    CHECK(sums_to("bij,bjk->bik", DIMS(2, 3, 4), DIMS(2, 4, 5), DIMS(2, 3, 5)));
    CHECK(sums_to(" b i j , j k -> k b ", DIMS(2, 3, 4), DIMS(4, 5), DIMS(5, 2)));
    CHECK(sums_to("ij,jk->", DIMS(2, 3), DIMS(3, 4), NO_DIMS));
    CHECK(sums_to(",->", NO_DIMS, NO_DIMS, NO_DIMS));
    CHECK(sums_to("ij,jk", DIMS(2, 3), DIMS(3, 4), DIMS(2, 4)));
    CHECK(sums_to("bA,Ca", DIMS(2, 3), DIMS(4, 5), DIMS(3, 4, 5, 2)));
    CHECK(sums_to("ii,j", DIMS(3, 3), DIMS(4), DIMS(4)));
}

TEST(shapes_of_equations_have_an_ellipsis_for_all_other_axes)
{
    CHECK(sums_to("...ij,...jk->...ik", DIMS(7, 1, 2, 3), DIMS(6, 3, 4),
                  DIMS(7, 6, 2, 4)));
    CHECK(sums_to("i...,i...", DIMS(2, 3), DIMS(2, 5, 3), DIMS(5, 3)));
    CHECK(sums_to("...ij,jk->ik", DIMS(7, 2, 3), DIMS(3, 4), DIMS(2, 4)));
    CHECK(sums_to("...i,i->...", DIMS(3), DIMS(3), NO_DIMS));
    CHECK(!sums_to("...i...,i->i", DIMS(3, 3, 3), DIMS(3), DIMS(3)));
    CHECK(!sums_to("..i,i->i", DIMS(3), DIMS(3), DIMS(3)));
}

TEST(shapes_of_equations_fit_their_operands)
{
    CHECK(!sums_to("ij,jk->ik", DIMS(2, 3), DIMS(4, 5), DIMS(2, 5)));
    CHECK(!sums_to("ij,jk->ik", DIMS(2, 3, 4), DIMS(3, 5), DIMS(2, 5)));
    CHECK(!sums_to("ij,jk->ik", DIMS(2), DIMS(3, 5), DIMS(2, 5)));
    CHECK(!sums_to("ij->i", DIMS(2, 3), DIMS(3, 5), DIMS(2)));
    CHECK(!sums_to("ij,jk,kl->il", DIMS(2, 3), DIMS(3, 5), DIMS(2, 5)));
    CHECK(!sums_to("i1,1k->ik", DIMS(2, 3), DIMS(3, 5), DIMS(2, 5)));
    CHECK(!sums_to("ij,jk->ix", DIMS(2, 3), DIMS(3, 5), DIMS(2, 1)));
    CHECK(!sums_to("ij,jk->ii", DIMS(2, 3), DIMS(3, 5), DIMS(2, 2)));
    CHECK(!sums_to("ij,jk-ik", DIMS(2, 3), DIMS(3, 5), DIMS(2, 5)));
    CHECK(!sums_to("ij,jk->i,k", DIMS(2, 3), DIMS(3, 5), DIMS(2, 5)));
    CHECK(!sums_to("", DIMS(2, 3), DIMS(3, 5), NO_DIMS));
}

TEST(shapes_of_equations_with_axes_of_0_and_1)
{
    CHECK(sums_to("ij,jk->ijk", DIMS(2, 0), DIMS(1, 5), DIMS(2, 0, 5)));
    CHECK(sums_to("ij,jk->ijk", DIMS(2, 1), DIMS(4, 5), DIMS(2, 4, 5)));
    CHECK(!sums_to("ij,jk->ijk", DIMS(2, 0), DIMS(4, 5), DIMS(2, 4, 5)));
}

TEST(shapes_of_equations_have_a_most_of_everything)
{
    struct sd_dims many[SD_EINSUM_TERMS_MAX + 1];
    char commas[SD_EINSUM_TERMS_MAX];
    struct sd_einsum e;

    memset(commas, ',', sizeof commas);
    for (size_t i = 0; i < sizeof many / sizeof *many; i++)
        many[i] = NO_DIMS;
    CHECK(sd_shapes_einsum_read(commas, SD_EINSUM_TERMS_MAX - 1, many,
                                SD_EINSUM_TERMS_MAX, &e));
    CHECK(!sd_shapes_einsum_read(commas, SD_EINSUM_TERMS_MAX, many,
                                 SD_EINSUM_TERMS_MAX + 1, &e));
    CHECK(!sd_shapes_einsum_read("", 0, many, 0, &e));
    CHECK(sums_to("...,i", DIMS(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2), DIMS(3),
                  DIMS(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3)));
    CHECK(!sums_to("...,i", DIMS(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2), DIMS(3),
                   DIMS(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3)));
}
