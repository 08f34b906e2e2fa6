/* Tests the shipped translation model on a hundred sentences: draws do not depend on batch and
 * threads, no sequence occurs twice, and the best translation is never empty. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "draw_check.h"
#include "nn/gemm.h"
#include "statistics.h"

enum { N_SENTENCES = 100, LINE_SIZE = 300 };

static const char model_path[] = TEST_DATA "/../../models/enfr-everyday.safetensors";
static char lines[N_SENTENCES][LINE_SIZE];
static sb_input inputs[N_SENTENCES];
static sb_model *model;
static size_t n_sentences; /* all of them, or fewer under a sanitizer */

static int open_everything(void **state)
{
    (void)state;
    n_sentences = share_of(N_SENTENCES);
    FILE *const file = fopen(TEST_DATA "/enfr-everyday/sources.txt", "r");
    if (file == NULL)
        return -1;
    for (size_t i = 0; i < n_sentences; i++) {
        if (fgets(lines[i], LINE_SIZE, file) == NULL)
            return -1;
        inputs[i] = (sb_input){lines[i], strcspn(lines[i], "\n"), i, NULL};
    }
    fclose(file);
    sb_error err;
    if (sb_model_open(&model, model_path, &err) == SB_OK)
        return 0;
    print_message("%s\n", err.message);
    return -1;
}

static int close_everything(void **state)
{
    (void)state;
    sb_model_close(model);
    return 0;
}

static void draw_sentences(const sb_config *config, int32_t threads, int32_t batch,
                           sb_result **results)
{
    sb_plan plan;
    sb_error err = {SB_OK, ""};
    sb_plan_default(&plan);
    plan.threads = threads;
    plan.batch = batch;
    for (size_t i = 0; i < n_sentences; i++)
        assert_int_equal(sb_result_open(&results[i], NULL), SB_OK);
    if (sb_draw_batch(model, inputs, n_sentences, config, &plan, results, &err) != SB_OK)
        fail_msg("%s", err.message);
}

static void close_results(sb_result **results)
{
    for (size_t i = 0; i < n_sentences; i++)
        sb_result_close(results[i]);
}

static bool is_same(const sb_sequence *a, const sb_sequence *b)
{
    return a->n_tokens == b->n_tokens &&
           memcmp(a->tokens, b->tokens, (size_t)a->n_tokens * sizeof *a->tokens) == 0;
}

/* With a product whose rows do not see each other, to the bit; else up to its rounding. */
static void compare(const sb_result *a, const sb_result *b, bool same_search)
{
    /* The two searches add up the mass that they leave out in different orders. */
    assert_true(fabs(a->log_p_draw - b->log_p_draw) <= 1e-6 * (1 + fabs(a->log_p_draw)));
    if (gemm_best_way() == GEMM_PACKED) {
        if (same_search)
            assert_same_results(a, b);
        assert_same_draws(a, b);
        return;
    }
    assert_int_equal(a->n_sequences, b->n_sequences);
    for (int32_t i = 0; i < a->n_sequences; i++) {
        assert_true(is_same(&a->sequences[i], &b->sequences[i]));
        assert_true(fabs(a->sequences[i].g - b->sequences[i].g) <= 1e-4);
    }
}

static void batches_and_threads_agree(void **state)
{
    (void)state;
    static const int32_t plans[][2] = {{1, 16}, {2, 1}, {2, 16}};
    sb_config config = config_of(SB_METHOD_SBS, 10);
    config.temperature = 0.3;
    config.seed = 7;
    sb_result *alone[N_SENTENCES], *results[N_SENTENCES];
    draw_sentences(&config, 1, 1, alone);
    for (size_t p = 0; p < sizeof plans / sizeof *plans; p++) {
        draw_sentences(&config, plans[p][0], plans[p][1], results);
        for (size_t i = 0; i < n_sentences; i++)
            compare(alone[i], results[i], true);
        close_results(results);
    }
    for (size_t s = 0; s < n_sentences; s++) {
        assert_int_equal(alone[s]->n_sequences, 10);
        for (int32_t i = 0; i < 10; i++)
            for (int32_t j = 0; j < i; j++)
                assert_false(is_same(&alone[s]->sequences[i], &alone[s]->sequences[j]));
    }
    close_results(alone);
}

