/* See layers.h. The loops over a width are those of loops.h. The bits of a row depend only on the
 * row. */
#include "nn/layers.h"

#include <math.h>
#include <string.h>

#include "math/kernels.h"
#include "nn/loops.h"

void layer_embed(const tensor *tokens, const tensor *positions, int32_t token, int32_t position,
                 float *out, float *scratch)
{
    const size_t width = tokens->shape[1];
    tensor_read(tokens, (size_t)token * width, width, out);
    tensor_read(positions, (size_t)position * width, width, scratch);
    for (size_t i = 0; i < width; i++)
        out[i] += scratch[i];
}

/* Computes out = a * sigmoid(b). */
static void glu_block(size_t n, const float *a, const float *b, float *out)
{
    const struct loops *const loops = loops_of(kernels_get());
    float e[KERNEL_BLOCK]; /* exp(-|b|) */
    loops->minus_abs(n, b, out);
    kernels_get()->weights_float(out, n, 0, 1, e);
    loops->gate(n, a, b, e, out);
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
        loops_of(kernels_get())->add(width, x, y);
}

void layer_attend(size_t n, size_t width, const float *query, const float *keys,
                  const float *values, float *out, float *scores)
{
    const size_t padded = (n + KERNEL_PAD_FLOAT - 1) / KERNEL_PAD_FLOAT * KERNEL_PAD_FLOAT;
    const struct loops *const loops = loops_of(kernels_get());
    float *const share = scores + padded;
    float max = -INFINITY;
    for (size_t j = 0; j < n; j++) {
        scores[j] = loops->dot(width, query, keys + j * width);
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
    for (size_t j = 0; j < n; j++)
        loops->add_multiple(width, share[j] * scale, values + j * width, out);
}
