/* A finite automaton as a sequence model: trees and Markov chains are built from it.
 *
 * State 0 is the start. A state has edges (token, natural-log probability, next state or leaf). A
 * row holds the log-probabilities of a state's edges and -inf elsewhere.
 *
 * To build one, call automaton_open, then automaton_add_state for each state in the order of its
 * number, filling the edges that it makes room for, then automaton_finish. */
#ifndef MODEL_AUTOMATON_H
#define MODEL_AUTOMATON_H

#include <stddef.h>
#include <stdint.h>

#include "sbeam/model.h"
#include "text/vocab.h"

enum { AUTOMATON_LEAF = -1 };

typedef struct automaton_edge {
    int32_t token;
    int32_t next; /* a state, or AUTOMATON_LEAF */
    double log_p;
} automaton_edge;

typedef struct automaton {
    vocab words;
    automaton_edge *edges; /* (n_edges) grouped by state; sorted by token once finished */
    size_t n_edges, edge_capacity;
    size_t *first; /* (n_states + 1) */
    size_t first_capacity;
    int32_t n_states;
    int32_t eos;       /* -1: none */
    const char *shape; /* "tree" or "chain", for messages: the model's kind */
    size_t n_leaves;   /* of a tree */
    int32_t depth;     /* of a tree, in edges */
} automaton;

/* Makes an empty automaton. On success *machine belongs to the caller, who closes it or passes it
 * to automaton_finish. */
sb_status automaton_open(automaton **machine, const char *shape, sb_error *err);
/* Frees the automaton. Accepts NULL. */
void automaton_close(automaton *machine);

/* Adds a state with room for n_edges edges, which the caller fills. *edges is the index of the
 * first one in machine->edges. */
sb_status automaton_add_state(automaton *machine, size_t n_edges, int32_t *state, size_t *edges,
                              sb_error *err);

/* Makes the model. On success the machine belongs to the model; on failure it still belongs to the
 * caller. */
sb_status automaton_finish(automaton *machine, sb_model **model, sb_error *err);

/* Returns whether the probabilities of a state sum to 1. The tolerance allows for probabilities
 * that are written with few digits. */
static inline bool automaton_is_one(long double sum)
{
    return sum >= 1 - 1e-6L && sum <= 1 + 1e-6L;
}

#endif
