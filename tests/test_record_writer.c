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

/* Collects what a draw tells: its sequences as partial lines, then its record. */
typedef struct told {
    sb_record_writer *writer;
    bool is_given;
    char lines[4096];
    size_t size;
} told;

static int give_empty(void *user, sb_input *input, sb_error *err)
{
    told *const t = user;
    (void)err;
    *input = (sb_input){.text = ""};
    return t->is_given ? 0 : (t->is_given = true);
}

static void add_line(told *t, const char *line, size_t size)
{
    assert_true(t->size + size < sizeof t->lines);
    memcpy(t->lines + t->size, line, size);
    t->size += size;
    t->lines[t->size] = '\0';
}

static int take_certain(void *user, const sb_input *input, const sb_certain *found, sb_error *err)
{
    told *const t = user;
    const char *line;
    size_t size;
    (void)input;
    assert_int_equal(sb_record_write_partial(t->writer, found, &line, &size, err), SB_OK);
    assert_int_equal(sb_record_is_partial(line, size, err), 1);
    assert_non_null(sb_record_writer_text(t->writer, 0));
    assert_null(sb_record_writer_text(t->writer, 1));
    add_line(t, line, size);
    return 0;
}

static int take_result(void *user, const sb_input *input, const sb_result *result, sb_error *err)
{
    told *const t = user;
    const char *line;
    size_t size;
    assert_int_equal(sb_record_write(t->writer, input, result, &line, &size, err), SB_OK);
    assert_int_equal(sb_record_is_partial(line, size, err), 0);
    add_line(t, line, size);
    return 0;
}

/* Each partial line has the members of its sequence in the record, without the weight. */
static void test_partial(void **state)
{
    (void)state;
    written w = open_chain();
    told t = {.size = 0};
    sb_plan plan;
    sb_plan_default(&plan);
    plan.first_draw = 3;
    const sb_pipe pipe = {
        .user = &t, .source = give_empty, .sink = take_result, .certain = take_certain};
    w.config.search = SB_SEARCH_BEST_FIRST;
    assert_int_equal(sb_record_writer_open(&t.writer, w.model, &w.config, NULL), SB_OK);
    assert_int_equal(sb_draw_all(w.model, &w.config, &plan, &pipe, NULL), SB_OK);
    const char *line = t.lines;
    const char *member = strstr(t.lines, "\"sequences\":[");
    for (int i = 0; i < w.config.k; i++) {
        char head[128];
        const int n = snprintf(head, sizeof head,
                               "{\"partial\":true,\"stream\":0,\"temperature\":1,\"draw\":3,"
                               "\"rank\":%d,",
                               i + 1);
        assert_memory_equal(line, head, (size_t)n);
        /* The rest of the line, up to the end, is in the record around the weight. */
        member = strstr(member + 1, "{\"text\"") + 1;
        const char *const weight = strstr(member, ",\"log_weight\":");
        const char *const end = strstr(member, ",\"end\":");
        const size_t before = (size_t)(weight - member), after = strcspn(end, "}");
        assert_memory_equal(line + n, member, before);
        assert_memory_equal(line + n + before, end, after);
        assert_memory_equal(line + n + before + after, "}\n", 2);
        line += (size_t)n + before + after + 2;
    }
    assert_ptr_equal(strstr(line, "{\"stream\":0,\"draw\":3,"), line);
    assert_non_null(strstr(line, ",\"search\":\"best-first\","));
    sb_record_writer_close(t.writer);
    close_written(&w);
}

