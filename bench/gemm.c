/* bench/gemm: the packed matrix product with each instruction set of this processor, beside
 * OpenBLAS, for the sizes of the networks in use.
 *
 * Each line is one product y = x W^T + b, repeated over copies of W that together are larger than
 * the inner caches, as the layers of a network are. The contestants take turns of a few passes
 * each, because the first pass depends on what the one before left in the caches, and the smallest
 * time counts. CSV on stdout: rows, outputs, inputs, the contestant (an instruction set, or
 * OpenBLAS with the processor that it takes this one for) and billions of operations a second. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "math/kernels.h"
#include "nn/blas.h"
#include "nn/gemm.h"

enum {
    REPEATS = 5,
    PASSES = 4,
    MOST_ROWS = 320,
    MOST_OUT = 32000,
    MOST_IN = 768,
    MOST_COPIES = 128
};
enum { MOST_CONTESTANTS = 4 };

static const size_t BYTES_TOGETHER = (size_t)20 << 20;

struct contestant {
    char name[40];
    gemm_way way;
    const struct tiles *tiles;
};

static struct contestant contestants[MOST_CONTESTANTS];
static size_t n_contestants;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fill(float *x, size_t n)
{
    uint32_t state = 20190515;
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)(state >> 8) * 0x1p-24f - 0.5f;
    }
}

static void *memory(size_t n)
{
    void *const m = malloc(n * sizeof(float));
    if (m == NULL) {
        fputs("gemm: out of memory\n", stderr);
        exit(1);
    }
    return m;
}

static double billions(const gemm *copies, size_t n_copies, size_t rows, const float *x, float *y)
{
    const size_t n_in = copies[0].n_in, n_out = copies[0].n_out;
    double best = 0;
    for (int pass = 0; pass < PASSES; pass++) {
        const double start = now();
        for (size_t c = 0; c < n_copies; c++)
            gemm_apply(&copies[c], rows, x, n_in, y, n_out);
        const double rate = 2e-9 * (double)(n_copies * rows * n_in * n_out) / (now() - start);
        best = rate > best ? rate : best;
    }
    return best;
}

static void measure(size_t n_out, size_t n_in, const float *numbers, float *y)
{
    static const size_t rows[] = {1, 5, 20, 64, 100, MOST_ROWS};
    static gemm copies[MOST_CONTESTANTS][MOST_COPIES];
    const size_t n_copies = 1 + BYTES_TOGETHER / (n_out * n_in * sizeof(float));
    const tensor weights = {.type = TENSOR_F32,
                            .n_dims = 2,
                            .shape = {n_out, n_in},
                            .n = n_out * n_in,
                            .data = (const uint8_t *)numbers};
    const tensor bias = {.type = TENSOR_F32,
                         .n_dims = 1,
                         .shape = {n_out},
                         .n = n_out,
                         .data = (const uint8_t *)numbers};
    for (size_t c = 0; c < n_contestants; c++)
        for (size_t i = 0; i < n_copies; i++) {
            if (gemm_open(&copies[c][i], contestants[c].way, n_out, n_in, &weights, &bias, NULL) !=
                SB_OK)
                exit(1);
            copies[c][i].tiles = contestants[c].tiles;
        }
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        double best[MOST_CONTESTANTS] = {0};
        for (int i = 0; i < REPEATS; i++)
            for (size_t c = 0; c < n_contestants; c++) {
                const double rate = billions(copies[c], n_copies, rows[r], numbers, y);
                best[c] = rate > best[c] ? rate : best[c];
            }
        for (size_t c = 0; c < n_contestants; c++)
            printf("%zu,%zu,%zu,%s,%.1f\n", rows[r], n_out, n_in, contestants[c].name, best[c]);
        fflush(stdout);
    }
    for (size_t c = 0; c < n_contestants; c++)
        for (size_t i = 0; i < n_copies; i++)
            gemm_close(&copies[c][i]);
}

/* Lists the instruction sets of this processor, without plain C, and OpenBLAS. */
static void list_contestants(void)
{
    const char *name;
    for (size_t i = 0; kernels_list(i, &name) != NULL || name != NULL; i++) {
        const struct kernels *const kernels = kernels_list(i, &name);
        if (kernels == NULL || kernels == &kernels_plain || n_contestants + 1 == MOST_CONTESTANTS)
            continue;
        struct contestant *const c = &contestants[n_contestants++];
        snprintf(c->name, sizeof c->name, "%s", name);
        c->way = GEMM_PACKED;
        c->tiles = tiles_of(kernels);
    }
    struct contestant *const c = &contestants[n_contestants++];
    const char *const core = blas_core();
    snprintf(c->name, sizeof c->name, "OpenBLAS (%s)", core != NULL ? core : "unknown");
    c->way = GEMM_BLAS;
}

int main(void)
{
    if (!blas_load()) {
        fputs("gemm: there is no OpenBLAS to compare with: libopenblas.so.0 cannot be loaded\n",
              stderr);
        return 1;
    }
    list_contestants();
    float *const numbers = memory((size_t)MOST_OUT * 256);
    float *const y = memory((size_t)MOST_ROWS * MOST_OUT);
    fill(numbers, (size_t)MOST_OUT * 256);
    puts("rows,outputs,inputs,contestant,gflops");
    measure(256, 256, numbers, y);
    measure(512, MOST_IN, numbers, y);
    measure(8000, 256, numbers, y);
    measure(MOST_OUT, 256, numbers, y);
    free(numbers);
    free(y);
    return 0;
}
