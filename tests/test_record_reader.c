/* Tests reading draws back from records: every field, fields that a method does not have, and
 * records that are refused. */
#include "sbeam/record.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *const start = "{\"stream\":7,\"draw\":3,\"input\":\"a b\",\"method\":\"sbs\","
                                 "\"k\":2,\"temperature\":0.3,\"max_len\":9,\"seed\":1,";
static const char *const end =
    "\"sequences\":[{\"text\":\"x\\u0000y\",\"tokens\":[4,5],\"log_p\":-1.25,\"g\":0.5,"
    "\"end\":\"eos\"},{\"tokens\":[],\"log_p\":-0.33757956508741105,\"g\":-1.5}]}";

static sb_status parse(const char *middle, sb_record *record, sb_error *err)
{
    char line[1024];
    snprintf(line, sizeof line, "%s%s%s", start, middle, end);
    return sb_record_read(record, line, strlen(line), err);
}

static void test_fields(void **state)
{
    (void)state;
    sb_record record;
    assert_int_equal(parse("\"kappa\":-2.5,\"exhausted\":false,", &record, NULL), SB_OK);
    assert_int_equal(record.stream, 7);
    assert_int_equal(record.draw, 3);
    assert_int_equal(record.method, SB_METHOD_SBS);
    assert_int_equal(record.k, 2);
    assert_true(record.temperature == 0.3);
    assert_true(isnan(record.strength));
    assert_true(record.kappa == -2.5);
    assert_false(record.exhausted);
    assert_true(record.complete);
    assert_int_equal(record.input_size, 3);
    assert_string_equal(record.input, "a b");
    assert_int_equal(record.n_sequences, 2);
    const sb_record_sequence *const sequences = record.sequences;
    assert_int_equal(sequences[0].text_size, 3);
    assert_memory_equal(sequences[0].text, "x\0y", 4);
    assert_int_equal(sequences[0].n_tokens, 2);
    assert_int_equal(sequences[0].tokens[0], 4);
    assert_int_equal(sequences[0].tokens[1], 5);
    assert_int_equal(sequences[0].end, SB_END_EOS);
    assert_true(sequences[0].log_p == -1.25 && sequences[0].g == 0.5);
    assert_true(isnan(sequences[0].log_p_model) && isnan(sequences[0].log_weight));
    assert_null(sequences[1].text);
    assert_int_equal(sequences[1].n_tokens, 0);
    assert_true(sequences[1].g == -1.5);
    assert_int_equal(sequences[1].end, SB_END_NONE);
    assert_int_equal(record.seed, 1);
    assert_null(record.model);
    assert_null(record.version);
    assert_string_equal(record.settings, "max_len 9");
    sb_record_close(&record);
    assert_null(record.sequences);
    assert_null(record.document);
}

/* A null threshold: -inf where all was found, else none; and only where the method has one. */
static void test_threshold(void **state)
{
    (void)state;
    sb_record record;
    assert_int_equal(parse("\"kappa\":null,\"exhausted\":true,", &record, NULL), SB_OK);
    assert_true(record.kappa == -INFINITY && record.exhausted);
    sb_record_close(&record);
    assert_int_equal(parse("\"kappa\":null,\"exhausted\":false,", &record, NULL), SB_OK);
    assert_true(isnan(record.kappa));
    sb_record_close(&record);
    static const char *const beam =
        "{\"stream\":0,\"draw\":0,\"input\":\"\",\"method\":\"beam\",\"k\":1,\"temperature\":1,"
        "\"exhausted\":true,\"sequences\":[{\"tokens\":[1],\"log_p\":0}]}";
    assert_int_equal(sb_record_read(&record, beam, strlen(beam), NULL), SB_OK);
    assert_true(isnan(record.kappa) && record.exhausted);
    sb_record_close(&record);
}

