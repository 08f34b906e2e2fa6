/* The method sample: k independent ancestral samples, in the order of their numbers. The first j of
 * k samples equal a draw of j. */
#include "decode/sample.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "decode/method.h"

sb_status sample_start(struct slot *slot, uint64_t first, uint64_t n)
{
    struct samples *const samples = slot->own;
    samples->done.n = 0;
    for (uint64_t i = first; i < first + n; i++) {
        const sb_status status = slot_push_root(slot, NAN, (int64_t)i);
        if (status != SB_OK)
            return status;
    }
    return SB_OK;
}

/* Orders by row, then by token, then by entry. */
static int compare_choices(const void *a, const void *b)
{
    const struct choice *const x = a, *const y = b;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    if (x->token != y->token)
        return x->token < y->token ? -1 : 1;
    return (x->entry > y->entry) - (x->entry < y->entry);
}

sb_status sample_expand(sb_decoder *decoder, struct slot *slot)
{
    struct samples *const samples = slot->own;
    const size_t n = slot->end_entry - slot->first_entry;
    if (alloc_reserve(&samples->choices, &samples->choice_capacity, n, sizeof(struct choice)) !=
        SB_OK)
        return SB_ERR_MEMORY;
    for (size_t i = 0; i < n; i++) {
        const struct entry *const entry = &slot->now.entries[slot->first_entry + i];
        const double u = noise_of_sample(&slot->key, (uint64_t)entry->root, (uint64_t)entry->depth);
        samples->choices[i] =
            (struct choice){entry->row, row_pick(slot_row(decoder, slot, entry), u),
                            (int32_t)(slot->first_entry + i)};
    }
    qsort(samples->choices, n, sizeof(struct choice), compare_choices);
    for (size_t i = 0; i < n; i++) {
        const struct choice *const choice = &samples->choices[i];
        const sb_status status = slot_push_child(decoder, slot, choice->entry, choice->token, NAN);
        if (status != SB_OK)
            return status;
    }
    return SB_OK;
}

sb_status sample_settle(sb_decoder *decoder, struct slot *slot, sb_error *err)
{
    (void)decoder, (void)err;
    struct samples *const samples = slot->own;
    size_t n_live = 0;
    for (size_t i = 0; i < slot->next.n; i++) {
        const struct entry *const entry = &slot->next.entries[i];
        if (entry->end == SB_END_NONE)
            slot->next.entries[n_live++] = *entry;
        else if (beam_append(&samples->done, entry) != SB_OK)
            return SB_ERR_MEMORY;
    }
    slot->next.n = n_live;
    return SB_OK;
}

static int compare_numbers(const void *a, const void *b)
{
    const struct entry *const x = a, *const y = b;
    return (x->root > y->root) - (x->root < y->root);
}

void sample_sort(struct samples *samples)
{
    if (samples->done.n > 0)
        qsort(samples->done.entries, samples->done.n, sizeof(struct entry), compare_numbers);
}

void sample_close(void *own)
{
    struct samples *const samples = own;
    alloc_free(samples->done.entries);
    alloc_free(samples->choices);
}

static sb_status start_sample(sb_decoder *decoder, struct slot *slot)
{
    return sample_start(slot, 0, (uint64_t)decoder->config.k);
}

static sb_status finish_sample(sb_decoder *decoder, struct slot *slot)
{
    (void)decoder;
    struct samples *const samples = slot->own;
    sample_sort(samples);
    beam_swap(&slot->now, &samples->done);
    return SB_OK;
}

const struct method method_sample = {
    .info = {.law = SB_LAW_INDEPENDENT, .has_repeats = true},
    .row_use = ROWS_BOUNDED,
    .own_size = sizeof(struct samples),
    .close = sample_close,
    .start = start_sample,
    .expand = sample_expand,
    .settle = sample_settle,
    .finish = finish_sample,
};
