/* The first k sequences of a cursor are the draw of k, for every k: bit for bit, and with the same
 * kappa, weights and probability. It does not matter where the cursor is interrupted, nor how many
 * states it keeps. */
#include "decode/cursor.h"
#include "draw_check.h"
#include "model_check.h"
#include "reference.h"
#include "statistics.h"

enum { MOST_K = 50 };

/* How much a cursor keeps; 0: as usual. Small numbers make it compute states and rows again. */
static size_t most_states, first_children;

static sb_cursor *open_cursor(const sb_model *model, const char *text, const sb_config *config)
{
    const sb_cursor_spec spec = {.text = text, .size = strlen(text), .stream = 3, .draw = 2};
    sb_cursor *cursor;
    sb_error err;
    if (sb_cursor_open(&cursor, model, &spec, config, &err) != SB_OK)
        fail_msg("%s", err.message);
    sb_decoder *const decoder = cursor_get_decoder(cursor);
    decoder->most_states = most_states > 0 ? most_states : decoder->most_states;
    decoder->first_children = first_children > 0 ? first_children : decoder->first_children;
    return cursor;
}

static sb_result *draw_k(const sb_model *model, const char *text, const sb_config *config)
{
    const sb_input input = {.text = text, .size = strlen(text), .stream = 3};
    sb_result *result;
    sb_error err;
    sb_plan plan;
    sb_plan_default(&plan);
    plan.first_draw = 2;
    assert_int_equal(sb_result_open(&result, NULL), SB_OK);
    if (sb_draw_batch(model, &input, 1, config, &plan, &result, &err) != SB_OK)
        fail_msg("%s", err.message);
    return result;
}

/* Compares the result of the cursor with the draw of as many sequences. */
static void compare_result(sb_cursor *cursor, const sb_result *expected, double tolerance)
{
    sb_result *result;
    assert_int_equal(sb_result_open(&result, NULL), SB_OK);
    assert_int_equal(sb_cursor_get_result(cursor, result, NULL), SB_OK);
    assert_same_draws(result, expected);
    assert_true(sb_cursor_threshold(cursor) == result->kappa);
    const double x = result->log_p_draw, y = expected->log_p_draw;
    assert_true(x == y || fabs(x - y) <= tolerance * (1 + fabs(x)));
    sb_result_close(result);
}

/* Takes sequences one by one; before each, an interrupt stops the cursor once. */
static void check_cursor(const sb_model *model, const char *text, const sb_config *config,
                         double tolerance)
{
    sb_cursor *const cursor = open_cursor(model, text, config);
    sb_interrupt *raised;
    sb_error err;
    assert_int_equal(sb_interrupt_open(&raised, NULL), SB_OK);
    sb_interrupt_raise(raised);
    for (int32_t k = 1; k <= MOST_K; k++) {
        sb_sequence sequence;
        sb_config fixed = *config;
        fixed.k = k;
        fixed.search = k % 2 ? SB_SEARCH_LEVEL : SB_SEARCH_AUTO;
        fixed.parallel = 0;
        sb_result *const expected = draw_k(model, text, &fixed);
        sb_cursor_set_interrupt(cursor, k % 3 ? raised : NULL);
        int found = sb_cursor_next(cursor, &sequence, &err);
        sb_cursor_set_interrupt(cursor, NULL);
        if (found < 0) {
            assert_int_equal(err.status, SB_ERR_STOPPED);
            found = sb_cursor_next(cursor, &sequence, &err);
        }
        assert_int_equal(found, expected->n_sequences == k);
        if (found == 1) {
            const sb_sequence *const same = &expected->sequences[k - 1];
            assert_true(sequence.g == same->g && sequence.log_p == same->log_p);
            assert_int_equal(sequence.n_tokens, same->n_tokens);
            assert_true(isnan(sequence.log_weight));
        }
        if (expected->n_sequences > 0)
            compare_result(cursor, expected, tolerance);
        sb_result_close(expected);
        if (found == 0)
            break;
    }
    sb_interrupt_close(raised);
    sb_cursor_close(cursor);
}

static void check_settings(const sb_model *model, const char *text, uint64_t number,
                           int32_t max_len, double tolerance)
{
    static const double temperatures[] = {1, 0.3, 0.1, 3};
    static const int32_t parallels[] = {0, 1, 2, 9};
    sb_config config = config_of(SB_METHOD_SBS, 5);
    config.temperature = temperatures[number % 4];
    config.parallel = parallels[number / 4 % 4];
    config.seed = number;
    config.max_len = max_len;
    if (number % 5 == 1)
        config.top_k = 3;
    most_states = number % 3 == 0 ? 2 : number % 3 == 1 ? 5 : 0;
    first_children = number % 2 ? 1 : 0;
    check_cursor(model, text, &config, tolerance);
    most_states = first_children = 0;
}

static void cursors_on_trees(void **state)
{
    (void)state;
    uint64_t generator = 77;
    for (uint64_t number = 0; number < (uint64_t)share_of(120); number++) {
        sb_model *const model = random_tree(&generator, 2 + (int)(number % 5));
        check_settings(model, "", number, number % 4 == 0 ? 3 : 200, 1e-12);
        sb_model_close(model);
    }
}

static void cursors_on_chains_and_arpa(void **state)
{
    (void)state;
    sb_model *const chain = open_file(TEST_DATA "/chain.json"), *const arpa = open_file(
                                                                    TEST_DATA "/small.arpa");
    for (uint64_t number = 0; number < (uint64_t)share_of(32); number++) {
        check_settings(chain, "", number, 12, 1e-12);
        check_settings(arpa, number % 2 ? "a" : "", number, 6, 1e-12);
    }
    sb_model_close(chain);
    sb_model_close(arpa);
}

