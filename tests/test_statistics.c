/* Tests the statistical tests: what they must catch, and what they must let pass. */
#include "statistics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reference.h"

static void known_chi_square(void **state)
{
    (void)state;
    /* 9 more, 5 less and 4 less than 50, 30 and 20: 81/50 + 25/30 + 16/20 = 3.25333 on 2 degrees,
     * whose tail is exp(-3.25333 / 2). */
    const double p[] = {0.5, 0.3, 0.2}, count[] = {59, 25, 16};
    const struct fit fit = fit_counts(p, count, 3);
    assert_int_equal(fit.degrees, 2);
    assert_true(fabs(fit.statistic - 3.2533333333333333) < 1e-12);
    assert_true(fabs(fit.p_value - exp(-fit.statistic / 2)) < 1e-12);
}

/* One count where there may be none is enough, however many others there are, and wherever it is.
 */
static void the_impossible_is_caught(void **state)
{
    (void)state;
    for (int place = 0; place < 4; place++) {
        double p[4], count[4];
        for (int i = 0, j = 0; i < 4; i++) {
            static const double share[] = {0.617, 0.28, 0.103};
            p[i] = i == place ? 0 : share[j++];
            count[i] = 1e6 * p[i];
        }
        assert_true(fit_counts(p, count, 4).p_value > 0.999);
        count[place] = 1;
        assert_true(fit_counts(p, count, 4).statistic == INFINITY);
        assert_true(fit_counts(p, count, 4).p_value == 0);
    }
    /* As good as impossible; and possible: 3 where 2 are expected. */
    const double rare[] = {1 - 1e-20, 1e-20}, seen[] = {99999, 1};
    assert_true(fit_counts(rare, seen, 2).p_value == 0);
    const double few[] = {0.49, 0.50998, 0.00002}, fewer[] = {49000, 50997, 3};
    assert_true(fit_counts(few, fewer, 3).p_value > 0.1);
    /* A cell of probability 0 beside rare ones that are pooled. */
    const double pooled[] = {0.99, 0.009998, 0.000002, 0}, odd[] = {99000, 999, 0, 1};
    assert_true(fit_counts(pooled, odd, 4).statistic == INFINITY);
    const double certain[] = {1, 0}, wrong[] = {9, 1};
    assert_true(fit_counts(certain, wrong, 2).p_value == 0);
}

static void dependence_is_caught(void **state)
{
    (void)state;
    enum { N = 20000 };
    static double u[N], v[N];
    uint64_t generator = 8;
    for (int i = 0; i < N; i++) {
        u[i] = next_uniform(&generator);
        v[i] = next_uniform(&generator);
    }
    u[0] = 1; /* as distribution functions round to */
    assert_true(fit_independence(u, v, N).p_value > FALSE_ALARM);
    for (int i = 0; i < N; i += 10)
        v[i] = u[i]; /* a tenth of the pairs: a correlation of 0.1 */
    assert_true(fit_independence(u, v, N).p_value < FALSE_ALARM);
}

static void known_mean(void **state)
{
    (void)state;
    /* Mean 2.5, variance 5/3, standard error sqrt(5/12). */
    const double x[] = {1, 2, 3, 4};
    const struct mean_test test = test_mean(x, 4, 2.1);
    assert_true(fabs(test.standard_error - sqrt(5 / 12.0)) < 1e-15);
    assert_true(fabs(test.z - 0.4 / sqrt(5 / 12.0)) < 1e-14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_chi_square),
        cmocka_unit_test(the_impossible_is_caught),
        cmocka_unit_test(dependence_is_caught),
        cmocka_unit_test(known_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
