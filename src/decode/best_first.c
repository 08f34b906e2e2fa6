#include "decode/best_first.h"

#include <math.h>

#include "base/alloc.h"
#include "decode/best_first_states.h"
#include "decode/config.h"
#include "decode/merge.h"
#include "decode/method.h"
#include "decode/result.h"

static sb_status start(sb_decoder *decoder, struct slot *slot)
{
    struct best_first *const own = best_first_of(slot);
    frontier_clear(&own->frontier);
    best_first_clear(own);
    own->found = LOGSPACE_NOTHING;
    own->n_texts = 0;
    const sb_status status = merge_start(decoder, slot);
    beam_swap(&slot->now, &slot->next);
    return status;
}

/* --- the frontier --- */

/* Returns the number of entries that the frontier may hold. Each of them may still become a
 * sequence, or kappa; a worse entry is dropped. */
static size_t most_entries(const sb_decoder *decoder, const struct slot *slot)
{
    if (decoder->is_endless)
        return SIZE_MAX;
    return (size_t)decoder->config.k - slot->now.n + (config_has_kappa(&decoder->config) ? 1 : 0);
}

static bool is_full(const sb_decoder *decoder, const struct slot *slot)
{
    return frontier_size(&best_first_of(slot)->frontier) >= most_entries(decoder, slot);
}

/* Drops the worst entry of the frontier. Returns false if there is none. */
static bool drop_worst(sb_decoder *decoder, struct slot *slot)
{
    struct entry worst;
    if (!frontier_take_worst(&best_first_of(slot)->frontier, &worst))
        return false;
    logspace_total_add(&slot->pruned, worst.phi);
    if (worst.end == SB_END_NONE)
        best_first_drop_parent(decoder, slot, &worst);
    return true;
}

static void drop_all(sb_decoder *decoder, struct slot *slot)
{
    while (drop_worst(decoder, slot)) {
    }
    best_first_drop_kept(decoder, slot);
}

/* Adds an entry to the frontier. Drops the worst one if there are too many. */
static sb_status push(sb_decoder *decoder, struct slot *slot, const struct entry *entry)
{
    while (is_full(decoder, slot))
        drop_worst(decoder, slot);
    const sb_status status = frontier_push(&best_first_of(slot)->frontier, entry);
    if (status == SB_OK && entry->end == SB_END_NONE)
        best_first_hold_parent(decoder, slot, entry);
    return status;
}

/* --- expanding --- */

/* Takes children of a node, best first: at most `most`, and only as long as the frontier has room
 * for them. Appends their tokens to rest->taken, unless `rest` is NULL. */
static sb_status take_children(sb_decoder *decoder, struct slot *slot, const struct entry *node,
                               struct children *children, struct rest *rest, size_t most)
{
    const struct frontier *const frontier = &best_first_of(slot)->frontier;
    for (size_t n = 0; n < most; n++) {
        if (children->value == -INFINITY ||
            (is_full(decoder, slot) && children->value <= frontier_worst(frontier)))
            return SB_OK;
        const double score = children->value;
        const int32_t token = children_take(children);
        if (token < 0) {
            children->value = -INFINITY;
            return SB_OK;
        }
        struct entry child;
        sb_status status = slot_make_child(decoder, slot, node, token, score, &child);
        if (status == SB_OK)
            status = push(decoder, slot, &child);
        if (status == SB_OK && rest != NULL)
            status = alloc_reserve(&rest->taken, &rest->capacity, rest->n + 1, sizeof(int32_t));
        if (status != SB_OK)
            return status;
        if (rest != NULL)
            rest->taken[rest->n++] = token;
        children_advance(children, &slot->key);
    }
    return SB_OK;
}

/* Expands a node for a draw of k sequences. Children that do not fit into the frontier are
 * dropped. */
static sb_status expand_node(sb_decoder *decoder, struct slot *slot, const struct entry *node)
{
    struct row *const row = slot_row(decoder, slot, node);
    struct children children;
    children_open(&children, &slot->key, row, node->node, node->phi, node->score);
    const sb_status status = take_children(decoder, slot, node, &children, NULL, SIZE_MAX);
    if (status == SB_OK)
        logspace_total_add(&slot->pruned, logspace_product(node->phi, row_log_rest(row)));
    return status;
}

