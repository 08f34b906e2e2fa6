/* Drawing step by step, for hosts that run their model themselves.
 *
 *     sb_decoder_open(&decoder, &spec, &config, &err);
 *     sb_decoder_add(decoder, &job, &slot, &err);               at any time, once for each draw
 *     while (!sb_decoder_done(decoder)) {
 *         n = sb_decoder_rows(decoder, &parent, &token, &input);
 *         ... compute n rows of logits in any way ...
 *         if (sb_decoder_advance(decoder, logits, stride, &err) != SB_OK)
 *             ... see sb_decoder_advance ...
 *         while ((slot = sb_decoder_finished(decoder)) >= 0)
 *             sb_decoder_take(decoder, slot, result, &err);     frees the slot for another job
 *     }
 *     sb_decoder_close(decoder);
 *
 * A slot holds one job at a time; a job is one draw. This is the only loop of the library: sb_draw
 * and sb_draw_all use it, too. */
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

/* Describes the rows that the decoder will get. */
typedef struct sb_decoder_spec {
    int32_t vocab_size;   /* scores in a row, >= 1; 0: each row has its own number
                           * (sb_decoder_advance_ragged) */
    int32_t eos;          /* the end token, or -1 if there is none */
    sb_row_type row_type; /* of the rows given to sb_decoder_advance; sb_decoder_set_row_type
                           * changes it */
    int32_t max_slots;    /* maximum number of jobs at once, 1 .. 4096 */
    int32_t max_rows;     /* maximum number of rows of a slot at once, or 0: no limit */
    bool keeps_states;    /* the host keeps the states of rows by number (sb_decoder_states), which
                           * best-first search needs */
    bool continues;       /* a finished job can be continued (sb_decoder_continue); needs
                           * best-first search */
    int32_t stop_window;  /* is_stop gets only the last stop_window tokens, or 0: all */
    void *user;           /* passed to the functions below; the caller's */
    /* Optional. Returns whether the child `token` of row `row` of the last rows is a leaf. */
    bool (*is_leaf)(void *user, int32_t row, int32_t token);
    /* Optional; required if the config has stop strings. Returns 1 if a sequence ends here because
     * of its text, 0 if not, and -1 if memory is short (then the step fails with SB_ERR_MEMORY). */
    int (*is_stop)(void *user, const int32_t *tokens, int32_t n_tokens);
    /* Optional; required if the config has until_texts. Returns 1 if the text of this sequence is
     * new among the sequences of the slot's job, 0 if not, and -1 if memory is short. `rank` is the
     * number of sequences of the job before it, so 0 begins a job. */
    int (*is_new_text)(void *user, int32_t slot, int32_t rank, const sb_sequence *sequence);
} sb_decoder_spec;

/* Names one draw. Its noise is a function of (config.seed, stream, draw) and of the node. */
typedef struct sb_job {
    uint64_t stream, draw; /* the number of the input, and of the draw from it */
    double temperature;    /* 0: config.temperature; else within the same bounds */
} sb_job;

/* One entry of a slot's beam. */
typedef struct sb_beam_entry {
    int32_t parent; /* index on the previous beam: of its parent, or of itself if it stayed; -1 for
                     * the root */
    int32_t token;  /* its last token, or -1 for the root */
    int32_t depth;  /* steps from the root, EOS included */
    sb_end end;     /* SB_END_NONE while it grows */
    bool is_new;    /* true: made by the last step; false: a finished entry that stayed */
    double phi;     /* log-probability of the prefix, tempered and masked */
    double score;   /* the number it is ranked by: G for SBS */
} sb_beam_entry;

/* Opens a decoder. On success *decoder is the caller's to close. spec and config are copied, with
 * the list of banned tokens. The stop strings are not copied, because only is_stop uses them.
 *
 * A slot asks for at most k rows at once (k + 1 with kappa). `reject` asks for up to max(k, 4096)
 * rows, or up to max_rows if that is less. `explicit` asks for a whole level of the tree, and is
 * refused if max_rows is set. */
SB_API sb_status sb_decoder_open(sb_decoder **decoder, const sb_decoder_spec *spec,
                                 const sb_config *config, sb_error *err);
/* Frees the decoder and all its jobs. Accepts NULL. */
SB_API void sb_decoder_close(sb_decoder *decoder);

/* Starts a job in a free slot and writes the number of the slot to *slot, unless slot is NULL.
 * Returns SB_ERR_STATE if no slot is free. SB_ERR_STATE and SB_ERR_ARGUMENT change nothing; after
 * any other failure the decoder can only be closed. */
SB_API sb_status sb_decoder_add(sb_decoder *decoder, const sb_job *job, int32_t *slot,
                                sb_error *err);

/* Returns the number of rows that are wanted. Row i continues row parent[i] of the previous rows
 * with token[i]; if both are -1, it starts the job in slot input[i]. The arrays are the decoder's
 * and valid until the next call of add, advance or cancel. Any of the pointers may be NULL. */
SB_API int32_t sb_decoder_rows(const sb_decoder *decoder, const int32_t **parent,
                               const int32_t **token, const int32_t **input);

/* Tells a host with keeps_states which states the rows continue and become, as step of sb_model_ops
 * does. Row i continues state from[i], or no state if it is -1, and its own state
 * becomes state to[i]. Returns the number of states in `released`, which no row needs any more;
 * free them before the rows are computed, because a `to` may be one of them. On failure returns -1;
 * after SB_ERR_MEMORY the decoder has failed.
 *
 * With best-first search this is the only way to know what a row continues: parent[i] of
 * sb_decoder_rows is -1. Call it after each sb_decoder_rows; sb_decoder_advance refuses to go on
 * without it. The arrays are the decoder's and valid until the next call of add, advance or cancel.
 */
