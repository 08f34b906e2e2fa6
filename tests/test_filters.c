/* Tests the settings that change the model: bans, lengths, top-k, top-p, min-p, stop strings; and
 * extreme temperatures and scores. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "draw_check.h"
#include "law_models.h"
#include "reference.h"

/* All sequences of the changed model, by drawing more than there are: their probabilities sum to 1.
 */
static sb_result *draw_all_of(const sb_model *model, const sb_config *config)
{
    sb_result *const result = draw(model, config, 0);
    assert_true(result->exhausted);
    double sum = 0;
    for (int32_t i = 0; i < result->n_sequences; i++)
        sum += exp(result->sequences[i].log_p);
    assert_true(fabs(sum - 1) < 1e-12);
    return result;
}

static const sb_sequence *find(const sb_result *result, const int32_t *tokens, int32_t n,
                               sb_end end)
{
    for (int32_t i = 0; i < result->n_sequences; i++) {
        const sb_sequence *const s = &result->sequences[i];
        if (s->n_tokens == n && s->end == end &&
            memcmp(s->tokens, tokens, (size_t)n * sizeof *tokens) == 0)
            return s;
    }
    return NULL;
}

static void filters_change_the_model(void **state)
{
    (void)state;
    sb_model *const model = open_json(small_chain);
    const int32_t a[] = {0, 0}, ab[] = {0, 1}, b[] = {1};
    sb_config config = config_of(SB_METHOD_SBS, 1000);
    config.max_len = 2;

    const int32_t ban[] = {0};
    config.ban = ban;
    config.n_ban = 1;
    sb_result *result = draw_all_of(model, &config);
    assert_int_equal(result->n_sequences, 3); /* end; b end; b b */
    const sb_sequence *s = find(result, b, 1, SB_END_EOS);
    assert_true(fabs(exp(s->log_p) - 0.6 * 0.1 / 0.55) < 1e-12);
    assert_true(fabs(exp(s->log_p_model) - 0.3 * 0.1) < 1e-12);
    sb_result_close(result);

    config = config_of(SB_METHOD_SBS, 1000);
    config.max_len = 2;
    config.min_len = 2;
    result = draw_all_of(model, &config);
    assert_int_equal(result->n_sequences, 4);
    s = find(result, ab, 2, SB_END_MAX_LEN);
    assert_true(fabs(exp(s->log_p) - 0.625 * 0.75) < 1e-12);
    sb_result_close(result);

    config.min_len = 0;
    config.top_k = 2; /* step 1: a, b; after a: end, b; after b: a, b (the lower ids of a tie) */
    result = draw_all_of(model, &config);
    assert_int_equal(result->n_sequences, 4);
    s = find(result, a, 1, SB_END_EOS);
    assert_true(fabs(exp(s->log_p) - 0.625 * 0.6 / 0.9) < 1e-12);
    sb_result_close(result);

    config.top_k = 0;
    config.top_p = 0.6; /* step 1: a, b (.5 < .6); after a: end alone; after b: a, b */
    result = draw_all_of(model, &config);
    assert_int_equal(result->n_sequences, 3);
    s = find(result, a, 1, SB_END_EOS);
    assert_true(fabs(exp(s->log_p) - 0.625) < 1e-12);
    sb_result_close(result);

    config.top_p = 1;
    config.min_p = 0.45; /* step 1: a, b; after a: end, b; after b: a, b */
    result = draw_all_of(model, &config);
    assert_int_equal(result->n_sequences, 4);
    sb_result_close(result);

    /* min-p sees the tempered row: squares .25 .09 .04; .01 .09 .36; .2025 .2025 .01. So a, b (.36
     * of the largest; the end has .16); after a: the end alone (b has .25); after b: a, b. At T = 1
     * the ratios would have been .6 and .4; .5; 1 and .22. */
    config.min_p = 0.3;
    config.temperature = 0.5;
    result = draw_all_of(model, &config);
    assert_int_equal(result->n_sequences, 3);
    s = find(result, a, 1, SB_END_EOS);
    assert_true(fabs(exp(s->log_p) - 0.25 / 0.34) < 1e-12);
    sb_result_close(result);

    /* Hot, square roots: b has .775 of a, the end .632; after a: .41 .71 1; after b: 1 1 .47. */
    config.min_p = 0.7;
    config.temperature = 2;
    result = draw_all_of(model, &config);
    assert_int_equal(result->n_sequences, 4); /* a end; a b; b a; b b */
    s = find(result, ab, 2, SB_END_MAX_LEN);
    assert_true(fabs(exp(s->log_p) - sqrt(0.5) / (sqrt(0.5) + sqrt(0.3)) * sqrt(0.3) /
                                         (sqrt(0.3) + sqrt(0.6))) < 1e-12);
    sb_result_close(result);

    config.min_p = 0;
    config.temperature = 0.5; /* squares, renormalised */
    result = draw_all_of(model, &config);
    s = find(result, b, 1, SB_END_EOS);
    assert_true(fabs(exp(s->log_p) - 0.09 / 0.38 * 0.01 / 0.415) < 1e-12);
    assert_true(fabs(exp(s->log_p_model) - 0.03) < 1e-12);
    sb_result_close(result);

    /* So does min-p: .09 / .25 = .36 at step 1, and after a .09 / .36 = .25. */
    config.min_p = 0.3;
    result = draw_all_of(model, &config);
    assert_int_equal(result->n_sequences, 3); /* a end; b a; b b */
    sb_result_close(result);
    config.min_p = 0;

    /* After the temperature, top-p sees squares: .25 / .38 is enough for .6. */
    config.top_p = 0.6;
    result = draw_all_of(model, &config);
    assert_int_equal(result->n_sequences, 1);
    sb_result_close(result);
    sb_model_close(model);
}

