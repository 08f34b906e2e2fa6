/* Opens models and answers questions about their tokens. Sessions are in session.c.
 *
 * The content of a file decides which backend opens it. Backends that recognise their files by the
 * first bytes are asked first. If none does and the file starts with '{', the JSON entry "format"
 * names the backend. */
#include "model/backend.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/utf8.h"
#include "math/kernels.h"
#include "model/safetensors.h"
#include "text/words.h"

static const model_backend *const backends[] = {
    &tree_backend,    &chain_backend, &arpa_backend,
#ifdef SBEAM_HAVE_NN
    &seq2seq_backend,
#endif
#ifdef SBEAM_HAVE_LLAMA
    &gguf_backend,
#endif
};

enum { N_BACKENDS = sizeof backends / sizeof backends[0] };

/* Files that are not models, but can be recognised, with advice for the error message. */
static const struct {
    const char *magic;
    size_t size;
    const char *advice;
} strangers[] = {
    {"\xfd"
     "7zXZ",
     6, "an xz file; decompress it first (xz -dk)"},
    {"BZh", 3, "a bzip2 file; decompress it first (bzip2 -dk)"},
    {"\x28\xb5\x2f\xfd", 4, "a zstd file; decompress it first (zstd -d)"},
    {"PK\x03\x04", 4,
     "a zip file; extract it first (unzip), or, if it is a PyTorch checkpoint, convert it with "
     "tools/convert_fairseq.py"},
    {"\x80\x02\x8a\x0a\x6c\xfc", 6,
     "a PyTorch checkpoint; convert it with tools/convert_fairseq.py"},
    {"mmap lm http://kheafield.com/code", 33,
     "a KenLM binary file; use the ARPA file that it was made from"},
    {"Trie Language Model", 19, "a Sphinx binary model; convert it to ARPA (sphinx_lm_convert)"},
};

/* Appends to a list in `text`; cuts off what does not fit. */
static void append(char *text, size_t capacity, const char *separator, const char *item)
{
    const size_t used = strlen(text);
    snprintf(text + used, capacity - used, "%s%s", used > 0 ? separator : "", item);
}

static sb_status fail_unknown(const char *name, const char *head, size_t size, sb_error *err)
{
    if (size == 0)
        return status_fail(err, SB_ERR_FORMAT, "%s: expected a model, found an empty file", name);
    for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++)
        if (size >= strangers[i].size && memcmp(head, strangers[i].magic, strangers[i].size) == 0)
            return status_fail(err, SB_ERR_FORMAT, "%s: expected a model, found %s", name,
                               strangers[i].advice);
#ifndef SBEAM_HAVE_NN
    if (safetensors_probe(head, size))
        return status_fail(err, SB_ERR_FORMAT,
                           "%s: this is a neural model, but sbeam was built without neural models "
                           "(-Dnn=disabled)",
                           name);
#endif
#ifndef SBEAM_HAVE_LLAMA
    if (size >= 4 && memcmp(head, "GGUF", 4) == 0)
        return status_fail(
            err, SB_ERR_FORMAT,
            "%s: this is a GGUF language model, but sbeam was built without llama.cpp; "
            "install llama.cpp with 'scripts/setup --with llama', then build again "
            "with scripts/build",
            name);
#endif
    char expected[300] = "";
    for (size_t i = 0; i < N_BACKENDS; i++)
        append(expected, sizeof expected, ", ", backends[i]->expected);
    return status_fail(err, SB_ERR_FORMAT, "%s: not a model file; expected one of: %s", name,
                       expected);
}

