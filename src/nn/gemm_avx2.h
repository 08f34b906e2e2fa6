/* The tile of gemm.c for machines with AVX2 and FMA. It has its own file because it needs its own
 * compiler flags. */
#ifndef NN_GEMM_AVX2_H
#define NN_GEMM_AVX2_H

#include <stddef.h>

enum { GEMM_AVX2_ROWS = 6 }; /* most rows of a tile: 12 of the 16 registers are sums */

/* Computes y[r][0 .. 15] = bias + sum_i x[r][i] * panel[i][0 .. 15] for r < n_rows <=
 * GEMM_AVX2_ROWS. panel and bias are aligned to 32 bytes. Each sum runs over i in order, by fused
 * multiply-adds, for every n_rows. */
void gemm_avx2_tile(size_t n_rows, const float *panel, const float *bias, size_t n_in,
                    const float *x, size_t x_stride, float *y, size_t y_stride);

#endif