static void stop_strings_are_leaves(void **state)
{
    (void)state;
    sb_model *const model = open_json(small_chain);
    static const char *const stops[] = {"b b", "a a"};
    sb_config config = config_of(SB_METHOD_SBS, 1000);
    config.max_len = 3;
    config.stop = stops;
    config.n_stop = 2;
    sb_result *const result = draw_all_of(model, &config);
    const int32_t bb[] = {1, 1}, aba[] = {0, 1, 0};
    const sb_sequence *const s = find(result, bb, 2, SB_END_STOP);
    assert_non_null(s);
    assert_true(fabs(exp(s->log_p) - 0.3 * 0.45) < 1e-12);
    assert_non_null(find(result, aba, 3, SB_END_MAX_LEN));
    sb_result_close(result);
    sb_model_close(model);
}

static void early_leaves_of_trees_are_banned(void **state)
{
    (void)state;
    struct setup setup;
    struct leaves leaves;
    open_law_model(UNEVEN, &setup, &leaves);
    sb_config config = config_of(SB_METHOD_SBS, 100);
    config.min_len = 2;
    sb_result *const result = draw_all_of(setup.model, &config);
    for (int32_t i = 0; i < result->n_sequences; i++)
        assert_true(result->sequences[i].n_tokens >= 2);
    sb_result_close(result);
    sb_model_close((sb_model *)(uintptr_t)setup.model);
}

/* A sum of rounded probabilities reaches the boundary that it is meant to reach. */
static void boundaries_are_reached(void **state)
{
    (void)state;
    sb_model *const model = open_json("{\"format\":\"sbeam-tree\",\"tree\":{\"a\":[0.6,null],"
                                      "\"b\":[0.3,null],\"c\":[0.1,null]}}");
    sb_config config = config_of(SB_METHOD_SBS, 10);
    config.top_p = 0.9;
    sb_result *result = draw_all_of(model, &config);
    assert_int_equal(result->n_sequences, 2);
    sb_result_close(result);
    config.top_p = 1;
    config.min_p = 0.5;
    result = draw_all_of(model, &config);
    assert_int_equal(result->n_sequences, 2);
    sb_result_close(result);
    sb_model_close(model);
}

/* --- far out --- */

/* Extreme temperatures and probabilities, with rows of doubles. At very low temperatures the noise
 * has room only for the likeliest sequence; test_range shows that draws of more are refused. */
