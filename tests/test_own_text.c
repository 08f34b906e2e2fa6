/* Tests models that turn text into tokens themselves and have a longest sequence, with a custom
 * table whose text is letters without blanks between them. */
#include "model_check.h"
#include "sbeam/sbeam.h"

/* Tokens "a", "b", "c" and the end, each of probability 1/4; the text of "c" is nothing. */
typedef struct letters {
    bool pretokenized;
    size_t n_words; /* of the last input */
} letters;

static sb_status open_session(const void *self, const sb_session_spec *spec, void **session,
                              sb_error *err)
{
    (void)spec, (void)err;
    memcpy(session, &self, sizeof self);
    return SB_OK;
}

static void close_session(void *session)
{
    (void)session;
}

static sb_status begin(void *session, int32_t input, const char *text, size_t size, sb_error *err)
{
    letters *const model = session;
    (void)input, (void)text, (void)err;
    model->n_words = model->pretokenized ? (size + 1) / 2 : size;
    return SB_OK;
}

static sb_status step(void *session, int32_t n_rows, const int32_t *from, const int32_t *to,
                      const int32_t *token, const int32_t *input, void *rows, sb_error *err)
{
    (void)session, (void)from, (void)to, (void)token, (void)input, (void)err;
    for (int32_t i = 0; i < 4 * n_rows; i++)
        ((float *)rows)[i] = 0;
    return SB_OK;
}

static const char *token_text(const void *self, int32_t token)
{
    static const char *const texts[] = {"a", "b@@", "c", "</s>"};
    (void)self;
    return texts[token];
}

static int32_t find_token(const void *self, const char *text, size_t size)
{
    (void)self;
    return size == 1 && *text >= 'a' && *text <= 'c' ? *text - 'a' : -1;
}

static sb_status encode(const void *self, const char *text, size_t size, int32_t **tokens,
                        int32_t *n_tokens, sb_error *err)
{
    int32_t *const ids = sb_alloc(size * sizeof *ids);
    if (ids == NULL)
        return sb_error_set(err, SB_ERR_MEMORY, "no memory");
    for (size_t i = 0; i < size; i++)
        ids[i] = find_token(self, text + i, 1);
    *tokens = ids;
    *n_tokens = (int32_t)size;
    return SB_OK;
}

static sb_status decode(const void *self, const int32_t *tokens, int32_t n_tokens, char **text,
                        sb_error *err)
{
    (void)self;
    char *const letters_of = sb_alloc((size_t)n_tokens + 1);
    if (letters_of == NULL)
        return sb_error_set(err, SB_ERR_MEMORY, "no memory");
    size_t n = 0;
    for (int32_t i = 0; i < n_tokens; i++)
        if (tokens[i] < 2)
            letters_of[n++] = (char)('a' + tokens[i]);
    letters_of[n] = '\0';
    *text = letters_of;
    return SB_OK;
}

static void set_pretokenized(void *self, bool on)
{
    ((letters *)self)->pretokenized = on;
}

static sb_model *open_letters(letters *self, int32_t max_len)
{
    static const sb_model_ops ops = {.session_open = open_session,
                                     .session_close = close_session,
                                     .begin = begin,
                                     .step = step,
                                     .token_text = token_text,
                                     .find_token = find_token,
                                     .encode = encode,
                                     .decode = decode,
                                     .set_pretokenized = set_pretokenized};
    const sb_model_info info = {
        .kind = "letters", .vocab_size = 4, .eos = 3, .row_type = SB_ROW_FLOAT, .max_len = max_len};
    sb_model *model;
    sb_error err;
    assert_int_equal(sb_model_open_custom(&model, &ops, &info, self, &err), SB_OK);
    return model;
}

static void check_text(const sb_model *model, const char *text, int32_t n, const char *expected)
{
    int32_t *tokens, n_tokens;
    char *decoded;
    sb_error err;
    assert_int_equal(sb_model_encode(model, text, strlen(text), &tokens, &n_tokens, &err), SB_OK);
    assert_int_equal(n_tokens, n);
    assert_int_equal(sb_model_decode(model, tokens, n_tokens, &decoded, &err), SB_OK);
    assert_string_equal(decoded, expected);
    sb_free(decoded);
    sb_free(tokens);
}

