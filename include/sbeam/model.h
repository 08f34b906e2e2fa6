/* Models: what search asks for next-token scores.
 *
 * A model is a vtable and the data behind it. It is const once open and may be shared by threads; a
 * session holds the moving state of one thread's rows. Opening a file gives one of the library's
 * models; sb_model_open_custom makes one of your own table. */
#ifndef SBEAM_MODEL_H
#define SBEAM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sbeam/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sb_model sb_model;
typedef struct sb_session sb_session;

typedef enum sb_row_type {
    SB_ROW_FLOAT = 0, /* neural models */
    SB_ROW_DOUBLE = 1 /* exact models: log-probabilities to the last digit */
} sb_row_type;

typedef struct sb_model_info {
    const char *kind;     /* "tree", "chain", "arpa", ... ; must outlive the model */
    int32_t vocab_size;   /* columns of a row, >= 1 */
    int32_t eos;          /* the token that ends a sequence, or -1 where there is none */
    sb_row_type row_type; /* what step writes */
    bool needs_input;     /* true: without an input there is nothing to do (a source, a prompt) */
    int32_t max_rows;     /* most rows alive at once, or 0 for no limit. Where it can, drawing keeps
                           * one of them for each input, for models that keep a prompt there */
    int32_t max_len;      /* longest sequence that it can give, in steps (with EOS); 0: no limit.
                           * Drawing takes it where it is below the max_len of the settings */
    bool has_threads;     /* a step is spread over threads by the model itself: drawing then has one
                           * worker, and its session gets the threads */
} sb_model_info;

/* What a session will be used for, so that a model can make room for it. */
typedef struct sb_session_spec {
    int32_t max_inputs; /* inputs at once, >= 1 */
    int32_t max_rows;   /* most rows of a step, or 0: not known */
    int32_t max_len;    /* most steps of a sequence, or 0: not known */
    int32_t threads;    /* for models that have threads; 0: one */
} sb_session_spec;

/* Receives one fact about a model: a name such as "order" and its value in words. */
typedef void (*sb_describe_fn)(void *user, const char *name, const char *value);

/* What a model can do. `self` is the model's data, `session` what session_open made.
 *
 * Rows hold unnormalised natural-log scores (logits, or log-probabilities); the library normalises
 * every row itself. -inf is a token of probability zero. NaN and +inf are refused with the place.
 */
typedef struct sb_model_ops {
    /* Required. Makes the moving state of inputs and rows. max_inputs of the spec is always known,
     * the other numbers are 0 where they are not. The spec is read within the call; *session is
     * released with session_close. */
    sb_status (*session_open)(const void *self, const sb_session_spec *spec, void **session,
                              sb_error *err);
    /* Required. */
    void (*session_close)(void *session);
    /* Optional. Gives input number `input` (0 <= input < max_inputs) its text: the prefix to
     * continue, or the source. Where it is NULL the model takes the empty input only. */
    sb_status (*begin)(void *session, int32_t input, const char *text, size_t size, sb_error *err);
    /* Required. Row i continues row parent[i] of the previous call with token[i]; parent -1 and
     * token -1 start input[i] anew. rows is (n_rows, vocab_size), float or double as declared, and
     * belongs to the caller. */
    sb_status (*step)(void *session, int32_t n_rows, const int32_t *parent, const int32_t *token,
                      const int32_t *input, void *rows, sb_error *err);
    /* Optional. Whether the child `token` of row `row` of the last step is a leaf (EOS aside). */
    bool (*is_leaf)(void *session, int32_t row, int32_t token);
    /* Optional. The text of one token, NULL for an id without text; owned by the model. */
    const char *(*token_text)(const void *self, int32_t token);
    /* Optional. The id of a token's text, or -1. */
    int32_t (*find_token)(const void *self, const char *text, size_t size);
    /* Optional. Calls `say` for each thing worth knowing. */
    void (*describe)(const void *self, sb_describe_fn say, void *user);
    /* Optional. Frees self. */
    void (*close)(void *self);
    /* Optional: for text that is not simply tokens between blanks. The ids of an output's text, in
     * memory that the model allocated with sb_alloc; written only on success. */
    sb_status (*encode)(const void *self, const char *text, size_t size, int32_t **tokens,
                        int32_t *n_tokens, sb_error *err);
    /* Optional. The text of an output, terminated, in memory from sb_alloc; written only on
     * success. The ids are below vocab_size. */
    sb_status (*decode)(const void *self, const int32_t *tokens, int32_t n_tokens, char **text,
                        sb_error *err);
    /* Optional. Whether `begin` is to read its text as tokens between blanks. encode and decode are
     * not called while it is on. */
    void (*set_pretokenized)(void *self, bool on);
    /* Optional, all three or none: a row's state as plain bytes, so that a prefix can be gone on
     * from later, by any session of the model (sb_plan.cache_size). Their number, the same for all
     * rows and sessions; */
    size_t (*state_size)(const void *session);
    /* the state of row `row` of the last step; */
    void (*save)(const void *session, int32_t row, void *state);
    /* and back: makes `states` (n_rows, state_size) the rows of the last step. */
    sb_status (*restore)(void *session, int32_t n_rows, const void *states, sb_error *err);
} sb_model_ops;

