/* Stochastic Beam Search, with and without pruning.
 *
 * sbs: the next beam is the k best of all children and finished leaves by their perturbed
 * log-probability G (decode/merge.h); k + 1 with kappa.
 *
 * explicit: keeps all children instead, with the same noise. It visits the whole tree, to prove
 * that the pruning of sbs changes nothing. */
#include <math.h>

#include "base/status.h"
#include "decode/merge.h"
#include "decode/method.h"
#include "math/logspace.h"

enum { MOST_NODES = 1000000 }; /* of an explicit tree */

/* A beam has one row for each entry that grows. */
static int64_t beam_width(const sb_config *config)
{
    return (int64_t)config->k + (config->kappa ? 1 : 0);
}

static sb_status expand_sbs(sb_decoder *decoder, struct slot *slot)
{
    return merge_best(decoder, slot, (size_t)beam_width(&decoder->config), false);
}

struct explicit_tree {
    uint64_t n_nodes; /* made so far */
};

static sb_status start_explicit(sb_decoder *decoder, struct slot *slot)
{
    struct explicit_tree *const tree = slot->own;
    tree->n_nodes = 0;
    return merge_start(decoder, slot);
}

static sb_status expand_explicit(sb_decoder *decoder, struct slot *slot)
{
    const struct explicit_tree *const tree = slot->own;
    /* The width has room for the finished leaves, for all nodes that may still be made, and for one
     * more, which shows that there are too many. */
    return merge_best(decoder, slot, slot->now.n + (size_t)(MOST_NODES - tree->n_nodes) + 1, false);
}

static sb_status settle_explicit(sb_decoder *decoder, struct slot *slot, sb_error *err)
{
    (void)decoder;
    struct explicit_tree *const tree = slot->own;
    for (size_t i = 0; i < slot->next.n; i++)
        tree->n_nodes += slot->next.entries[i].is_new;
    if (tree->n_nodes > MOST_NODES)
        return status_fail(err, SB_ERR_LIMIT,
                           "the explicit tree has more than %d nodes; use method sbs, which gives "
                           "the same sequences",
                           MOST_NODES);
    return SB_OK;
}

/* Sets kappa and exhausted. The beam is in the order of G, so the threshold is the G of the entry
 * after the first k. */
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

const struct method method_sbs = {
    .info = {.law = SB_LAW_WITHOUT_REPLACEMENT, .has_g = true},
    .row_use = ROWS_BOUNDED,
    .ranks_by_noise = true,
    .needed_rows = beam_width,
    .start = merge_start,
    .expand = expand_sbs,
    .finish = finish_sorted,
};
const struct method method_explicit = {
    .info = {.law = SB_LAW_WITHOUT_REPLACEMENT, .has_g = true},
    .row_use = ROWS_WHOLE_LEVEL,
    .ranks_by_noise = true,
    .own_size = sizeof(struct explicit_tree),
    .start = start_explicit,
    .expand = expand_explicit,
    .settle = settle_explicit,
    .finish = finish_sorted,
};
