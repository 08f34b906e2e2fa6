/* The kernels. This file is compiled once per instruction set; KERNELS_TABLE names the table that
 * it defines. It uses the vector types of GCC and Clang: without SIMD they become plain loops over
 * the same lanes.
 *
 * The exponential of floats is 2^t, t = d * slope with d = x - max and slope = log2(e) / T. t is
 * split into n + f, |f| <= 1/2; f is rounded only once, because t exists only inside a fused
 * multiply-add. 2^f is a polynomial of degree 5 with error 2.1e-7 (a Chebyshev fit of (2^f - 1) /
 * f, so that 2^0 = 1 exactly). The relative error of a weight is at most 4e-7 + |t| * 2^-24. The
 * second part comes from the rounding of slope and d, and is of the order of the noise in a float
 * logit.
 *
 * The exponential of doubles is e^y, y = (x - max) / T. y is reduced by n ln 2 in two parts; the
 * polynomial has degree 11. The error is below 2 ulp, without fused operations.
 *
 * n is at least -127 for floats and -1023 for doubles: there the exponent field is zero, and so is
 * the weight. Thus -inf gives exactly 0. NaN stays NaN, because every maximum returns its second
 * operand if the operands do not compare. */
#include "math/kernels.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __AVX2__
#include <immintrin.h>
#endif

enum { FLOAT_LANES = 8, DOUBLE_LANES = 4, CHAINS = 4 };

typedef float vfloat __attribute__((vector_size(32)));
typedef int32_t vint32 __attribute__((vector_size(32)));
typedef double vdouble __attribute__((vector_size(32)));
typedef int64_t vint64 __attribute__((vector_size(32)));

static inline vfloat splat_float(float a)
{
    return (vfloat){a, a, a, a, a, a, a, a};
}

static inline vdouble splat_double(double a)
{
    return (vdouble){a, a, a, a};
}

/* Returns a > b ? a : b in each lane; that is b if either is NaN. */
static inline vfloat max_float(vfloat a, vfloat b)
{
#ifdef __AVX2__
    return _mm256_max_ps(a, b);
#else
    const vint32 mask = a > b;
    return (vfloat)(((vint32)a & mask) | ((vint32)b & ~mask));
#endif
}

static inline vdouble max_double(vdouble a, vdouble b)
{
#ifdef __AVX2__
    return _mm256_max_pd(a, b);
#else
    const vint64 mask = a > b;
    return (vdouble)(((vint64)a & mask) | ((vint64)b & ~mask));
#endif
}

/* Returns a * b + c, rounded once. Machines without such an instruction compute it in double: the
 * product is exact there, and the sum is rounded to odd, so that rounding it again to float gives
 * the same as a single rounding. */
#if !defined(__FMA__) && !defined(__FP_FAST_FMAF)
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
#elif !defined(__FMA__)
#define fused(a, b, c) __builtin_fmaf(a, b, c)
#endif

static inline vfloat fma_float(vfloat a, vfloat b, vfloat c)
{
#ifdef __FMA__
    return _mm256_fmadd_ps(a, b, c);
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
    v = splat_float(-INFINITY);
    memcpy(&v, x, left * sizeof *x);
    return v;
}

static inline vdouble load_double(const double *x, size_t left)
{
    if (left < DOUBLE_LANES) /* lane by lane: a partial copy is slow to read back as a vector */
        return (vdouble){left > 0 ? x[0] : (double)-INFINITY, left > 1 ? x[1] : (double)-INFINITY,
                         left > 2 ? x[2] : (double)-INFINITY, -INFINITY};
    vdouble v;
    memcpy(&v, x, sizeof v);
    return v;
}

/* The constants of the exponential for one temperature. */
struct exponent {
    vfloat slope; /* log2(e) / T, limited to 2^-120 .. 2^126. At these ends the weights are those of
                   * T = infinity and T = 0, for logits that differ by less than 1e28 and by more
                   * than 2e-36 */
    vfloat least; /* the d that gives n = -127 */
};