/* Both searches draw the same. Best-first search evaluates the minimum of rows with one prefix at a
 * time, and not many more with a few. */
static void searches_agree(void **state)
{
    (void)state;
    static const double temperatures[] = {0.1, 0.3, 1};
    static const struct {
        int32_t parallel;
        double most; /* times the minimum of rows, at temperature 0.1 */
    } ways[] = {{1, 1}, {4, 1.15}, {8, 1.4}};
    sb_config config = config_of(SB_METHOD_SBS, 20);
    sb_result *level[N_SENTENCES], *best[N_SENTENCES];
    for (int t = 0; t < 3; t++) {
        config.temperature = temperatures[t];
        config.search = SB_SEARCH_LEVEL;
        config.parallel = 0;
        draw_sentences(&config, 2, 16, level);
        config.search = SB_SEARCH_BEST_FIRST;
        for (int w = 0; w < 3; w++) {
            config.parallel = ways[w].parallel;
            draw_sentences(&config, 2, 16, best);
            uint64_t n_rows = 0, n_least = 0;
            for (size_t i = 0; i < n_sentences; i++) {
                compare(level[i], best[i], false);
                n_rows += best[i]->model_rows;
                n_least += count_prefixes(best[i]);
            }
            if (config.parallel == 1)
                assert_int_equal(n_rows, n_least);
            else if (t == 0)
                assert_true((double)n_rows <= ways[w].most * (double)n_least);
            close_results(best);
        }
        close_results(level);
    }
}

static void best_translations_are_not_empty(void **state)
{
    (void)state;
    const sb_config config = config_of(SB_METHOD_BEAM, 5);
    sb_result *results[N_SENTENCES];
    draw_sentences(&config, 1, 16, results);
    for (size_t i = 0; i < n_sentences; i++)
        assert_true(results[i]->sequences[0].n_tokens > 0);
    close_results(results);
}

static void text_comes_back(void **state)
{
    (void)state;
    static const char french[] = "Où est la gare ?";
    sb_error err;
    int32_t *tokens, n;
    char *text;
    assert_int_equal(sb_model_encode(model, french, strlen(french), &tokens, &n, &err), SB_OK);
    assert_int_equal(sb_model_decode(model, tokens, n, &text, &err), SB_OK);
    assert_string_equal(text, french);
    sb_free(text);
    sb_free(tokens);
}

static void check_refused(const char *text, size_t size, const char *message)
{
    sb_session *session;
    sb_error err = {SB_OK, ""};
    assert_int_equal(sb_session_open(&session, model, &(sb_session_spec){.max_inputs = 1}, &err),
                     SB_OK);
    assert_int_equal(sb_session_begin(session, 0, text, size, &err), SB_ERR_INPUT);
    assert_string_equal(err.message, message);
    sb_session_close(session);
}

/* Nothing is cut off in silence. */
static void long_inputs_are_refused(void **state)
{
    (void)state;
    static char text[70000];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = i % 5 < 4 ? "word"[i % 5] : ' ';
    check_refused(text, 5 * 128, "128 tokens; the model takes at most 127");
    check_refused(text, 5 * 1000, "1000 tokens; the model takes at most 127");
    check_refused(text, sizeof text,
                  "70000 bytes; the model takes at most 65536 bytes and 127 tokens");
}

int main(void)
{
    if (access(model_path, R_OK) != 0) {
        printf("skipped: %s is not there\n", model_path);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_and_threads_agree),       cmocka_unit_test(searches_agree),
        cmocka_unit_test(best_translations_are_not_empty), cmocka_unit_test(text_comes_back),
        cmocka_unit_test(long_inputs_are_refused),
    };
    return cmocka_run_group_tests(tests, open_everything, close_everything);
}
