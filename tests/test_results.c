/* Tests the numbers of a draw, its weights and the probability of the whole draw, against
 * arithmetic on leaves whose probabilities are known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "draw_check.h"

/* A tree of four leaves; the second has a fifth beside them of next to nothing, by which everything
 * is divided. */
#define AB                                                                                         \
    "{\"format\":\"sbeam-tree\",\"tree\":{\"A\":[0.61,{\"p\":[0.37,null],\"q\":[0.63,null]}],"     \
    "\"B\":[0.39,{\"p\":[0.21,null],\"q\":[0.79,null]}]"
static const char *const four = AB "}}", *const five = AB ",\"C\":[1e-30,null]}}";

static const struct {
    const char *text;
    long double p;
} leaves[] = {
    {"A p", 0.2257L}, /* 0.61 * 0.37 */
    {"A q", 0.3843L}, {"B p", 0.0819L}, {"B q", 0.3081L}, {"C", 1e-30L},
};

/* The probability of a sequence, by its text. */
static long double p_of(const sb_model *model, const sb_sequence *sequence)
{
    char *text;
    long double p = -1;
    assert_int_equal(sb_model_decode(model, sequence->tokens, sequence->n_tokens, &text, NULL),
                     SB_OK);
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++)
        if (strcmp(text, leaves[i].text) == 0)
            p = leaves[i].p;
    sb_free(text);
    assert_true(p > 0);
    return p;
}

/* The mass of the leaves that are not among the first n of a result: sums, no difference. */
static long double mass_left(const sb_model *model, const sb_result *result, int32_t n,
                             int n_leaves)
{
    long double left = 0;
    for (int i = 0; i < n_leaves; i++) {
        bool drawn = false;
        for (int32_t j = 0; j < n; j++)
            drawn = drawn || p_of(model, &result->sequences[j]) == leaves[i].p;
        left += drawn ? 0 : leaves[i].p;
    }
    return left;
}

/* Each item by its share of what is left when its turn comes. */
static double order_log_p(const sb_model *model, const sb_result *result, int n_leaves)
{
    long double sum = 0;
    for (int32_t i = 0; i < result->n_sequences; i++)
        sum += logl(p_of(model, &result->sequences[i]) / mass_left(model, result, i, n_leaves));
    return (double)sum;
}

static void check_numbers(const sb_model *model, const sb_result *result, int n_leaves)
{
    assert_true(fabs(result->log_p_draw - order_log_p(model, result, n_leaves)) < 1e-12);
    for (int32_t i = 0; i < result->n_sequences; i++) {
        const sb_sequence *const s = &result->sequences[i];
        const long double p = p_of(model, s);
        const long double q =
            result->exhausted ? 1 : -expm1l(-expl(logl(p) - (long double)result->kappa));
        assert_true(fabs(s->log_p - (double)logl(p)) < 1e-14 * (1 - s->log_p));
        if (isnan(result->kappa))
            assert_true(isnan(s->log_weight));
        else
            assert_true(fabs(s->log_weight - (double)logl(p / q)) < 1e-12);
    }
}

static void weights_and_order(void **state)
{
    (void)state;
    for (int n_leaves = 4; n_leaves <= 5; n_leaves++) {
        sb_model *const model = open_json(n_leaves == 4 ? four : five);
        for (int32_t k = 1; k <= 6; k++)
            for (uint64_t d = 0; d < 50; d++) {
                sb_config config = config_of(SB_METHOD_SBS, k);
                config.seed = 2019;
                sb_result *const result = draw(model, &config, d);
                assert_int_equal(result->exhausted, k >= n_leaves);
                assert_int_equal(result->n_sequences, k < n_leaves ? k : n_leaves);
                assert_true(isfinite(result->kappa) == (k < n_leaves));
                check_numbers(model, result, n_leaves);
                sb_result_close(result);
                /* Without kappa there are no weights, unless nothing is left out. */
                config.kappa = false;
                sb_result *const bare = draw(model, &config, d);
                assert_true(k >= n_leaves ? bare->kappa == -INFINITY : isnan(bare->kappa));
                assert_int_equal(bare->exhausted, k >= n_leaves);
                check_numbers(model, bare, n_leaves);
                sb_result_close(bare);
            }
        sb_model_close(model);
    }
}

/* One order, digit by digit: A q, B q, A p, B p of the four have
 * log(0.3843 * 0.3081/0.6157 * 0.2257/0.3076 * 1) = -1.9582; a fifth leaf of 1e-30 changes nothing,
 * though 1 - (the four) is then a rounding error of 1e-16 or none. */
static void one_order_by_hand(void **state)
{
    (void)state;
    sb_model *const model = open_json(five);
    sb_config config = config_of(SB_METHOD_SBS, 5);
    int n_seen = 0;
    for (uint64_t d = 0; d < 50; d++) {
        sb_result *const result = draw(model, &config, d);
        static const int order[] = {1, 3, 0, 2, 4};
        bool same = true;
        for (int i = 0; i < 5; i++)
            same = same && p_of(model, &result->sequences[i]) == leaves[order[i]].p;
        if (same) {
            assert_true(fabs(result->log_p_draw + 1.9582) < 1e-4);
            n_seen++;
        }
        sb_result_close(result);
    }
    assert_true(n_seen > 2); /* 7 of 50 expected */
    sb_model_close(model);
}

/* Rejection draws in the same order; the other methods have no such numbers. */
static void numbers_of_the_others(void **state)
{
    (void)state;
    sb_model *const model = open_json(four);
    for (uint64_t d = 0; d < 20; d++)
        for (int32_t k = 1; k <= 4; k++) {
            const sb_config config = config_of(SB_METHOD_REJECT, k);
            sb_result *const result = draw(model, &config, d);
            check_numbers(model, result, 4);
            sb_result_close(result);
        }
    static const sb_method without[] = {SB_METHOD_BEAM,    SB_METHOD_SAMPLE,
                                        SB_METHOD_DIVERSE, SB_METHOD_RESAMPLE,
                                        SB_METHOD_COMMIT,  SB_METHOD_BEAM_SAMPLE};
    for (int i = 0; i < 6; i++) {
        const sb_config config = config_of(without[i], 2);
        sb_result *const result = draw(model, &config, 0);
        assert_true(isnan(result->log_p_draw) && isnan(result->kappa));
        assert_true(isnan(result->sequences[1].log_weight) && isnan(result->sequences[1].g));
        sb_result_close(result);
    }
    sb_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_and_order),
        cmocka_unit_test(one_order_by_hand),
        cmocka_unit_test(numbers_of_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
