/* OpenBLAS, for processors that the kernel of gemm.h cannot use. It is loaded when the first matrix
 * needs it, not with the program: it starts a thread for each processor when it is loaded, and most
 * commands and most machines never multiply with it. */
#ifndef NN_BLAS_H
#define NN_BLAS_H

#include <stdbool.h>
#include <stddef.h>

/* Loads OpenBLAS at the first call, and sets it to one thread for the whole process. Returns
 * whether it can be used: false if it is not installed, lacks a function, or might not get the
 * memory that it needs. The answer is the same for as long as the process runs. Any thread may call
 * it. */
bool blas_load(void);

/* Returns the processor that OpenBLAS takes this one for, which decides how fast it is, or NULL if
 * it does not tell. blas_load() must have returned true. */
const char *blas_core(void);

/* Adds to y (n_rows, n_out) the product of x (n_rows, n_in) and the transpose of w (n_out, n_in).
 * The strides are floats between rows. blas_load() must have returned true. */
void blas_multiply(size_t n_rows, size_t n_out, size_t n_in, const float *x, size_t x_stride,
                   const float *w, float *y, size_t y_stride);

#endif
