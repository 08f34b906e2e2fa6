/* Tests wrong, truncated and damaged files of sequence-to-sequence models: each is refused with a
 * message that says where, or works. Every allocation may fail. */
#include "draw_check.h"
#include "model_check.h"
#include "model_edit.h"
#include "nn/weights.h"

static const char tiny[] = TEST_DATA "/tiny-fconv/model.safetensors";

typedef struct edit_case {
    const char *what, *value; /* as model_edit_set takes them */
    const char *message;
} edit_case;

#define DESCRIPTION "m: description: "

static const edit_case description_cases[] = {
    {"", NULL, "m: this is a safetensors file, but not an sbeam model: its metadata has no entry"},
    {"", "\"no object\"", "m: description:1: not valid JSON: "},
    {"", "[]", "m: description:1: expected a JSON object, found an array"},
    {"#another", "U8 [3]", "m: the description does not use the tensor 'another'"},
    {"decoder/0/attention", "false",
     "m: the description does not use the tensor 'decoder.layers.0.context.bias'"},
    {"version", NULL, DESCRIPTION "expected a whole number from 1 to 2147483647 in \"version\""},
    {"version", "1.5", "in \"version\""},
    {"version", "0", "in \"version\""},
    {"version", "2", "m: the file has version 2 of the format; this sbeam reads version 1"},
    {"architecture", NULL, DESCRIPTION "expected a name in \"architecture\""},
    {"architecture", "7", DESCRIPTION "expected a name in \"architecture\""},
    {"architecture", "\"transformer\"",
     DESCRIPTION "expected the architecture fconv, found \"transformer\""},
    {"source", NULL, DESCRIPTION "expected an object with special tokens in \"source\""},
    {"target", "[2]", DESCRIPTION "expected an object with special tokens in \"target\""},
    {"source/eos", NULL, DESCRIPTION "expected a whole number from 0 to 36 in \"source.eos\""},
    {"source/eos", "37", "from 0 to 36 in \"source.eos\""},
    {"source/unknown", "-1", "from 0 to 36 in \"source.unknown\""},
    {"source/unknown", "null", "from 0 to 36 in \"source.unknown\""},
    {"target/start", NULL, "from 0 to 50 in \"target.start\""},
    {"target/start", "51", "from 0 to 50 in \"target.start\""},
    {"target/eos", "-1", "from 0 to 50 in \"target.eos\""},
    {"target/eos", "4294967298", "from 0 to 50 in \"target.eos\""},
    {"target/unknown", "\"3\"", "from 0 to 50 in \"target.unknown\""},
    {"target/unused", "{}", "expected a list of at most 50 token ids in \"target.unused\""},
    {"target/unused/0", "-1", "expected token ids from 0 to 50 in \"target.unused\""},
    {"target/unused/0", "51", "expected token ids from 0 to 50 in \"target.unused\""},
    {"target/unused/0", "true", "expected token ids from 0 to 50 in \"target.unused\""},
    {"target/unused/0", "2", "the end token of the target may not be among \"target.unused\""},
    {"position_offset", "-1", "from 0 to 2147483647 in \"position_offset\""},
    {"position_offset", "2147483648", "from 0 to 2147483647 in \"position_offset\""},
    {"position_offset", "40",
     "m: encoder.positions has 40 rows; expected more than \"position_offset\", which is 40"},
    {"position_offset", "2147483647", "which is 2147483647"},
    {"encoder", NULL, DESCRIPTION "expected a list of 1 to 256 layers in \"encoder\""},
    {"decoder", "[]", DESCRIPTION "expected a list of 1 to 256 layers in \"decoder\""},
    {"decoder", "{}", DESCRIPTION "expected a list of 1 to 256 layers in \"decoder\""},
    {"decoder/1", "7", DESCRIPTION "expected a layer, as an object, in \"decoder[1]\""},
    {"encoder/2/width", NULL, "from 1 to 1048576 in \"encoder[2].width\""},
    {"encoder/2/width", "1048577", "from 1 to 1048576 in \"encoder[2].width\""},
    {"decoder/4/kernel", "0", "from 1 to 1024 in \"decoder[4].kernel\""},
    {"decoder/4/kernel", "1025", "from 1 to 1024 in \"decoder[4].kernel\""},
    {"decoder/1/residual", "3", "from 0 to 2 in \"decoder[1].residual\""},
    {"encoder/0/residual", "-1", "from 0 to 1 in \"encoder[0].residual\""},
    {"decoder/0/attention", "1", "expected true or false in \"decoder[0].attention\""},
    {"encoder/0/attention", "true",
     "\"encoder[0].attention\" is true; only the decoder can have attention"},
};