static inline struct exponent exponent_of(double inv_t)
{
    const double slope = fmin(fmax(1.4426950408889634 * inv_t, 0x1p-120), 0x1p126);
    return (struct exponent){splat_float((float)slope), splat_float((float)(-127 / slope))};
}

/* Returns e^(d / T), d <= 0. */
static inline vfloat exp_float(vfloat d, struct exponent e)
{
    const vfloat shifter = splat_float(0x1.8p23f); /* a sum with it has round(t) in its low bits */
    d = max_float(e.least, d);
    const vfloat shifted = fma_float(d, e.slope, shifter);
    const vfloat f = fma_float(d, e.slope, shifter - shifted);
    vfloat p = splat_float(1.338130212e-03f);
    p = fma_float(p, f, splat_float(9.666368365e-03f));
    p = fma_float(p, f, splat_float(5.550381169e-02f));
    p = fma_float(p, f, splat_float(2.402234972e-01f));
    p = fma_float(p, f, splat_float(6.931471825e-01f));
    p = fma_float(p, f, splat_float(1.0f));
    const vfloat scale = (vfloat)(((vint32)shifted + 127) << 23);
    return p * scale;
}

/* Returns e^y, y <= 0. */
static inline vdouble exp_double(vdouble y)
{
    const vdouble shifter = splat_double(0x1.8p52);
    y = max_double(splat_double(-0x1.62e42fefa39efp-1 * 1023), y);
    const vdouble shifted = y * splat_double(0x1.71547652b82fep+0) + shifter;
    const vdouble n = shifted - shifter;
    /* ln 2 in two parts. The first has trailing zeros, so that n times it is exact. */
    vdouble r = y - n * splat_double(0x1.62e42fefa0000p-1);
    r = r - n * splat_double(0x1.cf79abc9e3b3ap-40);
    /* Estrin's scheme: pairs, then pairs of pairs, instead of eleven dependent steps. */
    const vdouble r2 = r * r, r4 = r2 * r2;
    const vdouble p01 = splat_double(1.0) + r;
    const vdouble p23 =
        splat_double(5.00000000000000555e-01) + r * splat_double(1.66666666666666713e-01);
    const vdouble p45 =
        splat_double(4.16666666665730656e-02) + r * splat_double(8.33333333332613585e-03);
    const vdouble p67 =
        splat_double(1.38888889325147801e-03) + r * splat_double(1.98412698748206266e-04);
    const vdouble p89 =
        splat_double(2.48015043137855412e-05) + r * splat_double(2.75572554002064223e-06);
    const vdouble p1011 =
        splat_double(2.76263710656963543e-07) + r * splat_double(2.51052170047207447e-08);
    const vdouble low = p01 + r2 * p23;
    const vdouble high = (p45 + r2 * p67) + r4 * (p89 + r2 * p1011);
    const vdouble p = low + r4 * high;
    const vdouble scale = (vdouble)(((vint64)shifted + 1023) << 52);
    return p * scale;
}

static inline double top_float(vfloat v)
{
    float top = v[0];
    for (int lane = 1; lane < FLOAT_LANES; lane++)
        top = v[lane] > top ? v[lane] : top;
    return (double)top;
}

static inline double top_double(vdouble v)
{
    double top = v[0];
    for (int lane = 1; lane < DOUBLE_LANES; lane++)
        top = v[lane] > top ? v[lane] : top;
    return top;
}

static inline double total_float(vfloat v)
{
    return (((double)v[0] + (double)v[1]) + ((double)v[2] + (double)v[3])) +
           (((double)v[4] + (double)v[5]) + ((double)v[6] + (double)v[7]));
}

static inline double total_double(vdouble v)
{
    return (v[0] + v[1]) + (v[2] + v[3]);
}

/* Returns the number to subtract from the scores of a block: its maximum, or 0 if all are -inf. */
static inline double shift_of(double max)
{
    return max == -INFINITY ? 0 : max;
}

static inline vfloat add_chains(const vfloat chain[CHAINS])
{
    return (chain[0] + chain[1]) + (chain[2] + chain[3]);
}