static void test_pretokenized(void **state)
{
    (void)state;
    letters self = {0};
    sb_model *const model = open_letters(&self, 0);
    sb_error err;
    char *text;
    assert_true(sb_model_has_own_text(model));
    check_text(model, "abca", 4, "aba");
    check_text(model, "", 0, "");
    assert_int_equal(sb_model_decode(model, (int32_t[]){0, 4}, 2, &text, &err), SB_ERR_ARGUMENT);
    assert_string_equal(err.message, "token 4, at position 1, is out of range; expected 0 to 3");
    assert_int_equal(sb_model_set_marker(model, "@@", &err), SB_OK); /* of tokens only */
    check_text(model, "aba", 3, "aba");

    assert_int_equal(sb_model_set_pretokenized(model, true, &err), SB_OK);
    assert_true(self.pretokenized);
    assert_false(sb_model_has_own_text(model));
    check_text(model, "a c a", 3, "a c a");
    assert_int_equal(sb_model_decode(model, (int32_t[]){1, 0, 1}, 3, &text, &err), SB_OK);
    assert_string_equal(text, "ba b");
    sb_free(text);
    int32_t *tokens, n;
    assert_int_equal(sb_model_encode(model, "a ca", 4, &tokens, &n, &err), SB_ERR_INPUT);

    assert_int_equal(sb_model_set_pretokenized(model, false, &err), SB_OK);
    assert_false(self.pretokenized);
    check_text(model, "ab", 2, "ab");
    assert_int_equal(sb_model_set_pretokenized(NULL, true, &err), SB_ERR_ARGUMENT);
    alloc_fail_at(1);
    assert_int_equal(sb_model_encode(model, "a", 1, &tokens, &n, &err), SB_ERR_MEMORY);
    alloc_fail_at(0);
    sb_model_close(model);

    sb_model *const tree =
        open_file(TEST_DATA "/fig1.json"); /* without the slots nothing changes */
    assert_false(sb_model_has_own_text(tree));
    assert_int_equal(sb_model_set_pretokenized(tree, true, &err), SB_OK);
    check_text(tree, "0 1 1", 3, "0 1 1");
    sb_model_close(tree);
}

/* A stop string is found however many tokens without text lie inside it. */
static void test_stop(void **state)
{
    (void)state;
    letters self = {0};
    sb_model *const model = open_letters(&self, 12);
    const char *const stops[] = {"ab"};
    sb_config config;
    sb_config_default(&config);
    config.k = 500;
    config.stop = stops;
    config.n_stop = 1;
    sb_result *result;
    sb_error err;
    assert_int_equal(sb_result_open(&result, &err), SB_OK);
    assert_int_equal(sb_draw(model, NULL, &config, result, &err), SB_OK);
    int32_t n_apart = 0;
    for (int32_t i = 0; i < result->n_sequences; i++) {
        const sb_sequence *const s = &result->sequences[i];
        char *text;
        assert_int_equal(sb_model_decode(model, s->tokens, s->n_tokens, &text, &err), SB_OK);
        const char *const at = strstr(text, "ab");
        assert_int_equal(s->end == SB_END_STOP, at != NULL);
        assert_true(at == NULL || at[2] == '\0');
        n_apart += at != NULL && s->n_tokens > 5 && s->tokens[s->n_tokens - 2] == 2;
        sb_free(text);
    }
    assert_true(n_apart > 10);
    sb_result_close(result);
    sb_model_close(model);
}

static void test_max_len(void **state)
{
    (void)state;
    letters self = {0};
    sb_model *const model = open_letters(&self, 3);
    sb_config config;
    sb_config_default(&config);
    config.k = 100;
    sb_result *result;
    sb_error err;
    assert_int_equal(sb_result_open(&result, &err), SB_OK);
    assert_int_equal(sb_draw(model, NULL, &config, result, &err), SB_OK);
    assert_int_equal(result->n_sequences, 1 + 3 + 9 + 27); /* by EOS after 0, 1, 2 tokens; cut */
    int32_t n_cut = 0;
    for (int32_t i = 0; i < result->n_sequences; i++) {
        const sb_sequence *const s = &result->sequences[i];
        assert_int_equal(s->n_tokens == 3, s->end == SB_END_MAX_LEN);
        assert_true(s->n_tokens <= 3);
        n_cut += s->end == SB_END_MAX_LEN;
    }
    assert_int_equal(n_cut, 27);
    config.max_len = 2; /* the smaller one counts */
    assert_int_equal(sb_draw(model, NULL, &config, result, &err), SB_OK);
    assert_int_equal(result->n_sequences, 1 + 3 + 9);
    config.max_len = 200;
    config.min_len = 4;
    assert_int_equal(sb_draw(model, NULL, &config, result, &err), SB_ERR_ARGUMENT);
    assert_string_equal(err.message,
                        "min-len is 4, but the model gives sequences of at most 3 tokens");
    sb_result_close(result);

    double log_p[4];
    const int32_t tokens[] = {0, 1, 3, 0};
    assert_int_equal(sb_score(model, NULL, 0, tokens, 3, log_p, &err), SB_OK);
    check_near(log_p[0], -log(4));
    assert_int_equal(sb_score(model, NULL, 0, tokens, 4, log_p, &err), SB_ERR_INPUT);
    assert_string_equal(err.message, "the output has 4 tokens; the model gives at most 3");
    sb_model_close(model);
    const sb_model_ops ops = {
        .session_open = open_session, .session_close = close_session, .step = step};
    const sb_model_info info = {.kind = "letters", .vocab_size = 4, .eos = 3, .max_len = -1};
    sb_model *refused;
    assert_int_equal(sb_model_open_custom(&refused, &ops, &info, &self, &err), SB_ERR_ARGUMENT);
    assert_string_equal(err.message, "max_len is -1; expected 0 or more");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pretokenized),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_max_len),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
