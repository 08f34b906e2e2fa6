/* Drawing from a model in one call, for one input or for many. */
#ifndef SBEAM_DRAW_H
#define SBEAM_DRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sbeam/config.h"
#include "sbeam/error.h"
#include "sbeam/model.h"
#include "sbeam/option.h"
#include "sbeam/result.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Draws once from the model: continues or translates `input`, as stream 0 and draw 0 of
 * config->seed. NULL is the empty input, which models that need an input refuse. Fills *result,
 * which the caller opened; on failure it is empty.
 *
 *     sb_config config;
 *     sb_config_default(&config);
 *     sb_draw(model, NULL, &config, result, &err);
 */
SB_API sb_status sb_draw(const sb_model *model, const char *input, const sb_config *config,
                         sb_result *result, sb_error *err);

/* One input. */
typedef struct sb_input {
    const char *text; /* (size) any bytes; the caller's */
    size_t size;
    uint64_t stream; /* the number of the input: its noise depends on this, not on its position */
    void *user;      /* the caller's; the library only passes it on with each result */
} sb_input;

/* How a cache was used. */
typedef struct sb_cache_stats {
    uint64_t rows;      /* rows that the draws asked for */
    uint64_t evaluated; /* rows that the model computed; the cache held the others */
    double seconds;     /* time spent computing rows, summed over the threads */
    size_t used;        /* bytes in use at the end */
} sb_cache_stats;

/* Stops sb_draw_all and sb_draw_batch from another thread or from a signal handler. */
typedef struct sb_interrupt sb_interrupt;

/* Opens an interrupt that is not raised. On success *interrupt is the caller's to close, after all
 * calls that use it have returned. */
SB_API sb_status sb_interrupt_open(sb_interrupt **interrupt, sb_error *err);
/* Frees the interrupt. Accepts NULL. */
SB_API void sb_interrupt_close(sb_interrupt *interrupt);
/* Makes every call that uses the interrupt end, before its next step or input, with SB_ERR_STOPPED
 * and the message "interrupted". An interrupt stays raised, so that later calls end, too. This
 * function only stores a number: any thread and any signal handler may call it, any number of
 * times. Accepts NULL. */
SB_API void sb_interrupt_raise(sb_interrupt *interrupt);

/* How to work through many inputs. */
typedef struct sb_plan {
    const double *temperatures; /* (n_temperatures >= 1), or NULL: only config->temperature */
    size_t n_temperatures;
    uint64_t first_draw, n_draws; /* draws first_draw .. first_draw + n_draws - 1 of each input
                                   * and temperature, n_draws 1 .. 2^53; default 0, 1 */
    int32_t threads;              /* 1 .. 1024; default 1 */
    int32_t batch;                /* draws that a thread computes together, 1 .. 4096; default 16 */
    /* Bytes for a cache of rows, 0 .. 2^42; default 0: no cache. It is shared by all draws,
     * temperatures and threads, so that no row of the same input and prefix is computed twice while
     * there is room. The draws stay the same: to the bit, if a row of the model does not depend on
     * the rows computed together with it. The model must have states (sb_model_has_states). */
    size_t cache_size;
    sb_cache_stats *cache_stats;   /* filled in at the end, unless the plan was refused; or NULL */
    const sb_interrupt *interrupt; /* the caller's; checked before each step of the model and
                                    * each input; default NULL: none */
    /* Whether a thread finishes its draws of one input before it begins the next input; default
     * false. If true, the time at which inputs arrive does not decide which of them are computed
     * together. Set it for a model with rows_depend_on_batch and a pipe with `ready`. */
    bool one_input;
} sb_plan;

/* Sets every field to its default. */
SB_API void sb_plan_default(sb_plan *plan);

/* Returns SB_OK, or SB_ERR_ARGUMENT and a message that names the field and the reason. */
SB_API sb_status sb_plan_check(const sb_plan *plan, sb_error *err);

/* Sets a field from text, by the name of its option: "draws", "threads", "batch", or "cache" in
 * megabytes of 2^20 bytes. On failure the plan is unchanged. */
SB_API sb_status sb_plan_set(sb_plan *plan, const char *name, const char *value, sb_error *err);

/* Writes the value of a field as text that sb_plan_set accepts; a cache that is not a whole number
 * of megabytes is rounded up. `text` is the caller's and has `size` bytes; a longer value is cut.
 * The text is always terminated. */
