/* Opens sequence-to-sequence models: safetensors files whose metadata entry "sbeam" describes them.
 *
 *     {"architecture": "fconv", "version": 1, "position_offset": 0,
 *      "source": {"eos": 2, "unknown": 3},
 *      "target": {"start": 1, "eos": 2, "unknown": 3, "unused": [0, 1]},
 *      "encoder": [{"width": 256, "kernel": 3, "residual": 1}, ...],
 *      "decoder": [{"width": 256, "kernel": 3, "residual": 1, "attention": true}, ...],
 *      "about": {"name": "..."}}
 *
 * models/README.md describes the whole format. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/utf8.h"
#include "model/seq2seq.h"
#include "nn/fconv.h"

enum { VERSION = 1 };

/* An object of the description and its name in messages, "" for the whole description. */
typedef struct part {
    const json_doc *doc;
    const json_value *object;
    const char *name;
} part;

static sb_status fail(const json_doc *doc, sb_error *err, const char *what, const char *about)
{
    return status_fail(err, SB_ERR_FORMAT, "%s: %s \"%.*s\"", doc->name, what,
                       utf8_excerpt(about, strlen(about)), about);
}

/* Reads a whole number in min .. max. If the entry is absent, gives `missing` if that is at least
 * min - 1, and fails otherwise. */
static sb_status read_whole(const part *of, const char *key, int32_t min, int32_t max,
                            int32_t missing, int32_t *value, sb_error *err)
{
    const json_value *const entry = json_get(of->object, key);
    if (entry == NULL && missing >= min - 1) {
        *value = missing;
        return SB_OK;
    }
    const int64_t number = json_integer(entry);
    if (!json_is_integer(entry) || number < min || number > max)
        return status_fail(err, SB_ERR_FORMAT,
                           "%s: expected a whole number from %d to %d in \"%s%s%s\"", of->doc->name,
                           (int)min, (int)max, of->name, of->name[0] != '\0' ? "." : "", key);
    *value = (int32_t)number;
    return SB_OK;
}

enum { REQUIRED = INT32_MIN };

/* --- fconv --- */

static sb_status read_layer(const part *layer, int32_t i, bool is_decoder, fconv_layer_spec *to,
                            sb_error *err)
{
    sb_status status = read_whole(layer, "width", 1, 1 << 20, REQUIRED, &to->width, err);
    if (status == SB_OK)
        status = read_whole(layer, "kernel", 1, 1 << 10, REQUIRED, &to->kernel, err);
    if (status == SB_OK)
        status = read_whole(layer, "residual", 0, i + 1, 1, &to->residual, err);
    if (status != SB_OK)
        return status;
    const json_value *const attention = json_get(layer->object, "attention");
    if (attention != NULL && !json_is_boolean(attention))
        return status_fail(err, SB_ERR_FORMAT, "%s: expected true or false in \"%s.attention\"",
                           layer->doc->name, layer->name);
    to->attention = json_is_true(attention);
    if (to->attention && !is_decoder)
        return status_fail(err, SB_ERR_FORMAT,
                           "%s: \"%s.attention\" is true; only the decoder can have attention",
                           layer->doc->name, layer->name);
    return SB_OK;
}

static sb_status read_layers(const json_doc *doc, const char *key, bool is_decoder,
                             fconv_layer_spec *layers, int32_t *n_layers, sb_error *err)
{
    const json_value *const list = json_get(doc->root, key);
    const size_t n = json_n_items(list);
    if (n < 1 || n > FCONV_MAX_LAYERS)
        return status_fail(err, SB_ERR_FORMAT, "%s: expected a list of 1 to %d layers in \"%s\"",
                           doc->name, FCONV_MAX_LAYERS, key);
    for (size_t i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s[%zu]", key, i);
        const part layer = {doc, json_item(list, i), name};
        if (!json_is_object(layer.object))
            return fail(doc, err, "expected a layer, as an object, in", name);
        const sb_status status = read_layer(&layer, (int32_t)i, is_decoder, &layers[i], err);
        if (status != SB_OK)
            return status;
    }
    *n_layers = (int32_t)n;
    return SB_OK;
}