static void extremes_of_trees(void **state)
{
    (void)state;
    sb_model *const model = open_json(
        "{\"format\":\"sbeam-tree\",\"tree\":{\"a\":[1,{\"x\":[1e-300,null],\"y\":[1,null]}],"
        "\"b\":[1e-300,{\"x\":[0.5,null],\"y\":[0.5,null]}]}}");
    const double temperatures[] = {1, 0.05, 0.001, 1e-6, 1e-30, 1e-100, 100, 1e30, 1e100};
    for (int i = 0; i < 9; i++) {
        const bool is_cold = temperatures[i] <= 1e-30;
        sb_config config = config_of(SB_METHOD_SBS, is_cold ? 1 : 10);
        config.temperature = temperatures[i];
        sb_result *const result = draw(model, &config, 0);
        assert_int_equal(result->n_sequences, is_cold ? 1 : 4);
        for (int32_t j = 0; j < result->n_sequences; j++) {
            assert_true(isfinite(result->sequences[j].g) && isfinite(result->sequences[j].log_p));
            assert_true(j == 0 || result->sequences[j].g <= result->sequences[j - 1].g);
        }
        sb_result_close(result);
    }
    sb_model_close(model);
}

/* A token that is far above the others must not spoil their probabilities when it is banned. */
static void a_banned_token_may_be_far_above(void **state)
{
    (void)state;
    sb_model *const model = open_json("{\"format\":\"sbeam-tree\",\"tree\":{\"a\":[1,null],"
                                      "\"b\":[3e-300,null],\"c\":[3e-300,null]}}");
    static const int32_t ban[] = {0};
    static const double temperatures[] = {1, 1e-9, 1e-30};
    for (int i = 0; i < 3; i++) {
        sb_config config = config_of(SB_METHOD_SBS, 10);
        config.temperature = temperatures[i];
        config.ban = ban;
        config.n_ban = 1;
        sb_result *const result = draw_all_of(model, &config);
        assert_int_equal(result->n_sequences, 2);
        for (int j = 0; j < 2; j++) {
            assert_true(fabs(result->sequences[j].log_p - log(0.5)) < 1e-12);
            assert_true(fabs(result->sequences[j].log_p_model - log(3e-300)) < 1e-10);
        }
        sb_result_close(result);
    }
    sb_model_close(model);
}

/* A decoder over float rows: one row for all prefixes of a step, so that the law is known. */
static sb_result *draw_from_rows(const sb_config *config, const float *row, int32_t vocab)
{
    const sb_decoder_spec spec = {
        .vocab_size = vocab, .eos = -1, .row_type = SB_ROW_FLOAT, .max_slots = 1};
    const sb_job job = {.draw = 3};
    sb_decoder *decoder;
    sb_result *result;
    sb_error err;
    assert_int_equal(sb_result_open(&result, &err), SB_OK);
    assert_int_equal(sb_decoder_open(&decoder, &spec, config, &err), SB_OK);
    assert_int_equal(sb_decoder_add(decoder, &job, NULL, &err), SB_OK);
    float *rows = NULL;
    while (!sb_decoder_done(decoder)) {
        const int32_t n = sb_decoder_rows(decoder, NULL, NULL, NULL);
        float *const grown = realloc(rows, (size_t)(n * vocab) * sizeof *rows);
        assert_non_null(grown);
        rows = grown;
        for (int32_t i = 0; i < n; i++)
            memcpy(rows + i * vocab, row, (size_t)vocab * sizeof *rows);
        if (sb_decoder_advance(decoder, rows, (size_t)vocab, &err) != SB_OK)
            fail_msg("%s", err.message);
    }
    assert_int_equal(sb_decoder_take(decoder, 0, result, &err), SB_OK);
    free(rows);
    sb_decoder_close(decoder);
    return result;
}

/* Scores between -1e4 and 1e4, the largest among them, and a third of them masked. */
static void fill_logits(float *row, int32_t vocab, uint64_t *generator)
{
    for (int32_t i = 0; i < vocab; i++) {
        row[i] = (float)(2e4 * next_uniform(generator) - 1e4);
        if (i % 3 == 1)
            row[i] = -INFINITY;
    }
    row[vocab / 2 / 3 * 3] = 1e4f;
    row[0] = -1e4f;
}

static bool are_equal(const sb_sequence *a, const sb_sequence *b)
{
    return a->n_tokens == b->n_tokens &&
           memcmp(a->tokens, b->tokens, (size_t)a->n_tokens * sizeof *a->tokens) == 0;
}

