/* Deterministic beam search over tempered log-probabilities.
 *
 * finished stay: the paper's padded beam. A finished hypothesis stays on the beam and competes. The
 * search ends when all k are finished.
 * finished leave: as in fairseq. At each step a candidate that ends a sequence finishes if it is
 * among the k best candidates, and is dropped otherwise. The k best of the other candidates
 * continue. The search ends when no live hypothesis can enter the k best finished ones. At max_len
 * the live hypotheses become leaves and compete.
 *
 * With a length penalty A, hypotheses are ranked by log_p / length^A; the length includes EOS. */
#include <math.h>

#include "base/alloc.h"
#include "decode/method.h"
#include "decode/select.h"

static double rank_score(const sb_config *config, double log_p, int32_t length)
{
    return config->length_penalty == 0 ? log_p : log_p / pow(length, config->length_penalty);
}

static struct ranking rank_children(const sb_config *config, const struct entry *parent)
{
    return (struct ranking){rank_score(config, parent->phi, parent->depth + 1),
                            rank_score(config, 1, parent->depth + 1)};
}

/* The hypotheses that have left the beam (finished leave). */
struct finished {
    struct beam done;
    struct beam merged; /* workspace of retire */
};

static void close_beam(void *own)
{
    struct finished *const finished = own;
    alloc_free(finished->done.entries);
    alloc_free(finished->merged.entries);
}

static sb_status start_beam(sb_decoder *decoder, struct slot *slot)
{
    (void)decoder;
    struct finished *const finished = slot->own;
    finished->done.n = 0;
    return slot_push_root(slot, 0, 0);
}

static bool is_finished(const struct entry *entry)
{
    return entry->end != SB_END_NONE;
}

/* Makes an empty list of at most k. Returns false if memory is short. */
static bool open_list(const sb_decoder *decoder, struct candidate **items, size_t *capacity,
                      struct shortlist *list)
{
    const size_t k = (size_t)decoder->config.k;
    if (alloc_reserve(items, capacity, k, sizeof **items) != SB_OK)
        return false;
    *list = (struct shortlist){*items, 0, k};
    return true;
}

static sb_status expand_stay(sb_decoder *decoder, struct slot *slot)
{
    struct shortlist best;
    if (!open_list(decoder, &decoder->candidates, &decoder->candidate_capacity, &best))
        return SB_ERR_MEMORY;
    sb_status status = SB_OK;
    slot_set_aside(decoder, slot);
    for (size_t i = 0; i < decoder->earlier.n; i++)
        select_offer(&best, slot_earlier(decoder, i));
    for (size_t i = slot->first_entry; i < slot->end_entry && status == SB_OK; i++) {
        const struct entry *const entry = &slot->now.entries[i];
        if (is_finished(entry))
            select_offer(&best, (struct candidate){entry->score, (int32_t)i, -1});
        else
            status = select_children(decoder, slot, (int32_t)i,
                                     rank_children(&decoder->config, entry), NULL, &best, &best);
    }
    select_sort(&best);
    for (size_t i = 0; i < best.n && status == SB_OK; i++)
        status = slot_push(decoder, slot, &best.items[i]);
    return status;
}

/* Moves the finished entries of slot->next to `done` and keeps the k best there. Both lists are in
 * descending order of score. Of equal scores, the one that finished first comes first. */
static sb_status retire(const sb_decoder *decoder, struct slot *slot)
{
    struct finished *const finished = slot->own;
    const struct beam *const done = &finished->done;
    struct beam *const merged = &finished->merged;
    size_t n_live = 0, n_taken = 0;
    sb_status status = SB_OK;
    merged->n = 0;
    for (size_t i = 0; i < slot->next.n; i++) {
        const struct entry *const entry = &slot->next.entries[i];
        if (!is_finished(entry)) {
            slot->next.entries[n_live++] = *entry;
            continue;
        }
        while (n_taken < done->n && done->entries[n_taken].score >= entry->score && status == SB_OK)
            status = beam_append(merged, &done->entries[n_taken++]);
        if (status == SB_OK)
            status = beam_append(merged, entry);
    }
    slot->next.n = n_live;
    if (merged->n == 0)
        return status;
    while (n_taken < done->n && status == SB_OK)
        status = beam_append(merged, &done->entries[n_taken++]);
    if (merged->n > (size_t)decoder->config.k)
        merged->n = (size_t)decoder->config.k;
    beam_swap(&finished->done, merged);
    return status;
}

