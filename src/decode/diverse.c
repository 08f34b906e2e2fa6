/* Diverse Beam Search (Vijayakumar et al. 2018) with Hamming diversity.
 *
 * At each step G groups of k / G entries choose their next tokens, one group after the other. The
 * score of a token, EOS included, is lowered by `strength` for each time that an earlier group
 * chose it at this step. Finished entries choose nothing. Groups do not see each other's
 * candidates, so two of them may hold the same sequence. With penalty `path` the penalties add up
 * in the score of an entry (as in fairseq); with `step` they count only for the choice at their
 * step. The reported log-probabilities have no penalty. Each group has a root of its own, so the
 * root of an entry tells its group; the beam is in the order of the groups. */
#include "base/alloc.h"
#include "decode/method.h"
#include "decode/select.h"

static int32_t count_groups(const sb_config *config)
{
    return config->groups > 0 ? config->groups : config->k;
}

static sb_status start_diverse(sb_decoder *decoder, struct slot *slot)
{
    for (int32_t group = 0; group < count_groups(&decoder->config); group++) {
        const sb_status status = slot_push_root(slot, 0, group);
        if (status != SB_OK)
            return status;
    }
    return SB_OK;
}

static struct ranking rank_children(const sb_config *config, const struct entry *parent)
{
    return (struct ranking){config->penalty == SB_PENALTY_PATH ? parent->score : parent->phi, 1};
}

/* Makes the next entries of one group: entries [first, last) of the beam. */
static sb_status expand_group(sb_decoder *decoder, struct slot *slot, size_t first, size_t last,
                              struct shortlist *best)
{
    sb_status status = SB_OK;
    for (size_t i = first; i < last && status == SB_OK; i++) {
        const struct entry *const entry = &slot->now.entries[i];
        if (entry->end != SB_END_NONE)
            select_offer(best, (struct candidate){entry->score, (int32_t)i, -1});
        else
            status =
                select_children(decoder, slot, (int32_t)i, rank_children(&decoder->config, entry),
                                decoder->counts, best, best);
    }
    select_sort(best);
    for (size_t i = 0; i < best->n && status == SB_OK; i++) {
        const struct candidate *const c = &best->items[i];
        if (c->token < 0) {
            status = slot_keep(slot, c->entry);
            continue;
        }
        status = slot_push_child(decoder, slot, c->entry, c->token, c->score);
        if (status == SB_OK && decoder->config.penalty == SB_PENALTY_STEP) {
            struct entry *const child = &slot->next.entries[slot->next.n - 1];
            child->score = child->phi;
        }
    }
    for (size_t i = 0; i < best->n; i++)
        if (best->items[i].token >= 0)
            decoder->counts[best->items[i].token]++;
    return status;
}

static sb_status expand_diverse(sb_decoder *decoder, struct slot *slot, sb_error *err)
{
    (void)err;
    const size_t width = (size_t)(decoder->config.k / count_groups(&decoder->config));
    if (alloc_reserve(&decoder->candidates, &decoder->candidate_capacity, width,
                      sizeof *decoder->candidates) != SB_OK)
        return SB_ERR_MEMORY;
    sb_status status = SB_OK;
    for (size_t first = 0, last; first < slot->now.n && status == SB_OK; first = last) {
        for (last = first; last < slot->now.n; last++)
            if (slot->now.entries[last].root != slot->now.entries[first].root)
                break;
        struct shortlist best = {decoder->candidates, 0, width};
        status = expand_group(decoder, slot, first, last, &best);
    }
    /* Only tokens that were chosen have a count. */
    for (size_t i = 0; i < slot->next.n; i++)
        if (slot->next.entries[i].token >= 0)
            decoder->counts[slot->next.entries[i].token] = 0;
    return status;
}

/* Sorts the beam by group, then by score: with penalty `step` the choice was made by another score.
 * An insertion sort will do, because groups are small. */
static sb_status finish_diverse(sb_decoder *decoder, struct slot *slot)
{
    (void)decoder;
    struct entry *const entries = slot->now.entries;
    for (size_t i = 1; i < slot->now.n; i++) {
        const struct entry moved = entries[i];
        size_t to = i;
        for (; to > 0 && entries[to - 1].root == moved.root && entries[to - 1].score < moved.score;
             to--)
            entries[to] = entries[to - 1];
        entries[to] = moved;
    }
    return SB_OK;
}

const struct method method_diverse = {
    .info = {.law = SB_LAW_DETERMINISTIC,
             .has_repeats = true,
             .why_no_estimate = "it chooses sequences that differ, not by the model's law"},
    .row_use = ROWS_BOUNDED,
    .start = start_diverse,
    .expand = expand_diverse,
    .finish = finish_diverse,
};
