/* The inner loops of the networks: a tile of a matrix product, and the operations between products.
 * tiles.c and loops.c are compiled once per instruction set, like math/kernels.c, and give the same
 * bits for each. */
#ifndef NN_TILES_H
#define NN_TILES_H

#include <stddef.h>

enum { GEMM_PANEL = 16 }; /* outputs whose weights lie side by side */

struct tiles {
    size_t most_rows;   /* of a tile, >= 1 */
    size_t most_panels; /* of a tile: 1 or 2 */
    /* Computes y[r][o] = bias[o] + sum_i x[r][i] * weight[o][i] for n_rows rows and n_panels panels
     * of outputs. Panel p begins at panel + p * n_in * GEMM_PANEL, aligned to 64 bytes, and holds
     * for each i the weights of its outputs. bias is aligned, too. Each sum runs over i in order,
     * by fused multiply-adds, whatever the size of the tile. */
    void (*multiply)(size_t n_rows, size_t n_panels, const float *panel, const float *bias,
                     size_t n_in, const float *x, size_t x_stride, float *y, size_t y_stride);
};

struct kernels;

/* Returns the tiles of the same instruction set as these kernels. */
const struct tiles *tiles_of(const struct kernels *kernels);

extern const struct tiles tiles_plain;
#ifdef KERNELS_HAVE_AVX2
extern const struct tiles tiles_avx2;
#endif
#ifdef KERNELS_HAVE_AVX512
extern const struct tiles tiles_avx512;
#endif
#ifdef KERNELS_HAVE_NEON
extern const struct tiles tiles_neon;
#endif

#endif
