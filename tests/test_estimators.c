/* Tests the estimators on given numbers: examples worked out by hand, a slow reference in long
 * double, weights far below the smallest double, prefixes of a draw, and errors. */
#include "sbeam/estimate.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "draw_check.h"
#include "reference.h"

static sb_estimate compute(sb_estimator estimator, const double *f, const double *log_p, size_t n,
                           double kappa)
{
    sb_estimate estimate;
    sb_error err;
    if (sb_estimate_compute(estimator, f, log_p, n, kappa, &estimate, &err) != SB_OK)
        fail_msg("%s", err.message);
    return estimate;
}

static void assert_near(double x, double expected, double tolerance)
{
    if (!(fabs(x - expected) <= tolerance * fmax(1, fabs(expected))) &&
        !(isnan(x) && isnan(expected)))
        fail_msg("%.17g is not %.17g", x, expected);
}

/* With kappa = log(0.2 / log 2), p = 0.2 has q = 1 - 2^-1 and p = 0.4 has q = 1 - 2^-2. */
static void test_by_hand(void **state)
{
    (void)state;
    const double f[] = {3, 7}, log_p[] = {log(0.4), log(0.2)}, kappa = log(0.2 / log(2));
    const double weights = 0.4 / 0.75 + 0.2 / 0.5;
    const double mu = (0.4 / 0.75 * 3 + 0.2 / 0.5 * 7) / weights;
    const double ess = weights * weights / (0.4 / 0.75 * 0.4 / 0.75 + 0.2 / 0.5 * 0.2 / 0.5);
    const double spread =
        (0.4 / 0.75 * (3 - mu) * (3 - mu) + 0.2 / 0.5 * (7 - mu) * (7 - mu)) / weights;

    sb_estimate e = compute(SB_ESTIMATOR_SBS, f, log_p, 2, kappa);
    double square = 0.25 * 0.4 / 0.75 * 0.4 / 0.75 * 9 + 0.5 * 0.2 / 0.5 * 0.2 / 0.5 * 49;
    assert_near(e.value, 1.6 + 2.8, 1e-14);
    assert_near(e.se, sqrt(square), 1e-14);
    assert_near(e.ess, ess, 1e-14);
    assert_near(e.weight_sum, weights, 1e-14);
    assert_near(e.mc_equivalent, spread / square, 1e-14);

    e = compute(SB_ESTIMATOR_SBS_NORMALISED, f, log_p, 2, kappa);
    square = (0.25 * 0.4 / 0.75 * 0.4 / 0.75 * (3 - mu) * (3 - mu) +
              0.5 * 0.2 / 0.5 * 0.2 / 0.5 * (7 - mu) * (7 - mu)) /
             (weights * weights);
    assert_near(e.value, mu, 1e-14);
    assert_near(e.se, sqrt(square), 1e-14);
    assert_near(e.ess, ess, 1e-14);
    assert_near(e.weight_sum, weights, 1e-14);
    assert_near(e.mc_equivalent, spread / square, 1e-14);

    e = compute(SB_ESTIMATOR_BEAM, f, log_p, 2, NAN);
    assert_near(e.value, 0.4 * 3 + 0.2 * 7, 1e-14);
    assert_near(e.weight_sum, 0.6, 1e-14);
    assert_true(isnan(e.se) && isnan(e.ess) && isnan(e.mc_equivalent));
    e = compute(SB_ESTIMATOR_BEAM_NORMALISED, f, log_p, 2, NAN);
    assert_near(e.value, (0.4 * 3 + 0.2 * 7) / 0.6, 1e-14);
    assert_near(e.weight_sum, 0.6, 1e-14);
    assert_true(isnan(e.se) && isnan(e.ess) && isnan(e.mc_equivalent));

    /* Mean 5, squared distances 4 + 0 + 4. */
    const double three[] = {3, 5, 7};
    e = compute(SB_ESTIMATOR_MC, three, NULL, 3, NAN);
    assert_near(e.value, 5, 1e-14);
    assert_near(e.se, sqrt((4. + 0. + 4.) / 2 / 3), 1e-14);
    assert_true(e.ess == 3 && e.mc_equivalent == 3 && e.weight_sum == 1);
}

