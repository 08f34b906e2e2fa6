/* Tests the law of the estimators on models whose expectations are known by enumeration: their
 * means, their standard errors, and how often the intervals cover, over many draws. Wrong
 * thresholds and wrong weights must be caught. */
#include "sbeam/estimate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "draw_check.h"
#include "law_models.h"
#include "statistics.h"

enum { DRAWS = 100000 };

/* --- models --- */

/* 200 items under the root, of probability in proportion to 1, 1/2, 1/3, ... */
static void open_zipf(struct setup *setup, struct leaves *leaves)
{
    enum { N = 200 };
    char json[1 << 14] = "{\"format\":\"sbeam-tree\",\"tree\":{";
    double total = 0;
    for (int i = 1; i <= N; i++)
        total += 1. / i;
    for (int i = 1; i <= N; i++)
        sprintf(json + strlen(json), "%s\"t%03d\":[%.17g,null]", i > 1 ? "," : "", i,
                1. / i / total);
    strcat(json, "}}");
    *setup = (struct setup){.model = open_json(json), .leaves = leaves};
    sb_config_default(&setup->config);
    setup->config.seed = 20190515;
    enumerate_leaves(setup->model, 1, setup->config.max_len, leaves);
}

static void open_figure_1(struct setup *setup, struct leaves *leaves)
{
    open_law_model(FIGURE_1, setup, leaves);
}

static const struct {
    const char *name;
    void (*open)(struct setup *setup, struct leaves *leaves);
} cases[] = {
    {"Figure 1, 8 leaves", open_figure_1},
    {"chain, 85 leaves", open_wide_chain},
    {"Zipf, 200 leaves", open_zipf},
};
enum { N_CASES = sizeof cases / sizeof cases[0] };

static void close_model(const struct setup *setup)
{
    sb_model_close((sb_model *)(uintptr_t)setup->model);
}

/* --- functions of a leaf: its entropy, and one that has nothing to do with its probability --- */

typedef double (*leaf_fn)(const struct leaves *leaves, int leaf);

static double entropy_of(const struct leaves *leaves, int leaf)
{
    return -leaves->list[leaf].phi;
}

static double colour_of(const struct leaves *leaves, int leaf)
{
    (void)leaves;
    return 0.317 + (leaf * 7919 + 3) % 13;
}

static double exact_mean(const struct leaves *leaves, leaf_fn f)
{
    double mean = 0;
    for (int i = 0; i < leaves->n; i++)
        mean += exp(leaves->list[i].phi) * f(leaves, i);
    return mean;
}

/* --- what is done with a draw --- */

/* Changes a draw before it is used. */
typedef void (*change_fn)(struct picks *picks);

/* The root's G fixed at 0: the values are conditioned on their maximum. */
static void fix_root(struct picks *picks)
{
    picks->kappa = -log(1 - exp(-picks->g[0]) + exp(-picks->kappa));
}

/* Values moved so that the largest is 0. */
static void shift_root(struct picks *picks)
{
    picks->kappa -= picks->g[0];
}

/* The k-th as the threshold, and kept in the sample. */
static void take_last_for_kappa(struct picks *picks)
{
    picks->kappa = picks->g[picks->n - 1];
}

/* Probabilities for weights, as if each sequence were certain to be drawn. */
static void forget_q(struct picks *picks)
{
    picks->kappa = -INFINITY;
}

/* The paper's other variant, which is right: the k-th is the threshold and leaves the sample. */
static void sacrifice(struct picks *picks)
{
    picks->kappa = picks->g[--picks->n];
}

static const struct variant {
    const char *name;
    leaf_fn f;
    change_fn change;
    int caught_to; /* a mistake that is caught up to this k: that of the root fades as 1 / k^2 */
} variants[] = {
    {"entropy", entropy_of, NULL, 0},
    {"colour", colour_of, NULL, 0},
    {"sacrifice", colour_of, sacrifice, 0},
    {"root fixed at 0", entropy_of, fix_root, 2},
    {"values shifted by their maximum", entropy_of, shift_root, 5},
    {"the k-th as kappa, and kept", entropy_of, take_last_for_kappa, 20},
    {"no q in the weights", entropy_of, forget_q, 20},
};
enum { N_VARIANTS = sizeof variants / sizeof variants[0] };

/* --- estimates of many draws --- */

struct column {
    double *value, *square; /* estimates and their squared standard errors */
    size_t n_covering;      /* 95 % intervals that hold the truth */
};

