/* The states of a session's rows, for models whose state is a few whole numbers: an automaton's
 * state, or trie nodes.
 *
 * A step fills `next` from `now` by parent; row_states_swap then makes it `now`. */
#ifndef MODEL_ROW_STATES_H
#define MODEL_ROW_STATES_H

#include <stddef.h>
#include <stdint.h>

#include "sbeam/error.h"

typedef struct row_states {
    size_t width;        /* numbers per state; may be 0 */
    int32_t *start;      /* (max_inputs, width) the states after the prefix of each input */
    int32_t *now, *next; /* (n_rows, width) states of the last step, and room for the next */
    size_t now_capacity, next_capacity;
} row_states;

/* Allocates the start states, set to zero. On failure there is nothing to close. */
sb_status row_states_open(row_states *states, int32_t max_inputs, size_t width, sb_error *err);
void row_states_close(row_states *states);

/* Makes room for n_rows states in `next`. */
sb_status row_states_reserve(row_states *states, int32_t n_rows, sb_error *err);
void row_states_swap(row_states *states);

/* Functions for sb_model_ops. They need a session whose first member is its row_states. */
size_t row_states_size(const void *session);
void row_states_save(const void *session, int32_t row, void *state);
sb_status row_states_restore(void *session, int32_t n_rows, const void *saved, sb_error *err);

#endif
