/* Keyed noise: every random number is a pure function of its key and its purpose (doc/noise.md).
 *
 * The function is philox4x64-10 of Random123, with key (seed, stream) and counter (a, b, draw,
 * rank + purpose * 2^56). So the key determines the whole perturbed tree, and a search looks at
 * part of it. */
#ifndef MATH_NOISE_H
#define MATH_NOISE_H

#include <stdbool.h>
#include <stdint.h>

struct noise_key {
    uint64_t seed, stream, draw;
};

/* A node of the tree, as a 128-bit hash of its tokens. The root is all zeros. */
struct noise_node {
    uint64_t a, b;
};

/* Two uniforms in (0, 1), both ends excluded: odd multiples of 2^-53. */
struct noise_pair {
    double value;  /* for the perturbed log-probability of the child of this rank */
    double choice; /* to choose which child it is */
};

/* Returns the child `token` of a node. */
struct noise_node noise_child(struct noise_node parent, int32_t token);

static inline bool noise_same_node(struct noise_node x, struct noise_node y)
{
    return x.a == y.a && x.b == y.b;
}

/* Returns the noise for the child of this rank (0: the best) of a node. */
struct noise_pair noise_of_child(const struct noise_key *key, struct noise_node node,
                                 uint64_t rank);
/* Returns the uniform for ancestral sample number `sample` at `position`. */
double noise_of_sample(const struct noise_key *key, uint64_t sample, uint64_t position);
/* Returns the uniform for a finished leaf whose G is drawn again at a step. */
double noise_of_step(const struct noise_key *key, struct noise_node leaf, uint64_t step);
/* Returns the uniform for item `index` of a flat list. */
double noise_of_item(const struct noise_key *key, uint64_t index);

#endif
