/* GGUF language models through llama.cpp: opening a model and describing it.
 *
 * Any causal language model that llama.cpp loads will do. The backend needs only a few functions of
 * llama.cpp: load, tokenise, decode a batch, copy and remove sequences of the cache. */
#include "model/gguf.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "model/backend.h"

static bool probe(const char *head, size_t size)
{
    return size >= 4 && memcmp(head, "GGUF", 4) == 0;
}

static void free_model(void *model)
{
    llama_library.model_free(model); /* accepts NULL */
}

static void close_gguf(void *self)
{
    gguf *const m = self;
    if (m == NULL)
        return;
    char words[GGUF_WORDS_SIZE];
    gguf_try(free_model, m->model, words);
    alloc_free(m->ends);
    alloc_free(m);
}

static void set_pretokenized(void *self, bool on)
{
    ((gguf *)self)->pretokenized = on;
}

static void set_special(void *self, bool on)
{
    ((gguf *)self)->has_special = on;
}

static const char *tokeniser_name(const struct llama_vocab *vocab)
{
    switch (llama_library.vocab_type(vocab)) {
    case LLAMA_VOCAB_TYPE_SPM: return "SentencePiece";
    case LLAMA_VOCAB_TYPE_BPE: return "byte-level BPE";
    case LLAMA_VOCAB_TYPE_WPM: return "WordPiece";
    case LLAMA_VOCAB_TYPE_UGM: return "unigram";
    default: return "llama.cpp's";
    }
}

static void say_number(sb_describe_fn say, void *user, const char *name, uint64_t value)
{
    char number[32];
    snprintf(number, sizeof number, "%" PRIu64, value);
    say(user, name, number);
}

static void describe(const void *self, sb_describe_fn say, void *user)
{
    const gguf *const m = self;
    static const char *const known[][2] = {{"general.name", "name"},
                                           {"general.architecture", "architecture"},
                                           {"general.license", "licence"}};
    char text[200];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (llama_library.model_meta_val_str(m->model, known[i][0], text, sizeof text) > 0)
            say(user, known[i][1], text);
    if (llama_library.model_desc(m->model, text, sizeof text) > 0)
        say(user, "description", text);
    say_number(say, user, "weights", llama_library.model_n_params(m->model));
    say_number(say, user, "bytes", llama_library.model_size(m->model));
    say_number(say, user, "layers", (uint64_t)llama_library.model_n_layer(m->model));
    if (gguf_longest(m) > 0)
        say_number(say, user, "context", (uint64_t)gguf_longest(m));
    say_number(say, user, "tokens that end", (uint64_t)m->n_ends);
    say(user, "text", tokeniser_name(m->vocab));
}

/* Lists the tokens that end a generation, starting with the one called EOS. */
static sb_status find_ends(gguf *m, sb_error *err)
{
    size_t capacity = 0;
    for (int32_t i = 0; i < m->n_vocab; i++) {
        if (!llama_library.vocab_is_eog(m->vocab, i))
            continue;
        if (alloc_reserve(&m->ends, &capacity, (size_t)m->n_ends + 1, sizeof *m->ends) != SB_OK)
            return status_no_memory(err);
        m->ends[m->n_ends++] = i;
        if (i == llama_library.vocab_eos(m->vocab)) {
            m->ends[m->n_ends - 1] = m->ends[0];
            m->ends[0] = i;
        }
    }
    return SB_OK;
}

/* Returns whether each token sees only the tokens before it. Models for which this is not so must
 * say it in their metadata. */
static bool is_causal(const gguf *m)
{
    char name[200], key[240], text[8];
    if (llama_library.model_meta_val_str(m->model, "general.architecture", name, sizeof name) < 0)
        return true;
    snprintf(key, sizeof key, "%s.attention.causal", name);
    return llama_library.model_meta_val_str(m->model, key, text, sizeof text) < 0 ||
           strcmp(text, "false") != 0;
}

int32_t gguf_longest(const gguf *m)
{
    const int32_t n = llama_library.model_n_ctx_train(m->model);
    return n > 0 ? n : 0; /* the count is negative if a file says 2^31 or more */
}

struct loading {
    const char *path;
    struct llama_model *model;
};

