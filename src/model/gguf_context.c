/* A context of llama.cpp holds the cells of all rows. This file makes a context of a given size,
 * moves the cells to a larger one, and evaluates batches. */
#include <math.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/status.h"
#include "model/gguf.h"

static void free_opened(void *context)
{
    llama_library.free(context); /* accepts NULL */
}

void gguf_context_free(struct llama_context *context)
{
    char words[GGUF_WORDS_SIZE];
    gguf_try(free_opened, context, words);
}

/* Returns an estimate of the bytes of the cells: keys and values of 4 bytes each, for the shape of
 * an ordinary attention layer. */
static double cache_bytes(const gguf *m, int64_t n_cells)
{
    const int32_t heads = llama_library.model_n_head(m->model);
    const double width = heads > 0 ? (double)llama_library.model_n_embd(m->model) / heads : 0;
    return 2.0 * 4.0 * width * llama_library.model_n_head_kv(m->model) *
           llama_library.model_n_layer(m->model) * (double)n_cells;
}

static double machine_bytes(void)
{
#ifdef _SC_PHYS_PAGES
    return (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
#else
    return INFINITY;
#endif
}

struct opening {
    struct llama_model *model;
    struct llama_context_params params;
    struct llama_context *context;
};

static void open_context(void *argument)
{
    struct opening *const opening = argument;
    opening->context = llama_library.init_from_model(opening->model, opening->params);
}

sb_status gguf_context_make(const gguf *m, const gguf_size *size, struct llama_context **context,
                            sb_error *err)
{
    const double gib = 1024.0 * 1024.0 * 1024.0;
    const double bytes = cache_bytes(m, size->n_cells);
    if (size->n_cells > INT32_MAX / 2)
        return status_fail(err, SB_ERR_LIMIT,
                           "the rows and their prompts need a cache of %lld cells, more than "
                           "llama.cpp can number; lower k, max-len or batch",
                           (long long)size->n_cells);
    if (bytes > machine_bytes())
        return status_fail(err, SB_ERR_LIMIT,
                           "the rows and their prompts need a cache of %lld cells, about %.1f GiB, "
                           "but this machine has %.1f GiB; lower k, max-len or batch",
                           (long long)size->n_cells, bytes / gib, machine_bytes() / gib);
    struct opening opening = {m->model, llama_library.context_default_params(), NULL};
    struct llama_context_params *const params = &opening.params;
    params->n_ctx = (uint32_t)size->n_cells;
    params->n_batch = params->n_ubatch = (uint32_t)size->n_batch;
    params->n_seq_max = (uint32_t)size->n_sequences;
    params->n_threads = params->n_threads_batch = size->threads;
    params->kv_unified = true;
    params->no_perf = true;
    /* In half precision, or with flash attention, a row depends on the other rows of its batch: its
     * log-probabilities change by 2e-2. In single precision they change by 1e-5 if the weights are
     * in single precision, too, and by 1e-3 if the weights are in half precision. */
    params->type_k = params->type_v = GGML_TYPE_F32;
    params->flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
    char words[GGUF_WORDS_SIZE];
    const bool is_whole = gguf_try(open_context, &opening, words) && opening.context != NULL;
    if (!is_whole && gguf_is_no_memory(words))
        return status_fail(err, SB_ERR_MEMORY,
                           "not enough memory for a context of %lld cells in llama.cpp; lower k, "
                           "max-len or batch",
                           (long long)size->n_cells);
    if (!is_whole)
        return status_fail(err, SB_ERR_LIMIT,
                           "llama.cpp cannot make a context of %lld cells%s%s; lower k, max-len or "
                           "batch",
                           (long long)size->n_cells, words[0] != '\0' ? ": " : "", words);
    *context = opening.context;
    return SB_OK;
}

struct moving {
    struct llama_context *from, *to;
    uint8_t *state; /* NULL: out of memory */
    size_t n_read;
};

static void move_cells(void *argument)
{
    struct moving *const moving = argument;
    const size_t size = llama_library.state_get_size(moving->from);
    moving->state = alloc_array(size, 1);
    if (moving->state == NULL)
        return;
    const size_t n_written = llama_library.state_get_data(moving->from, moving->state, size);
    if (n_written > 0)
        moving->n_read = llama_library.state_set_data(moving->to, moving->state, n_written);
}

sb_status gguf_context_move(struct llama_context *from, struct llama_context *to, bool *is_whole,
                            sb_error *err)
{
    struct moving moving = {.from = from, .to = to};
    char words[GGUF_WORDS_SIZE];
    *is_whole = gguf_try(move_cells, &moving, words);
    const bool has_memory = moving.state != NULL;
    alloc_free(moving.state);
    if (*is_whole && moving.n_read > 0)
        return SB_OK;
    if (*is_whole && !has_memory)
        return status_no_memory(err);
    return status_fail(err, SB_ERR_MODEL, "llama.cpp cannot move its cache to a larger context%s%s",
                       words[0] != '\0' ? ": " : "", words);
}

struct decoding {
    struct llama_context *context;
    struct llama_batch batch;
    int32_t code;
};

static void decode_batch(void *argument)
{
    struct decoding *const decoding = argument;
    decoding->code = llama_library.decode(decoding->context, decoding->batch);
}

sb_status gguf_context_decode(struct llama_context *context, struct llama_batch batch,
                              bool *is_whole, sb_error *err)
{
    struct decoding decoding = {context, batch, -1};
    char words[GGUF_WORDS_SIZE];
    *is_whole = gguf_try(decode_batch, &decoding, words);
    if (*is_whole && decoding.code == 0)
        return SB_OK;
    if (gguf_is_no_memory(words))
        return status_no_memory(err);
    const bool is_full = *is_whole && decoding.code == 1;
    return status_fail(err, is_full ? SB_ERR_LIMIT : SB_ERR_MODEL,
                       "llama.cpp could not evaluate %d tokens (code %d)%s%s", (int)batch.n_tokens,
                       (int)decoding.code, words[0] != '\0' ? ": " : "",
                       is_full ? "its context is full" : words);
}
