/* Tests drawing from many inputs: the order of results, the end of the work, and plans that are
 * refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "draw_check.h"

static const char *const tree_json =
    "{\"format\":\"sbeam-tree\",\"tree\":{\"a\":[0.6,{\"b\":[0.5,null],\"c\":[0.5,null]}],"
    "\"d\":[0.4,null]}}";

struct pipe_log {
    const char *const *texts;
    int n_texts, next, n_results, n_done, stop_at;
    int32_t min_len;
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
    config.min_len = log->min_len;
    plan.n_draws = 3;
    plan.threads = threads;
    plan.batch = batch;
    const sb_pipe pipe = {
        .user = log, .source = give_text, .sink = count_result, .done = count_done};
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

/* An input that begins well and fails later: "good" of greeting.json has only leaves of one word,
 * all of which min-len 2 bans. "hey" fails as well, and "nowhere" is refused at once; whatever the
 * threads and the batch, the first in order is what is told, and all before it is handed over. */
static void failing_inputs_end_in_order(void **state)
{
    (void)state;
    sb_model *model;
    sb_error err;
    static const char *const texts[] = {"", "hello", "", "good", "hey", "nowhere", "", "hello"};
    static const int32_t plans[][2] = {{1, 1}, {1, 2}, {1, 16}, {1, 4096}, {2, 1}, {3, 4}, {8, 3}};
    assert_int_equal(sb_model_open(&model, TEST_DATA "/../../models/greeting.json", &err), SB_OK);
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        for (int round = 0; round < 5; round++) {
            struct pipe_log log = {.texts = texts, .n_texts = 8, .min_len = 2};
            err.status = SB_OK;
            assert_int_equal(run_pipe(model, &log, plans[i][0], plans[i][1], &err), SB_ERR_MODEL);
            assert_int_equal(err.status, SB_ERR_MODEL);
            assert_memory_equal(err.message, "input 3: step 1, row ", 21);
            assert_int_equal(log.n_results, 9);
            assert_int_equal(log.n_done, log.next);
        }
    sb_model_close(model);
}

/* A model that holds few rows: jobs travel in smaller batches, reject in smaller rounds, explicit
 * not at all. The session refuses more rows than there are, so that a draw that succeeds kept to
 * it.
 */
static void models_of_few_rows(void **state)
{
    (void)state;
    sb_model *const wide = hash_model(5), *const narrow = narrow_hash_model(5, 13);
    for (int method = 0; sb_method_name((sb_method)method) != NULL; method++) {
        sb_config config = config_of((sb_method)method, 6);
        config.max_len = 3;
        if (sb_method_takes((sb_method)method, "search"))
            config.search = SB_SEARCH_LEVEL; /* the only search of models of few rows */
        sb_plan plan;
        sb_plan_default(&plan);
        plan.n_draws = 20;
        sb_result *results[2][20];
        const sb_input input = {0};
        sb_error err;
        for (int i = 0; i < 40; i++)
            assert_int_equal(sb_result_open(&results[i / 20][i % 20], &err), SB_OK);
        assert_int_equal(sb_draw_batch(wide, &input, 1, &config, &plan, results[0], &err), SB_OK);
        const sb_status status = sb_draw_batch(narrow, &input, 1, &config, &plan, results[1], &err);
        assert_int_equal(status, method == SB_METHOD_EXPLICIT ? SB_ERR_LIMIT : SB_OK);
        if (status != SB_OK)
            assert_non_null(strstr(err.message, "explicit evaluates a whole level"));
        for (int i = 0; i < 20 && status == SB_OK; i++)
            assert_same_results(results[0][i], results[1][i]);
        config.k = 14;
        if (method != SB_METHOD_EXPLICIT)
            assert_int_equal(sb_draw(narrow, NULL, &config, results[0][0], &err), SB_ERR_LIMIT);
        for (int i = 0; i < 40; i++)
            sb_result_close(results[i / 20][i % 20]);
    }
    sb_model_close(wide);
    sb_model_close(narrow);
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
    static const char *const one_text[] = {""};
    const sb_pipe pipe = {
        .user = &log, .source = give_text, .sink = count_result, .done = count_done};
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
        assert_non_null(strstr(err.message, "temperature is '"));
        assert_int_equal(result->n_sequences, 0);
        /* Also behind one that is fine: nothing is drawn for that either. */
        const double second[] = {1, bad[i]};
        plan.temperatures = second;
        plan.n_temperatures = 2;
        log = (struct pipe_log){.texts = one_text, .n_texts = 1};
        assert_int_equal(sb_draw_all(model, &config, &plan, &pipe, &err), SB_ERR_ARGUMENT);
        assert_true(log.next == 0 && log.n_results == 0);
    }
    plan.n_temperatures = 0;
    assert_int_equal(sb_draw_batch(model, &empty, 1, &config, &plan, &result, &err),
                     SB_ERR_ARGUMENT);
    assert_string_equal(err.message, "the list of temperatures is empty");
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

/* A model without state that notes what its session is to be ready for. */
static sb_session_spec noted;

static sb_status note_spec(const void *self, const sb_session_spec *spec, void **session,
                           sb_error *err)
{
    (void)self, (void)err;
    noted = *spec;
    *session = NULL;
    return SB_OK;
}

static void close_nothing(void *session)
{
    (void)session;
}

