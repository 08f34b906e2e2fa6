/* Tests that impossible records and draws that occur twice are refused, and that the settings of a
 * record repeat its draw. */
#include "model_check.h"
#include "sbeam/draw.h"
#include "sbeam/record.h"

#define HEAD                                                                                       \
    "{\"stream\":0,\"draw\":0,\"input\":\"\",\"method\":\"sbs\",\"k\":2,\"temperature\":1,"        \
    "\"seed\":1,"

static void expect(const char *line, const char *message)
{
    sb_record record;
    sb_error err = {.message = ""};
    const sb_status status = sb_record_read(&record, line, strlen(line), &err);
    if (message == NULL ? status != SB_OK
                        : status != SB_ERR_INPUT || strstr(err.message, message) == NULL)
        fail_msg("%s\nexpected: %s\nfound: %s", line, message, err.message);
    sb_record_close(&record);
}

static void test_order(void **state)
{
    (void)state;
    expect(HEAD "\"kappa\":-0.5,\"sequences\":[{\"tokens\":[1],\"log_p\":-1,\"g\":0.5},"
                "{\"tokens\":[2],\"log_p\":-2,\"g\":-0.25}]}",
           NULL);
    expect(HEAD "\"kappa\":-0.5,\"sequences\":[{\"tokens\":[1],\"log_p\":-1,\"g\":0.5},"
                "{\"tokens\":[2],\"log_p\":-2,\"g\":0.75}]}",
           "sequence 2: \"g\" is 0.75, above that of the sequence before it");
    expect(HEAD "\"kappa\":-0.5,\"sequences\":[{\"tokens\":[1],\"log_p\":-1,\"g\":0.5},"
                "{\"tokens\":[2],\"log_p\":-2,\"g\":-0.75}]}",
           "sequence 2: \"g\" is -0.75; expected at least \"kappa\", which is -0.5");
    expect(HEAD "\"kappa\":-0.5,\"sequences\":[{\"tokens\":[1],\"log_p\":-1,\"g\":0.5},"
                "{\"tokens\":[2],\"log_p\":-2}]}",
           "sequence 2: \"g\" is missing");
}

static void test_total(void **state)
{
    (void)state;
    expect(HEAD "\"kappa\":-9,\"sequences\":[{\"tokens\":[1],\"log_p\":-0.5,\"g\":0.5},"
                "{\"tokens\":[2],\"log_p\":-0.5,\"g\":0}]}",
           "the probabilities of the sequences sum to 1.213061319; expected at most 1");
    expect(HEAD "\"exhausted\":true,\"kappa\":null,\"sequences\":["
                "{\"tokens\":[1],\"log_p\":-2.1972245773362196,\"g\":0.5}]}",
           "\"exhausted\" is true, but the probabilities of the sequences sum to 0.1111111111");
    expect(HEAD "\"exhausted\":true,\"kappa\":null,\"sequences\":["
                "{\"tokens\":[1],\"log_p\":-0.000001,\"g\":0.5}]}",
           NULL);
    expect(
        "{\"stream\":0,\"draw\":0,\"input\":\"\",\"method\":\"sample\",\"k\":2,\"temperature\":1,"
        "\"sequences\":[{\"tokens\":[1],\"log_p\":-0.1},{\"tokens\":[1],\"log_p\":-0.1}]}",
        NULL); /* independent samples repeat */
    expect(
        "{\"stream\":0,\"draw\":0,\"input\":\"\",\"method\":\"sample\",\"k\":1,\"temperature\":1,"
        "\"sequences\":[{\"tokens\":[1],\"log_p\":0.1}]}",
        "sequence 1: \"log_p\" is 0.10000000000000001; expected at most 0");
}

