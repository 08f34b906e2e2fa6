/* Named weights from any kind of file, checked as they are taken. */
#ifndef NN_WEIGHTS_H
#define NN_WEIGHTS_H

#include "nn/gemm.h"
#include "nn/tensor.h"
#include "sbeam/error.h"

typedef struct weights {
    const char *path; /* of the file, for messages */
    const void *file;
    const tensor *(*find)(const void *file, const char *name); /* NULL: no such tensor */
    gemm_way way;                                              /* how products are prepared */
} weights;

/* Finds a matrix of floats with 1 to INT32_MAX rows and columns. */
sb_status weights_matrix(const weights *w, const char *name, const tensor **found, sb_error *err);

/* Opens the product of `prefix`.weight (n_out, n_in) and `prefix`.bias (n_out), n_out >= 1. */
sb_status weights_gemm(const weights *w, const char *prefix, size_t n_out, size_t n_in, gemm *m,
                       sb_error *err);

/* Does the same for a convolution: `prefix`.weight is (n_out, kernel, n_in), read as rows of a
 * window. If the last two differ, their order is checked: PyTorch has the opposite order. */
sb_status weights_convolution(const weights *w, const char *prefix, size_t n_out, size_t kernel,
                              size_t n_in, gemm *m, sb_error *err);

/* Does what weights_gemm does, with both names in full: for a matrix that is used twice. */
sb_status weights_gemm_of(const weights *w, const char *weight_name, const char *bias_name,
                          size_t n_out, size_t n_in, gemm *m, sb_error *err);

/* Finds the number of rows of `prefix`.weight. */
sb_status weights_rows(const weights *w, const char *prefix, size_t *n_rows, sb_error *err);

#endif
