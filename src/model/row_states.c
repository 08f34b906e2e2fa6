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

sb_status row_states_reserve(row_states *states, int32_t n_rows, const int32_t *to, sb_error *err)
{
    size_t n_states = 0;
    for (int32_t i = 0; i < n_rows; i++)
        if ((size_t)to[i] >= n_states)
            n_states = (size_t)to[i] + 1;
    /* One more than needed, so that they are never NULL. */
    if (alloc_reserve(&states->next, &states->next_capacity, (size_t)n_rows * states->width + 1,
                      sizeof *states->next) != SB_OK ||
        alloc_reserve(&states->now, &states->now_capacity, n_states * states->width + 1,
                      sizeof *states->now) != SB_OK)
        return status_no_memory(err);
    return SB_OK;
}

void row_states_keep(row_states *states, int32_t n_rows, const int32_t *to)
{
    const size_t width = states->width;
    for (int32_t i = 0; i < n_rows; i++)
        memcpy(states->now + (size_t)to[i] * width, states->next + (size_t)i * width,
               width * sizeof *states->now);
}

size_t row_states_size(const void *session)
{
    const row_states *const states = session;
    return states->width * sizeof *states->now;
}

void row_states_save(const void *session, int32_t state, void *bytes)
{
    const row_states *const states = session;
    memcpy(bytes, states->now + (size_t)state * states->width, row_states_size(states));
}

sb_status row_states_restore(void *session, int32_t n, const int32_t *numbers, const void *bytes,
                             sb_error *err)
{
    row_states *const states = session;
    const sb_status status = row_states_reserve(states, n, numbers, err);
    if (status != SB_OK)
        return status;
    memcpy(states->next, bytes, (size_t)n * row_states_size(states));
    row_states_keep(states, n, numbers);
    return SB_OK;
}
