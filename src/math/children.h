/* The children of a node, best first.
 *
 * Given a node's log-probability phi, its perturbed log-probability g and its row of conditional
 * probabilities: the best child has exactly the value g and is child j with probability p_j,
 * because the maximum of Gumbels and its place are independent. The best of the rest is then a
 * Gumbel of location phi + log(sum of the rest), truncated at the previous value, and so on. The
 * numbers have the joint law of one Gumbel per child conditioned on their maximum (the paper's
 * Algorithm 1), at the cost of the children that are looked at. */
#ifndef MATH_CHILDREN_H
#define MATH_CHILDREN_H

#include "math/noise.h"
#include "math/row.h"

struct children {
    struct row *row;
    struct noise_node node;
    double phi;    /* log-probability of the node */
    double value;  /* of the best child left; -inf when there is none */
    double choice; /* the uniform that says which child that is */
    uint64_t rank; /* children taken so far */
};

/* The value of the best child is g itself. */
void children_open(struct children *children, const struct noise_key *key, struct row *row,
                   struct noise_node node, double phi, double g);

/* Takes the best child left, whose value is children->value, out of the row and returns it; -1 if
 * there is none. */
int32_t children_take(struct children *children);
/* Computes the value of the next one. */
void children_advance(struct children *children, const struct noise_key *key);

#endif
