/* The methods at their limits, where they must agree with each other or with a few lines of
 * sorting; and what changes the model: bans, lengths, top-k, top-p, min-p, stop strings. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "draw_check.h"
#include "law_models.h"
#include "reference.h"

static sb_config defaults(sb_method method, int32_t k)
{
    sb_config config;
    sb_config_default(&config);
    config.method = method;
    config.k = k;
    return config;
}

static int compare_leaves(const void *a, const void *b)
{
    const struct leaf *const x = a, *const y = b;
    return (x->phi < y->phi) - (x->phi > y->phi);
}

/* --- limits --- */

static void cold_sbs_is_beam(void **state)
{
    (void)state;
    uint64_t generator = 1;
    int n_same = 0, n_all = 0;
    for (int i = 0; i < 100; i++) {
        sb_model *const model = random_tree(&generator, 5);
        sb_config config = defaults(SB_METHOD_SBS, 1 + i % 5);
        config.temperature = 0.001;
        sb_result *const sbs = draw(model, &config, 0);
        config.method = SB_METHOD_BEAM;
        sb_result *const beam = draw(model, &config, 0);
        assert_int_equal(sbs->n_sequences, beam->n_sequences);
        for (int32_t j = 0; j < sbs->n_sequences; j++) {
            const sb_sequence *const x = &sbs->sequences[j], *const y = &beam->sequences[j];
            const bool same = x->n_tokens == y->n_tokens &&
                              memcmp(x->tokens, y->tokens, (size_t)x->n_tokens * 4) == 0;
            /* Divided by 0.001, log-probabilities are thousands apart; noise reaches 40. Only what
             * is nearer than that may change places. */
            assert_true(same || fabs(x->log_p - y->log_p) < 80);
            n_same += same;
            n_all++;
        }
        sb_result_close(sbs);
        sb_result_close(beam);
        sb_model_close(model);
    }
    assert_true(n_same > 0.95 * n_all);
}

static void one_group_is_beam(void **state)
{
    (void)state;
    uint64_t generator = 2;
    for (int i = 0; i < 100; i++) {
        sb_model *const model = random_tree(&generator, 5);
        sb_config config = defaults(SB_METHOD_BEAM, 1 + i % 9);
        config.temperature = 0.7;
        sb_result *const beam = draw(model, &config, 0);
        config.method = SB_METHOD_DIVERSE;
        config.groups = 1;
        config.penalty = i % 2 ? SB_PENALTY_PATH : SB_PENALTY_STEP;
        sb_result *const diverse = draw(model, &config, 0);
        assert_int_equal(beam->n_sequences, diverse->n_sequences);
        assert_same_sequences(beam, diverse, beam->n_sequences);
        sb_result_close(beam);
        sb_result_close(diverse);
        sb_model_close(model);
    }
}

static void wide_beam_sorts_the_leaves(void **state)
{
    (void)state;
    for (int m = 0; m < N_LAW_MODELS; m++)
        for (int finished = 0; finished < 2; finished++) {
            struct setup setup;
            struct leaves leaves;
            open_law_model(m, &setup, &leaves);
            qsort(leaves.list, (size_t)leaves.n, sizeof *leaves.list, compare_leaves);
            sb_config config = defaults(SB_METHOD_BEAM, leaves.n + finished);
            config.max_len = setup.config.max_len;
            config.finished = (sb_finished)finished;
            sb_result *const beam = draw(setup.model, &config, 0);
            assert_int_equal(beam->n_sequences, leaves.n);
            for (int i = 0; i < leaves.n; i++)
                assert_true(fabs(beam->sequences[i].log_p - leaves.list[i].phi) < 1e-12);
            sb_result_close(beam);
            sb_model_close((sb_model *)(uintptr_t)setup.model);
        }
}

static void rejection_gives_up(void **state)
{
    (void)state;
    struct setup setup;
    struct leaves leaves;
    open_law_model(LOPSIDED, &setup, &leaves);
    sb_config config = defaults(SB_METHOD_REJECT, 4);
    config.max_samples = 10000;
    sb_result *const result = draw(setup.model, &config, 0);
    assert_false(result->complete);
    assert_int_equal(result->n_sequences, 2);
    assert_int_equal(result->samples, 10000);
    assert_int_equal(result->sampled_rows, 20000); /* two steps each */
    sb_result_close(result);
    config.k = 2;
    sb_result *const two = draw(setup.model, &config, 0);
    assert_true(two->complete && two->samples >= 2 && two->sampled_rows == 2 * two->samples);
    sb_result_close(two);
    sb_model_close((sb_model *)(uintptr_t)setup.model);
}

