/* Numbers for the states of a session (step of sb_model_ops).
 *
 * A number is in use while it has a holder: a row that is still to continue the state, or a node
 * whose children are still to be chosen. When the last holder drops the number, it becomes free.
 * The numbers are 0, 1, ...; a new one is made only if none is free. */
#ifndef DECODE_STATES_H
#define DECODE_STATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sbeam/error.h"

struct states {
    int32_t *n_holders; /* (n) by number */
    int32_t *unused;    /* (n_unused) numbers that are free */
    int32_t *released;  /* (n_released) numbers that became free since states_forget_released; each
                         * occurs once, even if it is in use again */
    bool *is_released;  /* (n) by number: it is in that list */
    size_t n, n_unused, n_released;
    size_t holder_capacity, unused_capacity, released_capacity, mark_capacity;
};

/* Frees the lists. Accepts a struct that is all zeros. */
void states_close(struct states *states);

/* Takes a free number for one holder. Returns -1 if memory is short. */
int32_t states_take(struct states *states);
/* Adds a holder. */
void states_hold(struct states *states, int32_t state);
/* Removes a holder. The number becomes free with its last holder. */
void states_drop(struct states *states, int32_t state);
/* Empties the list of released numbers. */
void states_forget_released(struct states *states);
/* Returns the number for a row that continues state `from` and holds it: `from` itself if it has no
 * other holder, else a free number. The row then holds this number and not `from`. If `from` is -1,
 * the row continues no state. Returns -1 if memory is short. */
int32_t states_continue(struct states *states, int32_t from);

#endif
