/* The entries that a best-first search has found and not yet used: finished leaves and unexpanded
 * nodes, each ordered by G. */
#ifndef DECODE_FRONTIER_H
#define DECODE_FRONTIER_H

#include "decode/queue.h"
#include "decode/slot.h"

struct frontier {
    struct beam pool;           /* the entries, in any order */
    int32_t *unused;            /* (n_unused) indices of the pool that are free */
    size_t n_unused, n_room;    /* n_room: the capacity of `unused` */
    struct queue leaves, nodes; /* an item is an index of the pool */
};

/* Frees the memory. A frontier that is all zeros is empty. */
void frontier_close(struct frontier *frontier);
/* Removes all entries. */
void frontier_clear(struct frontier *frontier);

static inline size_t frontier_size(const struct frontier *frontier)
{
    return frontier->leaves.n + frontier->nodes.n;
}

/* Adds a copy of an entry. */
sb_status frontier_push(struct frontier *frontier, const struct entry *entry);
/* Return the largest and the smallest G; -inf if the frontier is empty. */
double frontier_best(const struct frontier *frontier);
double frontier_worst(const struct frontier *frontier);

/* Each of these functions takes an entry out and returns true, or returns false if there is none:
 * the entry with the largest G, if it is a leaf; the best node; the entry with the smallest G. */
bool frontier_take_leaf(struct frontier *frontier, struct entry *leaf);
bool frontier_take_node(struct frontier *frontier, struct entry *node);
bool frontier_take_worst(struct frontier *frontier, struct entry *worst);

#endif
