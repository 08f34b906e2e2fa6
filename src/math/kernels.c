/* The kernels. This file is compiled once per instruction set; KERNELS_TABLE names the table that
 * it defines. math/vector.h says why all widths give the same bits.
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

#include "math/vector.h"

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

/* Return the largest lane. It does not matter in which order the lanes are compared, because
 * adding 0 makes 0 of -0. No lane of floats is NaN (see block_top). */
static inline double top_float(vfloat v)
{
#ifdef __AVX512F__
    const float top = _mm512_reduce_max_ps(v);
#else
    float top = v[0];
    for (int lane = 1; lane < FLOAT_LANES; lane++)
        top = v[lane] > top ? v[lane] : top;
#endif
    return (double)top + 0.0;
}

static inline double top_double(vdouble v)
{
    double top = v[0];
    for (int lane = 1; lane < DOUBLE_LANES; lane++)
        top = v[lane] > top ? v[lane] : top;
    return top + 0.0;
}

/* Returns the number to subtract from the scores of a block: its maximum, or 0 if all are -inf. */
static inline double shift_of(double max)
{
    return max == -INFINITY ? 0 : max;
}

/* Returns the largest scores of a block, lane by lane, without the NaN among them. */
static inline vfloat block_top(const float *x, size_t size)
{
    vfloat top[FLOAT_PARTS];
    for (int p = 0; p < FLOAT_PARTS; p++)
        top[p] = splat_float(-INFINITY);
    size_t i = 0;
    for (; i + FLOAT_STRIPE <= size; i += FLOAT_STRIPE)
        for (size_t p = 0; p < FLOAT_PARTS; p++)
            top[p] = max_float(load_float(x + i + p * FLOAT_LANES, FLOAT_LANES), top[p]);
    for (size_t p = 0; i < size; i += FLOAT_LANES, p++)
        top[p] = max_float(load_float(x + i, size - i), top[p]);
    for (int p = 1; p < FLOAT_PARTS; p++)
        top[0] = max_float(top[0], top[p]);
    return top[0];
}

/* Returns the sums of the weights of a block, lane by lane. */
static inline vfloat8 block_sum(const float *x, size_t size, vfloat shift, struct exponent e)
{
    struct float_stripe sum;
    for (int p = 0; p < FLOAT_PARTS; p++)
        sum.part[p] = splat_float(0);
    size_t i = 0;
    for (; i + FLOAT_STRIPE <= size; i += FLOAT_STRIPE)
        for (size_t p = 0; p < FLOAT_PARTS; p++)
            sum.part[p] += exp_float(load_float(x + i + p * FLOAT_LANES, FLOAT_LANES) - shift, e);
    for (size_t p = 0; i < size; i += FLOAT_LANES, p++)
        sum.part[p] += exp_float(load_float(x + i, size - i) - shift, e);
    return add_float_chains(&sum);
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
        vfloat tops[GROUP];
        vfloat8 lanes[GROUP], lanes_model[GROUP];
        for (size_t b = 0; b < whole; b++)
            tops[b] = block_top(x + b * KERNEL_BLOCK, KERNEL_BLOCK);
        if (tail > 0)
            tops[whole] = block_top(last, tail);
        for (size_t b = 0; b < count; b++)
            max[first + b] = top_float(tops[b]);

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

static inline vdouble4 block_sum_double(const double *x, size_t size, vdouble shift, vdouble slope)
{
    struct double_stripe sum;
    for (int p = 0; p < DOUBLE_PARTS; p++)
        sum.part[p] = splat_double(0);
    if (size <= DOUBLE_LANES) { /* as in most rows of a small tree */
        sum.part[0] = exp_double((load_double(x, size) - shift) * slope);
        return add_double_chains(&sum);
    }
    size_t i = 0;
    for (; i + DOUBLE_STRIPE <= size; i += DOUBLE_STRIPE)
        for (size_t p = 0; p < DOUBLE_PARTS; p++)
            sum.part[p] +=
                exp_double((load_double(x + i + p * DOUBLE_LANES, DOUBLE_LANES) - shift) * slope);
    for (size_t p = 0; i < size; i += DOUBLE_LANES, p++)
        sum.part[p] += exp_double((load_double(x + i, size - i) - shift) * slope);
    return add_double_chains(&sum);
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
    const size_t padded = (n + KERNEL_PAD - 1) / KERNEL_PAD * KERNEL_PAD;
    for (size_t i = 0; i < padded; i += FLOAT_LANES) {
        const vfloat w = exp_float(load_float(x + i, i < n ? n - i : 0) - shift, tempered);
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
    struct double_stripe total;
    for (int p = 0; p < DOUBLE_PARTS; p++)
        total.part[p] = splat_double(0);
    for (size_t i = 0, p = 0; i < n; i += DOUBLE_LANES, p = (p + 1) % DOUBLE_PARTS) {
        vdouble s = splat_double(0), w;
        memcpy(&s, sum + i, (n - i < DOUBLE_LANES ? n - i : DOUBLE_LANES) * sizeof *sum);
        memcpy(&w, mass + i, sizeof w);
        w *= s;
        memcpy(mass + i, &w, sizeof w);
        total.part[p] += w;
    }
    return total_double(add_double_chains(&total));
}

static double sum_float(const float *x, size_t n, double *max)
{
    *max = top_float(block_top(x, n));
    return total_float(block_sum(x, n, splat_float((float)shift_of(*max)), exponent_of(1)));
}

#ifdef __AVX512F__
#define FOR_SHORT_ROWS &kernels_avx2
#else
#define FOR_SHORT_ROWS NULL
#endif

const struct kernels KERNELS_TABLE = {
    KERNELS_NAME,   blocks_float, blocks_double, weights_float,
    weights_double, combine,      sum_float,     FOR_SHORT_ROWS,
};
