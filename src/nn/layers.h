/* The operations between the matrix products, row by row. Rows are contiguous unless a stride is
 * given. */
#ifndef NN_LAYERS_H
#define NN_LAYERS_H

#include <stddef.h>
#include <stdint.h>

#include "nn/tensor.h"

/* Computes out = tokens[token] + positions[position]. `out` and `scratch` have room for one row. */
void layer_embed(const tensor *tokens, const tensor *positions, int32_t token, int32_t position,
                 float *out, float *scratch);

/* Gated linear unit: computes out (n_rows, width) = a * sigmoid(b) from the halves a and b of x
 * (n_rows, 2 width). */
void layer_glu(size_t n_rows, size_t width, const float *x, float *out);

/* Computes x = (x + y) * sqrt(1/2): a sum that keeps the variance. */
void layer_add(size_t n_rows, size_t width, float *x, size_t x_stride, const float *y,
               size_t y_stride);

/* Computes out = sqrt(n) * sum_j a_j values[j] with a = softmax(query . keys[j]), over the n
 * positions of a source. The root restores the variance that an average loses. `scores` has room
 * for twice n rounded up to KERNEL_PAD_FLOAT. */
void layer_attend(size_t n, size_t width, const float *query, const float *keys,
                  const float *values, float *out, float *scores);

#endif
