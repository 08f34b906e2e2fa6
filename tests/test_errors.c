/* What is refused, and how: settings, hosts that break the contract, and memory that is not there.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "draw_check.h"

static const char *const tree_json =
    "{\"format\":\"sbeam-tree\",\"tree\":{\"a\":[0.6,{\"b\":[0.5,null],\"c\":[0.5,null]}],"
    "\"d\":[0.4,null]}}";

/* --- settings --- */

static void settings_by_name(void **state)
{
    (void)state;
    sb_config config, untouched;
    sb_error err;
    sb_config_default(&config);
    assert_int_equal(sb_config_check(&config, &err), SB_OK);
    for (size_t i = 0; sb_config_option(i) != NULL; i++) {
        const sb_option *const option = sb_config_option(i);
        sb_config again = config;
        char text[64];
        assert_int_equal(sb_config_get(&config, option->name, text, sizeof text, &err), SB_OK);
        assert_string_equal(text, option->default_text);
        assert_int_equal(sb_config_set(&again, option->name, option->default_text, &err), SB_OK);
        assert_memory_equal(&again, &config, sizeof config);
        assert_true(strlen(option->help) > 0 && option->methods != 0);
    }
    static const struct {
        const char *name, *value;
    } bad[] = {{"k", "0"},
               {"k", "-1"},
               {"k", "1.5"},
               {"k", ""},
               {"k", "10000001"},
               {"k", "99999999999999999999"},
               {"k", " 3"},
               {"temperature", "0"},
               {"temperature", "-0.5"},
               {"temperature", "nan"},
               {"temperature", "inf"},
               {"temperature", "1x"},
               {"temperature", " 1"},
               {"top-p", "0"},
               {"top-p", "1.01"},
               {"min-p", "-0.1"},
               {"max-len", "0"},
               {"seed", "18446744073709551616"},
               {"method", "SBS"},
               {"method", ""},
               {"method", "sbs|beam"},
               {"finished", "stay|"},
               {"early-stop", "yes"},
               {"strength", "-1"},
               {"max-samples", "0"},
               {"no-such-option", "1"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        untouched = config;
        assert_int_equal(sb_config_set(&config, bad[i].name, bad[i].value, &err), SB_ERR_ARGUMENT);
        assert_non_null(strstr(err.message, bad[i].name));
        assert_memory_equal(&config, &untouched, sizeof config);
    }
    assert_int_equal(sb_config_set(&config, "seed", "18446744073709551615", &err), SB_OK);
    assert_true(config.seed == UINT64_MAX);
    assert_int_equal(sb_config_check(&config, &err), SB_OK);
    assert_null(sb_method_name((sb_method)99));
    assert_string_equal(sb_method_name(SB_METHOD_EXPLICIT), "explicit");
}

static void expect_refused(const sb_config *config, const char *message)
{
    sb_error err = {SB_OK, ""};
    assert_int_equal(sb_config_check(config, &err), SB_ERR_ARGUMENT);
    if (strstr(err.message, message) == NULL)
        fail_msg("expected '%s' in '%s'", message, err.message);
}

static void settings_that_methods_refuse(void **state)
{
    (void)state;
    sb_config config;
    sb_config_default(&config);
    config.length_penalty = 0.6;
    expect_refused(&config, "no longer be a sample");
    config.length_penalty = 0;
    config.early_stop = true;
    expect_refused(&config, "early-stop");
    config.early_stop = false;
    config.strength = 0.1;
    expect_refused(&config, "method sbs has no option strength");
    sb_config_default(&config);
    config.k = 0;
    expect_refused(&config, "k is '0'");
    sb_config_default(&config);
    config.temperature = -1;
    expect_refused(&config, "temperature");
    config.temperature = NAN;
    expect_refused(&config, "temperature");
    config.temperature = 1e-310;
    expect_refused(&config, "1e-100");
    sb_config_default(&config);
    config.min_len = 300;
    expect_refused(&config, "max-len");
    sb_config_default(&config);
    config.method = SB_METHOD_DIVERSE;
    config.groups = 3;
    expect_refused(&config, "divisor");
    sb_config_default(&config);
    config.method = (sb_method)7;
    expect_refused(&config, "method");
    sb_config_default(&config);
    const char *const stops[] = {""};
    config.stop = stops;
    config.n_stop = 1;
    expect_refused(&config, "empty");
    config.stop = NULL;
    expect_refused(&config, "no list");
    assert_int_equal(sb_config_check(NULL, NULL), SB_ERR_ARGUMENT);
}

/* --- hosts --- */

static sb_decoder *open_decoder(int32_t vocab, sb_row_type type, int32_t slots)
{
    sb_config config;
    sb_config_default(&config);
    config.k = 2;
    config.max_len = 3;
    const sb_decoder_spec spec = {
        .vocab_size = vocab, .eos = -1, .row_type = type, .max_slots = slots};
    sb_decoder *decoder;
    assert_int_equal(sb_decoder_open(&decoder, &spec, &config, NULL), SB_OK);
    return decoder;
}

static void rows_that_are_no_distribution(void **state)
{
    (void)state;
    static const double bad[] = {NAN, INFINITY};
    for (int type = 0; type < 2; type++)
        for (int i = 0; i < 3; i++) {
            sb_decoder *const decoder = open_decoder(4, (sb_row_type)type, 1);
            const sb_job job = {0};
            sb_error err;
            double d[12] = {0};
            float f[12] = {0};
            assert_int_equal(sb_decoder_add(decoder, &job, NULL, &err), SB_OK);
            const void *const rows = type == SB_ROW_FLOAT ? (const void *)f : (const void *)d;
            assert_int_equal(sb_decoder_advance(decoder, rows, 4, &err), SB_OK);
            if (i < 2)
                f[4 + 3] = (float)(d[4 + 3] = bad[i]);
            for (int j = 4; j < 8 && i == 2; j++)
                f[j] = (float)(d[j] = -INFINITY);
            assert_int_equal(sb_decoder_advance(decoder, rows, 4, &err), SB_ERR_MODEL);
            assert_non_null(strstr(err.message, "step 2, row 1"));
            assert_non_null(strstr(err.message, i < 2 ? "token 3" : "probability zero"));
            /* Its slot tells it again, has no result, and is free for another job. */
            sb_result *result;
            assert_int_equal(sb_result_open(&result, NULL), SB_OK);
            assert_true(sb_decoder_done(decoder));
            assert_int_equal(sb_decoder_finished(decoder), 0);
            assert_int_equal(sb_decoder_take(decoder, 0, result, &err), SB_ERR_MODEL);
            assert_non_null(strstr(err.message, "step 2, row 1"));
            assert_int_equal(result->n_sequences, 0);
            assert_int_equal(sb_decoder_advance(decoder, rows, 4, &err), SB_ERR_STATE);
            assert_int_equal(sb_decoder_add(decoder, &job, NULL, &err), SB_OK);
            sb_result_close(result);
            sb_decoder_close(decoder);
        }
}

/* A slot that fails does not touch the others. */
static void one_slot_fails_alone(void **state)
{
    (void)state;
    sb_decoder *const alone = open_decoder(4, SB_ROW_FLOAT, 1);
    sb_decoder *const pair = open_decoder(4, SB_ROW_FLOAT, 2);
    const sb_job job = {.draw = 3}, other = {.draw = 4};
    sb_result *expected, *found;
    sb_error err;
    assert_int_equal(sb_result_open(&expected, NULL), SB_OK);
    assert_int_equal(sb_result_open(&found, NULL), SB_OK);
    assert_int_equal(sb_decoder_add(alone, &job, NULL, &err), SB_OK);
    assert_int_equal(sb_decoder_add(pair, &other, NULL, &err), SB_OK);
    assert_int_equal(sb_decoder_add(pair, &job, NULL, &err), SB_OK);
    for (int step = 0; step < 3; step++) {
        float rows[6 * 4] = {0.3f, 0.1f, 0, -1};
        rows[1] = step == 1 ? NAN : 0.1f; /* the first row is the first slot's */
        const sb_status status = sb_decoder_advance(pair, rows, 4, &err);
        assert_int_equal(status, step == 1 ? SB_ERR_MODEL : SB_OK);
        memset(rows, 0, sizeof rows);
        assert_int_equal(sb_decoder_advance(alone, rows, 4, &err), SB_OK);
        if (step == 1) {
            assert_int_equal(sb_decoder_finished(pair), 0);
            assert_int_equal(sb_decoder_take(pair, 0, found, &err), SB_ERR_MODEL);
            assert_int_equal(sb_decoder_finished(pair), -1);
        }
    }
    sb_beam_entry entry;
    assert_int_equal(sb_decoder_finished(pair), 1);
    assert_true(sb_decoder_beam(pair, 1, 0, &entry));
    assert_false(sb_decoder_beam(pair, 0, 0, &entry));
    assert_int_equal(sb_decoder_take(pair, 1, found, &err), SB_OK);
    assert_int_equal(sb_decoder_take(alone, 0, expected, &err), SB_OK);
    assert_int_equal(found->n_sequences, expected->n_sequences);
    sb_result_close(expected);
    sb_result_close(found);
    sb_decoder_close(alone);
    sb_decoder_close(pair);
}

static void calls_out_of_order(void **state)
{
    (void)state;
    sb_decoder *decoder = open_decoder(3, SB_ROW_FLOAT, 1);
    const sb_job job = {0}, hot = {.temperature = INFINITY}, wrong = {.temperature = -2};
    const float logits[9] = {0, 1, 2, 0, 1, 2, 0, 1, 2};
    sb_error err;
    int32_t slot;
    sb_result *result;
    sb_beam_entry entry;
    assert_int_equal(sb_result_open(&result, &err), SB_OK);
    assert_int_equal(sb_decoder_advance(decoder, logits, 3, &err), SB_ERR_STATE);
    assert_int_equal(sb_decoder_add(decoder, &hot, &slot, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_decoder_add(decoder, &wrong, &slot, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_decoder_add(decoder, &job, &slot, &err), SB_OK);
    assert_int_equal(sb_decoder_add(decoder, &job, &slot, &err), SB_ERR_STATE);
    assert_int_equal(sb_decoder_take(decoder, 0, result, &err), SB_ERR_STATE);
    assert_int_equal(sb_decoder_take(decoder, 1, result, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_decoder_advance(decoder, logits, 3, &err), SB_OK);
    assert_int_equal(sb_decoder_advance(decoder, logits, 2, &err), SB_ERR_ARGUMENT);
    assert_true(sb_decoder_beam(decoder, 0, 0, &entry) && entry.depth == 1 && entry.parent == 0);
    assert_false(sb_decoder_beam(decoder, 0, 3, &entry));
    assert_false(sb_decoder_beam(decoder, 1, 0, &entry));
    assert_int_equal(sb_decoder_cancel(decoder, 0, &err), SB_OK);
    assert_true(sb_decoder_done(decoder));
    assert_int_equal(sb_decoder_cancel(decoder, 0, &err), SB_ERR_STATE);
    sb_result_close(result);
    sb_decoder_close(decoder);
    sb_decoder_close(NULL);
    sb_result_close(NULL);

    sb_config config;
    sb_config_default(&config);
    const int32_t ban[] = {3};
    static const sb_decoder_spec bad[] = {
        {.vocab_size = 0, .eos = -1, .max_slots = 1},
        {.vocab_size = 3, .eos = 3, .max_slots = 1},
        {.vocab_size = 3, .eos = -2, .max_slots = 1},
        {.vocab_size = 3, .eos = -1, .max_slots = 0},
        {.vocab_size = 3, .eos = -1, .max_slots = 1, .row_type = (sb_row_type)5},
        {.vocab_size = 3, .eos = -1, .max_slots = 1, .max_rows = -1},
        {.vocab_size = 3, .eos = -1, .max_slots = 1}, /* with the ban */
    };
    for (int i = 0; i < 7; i++) {
        config.ban = ban;
        config.n_ban = i == 6;
        assert_int_equal(sb_decoder_open(&decoder, &bad[i], &config, &err), SB_ERR_ARGUMENT);
    }
    /* Stop strings without anybody who knows the text; more rows than the host has. */
    static const char *const stops[] = {"x"};
    const sb_decoder_spec small = {.vocab_size = 3, .eos = -1, .max_slots = 1, .max_rows = 4};
    sb_config_default(&config);
    config.stop = stops;
    config.n_stop = 1;
    assert_int_equal(sb_decoder_open(&decoder, &small, &config, &err), SB_ERR_ARGUMENT);
    sb_config_default(&config);
    assert_int_equal(sb_decoder_open(&decoder, &small, &config, &err), SB_ERR_LIMIT);
    assert_non_null(strstr(err.message, "k = 5 needs 6 rows"));
    config.method = SB_METHOD_EXPLICIT;
    assert_int_equal(sb_decoder_open(&decoder, &small, &config, &err), SB_ERR_LIMIT);
}

static int cannot_tell(void *user, const int32_t *tokens, int32_t n_tokens)
{
    (void)user;
    (void)tokens;
    return n_tokens < 2 ? 0 : -1;
}

/* Reject keeps to the rows that there are; a stop that cannot be told is a failure. */
static void limits_of_hosts(void **state)
{
    (void)state;
    sb_config config;
    sb_config_default(&config);
    config.method = SB_METHOD_REJECT;
    config.k = 8;
    config.max_len = 2;
    sb_decoder_spec spec = {
        .vocab_size = 3, .eos = -1, .row_type = SB_ROW_FLOAT, .max_slots = 1, .max_rows = 8};
    const sb_job job = {0};
    const float rows[8 * 3] = {0};
    sb_decoder *decoder;
    sb_error err;
    assert_int_equal(sb_decoder_open(&decoder, &spec, &config, &err), SB_OK);
    assert_int_equal(sb_decoder_add(decoder, &job, NULL, &err), SB_OK);
    while (!sb_decoder_done(decoder)) {
        assert_true(sb_decoder_rows(decoder, NULL, NULL, NULL) <= 8);
        assert_int_equal(sb_decoder_advance(decoder, rows, 3, &err), SB_OK);
    }
    assert_int_equal(sb_decoder_finished(decoder), 0);
    sb_decoder_close(decoder);

    sb_config_default(&config);
    spec.max_rows = 0;
    spec.is_stop = cannot_tell;
    assert_int_equal(sb_decoder_open(&decoder, &spec, &config, &err), SB_OK);
    assert_int_equal(sb_decoder_add(decoder, &job, NULL, &err), SB_OK);
    assert_int_equal(sb_decoder_advance(decoder, rows, 3, &err), SB_OK);
    assert_int_equal(sb_decoder_advance(decoder, rows, 3, &err), SB_ERR_MEMORY);
    assert_int_equal(sb_decoder_finished(decoder), -1);
    assert_int_equal(sb_decoder_add(decoder, &job, NULL, &err), SB_ERR_STATE);
    sb_decoder_close(decoder);
}

/* The step interface gives what the one call gives, jobs joining at any time. */
static void steps_equal_the_call(void **state)
{
    (void)state;
    enum { VOCAB = 40, JOBS = 9, SLOTS = 4 };
    sb_model *const model = hash_model(VOCAB);
    sb_session *session;
    sb_decoder *decoder;
    sb_error err;
    sb_config config;
    sb_config_default(&config);
    config.max_len = 5;
    config.seed = 77;
    const sb_decoder_spec spec = {
        .vocab_size = VOCAB, .eos = -1, .row_type = SB_ROW_FLOAT, .max_slots = SLOTS};
    assert_int_equal(sb_decoder_open(&decoder, &spec, &config, &err), SB_OK);
    assert_int_equal(sb_session_open(&session, model, SLOTS, &err), SB_OK);
    static float rows[SLOTS * 6 * VOCAB];
    sb_result *result;
    assert_int_equal(sb_result_open(&result, &err), SB_OK);
    int started = 0, finished = 0;
    for (int step = 0; finished < JOBS; step++) {
        int32_t slot;
        if (started < JOBS && step % 2 == 0) {
            const sb_job job = {.draw = (uint64_t)started};
            if (sb_decoder_add(decoder, &job, &slot, &err) == SB_OK)
                started++;
        }
        const int32_t *parent, *token, *input;
        const int32_t n = sb_decoder_rows(decoder, &parent, &token, &input);
        assert_int_equal(sb_session_step(session, n, parent, token, input, rows, &err), SB_OK);
        assert_int_equal(sb_decoder_advance(decoder, rows, VOCAB, &err), SB_OK);
        while ((slot = sb_decoder_finished(decoder)) >= 0) {
            assert_int_equal(sb_decoder_take(decoder, slot, result, &err), SB_OK);
            sb_result *const expected = draw(model, &config, result->draw);
            assert_same_results(expected, result);
            sb_result_close(expected);
            finished++;
        }
    }
    assert_true(sb_decoder_done(decoder));
    sb_result_close(result);
    sb_session_close(session);
    sb_decoder_close(decoder);
    sb_model_close(model);
}

/* --- pipes --- */

struct pipe_log {
    const char *const *texts;
    int n_texts, next, n_results, n_done, stop_at;
};

static int give_text(void *user, sb_input *input, sb_error *err)
{
    struct pipe_log *const log = user;
    if (log->next == log->n_texts)
        return 0;
    const char *const text = log->texts[log->next];
    if (text == NULL) {
        err->status = SB_ERR_IO;
        snprintf(err->message, sizeof err->message, "the tape is torn");
        return -1;
    }
    *input = (sb_input){text, strlen(text), (uint64_t)log->next++, NULL};
    return 1;
}

static int count_result(void *user, const sb_input *input, const sb_result *result, sb_error *err)
{
    (void)err;
    struct pipe_log *const log = user;
    assert_true(input->stream == result->stream);
    assert_int_equal(log->n_results / 3, result->stream); /* three draws each, in order */
    return ++log->n_results == log->stop_at;
}

static void count_done(void *user, const sb_input *input)
{
    (void)input;
    ((struct pipe_log *)user)->n_done++;
}

static sb_status run_pipe(const sb_model *model, struct pipe_log *log, int32_t threads,
                          int32_t batch, sb_error *err)
{
    sb_config config;
    sb_plan plan;
    sb_config_default(&config);
    sb_plan_default(&plan);
    plan.n_draws = 3;
    plan.threads = threads;
    plan.batch = batch;
    const sb_pipe pipe = {log, give_text, count_result, count_done};
    return sb_draw_all(model, &config, &plan, &pipe, err);
}

static void pipes_end_in_order(void **state)
{
    (void)state;
    sb_model *const model = open_json(tree_json);
    static const char *const fine[] = {"", "a", "", "a", "", ""};
    static const char *const refused[] = {"", "a", "", "nowhere", "", ""};
    static const char *const torn[] = {"", "a", NULL};
    static const int32_t plans[][2] = {{1, 1}, {1, 16}, {3, 1}, {3, 4}};
    for (int i = 0; i < 4; i++) {
        const int32_t threads = plans[i][0], batch = plans[i][1];
        sb_error err = {SB_OK, ""};
        struct pipe_log log = {.texts = fine, .n_texts = 6};
        assert_int_equal(run_pipe(model, &log, threads, batch, &err), SB_OK);
        assert_true(log.n_results == 18 && log.n_done == 6);
        /* What comes before an input that is refused is there; nothing after. */
        log = (struct pipe_log){.texts = refused, .n_texts = 6};
        assert_int_equal(run_pipe(model, &log, threads, batch, &err), SB_ERR_INPUT);
        assert_non_null(strstr(err.message, "input 3"));
        assert_non_null(strstr(err.message, "nowhere"));
        assert_true(log.n_results == 9 && log.n_done == log.next);
        log = (struct pipe_log){.texts = torn, .n_texts = 3};
        assert_int_equal(run_pipe(model, &log, threads, batch, &err), SB_ERR_IO);
        assert_string_equal(err.message, "the tape is torn");
        assert_int_equal(log.n_done, log.next);
        log = (struct pipe_log){.texts = fine, .n_texts = 6, .stop_at = 4};
        assert_int_equal(run_pipe(model, &log, threads, batch, &err), SB_ERR_STOPPED);
        assert_true(log.n_results == 4 && log.n_done == log.next);
    }
    sb_model_close(model);
}

static void plans_out_of_range(void **state)
{
    (void)state;
    sb_model *const model = open_json(tree_json);
    struct pipe_log log = {.n_texts = 0};
    sb_error err;
    assert_int_equal(run_pipe(model, &log, 0, 16, &err), SB_ERR_ARGUMENT);
    assert_int_equal(run_pipe(model, &log, 1, 0, &err), SB_ERR_ARGUMENT);
    assert_int_equal(run_pipe(model, &log, 1025, 1, &err), SB_ERR_ARGUMENT);
    assert_int_equal(run_pipe(NULL, &log, 1, 1, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_draw(model, NULL, NULL, NULL, &err), SB_ERR_ARGUMENT);

    /* Temperatures are looked at before anything is drawn. */
    const double bad[] = {0, -1, NAN, INFINITY, 1e-101, 1e101};
    sb_config config;
    sb_plan plan;
    sb_result *result;
    const sb_input empty = {0}, broken = {.text = NULL, .size = 5};
    sb_config_default(&config);
    sb_plan_default(&plan);
    assert_int_equal(sb_result_open(&result, NULL), SB_OK);
    for (int i = 0; i < 6; i++) {
        plan.temperatures = &bad[i];
        plan.n_temperatures = 1;
        assert_int_equal(sb_draw_batch(model, &empty, 1, &config, &plan, &result, &err),
                         SB_ERR_ARGUMENT);
        assert_non_null(strstr(err.message, "temperature"));
    }
    plan.n_temperatures = 0;
    assert_int_equal(sb_draw_batch(model, &empty, 1, &config, &plan, &result, &err),
                     SB_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "empty"));
    sb_plan_default(&plan);
    plan.first_draw = UINT64_MAX;
    plan.n_draws = 2;
    sb_result *two[2] = {result, NULL};
    assert_int_equal(sb_result_open(&two[1], NULL), SB_OK);
    assert_int_equal(sb_draw_batch(model, &empty, 1, &config, &plan, two, &err), SB_ERR_ARGUMENT);
    sb_plan_default(&plan);
    assert_int_equal(sb_draw_batch(model, &broken, 1, &config, &plan, &result, &err),
                     SB_ERR_ARGUMENT);
    sb_result_close(two[1]);

    /* Stop strings on a model without text. */
    static const char *const stops[] = {"x"};
    sb_model *const mute = hash_model(4);
    config.stop = stops;
    config.n_stop = 1;
    assert_int_equal(sb_draw(mute, NULL, &config, result, &err), SB_ERR_ARGUMENT);
    sb_result_close(result);
    sb_model_close(mute);
    sb_model_close(model);
}

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
    for (int variant = 0; variant < 9; variant++) {
        sb_config config;
        sb_config_default(&config);
        config.method = (sb_method)(variant < 7 ? variant : SB_METHOD_BEAM);
        config.max_len = 6;
        if (variant == 7)
            config.finished = SB_FINISHED_LEAVE;
        if (variant == 8) {
            config.method = SB_METHOD_SBS;
            config.stop = stops;
            config.n_stop = 1;
            config.ban = ban;
            config.n_ban = 1;
            config.top_p = 0.9;
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
    sb_model_close(model);
    bool ended = false;
    for (long n = 1; !ended; n++) {
        sb_topk *topk = NULL;
        int32_t slot, n_items;
        const sb_topk_item *items;
        double kappa;
        alloc_fail_at(n);
        sb_status status = sb_topk_open(&topk, 3, 1, NULL);
        for (int i = 0; i < 20 && status == SB_OK; i++)
            status = sb_topk_push(topk, -i, &slot, NULL);
        if (status == SB_OK)
            status = sb_topk_items(topk, &items, &n_items, &kappa, NULL);
        ended = !alloc_has_failed();
        alloc_fail_at(0);
        assert_true(status == (ended ? SB_OK : SB_ERR_MEMORY));
        sb_topk_close(topk);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_by_name),
        cmocka_unit_test(settings_that_methods_refuse),
        cmocka_unit_test(rows_that_are_no_distribution),
        cmocka_unit_test(one_slot_fails_alone),
        cmocka_unit_test(calls_out_of_order),
        cmocka_unit_test(limits_of_hosts),
        cmocka_unit_test(steps_equal_the_call),
        cmocka_unit_test(pipes_end_in_order),
        cmocka_unit_test(plans_out_of_range),
        cmocka_unit_test(scores),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
