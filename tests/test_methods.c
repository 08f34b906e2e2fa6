/* Tests the methods at their limits, at which they must agree with each other or with a few lines
 * of sorting, and on examples worked out by hand. */
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
        sb_config config = config_of(SB_METHOD_SBS, 1 + i % 5);
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
        sb_config config = config_of(SB_METHOD_BEAM, 1 + i % 9);
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
            sb_config config = config_of(SB_METHOD_BEAM, leaves.n + finished);
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

/* The sequences of commit are those of sbs that are the first with their first token. */
static void commit_follows_sbs(void **state)
{
    (void)state;
    uint64_t generator = 3;
    for (int i = 0; i < 100; i++) {
        sb_model *const model = random_tree(&generator, 4);
        sb_config config = config_of(SB_METHOD_SBS, 10000);
        config.seed = (uint64_t)i;
        sb_result *const all = draw(model, &config, 0);
        assert_true(all->exhausted);
        config.method = SB_METHOD_COMMIT;
        config.k = 1 + i % 4;
        sb_result *const commit = draw(model, &config, 0);
        int32_t n = 0;
        for (int32_t j = 0; j < all->n_sequences; j++) {
            const sb_sequence *const sequence = &all->sequences[j];
            bool is_first = n < config.k;
            for (int32_t h = 0; h < n; h++)
                is_first &= commit->sequences[h].tokens[0] != sequence->tokens[0];
            if (!is_first)
                continue;
            assert_true(n < commit->n_sequences);
            const sb_sequence *const ours = &commit->sequences[n++];
            assert_int_equal(ours->n_tokens, sequence->n_tokens);
            assert_memory_equal(ours->tokens, sequence->tokens, (size_t)ours->n_tokens * 4);
            assert_true(ours->log_p == sequence->log_p && isnan(ours->g));
        }
        assert_int_equal(commit->n_sequences, n);
        assert_int_equal(commit->exhausted, n == all->n_sequences);
        sb_result_close(commit);
        sb_result_close(all);
        sb_model_close(model);
    }
}

/* Where 2k candidates are all there are, nothing is left to chance. */
static void wide_beam_sample_is_beam(void **state)
{
    (void)state;
    for (int m = 0; m < N_LAW_MODELS; m++) {
        struct setup setup;
        struct leaves leaves;
        open_law_model(m, &setup, &leaves);
        for (int32_t k = 1; k <= leaves.n + 1; k++) {
            /* k prefixes have at most 3k children. */
            if (m != FIGURE_1 && k < leaves.n)
                continue;
            sb_config config = config_of(SB_METHOD_BEAM, k);
            config.max_len = setup.config.max_len;
            sb_result *const beam = draw(setup.model, &config, 0);
            config.method = SB_METHOD_BEAM_SAMPLE;
            sb_result *const sampled = draw(setup.model, &config, 0);
            assert_int_equal(beam->n_sequences, sampled->n_sequences);
            assert_same_sequences(beam, sampled, beam->n_sequences);
            assert_int_equal(sampled->model_rows, beam->model_rows);
            assert_int_equal(sampled->exhausted, k >= leaves.n);
            sb_result_close(beam);
            sb_result_close(sampled);
        }
        sb_model_close((sb_model *)(uintptr_t)setup.model);
    }
}

