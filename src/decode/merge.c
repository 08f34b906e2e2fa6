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

/* Starts the merge: makes a heap of *n streams in decoder->candidates. The score of a stream is the
 * G of its best child, or of the leaf itself. The last stream is the entries of earlier chunks. */
static sb_status open_streams(sb_decoder *decoder, const struct slot *slot, bool afresh, size_t *n)
{
    const size_t first = slot->first_entry, n_entries = slot->end_entry - first;
    if (alloc_reserve(&decoder->streams, &decoder->stream_capacity, n_entries,
                      sizeof *decoder->streams) != SB_OK ||
        alloc_reserve(&decoder->candidates, &decoder->candidate_capacity, n_entries + 1,
                      sizeof *decoder->candidates) != SB_OK)
        return SB_ERR_MEMORY;
    for (size_t i = 0; i < n_entries; i++) {
        const struct entry *const entry = &slot->now.entries[first + i];
        double value = entry->score;
        if (afresh && entry->end != SB_END_NONE)
            value = logspace_gumbel(entry->phi,
                                    noise_of_step(&slot->key, entry->node, (uint64_t)slot->step));
        else if (afresh)
            value = logspace_gumbel(entry->phi, noise_of_child(&slot->key, entry->node, 0).value);
        if (entry->end == SB_END_NONE)
            children_open(&decoder->streams[i], &slot->key, slot_row(decoder, slot, entry),
                          entry->node, entry->phi, value);
        decoder->candidates[i] = (struct candidate){value, (int32_t)(first + i), -1};
    }
    *n = n_entries;
    if (decoder->earlier.n > 0)
        decoder->candidates[(*n)++] = slot_earlier(decoder, 0);
    for (size_t i = *n / 2; i-- > 0;)
        select_sift_down(decoder->candidates, *n, i, select_before);
    return SB_OK;
}

/* Adds the mass that is left in the first n streams of the heap to slot->pruned. */
static void prune(const sb_decoder *decoder, struct slot *slot, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct candidate *const stream = &decoder->candidates[i];
        if (stream->token < -1) {
            for (size_t j = (size_t)(stream->token - EARLIER); j < decoder->earlier.n; j++)
                logspace_total_add(&slot->pruned, decoder->earlier.entries[j].phi);
            continue;
        }
        const struct entry *const entry = &slot->now.entries[stream->entry];
        const double log_rest =
            entry->end == SB_END_NONE ? row_log_rest(slot_row(decoder, slot, entry)) : 0;
        logspace_total_add(&slot->pruned, logspace_product(entry->phi, log_rest));
    }
}

/* Moves the head of a stream to slot->next and sets the score of the stream to that of its next
 * element, or to -inf if there is none. The stream that gives the last entry of the beam keeps its
 * score, because prune counts the other children of its row. */
static sb_status take_head(sb_decoder *decoder, struct slot *slot, struct candidate *stream,
                           size_t width)
{
    if (stream->token < -1) {
        const size_t next = (size_t)(stream->token - EARLIER) + 1;
        const sb_status status = slot_push(decoder, slot, stream);
        if (next < decoder->earlier.n)
            *stream = slot_earlier(decoder, next);
        else
            stream->score = -INFINITY;
        return status;
    }
    if (slot->now.entries[stream->entry].end != SB_END_NONE) {
        const sb_status status = slot_push(decoder, slot, stream);
        stream->score = -INFINITY;
        return status;
    }
    struct children *const children = &decoder->streams[(size_t)stream->entry - slot->first_entry];
    const int32_t token = children_take(children);
    if (token < 0) {
        stream->score = -INFINITY;
        return SB_OK;
    }
    const sb_status status = slot_push_child(decoder, slot, stream->entry, token, stream->score);
    if (slot->next.n < width) {
        children_advance(children, &slot->key);
        stream->score = children->value;
    }
    return status;
}

sb_status merge_best(sb_decoder *decoder, struct slot *slot, size_t width, bool afresh)
{
    size_t n = 0;
    slot_set_aside(decoder, slot);
    sb_status status = open_streams(decoder, slot, afresh, &n);
    struct candidate *const heap = decoder->candidates;
    while (status == SB_OK && n > 0 && slot->next.n < width) {
        status = take_head(decoder, slot, &heap[0], width);
        if (heap[0].score == -INFINITY)
            heap[0] = heap[--n];
        if (slot->next.n < width)
            select_sift_down(heap, n, 0, select_before);
    }
    if (status == SB_OK)
        prune(decoder, slot, n);
    return status;
}
