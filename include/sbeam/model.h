/* Models: they compute the next-token scores that a search asks for.
 *
 * A model is a table of functions and the data behind it. It is const once open, and threads may
 * share it. A session belongs to one thread and holds states: what the model needs to continue from
 * a prefix. The caller numbers the states. sb_model_open opens a file as one of the library's
 * models; sb_model_open_custom makes a model of your own table. */
#ifndef SBEAM_MODEL_H
#define SBEAM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sbeam/error.h"
#include "sbeam/memory.h"
#include "sbeam/row.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sb_model sb_model;
typedef struct sb_session sb_session;

typedef struct sb_model_info {
    const char *kind;     /* "tree", "chain", "arpa", ... ; must outlive the model */
    int32_t vocab_size;   /* scores in a row, >= 1 */
    int32_t eos;          /* the token that ends a sequence, or -1 if there is none */
    sb_row_type row_type; /* the type of the rows that step writes */
    bool needs_input;     /* true: the model needs a source or a prompt; sb_draw refuses NULL */
    int32_t max_rows;     /* maximum number of rows of a step and of states, or 0: no limit. If
                           * possible, drawing leaves one state unused for each input, so that a
                           * model can keep the prompt there */
    int32_t max_len;      /* maximum number of steps of a sequence, EOS included, or 0: no limit.
                           * Drawing uses the smaller of this and the max_len of the settings */
    bool has_threads; /* true: the model spreads a step over threads itself. Drawing then has one
                       * worker, whose session gets the threads */
    bool rows_depend_on_batch; /* true: the last bits of a row depend on the rows that are computed
                                * together with it */
    const char *id; /* names the model in records, or NULL; must outlive the model. For models
                     * that the library opens it is the XXH64 checksum of the file, in 16
                     * hexadecimal digits. If the file is larger than 256 MiB, the checksum covers
                     * only its size and fixed parts. It is NULL for a pipe */
} sb_model_info;

/* The size of the work of a session, so that a model can make room for it. */
typedef struct sb_session_spec {
    int32_t max_inputs; /* maximum number of inputs at once, >= 1 */
    int32_t max_rows;   /* maximum number of rows of a step, or 0: not known */
    int32_t max_states; /* states are numbered 0 .. max_states - 1. 0 means max_rows; if both are
                         * 0, the number is not known */
    int32_t max_len;    /* maximum number of steps of a sequence, or 0: not known */
    int32_t threads;    /* threads for models with has_threads; 0: one */
} sb_session_spec;

/* Receives one fact about a model: a name such as "order" and its value in words. */
typedef void (*sb_describe_fn)(void *user, const char *name, const char *value);

/* The functions of a model. `self` is the model's data; `session` is what session_open made.
 *
 * Rows hold unnormalised natural-log scores (logits or log-probabilities); the library normalises
 * every row. -inf means a token of probability zero. NaN and +inf are refused; the message names
 * the step, the row and the token. */