/* One sequence: the normalised estimate is f itself, and no error can be known. */
static void test_one(void **state)
{
    (void)state;
    const double f = 0.317, log_p = -1.3;
    for (int i = SB_ESTIMATOR_MC; sb_estimator_name((sb_estimator)i) != NULL; i++) {
        const sb_estimate e = compute((sb_estimator)i, &f, &log_p, 1, -0.4);
        if (i == SB_ESTIMATOR_MC || i == SB_ESTIMATOR_SBS_NORMALISED ||
            i == SB_ESTIMATOR_BEAM_NORMALISED)
            assert_true(e.value == f);
        assert_true(isnan(e.se) && isnan(e.mc_equivalent));
    }
    const sb_estimate e = compute(SB_ESTIMATOR_SBS, &f, &log_p, 1, -0.4);
    assert_near(e.value, f * exp(log_p) / (1 - exp(-exp(log_p + 0.4))), 1e-14);
}

/* Everything found: exact, error 0, also at n = 1; a certain sequence may round to above 1. */
static void test_exhausted(void **state)
{
    (void)state;
    const double f[] = {2.385, -4.1, 11}, log_p[] = {log(0.61), log(0.283), log(0.107)};
    const double exact = 0.61 * 2.385 - 0.283 * 4.1 + 0.107 * 11, above = 3e-10;
    for (int i = SB_ESTIMATOR_SBS; i <= SB_ESTIMATOR_SBS_NORMALISED; i++) {
        sb_estimate e = compute((sb_estimator)i, f, log_p, 3, -INFINITY);
        assert_near(e.value, exact, 1e-14);
        assert_near(e.weight_sum, 1, 1e-14);
        assert_true(e.se == 0 && isnan(e.mc_equivalent));
        e = compute((sb_estimator)i, f, &above, 1, -INFINITY);
        assert_near(e.value, 2.385, 1e-9);
        assert_true(e.se == 0 && isnan(e.mc_equivalent) && e.ess == 1);
    }
}

/* Equal values have that value as their mean, to the last bit, and no spread. */
static void test_equal_values(void **state)
{
    (void)state;
    double f[11], log_p[11];
    for (int i = 0; i < 11; i++) {
        f[i] = 0.1;
        log_p[i] = -0.7 * i - 1;
    }
    const sb_estimator exact[] = {SB_ESTIMATOR_MC, SB_ESTIMATOR_SBS_NORMALISED,
                                  SB_ESTIMATOR_BEAM_NORMALISED};
    for (size_t i = 0; i < 3; i++) {
        const sb_estimate e = compute(exact[i], f, log_p, 11, -3);
        assert_true(e.value == 0.1);
        assert_true(!(e.se > 0) && isnan(e.mc_equivalent));
    }
}

/* --- a slow reference --- */

static sb_estimate compute_slowly(sb_estimator estimator, const double *f, const double *log_p,
                                  size_t n, double kappa)
{
    const int is_beam = estimator >= SB_ESTIMATOR_BEAM;
    const int normalised =
        estimator == SB_ESTIMATOR_SBS_NORMALISED || estimator == SB_ESTIMATOR_BEAM_NORMALISED;
    long double weight = 0, squares = 0, sum = 0, spread = 0, error = 0;
    long double w[64], not_drawn[64];
    for (size_t i = 0; i < n; i++) {
        const long double p = expl((long double)log_p[i]);
        not_drawn[i] = expl(-expl((long double)log_p[i] - (long double)kappa));
        w[i] = p / (is_beam ? 1 : -expm1l(-expl((long double)log_p[i] - (long double)kappa)));
        if (estimator == SB_ESTIMATOR_MC)
            w[i] = 1 / (long double)n;
        weight += w[i];
        squares += w[i] * w[i];
        sum += w[i] * (long double)f[i];
    }
    const long double mu = sum / weight;
    for (size_t i = 0; i < n; i++) {
        long double from_mu = 0; /* f_i - mu, also where mu is nearly f_i */
        for (size_t j = 0; j < n; j++)
            from_mu += w[j] * ((long double)f[i] - (long double)f[j]) / weight;
        spread += w[i] * from_mu * from_mu / weight;
        if (normalised)
            error += not_drawn[i] * w[i] * w[i] * from_mu * from_mu / (weight * weight);
        else
            error += not_drawn[i] * w[i] * w[i] * (long double)f[i] * (long double)f[i];
    }
    if (estimator == SB_ESTIMATOR_MC) {
        const long double se = sqrtl(spread / (long double)(n - 1));
        return (sb_estimate){(double)mu, (double)se, (double)n, (double)n, 1};
    }
    sb_estimate e = {(double)(normalised ? mu : sum), (double)sqrtl(error),
                     (double)(weight * weight / squares), (double)(spread / error), (double)weight};
    if (is_beam)
        e.se = e.ess = e.mc_equivalent = NAN;
    return e;
}

