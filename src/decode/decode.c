/* The only loop of the library. Every method runs through sb_decoder_advance. Only this file deals
 * with lengths, ends, paths, log-probabilities and the rows to ask for. */
#include "decode/decode.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

/* --- for the methods --- */

sb_status decode_append(struct beam *beam, const struct entry *entry)
{
    const sb_status status =
        alloc_reserve(&beam->entries, &beam->capacity, beam->n + 1, sizeof *beam->entries);
    if (status == SB_OK)
        beam->entries[beam->n++] = *entry;
    return status;
}

static sb_status want_row(struct slot *slot, int32_t parent, int32_t token)
{
    const sb_status status = alloc_reserve(&slot->wanted, &slot->wanted_capacity,
                                           slot->n_wanted + 1, sizeof *slot->wanted);
    if (status == SB_OK)
        slot->wanted[slot->n_wanted++] = (struct wanted_row){parent, token};
    return status;
}

sb_status decode_push_root(struct slot *slot, double score, int64_t tag)
{
    const struct entry root = {
        .score = score, .tag = tag, .path = -1, .parent = -1, .token = -1, .is_new = true};
    if (slot->n_wanted == 0) {
        const sb_status status = want_row(slot, -1, -1);
        if (status != SB_OK)
            return status;
    }
    return decode_append(&slot->now, &root);
}

int32_t decode_read_path(sb_decoder *decoder, const struct slot *slot, int32_t path, int32_t most)
{
    size_t n = 0;
    for (int32_t i = path; i >= 0 && (most == 0 || n < (size_t)most); i = slot->path[i].previous)
        n++;
    if (alloc_reserve(&decoder->tokens, &decoder->token_capacity, n + 1, sizeof *decoder->tokens) !=
        SB_OK)
        return -1;
    for (size_t place = n; place > 0; path = slot->path[path].previous)
        decoder->tokens[--place] = slot->path[path].token;
    return (int32_t)n;
}

