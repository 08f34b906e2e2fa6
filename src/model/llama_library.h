/* llama.cpp, for GGUF models. It is loaded when the first GGUF model is opened, not with the
 * program: sbeam can be installed without llama.cpp, and users can add it later. */
#ifndef MODEL_LLAMA_LIBRARY_H
#define MODEL_LLAMA_LIBRARY_H

#include <llama.h>
#include <stdbool.h>

#include "sbeam/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All functions of llama.cpp that sbeam calls: our name and llama.cpp's. */
#define LLAMA_LIBRARY_FUNCTIONS(X)                                                                 \
    X(backend_init, llama_backend_init)                                                            \
    X(batch_free, llama_batch_free)                                                                \
    X(batch_init, llama_batch_init)                                                                \
    X(context_default_params, llama_context_default_params)                                        \
    X(decode, llama_decode)                                                                        \
    X(free, llama_free)                                                                            \
    X(get_logits_ith, llama_get_logits_ith)                                                        \
    X(get_memory, llama_get_memory)                                                                \
    X(init_from_model, llama_init_from_model)                                                      \
    X(log_get, llama_log_get)                                                                      \
    X(log_set, llama_log_set)                                                                      \
    X(memory_clear, llama_memory_clear)                                                            \
    X(memory_seq_cp, llama_memory_seq_cp)                                                          \
    X(memory_seq_rm, llama_memory_seq_rm)                                                          \
    X(model_default_params, llama_model_default_params)                                            \
    X(model_desc, llama_model_desc)                                                                \
    X(model_free, llama_model_free)                                                                \
    X(model_get_vocab, llama_model_get_vocab)                                                      \
    X(model_has_decoder, llama_model_has_decoder)                                                  \
    X(model_has_encoder, llama_model_has_encoder)                                                  \
    X(model_is_diffusion, llama_model_is_diffusion)                                                \
    X(model_load_from_file, llama_model_load_from_file)                                            \
    X(model_meta_val_str, llama_model_meta_val_str)                                                \
    X(model_n_ctx_train, llama_model_n_ctx_train)                                                  \
    X(model_n_embd, llama_model_n_embd)                                                            \
    X(model_n_head, llama_model_n_head)                                                            \
    X(model_n_head_kv, llama_model_n_head_kv)                                                      \
    X(model_n_layer, llama_model_n_layer)                                                          \
    X(model_n_params, llama_model_n_params)                                                        \
    X(model_size, llama_model_size)                                                                \
    X(state_get_data, llama_state_get_data)                                                        \
    X(state_get_size, llama_state_get_size)                                                        \
    X(state_set_data, llama_state_set_data)                                                        \
    X(token_to_piece, llama_token_to_piece)                                                        \
    X(tokenize, llama_tokenize)                                                                    \
    X(vocab_bos, llama_vocab_bos)                                                                  \
    X(vocab_eos, llama_vocab_eos)                                                                  \
    X(vocab_get_add_bos, llama_vocab_get_add_bos)                                                  \
    X(vocab_get_add_eos, llama_vocab_get_add_eos)                                                  \
    X(vocab_get_text, llama_vocab_get_text)                                                        \
    X(vocab_is_eog, llama_vocab_is_eog)                                                            \
    X(vocab_n_tokens, llama_vocab_n_tokens)                                                        \
    X(vocab_type, llama_vocab_type)                                                                \
    X(backend_load_all_from_path, ggml_backend_load_all_from_path)                                 \
    X(backend_reg_count, ggml_backend_reg_count)                                                   \
    X(set_abort_callback, ggml_set_abort_callback)

/* The functions have the types of llama.h, so that the compiler checks every call. __typeof__ is
 * not in C11, but every compiler that builds sbeam has it. */
#define LLAMA_LIBRARY_FIELD(name, function) __typeof__(function) *name;
struct llama_library {
    LLAMA_LIBRARY_FUNCTIONS(LLAMA_LIBRARY_FIELD)
    char folder[4096]; /* where the library is, or "" if the system found it */
};
#undef LLAMA_LIBRARY_FIELD

/* The functions. They can be called after llama_library_load has succeeded, and do not change. */
extern struct llama_library llama_library;

/* Loads llama.cpp and fills llama_library, unless that has been done. Fails if there is no
 * llama.cpp, or if it is not the one whose headers this build used; the message names the places
 * and the way out. After a failure the next call tries again, unless memory was lacking. `name` is
 * the model, for the message. Any thread may call it. */
sb_status llama_library_load(const char *name, sb_error *err);

/* Returns a static text: the version that this build needs, and whether there is a llama.cpp.
 * Looks for its file and does not load it, so it does not know the version of that file, and it
 * misses a file in a folder that only the system's loader knows. */
const char *llama_library_describe(void);

#ifdef __cplusplus
}
#endif
#endif
