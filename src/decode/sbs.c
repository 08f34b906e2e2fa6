/* Stochastic Beam Search, and its two relatives.
 *
 * sbs: the next beam is the k best of all children and finished leaves by their perturbed
 * log-probability G. Each prefix yields its children best first (math/children.h), so the beam is a
 * k-way merge of streams, and comes out in descending order of G. A finished leaf is a stream of
 * one.
 *
 * explicit: the same without pruning, over the whole tree.
 *
 * resample: the naive alternative of section 4.1, which samples without replacement afresh at each
 * step: G of a prefix is drawn anew from Gumbel(phi) instead of being kept. It is biased, and kept
 * to show it. */
#include <math.h>

#include "base/alloc.h"
#include "base/status.h"
#include "decode/decode.h"
#include "decode/select.h"
#include "math/logspace.h"

enum { MOST_NODES = 1000000 }; /* of an explicit tree */

/* Where the merge begins: a heap of streams, in decoder->candidates, whose score is the value of
 * the best child of an entry, or of the leaf itself. */
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

/* Notes the mass of what the first n streams of the heap still hold. */
static void prune(const sb_decoder *decoder, struct slot *slot, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct entry *const entry = &slot->now.entries[decoder->candidates[i].entry];
        const double log_rest =
            entry->end == SB_END_NONE ? row_log_rest(&decoder->rows[entry->row]) : 0;
        logspace_total_add(&slot->pruned, entry->phi + log_rest);
    }
}

/* The `width` best of all streams. */
static sb_status merge(sb_decoder *decoder, struct slot *slot, size_t width, bool afresh)
{
    sb_status status = open_streams(decoder, slot, afresh);
    struct candidate *const heap = decoder->candidates;
    size_t n = slot->now.n;
    while (status == SB_OK && n > 0) {
        const int32_t i = heap[0].entry;
        const struct entry *const entry = &slot->now.entries[i];
        double next = -INFINITY;
        if (entry->end != SB_END_NONE) {
            status = decode_keep(slot, i);
            if (status == SB_OK)
                slot->next.entries[slot->next.n - 1].score = heap[0].score;
        } else {
            struct children *const stream = &decoder->streams[i];
            const int32_t token = children_take(stream);
            if (token >= 0) {
                status = decode_push_child(decoder, slot, i, token, heap[0].score);
                if (slot->next.n < width)
                    children_advance(stream, &slot->key);
                next = stream->value;
            }
        }
        if (slot->next.n >= width && entry->end == SB_END_NONE)
            break; /* what is left of this stream is pruned too */
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

static sb_status start_at_root(sb_decoder *decoder, struct slot *slot)
{
    (void)decoder;
    const struct noise_node root = {0, 0};
    return decode_push_root(slot, logspace_gumbel(0, noise_of_child(&slot->key, root, 0).value), 0);
}

static sb_status expand_sbs(sb_decoder *decoder, struct slot *slot, sb_error *err)
{
    (void)err;
    return merge(decoder, slot, (size_t)decoder->config.k + (decoder->config.kappa ? 1 : 0), false);
}

static sb_status expand_resample(sb_decoder *decoder, struct slot *slot, sb_error *err)
{
    (void)err;
    return merge(decoder, slot, (size_t)decoder->config.k, true);
}

static sb_status expand_explicit(sb_decoder *decoder, struct slot *slot, sb_error *err)
{
    /* Finished leaves, then as many nodes as may still be made, and one to notice that it is over.
     */
    const sb_status status =
        merge(decoder, slot, slot->now.n + (size_t)(MOST_NODES - slot->count) + 1, false);
    for (size_t i = 0; i < slot->next.n; i++)
        slot->count += slot->next.entries[i].is_new;
    if (status == SB_OK && slot->count > MOST_NODES)
        return status_fail(err, SB_ERR_LIMIT,
                           "the explicit tree has more than %d nodes; use method sbs, which gives "
                           "the same sequences",
                           MOST_NODES);
    return status;
}

/* The beam is in order of G; what follows number k is the threshold. */
static sb_status finish_sorted(sb_decoder *decoder, struct slot *slot)
{
    const size_t k = (size_t)decoder->config.k;
    sb_result *const result = &slot->result;
    result->exhausted = slot->now.n <= k && slot->pruned.scaled == 0;
    if (result->exhausted)
        result->kappa = -INFINITY;
    else if (slot->now.n > k)
        result->kappa = slot->now.entries[k].score;
    for (; slot->now.n > k; slot->now.n--)
        logspace_total_add(&slot->pruned, slot->now.entries[slot->now.n - 1].phi);
    return SB_OK;
}

static sb_status finish_resample(sb_decoder *decoder, struct slot *slot)
{
    slot->result.exhausted = slot->now.n < (size_t)decoder->config.k;
    return SB_OK;
}

const struct method method_sbs = {"sbs", start_at_root, expand_sbs, finish_sorted, true, true};
const struct method method_explicit = {"explicit",    start_at_root, expand_explicit,
                                       finish_sorted, true,          true};
const struct method method_resample = {"resample",      start_at_root, expand_resample,
                                       finish_resample, false,         false};
