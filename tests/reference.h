/* The slow, obvious side of the law tests: a model's leaves by enumeration, the exact law of
 * ordered samples without replacement, and samplers that are right by construction or wrong on
 * purpose. */
#ifndef REFERENCE_H
#define REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "sbeam/sbeam.h"

enum { MOST_LEAVES = 512, MOST_DEPTH = 8, MOST_PICKS = 32 };

struct leaf {
    int32_t tokens[MOST_DEPTH]; /* an EOS that ends it included */
    int32_t n_tokens;
    double phi;
};

struct leaves {
    struct leaf list[MOST_LEAVES];
    int n;
};

/* Every leaf, depth first, children in order of their id. */
void enumerate_leaves(const sb_model *model, double temperature, int32_t max_len,
                      struct leaves *leaves);
/* The number of the leaf that this sequence is; fails the test if it is none. */
int find_leaf(const sb_model *model, const struct leaves *leaves, const sb_sequence *sequence);

/* What a sampler gives: leaf numbers in order, their g, and the threshold. */
struct picks {
    int n, leaf[MOST_PICKS];
    double g[MOST_PICKS], kappa;
};

/* A sampler under test. `draw` numbers the repetition. */
struct setup {
    const sb_model *model;
    const struct leaves *leaves;
    sb_config config;
    void *state; /* of a sampler that needs some */
};
typedef void (*sampler)(struct setup *setup, uint64_t draw, struct picks *picks);

/* An independent generator for the references. */
double next_uniform(uint64_t *state);

/* Independent Gumbels on the enumerated leaves, the k largest: right by definition. state is a
 * uint64_t. */
void sample_leaves(struct setup *setup, uint64_t draw, struct picks *picks);

/* Probabilities of ordered samples of k leaves (Plackett-Luce). Samples are numbered; where there
 * are more than the limit they are told apart by their first and last leaf only. */
struct ordered_law {
    int n_leaves, k;
    bool by_ends;
    size_t n_cells;
    double *probability; /* (n_cells) */
};
void ordered_law_open(struct ordered_law *law, const struct leaves *leaves, int k);
void ordered_law_close(struct ordered_law *law);
size_t ordered_law_cell(const struct ordered_law *law, const struct picks *picks);

#endif