static sb_status open_fconv(seq2seq *m, const weights *w, sb_error *err)
{
    const json_doc *const doc = &m->description;
    const part whole = {doc, doc->root, ""};
    fconv_spec *const spec = alloc_zeroed(1, sizeof *spec);
    if (spec == NULL)
        return status_no_memory(err);
    spec->start = m->start;
    sb_status status =
        read_whole(&whole, "position_offset", 0, INT32_MAX, 0, &spec->position_offset, err);
    if (status == SB_OK)
        status = read_layers(doc, "encoder", false, spec->encoder, &spec->n_encoder, err);
    if (status == SB_OK)
        status = read_layers(doc, "decoder", true, spec->decoder, &spec->n_decoder, err);
    if (status == SB_OK)
        status = fconv_open(&m->net, spec, w, err);
    alloc_free(spec);
    return status;
}

/* Each architecture has one line here. */
static const struct {
    const char *name;
    sb_status (*open)(seq2seq *m, const weights *w, sb_error *err);
} architectures[] = {{"fconv", open_fconv}};

enum { N_ARCHITECTURES = sizeof architectures / sizeof architectures[0] };

/* --- text --- */

/* Reads a dictionary of one token per line. The first line is id 0. */
static sb_status read_dictionary(const seq2seq *m, const char *name, vocab *words, sb_error *err)
{
    const tensor *const t = safetensors_find(m->file, name);
    const char *const path = safetensors_name(m->file);
    if (t == NULL || t->type != TENSOR_U8)
        return status_fail(
            err, SB_ERR_FORMAT,
            "%s: the model has no vocabulary: expected a U8 tensor 'sentencepiece', or "
            "'source.dictionary' and 'target.dictionary'",
            path);
    const char *const text = (const char *)t->data;
    for (size_t at = 0, line = 1; at < t->n; line++) {
        const char *const end = memchr(text + at, '\n', t->n - at);
        const size_t size = end != NULL ? (size_t)(end - (text + at)) : t->n - at;
        int32_t id;
        bool is_new;
        if (!utf8_is_token(text + at, size))
            return status_fail(err, SB_ERR_FORMAT,
                               "%s: line %zu of '%s': expected a token in UTF-8 without blanks",
                               path, line, name);
        if (vocab_add(words, text + at, size, &id, &is_new) != SB_OK)
            return status_no_memory(err);
        if (!is_new)
            return status_fail(err, SB_ERR_FORMAT, "%s: line %zu of '%s': duplicate token '%.*s'",
                               path, line, name, utf8_excerpt(text + at, size), text + at);
        at += size + 1;
    }
    return SB_OK;
}

static sb_status check_size(const seq2seq *m, const char *what, int32_t n, int32_t expected,
                            const char *embedding, sb_error *err)
{
    if (n == expected)
        return SB_OK;
    return status_fail(err, SB_ERR_FORMAT,
                       "%s: '%s' has %d tokens, but '%s' has %d; expected the same",
                       safetensors_name(m->file), what, (int)n, embedding, (int)expected);
}

static sb_status read_text(seq2seq *m, sb_error *err)
{
    const tensor *const bytes = safetensors_find(m->file, "sentencepiece");
    sb_status status;
    if (bytes != NULL && bytes->type == TENSOR_U8) {
        status = pieces_open(&m->subwords, safetensors_name(m->file), bytes->data, bytes->n, err);
        if (status != SB_OK)
            return status;
        const int32_t n = pieces_size(m->subwords);
        status = check_size(m, "sentencepiece", n, m->net.source_vocab, "encoder.tokens", err);
        return status != SB_OK
                   ? status
                   : check_size(m, "sentencepiece", n, m->net.target_vocab, "decoder.tokens", err);
    }
    status = read_dictionary(m, "source.dictionary", &m->source, err);
    if (status == SB_OK)
        status = read_dictionary(m, "target.dictionary", &m->target, err);
    if (status == SB_OK)
        status = check_size(m, "source.dictionary", m->source.n, m->net.source_vocab,
                            "encoder.tokens", err);
    return status != SB_OK ? status
                           : check_size(m, "target.dictionary", m->target.n, m->net.target_vocab,
                                        "decoder.tokens", err);
}

