/* One call: draw from a model, for one input or for a stream of them. */
#ifndef SBEAM_DRAW_H
#define SBEAM_DRAW_H

#include <stddef.h>
#include <stdint.h>

#include "sbeam/config.h"
#include "sbeam/error.h"
#include "sbeam/model.h"
#include "sbeam/result.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Draws once from the model, continuing or translating `input` (NULL: the empty input, refused by
 * models that need one), as stream 0 and draw 0 of config->seed. Fills *result, which the caller
 * opened; on failure it is empty.
 *
 *     sb_config config;
 *     sb_config_default(&config);
 *     sb_draw(model, NULL, &config, result, &err);
 */
SB_API sb_status sb_draw(const sb_model *model, const char *input, const sb_config *config,
                         sb_result *result, sb_error *err);

/* One input of many. */
typedef struct sb_input {
    const char *text; /* may hold any bytes */
    size_t size;
    uint64_t stream; /* numbers the input: its noise depends on this, not on its position */
    void *user;      /* handed back with each of its results; the library does not look at it */
} sb_input;

/* What a cache did. */
typedef struct sb_cache_stats {
    uint64_t rows;      /* that the draws asked for */
    uint64_t evaluated; /* of them, computed by the model; the rest were kept from before */
    double seconds;     /* that computing them took, over all threads */
    size_t used;        /* bytes at the end */
} sb_cache_stats;

/* Ends work under way from outside: from another thread, or from the handler of a signal. */
typedef struct sb_interrupt sb_interrupt;

/* On success *interrupt is the caller's to close, once no work looks at it any more. */
SB_API sb_status sb_interrupt_open(sb_interrupt **interrupt, sb_error *err);
/* Accepts NULL. */
SB_API void sb_interrupt_close(sb_interrupt *interrupt);
/* Work that looks at it ends before its next step or input, with SB_ERR_STOPPED and the message
 * "interrupted", and so does all later work. It only stores a number: any thread and any signal
 * handler may call it, any number of times. */
SB_API void sb_interrupt_raise(sb_interrupt *interrupt);

/* How to go through many inputs. */
typedef struct sb_plan {
    const double *temperatures; /* (n_temperatures) >= 1, or NULL for config->temperature alone */
    size_t n_temperatures;
    uint64_t first_draw, n_draws; /* repetitions per input and temperature; default 0, 1 */
    int32_t threads;              /* 1 .. 1024; default 1 */
    int32_t batch; /* draws that travel together in a thread, 1 .. 4096; default 16 */
    /* Bytes for rows that were computed, kept by input and prefix over draws, temperatures and
     * threads, so that none is computed twice while there is room; default 0: none are kept. What
     * is drawn stays the same, to the bit where rows do not depend on the rows computed beside
     * them. The model must have states (sb_model_has_states). */
    size_t cache_size;
    sb_cache_stats *cache_stats;   /* filled in at the end, unless the plan is refused; or NULL */
    const sb_interrupt *interrupt; /* the caller's; looked at before each step of the model and
                                    * each input; or NULL, the default */
} sb_plan;

SB_API void sb_plan_default(sb_plan *plan);

/* Gives the next input: 1 and *input filled, 0 at the end, -1 to stop the work with an error of the
 * caller's. The text must stay as it is until `done` of the sink has been called for the input. */
typedef int (*sb_source_fn)(void *user, sb_input *input, sb_error *err);

/* Takes results, in the order of the inputs, then temperature, then draw.
 * Returns 0 to go on, anything else to stop. */
typedef int (*sb_sink_fn)(void *user, const sb_input *input, const sb_result *result,
                          sb_error *err);

/* Draws for every input that the source gives and hands the results to the sink. Neither is ever
 * called by two threads at once. When an input's last result has been taken and `done` is not NULL,
 * it is called with the input, so that its text can be freed; it is also called for what was read
 * but not finished when the work stops.
 *
 * Where an input cannot be drawn from, everything before it is handed over, whatever the threads
 * and the batch, and its error is returned, beginning with "input N: ". Where the source or the
 * sink stops, its own message is returned if it filled in err. */
typedef struct sb_pipe {
    void *user;
    sb_source_fn source;
    sb_sink_fn sink;
    void (*done)(void *user, const sb_input *input); /* optional */
} sb_pipe;

SB_API sb_status sb_draw_all(const sb_model *model, const sb_config *config, const sb_plan *plan,
                             const sb_pipe *pipe, sb_error *err);

/* Draws for n inputs at once: results[i * n_temperatures * n_draws + ...], in the order above, each
 * opened by the caller. */
SB_API sb_status sb_draw_batch(const sb_model *model, const sb_input *inputs, size_t n_inputs,
                               const sb_config *config, const sb_plan *plan, sb_result **results,
                               sb_error *err);

/* log p(tokens | input) under the model itself (T = 1, unmasked), token by token:
 * token_log_p[i] for each of the n_tokens. -inf where the model gives no mass. A token past a leaf,
 * or past the max_len of the model, is an error; then nothing is written. input may be NULL with
 * size 0. */
SB_API sb_status sb_score(const sb_model *model, const char *input, size_t size,
                          const int32_t *tokens, int32_t n_tokens, double *token_log_p,
                          sb_error *err);

#ifdef __cplusplus
}
#endif
#endif