static sb_status open_json(sb_model **model, const model_source *file, sb_error *err)
{
    json_doc doc;
    sb_status status = json_doc_read(&doc, file->reader, err);
    if (status != SB_OK)
        return status;
    const char *const format = json_text(json_get(doc.root, "format"));
    model_source source = *file;
    source.doc = &doc;
    char expected[200] = "";
    for (size_t i = 0; i < N_BACKENDS; i++) {
        const char *const known = backends[i]->json_format;
        if (known == NULL)
            continue;
        if (format != NULL && strcmp(format, known) == 0) {
            status = backends[i]->open(model, &source, err);
            goto done;
        }
        append(expected, sizeof expected, " or ", known);
    }
    const size_t line = json_line(doc.root);
    if (format != NULL)
        status =
            status_fail(err, SB_ERR_FORMAT, "%s:%zu: expected \"format\": %s, found \"%.*s\"",
                        doc.name, line, expected, utf8_excerpt(format, strlen(format)), format);
    else
        status = status_fail(err, SB_ERR_FORMAT, "%s:%zu: expected an entry \"format\": %s",
                             doc.name, line, expected);
done:
    json_doc_close(&doc);
    return status;
}

/* Opens a source whose doc is not set yet. Closes its reader in every case. */
static sb_status open_source(sb_model **model, const model_source *source, sb_error *err)
{
    const char *head;
    size_t size;
    sb_status status = lines_peek(source->reader, &head, &size, err);
    if (status != SB_OK)
        goto done;
    for (size_t i = 0; i < N_BACKENDS; i++) {
        if (backends[i]->probe == NULL || !backends[i]->probe(head, size))
            continue;
        status = backends[i]->open(model, source, err);
        goto done;
    }
    size_t position = 0, word_size;
    const char *word;
    if (utf8_next_word(head, size, &position, &word, &word_size) && word[0] == '{')
        status = open_json(model, source, err);
    else
        status = fail_unknown(lines_name(source->reader), head, size, err);
done:
    lines_close(source->reader);
    return status;
}

static void set_id(sb_model *model, const char id[MODEL_ID_SIZE])
{
    memcpy(model->id, id, MODEL_ID_SIZE);
    model->info.id = id[0] != '\0' ? model->id : NULL;
}

sb_status sb_model_open(sb_model **model, const char *path, sb_error *err)
{
    if (model == NULL || path == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_model_open: model or path is NULL");
    model_source source = {.path = path};
    char id[MODEL_ID_SIZE];
    sb_model *opened;
    sb_status status = lines_open(&source.reader, path, err);
    if (status == SB_OK)
        status = open_source(&opened, &source, err);
    if (status != SB_OK)
        return status;
    status = model_id_of_file(path, id, err);
    if (status == SB_OK) {
        set_id(opened, id);
        *model = opened;
    } else {
        sb_model_close(opened);
    }
    return status;
}

sb_status model_open_memory(sb_model **model, const char *name, const void *data, size_t size,
                            sb_error *err)
{
    model_source source = {.data = data, .size = size};
    char id[MODEL_ID_SIZE];
    sb_status status = lines_open_memory(&source.reader, name, data, size, err);
    if (status == SB_OK)
        status = open_source(model, &source, err);
    if (status != SB_OK)
        return status;
    model_id_of_memory(data, size, id);
    set_id(*model, id);
    return SB_OK;
}

sb_status sb_model_open_custom(sb_model **model, const sb_model_ops *ops, const sb_model_info *info,
                               void *self, sb_error *err)
{
    if (model == NULL || ops == NULL || info == NULL)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "sb_model_open_custom: model, ops or info is NULL");
    if (kernels_check(err) != SB_OK)
        return SB_ERR_ARGUMENT;
    if (ops->session_open == NULL || ops->session_close == NULL || ops->step == NULL)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "a model table needs session_open, session_close and step");
    if ((ops->state_size == NULL) != (ops->save == NULL) ||
        (ops->save == NULL) != (ops->restore == NULL))
        return status_fail(err, SB_ERR_ARGUMENT,
                           "a model table needs all of state_size, save and restore, or none");
    if (info->kind == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "a model needs a kind");
    if (info->vocab_size < 1)
        return status_fail(err, SB_ERR_ARGUMENT, "vocab_size is %d; expected at least 1",
                           (int)info->vocab_size);
    if (info->eos < -1 || info->eos >= info->vocab_size)
        return status_fail(err, SB_ERR_ARGUMENT, "eos is %d; expected in -1 .. %d", (int)info->eos,
                           (int)info->vocab_size - 1);
    if (info->row_type != SB_ROW_FLOAT && info->row_type != SB_ROW_DOUBLE)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "row_type is %d; expected SB_ROW_FLOAT or SB_ROW_DOUBLE",
                           (int)info->row_type);
    if (info->max_rows < 0)
        return status_fail(err, SB_ERR_ARGUMENT, "max_rows is %d; expected 0 or more",
                           (int)info->max_rows);
    if (info->max_len < 0)
        return status_fail(err, SB_ERR_ARGUMENT, "max_len is %d; expected 0 or more",
                           (int)info->max_len);
    sb_model *const m = alloc_zeroed(1, sizeof *m);
    if (m == NULL)
        return status_no_memory(err);
    *m = (sb_model){.ops = *ops, .info = *info, .self = self};
    *model = m;
    return SB_OK;
}