static void assert_close(double x, double expected)
{
    if (isnan(expected))
        assert_true(isnan(x));
    else if (!(fabs(x - expected) <= 1e-11 * fabs(expected)))
        fail_msg("%.17g is not %.17g", x, expected);
}

/* Long double reaches down to 1e-4932: log p of -700 is far above that. */
static void test_reference(void **state)
{
    (void)state;
    uint64_t generator = 317;
    for (int round = 0; round < 2000; round++) {
        double f[64], log_p[64];
        const size_t n = 2 + (size_t)(62 * next_uniform(&generator));
        const double depth = round % 2 ? 12 : 700;
        const double kappa = -depth * next_uniform(&generator) + 2;
        for (size_t i = 0; i < n; i++) {
            log_p[i] = -depth * next_uniform(&generator);
            f[i] = 100 * next_uniform(&generator);
        }
        for (int i = SB_ESTIMATOR_MC; i <= SB_ESTIMATOR_BEAM_NORMALISED; i++) {
            const sb_estimate e = compute((sb_estimator)i, f, log_p, n, kappa);
            const sb_estimate slow = compute_slowly((sb_estimator)i, f, log_p, n, kappa);
            assert_close(e.value, slow.value);
            assert_close(e.weight_sum, slow.weight_sum);
            assert_close(e.ess, slow.ess);
            /* Where the likeliest are certain to be drawn, the errors that are left underflow. */
            if (slow.se > 1e-140 || isnan(slow.se)) {
                assert_close(e.se, slow.se);
                assert_close(e.mc_equivalent, slow.mc_equivalent);
            }
        }
    }
}

/* Adding a constant to every log p and to kappa changes no ratio of weights, however small they
 * become. They are powers of two, so that the differences are exact. A draw may have up to about
 * 2^29.9. The tolerance is 16 times the distance of doubles of that size. */
static void test_tiny_probabilities(void **state)
{
    (void)state;
    const double f[] = {1.5, 2, 40, -3}, shifts[] = {8192, 0x1p29 + 0x1p28};
    const double log_p[] = {-1.25, -2.5, -4, -9.75};
    for (int s = 0; s < 2; s++) {
        double far[4];
        const double shift = shifts[s], tolerance = shift * 0x1p-48;
        for (int i = 0; i < 4; i++)
            far[i] = log_p[i] - shift;
        const sb_estimate near = compute(SB_ESTIMATOR_SBS_NORMALISED, f, log_p, 4, -3);
        const sb_estimate e = compute(SB_ESTIMATOR_SBS_NORMALISED, f, far, 4, -3 - shift);
        assert_near(e.value, near.value, tolerance);
        assert_near(e.se, near.se, tolerance);
        assert_near(e.ess, near.ess, tolerance);
        assert_near(e.mc_equivalent, near.mc_equivalent, tolerance);
        assert_true(e.weight_sum == 0);
        const sb_estimate beam = compute(SB_ESTIMATOR_BEAM_NORMALISED, f, far, 4, NAN);
        assert_near(beam.value, compute(SB_ESTIMATOR_BEAM_NORMALISED, f, log_p, 4, NAN).value,
                    tolerance);
    }
    /* A sequence without probability adds nothing. */
    const double with_zero[] = {-1.25, -INFINITY};
    assert_true(compute(SB_ESTIMATOR_BEAM_NORMALISED, f, with_zero, 2, NAN).value == 1.5);
    assert_true(compute(SB_ESTIMATOR_SBS_NORMALISED, f, with_zero, 2, -3).value == 1.5);
    assert_true(compute(SB_ESTIMATOR_SBS_NORMALISED, f, with_zero, 2, -INFINITY).value == 1.5);
}

/* With a threshold far below every log p all weights are p, so the estimates are sums over all
 * sequences, to the bit. */