/* Returns the largest scores of a block, lane by lane. */
static inline vfloat block_top(const float *x, size_t size)
{
    vfloat top[CHAINS];
    for (int c = 0; c < CHAINS; c++)
        top[c] = splat_float(-INFINITY);
    size_t i = 0;
    for (; i + CHAINS * FLOAT_LANES <= size; i += CHAINS * FLOAT_LANES)
        for (size_t c = 0; c < CHAINS; c++)
            top[c] = max_float(load_float(x + i + c * FLOAT_LANES, FLOAT_LANES), top[c]);
    for (size_t c = 0; i < size; i += FLOAT_LANES, c++)
        top[c] = max_float(load_float(x + i, size - i), top[c]);
    return max_float(max_float(top[0], top[1]), max_float(top[2], top[3]));
}

/* Returns the sums of the weights of a block, lane by lane. */
static inline vfloat block_sum(const float *x, size_t size, vfloat shift, struct exponent e)
{
    vfloat chain[CHAINS];
    for (int c = 0; c < CHAINS; c++)
        chain[c] = splat_float(0);
    size_t i = 0;
    for (; i + CHAINS * FLOAT_LANES <= size; i += CHAINS * FLOAT_LANES)
        for (size_t c = 0; c < CHAINS; c++)
            chain[c] += exp_float(load_float(x + i + c * FLOAT_LANES, FLOAT_LANES) - shift, e);
    for (size_t c = 0; i < size; i += FLOAT_LANES, c++)
        chain[c] += exp_float(load_float(x + i, size - i) - shift, e);
    return add_chains(chain);
}

static void blocks_float(const float *x, size_t n, double inv_t, double *max, double *sum,
                         double *sum_model)
{
    /* GROUP blocks are processed together: enough that the sum over the lanes of one block overlaps
     * with that of the next, and few enough that they stay in the first-level cache between the two
     * passes. Whole blocks have loops of constant length. */
    enum { GROUP = 8 };
    const struct exponent tempered = exponent_of(inv_t), model = exponent_of(1);
    const size_t n_blocks = (n + KERNEL_BLOCK - 1) / KERNEL_BLOCK;
    for (size_t first = 0; first < n_blocks; first += GROUP, x += GROUP * KERNEL_BLOCK) {
        const size_t left = n - first * KERNEL_BLOCK;
        const size_t whole = left / KERNEL_BLOCK < GROUP ? left / KERNEL_BLOCK : GROUP;
        const size_t tail = whole < GROUP ? left % KERNEL_BLOCK : 0;
        const size_t count = whole + (tail > 0);
        const float *const last = x + whole * KERNEL_BLOCK;
        vfloat lanes[GROUP], lanes_model[GROUP];
        for (size_t b = 0; b < whole; b++)
            lanes[b] = block_top(x + b * KERNEL_BLOCK, KERNEL_BLOCK);
        if (tail > 0)
            lanes[whole] = block_top(last, tail);
        for (size_t b = 0; b < count; b++)
            max[first + b] = top_float(lanes[b]);

        for (size_t b = 0; b < whole; b++) {
            const vfloat shift = splat_float((float)shift_of(max[first + b]));
            lanes[b] = block_sum(x + b * KERNEL_BLOCK, KERNEL_BLOCK, shift, tempered);
            if (sum_model != NULL)
                lanes_model[b] = block_sum(x + b * KERNEL_BLOCK, KERNEL_BLOCK, shift, model);
        }
        if (tail > 0) {
            const vfloat shift = splat_float((float)shift_of(max[first + whole]));
            lanes[whole] = block_sum(last, tail, shift, tempered);
            if (sum_model != NULL)
                lanes_model[whole] = block_sum(last, tail, shift, model);
        }
        for (size_t b = 0; b < count; b++)
            sum[first + b] = total_float(lanes[b]);
        for (size_t b = 0; b < count && sum_model != NULL; b++)
            sum_model[first + b] = total_float(lanes_model[b]);
    }
}