/* Writes the number of an empty rest to *number. */
static sb_status open_rest(struct best_first *own, int32_t *number)
{
    if (own->n_unused == 0) {
        const size_t n = own->n_rests + 1;
        if (n > INT32_MAX ||
            alloc_reserve(&own->rests, &own->rest_capacity, n, sizeof *own->rests) != SB_OK ||
            alloc_reserve(&own->unused, &own->unused_capacity, n, sizeof *own->unused) != SB_OK)
            return SB_ERR_MEMORY;
        own->rests[own->n_rests] = (struct rest){0};
        own->unused[own->n_unused++] = (int32_t)own->n_rests++;
    }
    *number = own->unused[--own->n_unused];
    return SB_OK;
}

static void close_rest(struct best_first *own, int32_t number)
{
    alloc_free(own->rests[number].taken);
    own->rests[number] = (struct rest){0};
    own->unused[own->n_unused++] = number;
}

/* Expands a node for a cursor, or takes more children of its rest. */
static sb_status expand_partly(sb_decoder *decoder, struct slot *slot, struct entry *node)
{
    struct best_first *const own = best_first_of(slot);
    struct row *const row = slot_row(decoder, slot, node);
    struct children children;
    if (node->rest < 0) {
        children_open(&children, &slot->key, row, node->node, node->phi, node->score);
        if (open_rest(own, &node->rest) != SB_OK)
            return SB_ERR_MEMORY;
    } else {
        const struct rest *const before = &own->rests[node->rest];
        children_resume(&children, &slot->key, row, node->node, node->phi, node->score,
                        before->taken, before->n);
    }
    struct rest *const rest = &own->rests[node->rest];
    /* Doubling keeps the work proportional to the number of children. */
    const size_t most = rest->n > 0 ? rest->n : decoder->first_children;
    const sb_status status = take_children(decoder, slot, node, &children, rest, most);
    if (status != SB_OK)
        return status;
    if (children.value == -INFINITY) {
        close_rest(own, node->rest);
        return SB_OK;
    }
    rest->phi = logspace_product(node->phi, row_log_rest(row));
    node->score = children.value;
    return push(decoder, slot, node);
}

/* Adds a node to the frontier as a leaf, because its row has no children. */
static sb_status push_leaf(sb_decoder *decoder, struct slot *slot, const struct entry *node)
{
    struct entry leaf = *node;
    leaf.end = SB_END_LEAF;
    if (is_full(decoder, slot) && leaf.score <= frontier_worst(&best_first_of(slot)->frontier)) {
        logspace_total_add(&slot->pruned, leaf.phi);
        return SB_OK;
    }
    return push(decoder, slot, &leaf);
}

static sb_status expand(sb_decoder *decoder, struct slot *slot)
{
    struct best_first *const own = best_first_of(slot);
    if (own->is_climbing)
        return best_first_climbed(decoder, slot);
    for (size_t i = 0; i < slot->next.n; i++) {
        struct entry *const node = &slot->next.entries[i];
        sb_status status = SB_OK;
        if (slot_row(decoder, slot, node)->n == 0) {
            status = push_leaf(decoder, slot, node);
            if (status != SB_OK)
                return status;
            best_first_drop_leaf(decoder, slot, i);
            continue;
        }
        if (node->rest < 0 && node->token >= 0)
            status = slot_add_step(slot, node);
        if (status == SB_OK)
            status = best_first_keep_state(decoder, slot, i);
        if (status == SB_OK)
            status = decoder->is_endless ? expand_partly(decoder, slot, node)
                                         : expand_node(decoder, slot, node);
        if (status != SB_OK)
            return status;
    }
    return SB_OK;
}

/* --- the next rows --- */

/* Counts a new sequence for the rules. Sets *reason if a rule ends the draw now. */
static sb_status apply_rules(sb_decoder *decoder, struct slot *slot, sb_stopped_by *reason)
{
    struct best_first *const own = best_first_of(slot);
    const sb_config *const config = &decoder->config;
    const struct entry *const leaf = &slot->now.entries[slot->now.n - 1];
    if (config->until_texts > 0) {
        const int32_t number = (int32_t)(slot - decoder->slots), rank = (int32_t)slot->now.n - 1;
        sb_sequence sequence;
        if (result_make_sequence(decoder, slot, leaf, &sequence) != SB_OK)
            return SB_ERR_MEMORY;
        const int answer = decoder->spec.is_new_text(decoder->spec.user, number, rank, &sequence);
        if (answer < 0)
            return SB_ERR_MEMORY;
        own->n_texts += answer;
        if (own->n_texts >= config->until_texts)
            *reason = SB_STOPPED_BY_TEXTS;
    }
    if (config->until_mass > 0) {
        /* As for top-p, a sum of rounded probabilities that is this close reaches the bound. */
        const double slack = 1e-12;
        logspace_total_add(&own->found, leaf->phi);
        if (exp(logspace_total_log(&own->found)) >= config->until_mass * (1 - slack))
            *reason = SB_STOPPED_BY_MASS;
    }
    return SB_OK;
}

