/* The loops between matrix products. loops.c is compiled once per instruction set, like tiles.c. */
#ifndef NN_LOOPS_H
#define NN_LOOPS_H

#include <stddef.h>

struct loops {
    /* Computes out[i] = a[i] * sigmoid(b[i]), given e[i] = exp(-|b[i]|). */
    void (*gate)(size_t n, const float *a, const float *b, const float *e, float *out);
    /* Computes out[i] = -|x[i]|. */
    void (*minus_abs)(size_t n, const float *x, float *out);
    /* Computes x[i] = (x[i] + y[i]) * sqrt(1/2). */
    void (*add)(size_t n, float *x, const float *y);
    /* Returns the sum of a[i] * b[i]. Product i is added to place i % 16 of 16 sums, which are then
     * added in a fixed order. */
    float (*dot)(size_t n, const float *a, const float *b);
    /* Adds factor * x[i] to out[i]. */
    void (*add_multiple)(size_t n, float factor, const float *x, float *out);
};

struct kernels;

/* Returns the loops of the same instruction set as these kernels. */
const struct loops *loops_of(const struct kernels *kernels);

extern const struct loops loops_plain, loops_avx2, loops_avx512, loops_neon; /* if compiled */

#endif