/* --- special tokens --- */

/* Returns the number of rows of an embedding, which bounds its ids. Returns INT32_MAX if there is
 * no such matrix; fconv_open reports that later. */
static int32_t count_tokens(const seq2seq *m, const char *name)
{
    const tensor *const t = safetensors_find(m->file, name);
    return t != NULL && t->n_dims > 0 && t->shape[0] > 0 && t->shape[0] <= INT32_MAX
               ? (int32_t)t->shape[0]
               : INT32_MAX;
}

static sb_status read_unused(seq2seq *m, const part *target, int32_t last, sb_error *err)
{
    const json_value *const list = json_get(target->object, "unused");
    if (list == NULL)
        return SB_OK;
    const size_t n = json_n_items(list);
    if (!json_is_array(list) || n > (size_t)last)
        return status_fail(err, SB_ERR_FORMAT,
                           "%s: expected a list of at most %d token ids in \"target.unused\"",
                           target->doc->name, (int)last);
    m->unused = alloc_array(n, sizeof *m->unused);
    if (m->unused == NULL)
        return status_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const json_value *const id = json_item(list, i);
        const int64_t value = json_integer(id);
        if (!json_is_integer(id) || value < 0 || value > last)
            return status_fail(err, SB_ERR_FORMAT,
                               "%s: expected token ids from 0 to %d in \"target.unused\"",
                               target->doc->name, (int)last);
        if (value == m->eos)
            return fail(target->doc, err, "the end token of the target may not be among",
                        "target.unused");
        m->unused[i] = (int32_t)value;
    }
    m->n_unused = n;
    return SB_OK;
}

static sb_status read_special_tokens(seq2seq *m, sb_error *err)
{
    const json_doc *const doc = &m->description;
    const part source = {doc, json_get(doc->root, "source"), "source"};
    const part target = {doc, json_get(doc->root, "target"), "target"};
    const int32_t last_source = count_tokens(m, "encoder.tokens") - 1;
    const int32_t last = count_tokens(m, "decoder.tokens") - 1;
    int32_t unknown; /* of the target; only checked, because a row gives it like any other token */
    if (!json_is_object(source.object))
        return fail(doc, err, "expected an object with special tokens in", source.name);
    if (!json_is_object(target.object))
        return fail(doc, err, "expected an object with special tokens in", target.name);
    sb_status status = read_whole(&source, "eos", 0, last_source, REQUIRED, &m->source_eos, err);
    if (status == SB_OK)
        status = read_whole(&source, "unknown", 0, last_source, -1, &m->source_unknown, err);
    if (status == SB_OK)
        status = read_whole(&target, "start", 0, last, REQUIRED, &m->start, err);
    if (status == SB_OK)
        status = read_whole(&target, "eos", 0, last, REQUIRED, &m->eos, err);
    if (status == SB_OK)
        status = read_whole(&target, "unknown", 0, last, -1, &unknown, err);
    return status == SB_OK ? read_unused(m, &target, last, err) : status;
}

/* --- the file --- */

static sb_status read_description(seq2seq *m, sb_error *err)
{
    const char *const name = safetensors_name(m->file);
    const char *const text = safetensors_metadata(m->file, "sbeam");
    if (text == NULL)
        return status_fail(
            err, SB_ERR_FORMAT,
            "%s: this is a safetensors file, but not an sbeam model: its metadata has "
            "no entry \"sbeam\"",
            name);
    char title[STATUS_NAME_SIZE + 16];
    json_doc *const doc = &m->description;
    snprintf(title, sizeof title, "%s: description", name);
    sb_status status = json_doc_parse(doc, title, text, strlen(text), err);
    const part whole = {doc, doc->root, ""};
    int32_t version = 0;
    if (status == SB_OK)
        status = read_whole(&whole, "version", 1, INT32_MAX, REQUIRED, &version, err);
    if (status == SB_OK && version > VERSION)
        return status_fail(err, SB_ERR_FORMAT,
                           "%s: the file has version %d of the format; this sbeam reads version %d",
                           name, (int)version, VERSION);
    return status;
}

