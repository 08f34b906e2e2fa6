/* Tests GGUF models of a vocabulary of 8 tokens, which are in the repository (they are seeds of the
 * fuzzer, tests/fuzz/make_gguf_seeds.py), so these tests need no other file. */
#include "draw_check.h"
#include "model_check.h"

#ifndef SBEAM_HAVE_LLAMA

int main(void)
{
    print_message("skipped: small GGUF models: this build is without llama.cpp\n");
    return 77;
}

#else

#define SMALL TEST_DATA "/../fuzz/corpus/gguf/"

static sb_config settings(int32_t k, int32_t max_len)
{
    sb_config config;
    sb_config_default(&config);
    config.k = k;
    config.max_len = max_len;
    return config;
}

static void tokens_have_texts(void **state)
{
    (void)state;
    sb_model *const model = open_file(SMALL "llama");
    assert_int_equal(sb_model_get_info(model)->vocab_size, 8);
    assert_int_equal(sb_model_get_info(model)->max_len, 16);
    assert_int_equal(token_of(model, "ab"), 7);
    assert_int_equal(sb_model_find_token(model, "abc", 3), -1);
    assert_null(sb_model_token_text(model, 8));
    int32_t *tokens, n;
    char *text;
    assert_int_equal(sb_model_encode(model, "ab", 2, &tokens, &n, NULL), SB_OK);
    assert_int_equal(sb_model_decode(model, tokens, n, &text, NULL), SB_OK);
    assert_string_equal(text, "ab");
    sb_free(text);
    sb_free(tokens);
    sb_model_close(model);
}

/* All sequences of at most 2 tokens: 1 that ends at once, 7 * 8 others. */
static void every_sequence_is_drawn(void **state)
{
    (void)state;
    sb_model *const model = open_file(SMALL "llama");
    const sb_config config = settings(100, 2);
    sb_result *result;
    double sum = 0;
    assert_int_equal(sb_result_open(&result, NULL), SB_OK);
    assert_int_equal(sb_draw(model, "ab", &config, result, NULL), SB_OK);
    assert_int_equal(result->n_sequences, 1 + 7 * 8);
    for (int32_t i = 0; i < result->n_sequences; i++)
        sum += exp(result->sequences[i].log_p);
    assert_true(fabs(sum - 1) < 1e-5);
    sb_result_close(result);
    sb_model_close(model);
}

static void prompts_that_cannot_be_taken(void **state)
{
    (void)state;
    static const struct {
        const char *file, *text;
        bool pretokenized;
        const char *message;
    } cases[] = {
        {SMALL "llama", "caf\xc3\xa9", false, "llama.cpp cannot tokenise this text: "},
        {SMALL "llama", "a nothing", true, "nothing"},
        {SMALL "llama", "a\xff", false, "not UTF-8"},
        {SMALL "gpt2", "", false, "the prompt has no tokens, and this model has no start token"},
        {SMALL "gpt2", "", true, "the prompt has no tokens"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sb_model *const model = open_file(cases[i].file);
        const sb_config config = settings(2, 3);
        sb_result *result;
        sb_error err = {.message = ""};
        assert_int_equal(sb_model_set_pretokenized(model, cases[i].pretokenized, NULL), SB_OK);
        assert_int_equal(sb_result_open(&result, NULL), SB_OK);
        assert_int_equal(sb_draw(model, cases[i].text, &config, result, &err), SB_ERR_INPUT);
        if (strstr(err.message, cases[i].message) == NULL)
            fail_msg("expected '%s' in: %s", cases[i].message, err.message);
        assert_int_equal(result->n_sequences, 0);
        sb_result_close(result);
        sb_model_close(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_have_texts),
        cmocka_unit_test(every_sequence_is_drawn),
        cmocka_unit_test(prompts_that_cannot_be_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