static const edit_case tensor_cases[] = {
    {"#encoder.tokens", NULL, "m: the tensor 'encoder.tokens' is missing"},
    {"#decoder.positions", NULL, "m: the tensor 'decoder.positions' is missing"},
    {"#decoder.output.bias", NULL, "m: the tensor 'decoder.output.bias' is missing"},
    {"#decoder.layers.2.query.bias", NULL, "'decoder.layers.2.query.bias' is missing"},
    {"#decoder.layers.4.residual.weight", NULL, "'decoder.layers.4.residual.weight' is missing"},
    {"#encoder.input.weight", NULL, "'encoder.input.weight' is missing"},
    {"#encoder.tokens", "I32 [37, 12]",
     "m: tensor 'encoder.tokens' holds whole numbers; expected F32 or F16"},
    {"#decoder.hidden.bias", "U8 [10]",
     "m: tensor 'decoder.hidden.bias' holds whole numbers; expected F32 or F16"},
    {"#encoder.tokens", "F32 [444]", "m: tensor 'encoder.tokens' is (444); expected a matrix"},
    {"#encoder.tokens", "F32 [37, 3, 4]", "is (37, 3, 4); expected a matrix"},
    {"#encoder.tokens", "F32 [37, 0]", "is (37, 0); expected a matrix"},
    {"#encoder.tokens", "F32 [0, 12]", "is (0, 12); expected a matrix"},
    {"#encoder.tokens", "F16 [2305843009213693952, 0]",
     "is (2305843009213693952, 0); expected a matrix"},
    {"#encoder.tokens", "F32 []", "is (); expected a matrix"},
    {"#encoder.positions", "F32 [40, 11]",
     "m: encoder.tokens is 12 wide, but encoder.positions is 11; expected the same"},
    {"#encoder.input.weight", "F32 [8, 11]",
     "m: tensor 'encoder.input.weight' is (8, 11); expected (8, 12)"},
    {"#encoder.input.bias", "F32 [9]", "m: tensor 'encoder.input.bias' is (9); expected (8)"},
    {"#encoder.input.bias", "F32 [1, 8]", "m: tensor 'encoder.input.bias' is (1, 8); expected (8)"},
    {"#encoder.layers.0.conv.weight", "F32 [16, 8, 3]",
     "m: tensor 'encoder.layers.0.conv.weight' is (16, 8, 3); expected (16, 3, 8)"},
    {"#encoder.layers.0.conv.weight", "F32 [16, 24]", "is (16, 24); expected (16, 3, 8)"},
    {"#encoder.layers.0.conv.weight", "F32 [16, 3, 8, 1]", "is (16, 3, 8, 1); expected (16, 3, 8)"},
    {"#encoder.layers.0.conv.weight", "F32 [0, 3, 8]", "is (0, 3, 8); expected (16, 3, 8)"},
    {"#encoder.layers.0.conv.bias", "F32 [0]", "is (0); expected (16)"},
    {"#encoder.layers.1.residual.weight", "F32 [8, 16]", "is (8, 16); expected (16, 8)"},
    {"#encoder.output.weight", "F32 [11, 24]", "is (11, 24); expected (12, 24)"},
    {"#decoder.layers.0.context.weight", "F32 [16, 11]", "is (16, 11); expected (16, 12)"},
    {"#decoder.hidden.weight", "F32 [10, 27]", "is (10, 27); expected (10, 28)"},
    {"#decoder.output.weight", "F32 [50, 10]", "is (50, 10); expected (51, 10)"},
    {"#decoder.output.weight", NULL, /* then it is tied */
     "m: tensor 'decoder.tokens' is (51, 12); expected (51, 10)"},
    {"decoder/0/kernel", "4", "is (32, 3, 16); expected (32, 4, 16)"},
    {"encoder/0/width", "1048576", "is (16, 3, 8); expected (2097152, 3, 8)"},
    {"decoder/1/attention", "true", "'decoder.layers.1.query.weight' is missing"},
    {"$source.dictionary", NULL, "m: the model has no vocabulary: expected a U8 tensor"},
    {"#target.dictionary", "F32 [1]", "m: the model has no vocabulary: expected a U8 tensor"},
    {"$source.dictionary", "a\nb\n",
     "m: 'source.dictionary' has 2 tokens, but 'encoder.tokens' has 37; expected the same"},
    {"$target.dictionary", "",
     "m: 'target.dictionary' has 0 tokens, but 'decoder.tokens' has 51; expected the same"},
    {"$source.dictionary", "a\nb\nc\nb\n", "m: line 4 of 'source.dictionary': duplicate token 'b'"},
    {"$source.dictionary", "a\nb c\n",
     "m: line 2 of 'source.dictionary': expected a token in UTF-8 without blanks"},
    {"$source.dictionary", "a\r\nb\r\n", "line 1 of 'source.dictionary': expected a token"},
    {"$source.dictionary", "a\n\nb\n", "line 2 of 'source.dictionary': expected a token"},
    {"$sentencepiece", "no such thing", "m: "},
};

