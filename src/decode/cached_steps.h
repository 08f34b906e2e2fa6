/* A session whose rows are looked up before they are computed.
 *
 * It takes the steps of sb_session_step and gives the same rows. A prefix that was computed before,
 * for whichever draw, temperature or thread, is copied out of the cache together with its state, so
 * that it can be gone on from although the session never was there. */
#ifndef DECODE_CACHED_STEPS_H
#define DECODE_CACHED_STEPS_H

#include <stddef.h>
#include <stdint.h>

#include "decode/row_cache.h"
#include "math/noise.h"
#include "sbeam/model.h"

struct cached_steps {
    struct row_cache *cache; /* shared */
    const sb_model *model;
    sb_session *session;
    size_t row_size, state_size;   /* bytes; an entry of the cache is a row and then its state */
    struct noise_node *roots;      /* (max_inputs) by the text of the input */
    struct noise_node *now, *next; /* (n_rows) the prefixes of the last step, and of this one */
    char *states, *next_states;    /* (n_rows, state_size) */
    struct claim *claims;          /* (n_rows) */
    int32_t *missing;              /* (n_rows) the rows that must be computed */
    char *fresh, *parents;         /* rows and parents' states of one call of the model */
    size_t now_capacity, next_capacity, state_capacity, next_state_capacity, claim_capacity,
        missing_capacity;
    uint64_t n_rows, n_evaluated; /* asked for, and computed, so far */
    double seconds;               /* that computing took */
};

/* On failure there is nothing to close. The cache's entries have cached_steps_data_size bytes. */
sb_status cached_steps_open(struct cached_steps *steps, struct row_cache *cache,
                            const sb_model *model, sb_session *session, int32_t max_inputs,
                            sb_error *err);
void cached_steps_close(struct cached_steps *steps);
size_t cached_steps_data_size(const sb_model *model, const sb_session *session);

/* To be called with sb_session_begin: which text the input has. */
void cached_steps_begin(struct cached_steps *steps, int32_t input, const char *text, size_t size);

/* As sb_session_step. Afterwards sb_session_is_leaf knows the rows by the same places. */
sb_status cached_steps_take(struct cached_steps *steps, int32_t n_rows, const int32_t *parent,
                            const int32_t *token, const int32_t *input, void *rows, sb_error *err);

#endif
