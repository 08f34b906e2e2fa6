/* Biased shortcuts: they look like sampling without replacement, but their law is another one. They
 * are here only to show how far they are from it. None has G, kappa or log_p_draw.
 *
 * resample: the naive alternative of section 4.1, which samples without replacement afresh at each
 * step. The G of a prefix is drawn again from Gumbel(phi) instead of being kept, so a rare prefix
 * must win at every step.
 *
 * commit: the hard commitment of section 4.1. k first tokens are drawn without replacement; from
 * then on each prefix gets one child, drawn from its conditional distribution. No two sequences
 * share their first token, so there are at most as many sequences as first tokens. The noise is
 * that of sbs: each sequence is the best of all that begin with its first token.
 *
 * beam-sample: as in engines that put sampling into a beam search. At each step 2k candidates are
 * drawn afresh, without replacement, from the softmax of the cumulated log-probabilities, and
 * the k likeliest of them continue. As in sbs, a finished sequence stays and competes. */
#include <stdlib.h>

#include "decode/merge.h"
#include "decode/method.h"

#define WHY_NO_ESTIMATE "its draws do not follow the model's law"

static sb_status expand_resample(sb_decoder *decoder, struct slot *slot)
{
    return merge_best(decoder, slot, (size_t)decoder->config.k, true);
}

/* Sets `exhausted`: all sequences are returned if no step has left anything out. */
static sb_status finish_naive(sb_decoder *decoder, struct slot *slot)
{
    (void)decoder;
    slot->result.exhausted = slot->pruned.scaled == 0;
    return SB_OK;
}

/* --- commit --- */

/* Pushes the best child of entry i by G; it is child j with probability p_j. */
static sb_status push_one_child(sb_decoder *decoder, struct slot *slot, size_t i)
{
    const struct entry *const entry = &slot->now.entries[i];
    struct children stream;
    children_open(&stream, &slot->key, slot_row(decoder, slot, entry), entry->node, entry->phi,
                  entry->score);
    const int32_t token = children_take(&stream);
    logspace_total_add(&slot->pruned, logspace_product(entry->phi, row_log_rest(stream.row)));
    return slot_push_child(decoder, slot, (int32_t)i, token, entry->score);
}

static sb_status expand_commit(sb_decoder *decoder, struct slot *slot)
{
    if (slot->step == 0)
        return merge_best(decoder, slot, (size_t)decoder->config.k, false);
    sb_status status = SB_OK;
    for (size_t i = slot->first_entry; i < slot->end_entry && status == SB_OK; i++)
        status = slot->now.entries[i].end == SB_END_NONE ? push_one_child(decoder, slot, i)
                                                         : slot_keep(slot, (int32_t)i);
    return status;
}

/* --- beam-sample --- */

/* Orders by descending probability, then by the order of the parents, then by token. */
static int compare_phi(const void *a, const void *b)
{
    const struct entry *const x = a, *const y = b;
    if (x->phi != y->phi)
        return x->phi > y->phi ? -1 : 1;
    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    return (x->token > y->token) - (x->token < y->token);
}

static sb_status expand_beam_sample(sb_decoder *decoder, struct slot *slot)
{
    const size_t k = (size_t)decoder->config.k;
    const sb_status status = merge_best(decoder, slot, 2 * k, true);
    if (status != SB_OK || !slot_is_last_chunk(slot))
        return status;
    qsort(slot->next.entries, slot->next.n, sizeof *slot->next.entries, compare_phi);
    for (; slot->next.n > k; slot->next.n--)
        logspace_total_add(&slot->pruned, slot->next.entries[slot->next.n - 1].phi);
    return SB_OK;
}

const struct method method_resample = {
    .info = {.law = SB_LAW_BIASED, .why_no_estimate = WHY_NO_ESTIMATE},
    .row_use = ROWS_BOUNDED,
    .ranks_by_noise = true,
    .start = merge_start,
    .expand = expand_resample,
    .finish = finish_naive,
};
const struct method method_commit = {
    .info = {.law = SB_LAW_BIASED, .why_no_estimate = WHY_NO_ESTIMATE},
    .row_use = ROWS_BOUNDED,
    .start = merge_start,
    .expand = expand_commit,
    .finish = finish_naive,
};
const struct method method_beam_sample = {
    .info = {.law = SB_LAW_BIASED, .why_no_estimate = WHY_NO_ESTIMATE},
    .row_use = ROWS_BOUNDED,
    .ranks_by_noise = true,
    .start = merge_start,
    .expand = expand_beam_sample,
    .finish = finish_naive,
};
