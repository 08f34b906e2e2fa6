/* Tests log-space functions against long double over their whole range, and the flat list. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "math/logspace.h"
#include "reference.h"
#include "sbeam/topk.h"
#include "statistics.h"

/* Distance in units of the last place of the expected value. */
static double ulps(double found, long double expected)
{
    if ((long double)found == expected)
        return 0;
    int exponent;
    frexp((double)expected, &exponent);
    return (double)(fabsl((long double)found - expected) /
                    ldexpl(1, (exponent < -1021 ? -1021 : exponent) - 53));
}

/* Points that are dense near 0 and reach far out, both signs. */
static double point(int i)
{
    const double size = exp(-40 + 46.7 * (i / 2) / 100000.0);
    return i % 2 ? -size : size;
}

enum { POINTS = 200000 };

static void one_minus_exp(void **state)
{
    (void)state;
    double worst = 0;
    for (int i = 1; i < POINTS; i += 2) {
        const double a = point(i);
        const long double exact =
            a > -0.5 ? logl(-expm1l((long double)a)) : log1pl(-expl((long double)a));
        worst = fmax(worst, ulps(logspace_log1mexp(a), exact));
    }
    print_message("log(1 - e^a): at most %.2f ulp\n", worst);
    assert_true(worst <= 2);
    assert_true(logspace_log1mexp(-INFINITY) == 0 && logspace_log1mexp(0) == -INFINITY);
}

static void one_plus_exp(void **state)
{
    (void)state;
    double worst = 0;
    for (int i = 0; i < POINTS; i++) {
        const double a = point(i);
        const long double exact =
            a > 0 ? (long double)a + log1pl(expl(-(long double)a)) : log1pl(expl((long double)a));
        worst = fmax(worst, ulps(logspace_log1pexp(a), exact));
    }
    print_message("log(1 + e^a): at most %.2f ulp\n", worst);
    assert_true(worst <= 2);
    assert_true(logspace_log1pexp(-INFINITY) == 0 && logspace_log1pexp(1e300) == 1e300);
}

static void sums(void **state)
{
    (void)state;
    uint64_t generator = 1;
    for (int i = 0; i < POINTS; i++) {
        const double a = 1400 * next_uniform(&generator) - 700;
        const double b = a + 80 * (next_uniform(&generator) - 0.5);
        const long double exact =
            a > b ? a + log1pl(expl((long double)b - a)) : b + log1pl(expl((long double)a - b));
        /* Where the two cancel to almost nothing no form can keep the digits: absolute there. */
        const double error = (double)fabsl(logspace_add(a, b) - exact);
        assert_true(error <= 2 * DBL_EPSILON * fmax(1, fabs((double)exact)));
    }
    assert_true(logspace_add(-INFINITY, -INFINITY) == -INFINITY);
    /* A sum just below 1 keeps what is missing. */
    assert_true(fabs(logspace_add(log1p(-3e-13), log(1e-13)) / -2e-13 - 1) < 1e-3);
}

/* The weights for log p down to -745, and then to -1e9, kappa on both sides of it. */
static void weights(void **state)
{
    (void)state;
    uint64_t generator = 2;
    double worst = 0;
    for (int i = 0; i < POINTS; i++) {
        const double phi = (i % 2 == 0 ? -745 : -1e9) * next_uniform(&generator);
        const double kappa = phi + 120 * (next_uniform(&generator) - 0.5);
        const long double z = expl((long double)phi - kappa);
        const long double log_q = z < 1e-8L ? logl(z) - z / 2 + z * z / 24
                                            : (z < 0.5L ? logl(-expm1l(-z)) : log1pl(-expl(-z)));
        const long double exact = (long double)phi - log_q;
        const double error = (double)fabsl(logspace_weight(phi, kappa) - exact);
        worst = fmax(worst, error / fmax(1, fmax(fabs(phi), fabs(kappa))));
    }
    print_message("log weight: at most %.2f * 2^-52 of max(1, |log p|, |kappa|)\n",
                  worst / DBL_EPSILON);
    assert_true(worst <= 2 * DBL_EPSILON);
    assert_true(logspace_weight(-3.25, -INFINITY) == -3.25);
    assert_true(logspace_weight(-3.25, -1e9) == -3.25 && logspace_weight(-3.25, -DBL_MAX) == -3.25);
    assert_true(logspace_weight(-DBL_MAX, -3.25) == -3.25);
    /* The two branches meet. */
    assert_true(fabs(logspace_weight(-10 - 1e-12, 0) - logspace_weight(-10 + 1e-12, 0)) < 1e-15);
}

