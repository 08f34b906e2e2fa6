/* Every instruction set gives the bits of the plain kernels: for rows of all lengths up to 2,000,
 * for products and loops of the networks with odd sizes and strides, with denormal numbers, -inf,
 * NaN and equal scores. Needs only cmocka, so that it can be built for other processors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "math/kernels.h"
#ifdef SBEAM_HAVE_NN
#include "nn/gemm.h"
#include "nn/loops.h"
#include "nn/tiles.h"
#endif

enum { MOST = 2000, MOST_BLOCKS = MOST / KERNEL_BLOCK + 1 };

static uint64_t generator;

/* Returns a number in (0, 1). */
static double uniform(void)
{
    generator = generator * 6364136223846793005u + 1442695040888963407u;
    return ((double)(generator >> 11) + 0.5) * 0x1p-53;
}

/* Fills x with scores of one kind. They are of ordinary size, far apart, denormal, or often equal;
 * some kinds have -inf, zeros of both signs, or one score that is NaN or +inf. */
static void fill(double *x, size_t n, int kind)
{
    for (size_t i = 0; i < n; i++) {
        const double u = 6 * uniform() - 3;
        switch (kind) {
        case 0: x[i] = u; break;
        case 1: x[i] = 300 * u; break;
        case 2: x[i] = u * 0x1p-140; break;
        case 3: x[i] = floor(u); break;
        case 4: x[i] = uniform() < 0.3 ? -INFINITY : u; break;
        case 5: x[i] = uniform() < 0.5 ? 0 : uniform() < 0.5 ? -0.0 : -fabs(u); break;
        case 6: x[i] = -INFINITY; break;
        default: x[i] = i == n / 2 ? (kind == 7 ? NAN : INFINITY) : u; break;
        }
    }
}

enum { N_KINDS = 9 };

/* The numbers that the kernels compute from a row. */
struct outcome {
    double max[MOST_BLOCKS], sum[MOST_BLOCKS], model[MOST_BLOCKS], mass[MOST_BLOCKS + KERNEL_PAD];
    double total, piece, piece_max, wide[KERNEL_BLOCK];
    float narrow[KERNEL_BLOCK];
};

static void compute(const struct kernels *k, const float *f, const double *x, size_t n,
                    double inv_t, struct outcome *out)
{
    const size_t block = n < KERNEL_BLOCK ? n : KERNEL_BLOCK;
    const size_t n_blocks = (n + KERNEL_BLOCK - 1) / KERNEL_BLOCK;
    memset(out, 0, sizeof *out);
    if (f != NULL) {
        k->blocks_float(f, n, inv_t, out->max, out->sum, out->model);
        k->weights_float(f, block, out->max[0], inv_t, out->narrow);
        memset(out->narrow + (block + KERNEL_PAD - 1) / KERNEL_PAD * KERNEL_PAD, 0,
               (KERNEL_BLOCK - (block + KERNEL_PAD - 1) / KERNEL_PAD * KERNEL_PAD) * sizeof(float));
        out->piece = k->sum_float(f, n, &out->piece_max);
    } else {
        k->blocks_double(x, n, inv_t, out->max, out->sum, out->model);
        k->weights_double(x, block, out->max[0], inv_t, out->wide);
    }
    double top = -INFINITY;
    for (size_t b = 0; b < n_blocks; b++)
        top = out->max[b] > top ? out->max[b] : top;
    if (top > -INFINITY && top < INFINITY)
        out->total = k->combine(out->max, out->sum, n_blocks, top, inv_t, out->mass);
    memset(out->mass + n_blocks, 0, (MOST_BLOCKS + KERNEL_PAD - n_blocks) * sizeof(double));
}

/* Compares doubles bit for bit, except that one NaN is as good as another. */
static void assert_same_doubles(const double *a, const double *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isnan(a[i]) || !isnan(b[i]))
            assert_memory_equal(&a[i], &b[i], sizeof *a);
}

static void assert_same_floats(const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isnan((double)a[i]) || !isnan((double)b[i]))
            assert_memory_equal(&a[i], &b[i], sizeof *a);
}

static void rows_have_the_bits_of_plain(void **state)
{
    (void)state;
    static double x[MOST];
    static float f[MOST + 1];
    static struct outcome plain, other;
    static const double inv_ts[] = {1, 10, 0.3, 1e30, 1e-30};
    const char *name;
    const struct kernels *kernels;
    for (size_t set = 0; kernels = kernels_list(set, &name), name != NULL; set++) {
        if (kernels == NULL || kernels == &kernels_plain)
            continue;
        generator = 1;
        for (size_t n = 1; n <= MOST; n++) {
            const int kind = (int)(n % N_KINDS), shift = (int)(n / N_KINDS % 2);
            const double inv_t = inv_ts[n % 5];
            fill(x, n, kind);
            for (size_t i = 0; i < n; i++)
                f[i + (size_t)shift] = (float)x[i]; /* also not aligned */
            for (int type = 0; type < 2; type++) {
                compute(&kernels_plain, type == 0 ? f + shift : NULL, x, n, inv_t, &plain);
                compute(kernels, type == 0 ? f + shift : NULL, x, n, inv_t, &other);
                assert_same_floats(plain.narrow, other.narrow, KERNEL_BLOCK);
                assert_same_doubles(plain.max, other.max,
                                    offsetof(struct outcome, narrow) / sizeof(double));
            }
        }
        print_message("%s: the bits of plain\n", name);
    }
}

