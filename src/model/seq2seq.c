/* Sequence-to-sequence models: the input is a source text, the output its translation.
 *
 * This file holds what all architectures share: turning text into ids and back, and excluding
 * tokens that a row may not give. The network (nn/network.h) encodes a source and computes rows of
 * logits. */
#include "model/seq2seq.h"

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/status.h"
#include "model/backend.h"
#include "nn/gemm.h"
#include "text/words.h"

/* The time to split a text into pieces grows faster than the text. A longer text is not a sentence,
 * and would be refused later for its number of tokens. */
enum { MOST_SOURCE_BYTES = 1 << 16 };

typedef struct session {
    const seq2seq *model;
    void *network;
    bool *has_begun; /* (max_inputs) */
} session;

/* --- text --- */

static const char *token_text(const void *self, int32_t token)
{
    const seq2seq *const m = self;
    return m->subwords != NULL ? pieces_text(m->subwords, token) : vocab_text(&m->target, token);
}

static int32_t find_token(const void *self, const char *text, size_t size)
{
    const seq2seq *const m = self;
    return m->subwords != NULL ? pieces_find(m->subwords, text, size)
                               : vocab_find(&m->target, text, size);
}

static int32_t find_source_token(const void *self, const char *text, size_t size)
{
    const seq2seq *const m = self;
    const int32_t id = m->subwords != NULL ? pieces_find(m->subwords, text, size)
                                           : vocab_find(&m->source, text, size);
    return id >= 0 ? id : m->source_unknown;
}

static bool has_subwords(const seq2seq *m)
{
    return m->subwords != NULL && !m->pretokenized;
}

/* Writes the ids of a source, the end token last. On success *ids belongs to the caller. */
static sb_status encode_source(const seq2seq *m, const char *text, size_t size, int32_t **ids,
                               int32_t *n_ids, sb_error *err)
{
    int32_t n;
    int32_t *found;
    sb_status status;
    if (has_subwords(m)) {
        if (size > MOST_SOURCE_BYTES)
            return status_fail(err, SB_ERR_INPUT,
                               "%zu bytes; the model takes at most %d bytes and %d tokens", size,
                               MOST_SOURCE_BYTES, (int)m->net.max_source - 1);
        status = pieces_encode(m->subwords, text, size, &found, &n, err);
        if (status != SB_OK)
            return status;
        int32_t *const longer = alloc_resize(found, (size_t)n + 1, sizeof *found);
        if (longer == NULL) {
            alloc_free(found);
            return status_no_memory(err);
        }
        found = longer;
    } else {
        status = words_encode(text, size, find_source_token, m, "source token", &found, &n, err);
        if (status != SB_OK)
            return status;
    }
    if (n >= m->net.max_source) {
        alloc_free(found);
        return status_fail(err, SB_ERR_INPUT, "%d tokens; the model takes at most %d", (int)n,
                           (int)m->net.max_source - 1);
    }
    found[n] = m->source_eos;
    *ids = found;
    *n_ids = n + 1;
    return SB_OK;
}

static sb_status encode(const void *self, const char *text, size_t size, int32_t **tokens,
                        int32_t *n_tokens, sb_error *err)
{
    const seq2seq *const m = self;
    return pieces_encode(m->subwords, text, size, tokens, n_tokens, err);
}

static sb_status decode(const void *self, const int32_t *tokens, int32_t n_tokens, char **text,
                        sb_error *err)
{
    const seq2seq *const m = self;
    return pieces_decode(m->subwords, tokens, n_tokens, text, err);
}

static void set_pretokenized(void *self, bool on)
{
    seq2seq *const m = self;
    m->pretokenized = on;
}

/* --- sessions --- */

static void session_close(void *opened)
{
    session *const s = opened;
    if (s->network != NULL)
        s->model->net.ops->session_close(s->network);
    alloc_free(s->has_begun);
    alloc_free(s);
}

static sb_status session_open(const void *self, const sb_session_spec *spec, void **opened,
                              sb_error *err)
{
    session *const s = alloc_zeroed(1, sizeof *s);
    if (s == NULL)
        return status_no_memory(err);
    s->model = self;
    s->has_begun = alloc_zeroed((size_t)spec->max_inputs, sizeof *s->has_begun);
    const network *const net = &s->model->net;
    const sb_status status =
        s->has_begun == NULL
            ? status_no_memory(err)
            : net->ops->session_open(net->self, spec->max_inputs, &s->network, err);
    if (status != SB_OK) {
        session_close(s);
        return status;
    }
    *opened = s;
    return SB_OK;
}