/* --- beams by hand --- */

/* Two tokens and EOS. Step 1: a .5, b .3, end .2; step 2 from a: a .1, b .3, end .6; from b: a .45,
 * b .45, end .1. */
static const char *const small_chain =
    "{\"format\":\"sbeam-chain\",\"vocab\":[\"a\",\"b\",\"</s>\"],\"eos\":\"</s>\","
    "\"start\":[0.5,0.3,0.2],\"next\":{\"a\":[0.1,0.3,0.6],\"b\":[0.45,0.45,0.1]}}";

static void expect(const sb_model *model, const sb_config *config, const char *const *texts,
                   const double *probabilities, int32_t n)
{
    sb_result *const result = draw(model, config, 0);
    assert_int_equal(result->n_sequences, n);
    for (int32_t i = 0; i < n; i++) {
        char *text;
        const sb_sequence *const sequence = &result->sequences[i];
        assert_int_equal(sb_model_decode(model, sequence->tokens, sequence->n_tokens, &text, NULL),
                         SB_OK);
        assert_string_equal(text, texts[i]);
        assert_true(fabs(exp(sequence->log_p) / probabilities[i] - 1) < 1e-12);
        sb_free(text);
    }
    sb_result_close(result);
}

static void beams_by_hand(void **state)
{
    (void)state;
    sb_model *const model = open_json(small_chain);
    sb_config config = defaults(SB_METHOD_BEAM, 2);
    config.max_len = 3;
    /* stay, k = 2. Step 1 keeps a, b. Step 2: a end .30, a b .15 (before b a, b b .135). Step 3
     * from a b: a .0675, b .0675, end .015: the a goes first. */
    const char *const stay[] = {"a", "a b a"};
    const double stay_p[] = {0.3, 0.0675};
    expect(model, &config, stay, stay_p, 2);
    /* leave, k = 2. Step 1: the two best, a .5 and b .3, are no endings: the end of .2 is dropped.
     * Step 2: a end .30 is the best and finishes; a b .15 and b a .135 go on. Step 3, of length 3:
     * b a end .081 and a b a, a b b .0675 are best; the end ranks first and finishes, the live
     * become leaves. */
    config.finished = SB_FINISHED_LEAVE;
    const char *const leave[] = {"a", "b a"};
    const double leave_p[] = {0.3, 0.081};
    expect(model, &config, leave, leave_p, 2);
    /* With a penalty of 3 the long one comes first: log .0675 / 3^3 = -.100, log .3 / 2^3 = -.150.
     */
    config.finished = SB_FINISHED_STAY;
    config.length_penalty = 3;
    const char *const longer[] = {"a b a", "a b b"};
    const double longer_p[] = {0.0675, 0.0675};
    expect(model, &config, longer, longer_p, 2);
    config.length_penalty = 0;
    config.early_stop = true;
    const char *const early[] = {"a"};
    expect(model, &config, early, stay_p, 1);
    sb_model_close(model);
}

static void diverse_by_hand(void **state)
{
    (void)state;
    sb_model *const model = open_json(small_chain);
    sb_config config = defaults(SB_METHOD_DIVERSE, 2);
    config.max_len = 2;
    config.strength = 0.7;
    /* Group 1 takes a, then a end (.30). Group 2: log .5 - .7 = -1.39 for a, log .3 = -1.20 for b:
     * b; then with the end taken once: a and b .45 (a by its id) beat .1. */
    const char *const both[] = {"a", "b a"};
    const double both_p[] = {0.3, 0.135};
    expect(model, &config, both, both_p, 2);
    /* Without strength the groups do not see each other. */
    config.strength = 0;
    const char *const same[] = {"a", "a"};
    const double same_p[] = {0.3, 0.3};
    expect(model, &config, same, same_p, 2);
    /* A weaker penalty: group 2 takes a too, at log .5 - .4. Then the end costs .4 more: along the
     * path -1.093 - .511 - .4 for it, -1.093 - 1.204 for b; at this step alone the same order. */
    config.strength = 0.4;
    expect(model, &config, same, same_p, 2);
    sb_model_close(model);
}

/* Two groups of two. Strength 0.9 a choice. Step 1: group 1 takes a .5, b .3. Group 2 sees the two
 * at log .5 - .9 = -1.593 and log .3 - .9 = -2.104, the end at log .2 = -1.609: it takes a and the
 * end. Step 2, group 1: a end .30, a b .15. Group 2, from a: the end was chosen once, b once: end
 * -.511 - .9, b -1.204 - .9, a -2.303. Along the path a stands at -1.593: a end -3.004, a b -3.697,
 * a a -3.896, against the finished end at -1.609: the end and a end stay. For the step alone a
 * stands at -.693: a end -2.104, below the end at -1.609, which is reported first. */
