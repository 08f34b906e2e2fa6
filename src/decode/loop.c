/* The only loop of the library. Every method runs through sb_decoder_advance: it opens the rows of
 * each slot, lets the method make the next beam, and lists the rows to ask for next. */
#include "decode/loop.h"

#include "base/alloc.h"
#include "base/status.h"
#include "decode/filter.h"
#include "decode/method.h"
#include "decode/result.h"
#include "decode/slot_states.h"

/* Makes room for n opened rows. */
static sb_status reserve_rows(sb_decoder *decoder, size_t n)
{
    if (alloc_reserve(&decoder->rows, &decoder->row_capacity, n, sizeof *decoder->rows) != SB_OK ||
        alloc_reserve(&decoder->row_scratch, &decoder->scratch_capacity, n,
                      sizeof *decoder->row_scratch) != SB_OK)
        return SB_ERR_MEMORY;
    const size_t row_size = row_scratch_size(decoder->spec.vocab_size);
    while (decoder->n_row_objects < n) {
        void *const scratch = alloc_array(1, row_size + filter_scratch_size(decoder));
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

/* Normalises and filters the rows of the slot's chunk. Refuses a row without mass. */
static sb_status open_rows(sb_decoder *decoder, struct slot *slot, const void *logits,
                           size_t stride, sb_error *err)
{
    const sb_status status = reserve_rows(decoder, slot->n_chunk);
    if (status != SB_OK)
        return status;
    const size_t size = decoder->spec.row_type == SB_ROW_FLOAT ? sizeof(float) : sizeof(double);
    for (size_t i = 0; i < slot->n_chunk; i++) {
        struct row *const row = &decoder->rows[i];
        const size_t row_number = (size_t)slot->first_row + i;
        if (!row_open(row, (const char *)logits + row_number * stride * size, slot->temperature))
            return loop_refuse_row(row, slot->wanted[slot->n_expanded + i].depth + 1, row_number,
                                   err);
        if (!filter_row(decoder, slot, (int32_t)i))
            return status_fail(err, SB_ERR_MODEL,
                               "step %d, row %zu: %s exclude every token that could follow this "
                               "prefix",
                               slot->wanted[slot->n_expanded + i].depth + 1, row_number,
                               decoder->config.allow != NULL
                                   ? "the model, allow, ban and min-len together"
                                   : "ban and min-len");
    }
    slot->model_rows += slot->n_chunk;
    return SB_OK;
}

/* Finds the entries of the beam that belong to the chunk. Rows are in the order of the entries. */
static void find_entries(struct slot *slot)
{
    const size_t n_rows = slot->n_expanded + slot->n_chunk;
    slot->first_entry = slot->n_expanded > 0 ? slot->end_entry : 0;
    slot->end_entry = slot->now.n;
    for (size_t i = slot->first_entry; n_rows < slot->n_wanted && i < slot->now.n; i++) {
        const struct entry *const entry = &slot->now.entries[i];
        if (entry->end == SB_END_NONE && (size_t)entry->row >= n_rows) {
            slot->end_entry = i;
            break;
        }
    }
}

static bool grows(const struct slot *slot)
{
    return slot->n_wanted > 0;
}

/* Ends the job of a slot that wants no more rows, unless its method starts again. */
static sb_status finish(sb_decoder *decoder, struct slot *slot, sb_error *err)
{
    sb_status status = decoder->is_endless ? SB_OK : decoder->method->finish(decoder, slot);
    if (status != SB_OK || grows(slot)) /* reject may have started again */
        return status;
    if (!decoder->is_endless) /* a cursor makes its result when it is asked for one */
        status = result_build(decoder, slot, slot->now.n, &slot->pruned, &slot->result, err);
    if (status == SB_OK)
        slot->state = SLOT_FINISHED;
    return status;
}

/* Makes the next beam out of slot->next, when all rows of the level have been expanded. */
static sb_status complete_level(sb_decoder *decoder, struct slot *slot, sb_error *err)
{
    sb_status status = slot_complete(slot);
    if (status == SB_OK && decoder->method->settle != NULL)
        status = decoder->method->settle(decoder, slot, err);
    if (status != SB_OK) {
        slot->n_wanted = slot->n_numbered; /* the list is that of the next level */
        return status;
    }
    slot_hand_on_states(decoder, slot);
    beam_swap(&slot->now, &slot->next);
    slot->next.n = slot->n_expanded = 0;
    slot->step++;
    return SB_OK;
}

/* Expands the chunk of one slot. */
static sb_status advance_slot(sb_decoder *decoder, struct slot *slot, const void *logits,
                              size_t stride, sb_error *err)
{
    sb_status status = open_rows(decoder, slot, logits, stride, err);
    if (status != SB_OK)
        return status;
    find_entries(slot);
    status = decoder->method->expand(decoder, slot);
    if (status != SB_OK)
        return status;
    slot->n_expanded += slot->n_chunk;
    slot->n_chunk = 0;
    if (slot->n_expanded < slot->n_wanted)
        return SB_OK;
    status = decoder->method->complete != NULL ? decoder->method->complete(decoder, slot, err)
                                               : complete_level(decoder, slot, err);
    return status == SB_OK && !grows(slot) ? finish(decoder, slot, err) : status;
}

void loop_limit_rows(sb_decoder *decoder, size_t most_rows)
{
    decoder->most_rows = most_rows;
}

/* Chooses the next chunk of each slot, beginning with decoder->first_slot. A slot whose chunk does
 * not fit into the request any more has no chunk this time. Returns the number of rows of all
 * chunks. */
static size_t choose_chunks(sb_decoder *decoder)
{
    const size_t most = decoder->most_rows > 0 ? decoder->most_rows : SIZE_MAX;
    size_t n = 0;
    for (int32_t i = 0; i < decoder->spec.max_slots; i++) {
        struct slot *const slot =
            &decoder->slots[(decoder->first_slot + i) % decoder->spec.max_slots];
        slot->n_chunk = 0;
        if (slot->state != SLOT_RUNNING)
            continue;
        const size_t left = slot->n_wanted - slot->n_expanded;
        const size_t n_chunk = left < most ? left : most;
        if (n_chunk <= most - n)
            slot->n_chunk = n_chunk;
        n += slot->n_chunk;
    }
    return n;
}

static sb_status reserve_request(sb_decoder *decoder, size_t n)
{
    if (n <= decoder->request_capacity)
        return SB_OK;
    int32_t *const lists = alloc_array(n, 5 * 2 * sizeof *lists);
    if (lists == NULL)
        return SB_ERR_MEMORY;
    alloc_free(decoder->parent);
    decoder->request_capacity = 2 * n;
    decoder->parent = lists;
    decoder->token = lists + 2 * n;
    decoder->input = lists + 4 * n;
    decoder->from = lists + 6 * n;
    decoder->to = lists + 8 * n;
    return SB_OK;
}

sb_status loop_build_request(sb_decoder *decoder, sb_error *err)
{
    size_t n = choose_chunks(decoder);
    if (n > INT32_MAX / 8)
        return status_fail(err, SB_ERR_LIMIT,
                           "all draws together ask for %zu rows at once; expected at most %d", n,
                           INT32_MAX / 8);
    if (reserve_request(decoder, n) != SB_OK)
        return SB_ERR_MEMORY;
    decoder->n_rows = n;
    n = 0;
    for (int32_t s = 0; s < decoder->spec.max_slots; s++) {
        struct slot *const slot = &decoder->slots[s];
        if (slot->n_chunk == 0)
            continue;
        slot->first_row = (int32_t)n;
        for (size_t i = 0; i < slot->n_chunk; i++, n++) {
            const struct wanted_row wanted = slot->wanted[slot->n_expanded + i];
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

/* Returns the first slot, from first_slot on, whose chunk did not fit into the request, or 0. */
static int32_t find_waiting(const sb_decoder *decoder)
{
    const int32_t n = decoder->spec.max_slots;
    for (int32_t i = 0; i < n; i++) {
        const int32_t s = (decoder->first_slot + i) % n;
        if (decoder->slots[s].state == SLOT_RUNNING && decoder->slots[s].n_chunk == 0)
            return s;
    }
    return 0;
}

/* Returns whether the states of all rows that are asked for have numbers. */
static bool has_numbers(const sb_decoder *decoder)
{
    for (int32_t s = 0; s < decoder->spec.max_slots; s++) {
        const struct slot *const slot = &decoder->slots[s];
        if (slot->state == SLOT_RUNNING && slot->n_numbered < slot->n_expanded + slot->n_chunk)
            return false;
    }
    return true;
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
    if (decoder->spec.keeps_states && !has_numbers(decoder))
        return status_fail(err, SB_ERR_STATE,
                           "the rows have no states yet: call sb_decoder_states before each "
                           "sb_decoder_advance");
    states_forget_released(&decoder->states);
    sb_status failure = SB_OK;
    const int32_t first_waiting = find_waiting(decoder);
    for (int32_t s = 0; s < decoder->spec.max_slots; s++) {
        struct slot *const slot = &decoder->slots[s];
        if (slot->state != SLOT_RUNNING || slot->n_chunk == 0)
            continue;
        slot->previous_first_row = slot->first_row;
        const sb_status status = advance_slot(decoder, slot, logits, stride, &slot->error);
        if (status != SB_OK && status != SB_ERR_MODEL && status != SB_ERR_LIMIT)
            return loop_fail(decoder, status, err);
        if (status == SB_OK)
            continue;
        slot->state = SLOT_FAILED;
        slot_drop_states(decoder, slot);
        if (failure == SB_OK)
            failure = status_fail(err, status, "%s", slot->error.message);
    }
    decoder->first_slot = first_waiting;
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
