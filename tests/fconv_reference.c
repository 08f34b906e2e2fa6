/* See fconv_reference.h. Every matrix is read where it is used, and every position computes its
 * whole window. The code shares nothing with src/nn except for reading elements. */
#include "fconv_reference.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/safetensors.h"
#include "text/json.h"

enum { MAX_LAYERS = 16 };

typedef struct matrix {
    double *values; /* (n, width) */
    size_t n, width;
} matrix;

typedef struct half {
    const safetensors *file;
    const json_value *layers;
    const char *name; /* "encoder" or "decoder" */
    size_t offset;    /* of positions */
    matrix embedded;
    const matrix *keys, *attended; /* of the source, in the decoder */
} half;

static matrix make(size_t n, size_t width)
{
    const matrix m = {calloc(n * width + 1, sizeof(double)), n, width};
    assert_non_null(m.values);
    return m;
}

/* A tensor by its parts of a name; (rows, rest). */
static matrix read(const safetensors *file, const char *prefix, const char *name)
{
    char full[100];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    const tensor *const t = safetensors_find(file, full);
    if (t == NULL)
        fail_msg("%s is missing", full);
    const matrix m = make(t->shape[0], t->n / t->shape[0]);
    for (size_t i = 0; i < t->n; i++) {
        float value;
        tensor_read(t, i, 1, &value);
        m.values[i] = (double)value;
    }
    return m;
}

/* x W^T + b, of `prefix`.weight and `prefix`.bias. */
static matrix linear(const safetensors *file, const char *weight_name, const char *prefix, matrix x)
{
    const matrix weight = read(file, weight_name, ""), bias = read(file, prefix, ".bias");
    const matrix y = make(x.n, weight.n);
    assert_int_equal(weight.width, x.width);
    for (size_t r = 0; r < x.n; r++)
        for (size_t o = 0; o < weight.n; o++) {
            double sum = bias.values[o];
            for (size_t i = 0; i < x.width; i++)
                sum += weight.values[o * x.width + i] * x.values[r * x.width + i];
            y.values[r * weight.n + o] = sum;
        }
    free(weight.values);
    free(bias.values);
    return y;
}

static matrix project(const half *h, const char *part, matrix x)
{
    char prefix[80], weight[100];
    snprintf(prefix, sizeof prefix, "%s.%s", h->name, part);
    snprintf(weight, sizeof weight, "%s.weight", prefix);
    return linear(h->file, weight, prefix, x);
}

static matrix layer_project(const half *h, size_t layer, const char *part, matrix x)
{
    char name[64];
    snprintf(name, sizeof name, "layers.%zu.%s", layer, part);
    return project(h, name, x);
}

/* x = (x + y) / sqrt(2) */
static void add(matrix x, matrix y)
{
    assert_int_equal(x.n * x.width, y.n * y.width);
    for (size_t i = 0; i < x.n * x.width; i++)
        x.values[i] = (x.values[i] + y.values[i]) * sqrt(0.5);
}

static matrix embed(const half *h, const int32_t *ids, size_t n)
{
    const matrix tokens = read(h->file, h->name, ".tokens");
    const matrix positions = read(h->file, h->name, ".positions");
    const matrix x = make(n, tokens.width);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < x.width; j++)
            x.values[i * x.width + j] = tokens.values[(size_t)ids[i] * x.width + j] +
                                        positions.values[(h->offset + i) * x.width + j];
    free(tokens.values);
    free(positions.values);
    return x;
}

/* glu(conv(x)): the windows of the encoder lie around their places, the decoder's end there. */
static matrix convolve(const half *h, size_t layer, size_t kernel, matrix x)
{
    const size_t before = h->keys != NULL ? kernel - 1 : (kernel - 1) / 2;
    const matrix windows = make(x.n, kernel * x.width);
    for (size_t i = 0; i < x.n; i++)
        for (size_t j = 0; j < kernel; j++)
            if (i + j >= before && i + j - before < x.n)
                memcpy(windows.values + i * windows.width + j * x.width,
                       x.values + (i + j - before) * x.width, x.width * sizeof(double));
    const matrix both = layer_project(h, layer, "conv", windows);
    const matrix y = make(x.n, both.width / 2);
    for (size_t i = 0; i < y.n; i++)
        for (size_t j = 0; j < y.width; j++) {
            const double a = both.values[i * both.width + j];
            const double b = both.values[i * both.width + y.width + j];
            y.values[i * y.width + j] = a / (1 + exp(-b));
        }
    free(windows.values);
    free(both.values);
    return y;
}