static void rejection_gives_up(void **state)
{
    (void)state;
    struct setup setup;
    struct leaves leaves;
    open_law_model(LOPSIDED, &setup, &leaves);
    sb_config config = config_of(SB_METHOD_REJECT, 4);
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
    sb_config config = config_of(SB_METHOD_BEAM, 2);
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

/* finished leave, k = 1, length penalty 1. Step 1: the end, log .6 = -.511, is the best and
 * finishes; a goes on with log .35 = -1.050. Divided by 2 it is -.525, which is worse than -.511;
 * but divided by max_len = 4 it could still be -.262, and so it is: .9 at each step gives log
 * .25515 / 4 =
 * -.341. */
static void leave_waits_for_long_ones(void **state)
{
    (void)state;
    sb_model *const model = open_json(
        "{\"format\":\"sbeam-chain\",\"vocab\":[\"a\",\"b\",\"</s>\"],\"eos\":\"</s>\","
        "\"start\":[0.35,0.05,0.6],\"next\":{\"a\":[0.9,0.02,0.08],\"b\":[0.5,0.25,0.25]}}");
    sb_config config = config_of(SB_METHOD_BEAM, 1);
    config.finished = SB_FINISHED_LEAVE;
    config.length_penalty = 1;
    config.max_len = 4;
    const char *const longest[] = {"a a a a"}, *const first[] = {""};
    const double longest_p[] = {0.35 * 0.9 * 0.9 * 0.9}, first_p[] = {0.6};
    expect(model, &config, longest, longest_p, 1);
    /* With max_len = 1 there is nothing to wait for; with 2, log .315 / 2 = -.578 is not enough. */
    config.max_len = 2;
    expect(model, &config, first, first_p, 1);
    config.max_len = 4;
    config.early_stop = true; /* one has finished: that is all */
    expect(model, &config, first, first_p, 1);
    sb_model_close(model);
}

/* finished leave, k = 2, on a tree. Step 1: a .5 and the leaf "." .3 are the two best: "."
 * finishes. Step 2: "a a" .4 and the leaf "a ." .09 are the two best (b x and b y have .08): two
 * have finished. Step 3: the leaf "a a ." has .36 and takes the place of "a .". */
static void leave_goes_on_while_it_can_win(void **state)
{
    (void)state;
    sb_model *const model = open_json(
        "{\"format\":\"sbeam-tree\",\"tree\":{\".\":[0.3,null],\"a\":[0.5,{\".\":[0.18,null],"
        "\"a\":[0.8,{\".\":[0.9,null],\"a\":[0.1,null]}],\"c\":[0.02,null]}],"
        "\"b\":[0.2,{\"x\":[0.4,null],\"y\":[0.4,null],\".\":[0.2,null]}]}}");
    sb_config config = config_of(SB_METHOD_BEAM, 2);
    config.finished = SB_FINISHED_LEAVE;
    const char *const by_p[] = {"a a .", "."}, *const early[] = {".", "a ."};
    const double by_p_p[] = {0.36, 0.3}, early_p[] = {0.3, 0.09};
    expect(model, &config, by_p, by_p_p, 2);
    config.early_stop = true;
    expect(model, &config, early, early_p, 2);
    config.early_stop = false;
    /* A = -1 multiplies by the length: log .3 = -1.204, 2 log .09 = -4.816, and "a a" could at best
     * get 3 log .4 = -2.749 at the next step (never again as much later); it gets 3 log .36 =
     * -3.065. */
    config.length_penalty = -1;
    const char *const shorter[] = {".", "a a ."};
    const double shorter_p[] = {0.3, 0.36};
    expect(model, &config, shorter, shorter_p, 2);
    sb_model_close(model);
}

static void diverse_by_hand(void **state)
{
    (void)state;
    sb_model *const model = open_json(small_chain);
    sb_config config = config_of(SB_METHOD_DIVERSE, 2);
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
    sb_config config = config_of(SB_METHOD_DIVERSE, 4);
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
    sb_config config = config_of(SB_METHOD_DIVERSE, 4);
    config.strength = 0.3;
    const char *const texts[] = {"a", "b", "a", "b"};
    const double p[] = {0.5, 0.5, 0.5, 0.5};
    expect(model, &config, texts, p, 4);
    sb_model_close(model);
}

/* Two groups of two, strength .5. Step 1: group 1 takes a (-.693) and b (-1.204). Group 2: a
 * -1.193, c -1.609, b -1.704: a and c. Step 2: group 1 takes a x (log .3) and b x (log .21): x
 * twice, which costs 1 now.
 *
 *          path                            step: the penalty of step 1 is forgotten
 *   a x    -1.193 - .511 - 1 = -2.704      -.693 - .511 - 1 = -2.204
 *   a y    -1.193 - .916     = -2.109      -.693 - .916     = -1.609
 *   c y    -1.609 - .799     = -2.408      the same
 *
 * So group 2 takes a y and c y, or a y and a x. Had x been counted once, a x would have -2.204 on
 * the path and come before c y. With `step` the score is log p again: a x first. */
static void groups_of_two_by_hand(void **state)
{
    (void)state;
    sb_model *const model = open_json(
        "{\"format\":\"sbeam-tree\",\"tree\":{\"a\":[0.5,{\"x\":[0.6,null],\"y\":[0.4,null]}],"
        "\"b\":[0.3,{\"x\":[0.7,null],\"y\":[0.3,null]}],"
        "\"c\":[0.2,{\"x\":[0.55,null],\"y\":[0.45,null]}]}}");
    sb_config config = config_of(SB_METHOD_DIVERSE, 4);
    config.groups = 2;
    config.strength = 0.5;
    const char *const path[] = {"a x", "b x", "a y", "c y"};
    const double path_p[] = {0.3, 0.21, 0.2, 0.09};
    expect(model, &config, path, path_p, 4);
    config.penalty = SB_PENALTY_STEP;
    const char *const step[] = {"a x", "b x", "a x", "a y"};
    const double step_p[] = {0.3, 0.21, 0.3, 0.2};
    expect(model, &config, step, step_p, 4);
    sb_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cold_sbs_is_beam),
        cmocka_unit_test(one_group_is_beam),
        cmocka_unit_test(wide_beam_sorts_the_leaves),
        cmocka_unit_test(commit_follows_sbs),
        cmocka_unit_test(wide_beam_sample_is_beam),
        cmocka_unit_test(rejection_gives_up),
        cmocka_unit_test(beams_by_hand),
        cmocka_unit_test(leave_waits_for_long_ones),
        cmocka_unit_test(leave_goes_on_while_it_can_win),
        cmocka_unit_test(diverse_by_hand),
        cmocka_unit_test(groups_by_hand),
        cmocka_unit_test(choices_are_counted),
        cmocka_unit_test(groups_of_two_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
