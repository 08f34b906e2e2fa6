/* Tests the law of the values: G of every leaf, the threshold kappa, and the importance weights. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "law_models.h"
#include "statistics.h"

enum { DRAWS = 100000 };

/* --- columns of numbers from many draws --- */

struct table {
    struct setup *setup;
    size_t n, n_columns;
    double *column[MOST_LEAVES + 1];
    double (*f)(const struct leaf *leaf);
};

static void open_table(struct table *table, struct setup *setup, size_t n_columns, size_t n)
{
    *table = (struct table){.setup = setup, .n_columns = n_columns};
    for (size_t i = 0; i < n_columns; i++)
        table->column[i] = calloc(n, sizeof(double));
}

static void close_table(struct table *table)
{
    for (size_t i = 0; i < table->n_columns; i++)
        free(table->column[i]);
}

/* Column i: G of leaf i. */
static void keep_leaf_g(void *user, const struct picks *picks)
{
    struct table *const table = user;
    for (int i = 0; i < picks->n; i++)
        table->column[picks->leaf[i]][table->n] = picks->g[i];
    table->n++;
}

/* Columns: the first g, kappa, the sum of the weights, the estimate of f. */
static void keep_summary(void *user, const struct picks *picks)
{
    struct table *const table = user;
    table->column[0][table->n] = picks->g[0];
    table->column[1][table->n] = picks->kappa;
    for (int i = 0; i < picks->n; i++) {
        const struct leaf *const leaf = &table->setup->leaves->list[picks->leaf[i]];
        const double weight = exp(sb_log_weight(leaf->phi, picks->kappa));
        table->column[2][table->n] += weight;
        table->column[3][table->n] += weight * table->f(leaf);
    }
    table->n++;
}

static double length_of(const struct leaf *leaf)
{
    return leaf->n_tokens;
}

static double exact_mean(const struct leaves *leaves, double (*f)(const struct leaf *leaf))
{
    double mean = 0;
    for (int i = 0; i < leaves->n; i++)
        mean += exp(leaves->list[i].phi) * f(&leaves->list[i]);
    return mean;
}

/* --- G --- */

static void leaves_have_gumbel_values(void **state)
{
    (void)state;
    for (int m = 0; m < N_LAW_MODELS; m++) {
        struct setup setup;
        struct leaves leaves;
        struct table table;
        const size_t n = share_of(DRAWS);
        open_law_model(m, &setup, &leaves);
        setup.config.method = SB_METHOD_EXPLICIT;
        setup.config.k = leaves.n;
        open_table(&table, &setup, (size_t)leaves.n, n);
        run_sampler(&setup, NULL, n, keep_leaf_g, &table);
        for (int a = 0; a < leaves.n; a++)
            for (size_t i = 0; i < n; i++)
                table.column[a][i] = gumbel_cdf(table.column[a][i], &leaves.list[a].phi);
        /* Independence first, since the other test sorts. */
        for (int a = 0; a < leaves.n; a++)
            for (int b = 0; b < a; b++)
                assert_true(fit_independence(table.column[a], table.column[b], n).p_value >
                            FALSE_ALARM);
        for (int a = 0; a < leaves.n; a++)
            assert_true(ks_p_value(table.column[a], n, uniform_cdf, NULL) > FALSE_ALARM);
        close_table(&table);
        sb_model_close((sb_model *)(uintptr_t)setup.model);
    }
    print_message("catches a shift of a distribution function of %.2g\n",
                  2.69 / sqrt((double)share_of(DRAWS)));
}

/* --- kappa --- */

struct threshold {
    const struct leaves *leaves;
    int k;
};

/* P(kappa <= x): at most k leaves exceed x, each on its own with 1 - exp(-exp(phi - x)). */
static double kappa_cdf(double x, const void *user)
{
    const struct threshold *const threshold = user;
    double exactly[MOST_PICKS + 2] = {1}; /* exactly[j]: j leaves so far exceed x */
    for (int i = 0; i < threshold->leaves->n; i++) {
        const double above = -expm1(-exp(threshold->leaves->list[i].phi - x));
        for (int j = threshold->k + 1; j > 0; j--)
            exactly[j] = exactly[j] * (1 - above) + exactly[j - 1] * above;
        exactly[0] *= 1 - above;
    }
    double sum = 0;
    for (int j = 0; j <= threshold->k; j++)
        sum += exactly[j];
    return sum;
}

static const int sizes[] = {1, 2, 5, 20};

/* How far a mean may be from the truth, in standard errors. At k = 2 the sum of the weights has a
 * variance but no third moment, so that 5 is passed a little more often than the normal law says.
 */
static const double most = 5;

/* means: of the sum of the weights, and of the estimate of the length. */
static void check_values(struct setup *setup, sampler sample, int k, double p_values[2],
                         struct mean_test means[2])
{
    struct table table;
    const size_t n = share_of(DRAWS);
    const struct threshold threshold = {setup->leaves, k};
    const double zero = 0;
    setup->config.k = k;
    open_table(&table, setup, 4, n);
    table.f = length_of;
    run_sampler(setup, sample, n, keep_summary, &table);
    if (k == 1) {
        /* The weight has infinite variance; cut off by kappa it has this mean. */
        double expected = 0;
        for (int i = 0; i < setup->leaves->n; i++) {
            const double p = exp(setup->leaves->list[i].phi);
            expected += p * exp(-(1 - p) * exp(-2));
        }
        for (size_t i = 0; i < n; i++)
            table.column[2][i] *= table.column[1][i] <= 2;
        means[0] = test_mean(table.column[2], n, expected);
        means[1] = (struct mean_test){0, NAN};
    } else {
        means[0] = test_mean(table.column[2], n, 1);
        means[1] = test_mean(table.column[3], n, exact_mean(setup->leaves, length_of));
    }
    p_values[0] = ks_p_value(table.column[0], n, gumbel_cdf, &zero);
    p_values[1] = ks_p_value(table.column[1], n, kappa_cdf, &threshold);
    close_table(&table);
}

