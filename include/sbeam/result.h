/* What a draw returns. */
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
    SB_END_NONE = 0,    /* still growing: never in a result */
    SB_END_EOS = 1,     /* the end token; it is not among the tokens */
    SB_END_MAX_LEN = 2, /* the length limit: the prefix itself is the leaf */
    SB_END_LEAF = 3,    /* a leaf of a tree */
    SB_END_STOP = 4     /* its text contains a stop string */
} sb_end;

/* "eos", "max-len", "leaf", "stop"; "none" for a prefix. */
SB_API const char *sb_end_name(sb_end end);

/* One sequence. Numbers that a method does not have are NaN. All logs are natural. */
typedef struct sb_sequence {
    const int32_t *tokens; /* (n_tokens), without EOS; owned by the result */
    int32_t n_tokens;
    sb_end end;
    double log_p;       /* under the distribution drawn from: tempered, masked */
    double log_p_model; /* under the model itself: T = 1, unmasked */
    double g;           /* the perturbed log-probability (SBS and relatives) */
    double log_weight;  /* log p / q, the importance weight at threshold kappa */
} sb_sequence;

/* One draw. Read the fields; the library alone writes them. */
typedef struct sb_result {
    uint64_t stream, draw, seed;
    double temperature;
    sb_method method;
    int32_t k;              /* sequences asked for */
    int32_t n_sequences;    /* sequences found, best or first drawn first */
    sb_sequence *sequences; /* (n_sequences) */
    double kappa;           /* the threshold: -inf when exhausted, NaN when the method has none */
    bool exhausted;         /* every sequence of the model is here */
    double log_p_draw;      /* of this ordered sample (Theorem 1), or NaN */
    uint64_t model_rows;    /* rows that the model evaluated */
    bool complete;          /* reject: k distinct ones were found; else true */
    uint64_t samples;       /* reject: samples drawn */
    uint64_t sampled_rows;  /* reject: the rows they would cost without sharing prefixes */
    /* private */
    int32_t *token_pool;
    size_t token_capacity, sequence_capacity;
} sb_result;

/* An empty result, to be filled by the calls of draw.h and decoder.h, any number of times. */
SB_API sb_status sb_result_open(sb_result **result, sb_error *err);
/* Accepts NULL. */
SB_API void sb_result_close(sb_result *result);

#ifdef __cplusplus
}
#endif
#endif
