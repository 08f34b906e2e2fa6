/* Tests the parts of neural networks, each against its definition in double. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/source_cache.h"
#include "math/kernels.h"
#include "nn/blas.h"
#include "nn/gemm.h"
#include "nn/layers.h"

/* Awkward numbers, the same in every run. */
static float next_number(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)((double)(*state >> 8) / 16777216.0 - 0.4873);
}

static float *numbers(size_t n, uint32_t seed)
{
    float *const x = malloc((n + 1) * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        x[i] = next_number(&seed);
    return x;
}

static tensor view(const float *data, size_t rows, size_t columns)
{
    return (tensor){.type = TENSOR_F32,
                    .n_dims = 2,
                    .shape = {rows, columns},
                    .n = rows * columns,
                    .data = (const uint8_t *)data};
}

/* The ways that this machine has. */
static size_t list_ways(gemm_way *ways)
{
    size_t n = 0;
    ways[n++] = GEMM_PLAIN;
    if (blas_load())
        ways[n++] = GEMM_BLAS;
    if (gemm_best_way() == GEMM_PACKED)
        ways[n++] = GEMM_PACKED;
    return n;
}

/* |error| of a float sum of n products: n roundings of partial sums, each at most the sum of the
 * products' sizes. */
static double error_bound(size_t n, double sum_of_sizes)
{
    return (double)(n + 2) * 0x1p-24 * sum_of_sizes;
}

static void check_product(gemm_way way, size_t n_rows, size_t n_out, size_t n_in)
{
    const size_t x_stride = n_in + 3, y_stride = n_out + 5;
    float *const w = numbers(n_out * n_in, 1), *const b = numbers(n_out, 2);
    float *const x = numbers(n_rows * x_stride, 3);
    float *const y = numbers(n_rows * y_stride, 4), *const before = numbers(n_rows * y_stride, 4);
    const tensor weights = view(w, n_out, n_in), bias = view(b, 1, n_out);
    gemm m;
    assert_int_equal(gemm_open(&m, way, n_out, n_in, &weights, &bias, NULL), SB_OK);
    gemm_apply(&m, n_rows, x, x_stride, y, y_stride);
    for (size_t r = 0; r < n_rows; r++)
        for (size_t o = 0; o < y_stride; o++) {
            if (o >= n_out) { /* what lies between the rows is not ours */
                assert_memory_equal(&y[r * y_stride + o], &before[r * y_stride + o], sizeof *y);
                continue;
            }
            double sum = (double)b[o], sizes = fabs((double)b[o]);
            for (size_t i = 0; i < n_in; i++) {
                const double product = (double)w[o * n_in + i] * (double)x[r * x_stride + i];
                sum += product;
                sizes += fabs(product);
            }
            assert_true(fabs((double)y[r * y_stride + o] - sum) <= error_bound(n_in, sizes));
        }
    gemm_close(&m);
    free(w);
    free(b);
    free(x);
    free(y);
    free(before);
}

static void test_products(void **state)
{
    (void)state;
    static const size_t outs[] = {1, 15, 16, 17, 48, 100}, ins[] = {1, 2, 7, 64, 129};
    gemm_way ways[3];
    const size_t n_ways = list_ways(ways);
    for (size_t w = 0; w < n_ways; w++)
        for (size_t o = 0; o < sizeof outs / sizeof *outs; o++)
            for (size_t i = 0; i < sizeof ins / sizeof *ins; i++)
                for (size_t rows = 1; rows <= 20; rows++)
                    check_product(ways[w], rows, outs[o], ins[i]);
}

/* A row of the packed product has the same bits whatever rows are beside it. */
static void test_packed_rows_do_not_see_each_other(void **state)
{
    (void)state;
    if (gemm_best_way() != GEMM_PACKED)
        skip();
    enum { ROWS = 41, OUT = 77, IN = 53 };
    float *const w = numbers(OUT * IN, 5), *const b = numbers(OUT, 6),
                 *const x = numbers(ROWS * IN, 7);
    float alone[OUT], together[ROWS * OUT];
    const tensor weights = view(w, OUT, IN), bias = view(b, 1, OUT);
    gemm m;
    assert_int_equal(gemm_open(&m, GEMM_PACKED, OUT, IN, &weights, &bias, NULL), SB_OK);
    for (size_t n = 1; n <= ROWS; n++) {
        gemm_apply(&m, n, x, IN, together, OUT);
        for (size_t r = 0; r < n; r++) {
            gemm_apply(&m, 1, x + r * IN, IN, alone, OUT);
            assert_memory_equal(alone, together + r * OUT, sizeof alone);
        }
    }
    gemm_close(&m);
    free(w);
    free(b);
    free(x);
}

static void test_product_without_memory(void **state)
{
    (void)state;
    const float w[6] = {1, 2, 3, 4, 5, 6};
    const tensor weights = view(w, 2, 3), bias = view(w, 1, 2);
    for (long n = 1; n <= 2; n++) {
        gemm m;
        alloc_fail_at(n);
        assert_int_equal(gemm_open(&m, gemm_best_way(), 2, 3, &weights, &bias, NULL),
                         SB_ERR_MEMORY);
        assert_true(alloc_has_failed());
    }
    alloc_fail_at(0);
}

static void test_glu(void **state)
{
    (void)state;
    static const size_t widths[] = {1, 8, 255, 256, 257, 600};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        const size_t width = widths[w];
        float *const x = numbers(3 * 2 * width, 8), *const y = numbers(3 * width, 9);
        for (size_t i = 0; i < 3 * 2 * width; i++)
            x[i] *= i % 7 == 3 ? 400.0f : 12.0f; /* gates far beyond where exp overflows */
        layer_glu(3, width, x, y);
        for (size_t r = 0; r < 3; r++)
            for (size_t i = 0; i < width; i++) {
                const double a = (double)x[r * 2 * width + i];
                const double gate = (double)x[r * 2 * width + width + i];
                const double expected = a / (1 + exp(-gate));
                /* 2e-6: the exponential's 4e-7 + |t| 2^-24 at t = log2(e) * 20, where it matters;
                 * below that the value itself is under 2e-9 * |a|. */
                assert_true(fabs((double)y[r * width + i] - expected) <=
                            2e-6 * fabs(expected) + 1e-9 * fabs(a));
            }
        free(x);
        free(y);
    }
}

