/* Tests convolutional networks, position by position, against the whole sequence at once in double
 * (fconv_reference.h), with each kind of matrix product.
 *
 * With these weights, float32 causes errors of about 1e-6 of the largest logit of a sentence; a
 * wrong residual, position or window causes 1e-2 and more. The tolerance is 1e-5. */
#include "fconv_reference.h"
#include "model/safetensors.h"
#include "model_check.h"
#include "nn/blas.h"
#include "nn/fconv.h"
#include "text/json.h"

enum { MAX_VOCAB = 64 };

static uint64_t generator;

static int32_t random_below(int32_t n)
{
    generator = generator * 6364136223846793005u + 1442695040888963407u;
    return (int32_t)((generator >> 33) % (uint64_t)n);
}

static const tensor *find_tensor(const void *file, const char *name)
{
    return safetensors_find(file, name);
}

static void read_layers(const json_value *list, fconv_layer_spec *layers, int32_t *n)
{
    *n = (int32_t)json_n_items(list);
    for (int32_t i = 0; i < *n; i++) {
        const json_value *const layer = json_item(list, (size_t)i);
        layers[i].width = (int32_t)json_integer(json_get(layer, "width"));
        layers[i].kernel = (int32_t)json_integer(json_get(layer, "kernel"));
        layers[i].residual = (int32_t)json_integer(json_get(layer, "residual"));
        layers[i].attention = json_is_true(json_get(layer, "attention"));
    }
}

/* The network of a file with matrix products of a given way. */
static void open_network(network *net, const safetensors *file, gemm_way way)
{
    json_doc doc;
    sb_error err = {.message = ""};
    const char *const text = safetensors_metadata(file, "sbeam");
    const weights w = {"model", file, find_tensor, way};
    fconv_spec *const spec = calloc(1, sizeof *spec);
    assert_true(spec != NULL && text != NULL);
    assert_int_equal(json_doc_parse(&doc, "model", text, strlen(text), &err), SB_OK);
    const json_value *const target = json_get(doc.root, "target");
    spec->start = (int32_t)json_integer(json_get(target, "start"));
    spec->position_offset = (int32_t)json_integer(json_get(doc.root, "position_offset"));
    read_layers(json_get(doc.root, "encoder"), spec->encoder, &spec->n_encoder);
    read_layers(json_get(doc.root, "decoder"), spec->decoder, &spec->n_decoder);
    if (fconv_open(net, spec, &w, &err) != SB_OK)
        fail_msg("%s", err.message);
    json_doc_close(&doc);
    free(spec);
}

/* The largest error of a row, relative to the largest logit of the sentence. */
static double compare_sentence(const network *net, const char *path, const int32_t *source,
                               int32_t n_source, int32_t *previous, int32_t n_previous)
{
    void *session;
    const int32_t vocab = net->target_vocab, input = 0;
    float row[MAX_VOCAB];
    double scale = 0, worst = 0;
    assert_true(vocab <= MAX_VOCAB);
    assert_int_equal(net->ops->session_open(net->self, 1, &session, NULL), SB_OK);
    assert_int_equal(net->ops->encode(session, 0, source, n_source, NULL), SB_OK);
    double *const expected =
        fconv_reference_logits(path, source, (size_t)n_source, previous, (size_t)n_previous);
    for (int32_t i = 0; i < n_previous * vocab; i++)
        scale = fmax(scale, fabs(expected[i]));
    for (int32_t t = 0; t < n_previous; t++) {
        const int32_t from = t == 0 ? -1 : 0, to = 0, token = t == 0 ? -1 : previous[t];
        assert_int_equal(net->ops->step(session, 1, &from, &to, &token, &input, row, NULL), SB_OK);
        for (int32_t i = 0; i < vocab; i++)
            worst = fmax(worst, fabs((double)row[i] - expected[t * vocab + i]) / scale);
    }
    free(expected);
    net->ops->session_close(session);
    return worst;
}

static void check_against_reference(const char *path, int32_t start)
{
    static const gemm_way ways[] = {GEMM_PLAIN, GEMM_BLAS, GEMM_PACKED};
    safetensors *file;
    assert_int_equal(safetensors_open(&file, path, NULL), SB_OK);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        network net;
        double worst = 0;
        if ((ways[i] == GEMM_PACKED && gemm_best_way() != GEMM_PACKED) ||
            (ways[i] == GEMM_BLAS && !blas_load()))
            continue;
        open_network(&net, file, ways[i]);
        generator = 317;
        for (int32_t sentence = 0; sentence < 12; sentence++) {
            int32_t source[64], previous[64];
            const int32_t n_source = sentence == 0 ? net.max_source : 1 + random_below(12);
            const int32_t n_previous = sentence == 0 ? net.max_target : 1 + random_below(15);
            for (int32_t j = 0; j < n_source; j++)
                source[j] = random_below(net.source_vocab);
            for (int32_t j = 0; j < n_previous; j++)
                previous[j] = j == 0 ? start : random_below(net.target_vocab);
            worst =
                fmax(worst, compare_sentence(&net, path, source, n_source, previous, n_previous));
        }
        print_message("%s, %s: rows within %.1e of the largest logit\n", path,
                      gemm_way_name(ways[i]), worst);
        assert_true(worst <= 1e-5);
        net.ops->close(net.self);
    }
    safetensors_close(file);
}

static void rows(void **state)
{
    (void)state;
    check_against_reference(TEST_DATA "/tiny-fconv/model.safetensors", 2);
}

static void rows_of_halves(void **state)
{
    (void)state;
    check_against_reference(TEST_DATA "/tiny-fconv-f16/model.safetensors", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows),
        cmocka_unit_test(rows_of_halves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
