/* The estimators (sections 4.2 and 4.3 of the paper, appendices C and D).
 *
 * Weights are computed relative to the largest, r_i = w_i / max w, so that their ratios are right
 * even if the weights themselves are below the smallest double. A beam is the case kappa = -inf:
 * each q_i is 1 and each weight is p_i. Values are divided by a power of two, which loses no digit,
 * so that their squares neither overflow nor underflow. */
#include "sbeam/estimate.h"

#include <math.h>
#include <stdbool.h>

#include "base/alloc.h"
#include "base/status.h"
#include "math/logspace.h"

/* The log_p of a sequence of probability 1 may be this far above 0, because each of its rows is
 * renormalised with rounding. */
static const double rounding = 1e-9;

const char *sb_estimator_name(sb_estimator estimator)
{
    static const char *const names[] = {"mc", "sbs", "sbs-normalised", "beam", "beam-normalised"};
    const size_t i = (size_t)estimator;
    return i < sizeof names / sizeof names[0] ? names[i] : NULL;
}

static sb_status check_arguments(sb_estimator estimator, const double *f, const double *log_p,
                                 size_t n, double kappa, sb_error *err)
{
    if (sb_estimator_name(estimator) == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "estimator %d does not exist", (int)estimator);
    if (n == 0)
        return status_fail(err, SB_ERR_ARGUMENT, "there is nothing to estimate from: n is 0");
    if (f == NULL || (log_p == NULL && estimator != SB_ESTIMATOR_MC))
        return status_fail(
            err, SB_ERR_ARGUMENT,
            "sb_estimate_compute: f is NULL, or log_p is NULL, which only mc allows");
    const bool is_sbs = estimator == SB_ESTIMATOR_SBS || estimator == SB_ESTIMATOR_SBS_NORMALISED;
    if (is_sbs && (isnan(kappa) || kappa == INFINITY))
        return status_fail(
            err, SB_ERR_ARGUMENT,
            "kappa is %g: %s needs the threshold of its draw, a finite number or -inf", kappa,
            sb_estimator_name(estimator));
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(f[i]))
            return status_fail(err, SB_ERR_ARGUMENT, "value %zu is %g; expected a finite number",
                               i + 1, f[i]);
        if (estimator != SB_ESTIMATOR_MC && !(log_p[i] <= rounding))
            return status_fail(err, SB_ERR_ARGUMENT,
                               "log-probability %zu is %g; expected at most 0", i + 1, log_p[i]);
    }
    return SB_OK;
}

/* Returns the exponent of the power of two just above the largest magnitude. */
static int find_exponent(const double *f, size_t n)
{
    double most = 0;
    int exponent;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs(f[i]));
    frexp(most, &exponent);
    return exponent;
}

static void compute_mc(const double *f, size_t n, sb_estimate *estimate)
{
    const double count = (double)n;
    double mean = 0, correction = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        mean += f[i] / count;
    for (size_t i = 0; i < n; i++) /* so that equal values have exactly that mean, and se 0 */
        correction += (f[i] - mean) / count;
    mean += correction;
    for (size_t i = 0; i < n; i++)
        squares += (f[i] - mean) * (f[i] - mean);
    estimate->value = mean;
    estimate->se = n > 1 ? sqrt(squares / (count - 1) / count) : NAN;
    estimate->ess = count;
    estimate->mc_equivalent = estimate->se > 0 ? count : NAN;
    estimate->weight_sum = 1;
}

/* The sums of a weighted estimate; r_i are the weights relative to e^top. */
struct sums {
    double top;
    double weight, square; /* sums of r_i and of r_i^2 */
    double f;              /* sum of r_i f_i */
    double mu;             /* the normalised estimate */
    double spread;         /* sum of r_i (f_i - mu)^2 */
    double error; /* sum of (1 - q_i) r_i^2 x_i^2; x_i is f_i - mu if normalised, else f_i */
};

static size_t find_likeliest(const double *log_p, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (log_p[i] > log_p[best])
            best = i;
    return best;
}

/* Fills in the relative weights r; `top` is the logarithm of the largest weight. */
static void weigh(const double *log_p, size_t n, double kappa, double top, double *r)
{
    for (size_t i = 0; i < n; i++)
        r[i] = log_p[i] > -INFINITY ? exp(logspace_weight(log_p[i], kappa) - top) : 0;
}

/* Computes the sums. mu is computed as its distance from the value of the likeliest sequence: if
 * that sequence has nearly all of the weight, mu itself would round to its value, and the spread
 * would be lost. */
