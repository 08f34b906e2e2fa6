/* Functions of log-probabilities (the paper's appendices B.3 and C), in double. -inf is a legal
 * log-probability.
 *
 * Two formulas correct the printed paper. For a >= 18, log(1 + e^a) is a + e^-a. And the series of
 * the weight is used if phi - kappa < -10, that is, if z = exp(phi - kappa) < 4.6e-5; then its next
 * term, z^6 / 181440, is below 1e-31. */
#ifndef MATH_LOGSPACE_H
#define MATH_LOGSPACE_H

#include <float.h>
#include <math.h>
#include <stddef.h>

/* The largest magnitude of a log-probability whose noise decides an order. Doubles near 1e9 are
 * 1.2e-7 apart; the rounding of a few steps changes a probability by less than 1e-6 (doc/noise.md).
 */
#define LOGSPACE_MOST 1e9

/* Returns x, or the lowest double if x is below it, so that the logarithm of a probability above
 * zero is never -inf. NaN stays NaN. */
static inline double logspace_saturate(double x)
{
    return x < -DBL_MAX ? -DBL_MAX : x;
}

/* Returns the log of e^a * e^b: -inf only if a or b is. */
static inline double logspace_product(double a, double b)
{
    return a == -INFINITY || b == -INFINITY ? -INFINITY : logspace_saturate(a + b);
}

/* Returns log(1 - e^a), a <= 0. */
double logspace_log1mexp(double a);
/* Returns log(1 + e^a). */
double logspace_log1pexp(double a);
/* Returns log(e^a + e^b). */
double logspace_add(double a, double b);

/* Returns a Gumbel variable of location phi: phi - log(-log u), u in (0, 1). */
double logspace_gumbel(double phi, double u);
/* Returns the same, conditioned on being at most `bound` (appendix B.1). */
double logspace_truncated_gumbel(double phi, double bound, double u);
/* Returns the log of p / q with log p = phi and q = 1 - exp(-exp(phi - kappa)) (appendix C). */
double logspace_weight(double phi, double kappa);
/* Returns the log-probability of drawing n items in this order without replacement (Theorem 1). The
 * log_p of the next item is `stride` bytes further. log_left is the log of the mass not drawn. */
double logspace_plackett_luce(const double *log_p, size_t n, size_t stride, double log_left);
/* Returns log(1 - sum e^log_p_i), or -inf if the sum is 1 or more: log_left for callers without a
 * better estimate of it. */
double logspace_left(const double *log_p, size_t n, size_t stride);

/* A running sum of terms e^x; its value is scaled * e^top. It starts as LOGSPACE_NOTHING. */
struct logspace_total {
    double top, scaled;
};
#define LOGSPACE_NOTHING ((struct logspace_total){-INFINITY, 0})
/* Adds e^x. */
void logspace_total_add(struct logspace_total *total, double x);
/* Returns the log of the sum. */
double logspace_total_log(const struct logspace_total *total);

#endif