struct run {
    const struct leaves *leaves;
    size_t n;
    double truth[N_VARIANTS];
    struct column columns[N_VARIANTS][2]; /* unnormalised, normalised */
};

static void estimate_variant(struct run *run, int v, const struct picks *drawn)
{
    struct picks picks = *drawn;
    double f[MOST_PICKS], log_p[MOST_PICKS];
    if (variants[v].change != NULL)
        variants[v].change(&picks);
    for (int i = 0; i < picks.n; i++) {
        f[i] = variants[v].f(run->leaves, picks.leaf[i]);
        log_p[i] = run->leaves->list[picks.leaf[i]].phi;
    }
    for (int i = 0; i < 2; i++) {
        const sb_estimator estimator = i == 0 ? SB_ESTIMATOR_SBS : SB_ESTIMATOR_SBS_NORMALISED;
        struct column *const column = &run->columns[v][i];
        sb_estimate e;
        sb_error err;
        if (sb_estimate_compute(estimator, f, log_p, (size_t)picks.n, picks.kappa, &e, &err) !=
            SB_OK)
            fail_msg("%s", err.message);
        column->value[run->n] = e.value;
        column->square[run->n] = e.se * e.se;
        column->n_covering += fabs(e.value - run->truth[v]) <= 1.959963984540054 * e.se;
        if (picks.n == 1 && estimator == SB_ESTIMATOR_SBS_NORMALISED)
            assert_true(e.value == f[0]);
    }
}

/* The longest draws are for the bias, and a sacrifice needs three. */
static bool is_tried(const struct variant *variant, int k)
{
    return variant->change == NULL || (k <= 20 && (k > 2 || variant->caught_to > 0));
}

static void estimate_draw(void *user, const struct picks *drawn)
{
    struct run *const run = user;
    for (int v = 0; v < N_VARIANTS; v++)
        if (is_tried(&variants[v], drawn->n))
            estimate_variant(run, v, drawn);
    run->n++;
}

static void open_run(struct run *run, struct setup *setup, int k)
{
    const size_t n = share_of(DRAWS);
    *run = (struct run){.leaves = setup->leaves};
    for (int v = 0; v < N_VARIANTS; v++) {
        run->truth[v] = exact_mean(setup->leaves, variants[v].f);
        for (int i = 0; i < 2; i++) {
            run->columns[v][i].value = calloc(n, sizeof(double));
            run->columns[v][i].square = calloc(n, sizeof(double));
        }
    }
    setup->config.k = k;
    run_sampler(setup, NULL, n, estimate_draw, run);
}

static void close_run(struct run *run)
{
    for (int v = 0; v < N_VARIANTS; v++) {
        for (int i = 0; i < 2; i++) {
            free(run->columns[v][i].value);
            free(run->columns[v][i].square);
        }
    }
}

