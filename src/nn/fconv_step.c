/* The decoder, one position at a time.
 *
 * The convolution of a layer reads a window: the inputs of the last `kernel` positions, side by
 * side, which is the layout that the matrix products read. A state is, for each layer, the last
 * window without its oldest input: the next window is the state and the new input. So a step copies
 * the states that it continues into windows, and the end of each window into the new states. The
 * inputs that residuals add are in the windows, too. */
#include <string.h>

#include "base/alloc.h"
#include "base/source_cache.h"
#include "base/status.h"
#include "math/kernels.h"
#include "nn/fconv.h"
#include "nn/layers.h"

typedef struct windows {
    float *states; /* (n_states, (kernel - 1) * in) by number of the state */
    float *rows;   /* (n_rows, kernel * in) windows of this step */
    size_t state_capacity, row_capacity;
} windows;

typedef struct session {
    const fconv *net;
    struct source_cache cache;
    fconv_source *sources; /* (max_inputs) by place in the cache */
    fconv_encoder encoder;
    windows *layers;    /* (n_layers) */
    int32_t *place;     /* (n_states) position of the last token, by number of the state */
    int32_t *new_place; /* (n_rows) the same for the rows of this step */
    size_t place_capacity, new_place_capacity;
    float *embedded; /* (n_rows, embedding) */
    float *gates;    /* (n_rows, 2 * widest), or the output's width if that is larger */
    float *hidden;   /* (n_rows, widest) */
    float *query;    /* (n_rows, embedding), twice */
    float *scores;   /* (2, max_source padded) */
    size_t embedded_capacity, gates_capacity, hidden_capacity, query_capacity, scores_capacity;
} session;

static void session_close(void *opened)
{
    session *const s = opened;
    for (int32_t l = 0; s->layers != NULL && l < s->net->decoder.n_layers; l++) {
        alloc_free(s->layers[l].states);
        alloc_free(s->layers[l].rows);
    }
    for (int32_t i = 0; s->sources != NULL && i < s->cache.n; i++)
        fconv_source_close(&s->sources[i]);
    source_cache_close(&s->cache);
    fconv_encoder_close(&s->encoder);
    alloc_free(s->sources);
    alloc_free(s->layers);
    alloc_free(s->place);
    alloc_free(s->new_place);
    alloc_free(s->embedded);
    alloc_free(s->gates);
    alloc_free(s->hidden);
    alloc_free(s->query);
    alloc_free(s->scores);
    alloc_free(s);
}

static sb_status session_open(const void *self, int32_t max_inputs, void **opened, sb_error *err)
{
    session *const s = alloc_zeroed(1, sizeof *s);
    if (s == NULL)
        return status_no_memory(err);
    s->net = self;
    s->sources = alloc_zeroed((size_t)max_inputs, sizeof *s->sources);
    s->layers = alloc_zeroed((size_t)s->net->decoder.n_layers, sizeof *s->layers);
    const sb_status status = s->sources == NULL || s->layers == NULL
                                 ? status_no_memory(err)
                                 : source_cache_open(&s->cache, max_inputs, err);
    if (status != SB_OK) {
        session_close(s);
        return status;
    }
    *opened = s;
    return SB_OK;
}

static sb_status encode(void *opened, int32_t input, const int32_t *ids, int32_t n, sb_error *err)
{
    session *const s = opened;
    bool is_new;
    sb_status status = source_cache_begin(&s->cache, input, ids, n, &is_new, err);
    if (status != SB_OK || !is_new)
        return status;
    status = fconv_encode(s->net, &s->encoder, ids, n, &s->sources[s->cache.place[input]], err);
    if (status != SB_OK)
        source_cache_forget(&s->cache, input);
    return status;
}

/* --- a step --- */

static size_t widest(const fconv_half *half)
{
    size_t width = 0;
    for (int32_t l = 0; l < half->n_layers; l++)
        if (half->layers[l].width > width)
            width = half->layers[l].width;
    return width;
}

/* Returns how many inputs of a window a state has, in floats. */
static size_t kept_width(const fconv_layer *layer)
{
    return (layer->kernel - 1) * layer->in;
}

/* Makes room for states of these n numbers. A kernel of 1 looks at no earlier position, and keeps
 * nothing; one number of room makes its pointer valid. */
static sb_status reserve_states(session *s, size_t n, const int32_t *to, sb_error *err)
{
    const fconv_half *const half = &s->net->decoder;
    size_t n_states = 0;
    for (size_t i = 0; i < n; i++)
        if ((size_t)to[i] >= n_states)
            n_states = (size_t)to[i] + 1;
    for (int32_t l = 0; l < half->n_layers; l++) {
        windows *const w = &s->layers[l];
        if (alloc_reserve(&w->states, &w->state_capacity,
                          n_states * kept_width(&half->layers[l]) + 1, sizeof(float)) != SB_OK)
            return status_no_memory(err);
    }
    const sb_status status =
        alloc_reserve(&s->place, &s->place_capacity, n_states, sizeof(int32_t));
    return status == SB_OK ? SB_OK : status_no_memory(err);
}

