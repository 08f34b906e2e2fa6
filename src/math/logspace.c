#include "math/logspace.h"

#include <math.h>

double logspace_log1mexp(double a)
{
    return a > -0.6931471805599453 ? log(-expm1(a)) : log1p(-exp(a));
}

double logspace_log1pexp(double a)
{
    return a < 18 ? log1p(exp(a)) : a + exp(-a);
}

double logspace_add(double a, double b)
{
    const double high = a > b ? a : b;
    const double low = a > b ? b : a;
    return low == -INFINITY ? high : high + logspace_log1pexp(low - high);
}

double logspace_gumbel(double phi, double u)
{
    return phi - log(-log(u));
}

double logspace_truncated_gumbel(double phi, double bound, double u)
{
    /* The inverse of F(g) = exp(e^(phi - bound) - e^(phi - g)). For bound = +inf it is a Gumbel. */
    const double value = phi - logspace_add(phi - bound, log(-log(u)));
    return value < bound ? value : bound; /* rounding must not carry it above the bound */
}

double logspace_weight(double phi, double kappa)
{
    if (kappa == -INFINITY)
        return phi; /* nothing is left out: q = 1 */
    const double d = phi - kappa;
    const double z = exp(d);
    if (d < -10) {
        const double zz = z * z;
        return kappa + z / 2 - zz / 24 + zz * zz / 2880;
    }
    return phi - logspace_log1mexp(-z);
}

static double strided(const double *x, size_t i, size_t stride)
{
    return *(const double *)(const void *)((const char *)x + i * stride);
}

double logspace_plackett_luce(const double *log_p, size_t n, size_t stride, double log_left)
{
    /* This is the sum of log p_i - log(mass not drawn before item i). Going backwards, that mass is
     * a growing sum of positive terms: the mass never drawn, and the items from i on. */
    double total = 0;
    for (size_t i = n; i-- > 0;) {
        log_left = logspace_add(log_left, strided(log_p, i, stride));
        total += strided(log_p, i, stride) - log_left;
    }
    return total;
}

double logspace_left(const double *log_p, size_t n, size_t stride)
{
    double drawn = -INFINITY;
    for (size_t i = 0; i < n; i++)
        drawn = logspace_add(drawn, strided(log_p, i, stride));
    return drawn < 0 ? logspace_log1mexp(drawn) : -INFINITY;
}

void logspace_total_add(struct logspace_total *total, double x)
{
    if (x == -INFINITY)
        return;
    if (x <= total->top) {
        total->scaled += exp(x - total->top);
    } else {
        total->scaled = total->scaled * exp(total->top - x) + 1;
        total->top = x;
    }
}

double logspace_total_log(const struct logspace_total *total)
{
    return total->top + log(total->scaled);
}
