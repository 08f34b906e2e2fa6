/* The tile of gemm.c for machines with AVX2 and FMA, in a file of its own because of its flags. */
#ifndef NN_GEMM_AVX2_H
#define NN_GEMM_AVX2_H

#include <stddef.h>

enum { GEMM_AVX2_ROWS = 6 }; /* most rows of a tile: 12 of the 16 registers are sums */

/* y[r][0 .. 15] = bias + sum_i x[r][i] * panel[i][0 .. 15], r < n_rows <= GEMM_AVX2_ROWS. panel and
 * bias are aligned to 32 bytes. Each sum runs over i in order, by fused multiply-adds, whatever
 * n_rows. */
void gemm_avx2_tile(size_t n_rows, const float *panel, const float *bias, size_t n_in,
                    const float *x, size_t x_stride, float *y, size_t y_stride);

#endif
