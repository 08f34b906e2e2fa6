/* The result of a draw. */
#ifndef SBEAM_RESULT_H
#define SBEAM_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "sbeam/config.h"
#include "sbeam/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sb_end {
    SB_END_NONE = 0,    /* still growing; never in a result */
    SB_END_EOS = 1,     /* by the end token, which is not among the tokens */
    SB_END_MAX_LEN = 2, /* by the length limit: the prefix itself is the leaf */
    SB_END_LEAF = 3,    /* at a leaf of a tree */
    SB_END_STOP = 4     /* its text contains a stop string */
} sb_end;

/* Returns "eos", "max-len", "leaf" or "stop", or "none" for a prefix. */
SB_API const char *sb_end_name(sb_end end);

/* The reason why a draw with a rule (until_mass, until_texts) has ended. */
typedef enum sb_stopped_by {
    SB_STOPPED_BY_NOTHING = 0, /* the settings have no rule */
    SB_STOPPED_BY_MASS = 1,
    SB_STOPPED_BY_TEXTS = 2,
    SB_STOPPED_BY_K = 3,        /* it has k sequences, and no rule is met */
    SB_STOPPED_BY_EXHAUSTED = 4 /* the model has no other sequences */
} sb_stopped_by;

/* Returns "mass", "texts", "k" or "exhausted"; for a draw without a rule it returns "nothing". */
SB_API const char *sb_stopped_by_name(sb_stopped_by reason);

/* One sequence. A number that the method does not have is NaN. All logarithms are natural. */
typedef struct sb_sequence {
    const int32_t *tokens; /* (n_tokens), without EOS; owned by the result */
    int32_t n_tokens;
    sb_end end;
    double log_p;       /* under the distribution that was drawn from: tempered, masked */
    double log_p_model; /* under the model itself: T = 1, unmasked */
    double g;           /* the perturbed log-probability (sbs and explicit) */
    double log_weight;  /* log of p / q, the importance weight at threshold kappa */
} sb_sequence;

/* One draw. Read the fields; only the library writes them. */
typedef struct sb_result {
    uint64_t stream, draw, seed;
    double temperature;
    sb_method method;
    int32_t k;              /* sequences asked for */
    int32_t n_sequences;    /* sequences found */
    sb_sequence *sequences; /* (n_sequences) in the order drawn, or best first */
    double kappa;           /* the threshold; -inf if exhausted, NaN if it was not searched for */
    bool exhausted;         /* the search found that the model has no other sequences */
    sb_stopped_by stopped_by;
    double log_p_draw;   /* log-probability of this draw, in this order (Theorem 1 of the paper), or
                            NaN */
    uint64_t model_rows; /* rows that the search asked the model for */
    bool complete;       /* false: reject found fewer than k distinct sequences */
    uint64_t samples;    /* reject: samples drawn */
    uint64_t sampled_rows; /* reject: rows that these would cost without shared prefixes */
    /* private */
    int32_t *token_pool;
    size_t token_capacity, sequence_capacity;
} sb_result;

/* Makes an empty result. The functions of draw.h and decoder.h fill it, any number of times; each
 * time replaces the previous content. On success *result is the caller's to close. */
SB_API sb_status sb_result_open(sb_result **result, sb_error *err);
/* Frees the result, its sequences and tokens. Accepts NULL. */
SB_API void sb_result_close(sb_result *result);

#ifdef __cplusplus
}
#endif
#endif
