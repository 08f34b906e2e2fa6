/* The states of the nodes of a best-first search.
 *
 * Without a cursor, the state of a node is held by its unexpanded children in the frontier, and is
 * given back with the last of them. A cursor holds states itself, at most decoder->most_states; the
 * oldest is given back first. Before a node without the state of its parent can be evaluated, the
 * states of the prefix are computed again, one row at a time (climbing). */
#ifndef DECODE_BEST_FIRST_STATES_H
#define DECODE_BEST_FIRST_STATES_H

#include "decode/best_first.h"

/* Forgets all nodes and rests, for a new job. */
void best_first_clear(struct best_first *own);

/* Adds or removes an entry of the frontier as a holder of its parent's state. */
void best_first_hold_parent(sb_decoder *decoder, struct slot *slot, const struct entry *entry);
void best_first_drop_parent(sb_decoder *decoder, struct slot *slot, const struct entry *entry);

/* Returns whether the state that a node continues is kept. */
bool best_first_has_parent(const struct slot *slot, const struct entry *node);
/* Asks for the row of a node that was taken from the frontier. */
sb_status best_first_want(sb_decoder *decoder, struct slot *slot, const struct entry *node);
/* Asks for a row that computes a state of the prefix of a node again. */
sb_status best_first_climb(sb_decoder *decoder, struct slot *slot, const struct entry *node);
/* Keeps the state that the row of best_first_climb has computed. */
sb_status best_first_climbed(sb_decoder *decoder, struct slot *slot);

/* Keeps the state of row i. Its node must have its own path (slot_add_step). */
sb_status best_first_keep_state(sb_decoder *decoder, struct slot *slot, size_t i);
/* Gives back the state of row i, whose node is a leaf. */
void best_first_drop_leaf(sb_decoder *decoder, struct slot *slot, size_t i);
/* Gives back all states that a cursor keeps. */
void best_first_drop_kept(sb_decoder *decoder, struct slot *slot);
/* Removes the rows that have been expanded as holders of their states. */
void best_first_drop_expanded(sb_decoder *decoder, struct slot *slot);

#endif