SB_API sb_status sb_plan_get(const sb_plan *plan, const char *name, char *text, size_t size,
                             sb_error *err);

/* Returns option i of the table, or NULL if i is past its end. The table is static. */
SB_API const sb_option *sb_plan_option(size_t i);

/* Gives the next input. Returns 1 after filling in *input, 0 at the end of the inputs, and -1 to
 * stop the work. The text must stay unchanged until `done` is called for the input. */
typedef int (*sb_source_fn)(void *user, sb_input *input, sb_error *err);

/* Takes the next result, in the order of the inputs, then of the temperatures, then of the draws.
 * The result is the library's and valid during the call. Returns 0 to continue, anything else to
 * stop the work. */
typedef int (*sb_sink_fn)(void *user, const sb_input *input, const sb_result *result,
                          sb_error *err);

/* A sequence that is certain before its draw has ended. */
typedef struct sb_certain {
    uint64_t stream, draw;
    double temperature;
    int32_t rank;         /* its index among the sequences of the draw, from 0 */
    sb_sequence sequence; /* without log_weight; the library's, and valid only during the call */
} sb_certain;

/* The caller's functions for sb_draw_all. Two calls of them never overlap, for any number of
 * threads, with one exception: while `ready` waits, `sink`, `done` and `flush` may be called. */
typedef struct sb_pipe {
    void *user; /* passed to the functions; the caller's */
    sb_source_fn source;
    sb_sink_fn sink;
    /* Optional. Called once for each input, after the sink has taken its last result or after the
     * work has stopped, so that its text can be freed. */
    void (*done)(void *user, const sb_input *input);
    /* Optional, for inputs that arrive over time. Waits until the source can answer without
     * waiting, but not longer than `milliseconds`; 0 does not wait, and -1 waits without a limit.
     * Returns whether the source can answer; it may return false early. With this function, draws
     * begin as soon as there is an input, and finished results are handed over while it waits.
     * Without it, the source may wait. Then no result is handed over until the source returns, and
     * a thread first asks for a whole batch of inputs. */
    bool (*ready)(void *user, int milliseconds);
    /* Optional. Called when the sink has taken all finished results and the source has no input now
     * or is at its end, so that a sink that collects its output can write it. Returns 0 to
     * continue, anything else to stop the work. */
    int (*flush)(void *user, sb_error *err);
    /* Optional. Called for each sequence as soon as best-first search is certain of it. Within a
     * draw the calls are in the order of the sequences; the calls of draws that are computed
     * together may alternate. The sink gets the whole result afterwards. Other searches and methods
     * never call it. Returns 0 to continue, anything else to stop the work. */
    int (*certain)(void *user, const sb_input *input, const sb_certain *found, sb_error *err);
} sb_pipe;

/* Draws for every input that the source gives and hands the results to the sink.
 *
 * If drawing fails for an input, the sink still gets all results before the failed one, for any
 * number of threads and any batch; the error is returned, with "input N: " (N is the stream) before
 * its message. If the source, the sink or flush stops, its error is returned if it filled in err,
 * else SB_ERR_STOPPED. */
SB_API sb_status sb_draw_all(const sb_model *model, const sb_config *config, const sb_plan *plan,
                             const sb_pipe *pipe, sb_error *err);

/* Draws for n_inputs inputs and writes to results, (n_inputs, n_temperatures, n_draws), each opened
 * by the caller. On failure all of them are empty. */
SB_API sb_status sb_draw_batch(const sb_model *model, const sb_input *inputs, size_t n_inputs,
                               const sb_config *config, const sb_plan *plan, sb_result **results,
                               sb_error *err);

/* Scores a given sequence: writes to token_log_p[i] the log-probability of tokens[i], given the
 * input and the tokens before it, under the model itself (T = 1, unmasked). It is -inf for a token
 * of probability zero and for all tokens after that one. A token after EOS, after a leaf or beyond
 * the max_len of the model is SB_ERR_INPUT. On failure nothing is written. input may be NULL if
 * size is 0. */
SB_API sb_status sb_score(const sb_model *model, const char *input, size_t size,
                          const int32_t *tokens, int32_t n_tokens, double *token_log_p,
                          sb_error *err);

#ifdef __cplusplus
}
#endif
#endif
