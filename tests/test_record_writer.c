/* Tests writing draws as records: what is written reads back to the same bits, which settings are
 * mentioned, the cut at stop strings, draws without a model, and failing memory. */
#include "model_check.h"
#include "sbeam/record.h"

/* A draw from the chain, and the writer of its record. */
typedef struct written {
    sb_model *model;
    sb_config config;
    sb_result *result;
    sb_record_writer *writer;
    const char *line;
    size_t size;
} written;

static written open_chain(void)
{
    written w = {.model = open_file(TEST_DATA "/chain.json")};
    sb_config_default(&w.config);
    w.config.k = 4;
    w.config.seed = 7;
    assert_int_equal(sb_result_open(&w.result, NULL), SB_OK);
    return w;
}

/* Draws and writes the record, for a writer with or without the model. */
static void write_draw(written *w, bool with_model, const sb_input *input)
{
    sb_error err = {.message = ""};
    if (sb_draw(w->model, input != NULL ? input->text : NULL, &w->config, w->result, &err) !=
            SB_OK ||
        sb_record_writer_open(&w->writer, with_model ? w->model : NULL, &w->config, &err) !=
            SB_OK ||
        sb_record_write(w->writer, input, w->result, &w->line, &w->size, &err) != SB_OK)
        fail_msg("%s", err.message);
}

static void close_written(written *w)
{
    sb_record_writer_close(w->writer);
    sb_result_close(w->result);
    sb_model_close(w->model);
}

static bool contains(const written *w, const char *part)
{
    const size_t n = strlen(part);
    for (size_t i = 0; i + n <= w->size; i++)
        if (memcmp(w->line + i, part, n) == 0)
            return true;
    return false;
}

static void test_round_trip(void **state)
{
    (void)state;
    const sb_input input = {.text = "a b", .size = 3};
    written w = open_chain();
    write_draw(&w, true, &input);
    assert_true(w.line[w.size - 1] == '\n' && memchr(w.line, '\n', w.size - 1) == NULL);
    sb_record record;
    assert_int_equal(sb_record_read(&record, w.line, w.size, NULL), SB_OK);
    assert_string_equal(record.input, "a b");
    assert_true(record.method == SB_METHOD_SBS && record.k == 4 && record.temperature == 1);
    assert_true(record.kappa == w.result->kappa && !record.exhausted);
    assert_int_equal(record.n_sequences, 4);
    for (size_t i = 0; i < record.n_sequences; i++) {
        const sb_sequence *const drawn = &w.result->sequences[i];
        assert_true(record.sequences[i].log_p == drawn->log_p);
        assert_true(record.sequences[i].g == drawn->g);
        assert_int_equal(record.sequences[i].n_tokens, drawn->n_tokens);
        assert_string_equal(record.sequences[i].text, sb_record_writer_text(w.writer, i));
    }
    assert_null(sb_record_writer_text(w.writer, 4));
    assert_false(contains(&w, "max_len")); /* it has its default */
    sb_record_close(&record);
    close_written(&w);
}

static void test_settings(void **state)
{
    (void)state;
    written w = open_chain();
    const int32_t ban = token_of(w.model, "b");
    const char *const stop = "a \"";
    w.config.method = SB_METHOD_DIVERSE;
    w.config.max_len = 9;
    w.config.top_p = 0.9;
    w.config.penalty = SB_PENALTY_STEP;
    w.config.ban = &ban;
    w.config.n_ban = 1;
    w.config.stop = &stop;
    w.config.n_stop = 1;
    write_draw(&w, true, NULL);
    assert_true(contains(&w, ",\"temperature\":1,\"max_len\":9,\"top_p\":0.9,\"groups\":4,"
                             "\"strength\":0.5,\"penalty\":\"step\",\"ban\":[\"b\"],"
                             "\"stop\":[\"a \\\"\"],\"model\":\""));
    assert_true(contains(&w, ",\"version\":\"0.1.0\",\"seed\":7,"));
    close_written(&w);
    for (size_t i = 0; sb_config_option(i) != NULL; i++) {
        const char *const name = sb_config_option(i)->name;
        assert_int_equal(sb_record_has_setting(sb_config_option(i)),
                         strcmp(name, "method") != 0 && strcmp(name, "k") != 0 &&
                             strcmp(name, "temperature") != 0 && strcmp(name, "seed") != 0 &&
                             strcmp(name, "kappa") != 0);
    }
}

