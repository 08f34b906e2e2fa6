/* Estimates of an expectation E[f] from one draw (sections 4.2 and 4.3 of the paper, appendix C).
 *
 * They take plain arrays: the values f_i of the n sequences of a draw, their log-probabilities and
 * the threshold kappa. With w_i = p_i / q_i, q_i = 1 - exp(-exp(log p_i - kappa)), W = sum w_i and
 * mu the normalised estimate:
 *
 *     estimator         draws by  value             squared standard error
 *     mc                sample    mean of f_i       s^2 / n
 *     sbs               sbs       sum w_i f_i       sum (1 - q_i) w_i^2 f_i^2
 *     sbs-normalised    sbs       sum w_i f_i / W   sum (1 - q_i) w_i^2 (f_i - mu)^2 / W^2
 *     beam              beam      sum p_i f_i       none: a lower bound for f >= 0
 *     beam-normalised   beam      the same / sum p  none
 *
 * doc/estimating.md says how far to trust each. */
#ifndef SBEAM_ESTIMATE_H
#define SBEAM_ESTIMATE_H

#include <stddef.h>

#include "sbeam/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sb_estimator {
    SB_ESTIMATOR_MC = 0,
    SB_ESTIMATOR_SBS = 1,
    SB_ESTIMATOR_SBS_NORMALISED = 2,
    SB_ESTIMATOR_BEAM = 3,
    SB_ESTIMATOR_BEAM_NORMALISED = 4
} sb_estimator;

/* "mc", "sbs", "sbs-normalised", "beam", "beam-normalised"; NULL past the last. */
SB_API const char *sb_estimator_name(sb_estimator estimator);

/* What does not exist is NaN. */
typedef struct sb_estimate {
    double value;
    double se;            /* none at n = 1 unless exhausted, and none for beams */
    double ess;           /* W^2 / sum w_i^2: how even the weights are, and no more */
    double mc_equivalent; /* Monte Carlo samples of equal variance; none where se is 0 or none */
    double weight_sum;    /* W; n equal shares of 1 for mc; the mass found for beams */
} sb_estimate;

/* Estimates from n >= 1 values. log_p is not read for mc; kappa is read for the two of SBS only,
 * -inf where the draw was exhausted. Values must be finite, log-probabilities neither NaN nor above
 * 0 by more than rounding nor all -inf, kappa neither NaN nor +inf, the estimate within the range
 * of a double: else SB_ERR_ARGUMENT with the place, and *estimate is not written. */
SB_API sb_status sb_estimate_compute(sb_estimator estimator, const double *f, const double *log_p,
                                     size_t n, double kappa, sb_estimate *estimate, sb_error *err);

#ifdef __cplusplus
}
#endif
#endif
