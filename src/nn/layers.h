/* What lies between the matrix products, row by row. Rows are contiguous where no stride is named.
 */
#ifndef NN_LAYERS_H
#define NN_LAYERS_H

#include <stddef.h>
#include <stdint.h>

#include "nn/tensor.h"

/* out = tokens[token] + positions[position] (width each); scratch holds a row. */
void layer_embed(const tensor *tokens, const tensor *positions, int32_t token, int32_t position,
                 float *out, float *scratch);

/* Gated linear unit: out (n_rows, width) = a * sigmoid(b) of the halves a, b of x (n_rows, 2
 * width).
 */
void layer_glu(size_t n_rows, size_t width, const float *x, float *out);

/* x = (x + y) * sqrt(1/2): a sum of two that keeps the variance. */
void layer_add(size_t n_rows, size_t width, float *x, size_t x_stride, const float *y,
               size_t y_stride);

/* out = sqrt(n) * sum_j a_j values[j], a = softmax(query . keys[j]) over n places of a source. The
 * root restores the variance that an average loses. scores has room for n rounded up to
 * KERNEL_PAD, twice. */
void layer_attend(size_t n, size_t width, const float *query, const float *keys,
                  const float *values, float *out, float *scores);

#endif
