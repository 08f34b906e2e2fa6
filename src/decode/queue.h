/* A priority queue with two ends: the best and the worst item can be taken.
 *
 * It is an interval heap. The items are grouped into pairs (best, worst), and the pairs form a
 * binary tree. The range of a pair covers the ranges of the pairs below it. So the first pair has
 * the best item and the worst. */
#ifndef DECODE_QUEUE_H
#define DECODE_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "sbeam/error.h"

struct queue_item {
    double score;
    int32_t entry; /* the entry that has the score; of equal scores, the lower number is better */
};

struct queue {
    struct queue_item *items; /* (n) pair p is items 2p and 2p + 1; the last pair may have one */
    size_t n, capacity;
};

/* Frees the items. A queue that is all zeros is empty. */
void queue_close(struct queue *queue);
/* Adds an item. */
sb_status queue_push(struct queue *queue, struct queue_item item);

/* These functions need a queue that is not empty. */
struct queue_item queue_best(const struct queue *queue);
struct queue_item queue_worst(const struct queue *queue);
struct queue_item queue_pop_best(struct queue *queue);
struct queue_item queue_pop_worst(struct queue *queue);

#endif
