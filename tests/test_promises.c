/* Tests the promises about every draw, bit for bit: pruning changes nothing, draws are nested, and
 * threads, batches and the order of the inputs do not matter. */
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
    assert_same_draws(sbs, all);
    /* The mass not drawn is summed in another order: digits of a double, or of a float row. */
    const bool is_float = sb_model_get_info(model)->row_type == SB_ROW_FLOAT;
    assert_true(fabs(sbs->log_p_draw - all->log_p_draw) <=
                (is_float ? 1e-8 : 1e-12) * (1 + fabs(all->log_p_draw)));
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
    for (sb_method method = SB_METHOD_SBS; sb_method_name(method) != NULL; method++) {
        if (method == SB_METHOD_EXPLICIT) /* the tree is too large */
            continue;
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

/* --- keys --- */

struct key {
    uint64_t seed, stream, draw;
};

/* The first G of a draw, which is Gumbel(0), as a uniform. */
static double first_uniform(const sb_model *model, struct key key, sb_result *result)
{
    const double zero = 0;
    const sb_input input = {.stream = key.stream};
    sb_config config;
    sb_plan plan;
    sb_config_default(&config);
    sb_plan_default(&plan);
    config.k = 1;
    config.seed = key.seed;
    plan.first_draw = key.draw;
    assert_int_equal(sb_draw_batch(model, &input, 1, &config, &plan, &result, NULL), SB_OK);
    return gumbel_cdf(result->sequences[0].g, &zero);
}

/* Neighbouring seeds, streams and draws have noise of their own: the first G of a key and of its
 * neighbour are independent, and no sum of two of the numbers stands for both. */
static void neighbouring_keys_are_independent(void **state)
{
    (void)state;
    enum { PAIRS = 10000 };
    static double u[PAIRS], v[PAIRS];
    static const struct {
        const char *name;
        struct key a, b; /* added to the key of a pair, which moves on by 2 where these differ */
    } neighbours[] = {
        {"draw, draw + 1", {0, 0, 0}, {0, 0, 1}},
        {"stream, stream + 1", {0, 0, 0}, {0, 1, 0}},
        {"seed, seed + 1", {0, 0, 0}, {1, 0, 0}},
        {"stream + 1, draw + 1", {0, 1, 0}, {0, 0, 1}},
        {"seed + 1, stream + 1", {1, 0, 0}, {0, 1, 0}},
        {"seed + 1, draw + 1", {1, 0, 0}, {0, 0, 1}},
    };
    sb_model *const model =
        open_json("{\"format\":\"sbeam-tree\",\"tree\":{\"a\":[0.317,null],\"b\":[0.683,null]}}");
    sb_result *result;
    assert_int_equal(sb_result_open(&result, NULL), SB_OK);
    for (size_t n = 0; n < sizeof neighbours / sizeof *neighbours; n++) {
        const struct key a = neighbours[n].a, b = neighbours[n].b;
        for (uint64_t i = 0; i < PAIRS; i++) {
            const struct key key = {a.seed != b.seed ? 2 * i : 3, a.stream != b.stream ? 2 * i : 5,
                                    a.draw != b.draw ? 2 * i : 7};
            u[i] = first_uniform(
                model, (struct key){key.seed + a.seed, key.stream + a.stream, key.draw + a.draw},
                result);
            v[i] = first_uniform(
                model, (struct key){key.seed + b.seed, key.stream + b.stream, key.draw + b.draw},
                result);
        }
        const struct fit fit = fit_independence(u, v, PAIRS);
        print_message("%s: chi-square %.1f on %d, p = %.3g\n", neighbours[n].name, fit.statistic,
                      fit.degrees, fit.p_value);
        assert_true(fit.p_value > FALSE_ALARM);
    }
    /* The statistic is 15 + PAIRS * r^2 for a correlation r of ranks; 57 is its limit. */
    print_message("catches a correlation of %.2g\n", sqrt(42.0 / PAIRS));
    sb_result_close(result);
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
        cmocka_unit_test(neighbouring_keys_are_independent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