static double mean_of(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

/* The mean squared standard error over the variance of the estimates. */
static double variance_ratio(const struct column *column, size_t n)
{
    const double mean = mean_of(column->value, n);
    double variance = 0;
    for (size_t i = 0; i < n; i++)
        variance += (column->value[i] - mean) * (column->value[i] - mean);
    return mean_of(column->square, n) / (variance / (double)(n - 1));
}

/* --- the law --- */

/* In standard errors: a mean that is further off is wrong. */
static const double most = 5;

/* How far the ratio above may be from 1: 5 %, with fewer draws as many standard errors. */
static double most_off(size_t n)
{
    return 0.05 * sqrt(DRAWS / (double)n);
}

static void check_right(const struct run *run, const struct variant *variant, int k)
{
    const long v = variant - variants;
    const struct column *const plain = &run->columns[v][0], *const normalised = &run->columns[v][1];
    const struct mean_test test = test_mean(plain->value, run->n, run->truth[v]);
    const struct mean_test other = test_mean(normalised->value, run->n, run->truth[v]);
    const double n = (double)run->n, ratio = variance_ratio(plain, run->n);
    print_message("  k = %2d, %s %.4f: sbs %+.2f standard errors (catches a bias of %.2g), se^2 / "
                  "variance %.3f, covers %.3f; normalised: bias %+.5f +- %.5f, se^2 / variance "
                  "%.3f, covers %.3f\n",
                  k, variant->name, run->truth[v], test.z, most * test.standard_error, ratio,
                  (double)plain->n_covering / n, other.z * other.standard_error,
                  other.standard_error, variance_ratio(normalised, run->n),
                  (double)normalised->n_covering / n);
    assert_true(fabs(test.z) < most);
    if (k >= 5 && variant->change == NULL) /* at k = 2, se^2 has infinite variance */
        assert_true(fabs(ratio - 1) < most_off(run->n));
}

static void check_caught(const struct run *run, const struct variant *variant, int k)
{
    const long v = variant - variants;
    const double z = test_mean(run->columns[v][0].value, run->n, run->truth[v]).z;
    print_message("  k = %2d, %s: %+.1f standard errors\n", k, variant->name, z);
    const bool has_power = run->n == DRAWS || k == 2; /* fewer draws see the largest errors only */
    if (k <= variant->caught_to && has_power)
        assert_true(fabs(z) > most);
}

/* Of the normalised estimate of the entropy. */
static double entropy_bias(const struct run *run)
{
    return fabs(mean_of(run->columns[0][1].value, run->n) - run->truth[0]);
}

/* The normalised estimate has no bias at k = 1, where it is f of a sample, and less and less as k
 * grows; in between it is largest at about k = 5. */
static void check_model(struct setup *setup)
{
    const int sizes[] = {2, 5, 20, MOST_PICKS};
    double bias = INFINITY;
    for (int i = 0; i < 4 && sizes[i] < setup->leaves->n; i++) {
        struct run run;
        open_run(&run, setup, sizes[i]);
        for (int v = 0; v < N_VARIANTS; v++) {
            if (!is_tried(&variants[v], sizes[i]))
                continue;
            if (variants[v].caught_to > 0)
                check_caught(&run, &variants[v], sizes[i]);
            else
                check_right(&run, &variants[v], sizes[i]);
        }
        if (sizes[i] >= 5 && run.n == DRAWS) {
            assert_true(entropy_bias(&run) < bias);
            bias = entropy_bias(&run);
        }
        close_run(&run);
    }
}

static void estimates_have_their_laws(void **state)
{
    (void)state;
    for (int m = 0; m < N_CASES; m++) {
        struct setup setup;
        struct leaves leaves;
        cases[m].open(&setup, &leaves);
        print_message("%s\n", cases[m].name);
        check_model(&setup);
        close_model(&setup);
    }
}

/* At k = 1 the normalised estimate is f of the sample (estimate_variant looks), so unbiased. */
static void one_is_a_plain_sample(void **state)
{
    (void)state;
    for (int m = 0; m < N_CASES; m++) {
        struct setup setup;
        struct leaves leaves;
        struct run run;
        cases[m].open(&setup, &leaves);
        open_run(&run, &setup, 1);
        for (int v = 0; v < 2; v++)
            assert_true(fabs(test_mean(run.columns[v][1].value, run.n, run.truth[v]).z) < most);
        close_run(&run);
        close_model(&setup);
    }
}

static void all_leaves_are_exact(void **state)
{
    (void)state;
    for (int m = 0; m < N_CASES; m++) {
        struct setup setup;
        struct leaves leaves;
        cases[m].open(&setup, &leaves);
        for (int32_t k = leaves.n; k <= leaves.n + 3; k += 3) {
            double f[MOST_LEAVES], log_p[MOST_LEAVES];
            setup.config.k = k;
            sb_result *const result = draw(setup.model, &setup.config, 7);
            assert_int_equal(result->n_sequences, leaves.n);
            for (int i = 0; i < leaves.n; i++) {
                f[i] = colour_of(&leaves, find_leaf(setup.model, &leaves, &result->sequences[i]));
                log_p[i] = result->sequences[i].log_p;
            }
            for (int i = SB_ESTIMATOR_SBS; i <= SB_ESTIMATOR_SBS_NORMALISED; i++) {
                sb_estimate e;
                assert_int_equal(sb_estimate_compute((sb_estimator)i, f, log_p, (size_t)leaves.n,
                                                     result->kappa, &e, NULL),
                                 SB_OK);
                assert_true(fabs(e.value - exact_mean(&leaves, colour_of)) < 1e-9);
                assert_true(fabs(e.weight_sum - 1) < 1e-9);
                assert_true(e.se == 0);
            }
            sb_result_close(result);
        }
        close_model(&setup);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(estimates_have_their_laws),
        cmocka_unit_test(one_is_a_plain_sample),
        cmocka_unit_test(all_leaves_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
