/* Matrix products y = x W^T + b, for weights that are prepared once and used often.
 *
 * There are three ways; one is chosen when a matrix is opened.
 *
 * packed: our own tiles (tiles.h) over weights packed into panels of GEMM_PANEL outputs. With few
 * rows, when reading the weights takes most of the time, it is more than twice as fast as a BLAS.
 * The bits of a row do not depend on the other rows nor on the instruction set, so a model computes
 * the same numbers in every batch and on every machine.
 *
 * blas: OpenBLAS, if it is installed (blas.h), on machines that have none of our instruction sets:
 * there the tiles are exact but slow. It runs in one thread, because the callers have threads of
 * their own; loading it sets that for the whole process.
 *
 * plain: the definition, in double. It is the reference for tests, and is used if there is no BLAS.
 */
#ifndef NN_GEMM_H
#define NN_GEMM_H

#include <stddef.h>
#include <stdint.h>

#include "nn/tensor.h"
#include "nn/tiles.h"
#include "sbeam/error.h"

typedef enum gemm_way { GEMM_PLAIN, GEMM_BLAS, GEMM_PACKED } gemm_way;

typedef struct gemm {
    size_t n_out, n_in;
    gemm_way way;
    const struct tiles *tiles; /* for `packed`; those of the chosen kernels */
    float *weights; /* packed: (n_out / 16 rounded up, n_in, 16), aligned; else (n_out, n_in) */
    float *bias;    /* (n_out); packed: padded with zeros to whole panels */
    void *memory;   /* the memory of both */
} gemm;

/* Returns the best way on this machine, which stays the same for as long as the process runs. Loads
 * OpenBLAS if the machine needs it. */
gemm_way gemm_best_way(void);
/* Returns the name of a way: "packed", "OpenBLAS" or "plain". */
const char *gemm_way_name(gemm_way way);

/* Prepares weights of n_out * n_in elements, read as (n_out, n_in), and a bias of n_out. The
 * tensors may be freed afterwards. If OpenBLAS is wanted and cannot be loaded, the way is `plain`.
 */
sb_status gemm_open(gemm *m, gemm_way way, size_t n_out, size_t n_in, const tensor *weights,
                    const tensor *bias, sb_error *err);
/* Frees what is inside; a zeroed struct is fine. */
void gemm_close(gemm *m);

/* Computes y (n_rows, n_out) = x (n_rows, n_in) W^T + b. The strides are floats between rows. x and
 * y do not overlap. */
void gemm_apply(const gemm *m, size_t n_rows, const float *x, size_t x_stride, float *y,
                size_t y_stride);

#endif
