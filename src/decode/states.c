#include "decode/states.h"

#include "base/alloc.h"

void states_close(struct states *states)
{
    alloc_free(states->n_holders);
    alloc_free(states->unused);
    alloc_free(states->released);
    alloc_free(states->is_released);
}

int32_t states_take(struct states *states)
{
    if (states->n_unused == 0) {
        /* The two lists have room for all numbers, so that states_drop cannot fail. */
        const size_t n = states->n + 1;
        if (n > INT32_MAX ||
            alloc_reserve(&states->n_holders, &states->holder_capacity, n, sizeof(int32_t)) !=
                SB_OK ||
            alloc_reserve(&states->unused, &states->unused_capacity, n, sizeof(int32_t)) != SB_OK ||
            alloc_reserve(&states->released, &states->released_capacity, n, sizeof(int32_t)) !=
                SB_OK ||
            alloc_reserve(&states->is_released, &states->mark_capacity, n, sizeof(bool)) != SB_OK)
            return -1;
        states->is_released[n - 1] = false;
        states->unused[states->n_unused++] = (int32_t)states->n++;
    }
    const int32_t state = states->unused[--states->n_unused];
    states->n_holders[state] = 1;
    return state;
}

void states_hold(struct states *states, int32_t state)
{
    states->n_holders[state]++;
}

void states_drop(struct states *states, int32_t state)
{
    if (--states->n_holders[state] > 0)
        return;
    states->unused[states->n_unused++] = state;
    if (!states->is_released[state])
        states->released[states->n_released++] = state;
    states->is_released[state] = true;
}

void states_forget_released(struct states *states)
{
    for (size_t i = 0; i < states->n_released; i++)
        states->is_released[states->released[i]] = false;
    states->n_released = 0;
}

int32_t states_continue(struct states *states, int32_t from)
{
    if (from >= 0 && states->n_holders[from] == 1)
        return from;
    const int32_t state = states_take(states);
    if (state >= 0 && from >= 0)
        states_drop(states, from);
    return state;
}
