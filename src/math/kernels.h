/* Vector kernels: the one pass over a row that every method pays, and the weights of a block.
 *
 * A row is cut into blocks of KERNEL_BLOCK scores. Each block is summed relative to its own
 * maximum, so that no score, however small, is lost behind a larger one in another block, and so
 * that a block can be summed again on its own.
 *
 * The same source (kernels.c) is compiled for each instruction set. Sums run in fixed lanes with an
 * exponential made of IEEE multiplications and additions only, so that all builds give the same
 * bits. */
#ifndef MATH_KERNELS_H
#define MATH_KERNELS_H

#include <stddef.h>

enum {
    KERNEL_BLOCK = 256, /* scores a block */
    KERNEL_PAD = 8      /* weight buffers are written up to a multiple of this */
};

struct kernels {
    const char *name;
    /* For each block b of the n scores: max[b], and sum[b] = sum exp((x - max[b]) * inv_t). Where
     * sum_model is not NULL also the same with inv_t = 1. A block of -inf alone has max -inf and
     * sum 0; NaN or +inf among the scores makes its block's sum NaN. */
    void (*blocks_float)(const float *x, size_t n, double inv_t, double *max, double *sum,
                         double *sum_model);
    void (*blocks_double)(const double *x, size_t n, double inv_t, double *max, double *sum,
                          double *sum_model);
    /* weight[i] = exp((x[i] - max) * inv_t) for n <= KERNEL_BLOCK scores, zeros up to the pad. */
    void (*weights_float)(const float *x, size_t n, double max, double inv_t, float *weight);
    void (*weights_double)(const double *x, size_t n, double max, double inv_t, double *weight);
    /* mass[b] = sum[b] * exp((max[b] - top) * inv_t) for n blocks; returns their sum. mass has room
     * for a multiple of KERNEL_PAD. */
    double (*combine)(const double *max, const double *sum, size_t n, double top, double inv_t,
                      double *mass);
    /* The largest of n scores, and sum exp(x - largest), in one piece: for those who need no
     * blocks. */
    double (*sum_float)(const float *x, size_t n, double *max);
};

/* The best table for this machine; SBEAM_CPU=plain in the environment forces the plain one. Chosen
 * once. */
const struct kernels *kernels_get(void);

extern const struct kernels kernels_plain;
#ifdef KERNELS_HAVE_AVX2
extern const struct kernels kernels_avx2;
#endif

#endif
