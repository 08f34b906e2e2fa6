/* Tests models in use: rows of trees and chains, text and tokens, sessions and the checks of their
 * arguments. */
#include "model_check.h"

static void test_tree_rows(void **state)
{
    (void)state;
    sb_model *const model = open_file(TEST_DATA "/fig1.json");
    const sb_model_info *const info = sb_model_get_info(model);
    assert_string_equal(info->kind, "tree");
    assert_int_equal(info->vocab_size, 2);
    assert_int_equal(info->eos, -1);
    assert_int_equal(info->row_type, SB_ROW_DOUBLE);
    double row[2];
    row_after(model, "", row);
    check_near(row[0], log(0.6));
    check_near(row[1], log(0.4));
    row_after(model, "0 1", row);
    check_near(row[0], log(3.0 / 8));
    check_near(row[1], log(5.0 / 8));
    sb_model_close(model);
}

static void test_tree_steps(void **state)
{
    (void)state;
    sb_model *const model = open_file(TEST_DATA "/uneven.json");
    const int32_t n = sb_model_get_info(model)->vocab_size;
    assert_int_equal(n, 7); /* stop never on here only left right: by depth, then place */
    const int32_t stop = token_of(model, "stop"), on = token_of(model, "on");
    const int32_t only = token_of(model, "only"), never = token_of(model, "never");
    assert_int_equal(stop, 0);
    assert_int_equal(never, 1);
    assert_int_equal(on, 2);
    sb_session *session;
    sb_error err;
    double rows[3 * 7];
    assert_int_equal(sb_session_open(&session, model, &(sb_session_spec){.max_inputs = 2}, &err),
                     SB_OK);
    assert_int_equal(sb_session_begin(session, 1, "on on", 5, &err), SB_OK);
    assert_int_equal(session_rows(session, 2, (int32_t[]){-1, -1}, (int32_t[]){-1, -1},
                                  (int32_t[]){0, 1}, rows, &err),
                     SB_OK);
    check_near(rows[stop], log(0.317));
    check_near(rows[never], -INFINITY);
    check_near(rows[only], -INFINITY);
    check_near(rows[n + only], 0);
    assert_true(sb_session_is_leaf(session, 0, stop));
    assert_false(sb_session_is_leaf(session, 0, on));
    assert_false(sb_session_is_leaf(session, 0, only));
    assert_false(sb_session_is_leaf(session, 2, stop));
    assert_false(sb_session_is_leaf(session, 0, n));
    /* Rows change places; a token without an edge is a dead end; one of probability zero is not. */
    assert_int_equal(session_rows(session, 3, (int32_t[]){1, 0, 0}, (int32_t[]){only, only, never},
                                  (int32_t[]){1, 0, 0}, rows, &err),
                     SB_OK);
    check_near(rows[token_of(model, "right")], log(1e-12));
    for (int32_t t = 0; t < n; t++)
        check_near(rows[n + t], -INFINITY);
    check_near(rows[2 * n + token_of(model, "here")], 0);
    assert_int_equal(
        session_rows(session, 1, (int32_t[]){1}, (int32_t[]){stop}, (int32_t[]){0}, rows, &err),
        SB_OK);
    check_near(rows[stop], -INFINITY);
    sb_session_close(session);
    sb_model_close(model);
}

static void test_chain_rows(void **state)
{
    (void)state;
    sb_model *const model = open_file(TEST_DATA "/chain.json");
    const sb_model_info *const info = sb_model_get_info(model);
    assert_string_equal(info->kind, "chain");
    assert_int_equal(info->eos, 1);
    double row[3];
    row_after(model, "", row);
    check_near(row[0], log(0.613));
    check_near(row[1], log(0.087));
    row_after(model, "a", row);
    check_near(row[2], log(0.44));
    row_after(model, "a a\tb", row);
    check_near(row[0], log(0.821));
    check_near(row[2], -INFINITY);
    row_after(model, "b b", row); /* of probability zero, yet the chain says what follows b */
    check_near(row[1], log(0.179));
    sb_model_close(model);
}