/* A probability that is too small for a double is still not zero. */
static void smallest(void **state)
{
    (void)state;
    assert_true(logspace_saturate(-INFINITY) == -DBL_MAX && logspace_saturate(-3.25) == -3.25);
    assert_true(isnan(logspace_saturate(NAN)));
    assert_true(logspace_product(-DBL_MAX, -1e300) == -DBL_MAX);
    assert_true(logspace_product(-1, -0.5) == -1.5);
    assert_true(logspace_product(-INFINITY, 0) == -INFINITY);
    assert_true(logspace_product(0, -INFINITY) == -INFINITY);
    assert_true(isfinite(logspace_gumbel(-DBL_MAX, 0x1p-53)));
    assert_true(logspace_truncated_gumbel(-DBL_MAX, 1, 0.3) == -DBL_MAX);
    assert_true(logspace_truncated_gumbel(-DBL_MAX, -DBL_MAX, 0.3) == -DBL_MAX);
}

static void truncated(void **state)
{
    (void)state;
    uint64_t generator = 3;
    for (int i = 0; i < POINTS; i++) {
        const double phi = 1500 * (next_uniform(&generator) - 0.5);
        const double bound = phi + 80 * (next_uniform(&generator) - 0.5);
        const double u = next_uniform(&generator);
        const double g = logspace_truncated_gumbel(phi, bound, u);
        assert_true(g <= bound);
        /* Back through the distribution function, exp(e^(phi - bound) - e^(phi - g)): in logs. */
        const long double back = expl((long double)phi - g) - expl((long double)phi - bound);
        const long double expected = -logl((long double)u);
        const long double slack = 1e-12L * fabsl((long double)phi) + 1e-12L;
        assert_true(fabsl(back - expected) <= slack * (expl((long double)phi - g) + 1));
    }
    /* The ends of the uniforms. */
    assert_true(isfinite(logspace_truncated_gumbel(-300, -310, 0x1p-53)));
    assert_true(isfinite(logspace_truncated_gumbel(-300, 20, 1 - 0x1p-53)));
    assert_true(logspace_truncated_gumbel(0, INFINITY, 0.3) == logspace_gumbel(0, 0.3));
}

static void plackett_luce(void **state)
{
    (void)state;
    /* By hand: 0.5, then 0.3 of 0.5, then 0.1 of 0.2. */
    const double log_p[] = {log(0.5), log(0.3), log(0.1)};
    assert_true(fabs(sb_plackett_luce_log_p(log_p, 3, false) - log(0.5 * 0.6 * 0.5)) < 1e-14);
    assert_true(sb_plackett_luce_log_p(log_p, 0, false) == 0);
    /* All of them: the last is certain. And where almost nothing is left. */
    const double all[] = {log1p(-1e-12), log(1e-12)};
    assert_true(fabs(sb_plackett_luce_log_p(all, 2, true) + 1e-12) < 1e-15);
    const double tiny[] = {-1e-290, -668.0, -669.0};
    assert_true(isfinite(sb_plackett_luce_log_p(tiny, 3, false)));
}

/* The flat list has the ordered law, too, for weights of any scale: here the log-weights are near
 * -shift. The law is that of the rounded log-weights. */