static sb_status begin(void *opened, int32_t input, const char *text, size_t size, sb_error *err)
{
    session *const s = opened;
    int32_t *ids = NULL, n = 0;
    s->has_begun[input] = false;
    sb_status status = encode_source(s->model, text, size, &ids, &n, err);
    if (status != SB_OK)
        return status;
    status = s->model->net.ops->encode(s->network, input, ids, n, err);
    alloc_free(ids);
    s->has_begun[input] = status == SB_OK;
    return status;
}

static sb_status step(void *opened, int32_t n_rows, const int32_t *from, const int32_t *to,
                      const int32_t *token, const int32_t *input, void *rows, sb_error *err)
{
    session *const s = opened;
    const seq2seq *const m = s->model;
    sb_status status = SB_OK;
    for (int32_t i = 0; status == SB_OK && i < n_rows; i++)
        if (!s->has_begun[input[i]])
            status = begin(s, input[i], "", 0, err);
    if (status == SB_OK)
        status = m->net.ops->step(s->network, n_rows, from, to, token, input, rows, err);
    if (status != SB_OK)
        return status;
    float *row = rows;
    for (int32_t i = 0; i < n_rows; i++, row += m->net.target_vocab)
        for (size_t j = 0; j < m->n_unused; j++)
            row[m->unused[j]] = -INFINITY;
    return SB_OK;
}

static size_t state_size(const void *opened)
{
    const session *const s = opened;
    return s->model->net.ops->state_size(s->network);
}

static void save(const void *opened, int32_t state, void *bytes)
{
    const session *const s = opened;
    s->model->net.ops->save(s->network, state, bytes);
}

static sb_status restore(void *opened, int32_t n, const int32_t *states, const void *bytes,
                         sb_error *err)
{
    session *const s = opened;
    return s->model->net.ops->restore(s->network, n, states, bytes, err);
}

/* --- the model --- */

static void say_number(sb_describe_fn say, void *user, const char *name, int32_t value)
{
    char number[32];
    snprintf(number, sizeof number, "%d", (int)value);
    say(user, name, number);
}

static size_t count_weights(const seq2seq *m)
{
    size_t n = 0;
    const tensor *t;
    const char *name;
    for (size_t i = 0; (t = safetensors_get(m->file, i, &name)) != NULL; i++)
        if (t->type == TENSOR_F32 || t->type == TENSOR_F16)
            n += t->n;
    return n;
}

static void describe(const void *self, sb_describe_fn say, void *user)
{
    const seq2seq *const m = self;
    char number[32];
    snprintf(number, sizeof number, "%zu", count_weights(m));
    static const char *const known[] = {"name", "languages", "licence", "attribution", "origin"};
    const json_value *const about = json_get(m->description.root, "about");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const char *const value = json_text(json_get(about, known[i]));
        if (value != NULL)
            say(user, known[i], value);
    }
    say(user, "architecture", m->architecture);
    say(user, "weights", number);
    say(user, "text", m->subwords != NULL ? "SentencePiece" : "tokens separated by blanks");
    say_number(say, user, "source vocabulary", m->net.source_vocab);
    say_number(say, user, "longest source", m->net.max_source - 1);
    say_number(say, user, "longest output", m->net.max_target);
    say(user, "matrix products", gemm_way_name(gemm_best_way()));
}

static sb_status open_seq2seq(sb_model **model, const model_source *source, sb_error *err)
{
    seq2seq *m;
    sb_status status =
        seq2seq_open(&m, source->path, lines_name(source->reader), source->data, source->size, err);
    if (status != SB_OK)
        return status;
    const bool is_subword = m->subwords != NULL;
    const sb_model_ops ops = {.session_open = session_open,
                              .session_close = session_close,
                              .begin = begin,
                              .step = step,
                              .token_text = token_text,
                              .find_token = find_token,
                              .describe = describe,
                              .close = seq2seq_close,
                              .encode = is_subword ? encode : NULL,
                              .decode = is_subword ? decode : NULL,
                              .set_pretokenized = is_subword ? set_pretokenized : NULL,
                              .state_size = state_size,
                              .save = save,
                              .restore = restore};
    const sb_model_info info = {.kind = seq2seq_backend.kind,
                                .vocab_size = m->net.target_vocab,
                                .eos = m->eos,
                                .row_type = SB_ROW_FLOAT,
                                .needs_input = true,
                                .max_len = m->net.max_target,
                                .rows_depend_on_batch = gemm_best_way() == GEMM_BLAS};
    status = sb_model_open_custom(model, &ops, &info, m, err);
    if (status != SB_OK)
        seq2seq_close(m);
    return status;
}

const model_backend seq2seq_backend = {.kind = "seq2seq",
                                       .expected = "a sequence-to-sequence model (safetensors)",
                                       .probe = safetensors_probe,
                                       .open = open_seq2seq};
