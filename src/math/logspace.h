/* Log-space forms (the paper's appendices B.3 and C), in double. -inf is a legal log-probability.
 *
 * Two corrections to the paper's print: for a >= 18, log(1 + e^a) is a + e^-a; and phi - kappa <
 * -10 means z < 4.6e-5, where the next term of the series, z^6 / 181440, is below 1e-31. */
#ifndef MATH_LOGSPACE_H
#define MATH_LOGSPACE_H

#include <math.h>
#include <stddef.h>

/* log(1 - e^a), a <= 0. */
double logspace_log1mexp(double a);
/* log(1 + e^a). */
double logspace_log1pexp(double a);
/* log(e^a + e^b). */
double logspace_add(double a, double b);

/* A Gumbel variable of location phi: phi - log(-log u), u in (0, 1). */
double logspace_gumbel(double phi, double u);
/* The same, conditioned on being below `bound` (appendix B.1). */
double logspace_truncated_gumbel(double phi, double bound, double u);
/* log p / q with log p = phi and q = 1 - exp(-exp(phi - kappa)) (appendix C). */
double logspace_weight(double phi, double kappa);
/* log-probability of n items drawn in this order without replacement (Theorem 1); the log_p of the
 * next item is `stride` bytes further, log_left is the log of the mass that was not drawn. */
double logspace_plackett_luce(const double *log_p, size_t n, size_t stride, double log_left);
/* log(1 - sum e^log_p_i), for who does not know it better; -inf where the sum is 1 or more. */
double logspace_left(const double *log_p, size_t n, size_t stride);

/* A running sum of e^x: scaled * e^top. Starts as LOGSPACE_NOTHING. */
struct logspace_total {
    double top, scaled;
};
#define LOGSPACE_NOTHING ((struct logspace_total){-INFINITY, 0})
void logspace_total_add(struct logspace_total *total, double x);
double logspace_total_log(const struct logspace_total *total);

#endif
