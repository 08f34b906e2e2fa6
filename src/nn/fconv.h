/* The convolutional sequence-to-sequence network of Gehring et al. (2017), fairseq's fconv.
 *
 * With s = sqrt(1/2), E(t, i) the embedding of token t at position i, conv a convolution to twice
 * the width and glu(a, b) = a * sigmoid(b) on its halves:
 *
 *     encoder    x = input(E);  each layer x = s (glu(conv(x)) + residual)
 *                keys = output(x),  values = s (keys + E)
 *     decoder    x = input(E);  each layer h = glu(conv(x))
 *                with attention q = s (query(h) + E), a = softmax(q . keys),
 *                               h = s (h + context(sqrt(source length) * sum a values))
 *                then x = s (h + residual)
 *     logits = output(hidden(x))
 *
 * The window of an encoder surrounds its position, the window of a decoder ends there; inputs
 * beyond the ends are zero. A layer with residual n > 0 adds the input of the layer that is n - 1
 * layers before it (n = 1: its own input), projected if the widths differ. With n = 0 the sum and
 * its factor s are left out. */
#ifndef NN_FCONV_H
#define NN_FCONV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/gemm.h"
#include "nn/network.h"
#include "nn/weights.h"
#include "sbeam/error.h"

enum { FCONV_MAX_LAYERS = 256 };

/* A layer as the model file describes it. */
typedef struct fconv_layer_spec {
    int32_t width, kernel; /* >= 1 */
    int32_t residual;      /* 0 .. the number of the layer, counted from 1 */
    bool attention;        /* only in the decoder */
} fconv_layer_spec;

typedef struct fconv_spec {
    fconv_layer_spec encoder[FCONV_MAX_LAYERS], decoder[FCONV_MAX_LAYERS];
    int32_t n_encoder, n_decoder;
    int32_t position_offset; /* the row of the position table that the first token takes */
    int32_t start;           /* the token that the decoder reads first */
} fconv_spec;

/* Opens a network. On success net->ops->close frees it; the tensors of the embeddings must outlive
 * it. */
sb_status fconv_open(network *net, const fconv_spec *spec, const weights *w, sb_error *err);

/* --- inside: fconv.c reads, fconv_encode.c and fconv_step.c compute --- */

typedef struct fconv_layer {
    size_t in, width, kernel;
    int32_t residual;
    bool attention, has_projection;
    gemm conv, projection, query, context;
} fconv_layer;

typedef struct fconv_half {
    tensor tokens, positions; /* (vocabulary, embedding), (positions, embedding); in the file */
    size_t embedding;
    gemm input, output; /* the output of the decoder is called `hidden` in the file */
    fconv_layer *layers;
    int32_t n_layers;
} fconv_half;

typedef struct fconv {
    fconv_half encoder, decoder;
    gemm logits;
    int32_t position_offset, start;
} fconv;

/* A source as the decoder sees it. */
typedef struct fconv_source {
    float *keys, *values; /* (n, embedding) */
    size_t n;
    size_t keys_capacity, values_capacity;
} fconv_source;

/* Buffers of one thread for encoding, kept from source to source. */
typedef struct fconv_encoder {
    float *memory;
    size_t capacity;
} fconv_encoder;

/* Encodes n >= 1 ids. After a failure the content of *source is undefined, but it can be used again
 * or closed. */
sb_status fconv_encode(const fconv *net, fconv_encoder *encoder, const int32_t *ids, int32_t n,
                       fconv_source *source, sb_error *err);
/* Both free what is inside; a zeroed struct is fine. */
void fconv_encoder_close(fconv_encoder *encoder);
void fconv_source_close(fconv_source *source);

/* The functions of a network; defined at the end of fconv_step.c. */
extern const network_ops fconv_ops;
/* Frees a network, even if it is only partly open. */
void fconv_close(void *self);

#endif