/* Opens a model file; its content, not its name, decides what it is. On success *model is the
 * caller's to close; on failure it is not written. A neural model's file stays mapped into memory:
 * it must not be changed or cut short while the model is open. */
SB_API sb_status sb_model_open(sb_model **model, const char *path, sb_error *err);

/* Wraps a table of your own. ops and info are copied; self belongs to the model from success on
 * (ops->close frees it) and stays the caller's on failure. */
SB_API sb_status sb_model_open_custom(sb_model **model, const sb_model_ops *ops,
                                      const sb_model_info *info, void *self, sb_error *err);

/* Frees the model. Accepts NULL. Its sessions must be closed before. */
SB_API void sb_model_close(sb_model *model);

SB_API const sb_model_info *sb_model_get_info(const sb_model *model);
/* Whether sequences may end otherwise than by EOS: the model has is_leaf. */
SB_API bool sb_model_has_leaves(const sb_model *model);
/* Whether text is more than tokens between blanks: the model has encode or decode, and is not set
 * to be pretokenized. */
SB_API bool sb_model_has_own_text(const sb_model *model);
SB_API void sb_model_describe(const sb_model *model, sb_describe_fn say, void *user);

/* Sets the mark at the end of a subword piece that joins it to the next, such as "@@" (NULL: none,
 * the default): sb_model_decode then takes "@@ " out, but for models with text of their own
 * (sb_model_has_own_text). Before the model is shared by threads. */
SB_API sb_status sb_model_set_marker(sb_model *model, const char *marker, sb_error *err);

/* With it, text is the model's own tokens separated by blanks, in inputs and outputs; without it
 * (the default) it is as the model has it: sentences, where the model splits them into pieces
 * itself. A model whose text is always tokens takes both. Before the model is shared by threads. */
SB_API sb_status sb_model_set_pretokenized(sb_model *model, bool on, sb_error *err);

/* The text of a token, or NULL where the model has none for it. Owned by the model. */
SB_API const char *sb_model_token_text(const sb_model *model, int32_t token);
/* The id of a token, or -1. */
SB_API int32_t sb_model_find_token(const sb_model *model, const char *text, size_t size);

/* Turns the text of an output into token ids: by the model where it has its own way, else word by
 * word; then a word that the model does not know is an error that names it. *tokens is the
 * caller's, to be released with sb_free. */
SB_API sb_status sb_model_encode(const sb_model *model, const char *text, size_t size,
                                 int32_t **tokens, int32_t *n_tokens, sb_error *err);
/* The text of a sequence. *text is the caller's, to be released with sb_free. */
SB_API sb_status sb_model_decode(const sb_model *model, const int32_t *tokens, int32_t n_tokens,
                                 char **text, sb_error *err);

/* Memory for what the table's encode and decode give; NULL when there is none. */
SB_API void *sb_alloc(size_t size);
/* Releases it, and what the two functions above gave. Accepts NULL. */
SB_API void sb_free(void *memory);

/* Sessions: the slots of the table, with their arguments checked. A session may not be used by two
 * threads at once. On success *session is the caller's to close, before the model; the spec is not
 * needed any more. */
SB_API sb_status sb_session_open(sb_session **session, const sb_model *model,
                                 const sb_session_spec *spec, sb_error *err);
SB_API void sb_session_close(sb_session *session);
SB_API sb_status sb_session_begin(sb_session *session, int32_t input, const char *text, size_t size,
                                  sb_error *err);
SB_API sb_status sb_session_step(sb_session *session, int32_t n_rows, const int32_t *parent,
                                 const int32_t *token, const int32_t *input, void *rows,
                                 sb_error *err);
SB_API bool sb_session_is_leaf(sb_session *session, int32_t row, int32_t token);
/* Whether the model can save and restore the state of a row; without, the last two are refused. */
SB_API bool sb_model_has_states(const sb_model *model);
/* Bytes of a state, which may be 0. */
SB_API size_t sb_session_state_size(const sb_session *session);
/* Writes the state of a row of the last step into `state`, the caller's, of so many bytes. */
SB_API sb_status sb_session_save(const sb_session *session, int32_t row, void *state,
                                 sb_error *err);
/* Makes these states (n_rows, state size) the rows of the last step: the next goes on from them. */
SB_API sb_status sb_session_restore(sb_session *session, int32_t n_rows, const void *states,
                                    sb_error *err);

#ifdef __cplusplus
}
#endif
#endif