static sb_status open_edited(const model_edit *edit, sb_model **model, sb_error *err)
{
    size_t size;
    uint8_t *const file = model_edit_write(edit, &size);
    const sb_status status = model_open_memory(model, "m", file, size, err);
    free(file);
    return status;
}

static void check_draws(const model_edit *edit, const char *what)
{
    sb_model *model = NULL;
    sb_error err = {.message = ""};
    if (open_edited(edit, &model, &err) != SB_OK)
        fail_msg("%s: %s", what, err.message);
    const sb_config config = config_of(SB_METHOD_SBS, 3);
    sb_result *const result = draw(model, &config, 0);
    assert_int_equal(result->n_sequences, 3);
    sb_result_close(result);
    sb_model_close(model);
}

static void check_refused(const model_edit *edit, const char *what, const char *message)
{
    sb_model *model = NULL;
    sb_error err = {.message = ""};
    const sb_status status = open_edited(edit, &model, &err);
    if (status != SB_ERR_FORMAT || strstr(err.message, message) == NULL)
        fail_msg("%s: expected: %s\nfound: %s", what, message, err.message);
    assert_null(model);
}

static void check_cases(const edit_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        model_edit edit;
        model_edit_open(&edit, tiny);
        model_edit_set(&edit, cases[i].what, cases[i].value);
        check_refused(&edit, cases[i].what, cases[i].message);
        model_edit_close(&edit);
    }
}

static void descriptions_refused(void **state)
{
    (void)state;
    check_cases(description_cases, sizeof description_cases / sizeof *description_cases);
}

static void tensors_refused(void **state)
{
    (void)state;
    check_cases(tensor_cases, sizeof tensor_cases / sizeof *tensor_cases);
}

