#include "decode/slot.h"

#include "decode/trie.h"

sb_status slot_want_row(struct slot *slot, struct wanted_row row)
{
    const sb_status status = alloc_reserve(&slot->wanted, &slot->wanted_capacity,
                                           slot->n_wanted + 1, sizeof *slot->wanted);
    if (status == SB_OK)
        slot->wanted[slot->n_wanted++] = row;
    return status;
}

sb_status slot_push_root(struct slot *slot, double score, int64_t number)
{
    const struct entry root = {.score = score,
                               .root = number,
                               .path = -1,
                               .parent = -1,
                               .token = -1,
                               .rest = -1,
                               .is_new = true};
    if (slot->n_wanted == 0) {
        const sb_status status = slot_want_row(slot, (struct wanted_row){-1, -1, 0, 0, -1});
        if (status != SB_OK)
            return status;
    }
    return beam_append(&slot->now, &root);
}

int32_t slot_read_path(sb_decoder *decoder, const struct slot *slot, int32_t path, int32_t most)
{
    size_t n = 0;
    for (int32_t i = path; i >= 0 && (most == 0 || n < (size_t)most); i = slot->path[i].previous)
        n++;
    if (alloc_reserve(&decoder->tokens, &decoder->token_capacity, n + 1, sizeof *decoder->tokens) !=
        SB_OK)
        return -1;
    for (size_t i = n; i > 0; path = slot->path[path].previous)
        decoder->tokens[--i] = slot->path[path].token;
    return (int32_t)n;
}

/* Returns the node in config.allow of the child `token` of an entry; 0 if there is none. */
static int32_t find_allowed(const sb_decoder *decoder, const struct entry *parent, int32_t token)
{
    const sb_trie *const allow = decoder->config.allow;
    return allow != NULL && token != decoder->spec.eos
               ? trie_find_child(allow, parent->allowed, token)
               : 0;
}

/* Returns how a child ends, as slot_end_of does. `allowed` is its node in config.allow. */
static sb_end find_end(sb_decoder *decoder, const struct slot *slot, const struct entry *parent,
                       int32_t token, int32_t allowed, sb_status *status)
{
    const sb_decoder_spec *const spec = &decoder->spec;
    if (token == spec->eos)
        return SB_END_EOS;
    if (decoder->config.allow != NULL && spec->eos < 0 &&
        trie_is_complete(decoder->config.allow, allowed))
        return SB_END_LEAF;
    const int32_t row = slot->first_row + parent->row - (int32_t)slot->n_expanded;
    if (spec->is_leaf != NULL && spec->is_leaf(spec->user, row, token))
        return SB_END_LEAF;
    if (spec->is_stop != NULL) {
        const int32_t n = slot_read_path(decoder, slot, parent->path,
                                         spec->stop_window > 0 ? spec->stop_window - 1 : 0);
        int answer = -1;
        if (n >= 0) {
            decoder->tokens[n] = token;
            answer = spec->is_stop(spec->user, decoder->tokens, n + 1);
        }
        if (answer < 0)
            *status = SB_ERR_MEMORY;
        if (answer != 0)
            return SB_END_STOP;
    }
    return parent->depth + 1 >= decoder->config.max_len ? SB_END_MAX_LEN : SB_END_NONE;
}

sb_end slot_end_of(sb_decoder *decoder, const struct slot *slot, const struct entry *parent,
                   int32_t token, sb_status *status)
{
    return find_end(decoder, slot, parent, token, find_allowed(decoder, parent, token), status);
}

sb_status slot_make_child(sb_decoder *decoder, const struct slot *slot, const struct entry *parent,
                          int32_t token, double score, struct entry *child)
{
    const struct row *const row = slot_row(decoder, slot, parent);
    *child = (struct entry){
        .node = noise_child(parent->node, token),
        .phi = logspace_saturate(parent->phi + row_log_p(row, token)),
        .log_p_model = logspace_saturate(parent->log_p_model + row_log_p_model(row, token)),
        .score = score,
        .root = parent->root,
        .path = parent->path,
        .depth = parent->depth + 1,
        .token = token,
        .allowed = find_allowed(decoder, parent, token),
        .rest = -1,
        .is_new = true,
    };
    sb_status status = SB_OK;
    child->end = find_end(decoder, slot, parent, token, child->allowed, &status);
    return status;
}

sb_status slot_push_child(sb_decoder *decoder, struct slot *slot, int32_t parent, int32_t token,
                          double score)
{
    struct entry child;
    const sb_status status =
        slot_make_child(decoder, slot, &slot->now.entries[parent], token, score, &child);
    child.parent = parent;
    return status == SB_OK ? beam_append(&slot->next, &child) : status;
}

sb_status slot_keep(struct slot *slot, int32_t i)
{
    struct entry kept = slot->now.entries[i];
    kept.parent = i;
    kept.is_new = false;
    return beam_append(&slot->next, &kept);
}

sb_status slot_push(sb_decoder *decoder, struct slot *slot, const struct candidate *candidate)
{
    const int32_t token = candidate->token;
    if (token >= 0)
        return slot_push_child(decoder, slot, candidate->entry, token, candidate->score);
    const sb_status status =
        token == -1 ? slot_keep(slot, candidate->entry)
                    : beam_append(&slot->next, &decoder->earlier.entries[token - EARLIER]);
    if (status == SB_OK)
        slot->next.entries[slot->next.n - 1].score = candidate->score;
    return status;
}

sb_status slot_add_step(struct slot *slot, struct entry *entry)
{
    if (slot->n_path >= INT32_MAX || alloc_reserve(&slot->path, &slot->path_capacity,
                                                   slot->n_path + 1, sizeof *slot->path) != SB_OK)
        return SB_ERR_MEMORY;
    slot->path[slot->n_path] = (struct path_step){entry->token, entry->path};
    entry->path = (int32_t)slot->n_path++;
    return SB_OK;
}

sb_status slot_complete(struct slot *slot)
{
    sb_status status = SB_OK;
    slot->n_wanted = 0;
    for (size_t i = 0; i < slot->next.n && status == SB_OK; i++) {
        struct entry *const entry = &slot->next.entries[i];
        const struct entry *const last = entry - (i > 0);
        if (!entry->is_new)
            continue;
        if (i > 0 && last->is_new && noise_same_node(last->node, entry->node)) {
            entry->path = last->path;
            entry->row = last->row;
            continue;
        }
        if (entry->end != SB_END_EOS)
            status = slot_add_step(slot, entry);
        if (entry->end == SB_END_NONE && status == SB_OK) {
            entry->row = (int32_t)slot->n_wanted;
            const int32_t parent = slot->now.entries[entry->parent].row;
            status = slot_want_row(
                slot, (struct wanted_row){parent, entry->token, entry->depth, entry->allowed, -1});
        }
    }
    return status;
}
