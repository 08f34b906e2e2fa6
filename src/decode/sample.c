/* Ancestral sampling, with replacement (sample) and, by rejection, without (reject).
 *
 * sample: k independent samples. Sample i gets its uniform at each position from (seed, stream,
 * draw, i, position), so that the first j of k samples equal a draw of j. Samples that share a
 * prefix share its row: the beam is in the order of the rows, so equal children of one row are next
 * to each other.
 *
 * reject (section 4.2): draws samples in rounds, until k distinct sequences have been found or
 * max_samples have been drawn. Rounds only serve to evaluate many samples together; the result is
 * the same as if the samples were drawn one by one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "decode/method.h"

enum { LARGEST_ROUND = 4096 };

static sb_status start_samples(struct slot *slot, uint64_t first, uint64_t n)
{
    for (uint64_t i = first; i < first + n; i++) {
        const sb_status status = slot_push_root(slot, NAN, (int64_t)i);
        if (status != SB_OK)
            return status;
    }
    return SB_OK;
}

/* Orders by row (in `score`), then by token, then by entry. */
static int compare_choices(const void *a, const void *b)
{
    const struct candidate *const x = a, *const y = b;
    if (x->score != y->score)
        return x->score < y->score ? -1 : 1;
    if (x->token != y->token)
        return x->token < y->token ? -1 : 1;
    return (x->entry > y->entry) - (x->entry < y->entry);
}

static sb_status expand_samples(sb_decoder *decoder, struct slot *slot, sb_error *err)
{
    (void)err;
    const size_t n = slot->now.n;
    if (alloc_reserve(&decoder->candidates, &decoder->candidate_capacity, n,
                      sizeof *decoder->candidates) != SB_OK)
        return SB_ERR_MEMORY;
    struct candidate *const choices = decoder->candidates;
    for (size_t i = 0; i < n; i++) {
        const struct entry *const entry = &slot->now.entries[i];
        const double u = noise_of_sample(&slot->key, (uint64_t)entry->tag, (uint64_t)entry->depth);
        choices[i] = (struct candidate){(double)entry->row, (int32_t)i,
                                        row_pick(&decoder->rows[entry->row], u)};
    }
    qsort(choices, n, sizeof *choices, compare_choices);
    for (size_t i = 0; i < n; i++) {
        const sb_status status =
            slot_push_child(decoder, slot, choices[i].entry, choices[i].token, NAN);
        if (status != SB_OK)
            return status;
    }
    /* Finished samples leave the beam, so that all of its entries grow. */
    size_t n_live = 0;
    for (size_t i = 0; i < n; i++) {
        const struct entry *const entry = &slot->next.entries[i];
        if (entry->end == SB_END_NONE)
            slot->next.entries[n_live++] = *entry;
        else if (beam_append(&slot->done, entry) != SB_OK)
            return SB_ERR_MEMORY;
    }
    slot->next.n = n_live;
    return SB_OK;
}

static int compare_numbers(const void *a, const void *b)
{
    const struct entry *const x = a, *const y = b;
    return (x->tag > y->tag) - (x->tag < y->tag);
}

static void sort_by_number(struct beam *beam)
{
    if (beam->n > 0)
        qsort(beam->entries, beam->n, sizeof *beam->entries, compare_numbers);
}

/* --- sample --- */

static sb_status start_sample(sb_decoder *decoder, struct slot *slot)
{
    return start_samples(slot, 0, (uint64_t)decoder->config.k);
}

static sb_status finish_sample(sb_decoder *decoder, struct slot *slot)
{
    (void)decoder;
    sort_by_number(&slot->done);
    beam_swap(&slot->now, &slot->done);
    return SB_OK;
}

/* --- reject --- */

static sb_status start_round(const sb_decoder *decoder, struct slot *slot, uint64_t size)
{
    const uint64_t left = decoder->config.max_samples - slot->round_first;
    slot->round_size = size < left ? size : left;
    slot->step = 0;
    slot->now.n = slot->done.n = 0;
    return start_samples(slot, slot->round_first, slot->round_size);
}

static sb_status start_reject(sb_decoder *decoder, struct slot *slot)
{
    size_t size = 16;
    while (size < 2 * (size_t)decoder->config.k)
        size *= 2;
    if (slot->table_size < size) {
        int32_t *const table = alloc_resize(slot->found_table, size, sizeof *table);
        if (table == NULL)
            return SB_ERR_MEMORY;
        slot->found_table = table;
        slot->table_size = size;
    }
    memset(slot->found_table, -1, slot->table_size * sizeof *slot->found_table);
    return start_round(decoder, slot, (uint64_t)decoder->config.k);
}