static void groups_by_hand(void **state)
{
    (void)state;
    sb_model *const model = open_json(small_chain);
    sb_config config = defaults(SB_METHOD_DIVERSE, 4);
    config.max_len = 2;
    config.groups = 2;
    config.strength = 0.9;
    const char *const path[] = {"a", "a b", "", "a"};
    const double path_p[] = {0.3, 0.15, 0.2, 0.3};
    expect(model, &config, path, path_p, 4);
    /* By phi alone a end (.30) comes before the end (.20). */
    config.penalty = SB_PENALTY_STEP;
    const char *const step[] = {"a", "a b", "a", ""};
    const double step_p[] = {0.3, 0.15, 0.3, 0.2};
    expect(model, &config, step, step_p, 4);
    sb_model_close(model);
}

/* A penalty counts every choice of the earlier groups: three groups of one on two tokens of .5 and
 * .5. The first takes a. The second: a costs .3, b nothing: b. The third: a and b cost .3 each: a.
 * A fourth: a costs .6, b .3: b. */
static void choices_are_counted(void **state)
{
    (void)state;
    sb_model *const model = open_json("{\"format\":\"sbeam-tree\",\"tree\":{\"a\":[0.5,null],"
                                      "\"b\":[0.5,null]}}");
    sb_config config = defaults(SB_METHOD_DIVERSE, 4);
    config.strength = 0.3;
    const char *const texts[] = {"a", "b", "a", "b"};
    const double p[] = {0.5, 0.5, 0.5, 0.5};
    expect(model, &config, texts, p, 4);
    sb_model_close(model);
}

/* finished leave with a penalty of 2, k = 1, at most 3 steps. Step 1: a .5 goes on. Step 2: a end
 * log .3 / 4 = -.301 finishes first, and a b, the best other, goes on at log .15 / 4 = -.474. It
 * can still reach log .15 / 9 = -.211, so the search goes on: a b a at log .0675 / 9 = -.2995 wins.
 */
static void leave_by_hand(void **state)
{
    (void)state;
    sb_model *const model = open_json(small_chain);
    sb_config config = defaults(SB_METHOD_BEAM, 1);
    config.finished = SB_FINISHED_LEAVE;
    config.max_len = 3;
    config.length_penalty = 2;
    const char *const later[] = {"a b a"};
    const double later_p[] = {0.0675};
    expect(model, &config, later, later_p, 1);
    config.early_stop = true;
    const char *const first[] = {"a"};
    const double first_p[] = {0.3};
    expect(model, &config, first, first_p, 1);
    sb_model_close(model);
}

/* --- the numbers of a draw --- */

static void draws_have_their_numbers(void **state)
{
    (void)state;
    sb_model *const model = open_json(
        "{\"format\":\"sbeam-tree\",\"tree\":{\"A\":[0.61,{\"p\":[0.37,null],\"q\":[0.63,null]}],"
        "\"B\":[0.39,{\"p\":[0.21,null],\"q\":[0.79,null]}],\"C\":[1e-30,null]}}");
    for (int32_t k = 1; k <= 6; k++) {
        sb_config config = defaults(SB_METHOD_SBS, k);
        sb_result *const result = draw(model, &config, 0);
        double left = 1, log_p_draw = 0;
        assert_int_equal(result->exhausted, k >= 5);
        for (int32_t i = 0; i < result->n_sequences; i++) {
            const sb_sequence *const s = &result->sequences[i];
            const double q =
                k >= 5 ? 1 : 1 - exp(-exp(s->log_p - result->kappa)); /* none is tiny below k = 5 */
            assert_true(fabs(s->log_weight - (s->log_p - log(q))) < 1e-9);
            log_p_draw += i == 4 ? 0 : s->log_p - log(left); /* the fifth is certain */
            left -= exp(s->log_p);
        }
        assert_true(fabs(result->log_p_draw - log_p_draw) < 1e-9);
        sb_result_close(result);
    }
    sb_model_close(model);
}

