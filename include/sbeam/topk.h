/* Gumbel-Top-k over a flat list: weighted sampling without replacement from a stream, in one pass
 * and with memory proportional to the sample; and the probabilities and weights of such samples. */
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
    uint64_t index;    /* position in the stream, from 0 */
    int32_t slot;      /* the slot that sb_topk_push gave */
    double log_p;      /* log of its share of the total weight */
    double g;          /* log_p + Gumbel noise; items are ordered by it */
    double log_weight; /* log of p / q, the importance weight at threshold kappa */
} sb_topk_item;

/* Starts a sample of k items, 1 .. 2^31 - 2. On success *topk is the caller's to close. */
SB_API sb_status sb_topk_open(sb_topk **topk, int32_t k, uint64_t seed, sb_error *err);
/* Frees the sampler. Accepts NULL. */
SB_API void sb_topk_close(sb_topk *topk);

/* Offers the next item of the stream. If *slot is 0 .. k (k + 1 slots: one is for the threshold),
 * the item is kept for now, and the caller should store the data of the item under this number, in
 * place of what was there. If *slot is -1, the item is not in the sample.
 *
 * A log-weight of -inf means a weight of zero: the item is never drawn. NaN, +inf and finite
 * numbers beyond 1e12 in magnitude, where a double has no digits left for the noise, are
 * SB_ERR_ARGUMENT; then the item has not been offered. */
SB_API sb_status sb_topk_push(sb_topk *topk, double log_weight, int32_t *slot, sb_error *err);

/* Offers n items at once, for callers that keep all data and look it up by `index`. If one item is
 * refused, none has been offered. */
SB_API sb_status sb_topk_push_all(sb_topk *topk, const double *log_weights, size_t n,
                                  sb_error *err);

/* Gives the sample so far, in the order drawn. *items is the sampler's and valid until the next
 * push. *kappa is the threshold, or -inf if every item of positive weight is in the sample. */
SB_API sb_status sb_topk_items(sb_topk *topk, const sb_topk_item **items, int32_t *n_items,
                               double *kappa, sb_error *err);

/* Returns the log-probability of drawing n items with these log-probabilities in this order without
 * replacement (Plackett-Luce; Theorem 1 of the paper). Pass is_all if there are no other items: the
 * probabilities then sum to 1 up to rounding, and the mass left is taken to be 0 instead of that
 * rounding error. */
SB_API double sb_plackett_luce_log_p(const double *log_p, size_t n, bool is_all);

/* Returns the log of the importance weight p / q, q = 1 - exp(-exp(log_p - kappa)) (appendix C). */
SB_API double sb_log_weight(double log_p, double kappa);

/* Returns log sum exp(x_i) of a row of logits, to 1e-6, computed as the library normalises rows.
 * Returns -inf if n = 0, and NaN if an x_i is NaN or +inf. */
SB_API double sb_log_sum_exp(const float *x, size_t n);

#ifdef __cplusplus
}
#endif
#endif
