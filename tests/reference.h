/* The slow, obvious side of the law tests: enumerates a model's leaves, computes the exact law of
 * ordered samples without replacement, and has samplers that are right by construction or wrong on
 * purpose. */
#ifndef REFERENCE_H
#define REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "sbeam/sbeam.h"

enum { MOST_LEAVES = 512, MOST_DEPTH = 8, MOST_PICKS = 32 };

struct leaf {
    int32_t tokens[MOST_DEPTH]; /* including EOS, if it ends the leaf */
    int32_t n_tokens;
    double phi;
};

struct leaves {
    struct leaf list[MOST_LEAVES];
    int n;
};

/* Enumerates every leaf, depth first, children in the order of their ids. */
void enumerate_leaves(const sb_model *model, double temperature, int32_t max_len,
                      struct leaves *leaves);
/* Enumerates the leaves that are whole lines of the list, in a model where each step is
 * renormalised over the tokens that continue a line. The lines are without EOS. A model without EOS
 * ends at the end of a line. */
void enumerate_permitted(const sb_model *model, double temperature, int32_t max_len,
                         const struct leaves *lines, struct leaves *leaves);
/* Returns the number of the leaf that equals this sequence. Fails the test if there is none. */
int find_leaf(const sb_model *model, const struct leaves *leaves, const sb_sequence *sequence);

/* The result of a sampler: leaf numbers in order, their g, and the threshold. */
struct picks {
    int n, leaf[MOST_PICKS];
    double g[MOST_PICKS], kappa;
};

/* A sampler under test. `draw` numbers the repetition. */
struct setup {
    const sb_model *model;
    const struct leaves *leaves;
    sb_config config;
    void *state; /* only for samplers that need it */
};
typedef void (*sampler)(struct setup *setup, uint64_t draw, struct picks *picks);

/* Returns a uniform of a generator that is independent of the library, for the references. */
double next_uniform(uint64_t *state);

/* Draws independent Gumbels on the enumerated leaves and takes the k largest: right by definition.
 * setup->state is a uint64_t. */
void sample_leaves(struct setup *setup, uint64_t draw, struct picks *picks);

/* The probabilities of ordered samples of k leaves (Plackett-Luce). Samples are numbered. If there
 * are more samples than the limit, a cell holds all samples with the same first and last leaf. */
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