static void load_model(void *argument)
{
    struct loading *const loading = argument;
    llama_library.backend_init();
    /* Some builds of llama.cpp keep the code for each kind of processor in modules. These are in
     * the folder of the library, or where llama.cpp looks for them. */
    if (llama_library.backend_reg_count() == 0 && llama_library.folder[0] != '\0')
        llama_library.backend_load_all_from_path(llama_library.folder);
    if (llama_library.backend_reg_count() == 0)
        llama_library.backend_load_all_from_path(NULL);
    loading->model =
        llama_library.model_load_from_file(loading->path, llama_library.model_default_params());
}

bool gguf_is_no_memory(const char *words)
{
    static const char *const known[] = {"bad_alloc", "failed to allocate", "insufficient memory",
                                        "GGML_ASSERT(galloc != NULL)"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(words, known[i]) != NULL)
            return true;
    return false;
}

/* Loads the file. On failure the message quotes llama.cpp. */
static sb_status load(gguf *m, const char *path, const char *name, sb_error *err)
{
    struct loading loading = {.path = path};
    char words[GGUF_WORDS_SIZE];
    const bool is_whole = gguf_try(load_model, &loading, words) && loading.model != NULL;
    if (!is_whole && gguf_is_no_memory(words))
        return status_no_memory(err);
    if (!is_whole)
        return status_fail(err, SB_ERR_FORMAT, "%s: llama.cpp cannot load this GGUF file: %s", name,
                           words[0] != '\0' ? words : "it gives no reason");
    m->model = loading.model;
    m->vocab = llama_library.model_get_vocab(m->model);
    m->n_vocab = llama_library.vocab_n_tokens(m->vocab);
    if (llama_library.model_has_encoder(m->model) || !llama_library.model_has_decoder(m->model) ||
        llama_library.model_is_diffusion(m->model) || !is_causal(m))
        return status_fail(
            err, SB_ERR_FORMAT,
            "%s: not a causal language model, the only kind of GGUF model that sbeam "
            "can draw from",
            name);
    if (m->n_vocab < 1 || llama_library.vocab_type(m->vocab) == LLAMA_VOCAB_TYPE_NONE)
        return status_fail(err, SB_ERR_FORMAT, "%s: the GGUF file has no vocabulary", name);
    return find_ends(m, err);
}

static sb_status open_gguf(sb_model **model, const model_source *source, sb_error *err)
{
    if (source->path == NULL)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "%s: a GGUF model can only be opened from a file, not from memory",
                           lines_name(source->reader));
    sb_status status = llama_library_load(lines_name(source->reader), err);
    if (status != SB_OK)
        return status;
    gguf *const m = alloc_zeroed(1, sizeof *m);
    if (m == NULL)
        return status_no_memory(err);
    status = load(m, source->path, lines_name(source->reader), err);
    if (status == SB_OK) {
        static const sb_model_ops ops = {.session_open = gguf_session_open,
                                         .session_close = gguf_session_close,
                                         .begin = gguf_session_begin,
                                         .step = gguf_session_step,
                                         .release = gguf_session_release,
                                         .token_text = gguf_token_text,
                                         .find_token = gguf_find_token,
                                         .describe = describe,
                                         .close = close_gguf,
                                         .encode = gguf_encode,
                                         .decode = gguf_decode,
                                         .set_pretokenized = set_pretokenized,
                                         .set_special = set_special};
        const sb_model_info info = {.kind = gguf_backend.kind,
                                    .vocab_size = m->n_vocab,
                                    .eos = m->n_ends > 0 ? m->ends[0] : -1,
                                    .row_type = SB_ROW_FLOAT,
                                    .needs_input = true,
                                    .max_rows = GGUF_MOST_SEQUENCES,
                                    .max_len = gguf_longest(m),
                                    .has_threads = true,
                                    .rows_depend_on_batch = true};
        status = sb_model_open_custom(model, &ops, &info, m, err);
    }
    if (status != SB_OK)
        close_gguf(m);
    return status;
}

const model_backend gguf_backend = {
    .kind = "gguf", .expected = "a GGUF language model", .probe = probe, .open = open_gguf};