/* Makes room for the n rows of a step. */
static sb_status reserve_rows(session *s, size_t n, sb_error *err)
{
    const fconv_half *const half = &s->net->decoder;
    const size_t width = widest(half);
    const size_t gates = half->output.n_out > 2 * width ? half->output.n_out : 2 * width;
    const size_t longest = s->net->encoder.positions.shape[0] + KERNEL_PAD_FLOAT;
    struct {
        void *array;
        size_t *capacity, n, size;
    } const wanted[] = {
        {&s->new_place, &s->new_place_capacity, n, sizeof(int32_t)},
        {&s->embedded, &s->embedded_capacity, n * half->embedding, sizeof(float)},
        {&s->gates, &s->gates_capacity, n * gates, sizeof(float)},
        {&s->hidden, &s->hidden_capacity, n * width, sizeof(float)},
        {&s->query, &s->query_capacity, n * 2 * half->embedding, sizeof(float)},
        {&s->scores, &s->scores_capacity, 2 * longest, sizeof(float)},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (alloc_reserve(wanted[i].array, wanted[i].capacity, wanted[i].n, wanted[i].size) !=
            SB_OK)
            return status_no_memory(err);
    for (int32_t l = 0; l < half->n_layers; l++) {
        windows *const w = &s->layers[l];
        if (alloc_reserve(&w->rows, &w->row_capacity,
                          n * half->layers[l].kernel * half->layers[l].in, sizeof(float)) != SB_OK)
            return status_no_memory(err);
    }
    return SB_OK;
}

/* Completes the windows of all rows, whose newest inputs are known, and keeps their ends as the new
 * states. All states are read before one is written. */
static void move_windows(const fconv_layer *layer, windows *w, int32_t n_rows, const int32_t *from,
                         const int32_t *to)
{
    const size_t row = layer->kernel * layer->in, kept = kept_width(layer);
    for (int32_t i = 0; i < n_rows; i++) {
        float *const window = w->rows + (size_t)i * row;
        if (from[i] < 0)
            memset(window, 0, kept * sizeof *window);
        else
            memcpy(window, w->states + (size_t)from[i] * kept, kept * sizeof *window);
    }
    for (int32_t i = 0; i < n_rows; i++)
        memcpy(w->states + (size_t)to[i] * kept, w->rows + (size_t)i * row + layer->in,
               kept * sizeof *w->states);
}

static sb_status embed(session *s, int32_t n_rows, const int32_t *from, const int32_t *token,
                       sb_error *err)
{
    const fconv *const net = s->net;
    const size_t e = net->decoder.embedding;
    const int32_t n_places = (int32_t)net->decoder.positions.shape[0] - net->position_offset;
    for (int32_t i = 0; i < n_rows; i++) {
        s->new_place[i] = from[i] < 0 ? 0 : s->place[from[i]] + 1;
        if (s->new_place[i] >= n_places)
            return status_fail(err, SB_ERR_LIMIT,
                               "row %d: the sequence is too long; the model has %d positions",
                               (int)i, (int)n_places);
        layer_embed(&net->decoder.tokens, &net->decoder.positions,
                    from[i] < 0 ? net->start : token[i], net->position_offset + s->new_place[i],
                    s->embedded + (size_t)i * e, s->query);
    }
    return SB_OK;
}

/* Computes h = s (h + context(attention)). */
static void attend(session *s, const fconv_layer *layer, int32_t n_rows, const int32_t *input,
                   float *h)
{
    const size_t n = (size_t)n_rows, e = s->net->decoder.embedding;
    float *const query = s->query, *const mixed = s->query + n * e;
    gemm_apply(&layer->query, n, h, layer->width, query, e);
    layer_add(n, e, query, e, s->embedded, e);
    for (size_t i = 0; i < n; i++) {
        const fconv_source *const source = &s->sources[s->cache.place[input[i]]];
        layer_attend(source->n, e, query + i * e, source->keys, source->values, mixed + i * e,
                     s->scores);
    }
    gemm_apply(&layer->context, n, mixed, e, s->gates, layer->width);
    layer_add(n, layer->width, h, layer->width, s->gates, layer->width);
}

/* Returns the newest inputs of a layer as rows that are *stride floats apart. */
static float *newest(const session *s, int32_t l, size_t *stride)
{
    const fconv_layer *const layer = &s->net->decoder.layers[l];
    *stride = layer->kernel * layer->in;
    return s->layers[l].rows + *stride - layer->in;
}

static void apply_layer(session *s, int32_t l, int32_t n_rows, const int32_t *input)
{
    const fconv_layer *const layer = &s->net->decoder.layers[l];
    const size_t n = (size_t)n_rows, width = layer->width;
    gemm_apply(&layer->conv, n, s->layers[l].rows, layer->kernel * layer->in, s->gates, 2 * width);
    layer_glu(n, width, s->gates, s->hidden);
    if (layer->attention)
        attend(s, layer, n_rows, input, s->hidden);
    if (layer->residual == 0)
        return;
    size_t stride;
    const float *from = newest(s, l - layer->residual + 1, &stride);
    if (layer->has_projection) {
        gemm_apply(&layer->projection, n, from, stride, s->gates, width);
        from = s->gates;
        stride = width;
    }
    layer_add(n, width, s->hidden, width, from, stride);
}

/* Copies the output of layer l to the windows of the next layer, as their newest input. */
static void hand_on(session *s, int32_t l, size_t n)
{
    const size_t width = s->net->decoder.layers[l].width;
    size_t stride;
    float *const to = newest(s, l + 1, &stride);
    for (size_t i = 0; i < n; i++)
        memcpy(to + i * stride, s->hidden + i * width, width * sizeof *to);
}

static sb_status step(void *opened, int32_t n_rows, const int32_t *from, const int32_t *to,
                      const int32_t *token, const int32_t *input, float *logits, sb_error *err)
{
    session *const s = opened;
    const fconv_half *const half = &s->net->decoder;
    const size_t n = (size_t)n_rows;
    sb_status status = reserve_states(s, n, to, err);
    if (status == SB_OK)
        status = reserve_rows(s, n, err);
    if (status == SB_OK)
        status = embed(s, n_rows, from, token, err);
    if (status != SB_OK)
        return status;
    for (int32_t i = 0; i < n_rows; i++)
        s->place[to[i]] = s->new_place[i];
    size_t stride;
    float *const first = newest(s, 0, &stride);
    gemm_apply(&half->input, n, s->embedded, half->embedding, first, stride);
    for (int32_t l = 0; l < half->n_layers; l++) {
        move_windows(&half->layers[l], &s->layers[l], n_rows, from, to);
        apply_layer(s, l, n_rows, input);
        if (l + 1 < half->n_layers)
            hand_on(s, l, n);
    }
    const size_t width = half->layers[half->n_layers - 1].width, out = half->output.n_out;
    gemm_apply(&half->output, n, s->hidden, width, s->gates, out);
    gemm_apply(&s->net->logits, n, s->gates, out, logits, s->net->logits.n_out);
    return SB_OK;
}

/* --- states as bytes: the position, then the layers --- */

static size_t state_size(const void *opened)
{
    const session *const s = opened;
    size_t size = sizeof *s->place;
    for (int32_t l = 0; l < s->net->decoder.n_layers; l++)
        size += kept_width(&s->net->decoder.layers[l]) * sizeof(float);
    return size;
}

static void save(const void *opened, int32_t state, void *bytes)
{
    const session *const s = opened;
    char *to = bytes;
    memcpy(to, &s->place[state], sizeof *s->place);
    to += sizeof *s->place;
    for (int32_t l = 0; l < s->net->decoder.n_layers; l++) {
        const size_t kept = kept_width(&s->net->decoder.layers[l]);
        memcpy(to, s->layers[l].states + (size_t)state * kept, kept * sizeof(float));
        to += kept * sizeof(float);
    }
}

static sb_status restore(void *opened, int32_t n, const int32_t *states, const void *bytes,
                         sb_error *err)
{
    session *const s = opened;
    const sb_status status = reserve_states(s, (size_t)n, states, err);
    if (status != SB_OK)
        return status;
    const char *from = bytes;
    for (int32_t i = 0; i < n; i++) {
        memcpy(&s->place[states[i]], from, sizeof *s->place);
        from += sizeof *s->place;
        for (int32_t l = 0; l < s->net->decoder.n_layers; l++) {
            const size_t kept = kept_width(&s->net->decoder.layers[l]);
            memcpy(s->layers[l].states + (size_t)states[i] * kept, from, kept * sizeof(float));
            from += kept * sizeof(float);
        }
    }
    return SB_OK;
}

const network_ops fconv_ops = {.session_open = session_open,
                               .session_close = session_close,
                               .encode = encode,
                               .step = step,
                               .state_size = state_size,
                               .save = save,
                               .restore = restore,
                               .close = fconv_close};
