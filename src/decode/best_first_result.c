/* The facts that a cursor can report at any time: its threshold, its result and its memory. */
#include <math.h>

#include "decode/best_first.h"
#include "decode/result.h"

/* Returns the log of the mass of an entry's leaves. */
static double mass_of(const struct best_first *own, const struct entry *entry)
{
    return entry->rest >= 0 ? own->rests[entry->rest].phi : entry->phi;
}

double best_first_threshold(const struct slot *slot, size_t n)
{
    if (n < slot->now.n)
        return slot->now.entries[n].score;
    const double best = frontier_best(&best_first_of(slot)->frontier);
    return slot->next.n > 0 ? fmax(best, slot->next.entries[0].score) : best;
}

/* Adds the mass of all leaves that are not on slot->now yet. */
static void add_left(const struct slot *slot, struct logspace_total *left)
{
    const struct best_first *const own = best_first_of(slot);
    const struct queue *const queues[] = {&own->frontier.leaves, &own->frontier.nodes};
    for (int q = 0; q < 2; q++)
        for (size_t i = 0; i < queues[q]->n; i++)
            logspace_total_add(
                left, mass_of(own, &own->frontier.pool.entries[queues[q]->items[i].entry]));
    for (size_t i = 0; i < slot->next.n; i++)
        logspace_total_add(left, mass_of(own, &slot->next.entries[i]));
}

sb_status best_first_build_result(const sb_decoder *decoder, const struct slot *slot, size_t n,
                                  sb_result *result, sb_error *err)
{
    struct logspace_total left = LOGSPACE_NOTHING;
    add_left(slot, &left);
    for (size_t i = n; i < slot->now.n; i++)
        logspace_total_add(&left, slot->now.entries[i].phi);
    result->kappa = best_first_threshold(slot, n);
    result->exhausted = result->kappa == -INFINITY;
    const sb_status status = result_build(decoder, slot, n, &left, result, err);
    result->k = (int32_t)n;
    return status;
}

size_t best_first_bytes(const struct slot *slot)
{
    const struct best_first *const own = best_first_of(slot);
    const struct frontier *const frontier = &own->frontier;
    size_t n =
        (frontier->pool.capacity + slot->now.capacity) * sizeof(struct entry) +
        (frontier->leaves.capacity + frontier->nodes.capacity) * sizeof(struct queue_item) +
        (frontier->n_room + own->state_capacity + own->kept_capacity + own->unused_capacity) *
            sizeof(int32_t) +
        slot->path_capacity * sizeof *slot->path + own->rest_capacity * sizeof *own->rests;
    for (size_t i = 0; i < own->n_rests; i++)
        n += own->rests[i].capacity * sizeof(int32_t);
    return n;
}