/* The reason that a draw has ended must agree with its total probability, which is 0.5 here. */
static void test_mass(void **state)
{
    (void)state;
    static const struct {
        const char *mass, *reason, *message;
    } cases[] = {
        {"0.4", "mass", NULL},
        {"0.6", "k", NULL},
        {"0.6", "mass",
         "\"stopped_by\" is \"mass\", but the probabilities of the sequences sum to "
         "0.5, and \"until_mass\" is 0.6"},
        {"0.4", "k", "\"stopped_by\" is \"k\", but the probabilities"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[512];
        snprintf(line, sizeof line,
                 HEAD "\"until_mass\":%s,\"stopped_by\":\"%s\",\"kappa\":null,\"sequences\":["
                      "{\"tokens\":[1],\"log_p\":-1.3862943611198906,\"g\":0.5},"
                      "{\"tokens\":[2],\"log_p\":-1.3862943611198906,\"g\":0.25}]}",
                 cases[i].mass, cases[i].reason);
        expect(line, cases[i].message);
    }
}

static void test_distinct(void **state)
{
    (void)state;
    expect(HEAD "\"kappa\":-9,\"sequences\":[{\"tokens\":[1,2],\"log_p\":-1,\"g\":0.5},"
                "{\"tokens\":[1,2],\"log_p\":-1,\"g\":0}]}",
           "sequence 2: its tokens are those of sequence 1; method sbs returns no sequence twice");
    expect(HEAD "\"kappa\":-9,\"sequences\":[{\"tokens\":[],\"log_p\":-1,\"g\":0.5},"
                "{\"tokens\":[],\"log_p\":-1,\"g\":0}]}",
           "sequence 2: its tokens are those of sequence 1");
}

/* A weight may be off by rounding, but not by 1e-9 of its logarithm. */
static void test_weights(void **state)
{
    (void)state;
    static const double kappas[] = {-30, -2.5, 0.3, 4};
    for (size_t i = 0; i < sizeof kappas / sizeof *kappas; i++)
        for (int off = 0; off <= 1; off++) {
            const double log_p = -1.75, z = exp(log_p - kappas[i]);
            const double weight = log_p - log(-expm1(-z));
            char line[512];
            snprintf(line, sizeof line,
                     "{\"stream\":0,\"draw\":0,\"input\":\"\",\"method\":\"sbs\",\"k\":1,"
                     "\"temperature\":1,\"kappa\":%g,\"sequences\":[{\"tokens\":[1],\"log_p\":%g,"
                     "\"g\":5,\"log_weight\":%.17g}]}",
                     kappas[i], log_p, weight + off * 3e-9 * fmax(1, fabs(weight)));
            expect(line, off ? "sequence 1: \"log_weight\" is" : NULL);
        }
    expect(
        "{\"stream\":0,\"draw\":0,\"input\":\"\",\"method\":\"sbs\",\"k\":1,\"temperature\":1,"
        "\"kappa\":null,\"sequences\":[{\"tokens\":[1],\"log_p\":-1,\"g\":5,\"log_weight\":-1}]}",
        "but no \"kappa\" from which it could follow");
}

/* Every draw of the library passes: all methods, several settings, by record and back. */
static void test_own_draws(void **state)
{
    (void)state;
    sb_model *const model = open_file(TEST_DATA "/chain.json");
    const int32_t ban = token_of(model, "b");
    const char *const stop = "a a";
    sb_result *result, *again;
    sb_error err = {.message = ""};
    assert_int_equal(sb_result_open(&result, NULL), SB_OK);
    assert_int_equal(sb_result_open(&again, NULL), SB_OK);
    for (int i = 0; sb_method_name((sb_method)i) != NULL; i++)
        for (int variant = 0; variant < 9; variant++) {
            sb_config config, read;
            sb_record_writer *writer;
            sb_record record;
            const char *line;
            size_t size;
            sb_config_default(&config);
            config.method = (sb_method)i;
            config.k = variant == 0 ? 40 : 6;
            config.max_len = variant == 1 ? 3 : 5;
            config.temperature = variant == 2 ? 0.31 : 1;
            config.seed = (uint64_t)variant + 17;
            config.kappa = config.method != SB_METHOD_SBS || variant != 3;
            config.n_ban = variant == 4;
            config.ban = &ban;
            config.n_stop = variant == 5;
            config.stop = &stop;
            config.top_p = variant == 2 ? 0.87 : 1;
            if (config.method == SB_METHOD_SBS) {
                config.search = variant == 6 ? SB_SEARCH_LEVEL : SB_SEARCH_AUTO;
                config.parallel = variant == 7 ? 2 : 0;
                config.until_mass = variant == 7 ? 0.4 : 0;
                config.until_texts = variant == 8 ? 3 : 0;
            }
            if (sb_draw(model, NULL, &config, result, &err) != SB_OK ||
                sb_record_writer_open(&writer, model, &config, &err) != SB_OK ||
                sb_record_write(writer, NULL, result, &line, &size, &err) != SB_OK ||
                sb_record_read(&record, line, size, &err) != SB_OK ||
                sb_record_set_model(&record, model, &err) != SB_OK ||
                sb_record_get_config(&record, model, &read, &err) != SB_OK ||
                sb_draw(model, NULL, &read, again, &err) != SB_OK)
                fail_msg("%s: %s", sb_method_name((sb_method)i), err.message);
            assert_int_equal(result->n_sequences, again->n_sequences);
            assert_int_equal(result->model_rows, again->model_rows);
            assert_int_equal(result->stopped_by, again->stopped_by);
            assert_int_equal(result->stopped_by, record.stopped_by);
            for (int32_t s = 0; s < result->n_sequences; s++)
                assert_memory_equal(&result->sequences[s].log_p, &again->sequences[s].log_p,
                                    sizeof(double));
            sb_record_close(&record);
            sb_record_writer_close(writer);
        }
    sb_result_close(result);
    sb_result_close(again);
    sb_model_close(model);
}

static void read_record(sb_record *record, int stream, int draw, int seed, const char *more)
{
    char line[512];
    sb_error err = {.message = ""};
    snprintf(line, sizeof line,
             "{\"stream\":%d,\"draw\":%d,\"seed\":%d,\"method\":\"sbs\",\"k\":1,\"temperature\":1,"
             "%s\"kappa\":-1,\"sequences\":[{\"tokens\":[1],\"log_p\":-1,\"g\":0}]}",
             stream, draw, seed, more);
    if (sb_record_read(record, line, strlen(line), &err) != SB_OK)
        fail_msg("%s", err.message);
}

static void test_set(void **state)
{
    (void)state;
    sb_record_set *set;
    sb_record record;
    sb_error err;
    uint64_t line = 0;
    assert_int_equal(sb_record_set_open(&set, NULL), SB_OK);
    for (int i = 0; i < 2000; i++) {
        read_record(&record, i % 7, i / 7, 3, "");
        assert_int_equal(sb_record_set_add(set, &record, ++line, &err), SB_OK);
        sb_record_close(&record);
    }
    static const char *const others[] = {"\"max_len\":9,", "\"no_kappa\":true,", "\"model\":\"m\",",
                                         "\"stop\":[\"x\"],"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        read_record(&record, 0, 0, 3, others[i]); /* the same numbers, another draw */
        assert_int_equal(sb_record_set_add(set, &record, ++line, &err), SB_OK);
        sb_record_close(&record);
    }
    read_record(&record, 0, 0, 4, "");
    assert_int_equal(sb_record_set_add(set, &record, ++line, &err), SB_OK);
    sb_record_close(&record);
    read_record(&record, 2, 1, 3, "\"version\":\"9\",\"note\":\"new\",");
    assert_int_equal(sb_record_set_add(set, &record, ++line, &err), SB_ERR_INPUT);
    assert_string_equal(err.message, "draw 1 of stream 2 with seed 3 and temperature 1 is also on "
                                     "line 10, with the same settings; expected each draw once");
    sb_record_close(&record);
    /* Another search gives the same sequences from the same noise. */
    read_record(&record, 2, 1, 3, "\"search\":\"level\",\"parallel\":9,");
    assert_int_equal(sb_record_set_add(set, &record, ++line, &err), SB_ERR_INPUT);
    sb_record_close(&record);

    read_record(&record, 5, 0, 0, "\"input\":\"a\",");
    assert_int_equal(sb_record_set_add_input(set, &record, 1, &err), SB_OK);
    assert_int_equal(sb_record_set_add_input(set, &record, 2, &err), SB_OK);
    sb_record_close(&record);
    read_record(&record, 5, 0, 0, "\"input\":\"b\",");
    assert_int_equal(sb_record_set_add_input(set, &record, 3, &err), SB_ERR_INPUT);
    assert_non_null(strstr(err.message, "stream 5 has another input here than on line 1"));
    sb_record_close(&record);
    sb_record_set_close(set);
}

static void test_other_model(void **state)
{
    (void)state;
    sb_model *const model = open_file(TEST_DATA "/chain.json");
    sb_record record;
    sb_error err;
    read_record(&record, 0, 0, 0, "\"model\":\"0123456789abcdef\",");
    assert_int_equal(sb_record_set_model(&record, model, &err), SB_ERR_INPUT);
    assert_non_null(strstr(err.message, "the draw is from another model: its \"model\" is "
                                        "0123456789abcdef, but the checksum of this model is "));
    sb_record_close(&record);
    read_record(&record, 0, 0, 0, "\"version\":\"1\",\"pretokenized\":true,\"bpe_marker\":\"@@\",");
    assert_int_equal(sb_record_set_model(&record, model, &err), SB_OK);
    assert_true(sb_model_is_pretokenized(model));
    assert_string_equal(sb_model_get_marker(model), "@@");
    sb_record_close(&record);
    read_record(&record, 0, 0, 0, "\"version\":\"1\",");
    assert_int_equal(sb_record_set_model(&record, model, &err), SB_OK);
    assert_false(sb_model_is_pretokenized(model));
    assert_null(sb_model_get_marker(model));
    sb_record_close(&record);
    read_record(&record, 0, 0, 0, "\"ban\":[\"nothing\"],");
    sb_config config;
    assert_int_equal(sb_record_get_config(&record, model, &config, &err), SB_ERR_INPUT);
    assert_non_null(strstr(err.message, "the model has no token 'nothing'"));
    sb_record_close(&record);
    sb_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),   cmocka_unit_test(test_total),
        cmocka_unit_test(test_mass),    cmocka_unit_test(test_distinct),
        cmocka_unit_test(test_weights), cmocka_unit_test(test_own_draws),
        cmocka_unit_test(test_set),     cmocka_unit_test(test_other_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