static void test_prefixes_refused(void **state)
{
    (void)state;
    sb_model *model = open_file(TEST_DATA "/uneven.json");
    check_prefix_refused(model, "on off", "prefix: the tree has no token 'off'");
    check_prefix_refused(model, "on left", "prefix: the tree has no edge for word 2, 'left'");
    check_prefix_refused(model, "stop on",
                         "prefix: word 2, 'on', follows a leaf of the tree, where sequences end");
    check_prefix_refused(model, " stop",
                         "the prefix ends in a leaf of the tree: nothing can follow");
    sb_model_close(model);
    model = open_file(TEST_DATA "/chain.json");
    check_prefix_refused(model, "a </s>",
                         "the prefix ends in a leaf of the chain: nothing can follow");
    sb_model_close(model);
}

static void test_encode_decode(void **state)
{
    (void)state;
    sb_model *const model = open_file(TEST_DATA "/uneven.json");
    int32_t *tokens, n;
    char *text;
    sb_error err;
    assert_int_equal(sb_model_encode(model, "\ton  only\nstop ", 15, &tokens, &n, &err), SB_OK);
    assert_int_equal(n, 3);
    assert_int_equal(sb_model_decode(model, tokens, n, &text, &err), SB_OK);
    assert_string_equal(text, "on only stop");
    sb_free(text);
    assert_int_equal(sb_model_decode(model, tokens, 0, &text, &err), SB_OK);
    assert_string_equal(text, "");
    sb_free(text);
    sb_free(tokens);
    assert_int_equal(sb_model_encode(model, NULL, 0, &tokens, &n, &err), SB_OK);
    assert_int_equal(n, 0);
    sb_free(tokens);
    assert_int_equal(sb_model_encode(model, "on of", 5, &tokens, &n, &err), SB_ERR_INPUT);
    assert_string_equal(err.message, "the model has no token 'of'");
    assert_int_equal(sb_model_decode(model, (int32_t[]){0, 7}, 2, &text, &err), SB_ERR_ARGUMENT);
    assert_string_equal(err.message, "token 7, at position 1, has no text");
    assert_null(sb_model_token_text(model, -1));
    assert_null(sb_model_token_text(model, 7));
    assert_int_equal(sb_model_find_token(model, "", 0), -1);
    for (long i = 1; i <= 2; i++) {
        alloc_fail_at(i);
        assert_int_equal(
            sb_model_encode(model, "on on on on on on on on on", 26, &tokens, &n, &err),
            SB_ERR_MEMORY);
        alloc_fail_at(i);
        assert_int_equal(sb_model_decode(model, (int32_t[]){1, 1, 1}, 3, &text, &err),
                         SB_ERR_MEMORY);
    }
    alloc_fail_at(0);
    sb_model_close(model);
}

/* Subword pieces: a mark before a space, or at the end, joins; elsewhere it is text. */
static void test_marker(void **state)
{
    (void)state;
    sb_model *const model = open_text(
        "pieces", "{\"format\":\"sbeam-chain\",\"vocab\":[\"ma@@\",\"m@@\",\"mal\",\"@@\","
                  "\"a@@b\",\"</s>\"],\"eos\":\"</s>\",\"start\":[0.2,0.2,0.2,0.2,0.1,0.1],"
                  "\"next\":{\"ma@@\":[0,0,0,0,0,1],\"m@@\":[0,0,0,0,0,1],"
                  "\"mal\":[0,0,0,0,0,1],\"@@\":[0,0,0,0,0,1],\"a@@b\":[0,0,0,0,0,1]}}");
    static const struct {
        int32_t tokens[4], n;
        const char *plain, *joined;
    } cases[] = {
        {{0, 1, 2}, 3, "ma@@ m@@ mal", "mammal"}, {{2, 0, 2}, 3, "mal ma@@ mal", "mal mamal"},
        {{2, 1}, 2, "mal m@@", "mal m"},          {{4, 2}, 2, "a@@b mal", "a@@b mal"},
        {{3, 3, 2}, 3, "@@ @@ mal", "mal"},       {{0}, 0, "", ""},
    };
    sb_error err;
    for (int marked = 0; marked < 3; marked++) { /* without, with, and without again */
        assert_int_equal(sb_model_set_marker(model, marked == 1 ? "@@" : NULL, &err), SB_OK);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            char *text;
            assert_int_equal(sb_model_decode(model, cases[i].tokens, cases[i].n, &text, &err),
                             SB_OK);
            assert_string_equal(text, marked == 1 ? cases[i].joined : cases[i].plain);
            sb_free(text);
        }
    }
    assert_int_equal(sb_model_set_marker(model, "", &err), SB_OK); /* none */
    assert_int_equal(sb_model_set_marker(NULL, "@@", &err), SB_ERR_ARGUMENT);
    alloc_fail_at(1);
    assert_int_equal(sb_model_set_marker(model, "@@", &err), SB_ERR_MEMORY);
    alloc_fail_at(0);
    sb_model_close(model);
}

