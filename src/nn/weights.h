/* Named weights, wherever they lie, checked as they are taken. */
#ifndef NN_WEIGHTS_H
#define NN_WEIGHTS_H

#include "nn/gemm.h"
#include "nn/tensor.h"
#include "sbeam/error.h"

typedef struct weights {
    const char *path; /* of the file, for messages */
    const void *file;
    const tensor *(*find)(const void *file, const char *name); /* NULL where there is none */
    gemm_way way;                                              /* how products are prepared */
} weights;

/* A matrix of floats of any size, at least 1 x 1 and at most INT32_MAX either way. */
sb_status weights_matrix(const weights *w, const char *name, const tensor **found, sb_error *err);

/* `prefix`.weight (n_out, n_in) and `prefix`.bias (n_out), n_out >= 1. */
sb_status weights_gemm(const weights *w, const char *prefix, size_t n_out, size_t n_in, gemm *m,
                       sb_error *err);

/* The same of a convolution: `prefix`.weight is (n_out, kernel, n_in), read as rows of a window.
 * The order of the last two is checked where they differ: PyTorch's is the other one. */
sb_status weights_convolution(const weights *w, const char *prefix, size_t n_out, size_t kernel,
                              size_t n_in, gemm *m, sb_error *err);

/* weights_gemm of two names in full: for a matrix that serves twice. */
sb_status weights_gemm_of(const weights *w, const char *weight_name, const char *bias_name,
                          size_t n_out, size_t n_in, gemm *m, sb_error *err);

/* The number of rows of `prefix`.weight. */
sb_status weights_rows(const weights *w, const char *prefix, size_t *n_rows, sb_error *err);

#endif