static void test_far_threshold(void **state)
{
    (void)state;
    static const double kappas[] = {-1e9, -2.9e17, -1e300, -DBL_MAX};
    const double f[] = {1.5, 2, 40, -3}, log_p[] = {-1e-17, -2.5, -400, -1e8};
    for (int k = 0; k < 4; k++)
        for (int i = SB_ESTIMATOR_SBS; i <= SB_ESTIMATOR_SBS_NORMALISED; i++) {
            const sb_estimate all = compute((sb_estimator)i, f, log_p, 4, -INFINITY);
            const sb_estimate e = compute((sb_estimator)i, f, log_p, 4, kappas[k]);
            assert_true(e.value == all.value && e.weight_sum == all.weight_sum);
            assert_true(e.se == 0 && e.ess == all.ess && isnan(e.mc_equivalent));
        }
}

/* Values times a power of two give the estimate times it, to the bit, though the squares of these
 * are above the largest double or below the smallest. */
static void test_far_values(void **state)
{
    (void)state;
    const double f[] = {1.5, 2, 40, -3}, log_p[] = {-1.25, -2.5, -4, -9.75};
    static const int exponents[] = {1016, 600, -600, -1020};
    for (int x = 0; x < 4; x++) {
        double far[4];
        for (int i = 0; i < 4; i++)
            far[i] = ldexp(f[i], exponents[x]);
        for (int i = SB_ESTIMATOR_MC; i <= SB_ESTIMATOR_SBS_NORMALISED; i++) {
            const sb_estimate near = compute((sb_estimator)i, f, log_p, 4, -3);
            const sb_estimate e = compute((sb_estimator)i, far, log_p, 4, -3);
            assert_true(e.value == ldexp(near.value, exponents[x]));
            assert_true(e.se == ldexp(near.se, exponents[x]));
            assert_true(e.mc_equivalent == near.mc_equivalent);
        }
    }
}

/* --- prefixes --- */

static void assert_same(const sb_estimate *a, const sb_estimate *b)
{
    const double x[] = {a->value, a->se, a->ess, a->mc_equivalent, a->weight_sum};
    const double y[] = {b->value, b->se, b->ess, b->mc_equivalent, b->weight_sum};
    for (int i = 0; i < 5; i++)
        assert_true(x[i] == y[i] || (isnan(x[i]) && isnan(y[i])));
}

static size_t columns_of(const sb_result *result, double *f, double *log_p)
{
    const size_t n = (size_t)result->n_sequences;
    for (size_t i = 0; i < n; i++) {
        log_p[i] = result->sequences[i].log_p;
        f[i] = result->sequences[i].n_tokens - log_p[i];
    }
    return n;
}

/* Every prefix of one draw gives, bit for bit, what a draw of that size gives: with the g of the
 * next as its threshold where it is SBS. */
static void check_prefixes(const sb_model *model, sb_method method, int32_t max_len)
{
    enum { K = 24 };
    sb_config config = config_of(method, K);
    config.max_len = max_len;
    config.temperature = 0.8;
    for (uint64_t number = 0; number < 4; number++) {
        double f[K], log_p[K], own_f[K], own_log_p[K];
        config.k = K;
        sb_result *const whole = draw(model, &config, number);
        const size_t n = columns_of(whole, f, log_p);
        for (int32_t k = 1; k <= K; k++) {
            config.k = k;
            sb_result *const part = draw(model, &config, number);
            const size_t n_part = columns_of(part, own_f, own_log_p);
            const size_t prefix = (size_t)k < n ? (size_t)k : n;
            assert_int_equal(n_part, prefix);
            const double kappa = (size_t)k < n ? whole->sequences[k].g : whole->kappa;
            for (int i = SB_ESTIMATOR_MC; i <= SB_ESTIMATOR_SBS_NORMALISED; i++) {
                if ((i == SB_ESTIMATOR_MC) != (method == SB_METHOD_SAMPLE))
                    continue;
                const sb_estimate a = compute((sb_estimator)i, f, log_p, prefix, kappa);
                const sb_estimate b =
                    compute((sb_estimator)i, own_f, own_log_p, n_part, part->kappa);
                assert_same(&a, &b);
            }
            sb_result_close(part);
        }
        sb_result_close(whole);
    }
}