static void cursors_on_floats(void **state)
{
    (void)state;
    sb_model *const model = hash_model(500);
    for (uint64_t number = 0; number < (uint64_t)share_of(12); number++)
        check_settings(model, "", number, 4, 1e-6);
    sb_model_close(model);
#ifdef SBEAM_HAVE_NN
    sb_model *const net = open_file(TEST_DATA "/tiny-fconv/model.safetensors");
    for (uint64_t number = 0; number < (uint64_t)share_of(24); number++)
        if (!sb_model_get_info(net)->rows_depend_on_batch)
            check_settings(net, "s1 s2 s3", number, 6, 1e-6);
    sb_model_close(net);
#endif
}

/* A cursor gives every sequence of a tree once, in descending order of G, and their probabilities
 * sum to 1. */
static void cursors_exhaust_their_tree(void **state)
{
    (void)state;
    sb_model *const model = hash_model(40);
    sb_config config = config_of(SB_METHOD_SBS, 1);
    config.max_len = 3;
    for (int part = 0; part < 3; part++) {
        most_states = part == 0 ? 0 : part == 1 ? 300 : 3;
        sb_cursor *const cursor = open_cursor(model, "", &config);
        most_states = 0;
        enum { N = 40 * 40 * 40 };
        bool *const seen = calloc(N, sizeof *seen);
        double sum = 0, g = INFINITY;
        sb_sequence sequence;
        int found, n = 0;
        while ((found = sb_cursor_next(cursor, &sequence, NULL)) == 1) {
            const int32_t *const t = sequence.tokens;
            bool *const mark = &seen[(t[0] * 40 + t[1]) * 40 + t[2]];
            assert_false(*mark);
            *mark = true;
            sum += exp(sequence.log_p);
            assert_true(sequence.g <= g);
            g = sequence.g;
            n++;
        }
        assert_int_equal(found, 0);
        assert_int_equal(n, N);
        assert_true(fabs(sum - 1) < 1e-5);
        assert_true(sb_cursor_threshold(cursor) == -INFINITY);
        assert_int_equal(sb_cursor_get_use(cursor).sequences, N);
        assert_int_equal(sb_cursor_get_use(cursor).entries, 0);
        free(seen);
        sb_cursor_close(cursor);
    }
    sb_model_close(model);
}

static void cursors_refuse_what_they_cannot_do(void **state)
{
    (void)state;
    sb_model *const model = open_json(small_chain), *const narrow = narrow_hash_model(5, 13);
    sb_cursor *cursor = NULL;
    sb_error err;
    sb_config config = config_of(SB_METHOD_BEAM, 5);
    assert_int_equal(sb_cursor_open(&cursor, model, NULL, &config, &err), SB_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "method is beam"));
    config = config_of(SB_METHOD_SBS, 5);
    config.search = SB_SEARCH_LEVEL;
    assert_int_equal(sb_cursor_open(&cursor, model, NULL, &config, &err), SB_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "search is level"));
    config.search = SB_SEARCH_AUTO;
    config.until_mass = 0.5;
    assert_int_equal(sb_cursor_open(&cursor, model, NULL, &config, &err), SB_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "until_mass"));
    config.until_mass = 0;
    assert_int_equal(sb_cursor_open(&cursor, narrow, NULL, &config, &err), SB_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "only 13 states"));
    const sb_cursor_spec spec = {.text = "z", .size = 1};
    assert_int_equal(sb_cursor_open(&cursor, model, &spec, &config, &err), SB_ERR_INPUT);
    assert_int_equal(sb_cursor_open(NULL, model, NULL, &config, &err), SB_ERR_ARGUMENT);
    assert_null(cursor);
    sb_cursor_close(NULL);
    sb_model_close(model);
    sb_model_close(narrow);
}

/* After the model has failed, the cursor tells the same error again. */
static void failures_stay(void **state)
{
    (void)state;
    sb_model *const model =
        open_json("{\"format\":\"sbeam-chain\",\"vocab\":[\"a\",\"b\",\"</s>\"],\"eos\":\"</s>\","
                  "\"start\":[0.5,0,0.5],\"next\":{\"a\":[0,1,0],\"b\":[0,1,0]}}");
    static int32_t ban[] = {1}; /* so nothing can follow "a" */
    sb_config config = config_of(SB_METHOD_SBS, 5);
    config.ban = ban;
    config.n_ban = 1;
    int n_found = 0;
    for (config.seed = 0; config.seed < 20; config.seed++) {
        sb_cursor *const cursor = open_cursor(model, "", &config);
        sb_sequence sequence;
        sb_error err, again;
        int found;
        while ((found = sb_cursor_next(cursor, &sequence, &err)) == 1)
            n_found++;
        assert_int_equal(found, -1);
        assert_int_equal(err.status, SB_ERR_MODEL);
        assert_non_null(strstr(err.message, "exclude every token"));
        assert_int_equal(sb_cursor_next(cursor, &sequence, &again), -1);
        assert_string_equal(err.message, again.message);
        sb_result *result;
        assert_int_equal(sb_result_open(&result, NULL), SB_OK);
        assert_int_equal(sb_cursor_get_result(cursor, result, &again), SB_ERR_MODEL);
        sb_result_close(result);
        sb_cursor_close(cursor);
    }
    assert_true(n_found > 3 && n_found < 17);
    sb_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cursors_on_trees),
        cmocka_unit_test(cursors_on_chains_and_arpa),
        cmocka_unit_test(cursors_on_floats),
        cmocka_unit_test(cursors_exhaust_their_tree),
        cmocka_unit_test(cursors_refuse_what_they_cannot_do),
        cmocka_unit_test(failures_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
