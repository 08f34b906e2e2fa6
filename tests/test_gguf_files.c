/* Tests the text and the files of GGUF models: whole, edited and damaged files, and failing memory.
 */
#include <unistd.h>

#include "model_check.h"

/* A file of these bytes, whose name is written to path. */
static void write_file(char *path, const void *data, size_t size)
{
    strcpy(path, "/tmp/sbeam-test-XXXXXX");
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, data, size), size);
    close(file);
}

/* Opens a file of these bytes and expects to be refused. */
static void expect_refusal(const void *data, size_t size, const char *message)
{
    char path[64];
    sb_model *model = NULL;
    sb_error err = {.message = ""};
    write_file(path, data, size);
    const sb_status status = sb_model_open(&model, path, &err);
    unlink(path);
    assert_null(model);
    assert_int_equal(status, SB_ERR_FORMAT);
    if (strstr(err.message, message) == NULL)
        fail_msg("expected '%s' in: %s", message, err.message);
}

#ifndef SBEAM_HAVE_LLAMA

static void without_llama_it_says_how_to_get_it(void **state)
{
    (void)state;
    expect_refusal("GGUF\3\0\0\0", 8, "scripts/setup --with llama");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(without_llama_it_says_how_to_get_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

#include "gguf_check.h"

/* --- text --- */

static void text_comes_back(void **state)
{
    (void)state;
    static const char *const texts[] = {", there was a little girl named Lily.",
                                        " there was",
                                        "there",
                                        "",
                                        " caf\xc3\xa9 \xe2\x82\xac.",
                                        "\nTwo  blanks\n"};
    sb_model *const model = open_file(gguf_path());
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int32_t *tokens, n;
        char *text;
        sb_error err = {.message = ""};
        if (sb_model_encode(model, texts[i], strlen(texts[i]), &tokens, &n, &err) != SB_OK)
            fail_msg("'%s': %s", texts[i], err.message);
        assert_int_equal(sb_model_decode(model, tokens, n, &text, NULL), SB_OK);
        assert_string_equal(text, texts[i]);
        sb_free(text);
        sb_free(tokens);
    }
    sb_model_close(model);
}

static void stop_strings_end_sequences(void **state)
{
    (void)state;
    sb_model *const model = open_file(gguf_path());
    sb_config config = settings(SB_METHOD_BEAM, 1, 60);
    const char *const stop[] = {"park", ". One"};
    config.stop = stop;
    config.n_stop = 2;
    sb_result *const r = draw_from(model, prompt, &config);
    char *text;
    assert_int_equal(r->sequences[0].end, SB_END_STOP);
    assert_int_equal(
        sb_model_decode(model, r->sequences[0].tokens, r->sequences[0].n_tokens, &text, NULL),
        SB_OK);
    assert_non_null(strstr(text, "outside in the park"));
    assert_null(strstr(text, "park. "));
    sb_free(text);
    sb_result_close(r);
    sb_model_close(model);
}

static void wrong_inputs_are_refused(void **state)
{
    (void)state;
    sb_model *const model = open_file(gguf_path());
    char *const long_text = malloc(8000);
    memset(long_text, 'a', 7999);
    long_text[7999] = '\0';
    static const sb_session_spec no_rows = {.max_inputs = 1, .max_len = 5};
    static const sb_session_spec too_many = {.max_inputs = 40, .max_rows = 240, .max_len = 5};
    static const sb_session_spec most = {.max_inputs = INT32_MAX, .max_rows = 1, .max_len = 5};
    const struct {
        const char *text, *message;
        int32_t max_len;
    } wrong[] = {{"\xff\xfe", "not UTF-8", 10},
                 {long_text, "shorten the prompt", 10},
                 {prompt, "lower max-len", 512}};
    sb_result *result;
    sb_error err = {.message = ""};
    assert_int_equal(sb_result_open(&result, NULL), SB_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const sb_config config = settings(SB_METHOD_SBS, 2, wrong[i].max_len);
        assert_int_equal(sb_draw(model, wrong[i].text, &config, result, &err), SB_ERR_INPUT);
        assert_non_null(strstr(err.message, wrong[i].message));
    }
    sb_session *session;
    assert_int_equal(sb_session_open(&session, model, &no_rows, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_session_open(&session, model, &too_many, &err), SB_ERR_LIMIT);
    assert_int_equal(sb_session_open(&session, model, &most, &err), SB_ERR_LIMIT);
    sb_result_close(result);
    free(long_text);
    sb_model_close(model);
}

/* --- files --- */

enum { BOOL = 7, UINT32 = 4, STRING = 8 }; /* types of metadata */

static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *const file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *const data = malloc(*size + 4096);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *size, file), *size);
    fclose(file);
    return data;
}

