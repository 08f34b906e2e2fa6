/* The compiler turns these loops into vectors, as wide as the instruction set has them. No element
 * depends on another, except in `dot`, whose sums have a fixed number. So all builds give the same
 * bits: -ffp-contract=off keeps products and sums apart. */
#include "nn/loops.h"

#include <math.h>

enum { SUMS = 16 };

static const float SQRT_HALF = 0x1.6a09e6p-1f;

/* If b < 0, sigmoid(b) = e^b / (1 + e^b), so that the exponential never overflows. */
static void gate(size_t n, const float *restrict a, const float *restrict b,
                 const float *restrict e, float *restrict out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = a[i] * (b[i] < 0 ? e[i] : 1) / (1 + e[i]);
}

static void minus_abs(size_t n, const float *restrict x, float *restrict out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = -fabsf(x[i]);
}

static void add(size_t n, float *restrict x, const float *restrict y)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (x[i] + y[i]) * SQRT_HALF;
}

static float dot(size_t n, const float *restrict a, const float *restrict b)
{
    float sum[SUMS] = {0};
    size_t i = 0;
    for (; i + SUMS <= n; i += SUMS)
        for (size_t j = 0; j < SUMS; j++)
            sum[j] += a[i + j] * b[i + j];
    for (size_t j = 0; i < n; i++, j++)
        sum[j] += a[i] * b[i];
    for (size_t half = SUMS / 2; half > 0; half /= 2)
        for (size_t j = 0; j < half; j++)
            sum[j] += sum[j + half];
    return sum[0];
}

static void add_multiple(size_t n, float factor, const float *restrict x, float *restrict out)
{
    for (size_t i = 0; i < n; i++)
        out[i] += factor * x[i];
}

const struct loops LOOPS_TABLE = {gate, minus_abs, add, dot, add_multiple};
