/* A decoder and the session of a model that computes the rows it asks for. A worker of sb_draw_all
 * has one, and a cursor has one. */
#ifndef DECODE_STEPPER_H
#define DECODE_STEPPER_H

#include "decode/cached_steps.h"
#include "sbeam/decoder.h"
#include "text/vocab.h"

struct stepper {
    const sb_model *model;
    const sb_config *config;
    sb_decoder *decoder;
    sb_session *session;
    void *rows;        /* (n_room, vocab_size) */
    size_t n_room;     /* rows */
    size_t most_rows;  /* maximum number of rows that are asked for at once */
    const int32_t *to; /* (n_rows) the states of the rows of the last step */
    vocab *texts;      /* (n_slots) the texts of each slot's sequences, if until_texts needs them */
    int32_t n_slots;
    bool has_cache;
    struct cached_steps cached; /* used if has_cache */
};

/* Opens the decoder, which refuses bad settings. The stepper must be all zeros; model and config
 * stay the caller's. max_rows is that of the decoder's spec. Close the stepper also after a
 * failure. */
sb_status stepper_open(struct stepper *stepper, const sb_model *model, const sb_config *config,
                       int32_t n_slots, int32_t max_rows, sb_error *err);
/* Opens the session. cache may be NULL. */
sb_status stepper_open_session(struct stepper *stepper, const sb_session_spec *spec,
                               struct row_cache *cache, sb_error *err);
/* Frees all that the stepper holds. Accepts a stepper that is all zeros. */
void stepper_close(struct stepper *stepper);

/* Sets the input of a slot. */
sb_status stepper_begin(struct stepper *stepper, int32_t slot, const char *text, size_t size,
                        sb_error *err);
/* Makes one step of the model and of the search. The errors of single slots are not returned:
 * sb_decoder_take returns them. */
sb_status stepper_step(struct stepper *stepper, sb_error *err);

/* For tests: makes steppers that are opened from now on ask for at most n rows at once; 0: as many
 * as usual. */
void stepper_limit_rows(int32_t n);

#endif
