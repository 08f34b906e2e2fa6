/* Reads an fconv network: finds every tensor by name and checks its shape against the layers around
 * it. */
#include "nn/fconv.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/status.h"

enum { NAME_SIZE = 100 };

static void close_half(fconv_half *half)
{
    for (int32_t i = 0; half->layers != NULL && i < half->n_layers; i++) {
        fconv_layer *const layer = &half->layers[i];
        gemm_close(&layer->conv);
        gemm_close(&layer->projection);
        gemm_close(&layer->query);
        gemm_close(&layer->context);
    }
    alloc_free(half->layers);
    gemm_close(&half->input);
    gemm_close(&half->output);
}

void fconv_close(void *self)
{
    fconv *const net = self;
    close_half(&net->encoder);
    close_half(&net->decoder);
    gemm_close(&net->logits);
    alloc_free(net);
}

/* Returns the width of the residual that layer i adds. Layers after i need not be read yet. */
static size_t residual_width(const fconv_half *half, int32_t i)
{
    return half->layers[i - half->layers[i].residual + 1].in;
}

static sb_status read_layer(fconv_half *half, int32_t i, const char *name, const weights *w,
                            sb_error *err)
{
    fconv_layer *const layer = &half->layers[i];
    char prefix[NAME_SIZE];
    snprintf(prefix, sizeof prefix, "%s.layers.%d.conv", name, (int)i);
    sb_status status = weights_convolution(w, prefix, 2 * layer->width, layer->kernel, layer->in,
                                           &layer->conv, err);
    if (status == SB_OK && layer->residual > 0 && residual_width(half, i) != layer->width) {
        layer->has_projection = true;
        snprintf(prefix, sizeof prefix, "%s.layers.%d.residual", name, (int)i);
        status =
            weights_gemm(w, prefix, layer->width, residual_width(half, i), &layer->projection, err);
    }
    if (status == SB_OK && layer->attention) {
        snprintf(prefix, sizeof prefix, "%s.layers.%d.query", name, (int)i);
        status = weights_gemm(w, prefix, half->embedding, layer->width, &layer->query, err);
    }
    if (status == SB_OK && layer->attention) {
        snprintf(prefix, sizeof prefix, "%s.layers.%d.context", name, (int)i);
        status = weights_gemm(w, prefix, layer->width, half->embedding, &layer->context, err);
    }
    return status;
}

static sb_status read_embeddings(fconv_half *half, const char *name, const weights *w,
                                 sb_error *err)
{
    char full[NAME_SIZE];
    const tensor *tokens = NULL, *positions = NULL;
    snprintf(full, sizeof full, "%s.tokens", name);
    sb_status status = weights_matrix(w, full, &tokens, err);
    snprintf(full, sizeof full, "%s.positions", name);
    if (status == SB_OK)
        status = weights_matrix(w, full, &positions, err);
    if (status != SB_OK)
        return status;
    if (tokens->shape[1] != positions->shape[1])
        return status_fail(err, SB_ERR_FORMAT,
                           "%s: %s.tokens is %zu wide, but %s.positions is %zu; expected the same",
                           w->path, name, tokens->shape[1], name, positions->shape[1]);
    half->tokens = *tokens;
    half->positions = *positions;
    half->embedding = tokens->shape[1];
    return SB_OK;
}

