/* The methods of drawing, and the properties of each that an application may need.
 *
 * Ask sb_method_get_info for a property instead of comparing methods: a method that is added later
 * then needs no change in the application. */
#ifndef SBEAM_METHOD_H
#define SBEAM_METHOD_H

#include <stdbool.h>

#include "sbeam/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Has every method once: X(SUFFIX of its sb_method value, its name in C, its name for users). The
 * values of sb_method count from 0 in this order, so new methods come last.
 *
 *     SBS          Stochastic Beam Search: exact sampling without replacement
 *     BEAM         deterministic beam search
 *     SAMPLE       independent ancestral samples, duplicates included
 *     DIVERSE      Diverse Beam Search (Vijayakumar et al. 2018)
 *     RESAMPLE     biased: fresh noise at each step
 *     REJECT       the distribution of SBS: ancestral samples, duplicates rejected
 *     EXPLICIT     the result of SBS, from the whole tree
 *     COMMIT       biased: k first tokens, one sequence each
 *     BEAM_SAMPLE  biased: the k likeliest of 2k that are drawn at each step
 *
 * The biased methods do not sample the model's distribution; they exist for comparison only. */
#define SB_METHOD_LIST(X)                                                                          \
    X(SBS, sbs, "sbs")                                                                             \
    X(BEAM, beam, "beam")                                                                          \
    X(SAMPLE, sample, "sample")                                                                    \
    X(DIVERSE, diverse, "diverse")                                                                 \
    X(RESAMPLE, resample, "resample")                                                              \
    X(REJECT, reject, "reject")                                                                    \
    X(EXPLICIT, explicit, "explicit")                                                              \
    X(COMMIT, commit, "commit")                                                                    \
    X(BEAM_SAMPLE, beam_sample, "beam-sample")

#define SB_METHOD_VALUE(suffix, c_name, name) SB_METHOD_##suffix,
typedef enum sb_method { SB_METHOD_LIST(SB_METHOD_VALUE) } sb_method;
#undef SB_METHOD_VALUE

/* The law by which the sequences of a draw are chosen. */
typedef enum sb_law {
    SB_LAW_WITHOUT_REPLACEMENT, /* an ordered sample of the model's distribution without
                                 * replacement; a draw has log_p_draw */
    SB_LAW_INDEPENDENT,         /* independent samples of the model's distribution */
    SB_LAW_BIASED,              /* random, but not by the model's distribution */
    SB_LAW_DETERMINISTIC        /* a search that uses no noise */
} sb_law;

typedef struct sb_method_info {
    sb_law law;
    bool has_g;                  /* sequences have G, and a draw has a threshold kappa */
    bool counts_samples;         /* a result has complete, samples and sampled_rows */
    bool has_repeats;            /* a draw may hold the same sequence twice */
    bool has_rounds;             /* an input starts again from its first row after each round */
    const char *why_no_estimate; /* why nothing can be estimated from a draw; NULL: it can */
} sb_method_info;

/* Returns the properties of a method, or NULL if the value is not a method. They are static. */
SB_API const sb_method_info *sb_method_get_info(sb_method method);

/* Returns "sbs", "beam", ..., or NULL if the value is not a method. */
SB_API const char *sb_method_name(sb_method method);

/* Finds the method of this name. Returns false, and writes nothing, if there is none. */
SB_API bool sb_method_find(const char *name, sb_method *method);

#ifdef __cplusplus
}
#endif
#endif