/* A draw with a rule may be short and has no threshold, even if it is exhausted. */
static void test_rules(void **state)
{
    (void)state;
    sb_record record;
    assert_int_equal(
        parse("\"until_mass\":0.9,\"stopped_by\":\"mass\",\"exhausted\":true,", &record, NULL),
        SB_OK);
    assert_true(isnan(record.kappa) && record.exhausted);
    assert_int_equal(record.stopped_by, SB_STOPPED_BY_MASS);
    sb_record_close(&record);
    assert_int_equal(parse("\"until_texts\":7,\"stopped_by\":\"k\",", &record, NULL), SB_OK);
    assert_int_equal(record.stopped_by, SB_STOPPED_BY_K);
    sb_record_close(&record);
    static const char *const ends[] = {"mass", "texts"};
    for (size_t i = 0; i < 2; i++) {
        char line[512];
        snprintf(line, sizeof line,
                 "{\"stream\":0,\"draw\":0,\"method\":\"sbs\",\"k\":9,\"temperature\":1,"
                 "\"until_mass\":0.1,\"until_texts\":1,\"stopped_by\":\"%s\","
                 "\"sequences\":[{\"tokens\":[1],\"log_p\":-1,\"g\":0}]}",
                 ends[i]);
        assert_int_equal(sb_record_read(&record, line, strlen(line), NULL), SB_OK);
        assert_string_equal(sb_stopped_by_name(record.stopped_by), ends[i]);
        sb_record_close(&record);
    }
    assert_int_equal(parse("", &record, NULL), SB_OK);
    assert_int_equal(record.stopped_by, SB_STOPPED_BY_NOTHING);
    sb_record_close(&record);
}

static void test_other_methods(void **state)
{
    (void)state;
    sb_record record;
    sb_error err;
    static const char *const diverse =
        "{\"stream\":0,\"draw\":0,\"input\":\"\",\"method\":\"diverse\",\"k\":1,\"temperature\":1,"
        "\"groups\":1,\"strength\":0.7,\"kappa\":null,\"sequences\":[]}";
    assert_int_equal(sb_record_read(&record, diverse, strlen(diverse), NULL), SB_OK);
    assert_true(record.strength == 0.7);
    sb_record_close(&record);
    static const char *const reject =
        "{\"stream\":0,\"draw\":0,\"input\":\"\",\"method\":\"reject\",\"k\":1,\"temperature\":1,"
        "\"complete\":false,\"sequences\":[]}";
    assert_int_equal(sb_record_read(&record, reject, strlen(reject), NULL), SB_OK);
    assert_false(record.complete);
    sb_record_close(&record);
    static const char *const weak =
        "{\"stream\":0,\"draw\":0,\"input\":\"\",\"method\":\"diverse\",\"k\":1,\"temperature\":1,"
        "\"sequences\":[]}";
    assert_int_equal(sb_record_read(&record, weak, strlen(weak), &err), SB_ERR_INPUT);
    assert_string_equal(err.message, "\"strength\" is missing");
}

/* Settings are one text, which tells records apart; their order in the record does not matter. */
static void test_settings(void **state)
{
    (void)state;
    sb_record record;
    assert_int_equal(parse("\"version\":\"1\",\"model\":\"m\",\"pretokenized\":true,"
                           "\"bpe_marker\":\"@@\",\"no_kappa\":true,\"top_p\":0.9,"
                           "\"penalty\":\"step\",\"early_stop\":true,\"ban\":[\"x\",3],"
                           "\"stop\":[\"a\",\"b\"],",
                           &record, NULL),
                     SB_OK);
    assert_string_equal(record.settings,
                        "max_len 9, top_p 0.9, early_stop true, penalty step, no_kappa true, "
                        "pretokenized true, bpe_marker @@, ban x, ban 3, stop a, stop b, model m");
    assert_string_equal(record.model, "m");
    assert_string_equal(record.version, "1");
    sb_record_close(&record);
}