static void test_add(void **state)
{
    (void)state;
    float x[6] = {1.5f, -2.25f, 9, 0.375f, 4.0f, 9};
    const float y[8] = {0.1f, 0.2f, 7, 7, -0.3f, 1e8f, 7, 7};
    layer_add(2, 2, x, 3, y, 4);
    assert_true(fabs((double)x[0] - 1.6 * sqrt(0.5)) < 1e-6);
    assert_true(fabs((double)x[1] - -2.05 * sqrt(0.5)) < 1e-6);
    assert_true(x[2] == 9 && x[5] == 9);
    assert_true(fabs((double)x[3] - 0.075 * sqrt(0.5)) < 1e-6);
    assert_true(fabs((double)x[4] - 100000004.0 * sqrt(0.5)) < 8);
}

static void test_attention(void **state)
{
    (void)state;
    static const size_t lengths[] = {1, 2, 8, 9, 255, 256, 257, 700},
                        widths[] = {1, 5, 16, 33, 256};
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
            const size_t n = lengths[l], width = widths[w];
            float *const q = numbers(width, 10), *const keys = numbers(n * width, 11);
            float *const values = numbers(n * width, 12), *const out = numbers(width, 13);
            float *const scores = numbers(2 * (n + KERNEL_PAD_FLOAT), 14);
            layer_attend(n, width, q, keys, values, out, scores);
            double *const a = calloc(n, sizeof *a), max = -INFINITY, sum = 0;
            assert_non_null(a);
            for (size_t j = 0; j < n; j++) {
                for (size_t i = 0; i < width; i++)
                    a[j] += (double)q[i] * (double)keys[j * width + i];
                max = fmax(max, a[j]);
            }
            for (size_t j = 0; j < n; j++)
                sum += a[j] = exp(a[j] - max);
            for (size_t i = 0; i < width; i++) {
                double expected = 0;
                for (size_t j = 0; j < n; j++)
                    expected += sqrt((double)n) * a[j] / sum * (double)values[j * width + i];
                assert_true(fabs((double)out[i] - expected) <= 2e-5 * sqrt((double)n));
            }
            free(q);
            free(keys);
            free(values);
            free(out);
            free(scores);
            free(a);
        }
}

static bool begin(struct source_cache *cache, int32_t input, int32_t first, int32_t n)
{
    int32_t ids[8];
    bool is_new = false;
    for (int32_t i = 0; i < n; i++)
        ids[i] = first + i;
    assert_int_equal(source_cache_begin(cache, input, ids, n, &is_new, NULL), SB_OK);
    return is_new;
}

static void test_equal_sources_share(void **state)
{
    (void)state;
    struct source_cache cache;
    assert_int_equal(source_cache_open(&cache, 3, NULL), SB_OK);
    assert_true(begin(&cache, 0, 5, 3));
    assert_false(begin(&cache, 1, 5, 3));
    assert_int_equal(cache.place[0], cache.place[1]);
    assert_true(begin(&cache, 2, 5, 2)); /* a prefix is another source */
    assert_true(begin(&cache, 0, 7, 3));
    assert_false(begin(&cache, 0, 5, 3)); /* still there: input 1 has it */
    assert_false(begin(&cache, 1, 7, 3)); /* still there: nobody needed its place */
    assert_true(begin(&cache, 2, 9, 1));
    assert_int_not_equal(cache.place[2], cache.place[0]);
    assert_int_not_equal(cache.place[2], cache.place[1]);
    source_cache_close(&cache);
}

/* One place: the same source again is a hit, another one takes the place over. */
static void test_single_place(void **state)
{
    (void)state;
    struct source_cache cache;
    assert_int_equal(source_cache_open(&cache, 1, NULL), SB_OK);
    assert_true(begin(&cache, 0, 1, 4));
    assert_false(begin(&cache, 0, 1, 4));
    assert_true(begin(&cache, 0, 2, 4));
    assert_true(begin(&cache, 0, 1, 4));
    source_cache_forget(&cache, 0); /* it could not be encoded */
    assert_true(begin(&cache, 0, 1, 4));
    source_cache_close(&cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_packed_rows_do_not_see_each_other),
        cmocka_unit_test(test_product_without_memory),
        cmocka_unit_test(test_glu),
        cmocka_unit_test(test_add),
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_equal_sources_share),
        cmocka_unit_test(test_single_place),
    };
    return cmocka_run_group_tests_name("nn", tests, NULL, NULL);
}
