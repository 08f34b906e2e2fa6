/* See statistics.h. */
#include "statistics.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

size_t share_of(size_t n)
{
    const char *const text = getenv("SBEAM_TEST_SHARE");
    if (text == NULL)
        return n;
    const double share = atof(text);
    const size_t part = share > 0 && share <= 1 ? (size_t)((double)n * share) : 0;
    if (part == 0) { /* a test of no draws would pass */
        fprintf(stderr, "SBEAM_TEST_SHARE is '%s'; expected a number in (0, 1]\n", text);
        abort();
    }
    return part;
}

/* Whether a Poisson variable of this mean hardly ever reaches `found`. A mean of 1e-15 is as good
 * as none: what must not happen may not happen once. */
static bool is_too_many(double mean, double found)
{
    return found > 0 && (mean <= 0 || gsl_cdf_poisson_Q((unsigned)found - 1, mean) < FALSE_ALARM);
}

struct fit fit_counts(const double *probability, const double *count, size_t n_cells)
{
    double total = 0, rest_p = 0, rest_n = 0, largest = 0;
    bool impossible = false;
    for (size_t i = 0; i < n_cells; i++)
        total += count[i];
    struct fit fit = {.degrees = -1};
    for (size_t i = 0; i < n_cells; i++) {
        const double expected = total * probability[i];
        largest = fmax(largest, probability[i]);
        impossible = impossible || (probability[i] == 0 && count[i] > 0);
        if (expected < 5) {
            rest_p += probability[i];
            rest_n += count[i];
            continue;
        }
        fit.statistic += (count[i] - expected) * (count[i] - expected) / expected;
        fit.degrees++;
    }
    /* What was pooled, and what should not be there at all. */
    if (rest_p * total >= 5) {
        fit.statistic += (rest_n - total * rest_p) * (rest_n - total * rest_p) / (total * rest_p);
        fit.degrees++;
    } else {
        impossible = impossible || is_too_many(total * rest_p, rest_n);
    }
    if (impossible)
        fit.statistic = INFINITY;
    if (fit.degrees < 1) {
        fit.p_value = fit.statistic == INFINITY ? 0 : 1; /* one outcome: nothing can differ */
        return fit;
    }
    fit.p_value = fit.statistic == INFINITY ? 0 : gsl_cdf_chisq_Q(fit.statistic, fit.degrees);
    /* Half of the time the statistic exceeds its mean, degrees + total * sum (difference^2 / p). */
    const double excess = gsl_cdf_chisq_Qinv(FALSE_ALARM, fit.degrees) - fit.degrees;
    fit.smallest_bias = sqrt(excess * (1 - largest) / (largest * total));
    return fit;
}

struct fit fit_two_counts(const double *a, const double *b, size_t n_cells)
{
    double total_a = 0, total_b = 0;
    for (size_t i = 0; i < n_cells; i++) {
        total_a += a[i];
        total_b += b[i];
    }
    struct fit fit = {.degrees = -1};
    double rest_a = 0, rest_b = 0;
    for (size_t i = 0; i <= n_cells; i++) {
        double x = i < n_cells ? a[i] : rest_a;
        double y = i < n_cells ? b[i] : rest_b;
        if (x + y < 20) {
            rest_a += x;
            rest_b += y;
            continue;
        }
        const double difference = x * sqrt(total_b / total_a) - y * sqrt(total_a / total_b);
        fit.statistic += difference * difference / (x + y);
        fit.degrees++;
    }
    fit.p_value = fit.degrees < 1 ? 1 : gsl_cdf_chisq_Q(fit.statistic, fit.degrees);
    return fit;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The limiting law of sqrt(n) * D. */
static double kolmogorov_q(double t)
{
    if (t < 0.3)
        return 1;
    double sum = 0;
    for (int i = 1; i <= 100; i++)
        sum += (i % 2 ? 2 : -2) * exp(-2.0 * i * i * t * t);
    return sum;
}

double ks_p_value(double *x, size_t n, double (*cdf)(double x, const void *user), const void *user)
{
    qsort(x, n, sizeof *x, compare);
    double d = 0;
    for (size_t i = 0; i < n; i++) {
        const double f = cdf(x[i], user);
        d = fmax(d, fmax(f - (double)i / (double)n, (double)(i + 1) / (double)n - f));
    }
    return kolmogorov_q(sqrt((double)n) * d);
}

double ks_two_p_value(double *x, size_t n, double *y, size_t m)
{
    qsort(x, n, sizeof *x, compare);
    qsort(y, m, sizeof *y, compare);
    double d = 0;
    for (size_t i = 0, j = 0; i < n && j < m;) {
        if (x[i] <= y[j])
            i++;
        else
            j++;
        d = fmax(d, fabs((double)i / (double)n - (double)j / (double)m));
    }
    return kolmogorov_q(sqrt((double)n * (double)m / (double)(n + m)) * d);
}

struct mean_test test_mean(const double *x, size_t n, double expected)
{
    double mean = 0, square = 0;
    for (size_t i = 0; i < n; i++)
        mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        square += (x[i] - mean) * (x[i] - mean) / (double)(n - 1);
    const double error = sqrt(square / (double)n);
    return (struct mean_test){(mean - expected) / error, error};
}

double gumbel_cdf(double x, const void *location)
{
    return exp(-exp(-(x - *(const double *)location)));
}

double uniform_cdf(double x, const void *unused)
{
    (void)unused;
    return x;
}

/* A distribution function rounds to 1 far out. */
static int quarter_of(double u)
{
    return u < 1 ? (int)(4 * u) : 3;
}

struct fit fit_independence(const double *u, const double *v, size_t n)
{
    double count[16] = {0}, probability[16];
    for (size_t i = 0; i < n; i++)
        count[4 * quarter_of(u[i]) + quarter_of(v[i])]++;
    for (int i = 0; i < 16; i++)
        probability[i] = 1 / 16.0;
    return fit_counts(probability, count, 16);
}