void sb_model_close(sb_model *model)
{
    if (model == NULL)
        return;
    if (model->ops.close != NULL)
        model->ops.close(model->self);
    alloc_free(model->marker);
    alloc_free(model);
}

const sb_model_info *sb_model_get_info(const sb_model *model)
{
    return &model->info;
}

bool sb_model_has_leaves(const sb_model *model)
{
    return model->ops.is_leaf != NULL;
}

bool sb_model_has_states(const sb_model *model)
{
    return model->ops.save != NULL;
}

bool sb_model_has_own_text(const sb_model *model)
{
    return !model->pretokenized && (model->ops.encode != NULL || model->ops.decode != NULL);
}

void sb_model_describe(const sb_model *model, sb_describe_fn say, void *user)
{
    char number[32];
    say(user, "kind", model->info.kind);
    snprintf(number, sizeof number, "%d", (int)model->info.vocab_size);
    say(user, "vocabulary", number);
    if (model->info.eos >= 0) {
        const char *const text = sb_model_token_text(model, model->info.eos);
        snprintf(number, sizeof number, "%d", (int)model->info.eos);
        say(user, "end token", text != NULL ? text : number);
    }
    if (model->info.id != NULL)
        say(user, "checksum", model->info.id);
    if (model->ops.describe != NULL)
        model->ops.describe(model->self, say, user);
}

const char *sb_model_token_text(const sb_model *model, int32_t token)
{
    if (model->ops.token_text == NULL || token < 0 || token >= model->info.vocab_size)
        return NULL;
    return model->ops.token_text(model->self, token);
}

int32_t sb_model_find_token(const sb_model *model, const char *text, size_t size)
{
    return model->ops.find_token != NULL ? model->ops.find_token(model->self, text, size) : -1;
}

