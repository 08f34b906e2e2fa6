/* Enumerable models, each with a property that samplers get wrong, and functions that draw from
 * them. */
#ifndef LAW_MODELS_H
#define LAW_MODELS_H

#include "reference.h"

struct law_model {
    const char *name, *json;
    int32_t max_len;
};

enum { FIGURE_1, UNEVEN, ZEROS, LOPSIDED, CHAIN, N_LAW_MODELS };
extern const struct law_model law_models[N_LAW_MODELS];

/* Opens model number i with default settings and enumerates its leaves. The caller closes
 * setup->model. */
void open_law_model(int i, struct setup *setup, struct leaves *leaves);
/* Opens a chain of 85 sequences over five tokens, for the estimators. */
void open_wide_chain(struct setup *setup, struct leaves *leaves);

/* Opens a tree of 14 leaves with five first tokens and no ties, for methods that choose by
 * probability. */
void open_wide_tree(struct setup *setup, struct leaves *leaves);

/* Calls `visit` for n draws of the sampler, or of the library if `sample` is NULL. The environment
 * variable SBEAM_TEST_SEARCH sets how the library searches. */
void run_sampler(struct setup *setup, sampler sample, size_t n,
                 void (*visit)(void *user, const struct picks *picks), void *user);

#endif