SB_API int32_t sb_decoder_states(sb_decoder *decoder, const int32_t **from, const int32_t **to,
                                 const int32_t **released, sb_error *err);

/* Takes the wanted rows and makes one step in every slot. Row i starts at logits + i * stride
 * elements (not bytes) of the row type. The rows are only read, and only during this call.
 *
 * SB_ERR_MODEL and SB_ERR_LIMIT concern single slots: a slot that failed counts as finished, and
 * sb_decoder_take returns its error. SB_ERR_LIMIT means that the tree of `explicit` is too large,
 * or that a sequence has a log-probability below -1e9, which leaves no room for the noise
 * (doc/noise.md). The other slots have made their step. If several slots failed, the first error is
 * returned. SB_ERR_ARGUMENT and SB_ERR_STATE change nothing. After any other failure the decoder
 * can only be closed. The same holds if all slots together want more than 2^28 - 1 rows:
 * SB_ERR_LIMIT, and sb_decoder_finished returns -1. */
SB_API sb_status sb_decoder_advance(sb_decoder *decoder, const void *logits, size_t stride,
                                    sb_error *err);

/* Takes the wanted rows like sb_decoder_advance, for a decoder whose vocab_size is 0: row i has
 * widths[i] scores, and the rows follow each other without a gap. The tokens of a row are 0 ..
 * widths[i] - 1. A row of width 0 has no children: its node is a sequence that ends here
 * (SB_END_LEAF). So a host need not know which children are leaves until their rows are wanted, and
 * need not know any width beforehand. If all rows have width 0, logits may be NULL.
 *
 * Such a decoder needs best-first search. It must have no end token, no banned tokens, no min_len
 * and no list of permitted outputs. A negative width is SB_ERR_ARGUMENT and changes nothing. All
 * other errors are those of sb_decoder_advance. */
SB_API sb_status sb_decoder_advance_ragged(sb_decoder *decoder, const void *logits,
                                           const int32_t *widths, sb_error *err);

/* Sets the type of the rows from the next advance on, for hosts that learn it from their rows. You
 * may call it before any step. A type that is neither float nor double is SB_ERR_ARGUMENT and
 * changes nothing. */
SB_API sb_status sb_decoder_set_row_type(sb_decoder *decoder, sb_row_type type, sb_error *err);

/* Writes sequence i of a slot, counted from 0, to *sequence if best-first search is certain of it:
 * this search finds the sequences of a draw one by one, in their order. You can ask during the job
 * and until its result is taken; if the job can be continued, you can also ask later. The sequence
 * has no log_weight, which follows from kappa at the end. Its tokens are the decoder's and valid
 * until the next call of any function of the decoder. Returns 1, or 0 if sequence i is not certain
 * yet, if the search is not best-first, or if its log-probability is so low that the draw will fail
 * with SB_ERR_LIMIT, or -1 if memory is short. */
SB_API int sb_decoder_certain(sb_decoder *decoder, int32_t slot, int32_t i, sb_sequence *sequence);

/* Returns a slot whose result or error is ready, or -1 if there is none. */
SB_API int32_t sb_decoder_finished(const sb_decoder *decoder);

/* Moves the result of a finished slot to *result, which the caller opened, and frees the slot. If
 * the slot failed, returns its error, empties *result and frees the slot, too. A slot that has not
 * finished is SB_ERR_STATE; this and SB_ERR_ARGUMENT change nothing.
 *
 * If the spec has `continues` and the slot did not fail, the slot is not freed: it keeps its job
 * for sb_decoder_continue. sb_decoder_cancel frees it. */
SB_API sb_status sb_decoder_take(sb_decoder *decoder, int32_t slot, sb_result *result,
                                 sb_error *err);

/* Continues a finished job for n more sequences, if the spec has `continues`. The job then wants
 * rows again. Its next result holds all its sequences so far, with kappa and weights: bit for bit
 * the draw of that many sequences. If the model has no other sequences, the job finishes at once
 * with those that it has.
 *
 * A job that may be continued drops nothing, so its memory grows. It releases its states only
 * when it ends: when it is cancelled, fails or has found all sequences. From a node it first takes
 * only the best children. To take more of them, it wants the row of this node again, which must
 * then have the same scores. The weights are right only if the number of sequences was chosen
 * without looking at them.
 *
 * Returns SB_ERR_STATE if the slot has no finished job or the spec does not have `continues`, and
 * SB_ERR_ARGUMENT if n is not positive or there would be more than 2^31 - 1 sequences; both change
 * nothing. After any other failure the decoder can only be closed. */
SB_API sb_status sb_decoder_continue(sb_decoder *decoder, int32_t slot, int32_t n, sb_error *err);

/* Drops the job of a slot, running or finished, and frees the slot. A slot without a job is
 * SB_ERR_STATE and stays free. */
SB_API sb_status sb_decoder_cancel(sb_decoder *decoder, int32_t slot, sb_error *err);

/* Returns true if no rows are wanted: no slot is running, or the decoder has failed. */
SB_API bool sb_decoder_done(const sb_decoder *decoder);

/* Writes entry i of the slot's beam after the last step; sbs and beam have the best entry first.
 * Returns false, and writes nothing, if the beam has no entry i. Between the end of the job and the
 * taking of its result, the entries are the sequences of the result. A free slot has no entries. */
SB_API bool sb_decoder_beam(const sb_decoder *decoder, int32_t slot, int32_t i,
                            sb_beam_entry *entry);

#ifdef __cplusplus
}
#endif
#endif
