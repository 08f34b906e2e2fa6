/* GGUF language models through llama.cpp: what gguf.c (the model), gguf_text.c (its text),
 * gguf_context.c (its cache), gguf_session.c (its rows) and gguf_try.cc (calls) share. */
#ifndef MODEL_GGUF_H
#define MODEL_GGUF_H

#include <llama.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sbeam/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* llama.cpp keeps the sequences that a cell of its cache belongs to in a set of so many bits. */
enum { GGUF_MOST_SEQUENCES = 256 };

typedef struct gguf {
    struct llama_model *model;
    const struct llama_vocab *vocab;
    int32_t n_vocab;
    int32_t *ends; /* (n_ends) tokens that end a generation: one leaf, called by the first */
    int32_t n_ends;
    bool pretokenized;
} gguf;

/* The most tokens that the model was trained for, prompts included; 0: no limit. */
int32_t gguf_longest(const gguf *m);

enum { GGUF_WORDS_SIZE = 300 };

/* Calls llama.cpp. What it tells its log meanwhile does not go to the terminal: the first error is
 * copied to `words` ("" where there is none). Where it throws or aborts, the call is left in its
 * middle and false returned, with the reason in `words`; what it was working on must then neither
 * be touched nor freed. */
bool gguf_try(void (*work)(void *argument), void *argument, char words[GGUF_WORDS_SIZE]);

/* How large a context is to be. */
typedef struct gguf_size {
    int64_t n_cells;
    int32_t n_sequences, n_batch, threads;
} gguf_size;

/* *context is the caller's, to be released with gguf_context_free, which accepts NULL. */
sb_status gguf_context_make(const gguf *m, const gguf_size *size, struct llama_context **context,
                            sb_error *err);
void gguf_context_free(struct llama_context *context);
/* Copies all cells from one context to another. Where !*is_whole neither of them must be used or
 * freed any more. */
sb_status gguf_context_move(struct llama_context *from, struct llama_context *to, bool *is_whole,
                            sb_error *err);
/* Evaluates a batch. Where !*is_whole the context must neither be used nor freed any more. */
sb_status gguf_context_decode(struct llama_context *context, struct llama_batch batch,
                              bool *is_whole, sb_error *err);

/* The tokens of a prompt, special ones and those that the model puts before it included; at least
 * one. *ids is the caller's, to be released with alloc_free. */
sb_status gguf_encode_prompt(const gguf *m, const char *text, size_t size, int32_t **ids,
                             int32_t *n_ids, sb_error *err);

/* Slots of sb_model_ops. */
const char *gguf_token_text(const void *self, int32_t token);
int32_t gguf_find_token(const void *self, const char *text, size_t size);
sb_status gguf_encode(const void *self, const char *text, size_t size, int32_t **tokens,
                      int32_t *n_tokens, sb_error *err);
sb_status gguf_decode(const void *self, const int32_t *tokens, int32_t n_tokens, char **text,
                      sb_error *err);
sb_status gguf_session_open(const void *self, const sb_session_spec *spec, void **opened,
                            sb_error *err);
void gguf_session_close(void *opened);
sb_status gguf_session_begin(void *opened, int32_t input, const char *text, size_t size,
                             sb_error *err);
sb_status gguf_session_step(void *opened, int32_t n_rows, const int32_t *parent,
                            const int32_t *token, const int32_t *input, void *rows, sb_error *err);

#ifdef __cplusplus
}
#endif
#endif
