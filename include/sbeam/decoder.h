/* Step by step, for hosts that own their model.
 *
 *     sb_decoder_open(&decoder, &spec, &config, &err);
 *     sb_decoder_add(decoder, &job, &slot, &err);               one or many, at any time
 *     while (!sb_decoder_done(decoder)) {
 *         n = sb_decoder_rows(decoder, &parent, &token, &input);
 *         ... compute n rows of logits any way you like ...
 *         if (sb_decoder_advance(decoder, logits, stride, &err) != SB_OK)
 *             ... see there ...
 *         while ((slot = sb_decoder_finished(decoder)) >= 0)
 *             sb_decoder_take(decoder, slot, result, &err);     frees the slot for the next job
 *     }
 *     sb_decoder_close(decoder);
 *
 * This is the library's one loop: sb_draw and sb_draw_all are written on it. */
#ifndef SBEAM_DECODER_H
#define SBEAM_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sbeam/config.h"
#include "sbeam/error.h"
#include "sbeam/model.h"
#include "sbeam/result.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sb_decoder sb_decoder;

/* What the decoder must know about the rows that it will be given. */
typedef struct sb_decoder_spec {
    int32_t vocab_size;   /* >= 1 */
    int32_t eos;          /* the end token, or -1 */
    sb_row_type row_type; /* of the rows given to sb_decoder_advance, until it is set anew */
    int32_t max_slots;    /* jobs at once, 1 .. 4096 */
    int32_t max_rows;     /* most rows that a slot may ask for at once, or 0 for no limit */
    int32_t stop_window;  /* is_stop looks at so many of the last tokens, or 0 for all */
    void *user;           /* handed to the two functions below */
    /* Optional. Whether the child `token` of row `row` (of the rows just computed) is a leaf. */
    bool (*is_leaf)(void *user, int32_t row, int32_t token);
    /* Optional; required with stop strings in the config. Whether a sequence ends here because of
     * its text: 1 yes, 0 no, -1 it could not be told for want of memory. */
    int (*is_stop)(void *user, const int32_t *tokens, int32_t n_tokens);
} sb_decoder_spec;

/* What a slot is to draw. The noise is a function of (config.seed, stream, draw) and the tree. */
typedef struct sb_job {
    uint64_t stream, draw;
    double temperature; /* 0: that of the config */
} sb_job;

/* One entry of a slot's beam, as sb_decoder_beam shows it. */
typedef struct sb_beam_entry {
    int32_t parent; /* place on the beam of the previous step of its parent, or, where it stayed, of
                     * itself; -1 for the root */
    int32_t token;  /* the token that made it, or -1 for the root; a finished entry keeps its own */
    int32_t depth;  /* steps from the root */
    sb_end end;     /* SB_END_NONE while it grows */
    bool is_new;    /* made by the last step; false: a finished entry that stayed */
    double phi;     /* log-probability of the prefix (tempered, masked) */
    double score;   /* what it is ranked by: its G for SBS */
} sb_beam_entry;

/* On success *decoder is the caller's to close. spec and config are copied, the list of banned
 * tokens included; stop strings are left to is_stop. A slot asks for at most k rows at once (k + 1
 * with kappa), `reject` for at most max(k, 4096), `explicit` for as many as a level of the tree
 * has; with max_rows `reject` keeps to it and `explicit` is refused. */
SB_API sb_status sb_decoder_open(sb_decoder **decoder, const sb_decoder_spec *spec,
                                 const sb_config *config, sb_error *err);
/* Accepts NULL. */
SB_API void sb_decoder_close(sb_decoder *decoder);

/* Starts a job in a free slot; SB_ERR_STATE when all slots are taken. After SB_ERR_MEMORY the
 * decoder can only be closed. */
SB_API sb_status sb_decoder_add(sb_decoder *decoder, const sb_job *job, int32_t *slot,
                                sb_error *err);

/* The rows that are wanted: row i continues row parent[i] of the previous rows with token[i]; -1
 * and -1 start slot input[i]. Returns their number. The arrays are the decoder's, valid until the
 * next call of add, advance or cancel. */
SB_API int32_t sb_decoder_rows(const sb_decoder *decoder, const int32_t **parent,
                               const int32_t **token, const int32_t **input);

/* Takes the rows: row i starts at logits + i * stride elements (not bytes) of the spec's type. They
 * are only read. SB_ERR_MODEL and SB_ERR_LIMIT concern one slot: it is finished, taking it gives
 * its error again, and the other slots have moved on as if nothing had happened; the first such
 * error is returned. SB_ERR_ARGUMENT and SB_ERR_STATE change nothing.
 * After any other failure the decoder can only be closed. */
SB_API sb_status sb_decoder_advance(sb_decoder *decoder, const void *logits, size_t stride,
                                    sb_error *err);

/* The type of the rows from the next advance on, for hosts that learn it from the rows themselves.
 * It may change at any step: rows are read within one advance only. A type that is neither float
 * nor double is SB_ERR_ARGUMENT, and changes nothing. */
SB_API sb_status sb_decoder_set_row_type(sb_decoder *decoder, sb_row_type type, sb_error *err);

/* A slot whose result, or error, is ready; -1: none. */
SB_API int32_t sb_decoder_finished(const sb_decoder *decoder);

/* Moves the result of a finished slot to *result and frees the slot. Where the slot failed, returns
 * its error and leaves *result empty; the slot is free all the same. */
SB_API sb_status sb_decoder_take(sb_decoder *decoder, int32_t slot, sb_result *result,
                                 sb_error *err);

/* Gives up the job of a slot, whatever its state, and frees the slot. */
SB_API sb_status sb_decoder_cancel(sb_decoder *decoder, int32_t slot, sb_error *err);

/* True when no rows are wanted. */
SB_API bool sb_decoder_done(const sb_decoder *decoder);

/* Entry i of the slot's beam after the last step, best first; false past its end. Once the slot is
 * finished, and until its result is taken, these are the sequences of the result; a free slot has
 * none. */
SB_API bool sb_decoder_beam(const sb_decoder *decoder, int32_t slot, int32_t i,
                            sb_beam_entry *entry);

#ifdef __cplusplus
}
#endif
#endif
