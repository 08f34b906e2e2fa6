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

/* Makes the next entries of one group from its part of this chunk, entries [first, last) of the
 * beam, and from those that earlier chunks have made for it: decoder->earlier from n_others on. If
 * the group is complete, counts the tokens that it has chosen. */
static sb_status expand_group(sb_decoder *decoder, struct slot *slot, size_t first, size_t last,
                              size_t n_others, struct shortlist *best)
{
    const size_t n_before = slot->next.n;
    sb_status status = SB_OK;
    for (size_t i = n_others; i < decoder->earlier.n; i++)
        select_offer(best, slot_earlier(decoder, i));
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
    for (size_t i = 0; i < best->n && status == SB_OK; i++)
        status = slot_push(decoder, slot, &best->items[i]);
    if (last < slot->now.n && slot->now.entries[last].root == slot->now.entries[first].root)
        return status; /* the next chunk continues the group */
    for (size_t i = n_before; i < slot->next.n; i++) {
        struct entry *const entry = &slot->next.entries[i];
        if (entry->is_new && decoder->config.penalty == SB_PENALTY_STEP)
            entry->score = entry->phi;
        if (entry->is_new)
            decoder->counts[entry->token]++;
    }
    return status;
}

/* Puts the entries of the groups that earlier chunks have completed back on slot->next and counts
 * their tokens. *n becomes the number of these entries. */
static sb_status keep_groups(sb_decoder *decoder, struct slot *slot, size_t *n)
{
    const int64_t root = slot->now.entries[slot->first_entry].root;
    sb_status status = SB_OK;
    for (*n = 0; *n < decoder->earlier.n && status == SB_OK; ++*n) {
        const struct entry *const entry = &decoder->earlier.entries[*n];
        if (entry->root == root)
            break;
        if (entry->is_new)
            decoder->counts[entry->token]++;
        status = beam_append(&slot->next, entry);
    }
    return status;
}

static sb_status expand_diverse(sb_decoder *decoder, struct slot *slot)
{
    const size_t width = (size_t)(decoder->config.k / count_groups(&decoder->config));
    if (alloc_reserve(&decoder->candidates, &decoder->candidate_capacity, width,
                      sizeof *decoder->candidates) != SB_OK)
        return SB_ERR_MEMORY;
    size_t n_others;
    slot_set_aside(decoder, slot);
    sb_status status = keep_groups(decoder, slot, &n_others);
    for (size_t first = slot->first_entry, last; first < slot->end_entry && status == SB_OK;
         first = last) {
        for (last = first; last < slot->end_entry; last++)
            if (slot->now.entries[last].root != slot->now.entries[first].root)
                break;
        struct shortlist best = {decoder->candidates, 0, width};
        status = expand_group(decoder, slot, first, last, n_others, &best);
        n_others = decoder->earlier.n; /* only the first group has begun before */
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