/* Frees the paths of a round. slot->path holds the paths of the sequences found before, up to
 * kept_path, then all paths of the round. This moves the paths of the new sequences, from `first`
 * on, to the index after kept_path and drops the rest of the round. */
static sb_status pack_paths(sb_decoder *decoder, struct slot *slot, size_t first, size_t kept_path)
{
    int32_t *tokens = NULL;
    size_t n = 0, capacity = 0;
    sb_status status = SB_OK;
    for (size_t i = first; i < slot->found.n && status == SB_OK; i++) {
        const int32_t length = slot_read_path(decoder, slot, slot->found.entries[i].path, 0);
        status = length < 0
                     ? SB_ERR_MEMORY
                     : alloc_reserve(&tokens, &capacity, n + (size_t)length + 1, sizeof *tokens);
        if (status != SB_OK)
            break;
        tokens[n++] = length;
        for (int32_t j = 0; j < length; j++)
            tokens[n++] = decoder->tokens[j];
    }
    slot->n_path = kept_path;
    const int32_t *from = tokens;
    for (size_t i = first; i < slot->found.n && status == SB_OK; i++) {
        const int32_t length = *from++;
        status = slot->n_path + (size_t)length > INT32_MAX
                     ? SB_ERR_MEMORY
                     : alloc_reserve(&slot->path, &slot->path_capacity,
                                     slot->n_path + (size_t)length, sizeof *slot->path);
        int32_t previous = -1;
        for (int32_t j = 0; j < length && status == SB_OK; j++) {
            slot->path[slot->n_path] = (struct path_step){*from++, previous};
            previous = (int32_t)slot->n_path++;
        }
        slot->found.entries[i].path = previous;
    }
    alloc_free(tokens);
    return status;
}

/* Adds a sample to slot->found, unless its sequence is there. The node is already a hash. */
static sb_status add_if_new(struct slot *slot, const struct entry *sample)
{
    size_t i = sample->node.a & (slot->table_size - 1);
    for (; slot->found_table[i] >= 0; i = (i + 1) & (slot->table_size - 1))
        if (noise_same_node(slot->found.entries[slot->found_table[i]].node, sample->node))
            return SB_OK;
    slot->found_table[i] = (int32_t)slot->found.n;
    return beam_append(&slot->found, sample);
}

static sb_status finish_reject(sb_decoder *decoder, struct slot *slot)
{
    const size_t k = (size_t)decoder->config.k;
    const size_t first_new = slot->found.n;
    size_t kept_path = 0;
    for (size_t i = 0; i < slot->found.n; i++)
        if (slot->found.entries[i].path >= (int32_t)kept_path)
            kept_path = (size_t)slot->found.entries[i].path + 1;

    sort_by_number(&slot->done);
    for (size_t i = 0; i < slot->done.n && slot->found.n < k; i++) {
        const struct entry *const sample = &slot->done.entries[i];
        slot->samples++;
        slot->sampled_rows += (uint64_t)sample->depth;
        if (add_if_new(slot, sample) != SB_OK)
            return SB_ERR_MEMORY;
    }
    const sb_status status = pack_paths(decoder, slot, first_new, kept_path);
    if (status != SB_OK)
        return status;

    slot->round_first += slot->round_size;
    if (slot->found.n < k && slot->round_first < decoder->config.max_samples) {
        uint64_t most = k > LARGEST_ROUND ? k : LARGEST_ROUND;
        if (decoder->spec.max_rows > 0 && most > (uint64_t)decoder->spec.max_rows)
            most = (uint64_t)decoder->spec.max_rows;
        return start_round(decoder, slot,
                           2 * slot->round_size < most ? 2 * slot->round_size : most);
    }
    slot->result.complete = slot->found.n == k;
    slot->result.samples = slot->samples;
    slot->result.sampled_rows = slot->sampled_rows;
    beam_swap(&slot->now, &slot->found);
    return SB_OK;
}

const struct method method_sample = {
    .info = {.law = SB_LAW_INDEPENDENT},
    .row_use = ROWS_BOUNDED,
    .start = start_sample,
    .expand = expand_samples,
    .finish = finish_sample,
};
const struct method method_reject = {
    .info = {.law = SB_LAW_WITHOUT_REPLACEMENT,
             .counts_samples = true,
             .why_no_estimate =
                 "its draws have no kappa; method sbs draws by the same law and has one"},
    .row_use = ROWS_FLEXIBLE,
    .start = start_reject,
    .expand = expand_samples,
    .finish = finish_reject,
};