static void values_have_their_laws(void **state)
{
    (void)state;
    struct setup setup;
    struct leaves leaves;
    open_wide_chain(&setup, &leaves);
    for (int i = 0; i < 4; i++) {
        double p[2];
        struct mean_test means[2];
        check_values(&setup, NULL, sizes[i], p, means);
        print_message("k = %2d: first g p = %.3g, kappa p = %.3g, weights %+.2f, estimate %+.2f "
                      "standard errors; catches a bias of %.2g in the sum of weights, %.2g in the "
                      "length\n",
                      sizes[i], p[0], p[1], means[0].z, means[1].z, most * means[0].standard_error,
                      most * means[1].standard_error);
        assert_true(p[0] > FALSE_ALARM && p[1] > FALSE_ALARM);
        assert_true(fabs(means[0].z) < most && fabs(means[1].z) < most);
    }
    sb_model_close((sb_model *)(uintptr_t)setup.model);
}

/* The root's G fixed at 0, as six public implementations have it: the leaves are conditioned on
 * their maximum (the paper's equation for the shifted Gumbels). The order stays right, the values
 * do not. */
static void sample_with_root_zero(struct setup *setup, uint64_t draw, struct picks *picks)
{
    sample_leaves(setup, draw, picks);
    const double z = picks->g[0];
    for (int i = 0; i < picks->n; i++)
        picks->g[i] = -log(1 - exp(-z) + exp(-picks->g[i]));
    picks->kappa = -log(1 - exp(-z) + exp(-picks->kappa));
}

static void a_fixed_root_is_caught(void **state)
{
    (void)state;
    struct setup setup;
    struct leaves leaves;
    uint64_t generator = 4;
    double p[2];
    struct mean_test means[2];
    open_wide_chain(&setup, &leaves);
    setup.state = &generator;
    for (int i = 0; i < 4; i++) {
        check_values(&setup, sample_leaves, sizes[i], p, means);
        assert_true(p[0] > FALSE_ALARM && p[1] > FALSE_ALARM);
        assert_true(fabs(means[0].z) < most && fabs(means[1].z) < most);
        check_values(&setup, sample_with_root_zero, sizes[i], p, means);
        print_message("root fixed at 0, k = %2d: first g p = %.3g, kappa p = %.3g, weights %+.1f "
                      "standard errors\n",
                      sizes[i], p[0], p[1], means[0].z);
        assert_true(p[0] < FALSE_ALARM);
        /* What it does to kappa and the weights fades with k: the error is of order 1 / k^2, and at
         * k = 5 all draws are needed to see it. */
        if (sizes[i] <= (share_of(DRAWS) < DRAWS ? 2 : 5))
            assert_true(p[1] < FALSE_ALARM && fabs(means[0].z) > most);
    }
    sb_model_close((sb_model *)(uintptr_t)setup.model);
}

/* With every leaf in the sample each weight is p, and any estimate is exact. */
static void all_leaves_are_exact(void **state)
{
    (void)state;
    const double temperatures[] = {1, 0.317, 0.05};
    for (int t = 0; t < 3; t++) {
        struct setup setup;
        struct leaves leaves;
        open_wide_chain(&setup, &leaves);
        enumerate_leaves(setup.model, temperatures[t], setup.config.max_len, &leaves);
        setup.config.temperature = temperatures[t];
        setup.config.k = leaves.n;
        sb_result *result;
        assert_int_equal(sb_result_open(&result, NULL), SB_OK);
        assert_int_equal(sb_draw(setup.model, NULL, &setup.config, result, NULL), SB_OK);
        assert_true(result->exhausted && result->kappa == -INFINITY);
        assert_int_equal(result->n_sequences, leaves.n);
        double sum = 0, mean = 0;
        for (int i = 0; i < result->n_sequences; i++) {
            const sb_sequence *const sequence = &result->sequences[i];
            const int leaf = find_leaf(setup.model, &leaves, sequence);
            assert_true(sequence->log_weight == sequence->log_p);
            assert_true(fabs(sequence->log_p - leaves.list[leaf].phi) < 1e-9);
            sum += exp(sequence->log_weight);
            mean += exp(sequence->log_weight) * leaves.list[leaf].n_tokens;
        }
        assert_true(fabs(sum - 1) < 1e-9);
        assert_true(fabs(mean - exact_mean(&leaves, length_of)) < 1e-9);
        sb_result_close(result);
        sb_model_close((sb_model *)(uintptr_t)setup.model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_have_gumbel_values),
        cmocka_unit_test(values_have_their_laws),
        cmocka_unit_test(a_fixed_root_is_caught),
        cmocka_unit_test(all_leaves_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