/* A host computes the model: there is no input, no text, and a token has only its id. */
static void test_without_model(void **state)
{
    (void)state;
    written w = open_chain();
    const int32_t ban = token_of(w.model, "b");
    w.config.ban = &ban;
    w.config.n_ban = 1;
    write_draw(&w, false, NULL);
    assert_true(contains(&w, ",\"input\":null,"));
    assert_true(contains(&w, ",\"ban\":[2],"));
    assert_true(contains(&w, "{\"text\":null,\"tokens\":["));
    assert_null(sb_record_writer_text(w.writer, 0));
    close_written(&w);
}

/* The text is cut before the first stop string in it, also if they overlap; tokens are kept. */
static void test_stop(void **state)
{
    (void)state;
    static const char *const stops[] = {"a b", "b a", "a a b"};
    written w = open_chain();
    const int32_t a = token_of(w.model, "a"), b = token_of(w.model, "b");
    const int32_t tokens[] = {b, a, a, b, a};
    sb_sequence sequence = {.tokens = tokens, .n_tokens = 5, .end = SB_END_STOP};
    char *text;
    w.config.stop = stops;
    w.config.n_stop = 1;
    assert_int_equal(sb_sequence_text(w.model, &w.config, &sequence, &text, NULL), SB_OK);
    assert_string_equal(text, "b a ");
    sb_free(text);
    w.config.n_stop = 3;
    assert_int_equal(sb_sequence_text(w.model, &w.config, &sequence, &text, NULL), SB_OK);
    assert_string_equal(text, "");
    sb_free(text);
    sequence.end = SB_END_EOS;
    assert_int_equal(sb_sequence_text(w.model, &w.config, &sequence, &text, NULL), SB_OK);
    assert_string_equal(text, "b a a b a");
    sb_free(text);
    close_written(&w);
}

static void test_refusals(void **state)
{
    (void)state;
    written w = open_chain();
    write_draw(&w, true, NULL);
    sb_record_writer *writer;
    sb_record record;
    sb_input_record input;
    char *text;
    assert_int_equal(sb_record_writer_open(NULL, NULL, &w.config, NULL), SB_ERR_ARGUMENT);
    assert_int_equal(sb_record_writer_open(&writer, NULL, NULL, NULL), SB_ERR_ARGUMENT);
    assert_int_equal(sb_record_write(NULL, NULL, w.result, &w.line, &w.size, NULL),
                     SB_ERR_ARGUMENT);
    assert_int_equal(sb_record_write(w.writer, NULL, NULL, &w.line, &w.size, NULL),
                     SB_ERR_ARGUMENT);
    assert_int_equal(sb_sequence_text(NULL, &w.config, w.result->sequences, &text, NULL),
                     SB_ERR_ARGUMENT);
    assert_int_equal(sb_record_read(&record, NULL, 0, NULL), SB_ERR_ARGUMENT);
    assert_int_equal(sb_input_record_read(&input, NULL, 0, false, NULL), SB_ERR_ARGUMENT);
    sb_record_writer_close(NULL);
    sb_record_close(NULL);
    sb_input_record_close(NULL);
    sb_config bad = w.config;
    bad.k = 0;
    assert_int_equal(sb_record_writer_open(&writer, NULL, &bad, NULL), SB_ERR_ARGUMENT);
    close_written(&w);
}

/* Opens a writer, writes a record, and reads it and an input back. */
static sb_status write_and_read(written *w)
{
    static const char *const line = "{\"input\":\"a\",\"tokens\":[0,2],\"stream\":3}";
    sb_record record = {.k = 0};
    sb_input_record input = {.stream = 0};
    const sb_input empty = {.size = 0};
    sb_status status = sb_record_writer_open(&w->writer, w->model, &w->config, NULL);
    if (status == SB_OK)
        status = sb_record_write(w->writer, &empty, w->result, &w->line, &w->size, NULL);
    if (status == SB_OK)
        status = sb_record_read(&record, w->line, w->size, NULL);
    if (status == SB_OK)
        status = sb_input_record_read(&input, line, strlen(line), true, NULL);
    sb_input_record_close(&input);
    sb_record_close(&record);
    sb_record_writer_close(w->writer);
    w->writer = NULL;
    return status;
}

static void test_memory_failures(void **state)
{
    (void)state;
    written w = open_chain();
    w.config.max_len = 9;
    assert_int_equal(sb_draw(w.model, NULL, &w.config, w.result, NULL), SB_OK);
    long n = 0;
    do {
        alloc_fail_at(++n);
        const sb_status status = write_and_read(&w);
        assert_int_equal(status, alloc_has_failed() ? SB_ERR_MEMORY : SB_OK);
    } while (alloc_has_failed());
    alloc_fail_at(0);
    assert_true(n > 8);
    close_written(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),    cmocka_unit_test(test_settings),
        cmocka_unit_test(test_without_model), cmocka_unit_test(test_stop),
        cmocka_unit_test(test_refusals),      cmocka_unit_test(test_memory_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
