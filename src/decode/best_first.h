/* Best-first search: Stochastic Beam Search that evaluates as few prefixes as possible (Kool, van
 * Hoof and Welling, 2020, Ancestral Gumbel-Top-k Sampling).
 *
 * The frontier holds finished leaves and unexpanded nodes. The G of a node is the largest G of its
 * leaves, and no two entries have a leaf in common. So a leaf with the largest G of all is the next
 * sequence, and a node with the largest G has a leaf in the sample and must be evaluated. Once k
 * sequences are certain, the largest G left is kappa.
 *
 * A draw of k sequences needs only the k best entries, and one more for kappa; it drops all others.
 * A cursor, or a job that can be continued, has no fixed k, so it drops nothing. The comments below
 * call both a cursor. When a cursor expands a node, it takes only some children; the others are one
 * entry, a rest, whose G is that of the next child. To take more of them, the cursor evaluates the
 * node again and removes the children taken before. It keeps a limited number of states; a state
 * that it needs again is computed from the prefix. */
#ifndef DECODE_BEST_FIRST_H
#define DECODE_BEST_FIRST_H

#include "decode/frontier.h"
#include "decode/slot.h"

/* Number of children that a cursor takes first from a node. With fewer it would evaluate nodes
 * again more often; with more it would keep more entries that are never needed. */
enum { FIRST_CHILDREN = 32 };

/* The children of a node that a cursor has not taken yet. */
struct rest {
    int32_t *taken; /* (n) tokens of the children taken, in this order */
    size_t n, capacity;
    double phi; /* log-probability of all children left */
};

/* slot->own of best-first search. */
struct best_first {
    struct frontier frontier;
    /* (slot->n_path + 1) the number of the state of each expanded node, -1: it has none. The node
     * whose path ends with step p is at p + 1, the root is at 0. */
    int32_t *state_of;
    size_t n_nodes, state_capacity;
    struct logspace_total found; /* mass of the sequences, if a rule needs it */
    int32_t n_texts;             /* number of different texts among them, if a rule needs it */
    /* only for a cursor */
    struct rest *rests;
    size_t n_rests, rest_capacity;
    int32_t *unused; /* (n_unused) rests that are free; there is room for all */
    size_t n_unused, unused_capacity;
    int32_t *kept; /* (n_kept) nodes that were given a state, oldest first, from first_kept on */
    size_t n_kept, first_kept, kept_capacity;
    bool is_climbing; /* the wanted row only computes the state of node `climbed` again */
    int32_t climbed;
};

static inline struct best_first *best_first_of(const struct slot *slot)
{
    return slot->own;
}

/* Returns the G of the sequence after the first n, which are on slot->now; -inf if there is none.
 */
double best_first_threshold(const struct slot *slot, size_t n);
/* Fills *result with the first n sequences on slot->now, as a draw of that many: with kappa and
 * weights. */
sb_status best_first_build_result(const sb_decoder *decoder, const struct slot *slot, size_t n,
                                  sb_result *result, sb_error *err);
/* Returns the number of bytes that the search of a slot uses. */
size_t best_first_bytes(const struct slot *slot);

#endif
