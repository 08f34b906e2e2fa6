/* What is promised of every draw: pruning changes nothing, draws are nested, and neither threads
 * nor batches nor the order of the inputs matter. Bit for bit. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "draw_check.h"
#include "reference.h"
#include "statistics.h"

static void check_explicit(const sb_model *model, sb_config config, uint64_t draw_number)
{
    config.method = SB_METHOD_SBS;
    sb_result *const sbs = draw(model, &config, draw_number);
    config.method = SB_METHOD_EXPLICIT;
    sb_result *const all = draw(model, &config, draw_number);
    assert_same_results(sbs, all);
    assert_true(sbs->model_rows <= all->model_rows);
    sb_result_close(sbs);
    sb_result_close(all);
}

static sb_config random_config(uint64_t *generator)
{
    sb_config config;
    sb_config_default(&config);
    config.seed = (uint64_t)(1e15 * next_uniform(generator));
    config.k = 1 + (int32_t)(exp(3.5 * next_uniform(generator)));
    config.temperature = exp(3 * (next_uniform(generator) - 0.7));
    if (next_uniform(generator) < 0.2)
        config.max_len = 1 + (int32_t)(4 * next_uniform(generator));
    if (next_uniform(generator) < 0.2)
        config.top_k = 1 + (int32_t)(4 * next_uniform(generator));
    if (next_uniform(generator) < 0.2)
        config.top_p = next_uniform(generator);
    if (next_uniform(generator) < 0.2)
        config.min_p = 0.3 * next_uniform(generator);
    return config;
}

static void sbs_equals_explicit(void **state)
{
    (void)state;
    uint64_t generator = 1;
    for (int i = 0; i < 500; i++) {
        sb_model *const model = random_tree(&generator, 1 + i % 6);
        for (uint64_t d = 0; d < 3; d++)
            check_explicit(model, random_config(&generator), d);
        sb_model_close(model);
    }
    /* Rows of several blocks, in float, to a depth of two. */
    sb_model *const model = hash_model(600);
    sb_config config;
    sb_config_default(&config);
    config.max_len = 2;
    for (uint64_t d = 0; d < 3; d++) {
        config.k = 7 << (2 * d);
        config.temperature = d == 0 ? 1 : 0.4;
        check_explicit(model, config, d);
    }
    sb_model_close(model);
}

static void explicit_refuses_large_trees(void **state)
{
    (void)state;
    sb_model *const model = hash_model(1100);
    sb_config config;
    sb_config_default(&config);
    config.method = SB_METHOD_EXPLICIT;
    config.max_len = 2;
    sb_result *result;
    sb_error err;
    assert_int_equal(sb_result_open(&result, &err), SB_OK);
    assert_int_equal(sb_draw(model, NULL, &config, result, &err), SB_ERR_LIMIT);
    assert_non_null(strstr(err.message, "1000000 nodes"));
    assert_int_equal(result->n_sequences, 0);
    sb_result_close(result);
    sb_model_close(model);
}

/* The draw of j is the first j of the draw of k, and its threshold is the G of number j + 1. */
static void draws_are_nested(void **state)
{
    (void)state;
    uint64_t generator = 2;
    for (int i = 0; i < 100; i++) {
        sb_model *const model = i % 10 ? random_tree(&generator, 6) : hash_model(700);
        sb_config config = random_config(&generator);
        config.max_len = 5;
        config.k = 24;
        sb_result *const large = draw(model, &config, 5);
        for (int32_t j = 1; j < 24; j++) {
            config.k = j;
            config.kappa = true;
            sb_result *const small = draw(model, &config, 5);
            const int32_t n = j < large->n_sequences ? j : large->n_sequences;
            assert_int_equal(small->n_sequences, n);
            assert_same_sequences(small, large, n);
            assert_true(small->kappa ==
                        (n < large->n_sequences ? large->sequences[n].g : -INFINITY));
            config.kappa = false;
            sb_result *const bare = draw(model, &config, 5);
            assert_same_sequences(small, bare, n);
            sb_result_close(small);
            sb_result_close(bare);
        }
        sb_result_close(large);
        sb_model_close(model);
    }
}

/* The first j of k samples are the draw of j samples. */
static void samples_are_nested(void **state)
{
    (void)state;
    uint64_t generator = 3;
    for (int i = 0; i < 50; i++) {
        sb_model *const model = random_tree(&generator, 5);
        sb_config config;
        sb_config_default(&config);
        config.method = i % 2 ? SB_METHOD_SAMPLE : SB_METHOD_REJECT;
        if (config.method == SB_METHOD_REJECT)
            config.max_samples = 2000;
        config.k = 40;
        sb_result *const large = draw(model, &config, 1);
        config.k = 11;
        sb_result *const small = draw(model, &config, 1);
        assert_same_sequences(small, large,
                              small->n_sequences < large->n_sequences ? small->n_sequences
                                                                      : large->n_sequences);
        sb_result_close(small);
        sb_result_close(large);
        sb_model_close(model);
    }
}

/* --- many inputs --- */

enum { INPUTS = 23, DRAWS = 5, TEMPERATURES = 2, ALL = INPUTS * DRAWS * TEMPERATURES };

