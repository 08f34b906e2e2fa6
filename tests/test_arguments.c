/* Tests what public functions refuse before they do any work: missing pointers, numbers out of
 * range, files that cannot be read. Each refusal has a status and a message. */
#include <unistd.h>

#include "model_check.h"
#include "sbeam/metric.h"
#include "sbeam/record.h"
#include "sbeam/topk.h"
#include "sbeam/trie.h"
#include "text/lines.h"

static void expect(sb_status got, sb_status wanted, const sb_error *err, const char *message)
{
    if (got != wanted || strstr(err->message, message) == NULL)
        fail_msg("expected status %d and '%s', found status %d and '%s'", (int)wanted, message,
                 (int)got, err->message);
    assert_int_equal(err->status, wanted);
}

static void names_of_statuses(void **state)
{
    (void)state;
    static const char *const names[] = {"ok",    "argument", "memory", "io",    "format",
                                        "input", "model",    "limit",  "state", "stopped"};
    for (int i = 0; i < 10; i++)
        assert_string_equal(sb_status_name((sb_status)i), names[i]);
    assert_string_equal(sb_status_name((sb_status)10), "unknown");
    assert_string_equal(sb_status_name((sb_status)-1), "unknown");
}

static void missing_pointers(void **state)
{
    (void)state;
    sb_error err = {.message = ""};
    sb_model *model = NULL;
    sb_topk *topk = NULL;
    const sb_topk_item *items;
    int32_t n;
    double kappa;
    expect(sb_model_open(NULL, "x", &err), SB_ERR_ARGUMENT, &err, "sb_model_open: ");
    expect(sb_model_open(&model, NULL, &err), SB_ERR_ARGUMENT, &err, "sb_model_open: ");
    expect(sb_topk_open(NULL, 1, 1, &err), SB_ERR_ARGUMENT, &err, "sb_topk_open: ");
    expect(sb_trie_read(NULL, NULL, NULL, &err), SB_ERR_ARGUMENT, &err, "sb_trie_read: ");
    expect(sb_record_set_allow(NULL, NULL, &err), SB_ERR_ARGUMENT, &err, "sb_record_set_allow: ");
    assert_int_equal(sb_topk_open(&topk, 1, 1, &err), SB_OK);
    expect(sb_topk_push(NULL, 0, &n, &err), SB_ERR_ARGUMENT, &err, "sb_topk_push: ");
    expect(sb_topk_push(topk, 0, NULL, &err), SB_ERR_ARGUMENT, &err, "sb_topk_push: ");
    expect(sb_topk_items(NULL, &items, &n, &kappa, &err), SB_ERR_ARGUMENT, &err, "sb_topk_items: ");
    expect(sb_topk_items(topk, NULL, &n, &kappa, &err), SB_ERR_ARGUMENT, &err, "sb_topk_items: ");
    expect(sb_topk_items(topk, &items, NULL, &kappa, &err), SB_ERR_ARGUMENT, &err, "sb_topk_items");
    expect(sb_topk_items(topk, &items, &n, NULL, &err), SB_ERR_ARGUMENT, &err, "sb_topk_items: ");
    sb_topk_close(topk);
    sb_topk_close(NULL);
    sb_model_close(NULL);
    sb_session_close(NULL);
    lines_close(NULL);
}

static void sessions_of_impossible_sizes(void **state)
{
    (void)state;
    sb_model *const model = open_file(TEST_DATA "/fig1.json");
    static const sb_session_spec wrong[] = {{.max_inputs = 1, .max_rows = -1},
                                            {.max_inputs = 1, .max_len = -1},
                                            {.max_inputs = 1, .threads = -1}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        sb_session *session = NULL;
        sb_error err = {.message = ""};
        expect(sb_session_open(&session, model, &wrong[i], &err), SB_ERR_ARGUMENT, &err,
               "expected 0 or more");
        assert_null(session);
    }
    sb_model_close(model);
}

static void sums_of_rows_that_are_not_distributions(void **state)
{
    (void)state;
    static const float bad[][3] = {{0, NAN, 0}, {0, INFINITY, 0}};
    assert_true(isnan(sb_log_sum_exp(bad[0], 3)));
    assert_true(isnan(sb_log_sum_exp(bad[1], 3)));
    assert_true(sb_log_sum_exp(bad[0], 0) == -INFINITY);
}

static void files_that_cannot_be_read(void **state)
{
    (void)state;
    lines_reader *reader = NULL;
    sb_error err = {.message = ""};
    const char *line;
    size_t size;
    expect(lines_open(&reader, "/tmp", &err), SB_ERR_IO, &err, "/tmp: expected a file");
    assert_null(reader);
    if (access("/proc/self/mem", R_OK) != 0)
        skip(); /* only Linux has this file, whose first page cannot be read */
    assert_int_equal(lines_open(&reader, "/proc/self/mem", &err), SB_OK);
    expect(lines_next(reader, &line, &size, &err), SB_ERR_IO, &err, "/proc/self/mem:1: Input/");
    lines_close(reader);
}

static void gguf_models_need_a_file(void **state)
{
    (void)state;
    static const char head[] = "GGUF\3\0\0\0";
    sb_model *model = NULL;
    sb_error err = {.message = ""};
    const sb_status status = model_open_memory(&model, "memory", head, sizeof head - 1, &err);
#ifdef SBEAM_HAVE_LLAMA
    expect(status, SB_ERR_ARGUMENT, &err, "only be opened from a file, not from memory");
#else
    expect(status, SB_ERR_FORMAT, &err, "without llama.cpp");
#endif
    assert_null(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_statuses),
        cmocka_unit_test(missing_pointers),
        cmocka_unit_test(sessions_of_impossible_sizes),
        cmocka_unit_test(sums_of_rows_that_are_not_distributions),
        cmocka_unit_test(files_that_cannot_be_read),
        cmocka_unit_test(gguf_models_need_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