/* What takes more than one change. */
static void combinations(void **state)
{
    (void)state;
    model_edit edit;
    /* Embeddings of the decoder alone become narrower, with all that goes with them. */
    model_edit_open(&edit, tiny);
    model_edit_set(&edit, "#decoder.tokens", "F32 [51, 11]");
    model_edit_set(&edit, "#decoder.positions", "F32 [40, 11]");
    model_edit_set(&edit, "#decoder.input.weight", "F32 [16, 11]");
    for (int i = 0; i < 5; i++) {
        static const int widths[] = {16, 16, 24, 20, 28};
        char name[64], shape[64];
        if (i == 1)
            continue;
        snprintf(name, sizeof name, "#decoder.layers.%d.query.weight", i);
        snprintf(shape, sizeof shape, "F32 [11, %d]", widths[i]);
        model_edit_set(&edit, name, shape);
        snprintf(name, sizeof name, "#decoder.layers.%d.query.bias", i);
        model_edit_set(&edit, name, "F32 [11]");
        snprintf(name, sizeof name, "#decoder.layers.%d.context.weight", i);
        snprintf(shape, sizeof shape, "F32 [%d, 11]", widths[i]);
        model_edit_set(&edit, name, shape);
    }
    check_refused(
        &edit, "narrow decoder",
        "m: decoder.tokens is 11 wide, but encoder.tokens is 12; attention needs the same width");
    model_edit_close(&edit);

    model_edit_open(&edit, tiny);
    for (int i = 0; i < 257; i++) {
        char path[32];
        snprintf(path, sizeof path, "decoder/%d", i);
        model_edit_set(&edit, path, "{\"width\": 16, \"kernel\": 1, \"residual\": 0}");
    }
    check_refused(&edit, "257 layers", "expected a list of 1 to 256 layers in \"decoder\"");
    model_edit_set(&edit, "decoder/256", NULL); /* then it is a tensor that does not fit */
    check_refused(&edit, "256 layers", "is (32, 3, 16); expected (32, 1, 16)");
    model_edit_close(&edit);

    model_edit_open(&edit, tiny);
    for (int i = 0; i < 51; i++) {
        char path[32];
        snprintf(path, sizeof path, "target/unused/%d", i);
        model_edit_set(&edit, path, "0");
    }
    check_refused(&edit, "51 unused", "expected a list of at most 50 token ids");
    model_edit_close(&edit);
}