static inline vdouble block_sum_double(const double *x, size_t size, vdouble shift, vdouble slope)
{
    if (size <= DOUBLE_LANES) /* as in most rows of a small tree */
        return exp_double((load_double(x, size) - shift) * slope);
    vdouble chain[CHAINS];
    for (int c = 0; c < CHAINS; c++)
        chain[c] = splat_double(0);
    size_t i = 0;
    for (; i + CHAINS * DOUBLE_LANES <= size; i += CHAINS * DOUBLE_LANES)
        for (size_t c = 0; c < CHAINS; c++)
            chain[c] +=
                exp_double((load_double(x + i + c * DOUBLE_LANES, DOUBLE_LANES) - shift) * slope);
    for (size_t c = 0; i < size; i += DOUBLE_LANES, c++)
        chain[c] += exp_double((load_double(x + i, size - i) - shift) * slope);
    return (chain[0] + chain[1]) + (chain[2] + chain[3]);
}

static void blocks_double(const double *x, size_t n, double inv_t, double *max, double *sum,
                          double *sum_model)
{
    for (size_t b = 0; b * KERNEL_BLOCK < n; b++, x += KERNEL_BLOCK) {
        const size_t left = n - b * KERNEL_BLOCK;
        const size_t size = left < KERNEL_BLOCK ? left : KERNEL_BLOCK;
        vdouble top = load_double(x, size);
        for (size_t i = DOUBLE_LANES; i < size; i += DOUBLE_LANES)
            top = max_double(load_double(x + i, size - i), top);
        max[b] = top_double(top);
        const vdouble shift = splat_double(shift_of(max[b]));
        sum[b] = total_double(block_sum_double(x, size, shift, splat_double(inv_t)));
        if (sum_model != NULL)
            sum_model[b] = total_double(block_sum_double(x, size, shift, splat_double(1)));
    }
}

static void weights_float(const float *x, size_t n, double max, double inv_t, float *weight)
{
    const struct exponent tempered = exponent_of(inv_t);
    const vfloat shift = splat_float((float)shift_of(max));
    for (size_t i = 0; i < n; i += FLOAT_LANES) {
        const vfloat w = exp_float(load_float(x + i, n - i) - shift, tempered);
        memcpy(weight + i, &w, sizeof w);
    }
}

static void weights_double(const double *x, size_t n, double max, double inv_t, double *weight)
{
    const vdouble slope = splat_double(inv_t);
    const vdouble shift = splat_double(shift_of(max));
    const size_t padded = (n + KERNEL_PAD - 1) / KERNEL_PAD * KERNEL_PAD;
    for (size_t i = 0; i < padded; i += DOUBLE_LANES) {
        const vdouble w = exp_double((load_double(x + i, i < n ? n - i : 0) - shift) * slope);
        memcpy(weight + i, &w, sizeof w);
    }
}

static double combine(const double *max, const double *sum, size_t n, double top, double inv_t,
                      double *mass)
{
    weights_double(max, n, top, inv_t, mass);
    vdouble chain[CHAINS];
    for (int c = 0; c < CHAINS; c++)
        chain[c] = splat_double(0);
    for (size_t i = 0, c = 0; i < n; i += DOUBLE_LANES, c = (c + 1) % CHAINS) {
        vdouble s = splat_double(0), w;
        memcpy(&s, sum + i, (n - i < DOUBLE_LANES ? n - i : DOUBLE_LANES) * sizeof *sum);
        memcpy(&w, mass + i, sizeof w);
        w *= s;
        memcpy(mass + i, &w, sizeof w);
        chain[c] += w;
    }
    return total_double((chain[0] + chain[1]) + (chain[2] + chain[3]));
}

static double sum_float(const float *x, size_t n, double *max)
{
    *max = top_float(block_top(x, n));
    return total_float(block_sum(x, n, splat_float((float)shift_of(*max)), exponent_of(1)));
}

const struct kernels KERNELS_TABLE = {
    KERNELS_NAME, blocks_float, blocks_double, weights_float, weights_double, combine, sum_float,
};