/* Moves the sequences that are certain now to slot->now. Sets *reason if the draw is complete. */
static sb_status take_leaves(sb_decoder *decoder, struct slot *slot, sb_stopped_by *reason)
{
    struct frontier *const frontier = &best_first_of(slot)->frontier;
    struct entry leaf;
    while (*reason == SB_STOPPED_BY_NOTHING && frontier_take_leaf(frontier, &leaf)) {
        const bool has_step = leaf.end != SB_END_EOS && leaf.token >= 0; /* the root has none */
        sb_status status = has_step ? slot_add_step(slot, &leaf) : SB_OK;
        if (status == SB_OK)
            status = beam_append(&slot->now, &leaf);
        if (status == SB_OK)
            status = apply_rules(decoder, slot, reason);
        if (status != SB_OK)
            return status;
        if (*reason == SB_STOPPED_BY_NOTHING && slot->now.n == slot->goal)
            *reason = SB_STOPPED_BY_K;
    }
    if (*reason == SB_STOPPED_BY_NOTHING && frontier_size(frontier) == 0)
        *reason = SB_STOPPED_BY_EXHAUSTED;
    return SB_OK;
}

/* Chooses the best nodes as the next to be evaluated. If the frontier is full, its worst entry is
 * not one of them: only its G is needed, for kappa. But the best node is always chosen, also if all
 * entries have the same G. This happens if log-probabilities are too low for the noise. */
static sb_status choose_nodes(sb_decoder *decoder, struct slot *slot)
{
    struct frontier *const frontier = &best_first_of(slot)->frontier;
    size_t most = (size_t)decoder->config.parallel;
    if (decoder->most_rows > 0 && most > decoder->most_rows)
        most = decoder->most_rows;
    const bool has_last =
        !decoder->is_endless && config_has_kappa(&decoder->config) && is_full(decoder, slot);
    const double last = has_last ? frontier_worst(frontier) : -INFINITY;
    struct entry node;
    while (slot->next.n < most && frontier_take_node(frontier, &node)) {
        if ((slot->next.n == 0 || node.score > last) && best_first_has_parent(slot, &node)) {
            node.row = (int32_t)slot->n_wanted;
            if (beam_append(&slot->next, &node) != SB_OK ||
                best_first_want(decoder, slot, &node) != SB_OK)
                return SB_ERR_MEMORY;
            continue;
        }
        if (frontier_push(frontier, &node) != SB_OK)
            return SB_ERR_MEMORY;
        return slot->next.n > 0 ? SB_OK : best_first_climb(decoder, slot, &node);
    }
    return SB_OK;
}

static sb_status complete(sb_decoder *decoder, struct slot *slot, sb_error *err)
{
    (void)err;
    best_first_drop_expanded(decoder, slot);
    slot->n_wanted = slot->n_expanded = slot->next.n = 0;
    sb_stopped_by reason = SB_STOPPED_BY_NOTHING;
    const sb_status status = take_leaves(decoder, slot, &reason);
    if (status != SB_OK)
        return status;
    if (reason == SB_STOPPED_BY_NOTHING)
        return choose_nodes(decoder, slot);
    if (config_has_rule(&decoder->config))
        slot->result.stopped_by = reason;
    return SB_OK;
}

static sb_status finish(sb_decoder *decoder, struct slot *slot)
{
    struct best_first *const own = best_first_of(slot);
    sb_result *const result = &slot->result;
    result->exhausted = frontier_size(&own->frontier) == 0 && slot->pruned.scaled == 0;
    if (!config_has_rule(&decoder->config) &&
        (result->exhausted || config_has_kappa(&decoder->config)))
        result->kappa = frontier_best(&own->frontier);
    drop_all(decoder, slot);
    return SB_OK;
}

static void close_own(void *memory)
{
    struct best_first *const own = memory;
    best_first_clear(own);
    frontier_close(&own->frontier);
    alloc_free(own->rests);
    alloc_free(own->unused);
    alloc_free(own->state_of);
    alloc_free(own->kept);
}

static int64_t rows_together(const sb_config *config)
{
    return config->parallel;
}

const struct method method_best_first = {
    .info = {.law = SB_LAW_WITHOUT_REPLACEMENT, .has_g = true},
    .row_use = ROWS_BOUNDED,
    .ranks_by_noise = true,
    .needed_rows = rows_together,
    .own_size = sizeof(struct best_first),
    .close = close_own,
    .start = start,
    .expand = expand,
    .complete = complete,
    .drop_states = drop_all,
    .finish = finish,
};