/* Marks the tensors of the file that have been used. A tensor that nothing uses has a wrong name,
 * or the description belongs to another model. */
typedef struct reading {
    const safetensors *file;
    bool *is_used; /* by tensor number */
} reading;

static const tensor *find_tensor(const void *file, const char *name)
{
    const reading *const r = file;
    const tensor *const wanted = safetensors_find(r->file, name), *t;
    const char *found;
    for (size_t i = 0; wanted != NULL && (t = safetensors_get(r->file, i, &found)) != NULL; i++)
        if (t == wanted)
            r->is_used[i] = true;
    return wanted;
}

static sb_status check_used(const reading *r, sb_error *err)
{
    const char *name;
    for (size_t i = 0; safetensors_get(r->file, i, &name) != NULL; i++)
        if (!r->is_used[i] && strcmp(name, "sentencepiece") != 0 &&
            strcmp(name, "source.dictionary") != 0 && strcmp(name, "target.dictionary") != 0)
            return status_fail(err, SB_ERR_FORMAT,
                               "%s: the description does not use the tensor '%.*s'",
                               safetensors_name(r->file), utf8_excerpt(name, strlen(name)), name);
    return SB_OK;
}

/* Opens the network that the description names. Special tokens are read after the architecture is
 * known, because another architecture may describe them differently. */
static sb_status open_network(seq2seq *m, sb_error *err)
{
    const json_doc *const doc = &m->description;
    const char *const wanted = json_text(json_get(doc->root, "architecture"));
    if (wanted == NULL)
        return fail(doc, err, "expected a name in", "architecture");
    size_t a = 0;
    while (a < N_ARCHITECTURES && strcmp(wanted, architectures[a].name) != 0)
        a++;
    if (a == N_ARCHITECTURES)
        return fail(doc, err, "expected the architecture fconv, found", wanted);
    m->architecture = architectures[a].name;
    sb_status status = read_special_tokens(m, err);
    if (status != SB_OK)
        return status;
    const reading r = {m->file, alloc_zeroed(safetensors_count(m->file), sizeof *r.is_used)};
    if (r.is_used == NULL)
        return status_no_memory(err);
    const weights w = {
        .path = safetensors_name(m->file), .file = &r, .find = find_tensor, .way = gemm_best_way()};
    status = architectures[a].open(m, &w, err);
    if (status == SB_OK)
        status = check_used(&r, err);
    alloc_free(r.is_used);
    return status;
}

static sb_status open_file(seq2seq *m, const char *path, const char *name, const void *data,
                           size_t size, sb_error *err)
{
    if (path != NULL)
        return safetensors_open(&m->file, path, err);
    m->copy = alloc_array(size, 1);
    if (m->copy == NULL)
        return status_no_memory(err);
    if (size > 0)
        memcpy(m->copy, data, size);
    return safetensors_open_memory(&m->file, name, m->copy, size, err);
}

sb_status seq2seq_open(seq2seq **model, const char *path, const char *name, const void *data,
                       size_t size, sb_error *err)
{
    seq2seq *const m = alloc_zeroed(1, sizeof *m);
    if (m == NULL)
        return status_no_memory(err);
    vocab_init(&m->source);
    vocab_init(&m->target);
    sb_status status = open_file(m, path, name, data, size, err);
    if (status == SB_OK)
        status = read_description(m, err);
    if (status == SB_OK)
        status = open_network(m, err);
    if (status == SB_OK)
        status = read_text(m, err);
    if (status != SB_OK) {
        seq2seq_close(m);
        return status;
    }
    *model = m;
    return SB_OK;
}

void seq2seq_close(void *model)
{
    seq2seq *const m = model;
    if (m == NULL)
        return;
    if (m->net.ops != NULL)
        m->net.ops->close(m->net.self);
    pieces_close(m->subwords);
    vocab_free(&m->source);
    vocab_free(&m->target);
    alloc_free(m->unused);
    json_doc_close(&m->description);
    safetensors_close(m->file);
    alloc_free(m->copy);
    alloc_free(m);
}