/* Reads all of a half except its output matrix. *last is the width of the last layer. */
static sb_status read_half(fconv_half *half, const char *name, const fconv_layer_spec *spec,
                           int32_t n_layers, const weights *w, size_t *last, sb_error *err)
{
    char prefix[NAME_SIZE];
    size_t in = 0;
    half->layers = alloc_zeroed((size_t)n_layers, sizeof *half->layers);
    if (half->layers == NULL)
        return status_no_memory(err);
    half->n_layers = n_layers;
    sb_status status = read_embeddings(half, name, w, err);
    snprintf(prefix, sizeof prefix, "%s.input", name);
    if (status == SB_OK)
        status = weights_rows(w, prefix, &in, err);
    if (status == SB_OK)
        status = weights_gemm(w, prefix, in, half->embedding, &half->input, err);
    for (int32_t i = 0; status == SB_OK && i < n_layers; i++) {
        half->layers[i] = (fconv_layer){.in = in,
                                        .width = (size_t)spec[i].width,
                                        .kernel = (size_t)spec[i].kernel,
                                        .residual = spec[i].residual,
                                        .attention = spec[i].attention};
        in = (size_t)spec[i].width;
        status = read_layer(half, i, name, w, err);
    }
    if (status == SB_OK)
        *last = in;
    return status;
}

static sb_status read_encoder(fconv *net, const fconv_spec *spec, const weights *w, sb_error *err)
{
    fconv_half *const half = &net->encoder;
    size_t last = 0;
    const sb_status status =
        read_half(half, "encoder", spec->encoder, spec->n_encoder, w, &last, err);
    return status != SB_OK
               ? status
               : weights_gemm(w, "encoder.output", half->embedding, last, &half->output, err);
}

static sb_status read_decoder(fconv *net, const fconv_spec *spec, const weights *w, sb_error *err)
{
    fconv_half *const half = &net->decoder;
    size_t last = 0, hidden = 0;
    sb_status status = read_half(half, "decoder", spec->decoder, spec->n_decoder, w, &last, err);
    if (status == SB_OK && half->embedding != net->encoder.embedding)
        return status_fail(
            err, SB_ERR_FORMAT,
            "%s: decoder.tokens is %zu wide, but encoder.tokens is %zu; attention needs "
            "the same width",
            w->path, half->embedding, net->encoder.embedding);
    if (status == SB_OK)
        status = weights_rows(w, "decoder.hidden", &hidden, err);
    if (status == SB_OK)
        status = weights_gemm(w, "decoder.hidden", hidden, last, &half->output, err);
    if (status != SB_OK)
        return status;
    /* If there is no matrix of its own, the output shares that of the token embedding. */
    const bool is_tied = w->find(w->file, "decoder.output.weight") == NULL;
    return weights_gemm_of(w, is_tied ? "decoder.tokens" : "decoder.output.weight",
                           "decoder.output.bias", half->tokens.shape[0], hidden, &net->logits, err);
}

/* Computes the number of positions that the table has for tokens. */
static sb_status count_places(const fconv *net, const fconv_half *half, const char *name,
                              const weights *w, int32_t *n, sb_error *err)
{
    const int64_t left = (int64_t)half->positions.shape[0] - net->position_offset;
    if (left < 1)
        return status_fail(err, SB_ERR_FORMAT,
                           "%s: %s.positions has %zu rows; expected more than \"position_offset\", "
                           "which is %d",
                           w->path, name, half->positions.shape[0], (int)net->position_offset);
    *n = (int32_t)left;
    return SB_OK;
}

sb_status fconv_open(network *net, const fconv_spec *spec, const weights *w, sb_error *err)
{
    fconv *const self = alloc_zeroed(1, sizeof *self);
    if (self == NULL)
        return status_no_memory(err);
    self->position_offset = spec->position_offset;
    self->start = spec->start;
    network opened = {.ops = &fconv_ops, .self = self};
    sb_status status = read_encoder(self, spec, w, err);
    if (status == SB_OK)
        status = read_decoder(self, spec, w, err);
    if (status == SB_OK)
        status = count_places(self, &self->encoder, "encoder", w, &opened.max_source, err);
    if (status == SB_OK)
        status = count_places(self, &self->decoder, "decoder", w, &opened.max_target, err);
    if (status != SB_OK) {
        fconv_close(self);
        return status;
    }
    opened.source_vocab = (int32_t)self->encoder.tokens.shape[0];
    opened.target_vocab = (int32_t)self->decoder.tokens.shape[0];
    *net = opened;
    return SB_OK;
}