static size_t put(uint8_t *to, uint64_t value, size_t size)
{
    memcpy(to, &value, size); /* little-endian, as is every machine that this runs on */
    return size;
}

static size_t put_text(uint8_t *to, const char *text)
{
    const size_t size = put(to, strlen(text), 8);
    memcpy(to + size, text, strlen(text));
    return size + strlen(text);
}

/* Adds two entries to a file's metadata: a number of so many bytes, and a comment that makes them a
 * multiple of the alignment, so that everything after them stays where it must be. */
static void add_entry(uint8_t *data, size_t *size, const char *name, uint32_t type, uint64_t value,
                      size_t value_size)
{
    enum { HEADER = 24, ADDED = 128 };
    uint8_t added[ADDED];
    char comment[ADDED] = "";
    size_t n = put_text(added, name);
    n += put(added + n, type, 4);
    n += put(added + n, value, value_size);
    n += put_text(added + n, "general.comment");
    n += put(added + n, STRING, 4);
    memset(comment, '.', ADDED - n - 8);
    n += put_text(added + n, comment);
    assert_int_equal(n, ADDED);
    uint64_t n_entries;
    memcpy(&n_entries, data + 16, 8);
    put(data + 16, n_entries + 2, 8);
    memmove(data + HEADER + ADDED, data + HEADER, *size - HEADER);
    memcpy(data + HEADER, added, ADDED);
    *size += ADDED;
}

static void tokens_that_end_are_one_leaf(void **state)
{
    (void)state;
    sb_model *model = open_file(gguf_path());
    const int32_t eos = sb_model_get_info(model)->eos, other = token_of(model, ".");
    sb_model_close(model);
    size_t size;
    uint8_t *const data = read_file(gguf_path(), &size);
    char path[64];
    add_entry(data, &size, "tokenizer.ggml.eot_token_id", UINT32, (uint64_t)other, 4);
    write_file(path, data, size);
    free(data);
    model = open_file(path);
    struct plain p = plain_open(path);
    unlink(path);
    assert_true(llama_vocab_is_eog(p.vocab, other));
    assert_int_equal(sb_model_get_info(model)->eos, eos);
    const char *const text = "Lily went home";
    const float *const logits = plain_start(&p, text);
    const double expected =
        log(exp((double)logits[eos]) + exp((double)logits[other])) - log_sum(logits, p.n_vocab);
    double scores[2];
    assert_int_equal(sb_score(model, text, strlen(text), &eos, 1, &scores[0], NULL), SB_OK);
    assert_int_equal(sb_score(model, text, strlen(text), &other, 1, &scores[1], NULL), SB_OK);
    assert_true(fabs(scores[0] - expected) < 1e-4);
    assert_true(scores[0] > log(0.05)); /* so that it says something */
    assert_true(scores[1] == -INFINITY);
    sb_model_close(model);
    plain_close(&p);
}

/* Some models put their end token after a text; an output does not go on from there. */
static void prompts_do_not_end(void **state)
{
    (void)state;
    size_t size;
    uint8_t *const data = read_file(gguf_path(), &size);
    char path[64];
    add_entry(data, &size, "tokenizer.ggml.add_eos_token", BOOL, true, 1);
    write_file(path, data, size);
    free(data);
    sb_model *const models[] = {open_file(gguf_path()), open_file(path)};
    unlink(path);
    double scores[2];
    for (int i = 0; i < 2; i++) {
        const int32_t comma = token_of(models[i], ",");
        assert_int_equal(sb_score(models[i], prompt, strlen(prompt), &comma, 1, &scores[i], NULL),
                         SB_OK);
        sb_model_close(models[i]);
    }
    assert_true(scores[0] == scores[1]);
}