/* h = (h + context(sqrt(n) softmax(q keys) values)) / sqrt(2) */
static void attend(const half *h, size_t layer, matrix x)
{
    const size_t n = h->keys->n, e = h->keys->width;
    const matrix query = layer_project(h, layer, "query", x);
    const matrix mixed = make(x.n, e), weight = make(1, n);
    add(query, h->embedded);
    for (size_t i = 0; i < x.n; i++) {
        double sum = 0, max = -INFINITY;
        for (size_t j = 0; j < n; j++) {
            weight.values[j] = 0;
            for (size_t c = 0; c < e; c++)
                weight.values[j] += query.values[i * e + c] * h->keys->values[j * e + c];
            max = fmax(max, weight.values[j]);
        }
        for (size_t j = 0; j < n; j++)
            sum += weight.values[j] = exp(weight.values[j] - max);
        for (size_t j = 0; j < n; j++)
            for (size_t c = 0; c < e; c++)
                mixed.values[i * e + c] +=
                    sqrt((double)n) * weight.values[j] / sum * h->attended->values[j * e + c];
    }
    const matrix context = layer_project(h, layer, "context", mixed);
    add(x, context);
    free(query.values);
    free(mixed.values);
    free(weight.values);
    free(context.values);
}

static size_t whole(const json_value *layer, const char *key)
{
    return (size_t)json_integer(json_get(layer, key));
}

/* From the embedding to the last layer's output. */
static matrix run(const half *h)
{
    matrix x[MAX_LAYERS + 1]; /* the layers' inputs, and the last one's output */
    const size_t n = json_n_items(h->layers);
    assert_true(n <= MAX_LAYERS);
    x[0] = project(h, "input", h->embedded);
    for (size_t l = 0; l < n; l++) {
        const json_value *const layer = json_item(h->layers, l);
        const size_t residual = whole(layer, "residual");
        x[l + 1] = convolve(h, l, whole(layer, "kernel"), x[l]);
        if (json_is_true(json_get(layer, "attention")))
            attend(h, l, x[l + 1]);
        if (residual == 0)
            continue;
        const matrix from = x[l + 1 - residual];
        if (from.width == x[l + 1].width) {
            add(x[l + 1], from);
        } else {
            const matrix projected = layer_project(h, l, "residual", from);
            add(x[l + 1], projected);
            free(projected.values);
        }
    }
    for (size_t l = 0; l < n; l++)
        free(x[l].values);
    return x[n];
}

double *fconv_reference_logits(const char *path, const int32_t *source, size_t n_source,
                               const int32_t *previous, size_t n_previous)
{
    safetensors *file;
    json_doc doc;
    sb_error err = {.message = ""};
    if (safetensors_open(&file, path, &err) != SB_OK)
        fail_msg("%s", err.message);
    const char *const description = safetensors_metadata(file, "sbeam");
    assert_non_null(description);
    assert_int_equal(json_doc_parse(&doc, path, description, strlen(description), &err), SB_OK);
    half encoder = {.file = file, .name = "encoder", .offset = whole(doc.root, "position_offset")};
    encoder.layers = json_get(doc.root, "encoder");
    encoder.embedded = embed(&encoder, source, n_source);
    const matrix encoded = run(&encoder), keys = project(&encoder, "output", encoded);
    const matrix values = make(keys.n, keys.width);
    memcpy(values.values, keys.values, keys.n * keys.width * sizeof(double));
    add(values, encoder.embedded);

    half decoder = encoder;
    decoder.name = "decoder";
    decoder.layers = json_get(doc.root, "decoder");
    decoder.keys = &keys;
    decoder.attended = &values;
    decoder.embedded = embed(&decoder, previous, n_previous);
    const matrix decoded = run(&decoder), hidden = project(&decoder, "hidden", decoded);
    const bool is_tied = safetensors_find(file, "decoder.output.weight") == NULL;
    const matrix logits = linear(file, is_tied ? "decoder.tokens" : "decoder.output.weight",
                                 "decoder.output", hidden);
    const matrix done[] = {encoder.embedded, encoded, keys,  values,
                           decoder.embedded, decoded, hidden};
    for (size_t i = 0; i < sizeof done / sizeof *done; i++)
        free(done[i].values);
    json_doc_close(&doc);
    safetensors_close(file);
    return logits.values;
}
