#include "decode/slot_states.h"

#include "base/alloc.h"
#include "base/status.h"
#include "decode/method.h"

void slot_drop_states(sb_decoder *decoder, struct slot *slot)
{
    for (size_t i = 0; i < slot->n_numbered; i++)
        states_drop(&decoder->states, slot->states[i]);
    for (size_t i = slot->n_numbered; i < slot->n_wanted; i++)
        if (slot->wanted[i].from >= 0)
            states_drop(&decoder->states, slot->wanted[i].from);
    slot->n_numbered = slot->n_wanted = 0;
    if (decoder->method->drop_states != NULL)
        decoder->method->drop_states(decoder, slot);
}

void slot_hand_on_states(sb_decoder *decoder, struct slot *slot)
{
    if (!decoder->spec.keeps_states)
        return;
    for (size_t i = 0; i < slot->n_wanted; i++) {
        slot->wanted[i].from = slot->states[slot->wanted[i].parent];
        states_hold(&decoder->states, slot->wanted[i].from);
    }
    for (size_t i = 0; i < slot->n_numbered; i++)
        states_drop(&decoder->states, slot->states[i]);
    slot->n_numbered = 0;
}

/* Numbers the states of the slot's chunk, unless it has been done. The first child of a state is
 * the last to be numbered, so that it takes over the number of the state if no later chunk needs
 * it. */
static sb_status number_chunk(sb_decoder *decoder, struct slot *slot)
{
    const size_t n = slot->n_expanded + slot->n_chunk;
    if (alloc_reserve(&slot->states, &slot->state_capacity, n, sizeof *slot->states) != SB_OK)
        return SB_ERR_MEMORY;
    for (size_t i = n; i-- > slot->n_numbered;) {
        slot->states[i] = states_continue(&decoder->states, slot->wanted[i].from);
        if (slot->states[i] < 0)
            return SB_ERR_MEMORY;
    }
    slot->n_numbered = n;
    for (size_t i = slot->n_expanded; i < n; i++) {
        const size_t row = (size_t)slot->first_row + (i - slot->n_expanded);
        decoder->from[row] = slot->wanted[i].from;
        decoder->to[row] = slot->states[i];
    }
    return SB_OK;
}

int32_t sb_decoder_states(sb_decoder *decoder, const int32_t **from, const int32_t **to,
                          const int32_t **released, sb_error *err)
{
    if (decoder == NULL || from == NULL || to == NULL || released == NULL) {
        status_fail(err, SB_ERR_ARGUMENT,
                    "sb_decoder_states: decoder, from, to or released is NULL");
        return -1;
    }
    if (decoder->failed || !decoder->spec.keeps_states) {
        status_fail(err, SB_ERR_STATE, "%s",
                    decoder->failed ? "this decoder has failed before; close it"
                                    : "this decoder numbers no states: its spec says that the host "
                                      "keeps none (keeps_states)");
        return -1;
    }
    for (int32_t s = 0; s < decoder->spec.max_slots; s++) {
        struct slot *const slot = &decoder->slots[s];
        if (slot->state == SLOT_RUNNING && slot->n_chunk > 0 &&
            number_chunk(decoder, slot) != SB_OK) {
            decoder->failed = true;
            decoder->n_rows = 0;
            status_no_memory(err);
            return -1;
        }
    }
    *from = decoder->from;
    *to = decoder->to;
    *released = decoder->states.released;
    return (int32_t)decoder->states.n_released;
}
