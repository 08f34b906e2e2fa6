/* Log-space forms (the paper's appendices B.3 and C), in double. -inf is a legal log-probability.
 *
 * Two corrections to the paper's print: for a >= 18, log(1 + e^a) is a + e^-a; and phi - kappa <
 * -10 means z < 4.6e-5, where the next term of the series, z^6 / 181440, is below 1e-31. */
#ifndef MATH_LOGSPACE_H
#define MATH_LOGSPACE_H

#include <stdbool.h>
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
 * next item is `stride` bytes further. is_all: nothing else could have been drawn. */
double logspace_plackett_luce(const double *log_p, size_t n, size_t stride, bool is_all);

#endif
