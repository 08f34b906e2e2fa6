/* Statistical tests with a false-alarm rate of 1e-6 each. Seeds are fixed, so a test that passes
 * keeps passing; the rate applies to changes that move the noise. */
#ifndef STATISTICS_H
#define STATISTICS_H

#include <stddef.h>

#define FALSE_ALARM 1e-6

/* The fit of counts to known probabilities. Cells with fewer than 5 expected counts are pooled; a
 * single count in a cell of probability 0 makes the statistic infinite. */
struct fit {
    double statistic, p_value;
    int degrees;
    /* The relative error of the likeliest cell (which the other cells compensate) that the test
     * would catch half of the time. */
    double smallest_bias;
};

struct fit fit_counts(const double *probability, const double *count, size_t n_cells);
/* Tests whether two samples of counts have the same law. */
struct fit fit_two_counts(const double *a, const double *b, size_t n_cells);

/* Kolmogorov-Smirnov test; sorts x. The smallest shift of the distribution function that it would
 * catch is 2.69 / sqrt(n). */
double ks_p_value(double *x, size_t n, double (*cdf)(double x, const void *user), const void *user);
double ks_two_p_value(double *x, size_t n, double *y, size_t m);

/* Tests whether pairs of uniforms on [0, 1] are uniform and independent: chi-square of 4 x 4 cells.
 */
struct fit fit_independence(const double *u, const double *v, size_t n);

struct mean_test {
    double z;              /* (mean - expected) in standard errors */
    double standard_error; /* of the mean; a bias of 5 standard errors is caught half of the time */
};
struct mean_test test_mean(const double *x, size_t n, double expected);

double gumbel_cdf(double x, const void *location);
double uniform_cdf(double x, const void *unused);

/* Returns the number of draws for a test that wants n: n, or the part of it that SBEAM_TEST_SHARE
 * names, a number in (0, 1]. scripts/check sets 0.1 for sanitizers. Thresholds follow from the
 * number of draws, so a part loses power and not validity. Ends the program if the share is not
 * such a number or leaves no draw. */
size_t share_of(size_t n);

#endif