sb_end decode_end_of(sb_decoder *decoder, const struct slot *slot, const struct entry *parent,
                     int32_t token, sb_status *status)
{
    const sb_decoder_spec *const spec = &decoder->spec;
    if (token == spec->eos)
        return SB_END_EOS;
    if (spec->is_leaf != NULL && spec->is_leaf(spec->user, slot->first_row + parent->row, token))
        return SB_END_LEAF;
    if (spec->is_stop != NULL) {
        const int32_t n = decode_read_path(decoder, slot, parent->path,
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

sb_status decode_push_child(sb_decoder *decoder, struct slot *slot, int32_t parent, int32_t token,
                            double score)
{
    const struct entry *const from = &slot->now.entries[parent];
    const struct row *const row = &decoder->rows[from->row];
    struct entry child = {
        .node = noise_child(from->node, token),
        .phi = from->phi + row_log_p(row, token),
        .log_p_model = from->log_p_model + row_log_p_model(row, token),
        .score = score,
        .tag = from->tag,
        .path = from->path,
        .depth = from->depth + 1,
        .parent = parent,
        .token = token,
        .is_new = true,
    };
    sb_status status = SB_OK;
    child.end = decode_end_of(decoder, slot, from, token, &status);
    if (status != SB_OK)
        return status;

    const struct entry *const last =
        slot->next.n > 0 ? &slot->next.entries[slot->next.n - 1] : NULL;
    if (last != NULL && last->is_new && noise_same_node(last->node, child.node)) {
        child.path = last->path;
        child.row = last->row;
        return decode_append(&slot->next, &child);
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
    return decode_append(&slot->next, &child);
}

sb_status decode_keep(struct slot *slot, int32_t i)
{
    struct entry kept = slot->now.entries[i];
    kept.parent = i;
    kept.is_new = false;
    return decode_append(&slot->next, &kept);
}

/* --- the loop --- */

/* Makes room for n opened rows. */
static sb_status reserve_rows(sb_decoder *decoder, size_t n)
{
    if (alloc_reserve(&decoder->rows, &decoder->row_capacity, n, sizeof *decoder->rows) != SB_OK ||
        alloc_reserve(&decoder->row_scratch, &decoder->scratch_capacity, n,
                      sizeof *decoder->row_scratch) != SB_OK)
        return SB_ERR_MEMORY;
    while (decoder->n_row_objects < n) {
        void *const scratch = alloc_array(1, row_scratch_size(decoder->spec.vocab_size));
        if (scratch == NULL)
            return SB_ERR_MEMORY;
        row_init(&decoder->rows[decoder->n_row_objects], decoder->spec.vocab_size,
                 decoder->spec.row_type, scratch);
        decoder->row_scratch[decoder->n_row_objects++] = scratch;
    }
    return SB_OK;
}

sb_status decode_refuse_row(const struct row *row, int32_t step, size_t place, sb_error *err)
{
    const int32_t bad = row_find_bad(row);
    if (bad < 0)
        return status_fail(err, SB_ERR_MODEL, "step %d, row %zu: every token has probability zero",
                           step, place);
    return status_fail(err, SB_ERR_MODEL,
                       "step %d, row %zu: the score of token %d is %g; expected a finite number or "
                       "-inf",
                       step, place, bad, row_score(row, bad));
}

/* Normalises and filters the slot's rows. Refuses a row without mass. */
static sb_status open_rows(sb_decoder *decoder, struct slot *slot, const void *logits,
                           size_t stride, sb_error *err)
{
    const sb_status status = reserve_rows(decoder, slot->n_wanted);
    if (status != SB_OK)
        return status;
    const size_t size = decoder->spec.row_type == SB_ROW_FLOAT ? sizeof(float) : sizeof(double);
    for (size_t i = 0; i < slot->n_wanted; i++) {
        struct row *const row = &decoder->rows[i];
        const size_t place = (size_t)slot->first_row + i;
        if (!row_open(row, (const char *)logits + place * stride * size, slot->temperature))
            return decode_refuse_row(row, slot->step + 1, place, err);
        if (!filter_row(decoder, slot, (int32_t)i))
            return status_fail(err, SB_ERR_MODEL,
                               "step %d, row %zu: ban and min-len exclude every token that could "
                               "follow this prefix",
                               slot->step + 1, place);
    }
    slot->model_rows += slot->n_wanted;
    return SB_OK;
}

static bool grows(const struct slot *slot)
{
    return slot->n_wanted > 0;
}

/* Makes one step in one slot. */
static sb_status advance_slot(sb_decoder *decoder, struct slot *slot, const void *logits,
                              size_t stride, sb_error *err)
{
    sb_status status = open_rows(decoder, slot, logits, stride, err);
    if (status != SB_OK)
        return status;
    slot->n_wanted = 0;
    slot->next.n = 0;
    status = decoder->method->expand(decoder, slot, err);
    if (status != SB_OK)
        return status;
    beam_swap(&slot->now, &slot->next);
    slot->step++;
    if (grows(slot))
        return SB_OK;
    status = decoder->method->finish(decoder, slot);
    if (status != SB_OK || grows(slot)) /* reject may have started again */
        return status;
    status = result_build(decoder, slot);
    if (status == SB_OK)
        slot->state = SLOT_FINISHED;
    return status;
}

sb_status decode_build_request(sb_decoder *decoder, sb_error *err)
{
    size_t n = 0;
    for (int32_t s = 0; s < decoder->spec.max_slots; s++)
        if (decoder->slots[s].state == SLOT_RUNNING)
            n += decoder->slots[s].n_wanted;
    if (n > INT32_MAX / 8)
        return status_fail(err, SB_ERR_LIMIT,
                           "all draws together ask for %zu rows at once; expected at most %d", n,
                           INT32_MAX / 8);
    if (n > decoder->request_capacity) {
        int32_t *const lists = alloc_array(n, 3 * 2 * sizeof *lists);
        if (lists == NULL)
            return SB_ERR_MEMORY;
        alloc_free(decoder->parent);
        decoder->request_capacity = 2 * n;
        decoder->parent = lists;
        decoder->token = lists + 2 * n;
        decoder->input = lists + 4 * n;
    }
    decoder->n_rows = n;
    n = 0;
    for (int32_t s = 0; s < decoder->spec.max_slots; s++) {
        struct slot *const slot = &decoder->slots[s];
        if (slot->state != SLOT_RUNNING)
            continue;
        slot->first_row = (int32_t)n;
        for (size_t i = 0; i < slot->n_wanted; i++, n++) {
            const struct wanted_row wanted = slot->wanted[i];
            decoder->parent[n] = wanted.parent < 0 ? -1 : slot->previous_first_row + wanted.parent;
            decoder->token[n] = wanted.token;
            decoder->input[n] = s;
        }
    }
    return SB_OK;
}

sb_status decode_fail(sb_decoder *decoder, sb_status status, sb_error *err)
{
    decoder->failed = true;
    decoder->n_rows = 0;
    if (status == SB_ERR_MEMORY)
        return status_no_memory(err);
    return status;
}

sb_status sb_decoder_advance(sb_decoder *decoder, const void *logits, size_t stride, sb_error *err)
{
    if (decoder == NULL || logits == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_decoder_advance: decoder or logits is NULL");
    if (decoder->failed)
        return status_fail(err, SB_ERR_STATE, "this decoder has failed before; close it");
    if (decoder->n_rows == 0)
        return status_fail(err, SB_ERR_STATE, "no rows are wanted: the decoder is done");
    if (stride < (size_t)decoder->spec.vocab_size && decoder->n_rows > 1)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "stride is %zu; expected at least the %d scores of a row", stride,
                           decoder->spec.vocab_size);
    sb_status failure = SB_OK;
    for (int32_t s = 0; s < decoder->spec.max_slots; s++) {
        struct slot *const slot = &decoder->slots[s];
        if (slot->state != SLOT_RUNNING)
            continue;
        slot->previous_first_row = slot->first_row;
        const sb_status status = advance_slot(decoder, slot, logits, stride, &slot->error);
        if (status != SB_OK && status != SB_ERR_MODEL && status != SB_ERR_LIMIT)
            return decode_fail(decoder, status, err);
        if (status == SB_OK)
            continue;
        slot->state = SLOT_FAILED;
        if (failure == SB_OK)
            failure = status_fail(err, status, "%s", slot->error.message);
    }
    const sb_status status = decode_build_request(decoder, err);
    return status == SB_OK ? failure : decode_fail(decoder, status, err);
}

int32_t sb_decoder_rows(const sb_decoder *decoder, const int32_t **parent, const int32_t **token,
                        const int32_t **input)
{
    if (decoder == NULL)
        return 0;
    if (parent != NULL)
        *parent = decoder->parent;
    if (token != NULL)
        *token = decoder->token;
    if (input != NULL)
        *input = decoder->input;
    return (int32_t)decoder->n_rows;
}

bool sb_decoder_done(const sb_decoder *decoder)
{
    return decoder == NULL || decoder->n_rows == 0;
}
