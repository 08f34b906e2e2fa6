/* Gumbel-Top-k over a flat list: weighted sampling without replacement from a stream, in one pass
 * and memory in proportion to the sample. And the law of such a sample. */
#ifndef SBEAM_TOPK_H
#define SBEAM_TOPK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sbeam/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sb_topk sb_topk;

typedef struct sb_topk_item {
    uint64_t index;    /* place in the stream, from 0 */
    int32_t slot;      /* as sb_topk_push gave it */
    double log_p;      /* log of its share of the total weight */
    double g;          /* log_p + Gumbel noise: items are ordered by it */
    double log_weight; /* log p / q at threshold kappa */
} sb_topk_item;

/* A sample of k items, 1 .. 2^31 - 2. */
SB_API sb_status sb_topk_open(sb_topk **topk, int32_t k, uint64_t seed, sb_error *err);
/* Accepts NULL. */
SB_API void sb_topk_close(sb_topk *topk);

/* Offers the next item of the stream. *slot is where the caller should keep what belongs to it
 * (0 .. k), overwriting what was there, or -1 when the item is not in the sample. A log-weight of
 * -inf is a weight of zero: never drawn. NaN and numbers beyond 1e12 either way, where a double has
 * no room for the noise, are errors. */
SB_API sb_status sb_topk_push(sb_topk *topk, double log_weight, int32_t *slot, sb_error *err);

/* Offers n items at once, for callers that keep what belongs to them and go by `index`. Where one
 * of them is refused, none has been offered. */
SB_API sb_status sb_topk_push_all(sb_topk *topk, const double *log_weights, size_t n,
                                  sb_error *err);

/* The sample so far, in the order drawn: *items is the sampler's, valid until the next push. *kappa
 * is the threshold, -inf when every item with weight is in the sample. */
SB_API sb_status sb_topk_items(sb_topk *topk, const sb_topk_item **items, int32_t *n_items,
                               double *kappa, sb_error *err);

/* log-probability of drawing n items of these log-probabilities in this order without replacement
 * (Plackett-Luce; Theorem 1 of the paper). Where they are all that there is, whose sum is 1 but for
 * rounding, pass is_all: then the last ones are not compared with a rounding error. */
SB_API double sb_plackett_luce_log_p(const double *log_p, size_t n, bool is_all);

/* log p / q, q = 1 - exp(-exp(log_p - kappa)): the importance weight (appendix C), in log space. */
SB_API double sb_log_weight(double log_p, double kappa);

/* log sum exp(x_i) of a row of logits, to 1e-6, with the exponential that normalises rows. -inf for
 * n = 0, NaN where there is NaN or +inf among them. */
SB_API double sb_log_sum_exp(const float *x, size_t n);

#ifdef __cplusplus
}
#endif
#endif