static void add_up(const double *f, const double *log_p, size_t n, double kappa, bool normalised,
                   const double *r, double likeliest, struct sums *sums)
{
    double distance = 0;
    for (size_t i = 0; i < n; i++) {
        sums->weight += r[i];
        sums->square += r[i] * r[i];
        sums->f += r[i] * f[i];
        distance += r[i] * (f[i] - likeliest);
    }
    distance /= sums->weight;
    sums->mu = likeliest + distance;
    for (size_t i = 0; i < n; i++) {
        const double from_mu = f[i] - likeliest - distance;
        const double term = r[i] * (normalised ? from_mu : f[i]);
        sums->spread += r[i] * from_mu * from_mu;
        if (term != 0) /* exp(...) is 1 - q_i; q_i itself may round to 1 */
            sums->error += exp(-exp(log_p[i] - kappa)) * term * term;
    }
}

static void combine(const struct sums *sums, bool normalised, sb_estimate *estimate)
{
    const double scale = exp(sums->top);
    estimate->value = normalised ? sums->mu : scale * sums->f;
    estimate->weight_sum = scale * sums->weight;
    estimate->ess = sums->weight * sums->weight / sums->square;
    estimate->se = sqrt(sums->error) * (normalised ? 1 / sums->weight : scale);
    /* The variance of f divided by the variance of the estimate. */
    const double variance = sums->spread / sums->weight;
    const double ratio = variance / estimate->se / estimate->se;
    estimate->mc_equivalent = estimate->se > 0 && isfinite(ratio) ? ratio : NAN;
}

static sb_status compute_weighted(const double *f, const double *log_p, size_t n, double kappa,
                                  bool normalised, sb_estimate *estimate, sb_error *err)
{
    const size_t best = find_likeliest(log_p, n);
    if (log_p[best] == -INFINITY)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "no sequence has a probability above 0; expected at least one");
    double *const r = alloc_array(n, sizeof *r);
    if (r == NULL)
        return status_no_memory(err);
    struct sums sums = {.top = logspace_weight(log_p[best], kappa)}; /* the largest weight */
    weigh(log_p, n, kappa, sums.top, r);
    add_up(f, log_p, n, kappa, normalised, r, f[best], &sums);
    alloc_free(r);
    combine(&sums, normalised, estimate);
    if (n == 1 && kappa > -INFINITY) /* then the weight has infinite variance */
        estimate->se = estimate->mc_equivalent = NAN;
    return SB_OK;
}

/* Computes an estimate from scaled values, which are neither huge nor tiny. */
static sb_status compute(sb_estimator estimator, const double *f, const double *log_p, size_t n,
                         double kappa, sb_estimate *estimate, sb_error *err)
{
    const bool normalised =
        estimator == SB_ESTIMATOR_SBS_NORMALISED || estimator == SB_ESTIMATOR_BEAM_NORMALISED;
    if (estimator != SB_ESTIMATOR_MC)
        return compute_weighted(f, log_p, n, kappa, normalised, estimate, err);
    compute_mc(f, n, estimate);
    return SB_OK;
}

sb_status sb_estimate_compute(sb_estimator estimator, const double *f, const double *log_p,
                              size_t n, double kappa, sb_estimate *estimate, sb_error *err)
{
    if (estimate == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_estimate_compute: estimate is NULL");
    sb_status status = check_arguments(estimator, f, log_p, n, kappa, err);
    if (status != SB_OK)
        return status;
    const bool is_beam =
        estimator == SB_ESTIMATOR_BEAM || estimator == SB_ESTIMATOR_BEAM_NORMALISED;
    double *const scaled = alloc_array(n, sizeof *scaled);
    if (scaled == NULL)
        return status_no_memory(err);
    const int exponent = find_exponent(f, n);
    for (size_t i = 0; i < n; i++)
        scaled[i] = ldexp(f[i], -exponent);
    sb_estimate found;
    status = compute(estimator, scaled, log_p, n, is_beam ? -INFINITY : kappa, &found, err);
    alloc_free(scaled);
    if (status != SB_OK)
        return status;
    found.value = ldexp(found.value, exponent);
    found.se = ldexp(found.se, exponent);
    if (!isfinite(found.value) || !isfinite(found.weight_sum) || isinf(found.se))
        return status_fail(err, SB_ERR_ARGUMENT,
                           "the estimate is larger than a double can be: the values or kappa are "
                           "too large");
    if (is_beam)
        found.se = found.ess = found.mc_equivalent = NAN;
    *estimate = found;
    return SB_OK;
}