/* A pointer that is missing is refused, not followed. */
static void test_missing_text(void **state)
{
    (void)state;
    sb_model *const model = open_file(TEST_DATA "/fig1.json");
    int32_t *tokens, n;
    char *text;
    sb_error err;
    assert_int_equal(sb_model_encode(model, NULL, 3, &tokens, &n, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_model_encode(NULL, "0", 1, &tokens, &n, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_model_decode(model, NULL, 1, &text, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_model_decode(model, NULL, -1, &text, &err), SB_ERR_ARGUMENT);
    sb_model_close(model);
}

static void collect(void *user, const char *name, const char *value)
{
    char *const all = user;
    sprintf(all + strlen(all), "%s=%s;", name, value);
}

static void test_describe(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {TEST_DATA "/fig1.json",
         "kind=tree;vocabulary=2;checksum=6ddd46a482bf4718;nodes=15;leaves=8;depth=3;"},
        {TEST_DATA "/uneven.json",
         "kind=tree;vocabulary=7;checksum=d07da0b963ea39d8;nodes=12;leaves=6;depth=5;"},
        {TEST_DATA "/chain.json",
         "kind=chain;vocabulary=3;end token=</s>;checksum=0d424287d51ee0a9;"},
        {TEST_DATA "/small.arpa", "kind=arpa;vocabulary=6;end "
                                  "token=</s>;checksum=8affd53155c04118;unknown word=<unk>;order=3;"
                                  "1-grams=6;2-grams=5;3-grams=4;"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char all[500] = "";
        sb_model *const model = open_file(cases[i][0]);
        sb_model_describe(model, collect, all);
        assert_string_equal(all, cases[i][1]);
        sb_model_close(model);
    }
}

/* The public boundary refuses what a backend should not have to think of. */
static void test_session_arguments(void **state)
{
    (void)state;
    sb_model *const model = open_file(TEST_DATA "/fig1.json");
    sb_session *s;
    sb_error err;
    double rows[4];
    assert_int_equal(sb_session_open(&s, model, &(sb_session_spec){.max_inputs = 0}, &err),
                     SB_ERR_ARGUMENT);
    assert_int_equal(sb_session_open(&s, NULL, &(sb_session_spec){.max_inputs = 1}, &err),
                     SB_ERR_ARGUMENT);
    assert_int_equal(sb_session_open(&s, model, &(sb_session_spec){.max_inputs = 2}, &err), SB_OK);
    static const struct {
        int32_t n, parent, token, input;
        const char *message;
    } cases[] = {
        {0, -1, -1, 0, "n_rows is 0; expected at least 1"},
        {-1, -1, -1, 0, "n_rows is -1; expected at least 1"},
        {1, 0, 0, 0, "row 0: from is 0, but the session has no state of this number"},
        {1, -2, -1, 0, "row 0: from is -2, but the session has no state of this number"},
        {1, -1, 0, 0, "row 0: from is -1 and token is 0; expected both to be -1, or neither"},
        {1, -1, 2, 0, "row 0: token is 2; expected 0 to 1"},
        {1, -1, -2, 0, "row 0: token is -2; expected 0 to 1"},
        {1, -1, -1, 2, "row 0: input is 2; expected 0 to 1"},
        {1, -1, -1, -1, "row 0: input is -1; expected 0 to 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(session_rows(s, cases[i].n, &cases[i].parent, &cases[i].token,
                                      &cases[i].input, rows, &err),
                         SB_ERR_ARGUMENT);
        assert_string_equal(err.message, cases[i].message);
    }
    const int32_t root = -1, zero = 0, one = 1;
    assert_int_equal(session_rows(s, 1, NULL, &root, &zero, rows, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_session_begin(s, 2, "", 0, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_session_begin(s, 0, NULL, 1, &err), SB_ERR_ARGUMENT);
    /* A step past a leaf fails, and leaves no states to continue. */
    assert_int_equal(sb_session_begin(s, 1, "1 1", 3, &err), SB_OK);
    assert_int_equal(session_rows(s, 1, &root, &root, &one, rows, &err), SB_OK);
    assert_int_equal(session_rows(s, 1, &zero, &one, &one, rows, &err), SB_ERR_ARGUMENT);
    assert_string_equal(err.message, "row 0 continues a leaf of the tree");
    assert_int_equal(session_rows(s, 1, &zero, &one, &one, rows, &err), SB_ERR_ARGUMENT);
    assert_string_equal(err.message,
                        "row 0: from is 0, but the session has no state of this number");
    sb_session_close(s);
    sb_session_close(NULL);
    sb_model_close(model);
}

static sb_status no_session(const void *self, const sb_session_spec *spec, void **session,
                            sb_error *err)
{
    (void)self, (void)spec, (void)err;
    *session = NULL;
    return SB_OK;
}

static void no_close(void *session)
{
    (void)session;
}

static sb_status flat_step(void *session, int32_t n_rows, const int32_t *from, const int32_t *to,
                           const int32_t *token, const int32_t *input, void *rows, sb_error *err)
{
    (void)session, (void)from, (void)to, (void)token, (void)input, (void)err;
    memset(rows, 0, (size_t)n_rows * 3 * sizeof(float));
    return SB_OK;
}

static void count_close(void *self)
{
    ++*(int *)self;
}

static void test_custom(void **state)
{
    (void)state;
    int n_closed = 0;
    sb_model_ops ops = {.session_open = no_session,
                        .session_close = no_close,
                        .step = flat_step,
                        .close = count_close};
    sb_model_info info = {.kind = "flat", .vocab_size = 3, .eos = 2, .max_rows = 2};
    sb_model *model = NULL;
    sb_error err;
    ops.step = NULL;
    assert_int_equal(sb_model_open_custom(&model, &ops, &info, &n_closed, &err), SB_ERR_ARGUMENT);
    ops.step = flat_step;
    const sb_model_info wrong[] = {
        {.kind = NULL, .vocab_size = 3},
        {.kind = "flat", .vocab_size = 0},
        {.kind = "flat", .vocab_size = 3, .eos = 3},
        {.kind = "flat", .vocab_size = 3, .eos = -2},
        {.kind = "flat", .vocab_size = 3, .row_type = (sb_row_type)2},
        {.kind = "flat", .vocab_size = 3, .max_rows = -1},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(sb_model_open_custom(&model, &ops, &wrong[i], &n_closed, &err),
                         SB_ERR_ARGUMENT);
    assert_int_equal(sb_model_open_custom(&model, NULL, &info, &n_closed, NULL), SB_ERR_ARGUMENT);
    alloc_fail_at(1);
    assert_int_equal(sb_model_open_custom(&model, &ops, &info, &n_closed, &err), SB_ERR_MEMORY);
    assert_null(model);
    assert_int_equal(sb_model_open_custom(&model, &ops, &info, &n_closed, &err), SB_OK);
    sb_session *s;
    float rows[9];
    const int32_t root[3] = {-1, -1, -1}, input[3] = {0, 0, 0};
    assert_int_equal(sb_session_open(&s, model, &(sb_session_spec){.max_inputs = 1}, &err), SB_OK);
    assert_int_equal(sb_session_begin(s, 0, "", 0, &err), SB_OK);
    assert_int_equal(sb_session_begin(s, 0, "x", 1, &err), SB_ERR_INPUT);
    assert_string_equal(err.message, "a model of kind 'flat' takes no input");
    assert_int_equal(session_rows(s, 2, root, root, input, rows, &err), SB_OK);
    assert_int_equal(session_rows(s, 3, root, root, input, rows, &err), SB_ERR_LIMIT);
    assert_string_equal(err.message, "3 rows at once, but the model takes at most 2");
    assert_false(sb_session_is_leaf(s, 0, 0));
    assert_null(sb_model_token_text(model, 0));
    assert_int_equal(sb_model_find_token(model, "a", 1), -1);
    char all[100] = "";
    sb_model_describe(model, collect, all);
    assert_string_equal(all, "kind=flat;vocabulary=3;end token=2;");
    sb_session_close(s);
    sb_model_close(model);
    sb_model_close(NULL);
    assert_int_equal(n_closed, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree_rows),         cmocka_unit_test(test_tree_steps),
        cmocka_unit_test(test_chain_rows),        cmocka_unit_test(test_prefixes_refused),
        cmocka_unit_test(test_encode_decode),     cmocka_unit_test(test_marker),
        cmocka_unit_test(test_missing_text),      cmocka_unit_test(test_describe),
        cmocka_unit_test(test_session_arguments), cmocka_unit_test(test_custom),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
