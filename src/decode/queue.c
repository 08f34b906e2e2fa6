#include "decode/queue.h"

#include <stdbool.h>

#include "base/alloc.h"

void queue_close(struct queue *queue)
{
    alloc_free(queue->items);
}

static bool is_better(const struct queue_item *a, const struct queue_item *b)
{
    return a->score != b->score ? a->score > b->score : a->entry < b->entry;
}

/* Returns the index of the best item of the pair above that of item i, which is not in the first
 * pair. */
static size_t pair_above(size_t i)
{
    return (i / 2 - 1) / 2 * 2;
}

/* Puts an item at index i, or higher in the tree if it is better than the best items there. */
static void raise_best(struct queue *queue, size_t i, struct queue_item item)
{
    struct queue_item *const items = queue->items;
    while (i > 1 && is_better(&item, &items[pair_above(i)])) {
        items[i] = items[pair_above(i)];
        i = pair_above(i);
    }
    items[i] = item;
}

/* Puts an item at index i, or higher in the tree if it is worse than the worst items there. */
static void raise_worst(struct queue *queue, size_t i, struct queue_item item)
{
    struct queue_item *const items = queue->items;
    while (i > 1 && is_better(&items[pair_above(i) + 1], &item)) {
        items[i] = items[pair_above(i) + 1];
        i = pair_above(i) + 1;
    }
    items[i] = item;
}

sb_status queue_push(struct queue *queue, struct queue_item item)
{
    const size_t i = queue->n;
    if (alloc_reserve(&queue->items, &queue->capacity, i + 1, sizeof *queue->items) != SB_OK)
        return SB_ERR_MEMORY;
    queue->n++;
    const bool has_partner = i % 2 == 1;
    const size_t partner = has_partner ? i - 1 : i >= 2 ? pair_above(i) : i;
    if (partner < i && is_better(&item, &queue->items[partner])) {
        if (has_partner)
            queue->items[i] = queue->items[partner];
        raise_best(queue, has_partner ? partner : i, item);
    } else {
        raise_worst(queue, i, item);
    }
    return SB_OK;
}

struct queue_item queue_best(const struct queue *queue)
{
    return queue->items[0];
}

struct queue_item queue_worst(const struct queue *queue)
{
    return queue->items[queue->n > 1];
}

static void swap(struct queue_item *a, struct queue_item *b)
{
    const struct queue_item c = *a;
    *a = *b;
    *b = c;
}

struct queue_item queue_pop_best(struct queue *queue)
{
    struct queue_item *const items = queue->items;
    const struct queue_item popped = items[0];
    struct queue_item item = items[--queue->n];
    const size_t n = queue->n;
    size_t i = 0;
    for (;;) {
        if (i + 1 < n && is_better(&items[i + 1], &item))
            swap(&items[i + 1], &item);
        size_t below = 2 * i + 2;
        if (below + 2 < n && is_better(&items[below + 2], &items[below]))
            below += 2;
        if (below >= n || !is_better(&items[below], &item))
            break;
        items[i] = items[below];
        i = below;
    }
    items[i] = item;
    return popped;
}

/* Returns the index of the worst item of pair p. If pair p is past the end, returns n. */
static size_t worst_of_pair(size_t p, size_t n)
{
    return 2 * p + 1 < n ? 2 * p + 1 : 2 * p < n ? 2 * p : n;
}

struct queue_item queue_pop_worst(struct queue *queue)
{
    struct queue_item *const items = queue->items;
    if (queue->n <= 2)
        return items[--queue->n];
    const struct queue_item popped = items[1];
    struct queue_item item = items[--queue->n];
    const size_t n = queue->n;
    size_t i = 1;
    for (;;) {
        if (i % 2 == 1 && is_better(&item, &items[i - 1]))
            swap(&items[i - 1], &item);
        size_t below = worst_of_pair(i / 2 * 2 + 1, n);
        const size_t other = worst_of_pair(i / 2 * 2 + 2, n);
        if (other < n && is_better(&items[below], &items[other]))
            below = other;
        if (below >= n || !is_better(&item, &items[below]))
            break;
        items[i] = items[below];
        i = below;
    }
    items[i] = item;
    return popped;
}
