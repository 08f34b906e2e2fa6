/* Helpers for the tests of GGUF models: llama.cpp on its own, one sequence and one token at a time,
 * and drawing.
 *
 * SBEAM_GGUF names the model, stories260K.gguf (260 thousand parameters, 512 tokens). Without it,
 * and in a build without llama.cpp, tests that need it say that they were skipped. */
#ifndef GGUF_CHECK_H
#define GGUF_CHECK_H

#include <llama.h>
#include <unistd.h>

#include "draw_check.h"
#include "model_check.h"

static const char *const prompt = "Once upon a time";

static inline const char *gguf_path(void)
{
    const char *const path = getenv("SBEAM_GGUF");
    if (path == NULL || path[0] == '\0') {
        print_message("skipped: GGUF models: SBEAM_GGUF names no file\n");
        skip();
    }
    return path;
}

/* --- llama.cpp on its own --- */

struct plain {
    struct llama_model *model;
    struct llama_context *context;
    const struct llama_vocab *vocab;
    int32_t n_vocab;
    int32_t position;
};

static inline void keep_quiet(enum ggml_log_level level, const char *text, void *user)
{
    (void)level, (void)text, (void)user;
}

static inline struct plain plain_open(const char *path)
{
    llama_log_set(keep_quiet, NULL);
    struct plain p = {.model = llama_model_load_from_file(path, llama_model_default_params())};
    assert_non_null(p.model);
    struct llama_context_params params = llama_context_default_params();
    params.n_ctx = 512;
    params.type_k = params.type_v = GGML_TYPE_F32;
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
    params.n_threads = params.n_threads_batch = 1;
    p.context = llama_init_from_model(p.model, params);
    assert_non_null(p.context);
    p.vocab = llama_model_get_vocab(p.model);
    p.n_vocab = llama_vocab_n_tokens(p.vocab);
    return p;
}

static inline void plain_close(struct plain *p)
{
    llama_free(p->context);
    llama_model_free(p->model);
}

/* Evaluates one more token and returns the logits after it. */
static inline const float *plain_step(struct plain *p, int32_t token)
{
    p->position++;
    assert_int_equal(llama_decode(p->context, llama_batch_get_one(&token, 1)), 0);
    return llama_get_logits_ith(p->context, 0);
}

/* Starts again with a prompt, token by token, and returns the logits after it. If `special`, names
 * of special tokens in the prompt are these tokens. */
static inline const float *plain_start_with(struct plain *p, const char *text, bool special)
{
    int32_t tokens[512];
    const int32_t n =
        llama_tokenize(p->vocab, text, (int32_t)strlen(text), tokens, 512, true, special);
    assert_true(n > 0);
    llama_memory_clear(llama_get_memory(p->context), true);
    p->position = 0;
    const float *logits = NULL;
    for (int32_t i = 0; i < n; i++)
        logits = plain_step(p, tokens[i]);
    return logits;
}

static inline const float *plain_start(struct plain *p, const char *text)
{
    return plain_start_with(p, text, false);
}

static inline double log_sum(const float *logits, int32_t n)
{
    double top = -INFINITY, sum = 0;
    for (int32_t i = 0; i < n; i++)
        top = fmax(top, logits[i]);
    for (int32_t i = 0; i < n; i++)
        sum += exp(logits[i] - top);
    return top + log(sum);
}

/* --- drawing --- */

static inline sb_config settings(sb_method method, int32_t k, int32_t max_len)
{
    sb_config config = config_of(method, k);
    config.max_len = max_len;
    config.seed = 7;
    return config;
}

static inline sb_result *draw_from(const sb_model *model, const char *text, const sb_config *config)
{
    sb_result *result;
    sb_error err = {.message = ""};
    assert_int_equal(sb_result_open(&result, NULL), SB_OK);
    if (sb_draw(model, text, config, result, &err) != SB_OK)
        fail_msg("%s", err.message);
    return result;
}

#endif