/* --- what changes the model --- */

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
    sb_config config = defaults(SB_METHOD_SBS, 1000);
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

    config = defaults(SB_METHOD_SBS, 1000);
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
    sb_config config = defaults(SB_METHOD_SBS, 1000);
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
    sb_config config = defaults(SB_METHOD_SBS, 100);
    config.min_len = 2;
    sb_result *const result = draw_all_of(setup.model, &config);
    for (int32_t i = 0; i < result->n_sequences; i++)
        assert_true(result->sequences[i].n_tokens >= 2);
    sb_result_close(result);
    sb_model_close((sb_model *)(uintptr_t)setup.model);
}

/* Temperatures and probabilities far out. */
static void extremes(void **state)
{
    (void)state;
    sb_model *const model = open_json(
        "{\"format\":\"sbeam-tree\",\"tree\":{\"a\":[1,{\"x\":[1e-300,null],\"y\":[1,null]}],"
        "\"b\":[1e-300,{\"x\":[0.5,null],\"y\":[0.5,null]}]}}");
    const double temperatures[] = {1, 0.05, 0.001, 1e-6, 1e-100, 100, 1e100};
    for (int i = 0; i < 7; i++) {
        sb_config config = defaults(SB_METHOD_SBS, 10);
        config.temperature = temperatures[i];
        sb_result *const result = draw(model, &config, 0);
        assert_int_equal(result->n_sequences, 4);
        for (int32_t j = 0; j < 4; j++) {
            assert_true(isfinite(result->sequences[j].g) && isfinite(result->sequences[j].log_p));
            assert_true(j == 0 || result->sequences[j].g <= result->sequences[j - 1].g);
        }
        sb_result_close(result);
    }
    sb_model_close(model);
}

/* A sum of rounded probabilities reaches the boundary that it is meant to reach. */
static void boundaries_are_reached(void **state)
{
    (void)state;
    sb_model *const model = open_json("{\"format\":\"sbeam-tree\",\"tree\":{\"a\":[0.6,null],"
                                      "\"b\":[0.3,null],\"c\":[0.1,null]}}");
    sb_config config = defaults(SB_METHOD_SBS, 10);
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

/* Float rows at both ends of the temperatures, with masks and large logits. */
static void float_extremes(void **state)
{
    (void)state;
    const double temperatures[] = {1e-100, 1e-30, 1, 1e30, 1e38, 1e100};
    for (int i = 0; i < 6; i++)
        for (int mask = 0; mask < 2; mask++) {
            sb_config config = defaults(SB_METHOD_SBS, 20);
            config.max_len = 1;
            config.temperature = temperatures[i];
            const sb_decoder_spec spec = {
                .vocab_size = 11, .eos = -1, .row_type = SB_ROW_FLOAT, .max_slots = 1};
            const sb_job job = {0};
            float row[11];
            for (int j = 0; j < 11; j++)
                row[j] = (float)(2000 * (j - 5));
            if (mask)
                row[3] = row[10] = -INFINITY;
            sb_decoder *decoder;
            sb_result *result;
            assert_int_equal(sb_decoder_open(&decoder, &spec, &config, NULL), SB_OK);
            assert_int_equal(sb_result_open(&result, NULL), SB_OK);
            assert_int_equal(sb_decoder_add(decoder, &job, NULL, NULL), SB_OK);
            assert_int_equal(sb_decoder_advance(decoder, row, 11, NULL), SB_OK);
            assert_int_equal(sb_decoder_take(decoder, 0, result, NULL), SB_OK);
            assert_int_equal(result->n_sequences, mask ? 9 : 11);
            for (int32_t j = 0; j < result->n_sequences; j++)
                assert_true(isfinite(result->sequences[j].g) &&
                            isfinite(result->sequences[j].log_p));
            if (temperatures[i] > 1e20)
                assert_true(fabs(exp(result->sequences[0].log_p) * result->n_sequences - 1) < 1e-5);
            sb_result_close(result);
            sb_decoder_close(decoder);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cold_sbs_is_beam),
        cmocka_unit_test(one_group_is_beam),
        cmocka_unit_test(wide_beam_sorts_the_leaves),
        cmocka_unit_test(rejection_gives_up),
        cmocka_unit_test(beams_by_hand),
        cmocka_unit_test(diverse_by_hand),
        cmocka_unit_test(groups_by_hand),
        cmocka_unit_test(choices_are_counted),
        cmocka_unit_test(leave_by_hand),
        cmocka_unit_test(draws_have_their_numbers),
        cmocka_unit_test(boundaries_are_reached),
        cmocka_unit_test(float_extremes),
        cmocka_unit_test(filters_change_the_model),
        cmocka_unit_test(stop_strings_are_leaves),
        cmocka_unit_test(early_leaves_of_trees_are_banned),
        cmocka_unit_test(extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
