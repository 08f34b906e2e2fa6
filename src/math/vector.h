/* Vectors of floats and doubles, as wide as the instruction set has them. Kernels that are compiled
 * once per instruction set include this header; the compiler's flags decide the width.
 *
 * A kernel must give the same bits for every width. So it never adds the lanes of a vector in an
 * order that depends on the width. It accumulates in a stripe: 32 floats or 16 doubles, as many
 * vectors as that takes. Element i of a row goes to place i % 32 (% 16) of the stripe. At the end
 * the stripe is four chains of 8 (4) lanes, which are added in one fixed order.
 *
 * The vector types are those of GCC and Clang. Without SIMD they become plain loops. */
#ifndef MATH_VECTOR_H
#define MATH_VECTOR_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* KERNELS_PLAIN is for the build that uses nothing but C, as a reference on every processor. */
#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#include <immintrin.h>
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#include <immintrin.h>
#elif defined(__ARM_NEON) && !defined(KERNELS_PLAIN)
#define VECTOR_BYTES 16
#define VECTOR_NEON
#include <arm_neon.h>
#else
#define VECTOR_BYTES 32
#endif

enum {
    FLOAT_LANES = VECTOR_BYTES / 4,
    DOUBLE_LANES = VECTOR_BYTES / 8,
    CHAINS = 4,
    FLOAT_STRIPE = 32,
    DOUBLE_STRIPE = 16,
    FLOAT_PARTS = FLOAT_STRIPE / FLOAT_LANES,
    DOUBLE_PARTS = DOUBLE_STRIPE / DOUBLE_LANES
};

typedef float vfloat __attribute__((vector_size(VECTOR_BYTES)));
typedef int32_t vint32 __attribute__((vector_size(VECTOR_BYTES)));
typedef double vdouble __attribute__((vector_size(VECTOR_BYTES)));
typedef int64_t vint64 __attribute__((vector_size(VECTOR_BYTES)));
/* A chain of a stripe. */
typedef float vfloat8 __attribute__((vector_size(32)));
typedef double vdouble4 __attribute__((vector_size(32)));

struct float_stripe {
    vfloat part[FLOAT_PARTS];
};
struct double_stripe {
    vdouble part[DOUBLE_PARTS];
};

static inline vfloat splat_float(float a)
{
    return a - (vfloat){0}; /* the difference, unlike the sum, keeps the sign of zero */
}

static inline vdouble splat_double(double a)
{
    return a - (vdouble){0};
}

/* Returns a > b ? a : b in each lane; that is b if either is NaN. */
static inline vfloat max_float(vfloat a, vfloat b)
{
#if defined(__AVX512F__)
    return _mm512_max_ps(a, b);
#elif defined(__AVX2__)
    return _mm256_max_ps(a, b);
#else
    const vint32 mask = a > b;
    return (vfloat)(((vint32)a & mask) | ((vint32)b & ~mask));
#endif
}

static inline vdouble max_double(vdouble a, vdouble b)
{
#if defined(__AVX512F__)
    return _mm512_max_pd(a, b);
#elif defined(__AVX2__)
    return _mm256_max_pd(a, b);
#else
    const vint64 mask = a > b;
    return (vdouble)(((vint64)a & mask) | ((vint64)b & ~mask));
#endif
}

/* Returns a * b + c, rounded once. Machines without such an instruction compute it in double: the
 * product is exact there, and the sum is rounded to odd, so that rounding it again to float gives
 * the same as a single rounding. */
#if !defined(__FMA__) && !defined(VECTOR_NEON)
static inline float fused(float a, float b, float c)
{
    const double product = (double)a * (double)b;
    double sum = product + (double)c;
    const double back = sum - product;
    const double error = (product - (sum - back)) + ((double)c - back);
    int64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if ((error > 0 || error < 0) && !(bits & 1))
        bits += (error > 0) == (sum > 0) ? 1 : -1;
    memcpy(&sum, &bits, sizeof sum);
    return (float)sum;
}
#endif

static inline vfloat fma_float(vfloat a, vfloat b, vfloat c)
{
#if defined(__AVX512F__)
    return _mm512_fmadd_ps(a, b, c);
#elif defined(__FMA__)
    return _mm256_fmadd_ps(a, b, c);
#elif defined(VECTOR_NEON)
    return (vfloat)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    vfloat r;
    for (int lane = 0; lane < FLOAT_LANES; lane++)
        r[lane] = fused(a[lane], b[lane], c[lane]);
    return r;
#endif
}

/* Loads up to one vector of scores; if fewer are left, the other lanes are -inf. */
static inline vfloat load_float(const float *x, size_t left)
{
    vfloat v;
    if (left >= FLOAT_LANES) {
        memcpy(&v, x, sizeof v);
        return v;
    }
#ifdef __AVX512F__
    return _mm512_mask_loadu_ps(splat_float(-INFINITY), (__mmask16)((1u << left) - 1), x);
#else
    v = splat_float(-INFINITY);
    memcpy(&v, x, left * sizeof *x);
    return v;
#endif
}

static inline vdouble load_double(const double *x, size_t left)
{
    vdouble v;
    if (left >= DOUBLE_LANES) {
        memcpy(&v, x, sizeof v);
        return v;
    }
#ifdef __AVX512F__
    return _mm512_mask_loadu_pd(splat_double(-INFINITY), (__mmask8)((1u << left) - 1), x);
#else
    /* Lane by lane: a partial copy is slow to read back as a vector. */
    for (size_t lane = 0; lane < DOUBLE_LANES; lane++)
        v[lane] = lane < left ? x[lane] : (double)-INFINITY;
    return v;
#endif
}

/* --- the chains of a stripe --- */

/* Returns places 8 c .. 8 c + 7. */
static inline vfloat8 float_chain(const struct float_stripe *stripe, int c)
{
#if VECTOR_BYTES == 32
    return stripe->part[c];
#else
    vfloat8 chain;
    memcpy(&chain, (const float *)stripe->part + 8 * c, sizeof chain);
    return chain;
#endif
}

/* Returns places 4 c .. 4 c + 3. */
static inline vdouble4 double_chain(const struct double_stripe *stripe, int c)
{
#if VECTOR_BYTES == 32
    return stripe->part[c];
#else
    vdouble4 chain;
    memcpy(&chain, (const double *)stripe->part + 4 * c, sizeof chain);
    return chain;
#endif
}

/* Returns the sums of the chains, lane by lane. */
static inline vfloat8 add_float_chains(const struct float_stripe *s)
{
    return (float_chain(s, 0) + float_chain(s, 1)) + (float_chain(s, 2) + float_chain(s, 3));
}

static inline vdouble4 add_double_chains(const struct double_stripe *s)
{
    return (double_chain(s, 0) + double_chain(s, 1)) + (double_chain(s, 2) + double_chain(s, 3));
}

static inline double total_float(vfloat8 v)
{
    return (((double)v[0] + (double)v[1]) + ((double)v[2] + (double)v[3])) +
           (((double)v[4] + (double)v[5]) + ((double)v[6] + (double)v[7]));
}

static inline double total_double(vdouble4 v)
{
    return (v[0] + v[1]) + (v[2] + v[3]);
}

#endif
