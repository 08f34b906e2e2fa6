/* The fingerprint of a llama.cpp: two versions and the layout of its structs.
 *
 * The header llama.h has no version, and releases of llama.cpp add and move fields of the structs
 * that its functions take and return by value. A library may therefore be called only if it is the
 * one whose header the compiler read. meson.build runs these functions on that library and records
 * what they return; llama_library.c runs them on the library that it loads, and compares.
 *
 * The versions are those of llama.cpp and of ggml, which is part of it. Many commits share a
 * version such as 0.5.0-dev, so a checksum is compared as well. It covers the default values of the
 * structs, read with the header's layout, and their sizes, in the header and in the library. So it
 * differs if a struct has grown, or if a field with a default value other than 0 has moved. */
#ifndef MODEL_LLAMA_FINGERPRINT_H
#define MODEL_LLAMA_FINGERPRINT_H

#include <llama.h>
#include <stdint.h>
#include <stdio.h>

#include "base/symbol.h"

enum { LLAMA_FINGERPRINT_SIZE = 100 };

static inline const char *llama_fingerprint_ask(void *library, const char *function)
{
    const char *(*ask)(void);
    return symbol_find(library, function, &ask, sizeof ask) ? ask() : "unknown";
}

/* Writes the versions, such as "0.5.0-dev, ggml 0.25.3". A version that the library does not tell
 * is "unknown". */
static inline void llama_fingerprint_versions(void *library, char text[LLAMA_FINGERPRINT_SIZE])
{
    snprintf(text, LLAMA_FINGERPRINT_SIZE, "%.40s, ggml %.40s",
             llama_fingerprint_ask(library, "llama_version"),
             llama_fingerprint_ask(library, "ggml_version"));
}

/* The structs with room behind them. A library of another layout may write more than the header
 * says. It writes to the address where the caller wants a returned struct to be, which is the same
 * for a longer struct. */
struct llama_fingerprint_model {
    struct llama_model_params params;
    char room[1024];
};
struct llama_fingerprint_context {
    struct llama_context_params params;
    char room[1024];
};
struct llama_fingerprint_batch {
    struct llama_batch batch;
    char room[1024];
};

/* Returns the size of a struct that a function returns: the bytes that the function writes, rounded
 * up to the alignment of the structs. Returns 0 on processors for which this is not known. The ABI
 * of x86-64 passes the address of a returned struct as the first argument, before the others. A
 * byte that the function does not write keeps the value that it had. */
static inline int64_t llama_fingerprint_size(void *library, const char *function)
{
#if defined(__x86_64__) && defined(__linux__)
    static const int fills[] = {0x00, 0xff};
    unsigned char bytes[2][2048];
    int32_t token = 0;
    void (*call)(void *returned, int32_t *tokens, int32_t n_tokens); /* some have no arguments */
    if (!symbol_find(library, function, &call, sizeof call))
        return 0;
    for (int i = 0; i < 2; i++) {
        memset(bytes[i], fills[i], sizeof bytes[i]);
        call(bytes[i], &token, 1);
    }
    size_t size = sizeof bytes[0];
    while (size > 0 && bytes[0][size - 1] == fills[0] && bytes[1][size - 1] == fills[1])
        size--;
    const size_t alignment = sizeof(void *);
    return (int64_t)((size + alignment - 1) / alignment * alignment);
#else
    (void)library, (void)function;
    return 0;
#endif
}

/* Returns the checksum (FNV-1a) of the default values and the sizes, or 0 if the library lacks
 * their functions. Default values that depend on the machine or its processors are left out. */
static inline uint32_t llama_fingerprint_layout(void *library)
{
    struct llama_fingerprint_model (*get_model)(void);
    struct llama_fingerprint_context (*get_context)(void);
    struct llama_fingerprint_batch (*get_batch)(int32_t *, int32_t);
    if (!symbol_find(library, "llama_model_default_params", &get_model, sizeof get_model) ||
        !symbol_find(library, "llama_context_default_params", &get_context, sizeof get_context) ||
        !symbol_find(library, "llama_batch_get_one", &get_batch, sizeof get_batch))
        return 0;
    const struct llama_model_params model = get_model().params;
    const struct llama_context_params context = get_context().params;
    int32_t token = 0;
    const struct llama_batch batch = get_batch(&token, 7).batch;
    const int64_t values[] = {
        llama_fingerprint_size(library, "llama_model_default_params"),
        llama_fingerprint_size(library, "llama_context_default_params"),
        llama_fingerprint_size(library, "llama_batch_get_one"),
        sizeof model,
        sizeof context,
        sizeof batch,
        model.split_mode,
        model.main_gpu,
        model.vocab_only,
        model.check_tensors,
        context.n_ctx,
        context.n_batch,
        context.n_ubatch,
        context.n_seq_max,
        context.type_k,
        context.type_v,
        context.flash_attn_type,
        context.cb_eval == NULL,
        context.abort_callback == NULL,
        context.embeddings,
        context.offload_kqv,
        context.no_perf,
        context.op_offload,
        context.swa_full,
        context.kv_unified,
        batch.n_tokens,
        batch.token == &token,
        batch.embd == NULL,
        batch.pos == NULL,
        batch.n_seq_id == NULL,
        batch.seq_id == NULL,
        batch.logits == NULL,
    };
    uint32_t sum = 2166136261U;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        sum = (sum ^ (uint32_t)values[i]) * 16777619U;
    return sum;
}

#endif
