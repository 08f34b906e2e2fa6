/* A session that looks rows up in a cache before it computes them.
 *
 * cached_steps_take is called like sb_session_step and gives the same rows. If any draw,
 * temperature or thread has computed a prefix before, its row and its state are copied from the
 * cache. With the state, decoding can continue from the prefix even if this session never computed
 * it. So the states of the search are kept here, as bytes. For each call of the model, the session
 * gets only the states that the call needs, under numbers of that call. */
#ifndef DECODE_CACHED_STEPS_H
#define DECODE_CACHED_STEPS_H

#include <stddef.h>
#include <stdint.h>

#include "decode/row_cache.h"
#include "math/noise.h"
#include "sbeam/model.h"

struct cached_steps {
    struct row_cache *cache; /* shared with other threads */
    const sb_model *model;
    sb_session *session;
    size_t row_size, state_size; /* bytes; the cache has a row followed by its state */
    struct noise_node *roots;    /* (max_inputs) the hash of each input's text */
    struct noise_node *now;      /* (n_states) the prefix of each state */
    struct noise_node *next;     /* (n_rows) the prefixes of this step */
    char **states;               /* (n_states) the bytes of each state; NULL: none yet */
    char **next_states;          /* (n_rows) the bytes of the states of this step */
    struct claim *claims;        /* (n_rows) */
    int32_t *missing;            /* (n_rows) indices of the rows that must be computed */
    char *fresh, *parents; /* one call of the model: the rows, and the states that they continue,
                            * and afterwards all new states if the model has leaves */
    size_t most_fresh;     /* maximum number of rows of such a call */
    size_t now_capacity, next_capacity, state_capacity, next_state_capacity, claim_capacity,
        missing_capacity, parents_capacity;
    uint64_t n_rows, n_evaluated; /* rows asked for and rows computed so far */
    double seconds;               /* time spent computing them */
};

/* Prepares *steps for at most most_rows rows at once. The data_size of the cache must be
 * cached_steps_data_size. cache, model and session stay the caller's. On failure there is nothing
 * to close. */
sb_status cached_steps_open(struct cached_steps *steps, struct row_cache *cache,
                            const sb_model *model, sb_session *session, int32_t max_inputs,
                            size_t most_rows, sb_error *err);
/* Frees the buffers; a zeroed struct is fine. */
void cached_steps_close(struct cached_steps *steps);
/* Returns the size of a row and its state in bytes. */
size_t cached_steps_data_size(const sb_model *model, const sb_session *session);

/* Sets the text of an input, by which its rows are found. Call it whenever sb_session_begin is
 * called. */
void cached_steps_begin(struct cached_steps *steps, int32_t input, const char *text, size_t size);

/* Computes or looks up rows, as sb_session_step does. Afterwards sb_session_is_leaf takes the
 * states of these rows, but no others. */
sb_status cached_steps_take(struct cached_steps *steps, int32_t n_rows, const int32_t *from,
                            const int32_t *to, const int32_t *token, const int32_t *input,
                            void *rows, sb_error *err);

#endif
