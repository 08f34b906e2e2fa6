/* The states of a session, for models whose state is a few whole numbers: an automaton's state, or
 * trie nodes.
 *
 * A step fills `next` from `now`; row_states_keep then gives the new states their numbers. */
#ifndef MODEL_ROW_STATES_H
#define MODEL_ROW_STATES_H

#include <stddef.h>
#include <stdint.h>

#include "sbeam/error.h"

typedef struct row_states {
    size_t width;   /* numbers per state; may be 0 */
    int32_t *start; /* (max_inputs, width) the states after the prefix of each input */
    int32_t *now;   /* (n_states, width) by number of the state */
    int32_t *next;  /* (n_rows, width) by row of a step */
    size_t now_capacity, next_capacity;
} row_states;

/* Allocates the start states, set to zero. On failure there is nothing to close. */
sb_status row_states_open(row_states *states, int32_t max_inputs, size_t width, sb_error *err);
void row_states_close(row_states *states);

/* Makes room for the n_rows states of a step in `next`, and for their numbers in `now`. */
sb_status row_states_reserve(row_states *states, int32_t n_rows, const int32_t *to, sb_error *err);
/* Copies the states of a step from `next` to their numbers. */
void row_states_keep(row_states *states, int32_t n_rows, const int32_t *to);

/* Functions for sb_model_ops. They need a session whose first member is its row_states. */
size_t row_states_size(const void *session);
void row_states_save(const void *session, int32_t state, void *bytes);
sb_status row_states_restore(void *session, int32_t n, const int32_t *numbers, const void *bytes,
                             sb_error *err);

#endif