/* A line is partial if the object itself has the key, first or later. */
static void test_is_partial(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        int expected;
    } cases[] = {
        {"{\"partial\":true}", 1},
        {" { \"stream\" : 0 , \"partial\" : true } ", 1},
        {"{\"partial\":false}", 0},
        {"{\"partial\":1}", 0},
        {"{\"partial\":true", 0}, /* cut: reading it as a record says what is wrong */
        {"{\"input\":\"\\\"partial\\\":true\"}", 0},
        {"{\"input\":{\"partial\":true}}", 0},
        {"[\"partial\",true]", 0},
        {"\"partial\"", 0},
        {"\"partial", 0},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (sb_record_is_partial(cases[i].line, strlen(cases[i].line), NULL) != cases[i].expected)
            fail_msg("%s", cases[i].line);
    assert_int_equal(sb_record_is_partial(cases[0].line, strlen(cases[0].line) - 1, NULL), 0);
}

/* "stopped_by" is written only with a rule, and then there is no threshold. */
static void test_stopped_by(void **state)
{
    (void)state;
    written w = open_chain();
    w.config.until_mass = 0.31;
    w.config.k = 50;
    w.config.parallel = 2;
    write_draw(&w, true, NULL);
    assert_true(contains(&w, ",\"parallel\":2,\"until_mass\":0.31,"));
    assert_true(contains(&w, ",\"kappa\":null,\"exhausted\":false,\"stopped_by\":\"mass\","));
    sb_record record;
    assert_int_equal(sb_record_read(&record, w.line, w.size, NULL), SB_OK);
    assert_int_equal(record.stopped_by, SB_STOPPED_BY_MASS);
    assert_true(isnan(record.kappa) && record.n_sequences < 50);
    assert_null(strstr(record.settings, "parallel"));
    assert_non_null(strstr(record.settings, "until_mass 0.31"));
    sb_record_close(&record);
    sb_record_writer_close(w.writer);
    w.config.until_mass = 0;
    write_draw(&w, true, NULL);
    assert_false(contains(&w, "stopped_by"));
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
    sb_certain found = {.rank = 0};
    char *text;
    assert_int_equal(sb_record_writer_open(NULL, NULL, &w.config, NULL), SB_ERR_ARGUMENT);
    assert_int_equal(sb_record_writer_open(&writer, NULL, NULL, NULL), SB_ERR_ARGUMENT);
    assert_int_equal(sb_record_write(NULL, NULL, w.result, &w.line, &w.size, NULL),
                     SB_ERR_ARGUMENT);
    assert_int_equal(sb_record_write(w.writer, NULL, NULL, &w.line, &w.size, NULL),
                     SB_ERR_ARGUMENT);
    assert_int_equal(sb_sequence_text(NULL, &w.config, w.result->sequences, &text, NULL),
                     SB_ERR_ARGUMENT);
    assert_int_equal(sb_record_write_partial(NULL, &found, &w.line, &w.size, NULL),
                     SB_ERR_ARGUMENT);
    assert_int_equal(sb_record_write_partial(w.writer, NULL, &w.line, &w.size, NULL),
                     SB_ERR_ARGUMENT);
    assert_int_equal(sb_record_is_partial(NULL, 0, NULL), -1);
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

/* Opens a writer, writes a partial line and a record, and reads the record and an input back. */
static sb_status write_and_read(written *w)
{
    static const char *const line = "{\"input\":\"a\",\"tokens\":[0,2],\"stream\":3}";
    sb_record record = {.k = 0};
    sb_input_record input = {.stream = 0};
    const sb_input empty = {.size = 0};
    sb_status status = sb_record_writer_open(&w->writer, w->model, &w->config, NULL);
    const sb_certain found = {.temperature = 1, .sequence = w->result->sequences[0]};
    if (status == SB_OK)
        status = sb_record_write_partial(w->writer, &found, &w->line, &w->size, NULL);
    if (status == SB_OK && sb_record_is_partial(w->line, w->size, NULL) != 1)
        status = SB_ERR_MEMORY;
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
        cmocka_unit_test(test_round_trip),      cmocka_unit_test(test_settings),
        cmocka_unit_test(test_without_model),   cmocka_unit_test(test_stop),
        cmocka_unit_test(test_partial),         cmocka_unit_test(test_is_partial),
        cmocka_unit_test(test_stopped_by),      cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_memory_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
