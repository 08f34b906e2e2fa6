/* The states of a session's rows where each is a few whole numbers: node, or trie contexts.
 *
 * A step fills `next` from `now` by parent, then row_states_swap makes it `now`. */
#ifndef MODEL_ROW_STATES_H
#define MODEL_ROW_STATES_H

#include <stddef.h>
#include <stdint.h>

#include "sbeam/error.h"

typedef struct row_states {
    size_t width;        /* numbers of a state; may be 0 */
    int32_t *start;      /* (max_inputs, width) after the input's prefix */
    int32_t *now, *next; /* (n_rows, width) of the last step, and room for the next */
    size_t now_capacity, next_capacity;
} row_states;

/* The starts are zeroed. On failure there is nothing to close. */
sb_status row_states_open(row_states *states, int32_t max_inputs, size_t width, sb_error *err);
void row_states_close(row_states *states);

/* Room for n_rows in next. */
sb_status row_states_reserve(row_states *states, int32_t n_rows, sb_error *err);
void row_states_swap(row_states *states);

/* Slots of sb_model_ops, for sessions whose first member is their row_states. */
size_t row_states_size(const void *session);
void row_states_save(const void *session, int32_t row, void *state);
sb_status row_states_restore(void *session, int32_t n_rows, const void *saved, sb_error *err);

#endif