static void test_prefixes(void **state)
{
    (void)state;
    uint64_t generator = 5;
    sb_model *models[4];
    models[0] = random_tree(&generator, 4);
    models[1] = random_tree(&generator, 2); /* fewer leaves than the draw */
    models[2] = open_json(small_chain);
    assert_int_equal(sb_model_open(&models[3], TEST_DATA "/small.arpa", NULL), SB_OK);
    for (int i = 0; i < 4; i++) {
        check_prefixes(models[i], SB_METHOD_SBS, i == 2 ? 6 : 9);
        check_prefixes(models[i], SB_METHOD_SAMPLE, i == 2 ? 6 : 9);
        sb_model_close(models[i]);
    }
}

/* --- refusals --- */

static void assert_refused(sb_estimator estimator, double f, double log_p, size_t n, double kappa,
                           const char *message)
{
    const double values[] = {1, f}, logs[] = {log_p, log_p};
    sb_estimate estimate = {.value = 42};
    sb_error err;
    assert_int_equal(sb_estimate_compute(estimator, values, logs, n, kappa, &estimate, &err),
                     SB_ERR_ARGUMENT);
    if (strncmp(err.message, message, strlen(message)) != 0)
        fail_msg("%s", err.message);
    assert_true(estimate.value == 42);
}

static void test_refusals(void **state)
{
    (void)state;
    assert_null(sb_estimator_name((sb_estimator)5));
    assert_refused((sb_estimator)5, 1, -1, 2, 0, "estimator 5 does not exist");
    assert_refused(SB_ESTIMATOR_MC, 1, -1, 0, 0, "there is nothing to estimate from");
    for (int i = SB_ESTIMATOR_MC; i <= SB_ESTIMATOR_BEAM_NORMALISED; i++) {
        const sb_estimator estimator = (sb_estimator)i;
        assert_refused(estimator, NAN, -1, 2, 0, "value 2 is nan");
        assert_refused(estimator, INFINITY, -1, 2, 0, "value 2 is inf");
        if (i == SB_ESTIMATOR_MC)
            continue;
        assert_refused(estimator, 1, NAN, 2, 0, "log-probability 1 is nan");
        assert_refused(estimator, 1, 0.001, 2, 0, "log-probability 1 is 0.001; expected at most 0");
        assert_refused(estimator, 1, -INFINITY, 2, 0, "no sequence has a probability above 0");
    }
    for (int i = SB_ESTIMATOR_SBS; i <= SB_ESTIMATOR_SBS_NORMALISED; i++) {
        assert_refused((sb_estimator)i, 1, -1, 2, NAN, "kappa is nan: sbs");
        assert_refused((sb_estimator)i, 1, -1, 2, INFINITY, "kappa is inf: sbs");
        assert_refused((sb_estimator)i, 1, -1, 2, 1000, "the estimate is larger than a double");
    }
    assert_refused(SB_ESTIMATOR_SBS, 1.7e308, -1, 2, 0, "the estimate is larger than a double");
    const double f[] = {1, 2}, log_p[] = {-1, -2};
    sb_estimate estimate;
    assert_int_equal(sb_estimate_compute(SB_ESTIMATOR_SBS, NULL, log_p, 2, -3, &estimate, NULL),
                     SB_ERR_ARGUMENT);
    assert_int_equal(sb_estimate_compute(SB_ESTIMATOR_BEAM, f, NULL, 2, -3, &estimate, NULL),
                     SB_ERR_ARGUMENT);
    assert_int_equal(sb_estimate_compute(SB_ESTIMATOR_MC, f, NULL, 2, -3, NULL, NULL),
                     SB_ERR_ARGUMENT);
    for (int i = 1; i <= 2; i++) {
        alloc_fail_at(i);
        assert_int_equal(sb_estimate_compute(SB_ESTIMATOR_SBS, f, log_p, 2, -3, &estimate, NULL),
                         SB_ERR_MEMORY);
        alloc_fail_at(0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),    cmocka_unit_test(test_one),
        cmocka_unit_test(test_exhausted),  cmocka_unit_test(test_equal_values),
        cmocka_unit_test(test_reference),  cmocka_unit_test(test_tiny_probabilities),
        cmocka_unit_test(test_prefixes),   cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_far_values), cmocka_unit_test(test_far_threshold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
