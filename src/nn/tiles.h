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
    /* The tiles for products that have no more rows than one of these tiles, or NULL. A tile of
     * this table then has at least as many rows. */
    const struct tiles *for_few_rows;
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

extern const struct tiles tiles_plain, tiles_avx2, tiles_avx512, tiles_neon; /* if compiled */

#endif
