/* Matrix products: y = x W^T + b for weights that are prepared once and used often.
 *
 * Three ways, chosen when a matrix is opened.
 *
 * packed: a kernel of our own (AVX2 and FMA) over weights packed into panels of GEMM_PANEL outputs.
 * For few rows, where the time goes into reading the weights, it is more than twice as fast as a
 * BLAS; and the bits of a row do not depend on the rows beside it, so that what a model computes is
 * the same in every batch.
 *
 * blas: OpenBLAS, on other machines; one thread, because the callers have threads of their own.
 * Opening a matrix sets that for the whole process.
 *
 * plain: the definition, in double; the reference for tests, and what is left without a BLAS. */
#ifndef NN_GEMM_H
#define NN_GEMM_H

#include <stddef.h>
#include <stdint.h>

#include "nn/tensor.h"
#include "sbeam/error.h"

enum { GEMM_PANEL = 16 }; /* outputs that a tile computes together: two registers of 8 floats */

typedef enum gemm_way { GEMM_PLAIN, GEMM_BLAS, GEMM_PACKED } gemm_way;

typedef struct gemm {
    size_t n_out, n_in;
    gemm_way way;
    float *weights; /* packed: (n_out / 16 rounded up, n_in, 16), aligned; else (n_out, n_in) */
    float *bias;    /* (n_out), packed: padded with zeros to whole panels */
    void *memory;   /* what both lie in */
} gemm;

/* The best way on this machine and in this build. SBEAM_CPU=plain rules out `packed`. */
gemm_way gemm_best_way(void);
/* "packed", ... */
const char *gemm_way_name(gemm_way way);

/* Prepares weights of n_out * n_in elements, read as (n_out, n_in), and a bias of n_out. The
 * tensors are not needed any more afterwards. */
sb_status gemm_open(gemm *m, gemm_way way, size_t n_out, size_t n_in, const tensor *weights,
                    const tensor *bias, sb_error *err);
/* Frees what is inside; a zeroed one is fine. */
void gemm_close(gemm *m);

/* y (n_rows, n_out) = x (n_rows, n_in) W^T + b; the strides are those between rows, in floats. x
 * and y do not overlap. */
void gemm_apply(const gemm *m, size_t n_rows, const float *x, size_t x_stride, float *y,
                size_t y_stride);

#endif
