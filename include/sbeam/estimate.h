/* Estimates of an expectation E[f] from one draw (sections 4.2 and 4.3 of the paper, appendix C).
 *
 * The functions take plain arrays: the values f_i of the n sequences of a draw and their
 * log-probabilities, and the threshold kappa. With w_i = p_i / q_i, q_i = 1 - exp(-exp(log p_i -
 * kappa)), W = sum w_i and mu the normalised estimate:
 *
 *     estimator         draws by  value             squared standard error
 *     mc                sample    mean of f_i       s^2 / n
 *     sbs               sbs       sum w_i f_i       sum (1 - q_i) w_i^2 f_i^2
 *     sbs-normalised    sbs       sum w_i f_i / W   sum (1 - q_i) w_i^2 (f_i - mu)^2 / W^2
 *     beam              beam      sum p_i f_i       none: a lower bound if f >= 0
 *     beam-normalised   beam      the same / sum p  none
 *
 * doc/estimating.md says how far each can be trusted. */
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

/* Returns "mc", "sbs", "sbs-normalised", "beam" or "beam-normalised", or NULL if the value is not
 * an estimator. */
SB_API const char *sb_estimator_name(sb_estimator estimator);

/* An estimate. A number that does not exist is NaN. */
typedef struct sb_estimate {
    double value;
    double se;            /* standard error; NaN for beams, and if n = 1 unless exhausted */
    double ess;           /* W^2 / sum w_i^2: only tells how even the weights are; NaN for beams */
    double mc_equivalent; /* number of samples whose mean has this se; NaN if se is 0 or NaN */
    double weight_sum;    /* W; 1 for mc; sum p_i for beams */
} sb_estimate;

/* Computes an estimate from n >= 1 values. log_p is not read for mc. kappa is read only for sbs and
 * sbs-normalised; it is -inf if the draw was exhausted.
 *
 * Values must be finite. Log-probabilities must not be NaN, above 0 (1e-9 is allowed for rounding)
 * or all -inf. kappa must not be NaN or +inf. The estimate must fit into a double. Otherwise
 * returns SB_ERR_ARGUMENT with the number of the bad value; *estimate is then not written. */
SB_API sb_status sb_estimate_compute(sb_estimator estimator, const double *f, const double *log_p,
                                     size_t n, double kappa, sb_estimate *estimate, sb_error *err);

#ifdef __cplusplus
}
#endif
#endif