static void models_that_look_ahead_are_refused(void **state)
{
    (void)state;
    size_t size;
    uint8_t *const data = read_file(gguf_path(), &size);
    add_entry(data, &size, "llama.attention.causal", BOOL, false, 1);
    expect_refusal(data, size, "not a causal language model");
    free(data);
}

/* The number has 32 bits and no sign. */
static void a_context_may_be_longer_than_any_text(void **state)
{
    (void)state;
    static const char key[] = "llama.context_length";
    size_t size;
    uint8_t *const data = read_file(gguf_path(), &size);
    for (size_t i = 0; i + 64 < size; i++)
        if (memcmp(data + i, key, sizeof key - 1) == 0)
            put(data + i + sizeof key - 1 + 4, UINT32_MAX, 4);
    char path[64];
    write_file(path, data, size);
    free(data);
    sb_model *const model = open_file(path);
    unlink(path);
    assert_int_equal(sb_model_get_info(model)->max_len, 0);
    const sb_config config = settings(SB_METHOD_SBS, 2, 4);
    sb_result_close(draw_from(model, prompt, &config));
    sb_model_close(model);
}

static void damaged_files_are_refused(void **state)
{
    (void)state;
    size_t size;
    uint8_t *const data = read_file(gguf_path(), &size);
    expect_refusal("GGUF", 4, "llama.cpp cannot load");
    expect_refusal("GGUF\3\0\0\0\xff\xff\xff\xff\xff\xff\xff\x7f\1\0\0\0\0\0\0\0", 24,
                   "llama.cpp cannot load");
    const size_t cuts[] = {23, 100, 5000, 20000, size / 2, size - 1};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
        expect_refusal(data, cuts[i], "llama.cpp cannot load");
    /* A token twice: llama.cpp's assertion, which would end the process. */
    for (size_t i = 0; i + 6 < size; i++)
        if (memcmp(data + i, "<0x41>", 6) == 0)
            data[i + 4] = '2';
    expect_refusal(data, size, "GGML_ASSERT");
    free(data);
}

/* Opens the model, draws twice from a prompt that is longer than the one before, reads the text. */
static sb_status open_and_draw(sb_result *const *results)
{
    char story[600] = "";
    for (int i = 0; i < 11; i++)
        strcat(story, "Lily and Tom went to the park with a big red ball. ");
    const sb_input inputs[2] = {{.text = "Tom", .size = 3}, {.text = story, .size = strlen(story)}};
    const sb_config config = settings(SB_METHOD_SBS, 3, 4);
    sb_model *model = NULL;
    char *text = NULL;
    sb_plan plan;
    sb_plan_default(&plan);
    sb_status status = sb_model_open(&model, gguf_path(), NULL);
    if (status == SB_OK)
        status = sb_draw_batch(model, inputs, 2, &config, &plan, (sb_result **)results, NULL);
    if (status == SB_OK)
        status = sb_model_decode(model, results[1]->sequences[0].tokens,
                                 results[1]->sequences[0].n_tokens, &text, NULL);
    sb_free(text);
    sb_model_close(model);
    return status;
}

static void memory_fails(void **state)
{
    (void)state;
    sb_result *results[2];
    long n = 1;
    for (;; n++) {
        for (int i = 0; i < 2; i++)
            assert_int_equal(sb_result_open(&results[i], NULL), SB_OK);
        alloc_fail_at(n);
        const sb_status status = open_and_draw(results);
        const bool failed = alloc_has_failed();
        alloc_fail_at(0);
        for (int i = 0; i < 2; i++)
            sb_result_close(results[i]);
        assert_int_equal(status, failed ? SB_ERR_MEMORY : SB_OK);
        if (!failed)
            break;
    }
    assert_true(n > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_comes_back),
        cmocka_unit_test(stop_strings_end_sequences),
        cmocka_unit_test(wrong_inputs_are_refused),
        cmocka_unit_test(tokens_that_end_are_one_leaf),
        cmocka_unit_test(prompts_do_not_end),
        cmocka_unit_test(models_that_look_ahead_are_refused),
        cmocka_unit_test(a_context_may_be_longer_than_any_text),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(memory_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