/* What holds at any temperature. */
static void check_far_out(const sb_result *result, const sb_config *config, const float *row,
                          int32_t vocab)
{
    const bool has_g = config->method == SB_METHOD_SBS || config->method == SB_METHOD_EXPLICIT;
    const bool may_repeat =
        config->method == SB_METHOD_SAMPLE || config->method == SB_METHOD_DIVERSE;
    int32_t n_left = 0, top = 0;
    for (int32_t i = 0; i < vocab; i++) {
        n_left += row[i] > -INFINITY;
        top = row[i] > row[top] ? i : top;
    }
    for (int32_t i = 0; i < result->n_sequences; i++) {
        const sb_sequence *const s = &result->sequences[i];
        assert_true(isfinite(s->log_p) && s->log_p <= 0 && isfinite(s->log_p_model));
        assert_true(!has_g || isfinite(s->g));
        assert_true(!has_g || i == 0 || s->g <= result->sequences[i - 1].g);
        for (int32_t j = 0; j < s->n_tokens; j++)
            assert_true(row[s->tokens[j]] > -INFINITY);
        for (int32_t j = 0; j < i && !may_repeat; j++)
            assert_false(are_equal(s, &result->sequences[j]));
        /* Hot enough, all are alike. */
        if (config->temperature >= 1e30)
            assert_true(fabs(s->log_p + s->n_tokens * log(n_left)) < 1e-9 * s->n_tokens);
    }
    /* Cold enough, nothing but the largest counts. */
    if (config->temperature <= 1e-30)
        for (int32_t j = 0; j < result->sequences[0].n_tokens; j++)
            assert_int_equal(result->sequences[0].tokens[j], top);
}

static void extremes_of_float_rows(void **state)
{
    (void)state;
    static const double temperatures[] = {1e-100, 1e-30, 1, 1e30, 1e38, 1e100};
    static const int32_t vocabs[] = {2, 41, 1000}; /* one block, and several */
    uint64_t generator = 9;
    static float row[1000];
    for (int v = 0; v < 3; v++)
        for (int t = 0; t < 6; t++) {
            fill_logits(row, vocabs[v], &generator);
            for (int method = 0; sb_method_name((sb_method)method) != NULL; method++) {
                const bool has_noise = method == SB_METHOD_SBS || method == SB_METHOD_EXPLICIT ||
                                       method == SB_METHOD_RESAMPLE ||
                                       method == SB_METHOD_BEAM_SAMPLE;
                const int32_t k = has_noise && temperatures[t] <= 1e-30 ? 1 : 6;
                sb_config config = config_of((sb_method)method, k);
                config.temperature = temperatures[t];
                config.max_len = method != SB_METHOD_EXPLICIT ? 4 : vocabs[v] < 100 ? 2 : 1;
                if (method == SB_METHOD_REJECT)
                    config.max_samples = 100; /* cold, there is but one sequence to find */
                sb_result *const result = draw_from_rows(&config, row, vocabs[v]);
                check_far_out(result, &config, row, vocabs[v]);
                assert_true(result->n_sequences == k || method == SB_METHOD_REJECT ||
                            vocabs[v] == 2);
                sb_result_close(result);
            }
        }
}

/* The bounds themselves, and what lies beyond. */
static void bounds_of_temperature(void **state)
{
    (void)state;
    static const double fine[] = {1e-100, 1e100};
    static const double refused[] = {9.99e-101, 1.01e100, 0, -1, 5e-324, INFINITY, NAN};
    sb_config config = config_of(SB_METHOD_SBS, 3);
    sb_error err;
    for (int i = 0; i < 2; i++) {
        config.temperature = fine[i];
        assert_int_equal(sb_config_check(&config, &err), SB_OK);
    }
    for (int i = 0; i < 7; i++) {
        config.temperature = refused[i];
        assert_int_equal(sb_config_check(&config, &err), SB_ERR_ARGUMENT);
        assert_non_null(strstr(err.message, "temperature is '"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters_change_the_model),
        cmocka_unit_test(stop_strings_are_leaves),
        cmocka_unit_test(early_leaves_of_trees_are_banned),
        cmocka_unit_test(boundaries_are_reached),
        cmocka_unit_test(extremes_of_trees),
        cmocka_unit_test(a_banned_token_may_be_far_above),
        cmocka_unit_test(extremes_of_float_rows),
        cmocka_unit_test(bounds_of_temperature),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