sb_status sb_model_set_pretokenized(sb_model *model, bool on, sb_error *err)
{
    if (model == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_model_set_pretokenized: model is NULL");
    model->pretokenized = on;
    if (model->ops.set_pretokenized != NULL)
        model->ops.set_pretokenized(model->self, on);
    return SB_OK;
}

bool sb_model_is_pretokenized(const sb_model *model)
{
    return model->pretokenized;
}

sb_status sb_model_set_special(sb_model *model, bool on, sb_error *err)
{
    if (model == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_model_set_special: model is NULL");
    if (on && model->ops.set_special == NULL)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "special: the inputs of a model of kind '%.60s' have no special tokens; "
                           "only GGUF models take this setting",
                           model->info.kind);
    model->special = on;
    if (model->ops.set_special != NULL)
        model->ops.set_special(model->self, on);
    return SB_OK;
}

bool sb_model_is_special(const sb_model *model)
{
    return model->special;
}

static int32_t find_word(const void *model, const char *word, size_t size)
{
    return sb_model_find_token(model, word, size);
}

sb_status sb_model_encode(const sb_model *model, const char *text, size_t size, int32_t **tokens,
                          int32_t *n_tokens, sb_error *err)
{
    if (model == NULL || tokens == NULL || n_tokens == NULL || (text == NULL && size > 0))
        return status_fail(err, SB_ERR_ARGUMENT,
                           "sb_model_encode: model, text, tokens or n_tokens is NULL");
    if (model->ops.encode == NULL || model->pretokenized)
        return words_encode(text, size, find_word, model, "token", tokens, n_tokens, err);
    return model->ops.encode(model->self, text != NULL ? text : "", size, tokens, n_tokens, err);
}

sb_status sb_model_set_marker(sb_model *model, const char *marker, sb_error *err)
{
    if (model == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_model_set_marker: model is NULL");
    char *copy = NULL;
    if (marker != NULL && marker[0] != '\0') {
        copy = alloc_text(marker, strlen(marker));
        if (copy == NULL)
            return status_no_memory(err);
    }
    alloc_free(model->marker);
    model->marker = copy;
    return SB_OK;
}

const char *sb_model_get_marker(const sb_model *model)
{
    return model->marker;
}

/* Joins subword pieces in place: "mam@@ mal" becomes "mammal". Also removes a marker at the end. */
static void join_pieces(char *text, const char *marker)
{
    const size_t length = strlen(marker);
    char *to = text;
    for (const char *from = text; *from != '\0';) {
        if (strncmp(from, marker, length) == 0 && (from[length] == ' ' || from[length] == '\0'))
            from += length + (from[length] == ' ');
        else
            *to++ = *from++;
    }
    *to = '\0';
}

/* Joins the tokens with blanks, or without one where the marker joins two pieces. */
static sb_status decode_words(const sb_model *model, const int32_t *tokens, int32_t n_tokens,
                              char **text, sb_error *err)
{
    char *joined = NULL;
    size_t size = 0, capacity = 0;
    sb_status status = alloc_reserve(&joined, &capacity, 1, 1);
    for (int32_t i = 0; status == SB_OK && i < n_tokens; i++) {
        const char *const token = sb_model_token_text(model, tokens[i]);
        if (token == NULL) {
            alloc_free(joined);
            return status_fail(err, SB_ERR_ARGUMENT, "token %d, at position %d, has no text",
                               (int)tokens[i], (int)i);
        }
        const size_t token_size = strlen(token);
        status = alloc_reserve(&joined, &capacity, size + token_size + 2, 1);
        if (status != SB_OK)
            break;
        if (i > 0)
            joined[size++] = ' ';
        memcpy(joined + size, token, token_size);
        size += token_size;
    }
    if (status != SB_OK) {
        alloc_free(joined);
        return status_no_memory(err);
    }
    joined[size] = '\0';
    if (model->marker != NULL)
        join_pieces(joined, model->marker);
    *text = joined;
    return SB_OK;
}

sb_status sb_model_decode(const sb_model *model, const int32_t *tokens, int32_t n_tokens,
                          char **text, sb_error *err)
{
    if (model == NULL || text == NULL || n_tokens < 0 || (tokens == NULL && n_tokens > 0))
        return status_fail(
            err, SB_ERR_ARGUMENT,
            "sb_model_decode: model, tokens or text is NULL, or n_tokens is negative");
    if (model->ops.decode == NULL || model->pretokenized)
        return decode_words(model, tokens, n_tokens, text, err);
    for (int32_t i = 0; i < n_tokens; i++)
        if (tokens[i] < 0 || tokens[i] >= model->info.vocab_size)
            return status_fail(err, SB_ERR_ARGUMENT,
                               "token %d, at position %d, is out of range; expected 0 to %d",
                               (int)tokens[i], (int)i, (int)model->info.vocab_size - 1);
    return model->ops.decode(model->self, tokens, n_tokens, text, err);
}