typedef struct sb_model_ops {
    /* Required. Makes a session. max_inputs of the spec is always known; the other numbers are 0 if
     * they are not. The spec is valid only during the call. session_close releases *session. */
    sb_status (*session_open)(const void *self, const sb_session_spec *spec, void **session,
                              sb_error *err);
    /* Required. Frees a session. */
    void (*session_close)(void *session);
    /* Optional. Sets the text of input number `input` (0 <= input < max_inputs): the prefix to
     * continue, or the source. A model without this function takes only the empty input. */
    sb_status (*begin)(void *session, int32_t input, const char *text, size_t size, sb_error *err);
    /* Required. Computes n_rows rows. Row i continues state from[i] with token[i]; if both are -1,
     * it starts input[i] from its beginning. Its own state becomes state to[i]. No two rows have
     * the same `to`, but a `to` may be a `from`, of this row or of others: every `from` means the
     * state before the call. A state stays under its number, over any number of calls, until it is
     * released or a later row has this number as its `to`. rows is (n_rows, vocab_size) of row_type
     * and the caller's. */
    sb_status (*step)(void *session, int32_t n_rows, const int32_t *from, const int32_t *to,
                      const int32_t *token, const int32_t *input, void *rows, sb_error *err);
    /* Optional. Frees n states. No later row continues them, and their numbers may be used
     * again. */
    void (*release)(void *session, int32_t n, const int32_t *states);
    /* Optional. Returns whether the child `token` of a state is a leaf. Its answer for EOS does not
     * matter. */
    bool (*is_leaf)(void *session, int32_t state, int32_t token);
    /* Optional. Returns the text of one token, or NULL if it has none; owned by the model. */
    const char *(*token_text)(const void *self, int32_t token);
    /* Optional. Returns the id of the token with this text, or -1. */
    int32_t (*find_token)(const void *self, const char *text, size_t size);
    /* Optional. Calls `say` for each fact about the model. */
    void (*describe)(const void *self, sb_describe_fn say, void *user);
    /* Optional. Frees self. */
    void (*close)(void *self);
    /* Optional; for models whose text is not simply tokens between blanks. Turns the text of an
     * output into ids. *tokens comes from sb_alloc; the caller frees it. Both results are written
     * only on success. */
    sb_status (*encode)(const void *self, const char *text, size_t size, int32_t **tokens,
                        int32_t *n_tokens, sb_error *err);
    /* Optional. Turns ids, all of them 0 .. vocab_size - 1, into the text of an output, terminated.
     * *text comes from sb_alloc; the caller frees it. It is written only on success. */
    sb_status (*decode)(const void *self, const int32_t *tokens, int32_t n_tokens, char **text,
                        sb_error *err);
    /* Optional. While it is on, `begin` reads its text as tokens between blanks, and encode and
     * decode are not called. */
    void (*set_pretokenized)(void *self, bool on);
    /* Optional; a model has all of state_size, save and restore, or none. They turn a state into
     * plain bytes and back, so that any session of the model can continue from its prefix later
     * (sb_plan.cache_size). state_size returns the number of bytes, the same for all states and
     * sessions. */
    size_t (*state_size)(const void *session);
    /* Writes a state to `bytes`, of state_size bytes. */
    void (*save)(const void *session, int32_t state, void *bytes);
    /* Reads n saved states from `bytes`, (n, state_size), and stores them under the numbers
     * `states`, which are all different. */
    sb_status (*restore)(void *session, int32_t n, const int32_t *states, const void *bytes,
                         sb_error *err);
    /* Optional; for models with special tokens. Sets whether `begin` reads the names of special
     * tokens in its text as these tokens (on) or as text (off). */
    void (*set_special)(void *self, bool on);
} sb_model_ops;

/* Opens a model file. Its content, not its name, decides which kind it is. On success *model is the
 * caller's to close; on failure it is not written. The file of a neural model of more than 1 MB,
 * and of every GGUF model, stays mapped into memory: it must not be changed or cut short while the
 * model is open. To replace it, rename another file to its name. If it is cut short, the next use
 * of a missing page raises SIGBUS, which ends the process. The library installs no signal
 * handler. */
SB_API sb_status sb_model_open(sb_model **model, const char *path, sb_error *err);

/* Makes a model of your own table. ops and info are copied, but not info->kind. On success *model
 * is the caller's to close and owns self (ops->close frees it); on failure self stays the caller's.
 */
SB_API sb_status sb_model_open_custom(sb_model **model, const sb_model_ops *ops,
                                      const sb_model_info *info, void *self, sb_error *err);

/* Frees the model. Close its sessions first. Accepts NULL. */
SB_API void sb_model_close(sb_model *model);

/* Returns the facts that search needs. Never NULL; owned by the model. */
SB_API const sb_model_info *sb_model_get_info(const sb_model *model);
/* Returns whether the model has is_leaf, that is, whether sequences may end at a leaf. */
SB_API bool sb_model_has_leaves(const sb_model *model);
/* Returns whether the text of outputs is not simply tokens between blanks: the model has encode or
 * decode and is not set to be pretokenized. */
SB_API bool sb_model_has_own_text(const sb_model *model);
/* Calls `say` for each fact about the model: its kind, its vocabulary, and its own facts. */
SB_API void sb_model_describe(const sb_model *model, sb_describe_fn say, void *user);

/* Sets the marker at the end of a subword piece that joins it to the next, such as "@@", so that
 * sb_model_decode removes "@@ ". It has no effect on models with sb_model_has_own_text. NULL, the
 * default, removes nothing. The marker is copied. Call it before threads share the model. */
SB_API sb_status sb_model_set_marker(sb_model *model, const char *marker, sb_error *err);
/* Returns the marker, or NULL if there is none. Owned by the model. */
SB_API const char *sb_model_get_marker(const sb_model *model);