/* Returns whether no live entry can still enter the k best finished ones. */
static bool is_settled(const sb_decoder *decoder, const struct slot *slot)
{
    const sb_config *const config = &decoder->config;
    const struct finished *const finished = slot->own;
    if (finished->done.n < (size_t)config->k)
        return false;
    if (config->early_stop || slot->next.n == 0)
        return true;
    /* log_p only falls from here. log_p / length^A is monotonic in the length, so no score
     * to come is above those of the present log_p at the shortest and at the longest length. */
    const struct entry *const best = &slot->next.entries[0];
    const double bound = fmax(rank_score(config, best->phi, best->depth + 1),
                              rank_score(config, best->phi, config->max_len));
    return finished->done.entries[finished->done.n - 1].score >= bound;
}

/* Pushes both sorted lists as one, best first: this is the order in which equal scores finish. */
static sb_status push_in_order(sb_decoder *decoder, struct slot *slot, const struct shortlist *live,
                               const struct shortlist *leaves, sb_status status)
{
    for (size_t i = 0, j = 0; (i < live->n || j < leaves->n) && status == SB_OK;) {
        const bool is_live =
            j == leaves->n || (i < live->n && select_before(&live->items[i], &leaves->items[j]));
        const struct candidate *const c = is_live ? &live->items[i++] : &leaves->items[j++];
        status = slot_push(decoder, slot, c);
    }
    return status;
}

static sb_status expand_leave(sb_decoder *decoder, struct slot *slot)
{
    struct shortlist live, leaves;
    if (!open_list(decoder, &decoder->candidates, &decoder->candidate_capacity, &live) ||
        !open_list(decoder, &decoder->leaves, &decoder->leaf_capacity, &leaves))
        return SB_ERR_MEMORY;
    sb_status status = SB_OK;
    slot_set_aside(decoder, slot);
    for (size_t i = 0; i < decoder->earlier.n; i++) {
        const sb_end end = decoder->earlier.entries[i].end;
        select_offer(end == SB_END_NONE || end == SB_END_MAX_LEN ? &live : &leaves,
                     slot_earlier(decoder, i));
    }
    for (size_t i = slot->first_entry; i < slot->end_entry && status == SB_OK; i++)
        status = select_children(decoder, slot, (int32_t)i,
                                 rank_children(&decoder->config, &slot->now.entries[i]), NULL,
                                 &live, &leaves);
    select_sort(&live);
    select_sort(&leaves);
    /* Each list holds its own k best, so together they hold the k best of all. */
    size_t n_live = 0, n_leaves = 0;
    while (n_live + n_leaves < (size_t)decoder->config.k && n_leaves < leaves.n) {
        if (n_live < live.n && select_before(&live.items[n_live], &leaves.items[n_leaves]))
            n_live++;
        else
            n_leaves++;
    }
    leaves.n = n_leaves;
    return push_in_order(decoder, slot, &live, &leaves, status);
}

static sb_status settle_beam(sb_decoder *decoder, struct slot *slot, sb_error *err)
{
    (void)err;
    if (decoder->config.finished == SB_FINISHED_LEAVE) {
        const sb_status status = retire(decoder, slot);
        if (status == SB_OK && is_settled(decoder, slot))
            slot->n_wanted = 0;
        return status;
    }
    if (decoder->config.early_stop && slot->next.n > 0 && is_finished(&slot->next.entries[0]))
        slot->n_wanted = 0;
    return SB_OK;
}

static sb_status expand_beam(sb_decoder *decoder, struct slot *slot)
{
    return decoder->config.finished == SB_FINISHED_STAY ? expand_stay(decoder, slot)
                                                        : expand_leave(decoder, slot);
}

static sb_status finish_beam(sb_decoder *decoder, struct slot *slot)
{
    if (decoder->config.finished == SB_FINISHED_LEAVE) {
        struct finished *const finished = slot->own;
        beam_swap(&slot->now, &finished->done);
        return SB_OK;
    }
    /* After an early stop some entries have not finished; they are dropped. */
    size_t n = 0;
    bool all = true;
    for (size_t i = 0; i < slot->now.n; i++) {
        if (is_finished(&slot->now.entries[i]))
            slot->now.entries[n++] = slot->now.entries[i];
        else
            all = false;
    }
    slot->now.n = n;
    slot->result.exhausted = all && n < (size_t)decoder->config.k;
    return SB_OK;
}

const struct method method_beam = {
    .info = {.law = SB_LAW_DETERMINISTIC},
    .row_use = ROWS_BOUNDED,
    .own_size = sizeof(struct finished),
    .close = close_beam,
    .start = start_beam,
    .expand = expand_beam,
    .settle = settle_beam,
    .finish = finish_beam,
};