#ifdef SBEAM_HAVE_NN
static float *numbers(size_t n, double scale)
{
    float *const x = aligned_alloc(64, (n * sizeof *x + 127) / 64 * 64);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(scale * (uniform() - 0.5));
    return x;
}

static void products_have_the_bits_of_plain(void **state)
{
    (void)state;
    static const size_t ins[] = {1, 2, 7, 64, 129};
    const char *name;
    const struct kernels *kernels;
    for (size_t set = 0; kernels = kernels_list(set, &name), name != NULL; set++) {
        if (kernels == NULL || kernels == &kernels_plain)
            continue;
        generator = 2;
        for (size_t i = 0; i < sizeof ins / sizeof *ins; i++)
            for (size_t n_panels = 1; n_panels <= 5; n_panels += 2)
                for (size_t n_rows = 1; n_rows <= 30; n_rows++) {
                    const size_t n_in = ins[i], n_out = n_panels * GEMM_PANEL - n_rows % 3,
                                 x_stride = n_in + 3, y_stride = n_out + 5;
                    const double scale = n_rows % 7 == 0 ? 0x1p-70 : 1; /* denormal products */
                    float *const panel = numbers(n_panels * n_in * GEMM_PANEL, scale);
                    float *const bias = numbers(n_panels * GEMM_PANEL, scale * scale);
                    float *const x = numbers(n_rows * x_stride, scale);
                    float *const y = numbers(n_rows * y_stride, 1);
                    float *const expected = numbers(n_rows * y_stride, 1);
                    memcpy(expected, y, n_rows * y_stride * sizeof *y);
                    gemm product = {.n_out = n_out,
                                    .n_in = n_in,
                                    .way = GEMM_PACKED,
                                    .weights = panel,
                                    .bias = bias,
                                    .tiles = &tiles_plain};
                    gemm_apply(&product, n_rows, x, x_stride, expected, y_stride);
                    product.tiles = tiles_of(kernels);
                    gemm_apply(&product, n_rows, x, x_stride, y, y_stride);
                    assert_memory_equal(y, expected, n_rows * y_stride * sizeof *y);
                    free(panel);
                    free(bias);
                    free(x);
                    free(y);
                    free(expected);
                }
    }
}

static void loops_have_the_bits_of_plain(void **state)
{
    (void)state;
    const char *name;
    const struct kernels *kernels;
    for (size_t set = 0; kernels = kernels_list(set, &name), name != NULL; set++) {
        if (kernels == NULL || kernels == &kernels_plain)
            continue;
        const struct loops *const tables[2] = {loops_of(&kernels_plain), loops_of(kernels)};
        generator = 3;
        for (size_t n = 1; n <= 700; n++) {
            float *const a = numbers(n, 8), *const b = numbers(n, 8), *const e = numbers(n, 2);
            float *out[2][3];
            for (int t = 0; t < 2; t++) {
                for (int i = 0; i < 3; i++) {
                    out[t][i] = calloc(n + 1, sizeof(float));
                    memcpy(out[t][i], a, n * sizeof(float));
                }
                tables[t]->minus_abs(n, b, out[t][0]);
                tables[t]->gate(n, a, b, e, out[t][1]);
                tables[t]->add(n, out[t][2], b);
                tables[t]->add_multiple(n, 0.3f, e, out[t][2]);
                out[t][0][n] = tables[t]->dot(n, a, b);
            }
            for (int i = 0; i < 3; i++)
                assert_memory_equal(out[0][i], out[1][i], (n + 1) * sizeof(float));
            for (int i = 0; i < 6; i++)
                free(out[i / 3][i % 3]);
            free(a);
            free(b);
            free(e);
        }
    }
}
#endif

/* SBEAM_CPU is read once, when the process chooses its kernels, so only its absence is tested here;
 * the tests of the command give it values. */
static void kernels_are_chosen(void **state)
{
    (void)state;
    const char *name, *wish = getenv("SBEAM_CPU");
    wish = wish != NULL && wish[0] != '\0' ? wish : NULL;
    size_t n_possible = 0, n = 0;
    for (; kernels_list(n, &name) != NULL || name != NULL; n++)
        n_possible += kernels_list(n, &name) != NULL;
    assert_true(n_possible >= 1 && kernels_list(n, &name) == NULL && name == NULL);
    assert_int_equal(kernels_are_forced(), wish != NULL && strcmp(wish, "blas") != 0);
    assert_int_equal(kernels_check(NULL), SB_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_have_the_bits_of_plain),
#ifdef SBEAM_HAVE_NN
        cmocka_unit_test(products_have_the_bits_of_plain),
        cmocka_unit_test(loops_have_the_bits_of_plain),
#endif
        cmocka_unit_test(kernels_are_chosen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