/* Chooses how text is read and written, in inputs and outputs. On: as tokens of the model between
 * blanks. Off, the default: in the model's own way, for example as sentences that the model splits
 * into pieces. Both are the same for a model whose text is always tokens. Call it before threads
 * share the model. */
SB_API sb_status sb_model_set_pretokenized(sb_model *model, bool on, sb_error *err);
/* Returns what sb_model_set_pretokenized has set. */
SB_API bool sb_model_is_pretokenized(const sb_model *model);

/* Chooses whether the names of special tokens in an input, such as </s>, are these tokens. By
 * default they are text, so that text that is quoted in an input cannot end the input or begin
 * another turn of a chat. Only GGUF models have special tokens in their inputs; for other models
 * `on` fails with SB_ERR_ARGUMENT. The setting has no effect on a pretokenized model, whose inputs
 * name all tokens. Call it before threads share the model. */
SB_API sb_status sb_model_set_special(sb_model *model, bool on, sb_error *err);
/* Returns what sb_model_set_special has set. */
SB_API bool sb_model_is_special(const sb_model *model);

/* Returns the text of a token, or NULL if it has none. Owned by the model. */
SB_API const char *sb_model_token_text(const sb_model *model, int32_t token);
/* Returns the id of the token with this text, or -1. */
SB_API int32_t sb_model_find_token(const sb_model *model, const char *text, size_t size);

/* Turns the text of an output into token ids: by encode if sb_model_has_own_text, else word by
 * word; a word that is not a token is then an error that names it. On success *tokens is the
 * caller's, to be released with sb_free. */
SB_API sb_status sb_model_encode(const sb_model *model, const char *text, size_t size,
                                 int32_t **tokens, int32_t *n_tokens, sb_error *err);
/* Turns a sequence into text. On success *text is the caller's, to be released with sb_free. */
SB_API sb_status sb_model_decode(const sb_model *model, const int32_t *tokens, int32_t n_tokens,
                                 char **text, sb_error *err);

/* Sessions. These functions check their arguments and call the functions of the table, whose
 * comments say what they do. Two threads must not use a session at once. */

/* Opens a session; the spec is not needed afterwards. On success *session is the caller's to close,
 * before the model. */
SB_API sb_status sb_session_open(sb_session **session, const sb_model *model,
                                 const sb_session_spec *spec, sb_error *err);
/* Frees the session. Accepts NULL. */
SB_API void sb_session_close(sb_session *session);
/* Sets the text of an input. text may be NULL if size is 0. */
SB_API sb_status sb_session_begin(sb_session *session, int32_t input, const char *text, size_t size,
                                  sb_error *err);
/* Computes rows. A refused argument changes nothing. If the model fails, the session has no states
 * left: the next step can only start inputs or follow a restore. */
SB_API sb_status sb_session_step(sb_session *session, int32_t n_rows, const int32_t *from,
                                 const int32_t *to, const int32_t *token, const int32_t *input,
                                 void *rows, sb_error *err);
/* Frees n states. Numbers without a state are skipped. */
SB_API sb_status sb_session_release(sb_session *session, int32_t n, const int32_t *states,
                                    sb_error *err);
/* Returns whether the child is a leaf; false if there is no such state or token. */
SB_API bool sb_session_is_leaf(sb_session *session, int32_t state, int32_t token);
/* Returns whether the model can save and restore states; if not, sb_session_save and
 * sb_session_restore fail with SB_ERR_ARGUMENT. */
SB_API bool sb_model_has_states(const sb_model *model);
/* Returns the size of a state in bytes, which may be 0. */
SB_API size_t sb_session_state_size(const sb_session *session);
/* Writes a state to `bytes`, the caller's, of sb_session_state_size bytes. */
SB_API sb_status sb_session_save(const sb_session *session, int32_t state, void *bytes,
                                 sb_error *err);
/* Reads n saved states from `bytes`, (n, sb_session_state_size), and stores them under the numbers
 * `states`. A refused argument changes nothing. If the model fails, the session has no states
 * left. */
SB_API sb_status sb_session_restore(sb_session *session, int32_t n, const int32_t *states,
                                    const void *bytes, sb_error *err);

#ifdef __cplusplus
}
#endif
#endif
