/* Gives the children of a node, best first.
 *
 * A node has a log-probability phi, a perturbed log-probability g and a row of conditional
 * probabilities p_j. Its best child has exactly the value g and is child j with probability p_j,
 * because the maximum of Gumbels is independent of which one is the maximum. The value of the next
 * child is a Gumbel of location phi + log(mass of the children left), truncated at the previous
 * value, and so on. These values have the joint law of one Gumbel per child, conditioned on their
 * maximum (the paper's Algorithm 1), but the cost is only that of the children taken. */
#ifndef MATH_CHILDREN_H
#define MATH_CHILDREN_H

#include "math/noise.h"
#include "math/row.h"

struct children {
    struct row *row;
    struct noise_node node;
    double phi;    /* log-probability of the node */
    double value;  /* of the best child left; -inf if there is none */
    double choice; /* the uniform that decides which child that is */
    uint64_t rank; /* children taken so far */
};

/* Starts with the best child, whose value is g. The row must be open and stays the caller's. */
void children_open(struct children *children, const struct noise_key *key, struct row *row,
                   struct noise_node node, double phi, double g);

/* Opens the children of a node again, after the n children `taken` have been taken in this order.
 * `value` is that of the best child left. */
void children_resume(struct children *children, const struct noise_key *key, struct row *row,
                     struct noise_node node, double phi, double value, const int32_t *taken,
                     size_t n);

/* Removes the best child left, whose value is children->value, from the row. Returns the child, or
 * -1 if there is none. */
int32_t children_take(struct children *children);
/* Computes the value of the next child. */
void children_advance(struct children *children, const struct noise_key *key);

#endif
