/* Numbers for the states of a session (step of sb_model_ops).
 *
 * A number is in use while it has a holder: a row that is still to continue the state, or a node
 * whose children are still to be chosen. When the last holder drops it, it becomes free. The
 * numbers are 0, 1, ...: one more is made only if none is free. */
#ifndef DECODE_STATES_H
#define DECODE_STATES_H

#include <stddef.h>
#include <stdint.h>

#include "sbeam/error.h"

struct states {
    int32_t *n_holders; /* (n) by number */
    int32_t *unused;    /* (n_unused) numbers that are free */
    int32_t *released;  /* (n_released) those that became free since the caller last set this to 0;
                         * a number is here once */
    size_t n, n_unused, n_released;
    size_t holder_capacity, unused_capacity, released_capacity;
};

/* Frees the lists; a zeroed struct is fine. */
void states_close(struct states *states);

/* Takes a free number for one holder. Returns -1 if memory is short. */
int32_t states_take(struct states *states);
/* Adds a holder. */
void states_hold(struct states *states, int32_t state);
/* Removes a holder. */
void states_drop(struct states *states, int32_t state);
/* Finds the number for a row that continues state `from`, which it holds: the same number if
 * nothing else holds it, else a free one. The row then holds that number and not `from`. A `from`
 * of -1 is no state. Returns -1 if memory is short. */
int32_t states_continue(struct states *states, int32_t from);

#endif