static void check_flat_list(double shift)
{
    static const double weight[] = {0.317, 0.2, 0.25, 0.15, 0.083};
    struct leaves leaves = {.n = 5};
    struct ordered_law law;
    const double tolerance = fmax(1e-12, shift * 0x1p-51);
    long double total = 0;
    double log_weight[5];
    for (int i = 0; i < 5; i++) {
        log_weight[i] = log(weight[i]) - shift;
        total += expl((long double)log_weight[i] + shift);
    }
    for (int i = 0; i < 5; i++)
        leaves.list[i].phi = (double)((long double)log_weight[i] + shift - logl(total));
    ordered_law_open(&law, &leaves, 3);
    double *const count = calloc(law.n_cells, sizeof *count);
    for (size_t seed = 0; seed < share_of(200000); seed++) {
        sb_topk *topk;
        int32_t slot, n;
        const sb_topk_item *items;
        double kappa;
        assert_int_equal(sb_topk_open(&topk, 3, seed, NULL), SB_OK);
        assert_int_equal(sb_topk_push(topk, -INFINITY, &slot, NULL), SB_OK);
        assert_int_equal(slot, -1);
        for (int i = 0; i < 5; i++)
            assert_int_equal(sb_topk_push(topk, log_weight[i], &slot, NULL), SB_OK);
        assert_int_equal(sb_topk_items(topk, &items, &n, &kappa, NULL), SB_OK);
        struct picks picks = {.n = n};
        for (int i = 0; i < n; i++) {
            picks.leaf[i] = (int)items[i].index - 1;
            assert_true(items[i].g >= kappa && (i == 0 || items[i].g <= items[i - 1].g));
            assert_true(fabs(items[i].log_p - leaves.list[picks.leaf[i]].phi) < tolerance);
        }
        count[ordered_law_cell(&law, &picks)]++;
        sb_topk_close(topk);
    }
    const struct fit fit = fit_counts(law.probability, count, law.n_cells);
    print_message("flat list at -%g: chi-square %.1f on %d, p = %.3g, catches a bias of %.2g %%\n",
                  shift, fit.statistic, fit.degrees, fit.p_value, 100 * fit.smallest_bias);
    assert_true(fit.p_value > FALSE_ALARM);
    free(count);
    ordered_law_close(&law);
}

static void flat_list_has_the_law(void **state)
{
    (void)state;
    check_flat_list(690);
    check_flat_list(1e12 - 4);
    sb_topk *topk;
    sb_error err;
    int32_t slot;
    assert_int_equal(sb_topk_open(&topk, 3, 0, NULL), SB_OK);
    assert_int_equal(sb_topk_push(topk, -1e12, &slot, &err), SB_OK);
    assert_int_equal(sb_topk_push(topk, 1e12, &slot, &err), SB_OK);
    assert_int_equal(sb_topk_push(topk, nextafter(-1e12, -INFINITY), &slot, &err), SB_ERR_ARGUMENT);
    assert_string_equal(err.message, "the log-weight of item 2 is -1000000000000.0001; expected "
                                     "-inf, or a number from -1e12 to 1e12, because a larger one "
                                     "leaves no room for the noise");
    sb_topk_close(topk);
}

