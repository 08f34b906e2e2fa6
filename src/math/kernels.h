/* Vector kernels: the one pass over a row that every method needs, and the weights of a block.
 *
 * A row is cut into blocks of KERNEL_BLOCK scores. Each block is summed relative to its own
 * maximum. So a small score does not underflow because of a larger one in another block, and a
 * block can be summed again without the others.
 *
 * The same source (kernels.c) is compiled for each instruction set. Sums run in fixed lanes, with
 * an exponential that uses only IEEE multiplications and additions, so that all builds give the
 * same bits. */
#ifndef MATH_KERNELS_H
#define MATH_KERNELS_H

#include <stdbool.h>
#include <stddef.h>

#include "sbeam/error.h"

enum {
    KERNEL_BLOCK = 256, /* scores in a block */
    KERNEL_PAD = 8,     /* weights are computed up to a multiple of this, with zeros at the end */
    KERNEL_PAD_FLOAT = 16, /* buffers of float weights have room up to a multiple of this */
    KERNEL_SHORT = 4       /* scores of a short row */
};

struct kernels {
    const char *name;
    /* Compute max[b] and sum[b] = sum exp((x - max[b]) * inv_t) for each block b of the n scores.
     * If sum_model is not NULL, compute there the sum with inv_t = 1. If all scores of a block are
     * -inf, its max is -inf and its sum 0. If one of them is NaN or +inf, its sum is NaN. */
    void (*blocks_float)(const float *x, size_t n, double inv_t, double *max, double *sum,
                         double *sum_model);
    void (*blocks_double)(const double *x, size_t n, double inv_t, double *max, double *sum,
                          double *sum_model);
    /* Compute weight[i] = exp((x[i] - max) * inv_t) for n <= KERNEL_BLOCK scores, and zeros after
     * them up to a multiple of KERNEL_PAD. A buffer of floats has room for KERNEL_PAD_FLOAT. */
    void (*weights_float)(const float *x, size_t n, double max, double inv_t, float *weight);
    void (*weights_double)(const double *x, size_t n, double max, double inv_t, double *weight);
    /* Computes mass[b] = sum[b] * exp((max[b] - top) * inv_t) for n blocks. Returns their sum. mass
     * has room for n rounded up to a multiple of KERNEL_PAD. */
    double (*combine)(const double *max, const double *sum, size_t n, double top, double inv_t,
                      double *mass);
    /* Writes the largest of n scores to *max and returns sum exp(x - *max), without blocks. */
    double (*sum_float)(const float *x, size_t n, double *max);
    /* Kernels that are faster for rows of at most KERNEL_SHORT scores, or NULL. */
    const struct kernels *for_short_rows;
};

/* Returns the fastest kernels for this machine, or those that SBEAM_CPU names in the environment.
 * They are chosen once. */
const struct kernels *kernels_get(void);
/* Returns whether SBEAM_CPU is the name of the kernels. Networks then use no other code. Without
 * it, or with SBEAM_CPU=blas, a processor that has only plain kernels multiplies by OpenBLAS. */
bool kernels_are_forced(void);
/* Returns SB_ERR_ARGUMENT if SBEAM_CPU names kernels that there are not, or that this processor
 * cannot run; kernels_get then returns the fastest ones. */
sb_status kernels_check(sb_error *err);
/* Returns kernels number i, fastest first, or NULL if this processor cannot run them. *name is NULL
 * past the end of the list. */
const struct kernels *kernels_list(size_t i, const char **name);

/* The kernels; a build has only some of them. */
extern const struct kernels kernels_plain, kernels_avx2, kernels_avx512, kernels_neon;

#endif
