/* Tests scores, and that every allocation may fail. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "decode/cursor.h"
#include "draw_check.h"

static const char *const tree_json =
    "{\"format\":\"sbeam-tree\",\"tree\":{\"a\":[0.6,{\"b\":[0.5,null],\"c\":[0.5,null]}],"
    "\"d\":[0.4,null]}}";

/* --- scores --- */

static void scores(void **state)
{
    (void)state;
    sb_model *const model = open_json(tree_json);
    const int32_t a = sb_model_find_token(model, "a", 1), b = sb_model_find_token(model, "b", 1),
                  d = sb_model_find_token(model, "d", 1);
    const int32_t ab[] = {a, b}, da[] = {d, a}, bad[] = {9}, unlikely[] = {b, b};
    double log_p[2];
    sb_error err;
    assert_int_equal(sb_score(model, NULL, 0, ab, 2, log_p, &err), SB_OK);
    assert_true(fabs(log_p[0] - log(0.6)) < 1e-14 && fabs(log_p[1] - log(0.5)) < 1e-14);
    log_p[0] = 42;
    assert_int_equal(sb_score(model, NULL, 0, da, 2, log_p, &err), SB_ERR_INPUT);
    assert_true(log_p[0] == 42); /* nothing is written on failure */
    assert_non_null(strstr(err.message, "follows its end"));
    assert_int_equal(sb_score(model, NULL, 0, bad, 1, log_p, &err), SB_ERR_INPUT);
    assert_int_equal(sb_score(model, NULL, 0, unlikely, 2, log_p, &err), SB_OK);
    assert_true(log_p[0] == -INFINITY && log_p[1] == -INFINITY);
    assert_int_equal(sb_score(model, "a", 1, ab + 1, 1, log_p, &err), SB_OK);
    assert_int_equal(sb_score(model, "x", 1, ab, 1, log_p, &err), SB_ERR_INPUT);
    assert_int_equal(sb_score(model, NULL, 0, NULL, 0, NULL, &err), SB_OK);
    assert_int_equal(sb_score(model, NULL, 5, ab, 2, log_p, &err), SB_ERR_ARGUMENT);
    sb_model_close(model);
}

/* --- memory --- */

/* Every allocation of a draw fails once: an error, no leak (the sanitizer looks), nothing half
 * made. */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    sb_model *const model =
        open_json("{\"format\":\"sbeam-chain\",\"vocab\":[\"a\",\"b\",\"</s>\"],\"eos\":\"</s>\","
                  "\"start\":[0.5,0.3,0.2],\"next\":{\"a\":[0.1,0.3,0.6],\"b\":[0.45,0.45,0.1]}}");
    static const char *const stops[] = {"b b b"};
    const int32_t ban[] = {1};
    int n_methods = 0;
    while (sb_method_name((sb_method)n_methods) != NULL)
        n_methods++;
    for (int variant = 0; variant < n_methods + 4; variant++) {
        sb_config config;
        sb_config_default(&config);
        config.method = (sb_method)(variant < n_methods ? variant : SB_METHOD_BEAM);
        config.max_len = 6;
        if (variant == n_methods)
            config.finished = SB_FINISHED_LEAVE;
        if (variant == n_methods + 1) {
            config.method = SB_METHOD_SBS;
            config.stop = stops;
            config.n_stop = 1;
            config.ban = ban;
            config.n_ban = 1;
            config.top_p = 0.9;
        }
        if (variant == n_methods + 2) {
            config.method = SB_METHOD_SBS;
            config.search = SB_SEARCH_LEVEL;
        }
        if (variant == n_methods + 3) {
            config.method = SB_METHOD_SBS;
            config.parallel = 3;
            config.until_texts = 4;
        }
        bool ended = false;
        for (long n = 1; !ended && n < 1000; n++) {
            sb_result *result = NULL;
            sb_error err = {SB_OK, ""};
            alloc_fail_at(n);
            sb_status status = sb_result_open(&result, &err);
            if (status == SB_OK)
                status = sb_draw(model, "a b", &config, result, &err);
            ended = !alloc_has_failed();
            assert_true(status == (ended ? SB_OK : SB_ERR_MEMORY));
            alloc_fail_at(0);
            if (!ended) {
                assert_non_null(strstr(err.message, "memory"));
                assert_true(result == NULL || result->n_sequences == 0);
            }
            sb_result_close(result);
        }
        assert_true(ended);
    }
    bool ended = false;
    for (long n = 1; !ended; n++) {
        const int32_t tokens[] = {0, 1, 2};
        double log_p[3] = {42, 42, 42};
        alloc_fail_at(n);
        const sb_status status = sb_score(model, "b a", 3, tokens, 3, log_p, NULL);
        ended = !alloc_has_failed();
        alloc_fail_at(0);
        assert_int_equal(status, ended ? SB_OK : SB_ERR_MEMORY);
        assert_true((log_p[0] == 42) == !ended);
    }
    sb_model_close(model);
    ended = false;
    for (long n = 1; !ended; n++) {
        sb_topk *topk = NULL;
        int32_t slot, n_items;
        const sb_topk_item *items;
        double kappa;
        alloc_fail_at(n);
        sb_status status = sb_topk_open(&topk, 3, 1, NULL);
        for (int i = 0; i < 20 && status == SB_OK; i++)
            status = sb_topk_push(topk, -i, &slot, NULL);
        static const double more[] = {-1, -2, -3};
        if (status == SB_OK)
            status = sb_topk_push_all(topk, more, 3, NULL);
        if (status == SB_OK)
            status = sb_topk_items(topk, &items, &n_items, &kappa, NULL);
        ended = !alloc_has_failed();
        alloc_fail_at(0);
        assert_true(status == (ended ? SB_OK : SB_ERR_MEMORY));
        sb_topk_close(topk);
    }
}

/* The same for a cursor that computes states and rows again. */
static void every_allocation_of_a_cursor_may_fail(void **state)
{
    (void)state;
    sb_model *const model = open_json(small_chain);
    sb_config config;
    sb_config_default(&config);
    config.max_len = 6;
    bool ended = false;
    for (long n = 1; !ended; n++) {
        sb_cursor *cursor = NULL;
        sb_result *result = NULL;
        sb_sequence sequence;
        sb_error err = {SB_OK, ""};
        alloc_fail_at(n);
        sb_status status = sb_result_open(&result, &err);
        if (status == SB_OK)
            status = sb_cursor_open(&cursor, model, NULL, &config, &err);
        if (status == SB_OK) {
            cursor_get_decoder(cursor)->most_states = 2;
            cursor_get_decoder(cursor)->first_children = 1;
        }
        for (int i = 0; i < 40 && status == SB_OK; i++)
            if (sb_cursor_next(cursor, &sequence, &err) < 0)
                status = err.status;
        if (status == SB_OK)
            status = sb_cursor_get_result(cursor, result, &err);
        ended = !alloc_has_failed();
        alloc_fail_at(0);
        assert_int_equal(status, ended ? SB_OK : SB_ERR_MEMORY);
        assert_true(ended || strstr(err.message, "memory") != NULL);
        assert_true(result == NULL || result->n_sequences == (ended ? 40 : 0));
        sb_cursor_close(cursor);
        sb_result_close(result);
    }
    sb_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(every_allocation_of_a_cursor_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