/* The sample so far is that of the stream so far; its first j are the sample of j. */
static void flat_list_is_nested(void **state)
{
    (void)state;
    for (int32_t k = 1; k < 40; k += 3) {
        sb_topk *small, *large;
        const sb_topk_item *a, *b;
        int32_t slot, n_a, n_b;
        double kappa_a, kappa_b;
        assert_int_equal(sb_topk_open(&small, k, 99, NULL), SB_OK);
        assert_int_equal(sb_topk_open(&large, k + 5, 99, NULL), SB_OK);
        uint64_t generator = 5;
        for (int i = 0; i < 30; i++) {
            const double log_weight = -600 * next_uniform(&generator);
            assert_int_equal(sb_topk_push(small, log_weight, &slot, NULL), SB_OK);
            assert_true(slot >= -1 && slot <= k);
            assert_int_equal(sb_topk_push(large, log_weight, &slot, NULL), SB_OK);
        }
        assert_int_equal(sb_topk_items(small, &a, &n_a, &kappa_a, NULL), SB_OK);
        assert_int_equal(sb_topk_items(large, &b, &n_b, &kappa_b, NULL), SB_OK);
        assert_int_equal(n_a, k < 30 ? k : 30);
        for (int32_t i = 0; i < n_a; i++)
            assert_true(a[i].index == b[i].index && a[i].g == b[i].g);
        assert_true(k < 30 ? kappa_a == b[k].g : kappa_a == -INFINITY);
        sb_topk_close(small);
        sb_topk_close(large);
    }
    sb_error err;
    sb_topk *topk;
    int32_t slot;
    assert_int_equal(sb_topk_open(&topk, 0, 0, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_topk_open(&topk, 2, 0, &err), SB_OK);
    assert_int_equal(sb_topk_push(topk, NAN, &slot, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_topk_push(topk, INFINITY, &slot, &err), SB_ERR_ARGUMENT);
    sb_topk_close(topk);
    sb_topk_close(NULL);
}

/* A list at once is its items one by one, wherever it is cut; what is refused is not taken. */
static void flat_list_at_once(void **state)
{
    (void)state;
    enum { ITEMS = 50 };
    for (int32_t k = 1; k < 60; k += 7) {
        double log_weights[ITEMS], kappa_a, kappa_b;
        sb_topk *one, *all;
        const sb_topk_item *a, *b;
        int32_t slot, n_a, n_b;
        sb_error err;
        uint64_t generator = 11;
        assert_int_equal(sb_topk_open(&one, k, 4, NULL), SB_OK);
        assert_int_equal(sb_topk_open(&all, k, 4, NULL), SB_OK);
        for (int i = 0; i < ITEMS; i++) {
            log_weights[i] = i % 9 == 4 ? -INFINITY : -30 * next_uniform(&generator);
            assert_int_equal(sb_topk_push(one, log_weights[i], &slot, NULL), SB_OK);
        }
        assert_int_equal(sb_topk_push_all(all, log_weights, 13, &err), SB_OK);
        log_weights[20] = -log_weights[4]; /* +inf */
        assert_int_equal(sb_topk_push_all(all, log_weights + 13, ITEMS - 13, &err),
                         SB_ERR_ARGUMENT);
        assert_non_null(strstr(err.message, "item 20 is inf"));
        generator = 11;
        for (int i = 0; i <= 20; i++)
            log_weights[i] = i % 9 == 4 ? -INFINITY : -30 * next_uniform(&generator);
        assert_int_equal(sb_topk_push_all(all, log_weights + 13, ITEMS - 13, &err), SB_OK);
        assert_int_equal(sb_topk_push_all(all, NULL, 0, &err), SB_OK);
        assert_int_equal(sb_topk_push_all(all, NULL, 1, &err), SB_ERR_ARGUMENT);
        assert_int_equal(sb_topk_items(one, &a, &n_a, &kappa_a, NULL), SB_OK);
        assert_int_equal(sb_topk_items(all, &b, &n_b, &kappa_b, NULL), SB_OK);
        assert_true(n_a == n_b && kappa_a == kappa_b);
        for (int32_t i = 0; i < n_a; i++)
            assert_true(a[i].index == b[i].index && a[i].g == b[i].g && a[i].log_p == b[i].log_p);
        sb_topk_close(one);
        sb_topk_close(all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_minus_exp),
        cmocka_unit_test(one_plus_exp),
        cmocka_unit_test(sums),
        cmocka_unit_test(weights),
        cmocka_unit_test(smallest),
        cmocka_unit_test(truncated),
        cmocka_unit_test(plackett_luce),
        cmocka_unit_test(flat_list_has_the_law),
        cmocka_unit_test(flat_list_is_nested),
        cmocka_unit_test(flat_list_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
