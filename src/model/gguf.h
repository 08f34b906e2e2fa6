/* GGUF language models through llama.cpp: what gguf.c (the model), gguf_text.c (its text) and
 * gguf_session.c (its rows) share. */
#ifndef MODEL_GGUF_H
#define MODEL_GGUF_H

#include <llama.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sbeam/model.h"

/* llama.cpp keeps the sequences that a cell of its cache belongs to in a set of so many bits. */
enum { GGUF_MOST_SEQUENCES = 256 };

typedef struct gguf {
    struct llama_model *model;
    const struct llama_vocab *vocab;
    int32_t n_vocab;
    int32_t
        *ends; /* (n_ends) tokens that end a generation: one leaf, called by the first of them */
    int32_t n_ends;
    bool pretokenized;
} gguf;

/* llama.cpp tells its log instead of its caller what it does, and why it fails. Between the two
 * calls, which hold a lock, that goes to us and not to the terminal: gguf_words_end gives the first
 * error that was told, "" where there was none; words may be NULL. */
void gguf_words_begin(void);
void gguf_words_end(char *words, size_t size);

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

#endif
