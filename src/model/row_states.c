/* See row_states.h. */
#include "model/row_states.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

sb_status row_states_open(row_states *states, int32_t max_inputs, size_t width, sb_error *err)
{
    *states = (row_states){.width = width};
    states->start = alloc_zeroed((size_t)max_inputs * width, sizeof *states->start);
    return states->start != NULL ? SB_OK : status_no_memory(err);
}

void row_states_close(row_states *states)
{
    alloc_free(states->next);
    alloc_free(states->now);
    alloc_free(states->start);
}

sb_status row_states_reserve(row_states *states, int32_t n_rows, sb_error *err)
{
    /* One more than needed, so that it is never NULL. */
    const sb_status status =
        alloc_reserve(&states->next, &states->next_capacity, (size_t)n_rows * states->width + 1,
                      sizeof *states->next);
    return status == SB_OK ? SB_OK : status_no_memory(err);
}

void row_states_swap(row_states *states)
{
    *states = (row_states){states->width, states->start,         states->next,
                           states->now,   states->next_capacity, states->now_capacity};
}

size_t row_states_size(const void *session)
{
    const row_states *const states = session;
    return states->width * sizeof *states->now;
}

void row_states_save(const void *session, int32_t row, void *state)
{
    const row_states *const states = session;
    memcpy(state, states->now + (size_t)row * states->width, row_states_size(states));
}

sb_status row_states_restore(void *session, int32_t n_rows, const void *saved, sb_error *err)
{
    row_states *const states = session;
    const sb_status status = row_states_reserve(states, n_rows, err);
    if (status != SB_OK)
        return status;
    memcpy(states->next, saved, (size_t)n_rows * row_states_size(states));
    row_states_swap(states);
    return SB_OK;
}