/* What may be left out, and a decoder without any attention. */
static void defaults(void **state)
{
    (void)state;
    static const edit_case cases[] = {
        {"about", NULL, NULL},
        {"about", "7", NULL},
        {"source/unknown", NULL, NULL},
        {"target/unknown", NULL, NULL},
        {"target/unused", NULL, NULL},
        {"position_offset", NULL, NULL},
        {"target/unused", "[]", NULL},
        {"encoder/0/residual", NULL, NULL},
        {"encoder/0/attention", "false", NULL},
        {"another", "\"entry\"", NULL},
        {"position_offset", "39", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        model_edit edit;
        model_edit_open(&edit, tiny);
        model_edit_set(&edit, cases[i].what, cases[i].value);
        check_draws(&edit, cases[i].what);
        model_edit_close(&edit);
    }
}

/* Embeddings much wider than everything else: what is as wide as they are must have room. */
static void wide_embeddings(void **state)
{
    (void)state;
    static const edit_case cases[] = {
        {"#encoder.tokens", "F16 [19, 900]", NULL},
        {"#encoder.positions", "F16 [32, 900]", NULL},
        {"#encoder.input.weight", "F16 [16, 900]", NULL},
        {"#encoder.output.weight", "F16 [900, 16]", NULL},
        {"#encoder.output.bias", "F16 [900]", NULL},
        {"#decoder.tokens", "F16 [26, 900]", NULL},
        {"#decoder.positions", "F16 [32, 900]", NULL},
        {"#decoder.input.weight", "F16 [16, 900]", NULL},
        {"#decoder.layers.0.query.weight", "F16 [900, 16]", NULL},
        {"#decoder.layers.0.query.bias", "F16 [900]", NULL},
        {"#decoder.layers.0.context.weight", "F16 [16, 900]", NULL},
        {"#decoder.layers.1.query.weight", "F16 [900, 16]", NULL},
        {"#decoder.layers.1.query.bias", "F16 [900]", NULL},
        {"#decoder.layers.1.context.weight", "F16 [16, 900]", NULL},
        {"#decoder.hidden.weight", "F16 [900, 16]", NULL},
        {"#decoder.hidden.bias", "F16 [900]", NULL},
    };
    model_edit edit;
    model_edit_open(&edit, TEST_DATA "/tiny-fconv-f16/model.safetensors");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        model_edit_set(&edit, cases[i].what, cases[i].value);
    check_draws(&edit, "wide embeddings");
    model_edit_close(&edit);
}

/* Weights that are no numbers are not looked for; the row that comes of them is refused. */
static void no_numbers(void **state)
{
    (void)state;
    static const edit_case cases[] = {
        {"!decoder.output.bias", "7f800000", "step 1, row 0: the score of token 0 is "},
        {"!decoder.output.weight", "7fc00000", "step 1, row 0: the score of token 0 is "},
        {"!encoder.output.bias", "7fc00000", "step 1, row 0: the score of token 2 is "},
        {"!encoder.layers.2.conv.bias", "ff800000", "step 1, row 0: the score of token 2 is "},
        {"!decoder.layers.4.conv.bias", "7f800001", "step 1, row 0: the score of token 2 is "},
        {"!decoder.hidden.weight", "7f800000", "step 1, row 0: the score of token 2 is "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        model_edit edit;
        sb_model *model = NULL;
        sb_result *result;
        sb_error err = {.message = ""};
        model_edit_open(&edit, tiny);
        if (strstr(cases[i].what, "decoder.output") != NULL)
            model_edit_set(&edit, "target/unused", NULL); /* token 0 shows what it has */
        model_edit_set(&edit, cases[i].what, cases[i].value);
        assert_int_equal(open_edited(&edit, &model, &err), SB_OK);
        assert_int_equal(sb_result_open(&result, &err), SB_OK);
        const sb_config config = config_of(SB_METHOD_SBS, 3);
        const sb_status status = sb_draw(model, "s1 s2", &config, result, &err);
        if (status != SB_ERR_MODEL || strstr(err.message, cases[i].message) == NULL)
            fail_msg("%s: found: %s", cases[i].what, err.message);
        assert_non_null(strstr(err.message, "; expected a finite number or -inf"));
        sb_result_close(result);
        sb_model_close(model);
        model_edit_close(&edit);
    }
}

/* --- damage --- */

/* Opens what may be anything, and where that works, takes two steps. */
static sb_status open_and_walk(const uint8_t *file, size_t size)
{
    sb_model *model = NULL;
    sb_session *session;
    sb_error err = {.message = ""};
    const sb_status status = model_open_memory(&model, "m", file, size, &err);
    if (status != SB_OK) {
        assert_true(model == NULL && err.message[0] != '\0');
        return status;
    }
    const size_t vocab = (size_t)sb_model_get_info(model)->vocab_size;
    float *const rows = malloc(vocab * 2 * sizeof *rows);
    assert_non_null(rows);
    assert_int_equal(sb_session_open(&session, model, &(sb_session_spec){.max_inputs = 2}, &err),
                     SB_OK);
    (void)sb_session_begin(session, 0, "s1 s2 s3", 8, &err);
    static const int32_t none[] = {-1, -1}, parent[] = {1, 0}, token[] = {0, 0}, input[] = {0, 1};
    if (session_rows(session, 2, none, none, input, rows, &err) == SB_OK)
        (void)session_rows(session, 2, parent, token, input, rows, &err);
    free(rows);
    sb_session_close(session);
    sb_model_close(model);
    return SB_OK;
}

static void truncations(void **state)
{
    (void)state;
    model_edit edit;
    size_t size;
    model_edit_open(&edit, tiny);
    uint8_t *const file = model_edit_write(&edit, &size);
    size_t header_size = 0;
    for (int i = 7; i >= 0; i--)
        header_size = header_size << 8 | file[i];
    for (size_t kept = 0; kept < size; kept += kept < 8 + header_size + 16 ? 1 : 97) {
        uint8_t *const part = malloc(kept + 1); /* its own memory, for the address sanitizer */
        assert_non_null(part);
        memcpy(part, file, kept);
        assert_int_equal(open_and_walk(part, kept), SB_ERR_FORMAT);
        free(part);
    }
    assert_int_equal(open_and_walk(file, size), SB_OK);
    free(file);
    model_edit_close(&edit);
}

/* Every byte of the header with one bit of it turned over, each time another one; the
 * half-precision model, because it is small. */
static void flipped_bits(void **state)
{
    (void)state;
    model_edit edit;
    size_t size, n_opened = 0;
    model_edit_open(&edit, TEST_DATA "/tiny-fconv-f16/model.safetensors");
    uint8_t *const file = model_edit_write(&edit, &size);
    const size_t end = 8 + (size_t)file[0] + ((size_t)file[1] << 8);
    for (size_t i = 0; i < end; i++) {
        const uint8_t bit = (uint8_t)(1u << (i * 5 + i / 8) % 8);
        file[i] ^= bit;
        n_opened += open_and_walk(file, size) == SB_OK;
        file[i] ^= bit;
    }
    assert_int_equal(open_and_walk(file, size), SB_OK);
    /* Such as the name of the model in "about", and ids of special tokens. */
    assert_true(n_opened > 0 && n_opened < end / 2);
    free(file);
    model_edit_close(&edit);
}

/* --- memory --- */

static sb_status open_begin_step(const char *path, const uint8_t *file, size_t size)
{
    sb_model *model = NULL;
    sb_session *session = NULL;
    float rows[3 * 51];
    sb_error err = {.message = ""};
    sb_status status = file != NULL ? model_open_memory(&model, "m", file, size, &err)
                                    : sb_model_open(&model, path, &err);
    if (status == SB_OK)
        status = sb_session_open(&session, model, &(sb_session_spec){.max_inputs = 2}, &err);
    if (status == SB_OK)
        status = sb_session_begin(session, 1, "s4 s5 nowhere s6 s7 s8 s9 s10 s11", 33, &err);
    if (status == SB_OK)
        status = session_rows(session, 2, (int32_t[]){-1, -1}, (int32_t[]){-1, -1},
                              (int32_t[]){0, 1}, rows, &err);
    if (status == SB_OK)
        status = session_rows(session, 3, (int32_t[]){1, 1, 0}, (int32_t[]){7, 8, 9},
                              (int32_t[]){1, 1, 0}, rows, &err);
    sb_session_close(session);
    sb_model_close(model);
    if (status == SB_ERR_MEMORY)
        assert_string_equal(err.message, "not enough memory");
    return status;
}

static void memory_fails(void **state)
{
    (void)state;
    model_edit edit;
    size_t size;
    model_edit_open(&edit, tiny);
    uint8_t *const file = model_edit_write(&edit, &size);
    for (int in_memory = 0; in_memory < 2; in_memory++) {
        long n = 1;
        for (bool ended = false; !ended; n++) {
            alloc_fail_at(n);
            const sb_status status = open_begin_step(tiny, in_memory ? file : NULL, size);
            ended = !alloc_has_failed();
            alloc_fail_at(0);
            assert_int_equal(status, ended ? SB_OK : SB_ERR_MEMORY);
        }
        assert_true(n > 100);
    }
    free(file);
    model_edit_close(&edit);
}

/* A matrix too large for a BLAS, which nobody has memory to test with. */
static const tensor *find_huge(const void *file, const char *name)
{
    static const tensor weight = {.n_dims = 2, .shape = {1, 1u << 31}, .n = 1u << 31};
    static const tensor bias = {.n_dims = 1, .shape = {1}, .n = 1};
    (void)file;
    return strcmp(name, "x.weight") == 0 ? &weight : &bias;
}

static void huge_rows(void **state)
{
    (void)state;
    const weights w = {.path = "m", .find = find_huge};
    gemm m = {0};
    sb_error err = {.message = ""};
    assert_int_equal(weights_gemm(&w, "x", 1, 1u << 31, &m, &err), SB_ERR_FORMAT);
    assert_string_equal(err.message, "m: tensor 'x.weight' is (1, 2147483648); expected rows of at "
                                     "most 2147483647 elements");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptions_refused), cmocka_unit_test(tensors_refused),
        cmocka_unit_test(combinations),         cmocka_unit_test(defaults),
        cmocka_unit_test(wide_embeddings),      cmocka_unit_test(no_numbers),
        cmocka_unit_test(truncations),          cmocka_unit_test(flipped_bits),
        cmocka_unit_test(memory_fails),         cmocka_unit_test(huge_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
