/* GGUF language models through llama.cpp: shared parts of gguf.c (the model), gguf_text.c (its
 * text), gguf_context.c (its cache), gguf_session.c (its states) and gguf_try.cc (calls of
 * llama.cpp, whose functions are in llama_library.h). */
#ifndef MODEL_GGUF_H
#define MODEL_GGUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/llama_library.h"
#include "sbeam/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most sequences of a context: for each cell of its cache llama.cpp keeps a bit set of this
 * size that says which sequences the cell belongs to. */
enum { GGUF_MOST_SEQUENCES = 256 };

typedef struct gguf {
    struct llama_model *model;
    const struct llama_vocab *vocab;
    int32_t n_vocab;
    int32_t *ends; /* (n_ends) tokens that end a generation: one leaf, named by ends[0] */
    int32_t n_ends;
    bool pretokenized;
    bool has_special; /* names of special tokens in a prompt are these tokens */
} gguf;

/* Returns the length that the model was trained for, in tokens, prompt included; 0: no limit. */
int32_t gguf_longest(const gguf *m);

enum { GGUF_WORDS_SIZE = 300 };

/* Calls `work`, which calls llama.cpp, and returns whether the call came to its end. Meanwhile
 * llama.cpp's log does not reach the terminal; its first error is copied to `words`, or "" if there
 * is none. If llama.cpp throws or aborts, the call is left halfway: false is returned, with the
 * reason in `words`, and the objects that it was working on must not be used or freed. */
bool gguf_try(void (*work)(void *argument), void *argument, char words[GGUF_WORDS_SIZE]);
/* Returns whether these words of llama.cpp are about a failed allocation. */
bool gguf_is_no_memory(const char *words);

/* The size of a context. */
typedef struct gguf_size {
    int64_t n_cells;
    int32_t n_sequences, n_batch, threads;
} gguf_size;

/* Makes a context. On success *context belongs to the caller, who frees it with gguf_context_free.
 */
sb_status gguf_context_make(const gguf *m, const gguf_size *size, struct llama_context **context,
                            sb_error *err);
/* Frees a context. Accepts NULL. */
void gguf_context_free(struct llama_context *context);
/* Copies all cells from one context to another. If *is_whole is false afterwards, neither of them
 * may be used or freed any more. */
sb_status gguf_context_move(struct llama_context *from, struct llama_context *to, bool *is_whole,
                            sb_error *err);
/* Evaluates a batch. If *is_whole is false afterwards, the context may not be used or freed any
 * more. */
sb_status gguf_context_decode(struct llama_context *context, struct llama_batch batch,
                              bool *is_whole, sb_error *err);

/* Writes the tokens of a prompt, at least one, including those that the model puts before a text.
 * *ids belongs to the caller, who releases it with alloc_free. */
sb_status gguf_encode_prompt(const gguf *m, const char *text, size_t size, int32_t **ids,
                             int32_t *n_ids, sb_error *err);

/* Functions for sb_model_ops. */
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
sb_status gguf_session_step(void *opened, int32_t n_rows, const int32_t *from, const int32_t *to,
                            const int32_t *token, const int32_t *input, void *rows, sb_error *err);
void gguf_session_release(void *opened, int32_t n, const int32_t *states);

#ifdef __cplusplus
}
#endif
#endif