static sb_status step_evenly(void *session, int32_t n_rows, const int32_t *from, const int32_t *to,
                             const int32_t *token, const int32_t *input, void *rows, sb_error *err)
{
    (void)session, (void)from, (void)to, (void)token, (void)input, (void)err;
    memset(rows, 0, (size_t)n_rows * 3 * sizeof(float));
    return SB_OK;
}

/* Sessions are made for what will be there: no more draws than there are, the shorter length, and
 * the threads where the model has them. */
static void sessions_are_made_to_measure(void **state)
{
    (void)state;
    const sb_model_ops ops = {
        .session_open = note_spec, .session_close = close_nothing, .step = step_evenly};
    const sb_model_info info = {.kind = "noting",
                                .vocab_size = 3,
                                .eos = -1,
                                .row_type = SB_ROW_FLOAT,
                                .max_rows = 50,
                                .max_len = 4,
                                .has_threads = true};
    static const struct {
        int32_t batch;
        uint64_t n_draws;
        int32_t max_inputs;
    } cases[] = {{16, 1, 2}, {16, 2, 4}, {3, 2, 3}, {16, 40, 10}}; /* of 50 rows 4 + 1 each */
    sb_model *model;
    assert_int_equal(sb_model_open_custom(&model, &ops, &info, NULL, NULL), SB_OK);
    const sb_config config = config_of(SB_METHOD_SBS, 3);
    const sb_input inputs[2] = {{.stream = 0}, {.stream = 1}};
    sb_result *results[80];
    for (size_t i = 0; i < 80; i++)
        assert_int_equal(sb_result_open(&results[i], NULL), SB_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sb_plan plan;
        sb_plan_default(&plan);
        plan.batch = cases[i].batch;
        plan.n_draws = cases[i].n_draws;
        plan.threads = 3;
        assert_int_equal(sb_draw_batch(model, inputs, 2, &config, &plan, results, NULL), SB_OK);
        assert_int_equal(noted.max_inputs, cases[i].max_inputs);
        assert_int_equal(noted.max_rows, 4 * cases[i].max_inputs);
        assert_int_equal(noted.max_states, 4 * cases[i].max_inputs);
        assert_int_equal(noted.max_len, 4);
        assert_int_equal(noted.threads, 3);
    }
    assert_int_equal(sb_draw(model, NULL, &config, results[0], NULL), SB_OK);
    assert_int_equal(noted.max_inputs, 1);
    for (size_t i = 0; i < 80; i++)
        sb_result_close(results[i]);
    sb_model_close(model);
}

/* An endless source, and a sink that raises the interrupt after so many results. */
struct interrupted {
    sb_interrupt *interrupt;
    uint64_t n_inputs, n_results, raise_at, n_done;
};

static int give_endlessly(void *user, sb_input *input, sb_error *err)
{
    (void)err;
    struct interrupted *const work = user;
    *input = (sb_input){"", 0, work->n_inputs++, NULL};
    return 1;
}

static int raise_after(void *user, const sb_input *input, const sb_result *result, sb_error *err)
{
    (void)input;
    (void)result;
    (void)err;
    struct interrupted *const work = user;
    if (++work->n_results == work->raise_at)
        sb_interrupt_raise(work->interrupt);
    return 0;
}

static void count_interrupted(void *user, const sb_input *input)
{
    (void)input;
    ((struct interrupted *)user)->n_done++;
}

/* Raised before the work, or in it, from within whichever thread: all threads end, the inputs are
 * given back, and what was handed over by then stays. */
static void interrupts_end_the_work(void **state)
{
    (void)state;
    sb_model *const model = open_json(tree_json);
    static const int32_t plans[][2] = {{1, 1}, {1, 16}, {4, 1}, {3, 4}};
    for (int i = 0; i < 4 * 20; i++) {
        sb_config config;
        sb_plan plan;
        sb_error err = {SB_OK, ""};
        struct interrupted work = {.raise_at = (uint64_t)(i / 4) * 7};
        sb_config_default(&config);
        sb_plan_default(&plan);
        assert_int_equal(sb_interrupt_open(&work.interrupt, &err), SB_OK);
        if (work.raise_at == 0)
            sb_interrupt_raise(work.interrupt);
        plan.n_draws = 3;
        plan.threads = plans[i % 4][0];
        plan.batch = plans[i % 4][1];
        plan.cache_size = i % 3 == 0 ? 1 << 16 : 0;
        plan.interrupt = work.interrupt;
        const sb_pipe pipe = {.user = &work,
                              .source = give_endlessly,
                              .sink = raise_after,
                              .done = count_interrupted};
        assert_int_equal(sb_draw_all(model, &config, &plan, &pipe, &err), SB_ERR_STOPPED);
        assert_int_equal(err.status, SB_ERR_STOPPED);
        assert_string_equal(err.message, "interrupted");
        assert_true(work.n_results >= work.raise_at && work.n_done == work.n_inputs);
        assert_true(work.raise_at > 0 || work.n_results == 0);
        sb_interrupt_close(work.interrupt);
    }
    sb_error err;
    assert_int_equal(sb_interrupt_open(NULL, &err), SB_ERR_ARGUMENT);
    sb_interrupt_raise(NULL);
    sb_interrupt_close(NULL);
    sb_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pipes_end_in_order),      cmocka_unit_test(failing_inputs_end_in_order),
        cmocka_unit_test(models_of_few_rows),      cmocka_unit_test(plans_out_of_range),
        cmocka_unit_test(interrupts_end_the_work), cmocka_unit_test(sessions_are_made_to_measure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
