#include "decode/slot.h"

static sb_status want_row(struct slot *slot, int32_t parent, int32_t token)
{
    const sb_status status = alloc_reserve(&slot->wanted, &slot->wanted_capacity,
                                           slot->n_wanted + 1, sizeof *slot->wanted);
    if (status == SB_OK)
        slot->wanted[slot->n_wanted++] = (struct wanted_row){parent, token};
    return status;
}

sb_status slot_push_root(struct slot *slot, double score, int64_t number)
{
    const struct entry root = {
        .score = score, .root = number, .path = -1, .parent = -1, .token = -1, .is_new = true};
    if (slot->n_wanted == 0) {
        const sb_status status = want_row(slot, -1, -1);
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

sb_end slot_end_of(sb_decoder *decoder, const struct slot *slot, const struct entry *parent,
                   int32_t token, sb_status *status)
{
    const sb_decoder_spec *const spec = &decoder->spec;
    if (token == spec->eos)
        return SB_END_EOS;
    if (spec->is_leaf != NULL && spec->is_leaf(spec->user, slot->first_row + parent->row, token))
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

sb_status slot_push_child(sb_decoder *decoder, struct slot *slot, int32_t parent, int32_t token,
                          double score)
{
    const struct entry *const from = &slot->now.entries[parent];
    const struct row *const row = &decoder->rows[from->row];
    struct entry child = {
        .node = noise_child(from->node, token),
        .phi = logspace_saturate(from->phi + row_log_p(row, token)),
        .log_p_model = logspace_saturate(from->log_p_model + row_log_p_model(row, token)),
        .score = score,
        .root = from->root,
        .path = from->path,
        .depth = from->depth + 1,
        .parent = parent,
        .token = token,
        .is_new = true,
    };
    sb_status status = SB_OK;
    child.end = slot_end_of(decoder, slot, from, token, &status);
    if (status != SB_OK)
        return status;

    const struct entry *const last =
        slot->next.n > 0 ? &slot->next.entries[slot->next.n - 1] : NULL;
    if (last != NULL && last->is_new && noise_same_node(last->node, child.node)) {
        child.path = last->path;
        child.row = last->row;
        return beam_append(&slot->next, &child);
    }
    if (child.end != SB_END_EOS) {
        status =
            alloc_reserve(&slot->path, &slot->path_capacity, slot->n_path + 1, sizeof *slot->path);
        if (status != SB_OK || slot->n_path >= INT32_MAX)
            return SB_ERR_MEMORY;
        slot->path[slot->n_path] = (struct path_step){token, from->path};
        child.path = (int32_t)slot->n_path++;
    }
    if (child.end == SB_END_NONE) {
        child.row = (int32_t)slot->n_wanted;
        status = want_row(slot, from->row, token);
        if (status != SB_OK)
            return status;
    }
    return beam_append(&slot->next, &child);
}

sb_status slot_keep(struct slot *slot, int32_t i)
{
    struct entry kept = slot->now.entries[i];
    kept.parent = i;
    kept.is_new = false;
    return beam_append(&slot->next, &kept);
}
