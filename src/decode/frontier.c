#include "decode/frontier.h"

#include <math.h>

void frontier_close(struct frontier *frontier)
{
    alloc_free(frontier->pool.entries);
    alloc_free(frontier->unused);
    queue_close(&frontier->leaves);
    queue_close(&frontier->nodes);
}

void frontier_clear(struct frontier *frontier)
{
    frontier->pool.n = frontier->n_unused = frontier->leaves.n = frontier->nodes.n = 0;
}

sb_status frontier_push(struct frontier *frontier, const struct entry *entry)
{
    struct beam *const pool = &frontier->pool;
    if (frontier->n_unused == 0) {
        /* The list has room for all indices, so that taking an entry cannot fail. */
        if (pool->n == INT32_MAX ||
            alloc_reserve(&frontier->unused, &frontier->n_room, pool->n + 1, sizeof(int32_t)) !=
                SB_OK ||
            beam_append(pool, entry) != SB_OK)
            return SB_ERR_MEMORY;
        frontier->unused[frontier->n_unused++] = (int32_t)(pool->n - 1);
    }
    const int32_t index = frontier->unused[frontier->n_unused - 1];
    struct queue *const queue = entry->end == SB_END_NONE ? &frontier->nodes : &frontier->leaves;
    if (queue_push(queue, (struct queue_item){entry->score, index}) != SB_OK)
        return SB_ERR_MEMORY;
    pool->entries[index] = *entry;
    frontier->n_unused--;
    return SB_OK;
}

double frontier_best(const struct frontier *frontier)
{
    double best = -INFINITY;
    if (frontier->leaves.n > 0)
        best = queue_best(&frontier->leaves).score;
    if (frontier->nodes.n > 0)
        best = fmax(best, queue_best(&frontier->nodes).score);
    return best;
}

/* Returns the queue with the smallest G, or NULL if both are empty. */
static const struct queue *worse_queue(const struct frontier *frontier)
{
    const struct queue *const leaves = &frontier->leaves, *const nodes = &frontier->nodes;
    if (leaves->n == 0 || nodes->n == 0)
        return nodes->n > 0 ? nodes : leaves->n > 0 ? leaves : NULL;
    return queue_worst(leaves).score < queue_worst(nodes).score ? leaves : nodes;
}

double frontier_worst(const struct frontier *frontier)
{
    const struct queue *const queue = worse_queue(frontier);
    return queue != NULL ? queue_worst(queue).score : -INFINITY;
}

/* Copies the entry of an item that was popped, and marks its index as free. */
static void take(struct frontier *frontier, struct queue_item item, struct entry *entry)
{
    *entry = frontier->pool.entries[item.entry];
    frontier->unused[frontier->n_unused++] = item.entry;
}

bool frontier_take_leaf(struct frontier *frontier, struct entry *leaf)
{
    if (frontier->leaves.n == 0 || queue_best(&frontier->leaves).score < frontier_best(frontier))
        return false;
    take(frontier, queue_pop_best(&frontier->leaves), leaf);
    return true;
}

bool frontier_take_node(struct frontier *frontier, struct entry *node)
{
    if (frontier->nodes.n == 0)
        return false;
    take(frontier, queue_pop_best(&frontier->nodes), node);
    return true;
}

bool frontier_take_worst(struct frontier *frontier, struct entry *worst)
{
    const struct queue *const queue = worse_queue(frontier);
    if (queue == NULL)
        return false;
    take(frontier,
         queue_pop_worst(queue == &frontier->leaves ? &frontier->leaves : &frontier->nodes), worst);
    return true;
}