static void draw_inputs(const sb_model *model, const sb_config *config, int32_t threads,
                        int32_t batch, const sb_input *inputs, sb_result **results)
{
    static const double temperatures[TEMPERATURES] = {1, 0.317};
    const sb_plan plan = {.temperatures = temperatures,
                          .n_temperatures = TEMPERATURES,
                          .n_draws = DRAWS,
                          .threads = threads,
                          .batch = batch};
    sb_error err;
    for (int i = 0; i < ALL; i++)
        assert_int_equal(sb_result_open(&results[i], &err), SB_OK);
    if (sb_draw_batch(model, inputs, INPUTS, config, &plan, results, &err) != SB_OK)
        fail_msg("%s", err.message);
}

static void close_results(sb_result **results)
{
    for (int i = 0; i < ALL; i++)
        sb_result_close(results[i]);
}

static void threads_and_batches_change_nothing(void **state)
{
    (void)state;
    sb_model *const model = open_json(
        "{\"format\":\"sbeam-chain\",\"vocab\":[\"a\",\"b\",\"c\",\"</s>\"],\"eos\":\"</s>\","
        "\"start\":[0.5,0.25,0.2,0.05],\"next\":{\"a\":[0.1,0.5,0.2,0.2],\"b\":[0.6,0.1,0.1,0.2],"
        "\"c\":[0.3,0.3,0.3,0.1]}}");
    static const char *const texts[] = {"", "a", "b a", "c c c"};
    sb_input inputs[INPUTS], shuffled[INPUTS];
    for (int i = 0; i < INPUTS; i++) {
        inputs[i] = (sb_input){texts[i % 4], strlen(texts[i % 4]), 1000 + (uint64_t)i, NULL};
        shuffled[INPUTS - 1 - i] = inputs[i];
    }
    for (sb_method method = SB_METHOD_SBS; method <= SB_METHOD_REJECT; method++) {
        sb_config config;
        sb_config_default(&config);
        config.method = method;
        config.k = 6;
        config.seed = 12;
        config.max_len = 9;
        sb_result *alone[ALL], *other[ALL];
        draw_inputs(model, &config, 1, 1, inputs, alone);
        static const int32_t plans[][2] = {{1, 3}, {1, 16}, {2, 1}, {2, 16}, {4, 5}};
        for (int p = 0; p < 5; p++) {
            draw_inputs(model, &config, plans[p][0], plans[p][1], inputs, other);
            for (int i = 0; i < ALL; i++) {
                assert_int_equal(other[i]->stream, 1000 + i / (DRAWS * TEMPERATURES));
                assert_same_results(alone[i], other[i]);
            }
            close_results(other);
        }
        draw_inputs(model, &config, 2, 7, shuffled, other);
        for (int i = 0; i < INPUTS; i++)
            for (int j = 0; j < DRAWS * TEMPERATURES; j++)
                assert_same_results(alone[i * DRAWS * TEMPERATURES + j],
                                    other[(INPUTS - 1 - i) * DRAWS * TEMPERATURES + j]);
        close_results(other);
        close_results(alone);
    }
    sb_model_close(model);
}

/* Other draws, streams and seeds are other noise: of neighbours, the first G are independent. */
static void keys_are_independent(void **state)
{
    (void)state;
    enum { PAIRS = 4000 };
    sb_model *const model = hash_model(3);
    const double zero = 0;
    for (int kind = 0; kind < 3; kind++) {
        double count[16] = {0}, probability[16];
        for (uint64_t i = 0; i < PAIRS; i++) {
            int cell[2];
            for (uint64_t j = 0; j < 2; j++) {
                sb_config config;
                sb_plan plan;
                sb_result *result;
                sb_config_default(&config);
                sb_plan_default(&plan);
                config.max_len = 1;
                config.seed = kind == 0 ? i + j : 5;
                plan.first_draw = kind == 1 ? i + j : 6;
                const sb_input input = {.stream = kind == 2 ? i + j : 7};
                assert_int_equal(sb_result_open(&result, NULL), SB_OK);
                assert_int_equal(sb_draw_batch(model, &input, 1, &config, &plan, &result, NULL),
                                 SB_OK);
                cell[j] = (int)(4 * gumbel_cdf(result->sequences[0].g, &zero));
                sb_result_close(result);
            }
            count[4 * cell[0] + cell[1]]++;
        }
        for (int i = 0; i < 16; i++)
            probability[i] = 1 / 16.0;
        const struct fit fit = fit_counts(probability, count, 16);
        print_message("%s: chi-square %.1f on %d, p = %.3g\n",
                      kind == 0   ? "seeds"
                      : kind == 1 ? "draws"
                                  : "streams",
                      fit.statistic, fit.degrees, fit.p_value);
        assert_true(fit.p_value > FALSE_ALARM);
    }
    sb_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sbs_equals_explicit),
        cmocka_unit_test(explicit_refuses_large_trees),
        cmocka_unit_test(draws_are_nested),
        cmocka_unit_test(samples_are_nested),
        cmocka_unit_test(threads_and_batches_change_nothing),
        cmocka_unit_test(keys_are_independent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