#define HEAD "{\"stream\":0,\"draw\":0,\"input\":\"\",\"method\":\"sbs\",\"k\":1,\"temperature\":1,"

static void test_refusals(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", "invalid JSON"},
        {"[]", "not a record of sbeam draw"},
        {"{\"stream\":0", "invalid JSON"},
        {"{\"stream\":0,\"stream\":0}", "invalid JSON: duplicate object key"},
        {"{}", "\"stream\" is missing"},
        {"{\"stream\":-1}", "\"stream\" is not a whole number from 0"},
        {"{\"stream\":1.5}", "\"stream\" is not a whole number from 0"},
        {"{\"stream\":0}", "\"draw\" is missing"},
        {"{\"stream\":0,\"draw\":0,\"input\":3}", "\"input\" is not a string"},
        {"{\"stream\":0,\"draw\":0,\"input\":\"\",\"method\":\"swim\"}",
         "\"method\" is \"swim\", which is not a method"},
        {"{\"stream\":0,\"draw\":0,\"input\":\"\",\"method\":\"sbs\\u0000\"}",
         "byte 4 of \"method\" is a zero byte (NUL)"},
        {"{\"stream\":0,\"draw\":0,\"input\":\"\",\"method\":\"sbs\",\"k\":0}",
         "\"k\" is not a whole number from 1 to 2147483647"},
        {"{\"stream\":0,\"draw\":0,\"input\":\"\",\"method\":\"sbs\",\"k\":1,\"temperature\":0}",
         "\"temperature\" is not above 0"},
        {HEAD "\"kappa\":NaN,\"sequences\":[]}", "invalid JSON"},
        {HEAD "\"kappa\":-1e999,\"sequences\":[]}", "invalid JSON: real number overflow"},
        {HEAD "\"kappa\":\"-inf\",\"sequences\":[]}", "\"kappa\" is not a number"},
        {HEAD "\"kappa\":1,\"exhausted\":true,\"sequences\":[]}", "\"kappa\" is a number though"},
        {HEAD "\"exhausted\":1}", "\"exhausted\" is neither true nor false"},
        {HEAD "\"complete\":null}", "\"complete\" is neither true nor false"},
        {"{\"partial\":true,\"stream\":0}", "the line has \"partial\":true"},
        {HEAD "\"stopped_by\":\"time\"}",
         "\"stopped_by\" is \"time\"; expected mass, texts, k or exhausted"},
        {HEAD "\"stopped_by\":3}", "\"stopped_by\" is not a string"},
        {HEAD "\"stopped_by\":\"k\"}", "\"stopped_by\" is \"k\", but the draw has no rule"},
        {HEAD "\"until_mass\":\"none\",\"stopped_by\":\"k\"}",
         "\"stopped_by\" is \"k\", but the draw has no rule"},
        {HEAD "\"until_mass\":0.5}",
         "\"stopped_by\" is missing; expected it in a draw with \"until_mass\""},
        {HEAD "\"until_texts\":2}",
         "\"stopped_by\" is missing; expected it in a draw with \"until_texts\""},
        {HEAD "\"until_mass\":0.5,\"stopped_by\":\"texts\"}",
         "\"stopped_by\" is \"texts\", but there is no \"until_texts\""},
        {HEAD "\"until_texts\":2,\"stopped_by\":\"mass\"}",
         "\"stopped_by\" is \"mass\", but there is no \"until_mass\""},
        {HEAD "\"until_texts\":2,\"stopped_by\":\"exhausted\"}",
         "\"stopped_by\" is \"exhausted\", but \"exhausted\" is not true"},
        {HEAD "\"until_mass\":0.5,\"stopped_by\":\"mass\",\"kappa\":-1}",
         "\"kappa\" is a number though the draw has \"stopped_by\""},
        {HEAD "\"until_mass\":0.5,\"stopped_by\":\"k\",\"sequences\":[]}",
         "there are 0 sequences, but \"k\" is 1"},
        {HEAD "\"until_mass\":0.5,\"stopped_by\":\"mass\",\"sequences\":[{\"tokens\":[],"
              "\"log_p\":-0.1,\"g\":0,\"log_weight\":-0.1}]}",
         "sequence 1: there is a \"log_weight\", but no \"kappa\""},
        {HEAD "\"ban\":[3.5]}", "\"ban\" is not an array of strings"},
        {HEAD "\"ban\":\"a\"}", "\"ban\" is not an array"},
        {HEAD "\"ban\":null}", "\"ban\" is not an array"},
        {HEAD "\"max_len\":[]}", "\"max_len\" is not a setting"},
        {HEAD "\"no_kappa\":1}", "\"no_kappa\" is neither true nor false"},
        {HEAD "\"bpe_marker\":1}", "\"bpe_marker\" is not a string"},
        {HEAD "\"stop\":[\"a\",null]}", "\"stop\" is not an array of strings"},
        {HEAD "\"stop\":[\"a\\u0000b\"]}", "\"stop\" is not an array of strings"},
        {HEAD "\"kappa\":1}", "\"sequences\" is missing"},
        {HEAD "\"sequences\":{}}", "\"sequences\" is not an array"},
        {HEAD "\"sequences\":[1,2]}", "there are 2 sequences, but \"k\" is 1"},
        {HEAD "\"sequences\":[]}",
         "there are 0 sequences, but \"k\" is 1 and \"exhausted\" is not"},
        {HEAD "\"sequences\":[1]}", "sequence 1: not an object"},
        {HEAD "\"sequences\":[{\"text\":1}]}", "sequence 1: \"text\" is not a string"},
        {HEAD "\"sequences\":[{}]}", "sequence 1: \"tokens\" is missing"},
        {HEAD "\"sequences\":[{\"tokens\":1}]}", "sequence 1: \"tokens\" is not an array"},
        {HEAD "\"sequences\":[{\"tokens\":[]}]}", "sequence 1: \"log_p\" is missing"},
        {HEAD "\"sequences\":[{\"tokens\":[],\"log_p\":null}]}",
         "sequence 1: \"log_p\" is not a number"},
        {HEAD "\"sequences\":[{\"tokens\":[],\"log_p\":-1,\"g\":\"\"}]}",
         "sequence 1: \"g\" is not a number"},
        {HEAD "\"sequences\":[{\"tokens\":[],\"log_p\":-1,\"g\":0,\"end\":\"late\"}]}",
         "sequence 1: \"end\" is \"late\"; expected eos, max-len, leaf or stop"},
        {HEAD "\"sequences\":[{\"tokens\":[-1],\"log_p\":-1,\"g\":0}]}",
         "sequence 1: \"tokens\": number 1 is not a token id"},
        {HEAD "\"sequences\":[{\"tokens\":[1,1.0],\"log_p\":-1,\"g\":0}]}",
         "sequence 1: \"tokens\": number 2 is not a token id"},
        {HEAD "\"sequences\":[{\"tokens\":[\"1\"],\"log_p\":-1,\"g\":0}]}",
         "sequence 1: \"tokens\": number 1 is not a token id"},
        {HEAD "\"sequences\":[{\"tokens\":[4294967296],\"log_p\":-1,\"g\":0}]}",
         "sequence 1: \"tokens\": number 1 is not a token id"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sb_record record;
        sb_error err;
        const char *const line = cases[i][0];
        assert_int_equal(sb_record_read(&record, line, strlen(line), &err), SB_ERR_INPUT);
        if (strncmp(err.message, cases[i][1], strlen(cases[i][1])) != 0)
            fail_msg("%s: \"%s\"", line, err.message);
        assert_null(record.document);
        assert_null(record.sequences);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),        cmocka_unit_test(test_threshold),
        cmocka_unit_test(test_other_methods), cmocka_unit_test(test_settings),
        cmocka_unit_test(test_refusals),      cmocka_unit_test(test_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
