/* See layers.h. Sums over a width run in fixed lanes, which the compiler keeps in registers. So the
 * bits of a row depend only on the row. */
#include "nn/layers.h"

#include <math.h>
#include <string.h>

#include "math/kernels.h"

enum { LANES = 16 };

static const float SQRT_HALF = 0x1.6a09e6p-1f;

void layer_embed(const tensor *tokens, const tensor *positions, int32_t token, int32_t position,
                 float *out, float *scratch)
{
    const size_t width = tokens->shape[1];
    tensor_read(tokens, (size_t)token * width, width, out);
    tensor_read(positions, (size_t)position * width, width, scratch);
    for (size_t i = 0; i < width; i++)
        out[i] += scratch[i];
}

/* Computes out = a * sigmoid(b). If b < 0, sigmoid(b) = e^b / (1 + e^b), so that the exponential
 * never overflows. */
static void glu_block(size_t n, const float *a, const float *b, float *out)
{
    float e[KERNEL_BLOCK]; /* exp(-|b|) */
    for (size_t i = 0; i < n; i++)
        out[i] = -fabsf(b[i]);
    kernels_get()->weights_float(out, n, 0, 1, e);
    for (size_t i = 0; i < n; i++)
        out[i] = a[i] * (b[i] < 0 ? e[i] : 1) / (1 + e[i]);
}

void layer_glu(size_t n_rows, size_t width, const float *x, float *out)
{
    for (size_t r = 0; r < n_rows; r++, x += 2 * width, out += width)
        for (size_t i = 0; i < width; i += KERNEL_BLOCK) {
            const size_t n = width - i < KERNEL_BLOCK ? width - i : KERNEL_BLOCK;
            glu_block(n, x + i, x + width + i, out + i);
        }
}

void layer_add(size_t n_rows, size_t width, float *x, size_t x_stride, const float *y,
               size_t y_stride)
{
    for (size_t r = 0; r < n_rows; r++, x += x_stride, y += y_stride)
        for (size_t i = 0; i < width; i++)
            x[i] = (x[i] + y[i]) * SQRT_HALF;
}

static float dot(size_t n, const float *restrict a, const float *restrict b)
{
    float lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            lane[j] += a[i + j] * b[i + j];
    for (size_t j = 0; i < n; i++, j++)
        lane[j] += a[i] * b[i];
    for (size_t half = LANES / 2; half > 0; half /= 2)
        for (size_t j = 0; j < half; j++)
            lane[j] += lane[j + half];
    return lane[0];
}

void layer_attend(size_t n, size_t width, const float *query, const float *keys,
                  const float *values, float *out, float *scores)
{
    const size_t padded = (n + KERNEL_PAD - 1) / KERNEL_PAD * KERNEL_PAD;
    float *const share = scores + padded;
    float max = -INFINITY;
    for (size_t j = 0; j < n; j++) {
        scores[j] = dot(width, query, keys + j * width);
        max = scores[j] > max ? scores[j] : max;
    }
    double sum = 0;
    for (size_t j = 0; j < n; j += KERNEL_BLOCK) {
        const size_t count = n - j < KERNEL_BLOCK ? n - j : KERNEL_BLOCK;
        kernels_get()->weights_float(scores + j, count, (double)max, 1, share + j);
        for (size_t i = 0; i < count; i++)
            sum += (double)share[j + i];
    }
    const float scale = (float)(sqrt((double)n) / sum);
    memset(out, 0, width * sizeof *out);
    for (size_t j = 0; j < n; j++) {
        const float a = share[j] * scale;
        const float *restrict const value = values + j * width;
        for (size_t i = 0; i < width; i++)
            out[i] += a * value[i];
    }
}
