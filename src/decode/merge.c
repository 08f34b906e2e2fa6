#include "decode/merge.h"

#include <math.h>

#include "base/alloc.h"
#include "decode/select.h"
#include "math/logspace.h"

sb_status merge_start(sb_decoder *decoder, struct slot *slot)
{
    (void)decoder;
    const struct noise_node root = {0, 0};
    return slot_push_root(slot, logspace_gumbel(0, noise_of_child(&slot->key, root, 0).value), 0);
}

/* Starts the merge: makes a heap of streams in decoder->candidates. The score of a stream is the G
 * of its best child, or of the leaf itself. */
static sb_status open_streams(sb_decoder *decoder, const struct slot *slot, bool afresh)
{
    const size_t n = slot->now.n;
    if (alloc_reserve(&decoder->streams, &decoder->stream_capacity, n, sizeof *decoder->streams) !=
            SB_OK ||
        alloc_reserve(&decoder->candidates, &decoder->candidate_capacity, n,
                      sizeof *decoder->candidates) != SB_OK)
        return SB_ERR_MEMORY;
    for (size_t i = 0; i < n; i++) {
        const struct entry *const entry = &slot->now.entries[i];
        double value = entry->score;
        if (afresh && entry->end != SB_END_NONE)
            value = logspace_gumbel(entry->phi,
                                    noise_of_step(&slot->key, entry->node, (uint64_t)slot->step));
        else if (afresh)
            value = logspace_gumbel(entry->phi, noise_of_child(&slot->key, entry->node, 0).value);
        if (entry->end == SB_END_NONE)
            children_open(&decoder->streams[i], &slot->key, &decoder->rows[entry->row], entry->node,
                          entry->phi, value);
        decoder->candidates[i] = (struct candidate){value, (int32_t)i, -1};
    }
    for (size_t i = n / 2; i-- > 0;)
        select_sift_down(decoder->candidates, n, i, select_before);
    return SB_OK;
}

/* Adds the mass that is left in the first n streams of the heap to slot->pruned. */
static void prune(const sb_decoder *decoder, struct slot *slot, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct entry *const entry = &slot->now.entries[decoder->candidates[i].entry];
        const double log_rest =
            entry->end == SB_END_NONE ? row_log_rest(&decoder->rows[entry->row]) : 0;
        logspace_total_add(&slot->pruned, logspace_product(entry->phi, log_rest));
    }
}

sb_status merge_best(sb_decoder *decoder, struct slot *slot, size_t width, bool afresh)
{
    sb_status status = open_streams(decoder, slot, afresh);
    struct candidate *const heap = decoder->candidates;
    size_t n = slot->now.n;
    while (status == SB_OK && n > 0) {
        const int32_t i = heap[0].entry;
        const struct entry *const entry = &slot->now.entries[i];
        double next = -INFINITY;
        if (entry->end != SB_END_NONE) {
            status = slot_keep(slot, i);
            if (status == SB_OK)
                slot->next.entries[slot->next.n - 1].score = heap[0].score;
        } else {
            struct children *const stream = &decoder->streams[i];
            const int32_t token = children_take(stream);
            if (token >= 0) {
                status = slot_push_child(decoder, slot, i, token, heap[0].score);
                if (slot->next.n < width)
                    children_advance(stream, &slot->key);
                next = stream->value;
            }
        }
        if (slot->next.n >= width && entry->end == SB_END_NONE)
            break; /* the stream stays on the heap: prune counts its other children */
        heap[0].score = next;
        if (next == -INFINITY)
            heap[0] = heap[--n];
        if (slot->next.n >= width)
            break;
        select_sift_down(heap, n, 0, select_before);
    }
    if (status == SB_OK)
        prune(decoder, slot, n);
    return status;
}
