/* The encoder computes all positions of a source at once: they are the rows of the matrix products.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "nn/fconv.h"
#include "nn/layers.h"

/* The parts of the encoder's memory, each for n positions. */
typedef struct buffers {
    float *embedded; /* (n, embedding) */
    float *window;   /* (n, kernel * in) of the widest layer, at least (n, embedding) */
    float *gates;    /* (n, 2 * width) of the widest layer */
    float *residual; /* (n, width) of the widest layer */
    float *inputs; /* the inputs of all layers, one after the other, then the output of the last */
} buffers;

void fconv_encoder_close(fconv_encoder *encoder)
{
    alloc_free(encoder->memory);
    *encoder = (fconv_encoder){0};
}

void fconv_source_close(fconv_source *source)
{
    alloc_free(source->keys);
    alloc_free(source->values);
    *source = (fconv_source){0};
}

/* Makes room for n positions. The sizes of layers come from tensors that exist, so their sums do
 * not overflow. */
static sb_status reserve(const fconv_half *half, fconv_encoder *encoder, size_t n, buffers *b,
                         sb_error *err)
{
    size_t window = half->embedding; /* layer_embed uses it, too */
    size_t width = 0, inputs = half->layers[0].in;
    for (int32_t i = 0; i < half->n_layers; i++) {
        const fconv_layer *const layer = &half->layers[i];
        if (layer->kernel * layer->in > window)
            window = layer->kernel * layer->in;
        if (layer->width > width)
            width = layer->width;
        inputs += layer->width;
    }
    const size_t place = half->embedding + window + 3 * width + inputs;
    if (n > SIZE_MAX / sizeof(float) / place ||
        alloc_reserve(&encoder->memory, &encoder->capacity, n * place, sizeof(float)) != SB_OK)
        return status_no_memory(err);
    b->embedded = encoder->memory;
    b->window = b->embedded + n * half->embedding;
    b->gates = b->window + n * window;
    b->residual = b->gates + n * 2 * width;
    b->inputs = b->residual + n * width;
    return SB_OK;
}

/* Fills window[i] = x[i - (kernel - 1) / 2 .. i + kernel / 2], with zeros beyond the ends. */
static void fill_window(const fconv_layer *layer, size_t n, const float *x, float *window)
{
    const size_t before = (layer->kernel - 1) / 2;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < layer->kernel; j++, window += layer->in) {
            if (i + j < before || i + j - before >= n)
                memset(window, 0, layer->in * sizeof *window);
            else
                memcpy(window, x + (i + j - before) * layer->in, layer->in * sizeof *window);
        }
}

static void apply_layer(const fconv_half *half, int32_t l, size_t n, const buffers *b,
                        const float *const *inputs, float *out)
{
    const fconv_layer *const layer = &half->layers[l];
    const size_t row = layer->kernel * layer->in;
    fill_window(layer, n, inputs[l], b->window);
    gemm_apply(&layer->conv, n, b->window, row, b->gates, 2 * layer->width);
    layer_glu(n, layer->width, b->gates, out);
    if (layer->residual == 0)
        return;
    const float *from = inputs[l - layer->residual + 1];
    if (layer->has_projection) {
        gemm_apply(&layer->projection, n, from, layer->projection.n_in, b->residual, layer->width);
        from = b->residual;
    }
    layer_add(n, layer->width, out, layer->width, from, layer->width);
}

sb_status fconv_encode(const fconv *net, fconv_encoder *encoder, const int32_t *ids, int32_t n_ids,
                       fconv_source *source, sb_error *err)
{
    const fconv_half *const half = &net->encoder;
    const size_t n = (size_t)n_ids, e = half->embedding;
    buffers b = {0};
    const sb_status status = reserve(half, encoder, n, &b, err);
    if (status != SB_OK)
        return status;
    source->n = 0;
    if (alloc_reserve(&source->keys, &source->keys_capacity, n * e, sizeof(float)) != SB_OK ||
        alloc_reserve(&source->values, &source->values_capacity, n * e, sizeof(float)) != SB_OK)
        return status_no_memory(err);
    for (size_t i = 0; i < n; i++)
        layer_embed(&half->tokens, &half->positions, ids[i], net->position_offset + (int32_t)i,
                    b.embedded + i * e, b.window);
    const float *inputs[FCONV_MAX_LAYERS];
    float *x = b.inputs;
    gemm_apply(&half->input, n, b.embedded, e, x, half->layers[0].in);
    size_t width = half->layers[0].in;
    for (int32_t l = 0; l < half->n_layers; l++) {
        float *const out = x + n * width;
        inputs[l] = x;
        apply_layer(half, l, n, &b, inputs, out);
        x = out;
        width = half->layers[l].width;
    }
    gemm_apply(&half->output, n, x, width, source->keys, e);
    memcpy(source->values, source->keys, n * e * sizeof(float));
    layer_add(n, e, source->values, e, b.embedded, e);
    source->n = n;
    return SB_OK;
}
