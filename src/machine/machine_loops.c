/* SPDX-License-Identifier: MIT */
#include "machine/machine_loops.h"

#include <cpuid.h>
#include <immintrin.h>

/* A multiply-add takes four or five cycles, and two of them begin in each: at least ten
 * chains must be under way that do not wait for each other.  With sixteen, and the two
 * factors, all fit into the registers of AVX-512; AVX2 has room for twelve, which are
 * enough. */
enum { MANY = 16, SOME = 12 };

/* --- Which instructions there are */

struct abilities {
    bool avx2, avx512, bf16, fp16, vnni512;
};

/* What the system saves of the registers when it switches threads. */
static uint64_t saved_registers(void)
{
    uint32_t low, high;

    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static struct abilities abilities(void)
{
    enum { AVX_STATE = 6, AVX512_STATE = 0xE6 };
    uint32_t a, b, c, d, c1;
    struct abilities can = { 0 };
    bool has_fma;
    uint64_t saved;

    if (!__get_cpuid(1, &a, &b, &c1, &d) || !(c1 & bit_OSXSAVE))
        return can;
    has_fma = c1 & bit_FMA;
    saved = saved_registers();
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return can;
    can.avx2 = (saved & AVX_STATE) == AVX_STATE && has_fma && (b & (1u << 5));
    can.avx512 =
        (saved & AVX512_STATE) == AVX512_STATE && (b & (1u << 16)) && (b & (1u << 30));
    can.vnni512 = can.avx512 && (c & (1u << 11));
    can.fp16 = can.avx512 && (d & (1u << 23));
    if (__get_cpuid_count(7, 1, &a, &b, &c, &d))
        can.bf16 = can.avx512 && (a & (1u << 5));
    return can;
}

/* --- Loops.  Chains are variables of their own, because compilers keep those in
 * registers, and arrays only sometimes.  Factors a little below one keep numbers from
 * growing without end; the sum of the chains is what makes them wanted. */

#define EACH_8(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define EACH_12(X) EACH_8(X) X(8) X(9) X(10) X(11)
#define EACH_16(X) EACH_12(X) X(12) X(13) X(14) X(15)

#define BEGIN(i) c##i = y,
#define HIDE(i) __asm__("" : "+v"(c##i)); /* equal chains would be made one */
#define STEP(i) c##i = MULTIPLY_ADD(c##i, x, y);
#define END(i) *sink += (double)FIRST(c##i);
#define LOOP(name, isa, type, factor, start, EACH)                                     \
    __attribute__((target(isa))) static void name(uint64_t rounds, double *sink)       \
    {                                                                                  \
        const factor x = FACTOR;                                                       \
        type y = start, EACH(BEGIN) unused = y;                                        \
                                                                                       \
        (void)unused;                                                                  \
        EACH(HIDE)                                                                     \
        while (rounds--) {                                                             \
            EACH(STEP)                                                                 \
        }                                                                              \
        EACH(END)                                                                      \
    }

#define MULTIPLY_ADD(c, a, b) _mm512_fmadd_ps(c, a, b)
#define FIRST _mm512_cvtss_f32
#define FACTOR _mm512_set1_ps(0.999f)
LOOP(f32_avx512, "avx512f", __m512, __m512, _mm512_set1_ps(0.001f), EACH_16)
#undef MULTIPLY_ADD
#undef FIRST
#undef FACTOR

#define MULTIPLY_ADD(c, a, b) _mm512_fmadd_pd(c, a, b)
#define FIRST _mm512_cvtsd_f64
#define FACTOR _mm512_set1_pd(0.999)
LOOP(f64_avx512, "avx512f", __m512d, __m512d, _mm512_set1_pd(0.001), EACH_16)
#undef MULTIPLY_ADD
#undef FIRST
#undef FACTOR

#define MULTIPLY_ADD(c, a, b) _mm512_dpbusd_epi32(c, a, a)
#define FIRST _mm512_cvtsi512_si32
#define FACTOR _mm512_set1_epi8(1)
LOOP(i8_avx512, "avx512f,avx512bw,avx512vnni", __m512i, __m512i, _mm512_set1_epi8(1),
     EACH_16)
#undef MULTIPLY_ADD
#undef FIRST
#undef FACTOR

#define MULTIPLY_ADD(c, a, b) _mm512_dpbf16_ps(c, a, a)
#define FIRST _mm512_cvtss_f32
#define FACTOR (__m512bh) _mm512_set1_epi16(0x3c00) /* a small number */
LOOP(bf16_avx512, "avx512f,avx512bw,avx512bf16", __m512, __m512bh,
     _mm512_set1_ps(0.001f), EACH_16)
#undef MULTIPLY_ADD
#undef FIRST
#undef FACTOR

/* Debian 12's clang does not know the type. */
#if !defined(__clang__) || __clang_major__ >= 18
#define HAS_F16 1
#define MULTIPLY_ADD(c, a, b) _mm512_fmadd_ph(c, a, b)
#define FIRST(c) _mm512_cvtss_f32((__m512)(c))
#define FACTOR (__m512h) _mm512_set1_epi16(0x3bff) /* a little below one */
LOOP(f16_avx512, "avx512f,avx512bw,avx512fp16", __m512h, __m512h,
     (__m512h)_mm512_set1_epi16(0x1000), EACH_16)
#undef MULTIPLY_ADD
#undef FIRST
#undef FACTOR
#endif

#define MULTIPLY_ADD(c, a, b) _mm256_fmadd_ps(c, a, b)
#define FIRST _mm256_cvtss_f32
#define FACTOR _mm256_set1_ps(0.999f)
LOOP(f32_avx2, "avx2,fma", __m256, __m256, _mm256_set1_ps(0.001f), EACH_12)
#undef MULTIPLY_ADD
#undef FIRST
#undef FACTOR

#define MULTIPLY_ADD(c, a, b) _mm256_fmadd_pd(c, a, b)
#define FIRST _mm256_cvtsd_f64
#define FACTOR _mm256_set1_pd(0.999)
LOOP(f64_avx2, "avx2,fma", __m256d, __m256d, _mm256_set1_pd(0.001), EACH_12)
#undef MULTIPLY_ADD
#undef FIRST
#undef FACTOR

/* Without AVX2 a multiply-add is two instructions: a multiplication and an addition. */
#define MULTIPLY_ADD(c, a, b) _mm_add_ps(_mm_mul_ps(c, a), b)
#define FIRST _mm_cvtss_f32
#define FACTOR _mm_set1_ps(0.999f)
LOOP(f32_sse, "sse2", __m128, __m128, _mm_set1_ps(0.001f), EACH_12)
#undef MULTIPLY_ADD
#undef FIRST
#undef FACTOR

#define MULTIPLY_ADD(c, a, b) _mm_add_pd(_mm_mul_pd(c, a), b)
#define FIRST _mm_cvtsd_f64
#define FACTOR _mm_set1_pd(0.999)
LOOP(f64_sse, "sse2", __m128d, __m128d, _mm_set1_pd(0.001), EACH_12)
#undef MULTIPLY_ADD
#undef FIRST
#undef FACTOR

struct sd_machine_kernel sd_machine_kernel(enum sd_machine_number k)
{
    static const struct sd_machine_kernel none = { NULL, 0, "" };
    struct abilities can = abilities();

    switch (k) {
    case SD_MACHINE_F64:
        if (can.avx512)
            return (struct sd_machine_kernel){ f64_avx512, MANY * 8 * 2, "AVX-512" };
        if (can.avx2)
            return (struct sd_machine_kernel){ f64_avx2, SOME * 4 * 2, "AVX2" };
        return (struct sd_machine_kernel){ f64_sse, SOME * 2 * 2, "SSE2" };
    case SD_MACHINE_F32:
        if (can.avx512)
            return (struct sd_machine_kernel){ f32_avx512, MANY * 16 * 2, "AVX-512" };
        if (can.avx2)
            return (struct sd_machine_kernel){ f32_avx2, SOME * 8 * 2, "AVX2" };
        return (struct sd_machine_kernel){ f32_sse, SOME * 4 * 2, "SSE2" };
    case SD_MACHINE_BF16:
        return can.bf16
                   ? (struct sd_machine_kernel){ bf16_avx512, MANY * 32 * 2, "AVX-512" }
                   : none;
    case SD_MACHINE_F16:
#ifndef HAS_F16
        return none;
#else
        return can.fp16
                   ? (struct sd_machine_kernel){ f16_avx512, MANY * 32 * 2, "AVX-512" }
                   : none;
#endif
    case SD_MACHINE_I8:
        return can.vnni512
                   ? (struct sd_machine_kernel){ i8_avx512, MANY * 64 * 2, "AVX-512" }
                   : none;
    case SD_MACHINE_NUMBERS:
        break;
    }
    return none;
}

/* --- Memory.  Each round reads anew: the compiler is told that memory may have
 * changed.
 */

#define ZERO(i) c##i = ZERO_VECTOR,
#define TAKE(i) c##i = EITHER(c##i, LOAD(at + i));
#define LAST(i) *sink += (double)FIRST(c##i);
#define READ(name, isa, type)                                                          \
    __attribute__((target(isa))) static void name(const void *p, size_t n,             \
                                                  uint64_t rounds, double *sink)       \
    {                                                                                  \
        const type *end = (const void *)((const char *)p + n);                         \
        type EACH_8(ZERO) unused = ZERO_VECTOR;                                        \
                                                                                       \
        (void)unused;                                                                  \
        while (rounds--) {                                                             \
            for (const type *at = p; at < end; at += 8) {                              \
                EACH_8(TAKE)                                                           \
            }                                                                          \
            __asm__ volatile("" : : "r"(p) : "memory");                                \
        }                                                                              \
        EACH_8(LAST)                                                                   \
    }

#define ZERO_VECTOR _mm512_setzero_si512()
#define EITHER _mm512_or_si512
#define LOAD _mm512_load_si512
#define FIRST _mm512_cvtsi512_si32
READ(sum_avx512, "avx512f", __m512i)
#undef ZERO_VECTOR
#undef EITHER
#undef LOAD
#undef FIRST

#define ZERO_VECTOR _mm256_setzero_si256()
#define EITHER _mm256_or_si256
#define LOAD _mm256_load_si256
#define FIRST(c) _mm_cvtsi128_si32(_mm256_castsi256_si128(c))
READ(sum_avx2, "avx2", __m256i)
#undef ZERO_VECTOR
#undef EITHER
#undef LOAD
#undef FIRST

#define ZERO_VECTOR _mm_setzero_si128()
#define EITHER _mm_or_si128
#define LOAD _mm_load_si128
#define FIRST _mm_cvtsi128_si32
READ(sum_sse, "sse2", __m128i)
#undef ZERO_VECTOR
#undef EITHER
#undef LOAD
#undef FIRST

void sd_machine_sum(const void *p, size_t n, uint64_t rounds, double *sink)
{
    struct abilities can = abilities();

    if (can.avx512)
        sum_avx512(p, n, rounds, sink);
    else if (can.avx2)
        sum_avx2(p, n, rounds, sink);
    else
        sum_sse(p, n, rounds, sink);
}

/* As a compiler makes it of C for any processor: memory is slower than that. */
void sd_machine_triad(double *a, const double *b, const double *c, size_t n)
{
    const __m128d factor = _mm_set1_pd(3);

    for (size_t i = 0; i < n; i += 2)
        _mm_store_pd(a + i, _mm_add_pd(_mm_load_pd(b + i),
                                       _mm_mul_pd(factor, _mm_load_pd(c + i))));
}
