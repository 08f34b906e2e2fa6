/* The only loop of the library. Every method runs through sb_decoder_advance: it opens the rows of
 * each slot, lets the method make the next beam, and lists the rows to ask for next. */
#include "decode/loop.h"

#include "base/alloc.h"
#include "base/status.h"
#include "decode/filter.h"
#include "decode/method.h"
#include "decode/result.h"

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

sb_status loop_refuse_row(const struct row *row, int32_t step, size_t row_number, sb_error *err)
{
    const int32_t bad = row_find_bad(row);
    if (bad < 0)
        return status_fail(err, SB_ERR_MODEL, "step %d, row %zu: every token has probability zero",
                           step, row_number);
    return status_fail(err, SB_ERR_MODEL,
                       "step %d, row %zu: the score of token %d is %g; expected a finite number or "
                       "-inf",
                       step, row_number, bad, row_score(row, bad));
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
        const size_t row_number = (size_t)slot->first_row + i;
        if (!row_open(row, (const char *)logits + row_number * stride * size, slot->temperature))
            return loop_refuse_row(row, slot->step + 1, row_number, err);
        if (!filter_row(decoder, slot, (int32_t)i))
            return status_fail(err, SB_ERR_MODEL,
                               "step %d, row %zu: ban and min-len exclude every token that could "
                               "follow this prefix",
                               slot->step + 1, row_number);
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
    status = result_build(decoder, slot, err);
    if (status == SB_OK)
        slot->state = SLOT_FINISHED;
    return status;
}

sb_status loop_build_request(sb_decoder *decoder, sb_error *err)
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

sb_status loop_fail(sb_decoder *decoder, sb_status status, sb_error *err)
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
            return loop_fail(decoder, status, err);
        if (status == SB_OK)
            continue;
        slot->state = SLOT_FAILED;
        if (failure == SB_OK)
            failure = status_fail(err, status, "%s", slot->error.message);
    }
    const sb_status status = loop_build_request(decoder, err);
    return status == SB_OK ? failure : loop_fail(decoder, status, err);
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
